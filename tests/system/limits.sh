#!/bin/bash
# Options about limits: what they say about each other in any order, the sizes of folders in memory, and that explain and doctor tell what
# holds here. What the limits do to programs is for tests/limits.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
unset CLOCHE_PROFILE
export XDG_CONFIG_HOME=$T/config
cd "$WS" || exit 1

# --- contradictions: named whatever the order, for every command that takes them ------------------------------------------

# contradicts REGEX FIRST SECOND: two options that do not fit.
contradicts() {
	local regex=$1 first=$2 second=$3
	# shellcheck disable=SC2086 # words
	{
		refused "$regex" "run $first $second" run --workspace "$WS" $first $second -- touch was-run
		refused "$regex" "run $second $first" run --workspace "$WS" $second $first -- touch was-run
		refused "$regex" "mcp $first $second" mcp $first $second "$WS"
		refused "$regex" "explain $second $first" explain $second $first "$WS"
	}
}
contradicts "--memory-swap 1g \(by: command line\) is less than --memory 2g \(by: command line\)" "--memory-swap 1g" "--memory 2g"
contradicts "--memory-swap 1g .* needs a limit of memory beside it" "--memory-swap 1g" "--memory 0"
contradicts "--command-memory 1025m .* is more than --memory 1g" "--command-memory 1025m" "--memory 1g"
contradicts "--command-cpus 2 .* is more than --cpus 1.5" "--command-cpus 2" "--cpus 1.5"
contradicts "--command-pids-limit 101 .* is more than --pids-limit 100" "--command-pids-limit 101" "--pids-limit 100"
contradicts "--require-limits .* asks for control groups, and --cgroup none does without" "--require-limits" "--cgroup none"
refused "--command-memory 3g \(by: command line\) is more than --memory 2g \(by: profile strict\)" "who said it is told" run --profile strict --command-memory 3g -- true
refused "--command-pids-limit 513 .*--pids-limit 512 \(by: default\)" "also of a default" run --command-pids-limit 513 -- true
refused "--require-limits .*--cgroup none" "doctor too" doctor --require-limits --cgroup none
[ ! -e "$WS/was-run" ]
ok $? "nothing was run"
for options in "--memory 1g --memory-swap 1g" "--memory-swap 3g --memory 1g" "--memory-swap -1" "--memory 0 --memory-swap -1" "--memory-swap 0" \
	"--cpu-shares 2" "--cpu-shares 262144" "--command-memory 64m --command-cpus 0.5 --command-pids-limit 10" "--memory 0 --command-memory 1g" \
	"--cgroup auto" "--cgroup none" "--cgroup none --cpus 0.5 --memory 64m"; do
	# shellcheck disable=SC2086 # words
	gives "done" "works: $options" $options -- echo "done"
done

# --- sizes of folders in memory -----------------------------------------------------------------------------------------

