#!/bin/bash
# Where a sandbox's cgroup comes from, what is in it, what is seen of it inside, and that nothing of it stays.
#
# LIMITS_BACKEND (own, systemd, root, none) says which way to one must be open here; without it, what `cloche explain` says is
# taken. On a host without a usable cgroup2 the refusals are tested; the rest needs tests/vm.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$ME" != 0 ] || chown 1234:1234 "$WS" # root's own folder needs a file system with id-mapped mounts

# value KEY...: from explain's JSON.
value() {
	"$CLOCHE" explain --json --workspace "$WS" "${EXPLAIN[@]}" 2>/dev/null |
		python3 -c 'import json, sys; v = json.load(sys.stdin)["cgroup"][sys.argv[1]]; print(v if isinstance(v, str) else " ".join(v or []))' "$1"
}
EXPLAIN=()
mount=$(awk '/ - cgroup2 / { print $5 }' /proc/self/mountinfo | tail -1)
own=$mount$(sed -n 's/^0:://p' /proc/self/cgroup)

backend=$(value backend)
controllers=$(value controllers)
if [ -n "${LIMITS_BACKEND:-}" ]; then
	is "$backend" "$LIMITS_BACKEND" "the way to a cgroup is the one that this host has"
else
	like "$backend" '^(own|systemd|root|none)$' "explain names a way to a cgroup, or none"
fi

# --- refusals that are the same everywhere -----------------------------------------------------------------------------

refused "'/nope/nothing' cannot be opened: No such file" "--cgroup with a path that does not exist" \
	run --workspace "$WS" --cgroup /nope/nothing -- true
refused "'/tmp' is no directory of a cgroup2 file system. Repair: name" "--cgroup with a folder of something else" \
	run --workspace "$WS" --cgroup /tmp -- true
refused "cannot be opened: Not a directory" "--cgroup with a file" run --workspace "$WS" --cgroup /etc/passwd -- true
refused "--require-limits .*--cgroup none" "--require-limits with --cgroup none" \
	run --workspace "$WS" --require-limits --cgroup none -- true
gives "0::/" "without a cgroup, the sandbox sees itself at the root" --cgroup none -- sh -c 'sed -n s/^0::/0::/p /proc/self/cgroup'
if [ ! -d /run/systemd/system ]; then
	refused "--cgroup systemd cannot be had" "--cgroup systemd without systemd" run --workspace "$WS" --cgroup systemd -- true
fi

# --- no cgroup ---------------------------------------------------------------------------------------------------------

if [ "$backend" = none ]; then
	refused "the kernel cannot hold the limits here: .*\. Repair: .*leave --require-limits out" "--require-limits without a cgroup" \
		run --workspace "$WS" --require-limits -- true
	is "$(value backend)" none "explain says that there is none"
	cloche explain --workspace "$WS" --require-limits
	like "$ST $OUT" "^1 .*It would not start: --require-limits: the kernel cannot hold" "explain tells that it would be refused"
	gives "" "no descriptor leads to a cgroup" -- sh -c 'for f in /proc/self/fd/*; do readlink "$f"; done | grep cgroup; true'
	cloche gc --dry-run
	unlike "$OUT$ERR" cgroup "gc has no cgroups to remove"
	finish
fi

# --- a sandbox in its cgroup -------------------------------------------------------------------------------------------

nodes() { find "$mount" -type d -regextype posix-extended -regex '.*/cloche-[0-9]+-[0-9a-f]{16}' 2>/dev/null | sort; }
node_of() { nodes | grep "/cloche-$1-"; }
no_nodes() { [ -z "$(nodes | comm -13 "$T/before" -)" ]; }
none_left() {
	until_true no_nodes
	ok $? "$1" "left: $(nodes | comm -13 "$T/before" -)"
}
has() { [[ " $controllers " == *" $1 "* ]]; }
content() { tr '\n' ' ' 2>&1 <"$node/$1" | sed 's/ $//'; }
nodes >"$T/before"

