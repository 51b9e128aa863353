#!/bin/bash
# The switch that takes single walls away: only the build for tests has it. And the small walls that have no test of their own
# elsewhere, each with its attack, which must succeed without it.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

# --- the switch --------------------------------------------------------------------------------------------------------

# words PROGRAM...: how many of them hold a word of the switch.
words() { grep -lE 'CLOCHE_TEST_WITHOUT|there is no wall|program-readonly' "$@" | wc -l; }
here=$(dirname "$CLOCHE")
is "$(words "$here"/cloche*)" 0 "the programs that ship hold nothing of the switch"
export CLOCHE_TEST_WITHOUT=env,landlock,seccomp,caps
inside -- sh -c 'env | grep -c CLOCHE_TEST; grep -E "^(Seccomp|CapEff):" /proc/self/status'
is "$OUT" $'0\nCapEff:\t0000000000000000\nSeccomp:\t2' "and take no notice of it"
unset CLOCHE_TEST_WITHOUT
if [ -n "$holes" ]; then
	[ "$(words "$(dirname "$holes")"/cloche*)" -ge 3 ]
	ok $? "(the search works: those for tests hold it)"
	without no-such-wall inside -- true
	is "$ST" 99 "a wall that does not exist ends them"
	names=$(sed -n 's,.*WALL_[A-Z_]*.*/\* \([a-z-]*\): .*,\1,p' "$(dirname "$0")/../../runtime/base/wall.h")
	[ "$(wc -l <<<"$names")" -ge 30 ]
	ok $? "the walls have names" "$names"
	for wall in $names; do
		with=$wall
		[ "$wall" != no-new-privs ] || with=no-new-privs,seccomp,landlock
		without "$with" inside -- echo inside
		is "$ST,$OUT" "0,inside" "a sandbox without $with starts"
	done
else
	skip "a sandbox starts without single walls" "no build with holes: CLOCHE_HOLES names none"
fi

# --- small walls -------------------------------------------------------------------------------------------------------

# in_session COMMAND: its output, from a command of an MCP session.
in_session() {
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"%s"}}}\n' "$1" |
		"$CLOCHE" mcp "${MARKED[@]}" "$WS" 2>"$T/err" >"$T/out"
	OUT=$(cat "$T/out")
}

if [ -e /proc/keys ]; then
	inside -- cat /proc/keys
	is "$ST,$OUT" "0," "/proc/keys names no key of the host's user"
	in_session 'wc -c </proc/keys'
	like "$OUT" '"\[Exit code: 0\]\\n0\\n"' "nor in a command of a session"
	if [ -n "$holes" ]; then
		without proc-mask inside -- cat /proc/keys
		like "$OUT" "keyring" "(without the mask it does)"
		without proc-mask in_session 'cat /proc/keys'
		like "$OUT" "keyring" "(nor there)"
	else
		skip "(without the mask it does)" "no build with holes: CLOCHE_HOLES names none"
	fi
else
	skip "/proc/keys names no key of the host's user" "a kernel without keys"
fi

core='grep -i "core file" /proc/self/limits | tr -s " " | cut -d" " -f5,6'
if [ "$(ulimit -Hc)" = 0 ]; then
	skip "a crash inside starts no program of the host" "the own hard limit of core files is 0"
else
	inside -- sh -c "$core"
	is "$OUT" "1 1" "a crash inside starts no program of the host: the limit of core files is 1"
	inside --ulimit core=0 -- sh -c "$core"
	is "$OUT" "1 1" "whatever --ulimit says"
	inside -- sh -c "ulimit -c 0; echo \$?; $core"
	is "$OUT" $'0\n1 1' "and a command cannot make it 0, though it is told so"
	inside -- sh -c "ulimit -c" # asks only
	is "$ST,$OUT" "0,0" "but it can ask (in blocks)"
fi

inside -- cat /proc/self/oom_score_adj
[ "$OUT" -ge 500 ]
ok $? "the kernel takes commands first when memory runs out" "$OUT"
gone "nothing is left"
finish
