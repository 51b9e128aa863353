#!/bin/bash
# SIGKILL of anything at any moment leaves nothing: no process, mount, control group or file but, at most, the record of a dead
# supervisor, which the next launch or `cloche gc` removes. And fifty sandboxes at once, ended in every way there is.
#
# CLOCHE_TEST_KILLS (60) says how many random moments are tried; a thousand take two minutes. A seed is printed and can be given
# again as CLOCHE_TEST_SEED: then the same victims and delays come in the same order. Signals go only to processes started here.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
kills=${CLOCHE_TEST_KILLS:-60}
batch=20 # after so many, everything is looked at
seed=${CLOCHE_TEST_SEED:-$SRANDOM}
RANDOM=$((seed & 32767))
diag "CLOCHE_TEST_KILLS=$kills CLOCHE_TEST_SEED=$seed"

# --- what there is to look at ------------------------------------------------------------------------------------------

# survivors: processes of this test's sandboxes, by their words or by the variable that cloche was started with.
survivors() {
	grep -lazf "$T/mark" /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | sed 's,^/proc/,,; s,/.*,,' | grep -vx $$ | sort -u
}
in_workspace() { find "$WS" -mindepth 1 ! -path "$WS/begun" -printf '%P '; }
workspace_is_clean() { [ -z "$(in_workspace)" ]; }
none_survives() { [ -z "$(survivors)" ]; }
# Each supervisor leads a process group, as under a shell at a terminal.
marked_run() { CLOCHE_TEST_MARK=$MARK MAX_READ_SIZE_BYTES=$MARK exec setsid "$CLOCHE" "$@"; }

# records KIND: ids of our sandboxes in `cloche ps`, "running" or "dead"; those of other tests have other workspaces.
records() {
	"$CLOCHE" ps -a --json | sed 's/},{/}\n{/g' | grep -F "\"workspace\":\"$WS\"" | grep -F "\"state\":\"$1\"" |
		sed 's/.*"id":"\([0-9a-f]*\)".*/\1/'
}
cgroups() { find /sys/fs/cgroup -xdev -type d 2>/dev/null | sort; }
# Names of ours in the usual places: not the folders of tests (cloche-system.X, cloche-wire-X and so on) nor that for state.
temporary() {
	find /tmp /var/tmp /dev/shm /run -maxdepth 1 -iname '*cloche*' ! -path '/tmp/cloche-[a-z]*[.-]*' ! -path '/tmp/cloche-[0-9]*' \
		! -path /run/cloche 2>/dev/null | sort
}
look() {
	grep -v ' /tmp/cloche-fresh[.]' /proc/self/mountinfo | sort >"$T/$1.mounts"
	cgroups >"$T/$1.cgroups"
	temporary >"$T/$1.temporary"
	ls -A "$TMPDIR" >"$T/$1.tmpdir"
}

# nothing_left NAME: a full look, two seconds after the last kill at most. (bash tells on standard error whom it has reaped.)
nothing_left() { look_hard "$1" 2>/dev/null; }
look_hard() {
	local wrong='' what i
	for ((i = 0; i < 40; i++)); do
		none_survives && break
		sleep 0.05
	done
	none_survives || wrong="processes: $(for i in $(survivors); do echo "$i $(tr '\0' ' ' <"/proc/$i/cmdline" 2>/dev/null)"; done)"
	look after
	for what in mounts cgroups temporary tmpdir; do
		cmp -s "$T/before.$what" "$T/after.$what" && continue
		sleep 1 # other tests work on this machine as well
		look after
		cmp -s "$T/before.$what" "$T/after.$what" || wrong="$wrong$what: $(diff "$T/before.$what" "$T/after.$what" | head -n 5)"$'\n'
	done
	# Only who kills the janitor as well, alone or with its group, leaves stand-ins in the workspace until the next launch or gc.
	[ $janitor_killed = yes ] || until_true workspace_is_clean || wrong="${wrong}workspace: $(in_workspace)"$'\n'
	janitor_killed=no
	[ -z "$(records running)" ] || wrong="${wrong}records of the living: $(records running)"$'\n'
	"$CLOCHE" gc >"$T/gc" 2>&1 || wrong="${wrong}gc: $(cat "$T/gc")"$'\n'
	[ -z "$(records dead)" ] || wrong="${wrong}records of the dead, after gc: $(records dead)"$'\n'
	until_true workspace_is_clean || wrong="${wrong}workspace, after gc: $(in_workspace)"$'\n'
	[ -z "$wrong" ]
	ok $? "$1" "$wrong"
}

# --- random moments ----------------------------------------------------------------------------------------------------

