#!/bin/bash
# However a sandbox ends, nothing of it stays on the host: no process, zombie, mount, control group or temporary file.
#
# CLOCHE_KILL_LOOPS (100) says how often each random moment is tried. Signals go only to processes started here.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
loops=${CLOCHE_KILL_LOOPS:-100}

zombies() { ps -eo stat=,pid=,args= | awk '/^Z/ { print $2 }' | sort; }
cgroups() { find /sys/fs/cgroup -xdev -type d 2>/dev/null | sort; }
# Entries of the usual places that carry our name, but for the folders of tests (cloche-system.X, cloche-wire-X and so on) and those
# for state, which stay and hold nothing of this test in the end: kill9.sh looks there.
temporary() {
	find /tmp /var/tmp /dev/shm /run -maxdepth 1 -iname '*cloche*' ! -path '/tmp/cloche-[a-z]*[.-]*' ! -path '/tmp/cloche-[0-9]*' \
		! -path /run/cloche 2>/dev/null | sort
}
host_state() {
	grep -v ' /tmp/cloche-fresh[.]' /proc/self/mounts | sort >"$T/$1.mounts" # a bare system that tools/fresh-machine builds
	cgroups >"$T/$1.cgroups"
	temporary >"$T/$1.temporary"
	zombies >"$T/$1.zombies"
	ls -A "$TMPDIR" >"$T/$1.tmpdir"
	ipcs -a >"$T/$1.ipc" 2>/dev/null
}
no_new_zombie() { [ -z "$(zombies | comm -13 "$T/before.zombies" -)" ]; }

# at_rest: no process of a sandbox, within two seconds.
at_rest() {
	local i
	for ((i = 0; i < 40; i++)); do
		[ -z "$(marked_pids)" ] && return 0
		sleep 0.05
	done
	return 1
}

nap() { sleep "0.0$(printf '%02d%d' $((SRANDOM % 16)) $((SRANDOM % 10)))"; } # 0 to 15.9 ms

cat >"$T/requests" <<END
{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"setsid sleep $MARK & echo begun >begun; sleep $MARK"}}}
END

# start_mcp: a server with a command in it; descriptor 5 is its input, $pid its supervisor.
start_mcp() {
	rm -f "$T/in" "$WS/begun"
	mkfifo "$T/in"
	: >"$T/out"
	MAX_READ_SIZE_BYTES=$MARK "$CLOCHE" mcp "${MARKED[@]}" "$WS" <"$T/in" >"$T/out" 2>"$T/err" &
	pid=$!
	exec 5>"$T/in"
	cat "$T/requests" >&5
}
stop_mcp() {
	wait "$pid" 2>/dev/null
	ST=$?
	exec 5>&-
}
command_runs() { [ -e "$WS/begun" ] && [ "$(marked_pids | wc -l)" -ge 6 ]; }

host_state before

# --- ends as they should be --------------------------------------------------------------------------------------------

inside -- true
gone "after a command"
inside -- sh -c 'setsid sleep 500 & nohup sleep 501 >/dev/null 2>&1 & (sleep 502 & ) ; exit 3'
is "$ST" 3 "a command that leaves three processes behind"
gone "after it"
inside -- no-such-command
gone "after a command that does not exist"
inside -w /nope -- true
gone "after a refused start"
start_mcp
until_true command_runs
ok $? "an MCP session with a command in it: supervisor, init, server, shim, shell and two sleeps"
exec 5>&-
stop_mcp
is "$ST,$(cat "$T/err")" "0," "the end of input ends it, with exit status 0"
gone "after it"
for sig in TERM INT HUP; do
	start_mcp
	until_true command_runs
	begin=$SECONDS
	kill -$sig "$pid"
	stop_mcp
	[ $((SECONDS - begin)) -le 5 ]
	ok $? "SIG$sig ends an MCP session (status $ST)"
	gone "after it"
done

# --- many at once ------------------------------------------------------------------------------------------------------

pids=()
for i in {1..20}; do
	"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c 'sleep 0.3; exit 9' </dev/null >/dev/null 2>"$T/err$i" &
	pids+=($!)
done
statuses=
for pid in "${pids[@]}"; do
	wait "$pid"
	statuses="$statuses$? "
done
is "$statuses" "$(printf '9 %.0s' {1..20})" "twenty sandboxes at once"
gone "after them"
pids=()
for i in {1..20}; do
	{
		head -n 2 "$T/requests"
		sleep 0.3
	} | MAX_READ_SIZE_BYTES=$MARK "$CLOCHE" mcp "${MARKED[@]}" "$WS" >"$T/out$i" 2>"$T/err$i" &
	pids+=($!)
done
statuses=
for pid in "${pids[@]}"; do
	wait "$pid"
	statuses="$statuses$? "