# start [OPTION...]: a sandbox with a command that waits; $pid is its supervisor, $node its cgroup.
start() {
	rm -f "$WS/begun"
	"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" "$@" -- sh -c "id -u >/workspace/begun; exec sleep $MARK" </dev/null >"$T/out" 2>"$T/err" &
	pid=$!
	until_true test -s "$WS/begun" || diag "the sandbox did not begin: $(cat "$T/err")"
	node=$(node_of "$pid")
}
pid_of() { marked_pids | while read -r p; do [ "$(cat "/proc/$p/comm" 2>/dev/null)" != "$1" ] || echo "$p"; done; }
end() {
	kill -TERM "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}
chmod 777 "$WS"

start --require-limits --memory 256m --pids-limit 100 --cpu-shares 512 --tmpfs /big:size=100m
if [ -n "$node" ] && [ -d "$node" ]; then
	controllers=$(content cgroup.subtree_control)
fi
[ -d "${node:-/nope}" ]
ok $? "a sandbox has a cgroup named after its supervisor" "$(cat "$T/err")"
[ -d "${node:-/nope}" ] || finish # the rest would look at nothing
like "$(content cgroup.subtree_control)" 'memory' "it hands the memory controller down"
like "$(content cgroup.subtree_control)" 'pids' "and the one of processes"
is "$(content work/cgroup.subtree_control)" "$(content cgroup.subtree_control)" "so does the group of all commands"
is "$(content work/memory.max)" $((256 << 20)) "memory.max of all commands is --memory"
is "$(content work/memory.swap.max)" 0 "they have no swap"
is "$(content work/pids.max)" 100 "pids.max of all commands is --pids-limit"
is "$(content pids.max)" 164 "the whole may have 64 processes more"
all=$(content memory.max)
[ "$all" -gt $(((256 + 100 + 256) << 20)) ] && [ "$all" -lt $((1 << 40)) ]
ok $? "the whole may have the memory of commands, of the folders in memory, and some more" "memory.max is '$all'"
is "$(content init/memory.max)" max "init and the server have no limit of their own"
is "$(content init/memory.low)" $((64 << 20)) "their memory is taken back last"
if has cpu; then
	is "$(content cpu.weight)" 20 "--cpu-shares 512 has become a weight of 20"
	is "$(content init/cpu.weight)" 1000 "init and the server come before commands"
fi
is "$(content cgroup.procs),$(content work/cgroup.procs)" "," "no process is in the group itself, or in that of all commands"
init=$(pid_of cloche-init)
like " $(content init/cgroup.procs) " " $init " "init is where it belongs"
command=$(pid_of sleep)
command_group=$(sed -n 's/^0:://p' "/proc/${command:-self}/cgroup")
like "$command_group" "/cloche-$pid-[0-9a-f]+/work/[^/]+\$" "the command is in a group of its own below work"
if [ "$ME" = 0 ]; then
	is "$(find "$node" "$node/init" "$node/work" -maxdepth 1 -uid 1234 ! -name "c[0-9]*" | sort -u | tr '\n' ' ')" \
		"$node/cgroup.procs $node/work " "the sandbox's identity is given what init needs to start commands, and no more"
	setpriv --reuid 1234 --regid 1234 --clear-groups sh -c 'cd "$0/work" && echo -memory >cgroup.subtree_control' "$node" 2>/dev/null
	is "$(content work/cgroup.subtree_control)" "$controllers" "so it cannot take a limit away"
fi
is "$(content cgroup.max.descendants),$(content cgroup.max.depth)" 130,2 "no more groups can be made in it than commands need"
if [ "$ME" = 0 ]; then
	janitor=$(pgrep -P "$pid" cloche-janitor)
	held=0000000000000002
	[ "$backend" != systemd ] || held=0000000000000000 # systemd takes the scope down with all in it
	is "$(awk '/^CapPrm|^CapEff/ { print $2 } /^Uid/ { print $2, $3, $4 }' "/proc/${janitor:-nobody}/status" | tr '\n' ' ')" \
		"1234 1234 1234 $held 0000000000000000 " "the janitor holds CAP_DAC_OVERRIDE back where it needs it, and no more"
	is "$(awk '/^CapPrm|^CapEff/ { print $2 }' "/proc/$pid/status" | sort -u)" 0000000000000000 "the supervisor has no capability"
fi
cloche gc
is "$OUT" "nothing to remove" "gc leaves a living sandbox alone"
[ -d "$node" ]
ok $? "and its cgroup"
end
none_left "it is gone with the sandbox"

if has cpu; then
	start --require-limits --cpus 1.5
	is "$(content work/cpu.max)" "150000 100000" "cpu.max of all commands is --cpus"
	end
fi
start --memory 256m --memory-swap 300m
is "$(content work/memory.swap.max)" $((44 << 20)) "--memory-swap is the total, as with Docker"
end
none_left "these are gone too"

# --- what is seen inside -----------------------------------------------------------------------------------------------

gives "0::/" "a command is at the root of its own cgroup namespace" -- cat /proc/self/cgroup
inside -- sh -c 'cat /proc/[0-9]*/cgroup /proc/self/mountinfo /proc/self/mounts; ls -l /proc/self/fd'
unlike "$OUT" 'cloche-[0-9]|user\.slice|session-' "no name of the host's groups is seen"
is "$ST" 0 "(that was looked at)"
gives "" "no descriptor of a command leads to a cgroup" -- sh -c 'for f in /proc/self/fd/*; do readlink "$f"; done | grep -E "cgroup|^/$"; true'
inside -- sh -c 'mkdir /sys/fs/cgroup/x; echo max >/sys/fs/cgroup/memory.max; echo 0 >/sys/fs/cgroup/cgroup.procs'
is "$(grep -c 'Read-only file system' "$T/err")" 3 "what is shown of its own group is read-only"

# --- ends by force -----------------------------------------------------------------------------------------------------

swept() { # by whoever is to: the kernel and systemd, the janitor, or the next launch
	[ "$backend" != own ] || inside -- true
	none_left "$1"
}
for i in 1 2; do
	start
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	gone "after SIGKILL to the supervisor, nothing runs ($i)" 10
	swept "and nothing of the cgroup stays ($i)"
done
start
kill -KILL "$(pid_of cloche-init)"
wait "$pid" 2>/dev/null
none_left "after SIGKILL to init"
start
other=$pid
start
kill -KILL "$pid"
wait "$pid" 2>/dev/null
until_true test -z "$(node_of "$pid" | xargs -r -I{} grep 'populated 1' {}/cgroup.events)"
if [ "$backend" = own ]; then
	cloche gc --dry-run
	like "$OUT" "would remove the cgroup .*/cloche-$pid-" "gc --dry-run names what a killed supervisor has left"
	unlike "$OUT" "/cloche-$other-" "but not the cgroup of one that lives"
	[ -n "$(node_of "$pid")" ]
	ok $? "and leaves it"
	cloche gc
	like "$OUT" "removed the cgroup .*/cloche-$pid-" "gc removes it"
fi
gone_node() { [ -z "$(node_of "$pid")" ]; }
until_true gone_node
ok $? "what the killed supervisor left is gone"
[ -n "$(node_of "$other")" ]
ok $? "while the other sandbox has its cgroup"
kill -TERM "$other"
wait "$other" 2>/dev/null
none_left "and then not"

# --- many --------------------------------------------------------------------------------------------------------------

for i in 1 2 3 4 5; do
	for j in 1 2 3 4; do
		"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" --require-limits -- sh -c 'exit 7' </dev/null >/dev/null 2>"$T/err.$i.$j" &
	done
	for j in $(jobs -p); do
		wait "$j"
		echo $?
	done >>"$T/statuses"
done
is "$(sort "$T/statuses" | uniq -c | tr -s ' ')" " 20 7" "20 short sandboxes, four at a time" "$(cat "$T"/err.*)"
none_left "leave nothing"

# --- a group that systemd has given away -------------------------------------------------------------------------------

# The supervisor is alone in it, so it moves aside; systemd removes what it leaves.
supervisors() { find "$mount" -type d -name cloche-supervisor 2>/dev/null; }
no_supervisors() { [ -z "$(supervisors)" ]; }
if [ "$backend" = systemd ] && [ "$ME" = 0 ]; then
	is "$(systemd-run --scope -q -p Delegate=yes "$CLOCHE" explain --json --workspace "$WS" | grep -o '"backend": *"[a-z]*"' | tail -c 5)" \
		'own"' "in a delegated unit, the way is a group of our own"
	systemd-run --scope -q -p Delegate=yes "$CLOCHE" run --workspace "$WS" --require-limits -- cat /proc/self/cgroup >"$T/out" 2>"$T/err"
	is "$?,$(cat "$T/out" "$T/err")" "0,0::/" "a sandbox starts in it"
elif [ "$backend" = systemd ]; then
	# A user's manager does not say what it has given away; the path does.
	# shellcheck disable=SC2016 # for the inner shell
	systemd-run --user --scope -q -p Delegate=yes sh -c 'exec "$@" --cgroup "$0$(sed -n s/^0:://p /proc/self/cgroup)" -- cat /proc/self/cgroup' \
		"$mount" "$CLOCHE" run --workspace "$WS" --require-limits >"$T/out" 2>"$T/err"
	is "$?,$(cat "$T/out" "$T/err")" "0,0::/" "a sandbox starts in the delegated unit that --cgroup names"
fi
until_true no_supervisors
ok $? "nothing of it is left" "$(supervisors)"
none_left "in no way"

# --- a group of another user -------------------------------------------------------------------------------------------

# He could take the sandbox out of it, and out of its limits.
if [ "$backend" = root ]; then
	theirs=$mount/theirs-$MARK
	mkdir "$theirs"
	for c in $controllers; do echo "+$c" >"$theirs/cgroup.subtree_control"; done
	mkdir "$theirs/shell"
	path_there() { (echo "$BASHPID" >"$theirs/shell/cgroup.procs" && value path); }
	is "$(path_there)" "$theirs" "root takes a group of root's that it is below"
	chown 4321 "$theirs/cgroup.procs"
	is "$(path_there)" "$mount" "but none from which another user may move processes"
	until_true rmdir "$theirs/shell" && until_true rmdir "$theirs"
	ok $? "nothing of that is left"
fi

# --- a group by its path -----------------------------------------------------------------------------------------------

case $backend in
own) base=$(dirname "$own") ;;
root) base=$mount ;;
*) base= ;;
esac
if [ -n "$base" ]; then
	mine=$base/test-$MARK
	mkdir "$mine"
	inside --cgroup "$mine" --require-limits -- true
	is "$ST,$ERR" "0," "--cgroup with a group that we may use"
	start --cgroup "$mine"
	like "$node" "^$mine/cloche-$pid-" "the sandbox's is in it"
	EXPLAIN=(--cgroup "$mine")
	is "$(value path)" "$mine" "explain names it"
	EXPLAIN=()
	end
	is "$(find "$mine" -mindepth 1 -type d)" "" "and gone in the end"
	sleep 300 &
	sleeper=$!
	[ "$ME" != 0 ] || (echo "$sleeper" >"$mine/cgroup.procs") 2>/dev/null
	for c in $controllers; do echo "-$c"; done >"$T/off"
	while read -r c; do echo "$c" >"$mine/cgroup.subtree_control"; done <"$T/off"
	if echo "$sleeper" >"$mine/cgroup.procs"; then
		refused "has processes in it" "--cgroup with a group that has processes" run --workspace "$WS" --cgroup "$mine" -- true
	fi
	kill "$sleeper"
	wait "$sleeper" 2>/dev/null
	until_true rmdir "$mine" 2>/dev/null
	ok $? "the group that was made for this can be removed"
fi
finish