cat >"$T/requests" <<END
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"setsid sleep $MARK & echo >begun; sleep $MARK"}}}
END
: >"$T/out"

nap() { sleep "0.0$(printf '%02d%d' $((RANDOM % 16)) $((RANDOM % 10)))"; } # 0 to 15.9 ms
child_of() { pgrep -P "$1" -f "^$2" | head -n 1; }

# start KIND: $pid is a supervisor that leads a process group of its own; descriptor 5 is the client's end of its input.
start() {
	rm -f "$T/in" "$WS/begun"
	mkfifo "$T/in"
	if [ "$1" = run ]; then
		marked_run run --workspace "$WS" "${MARKED[@]}" -- sh -c "setsid sleep $MARK & echo >begun; sleep $MARK" <"$T/in" >/dev/null 2>"$T/said" &
	else
		marked_run mcp "${MARKED[@]}" "$WS" <"$T/in" >"$T/out" 2>"$T/said" &
	fi
	pid=$!
	exec 5>"$T/in"
	[ "$1" = run ] || cat "$T/requests" >&5
}

# victim WHO: the process to kill, or nothing when it is not there (yet).
victim() {
	local init
	case $1 in
	cloche | group) echo "$pid" ;;
	janitor) pgrep -P "$pid" -x cloche-janitor ;;
	init) child_of "$pid" cloche ;;
	server | shim)
		init=$(child_of "$pid" cloche)
		[ -z "$init" ] || child_of "$init" "$([ "$1" = server ] && echo cloche-mcp || echo cloche-init)"
		;;
	command) pgrep -f "^sleep $MARK" | sed -n "$((1 + RANDOM % 2))p" ;;
	esac
}

whom=(cloche cloche cloche cloche init init server shim command janitor group)
declare -A met=()
missed=0
never=0
# begins: the command of the last start() runs, so that no sandbox passes because it never was one.
begins() {
	until_true test -e "$WS/begun" && return
	never=$((never + 1))
	diag "a sandbox that did not begin: $(cat "$T/said")"
}
janitor_killed=no
look before
for ((i = 0; i < kills; i++)); do
	kind=$((RANDOM % 2))
	start "$([ $kind = 0 ] && echo run || echo mcp)"
	phase=$((RANDOM % 3))
	who=${whom[RANDOM % ${#whom[@]}]}
	case $phase in
	0) # while it starts
		nap
		;;
	1) # while it works
		begins
		nap
		;;
	2) # while it ends
		begins
		if [ $kind = 0 ]; then kill -TERM "$pid" 2>/dev/null; else exec 5>&-; fi
		nap
		;;
	esac
	target=$(victim "$who")
	if [ -z "$target" ]; then
		missed=$((missed + 1))
		target=$pid who=cloche
	fi
	if [ "$who" = group ]; then
		kill -KILL -- "-$target" 2>/dev/null
	else
		kill -KILL "$target" 2>/dev/null
	fi
	case $who in janitor | group) janitor_killed=yes ;; esac
	met[$who$phase]=$((${met[$who$phase]:-0} + 1))
	# A session goes on without one of its commands: then the client hangs up.
	exec 5>&-
	# Those that cloche run survives: it would go on for ever.
	case $who$kind in command0 | janitor0) kill -KILL "$pid" 2>/dev/null ;; esac
	wait "$pid" 2>/dev/null
	[ $(((i + 1) % batch)) = 0 ] || [ $((i + 1)) = "$kills" ] || continue
	nothing_left "$((i + 1)) kills at random moments, and nothing is left"
done
diag "kills by victim and phase (0 start, 1 work, 2 end): $(for i in "${!met[@]}"; do echo "$i=${met[$i]}"; done | sort | tr '\n' ' ')"
diag "of those, the victim was not there in time and cloche was killed instead: $missed"
[ "$kills" -lt 40 ] || [ "${#met[@]}" -ge 8 ]
ok $? "the kills met many victims in many phases" "${!met[*]}"

# --- moments that need care --------------------------------------------------------------------------------------------

# An init that is stopped cannot hear that its socket was closed: only the parent-death signal is left, in each identity.
for kind in run mcp; do
	start $kind
	begins
	init=$(child_of "$pid" cloche-init)
	kill -STOP "$init"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	exec 5>&-
	nothing_left "$kind: a stopped init dies with its supervisor"
done
for kind in run mcp; do
	start $kind
	begins
	kill -STOP "$pid"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	exec 5>&-
	nothing_left "$kind: a stopped supervisor is killed"
	start $kind
	nap
	kill -STOP "$pid"
	nap
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	exec 5>&-
	nothing_left "$kind: a supervisor stopped while it starts is killed"