# sizes WANTED NAME OPTION...: MiB of /tmp, the home, /dev/shm and /workspace, as seen inside and as explain says.
sizes() {
	local wanted=$1 name=$2 explained
	shift 2
	cloche run --workspace none "$@" -- sh -c 'for d in /tmp ~ /dev/shm /workspace; do set -- $(df -k --output=size $d); echo $(($2 / 1024)); done'
	is "$ST,$(tr '\n' ' ' <<<"$OUT"),$ERR" "0,$wanted ," "$name"
	cloche explain --workspace none --json "$@"
	explained=$(python3 -c 'import json, sys
files = {f["path"]: f.get("size", 0) >> 20 for f in json.load(open(sys.argv[1]))["files"]}
print(*(files[p] for p in ("/tmp", "/home/agent", "/dev/shm", "/workspace")))' "$T/out")
	is "$explained" "$wanted" "explain says the same"
}
sizes "1024 1024 256 1024" "sizes without any option"
sizes "1024 1024 256 1024" "with much memory" --memory 64g
sizes "1024 1024 256 1024" "without a limit of memory" --memory 0
sizes "128 128 32 128" "with less: a quarter, and a sixteenth" --memory 512m
sizes "1024 128 32 128" "what is said is obeyed, after the limit of memory" --memory 512m --tmpfs /tmp:size=1g
sizes "1024 128 32 128" "and before it" --tmpfs /tmp:size=1g --memory 512m
sizes "128 64 16 300" "each by itself" --shm-size 16m --tmpfs /home/agent:size=64m --memory 512m --tmpfs /workspace:size=300m
sizes "128 128 256 128" "also /dev/shm" --memory 512m --shm-size 256m
sizes "128 128 32 128" "noexec says nothing of a size" --memory 512m --tmpfs /tmp:noexec
sizes "64 64 32 256" "a profile's sizes, and its memory's part" --profile interpreter
sizes "64 64 16 256" "with another limit of memory" --profile interpreter --memory 256m
cloche explain --workspace none --memory 512m --tmpfs /tmp:size=1g
like "$OUT" "/tmp, 1g +\[command line\]" "explain names who set a size"
like "$OUT" "/home/agent, 128m +\[default\]" "and calls default what follows the memory"

# --- what holds here ----------------------------------------------------------------------------------------------------

# field EXPRESSION: of the JSON in $T/out, as d; limits by name as l.
field() { python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
l = {x["name"]: x for x in d["limits"]} if isinstance(d["limits"], list) else d["limits"]
print(eval(sys.argv[2]))' "$T/out" "$1"; }

cloche doctor --json
backend=$(field 'd["limits"]["backend"]')
controllers=$(field '" ".join(d["limits"]["controllers"])')
detail=$(field 'next(x["detail"] for x in d["layers"] if x["layer"] == "limits")')
cloche doctor
like "$backend" "^(own|systemd|root|none)$" "doctor names the back end"
if [ "$backend" = none ]; then
	is "$controllers" "" "no control group, no controllers"
	like "$detail" "^approximate, since .*Processes are counted exactly" "doctor calls the limits approximate"
	like "$OUT" "weaker +limits " "and weaker"
	like "$(grep -A1 -E '^(weaker|missing) +limits' <<<"$OUT")" "repair: ..........+" "with what to do"
else
	like " $controllers " " memory .*pids | pids .*memory " "memory and pids are among the controllers"
	like "$detail" "^exact: memory.* are held by the kernel" "doctor calls the limits exact"
fi
cloche doctor --json --cgroup none
is "$(field 'd["limits"]["backend"]'),$ST" "none,0" "doctor --cgroup none: how it would be without"
like "$(field 'next(x["repair"] for x in d["layers"] if x["layer"] == "limits")')" "leave --cgroup none out" "and what to do"

cloche explain --json --cpus 1.5 --memory 64m --command-memory 32m --command-cpus 0.5 --command-pids-limit 9 --cpu-shares 2048 "$WS"
is "$(field 'd["cgroup"]["backend"]')" "$backend" "explain names the same back end"
is "$(field '[l[n]["value"] for n in ("memory", "memory-swap", "cpus", "cpu-shares", "pids-limit", "command-memory", "command-cpus", "command-pids-limit")]')" \
	"[67108864, 67108864, 1.5, 2048, 512, 33554432, 0.5, 9]" "explain has every limit with its value"
is "$(field 'l["pids-limit"]["exact"]')" True "processes are held exactly everywhere"
is "$(field 'l["memory"]["exact"] == l["command-memory"]["exact"] == ("memory" in d["cgroup"]["controllers"])')" True "memory is exact where there is its controller"
is "$(field 'l["cpus"]["exact"] == l["cpu-shares"]["exact"] == ("cpu" in d["cgroup"]["controllers"])')" True "CPU time too"
cloche explain --json --cgroup none "$WS"
is "$(field 'd["cgroup"]["backend"], l["memory"]["exact"], l["command-pids-limit"]["value"]')" "('none', False, 448)" "explain --cgroup none: approximate"
like "$(field 'l["memory"]["held_by"]')" "^init, " "by init"
cloche explain --json --memory 64m --memory-swap -1 "$WS"
is "$(field 'l["memory-swap"]["value"]')" None "swap without limit"
cloche explain --memory 0 "$WS"
like "$OUT" "memory +no limit" "no limit is said to be none"

# --- required, or asked for by name -------------------------------------------------------------------------------------

if [ "$backend" = none ]; then
	for command in "run --workspace $WS" mcp; do
		last=
		[ "$command" = mcp ] || last="-- touch was-run"
		# shellcheck disable=SC2086 # words
		refused "--require-limits.*(cgroup|control group)" "${command%% *} --require-limits is refused, with the reason" $command --require-limits $last
	done
	like "$ERR" "boot with|mount|start|run|ask|enable|--cgroup|install" "and with what to do"
	cloche explain --require-limits "$WS"
	like "$ST,$OUT" "^1,.*It would not start: .*require-limits" "explain says so before"
	cloche doctor --require-limits
	like "$ST,$OUT" "^1,.*missing +limits .*--require-limits" "doctor too, and calls it missing"
	printf '{"require-limits": true}' >"$T/required.json"
	refused "require-limits" "in a profile" run --profile "$T/required.json" --workspace "$WS" -- touch was-run
	cloche run --workspace "$WS" --profile "$T/required.json" --require-limits=false -- true
	is "$ST,$ERR" "0," "which a flag takes back"
else
	gives "done" "--require-limits starts, since they are exact here" --require-limits -- echo "done"
fi
[ ! -e "$WS/was-run" ]
ok $? "nothing was run"
mkdir "$T/plain"
for path in "$T/plain" "$T/none" /sys/fs /proc/self "$T/mark"; do
	refused "--cgroup|$path" "--cgroup $path is no control group" run --workspace "$WS" --cgroup "$path" -- touch was-run
done
cloche doctor --cgroup "$T/plain"
like "$ST,$OUT" "^1,.*missing +limits +--cgroup $T/plain cannot be had: .*repair: .*/sys/fs/cgroup" "doctor says so too"
cloche explain --cgroup "$T/plain" "$WS"
like "$ST,$OUT" "^1,.*It would not start: --cgroup '$T/plain' cannot be used" "and explain"
if [ "$backend" != systemd ]; then
	cloche run --workspace "$WS" --cgroup systemd -- true
	if [ "$ST" = 0 ]; then
		is "$OUT$ERR" "" "--cgroup systemd works"
	else
		one_sentence 125 "systemd" "--cgroup systemd cannot be had: an error, since it was asked for by name"
	fi
fi
[ ! -e "$WS/was-run" ]
ok $? "nothing was run in vain"
gone "nothing is left"
finish