done
is "$statuses" "$(printf '0 %.0s' {1..20})" "twenty MCP sessions at once on one workspace"
is "$(cat "$T"/out[0-9]* | grep -c '"serverInfo"')" 20 "each has answered"
gone "after them"

# --- kill -9 at any moment ---------------------------------------------------------------------------------------------

left=0
for ((i = 0; i < loops; i++)); do
	"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	nap
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	at_rest || left=$((left + 1))
done
is "$left" 0 "cloche run killed $loops times within its first 16 ms: nothing is left within 2 s"
left=0
for ((i = 0; i < loops / 5; i++)); do
	rm -f "$WS/begun"
	"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c "setsid sleep $MARK & echo >begun; sleep $MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	until_true test -e "$WS/begun"
	nap
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	at_rest || left=$((left + 1))
done
is "$left" 0 "killed $((loops / 5)) times while a command runs: nothing is left"
left=0
for ((i = 0; i < loops; i++)); do
	start_mcp
	nap
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	at_rest || left=$((left + 1)) # while its input is still open
	exec 5>&-
done
is "$left" 0 "cloche mcp killed $loops times within its first 16 ms: nothing is left"

# --- kill -9 of each process of a session ------------------------------------------------------------------------------

# child_of PID REGEX: the child whose arguments begin like that.
child_of() { pgrep -P "$1" -f "^$2" | head -n 1; }
left=0
wrong=
for ((i = 0; i < loops / 10 + 1; i++)); do
	start_mcp
	until_true command_runs
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	at_rest || left=$((left + 1)) # while its input is still open
	exec 5>&-
done
is "$left" 0 "kill -9 of cloche in a session with a command"
for ((i = 0; i < loops / 10 + 1; i++)); do
	start_mcp
	until_true command_runs
	init=$(child_of "$pid" cloche-init)
	server=$(child_of "$init" cloche-mcp)
	[ -n "$server" ] && kill -KILL "$server"
	stop_mcp
	[ "$ST" = 137 ] || wrong="$wrong $ST"
	at_rest || left=$((left + 1))
done
is "$left" 0 "kill -9 of the server"
is "$wrong" "" "cloche then ends with 137"
wrong=
for ((i = 0; i < loops / 10 + 1; i++)); do
	start_mcp
	until_true command_runs
	init=$(child_of "$pid" cloche-init)
	[ -n "$init" ] && kill -KILL "$init"
	stop_mcp
	[ "$ST" = 125 ] && grep -qx "cloche: the sandbox was killed from outside (signal 9)" "$T/err" || wrong="$wrong $ST: $(cat "$T/err")"
	at_rest || left=$((left + 1))
done
is "$left" 0 "kill -9 of init"
is "$wrong" "" "cloche then ends with 125 and says why"
start_mcp
until_true command_runs
init=$(child_of "$pid" cloche-init)
shim=$(child_of "$init" cloche-init)
kill -KILL "$shim"
until_true grep -q '"id":2' "$T/out"
echo '{"jsonrpc":"2.0","id":3,"method":"ping"}' >&5
until_true grep -q '"id":3' "$T/out"
like "$(cat "$T/out")" 'Exit code: -9.*"id":3' "kill -9 of a command's first process ends that command, and only it"
exec 5>&-
stop_mcp
gone "after it"

# A client that spawns cloche and is killed: its ends of the pipes close with it.
cat >"$T/client" <<'END'
#!/bin/bash
coproc SERVER { exec "$CLOCHE" mcp "$@"; }
cat "$T/requests" >&"${SERVER[1]}"
while read -r _ <&"${SERVER[0]}"; do :; done
END
export T CLOCHE
left=0
for ((i = 0; i < loops / 10 + 1; i++)); do
	rm -f "$WS/begun"
	MAX_READ_SIZE_BYTES=$MARK bash "$T/client" "${MARKED[@]}" "$WS" >/dev/null 2>&1 &
	client=$!
	until_true test -e "$WS/begun"
	kill -KILL "$client"
	wait "$client" 2>/dev/null
	at_rest || left=$((left + 1))
done
is "$left" 0 "kill -9 of the client, while a command runs"

# --- the host ----------------------------------------------------------------------------------------------------------

# Orphans are reaped by the machine's own init, which may be slow after hundreds of them.
until_true no_new_zombie || until_true no_new_zombie || until_true no_new_zombie
ok $? "no zombie is left" "$(zombies | comm -13 "$T/before.zombies" -)"
host_state after
for what in mounts cgroups temporary tmpdir ipc; do
	cmp -s "$T/before.$what" "$T/after.$what"
	ok $? "the host is as it was: $what" "$(diff "$T/before.$what" "$T/after.$what" | head -n 5)"
done
is "$(ls -A "$WS")" begun "the workspace holds what was made in it, and no more"
inside -- sh -c 'echo still works'
is "$OUT" "still works" "and a sandbox starts as before"
gone "nothing is left at the end"
finish