done

is "$never" 0 "every sandbox that had the time to begin its command began it"

# A client that forks twice, so that cloche is an orphan before it has started, and dies.
cat >"$T/client" <<'END'
#!/bin/bash
(CLOCHE_TEST_MARK=$1 MAX_READ_SIZE_BYTES=$1 "$CLOCHE" mcp --ulimit "locks=$1" "$WS" <&0 >"$T/out" 2>/dev/null &)
exec sleep 1000
END
export T WS CLOCHE
left=0
for ((i = 0; i < 10; i++)); do
	rm -f "$T/in"
	mkfifo "$T/in"
	bash "$T/client" "$MARK" <"$T/in" >/dev/null 2>&1 &
	client=$!
	exec 5>"$T/in"
	head -n 2 "$T/requests" >&5
	nap
	nap
	kill -KILL "$client" 2>/dev/null
	wait "$client" 2>/dev/null
	exec 5>&-
	until_true none_survives || left=$((left + 1))
done
is "$left" 0 "a client that forked twice dies: its sandboxes end with its pipes"
nothing_left "and nothing is left"

# --- fifty at once -----------------------------------------------------------------------------------------------------

# fifty: $pids are the supervisors of 25 MCP sessions and 25 commands; each has answered.
fifty() {
	local i
	pids=()
	names=()
	mcp_fds=()
	rm -rf "$T/fifty"
	mkdir "$T/fifty"
	for i in {1..25}; do
		local fd
		mkfifo "$T/fifty/in$i"
		marked_run mcp "${MARKED[@]}" "$WS" <"$T/fifty/in$i" >"$T/fifty/mcp$i" 2>"$T/fifty/err$i" &
		pids+=($!)
		exec {fd}>"$T/fifty/in$i"
		mcp_fds+=("$fd")
		head -n 2 "$T/requests" >&"$fd"
		marked_run run --name "n$MARK-$i" --workspace "$WS" "${MARKED[@]}" -- sh -c "echo answer; exec sleep $MARK" \
			<"$T/fifty/in$i" >"$T/fifty/run$i" 2>>"$T/fifty/err$i" &
		pids+=($!)
		names+=("n$MARK-$i")
	done
}
answers() { [ "$(cat "$T"/fifty/mcp* "$T"/fifty/run* | grep -c '"serverInfo"\|^answer$')" = 50 ]; }
all_recorded() { [ "$(records running | wc -l)" = 50 ]; }
close_inputs() {
	local fd
	for fd in "${mcp_fds[@]}"; do
		exec {fd}>&-
	done
}
reap() {
	local p
	for p in "${pids[@]}"; do
		wait "$p" 2>/dev/null
	done
}
# memory: proportional memory of all our processes, in KiB; only root may ask for it.
memory() { for p in $(survivors); do sed -n 's/^Pss: *\([0-9]*\) kB/\1/p' "/proc/$p/smaps_rollup" 2>/dev/null; done | awk '{ n += $1 } END { print n + 0 }'; }

for way in hangup TERM KILL kill-all client; do
	fifty
	until_true answers
	ok $? "fifty sandboxes at once: each answers" "$(cat "$T"/fifty/err* | head -n 5)"
	until_true all_recorded
	ok $? "and each is listed by ps" "$(records running | wc -l)"
	[ "$way" != hangup ] || [ "$ME" != 0 ] || diag "proportional memory: $(($(memory) / 50)) KiB a sandbox"
	case $way in
	hangup) # that of the clients of the 25 sessions; a command has none
		close_inputs
		"$CLOCHE" kill "${names[@]}" >"$T/killed" 2>&1
		is "$?,$(grep -c ' ended$' "$T/killed")" 0,25 "kill ends 25 commands by their names" "$(head -n 5 "$T/killed")"
		;;
	TERM | KILL)
		kill -$way "${pids[@]}"
		close_inputs
		;;
	kill-all)
		mapfile -t ids < <(records running)
		"$CLOCHE" kill "${ids[@]}" >"$T/killed" 2>&1
		is "$?,$(grep -c ' ended$' "$T/killed")" 0,50 "kill ends all fifty side by side" "$(head -n 5 "$T/killed")"
		close_inputs
		;;
	client) # a process group dies with all that it leads
		for p in "${pids[@]}"; do kill -KILL -- "-$p" 2>/dev/null; done
		janitor_killed=yes
		close_inputs
		;;
	esac
	nothing_left "ended by $way: nothing is left after two seconds"
	reap
done
finish
