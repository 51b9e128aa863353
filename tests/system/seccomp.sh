#!/bin/sh
# The system-call filter inside a real sandbox: the calls of tests/helpers/syscall_cases.c, made there, get the filter's answers.
#
# Needs CLOCHE and TEST_TRY_SYSCALL, the paths of cloche and of the helper.
set -u

cloche=${CLOCHE:?is the path of cloche}
helper=${TEST_TRY_SYSCALL:?is the path of try_syscall}
workspace=$(mktemp -d) || exit 1
trap 'rm -rf "$workspace"' EXIT
cp "$helper" "$workspace/try_syscall" && chmod 755 "$workspace" "$workspace/try_syscall" || exit 1
count=0

check() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; fi
}

inside() { "$cloche" run --workspace "$workspace" -- "$@" </dev/null; }

inside ./try_syscall --check >"$workspace/results" 2>&1
status=$?
while read -r name result rest; do
	test -z "$rest"
	check $? "$name: $result${rest:+ $rest}"
done <"$workspace/results"
check "$status" "try_syscall ends with 0"
test "$count" -gt 100
check $? "all calls of the table were made"

mode=$(inside sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status)
test "$mode" = 2
check $? "a command runs under a filter (mode '$mode')"

echo "1..$count"
