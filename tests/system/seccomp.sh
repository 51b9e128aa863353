#!/bin/bash
# The system-call filters inside real sandboxes: the built-in one, that for debuggers, a user's own, and what makes that one.
#
# Needs CLOCHE and TEST_TRY_SYSCALL, the paths of cloche and of the helper.
# shellcheck disable=SC2016 # the scripts are for the shell inside
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
cp "${TEST_TRY_SYSCALL:?is the path of try_syscall}" "$WS/try_syscall" && chmod 755 "$WS/try_syscall" || exit 1

# A state folder of its own, so that nothing is found there that this test has not made.
export XDG_RUNTIME_DIR=$T/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
kept=$XDG_RUNTIME_DIR/cloche/filters

# --- the built-in filter -------------------------------------------------------------------------------------------------

inside -- ./try_syscall --check
while read -r name result rest; do
	is "$rest" "" "$name: $result"
done <<<"$OUT"
is "$ST" 0 "try_syscall ends with 0"
[ "$count" -gt 100 ]
ok $? "all calls of the table were made"
gives 2 "a command runs under a filter" -- sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status

# Seen from the host. (The words of the test are on the command lines of cloche and of init; the first has no filter.)
"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sleep 5 &
init_is_filtered() { [ -n "$(for pid in $(marked_pids); do grep -l 'Seccomp:.2' "/proc/$pid/status"; done)" ]; }
until_true init_is_filtered
ok $? "init runs under a filter"
kill $! && wait $! 2>/dev/null

# --- debuggers -----------------------------------------------------------------------------------------------------------

cat >"$WS/d.c" <<'END'
#include <stdlib.h>
int twice(int x) { return 2 * x; }
int main(void) { char *p = malloc(7); p[0] = (char) twice(21); p = NULL; return p != NULL; }
END
debugger() { # NAME PROGRAM REGEX COMMAND...: works with --allow-debug, and not without
	local name=$1 program=$2 regex=$3
	shift 3
	if ! command -v "$program" >/dev/null; then
		skip "$name" "$program is not installed"
		return
	fi
	inside --allow-debug -- "$@"
	like "$OUT$ERR" "$regex" "$name works with --allow-debug"
	inside --security-opt seccomp=debug -- "$@"
	like "$OUT$ERR" "$regex" "$name works with seccomp=debug"
	inside -- "$@"
	unlike "$OUT$ERR" "$regex" "$name does not work without"
}
if command -v gcc >/dev/null; then
	gcc -g -O0 -o "$WS/d" "$WS/d.c" && gcc -g -fsanitize=address -o "$WS/l" "$WS/d.c" || exit 1
	debugger gdb gdb 'twice \(x=21\).*main \(\)' \
		sh -c 'gdb -batch -ex "break twice" -ex run -ex bt -ex continue ./d 2>&1 | tr "\n" " "'
	debugger 'the leak check' gcc '7 byte\(s\) leaked' sh -c 'ASAN_OPTIONS=detect_leaks=1 ./l'
	inside --allow-debug -- ./l
	like "$ERR" '7 byte\(s\) leaked' "the leak check is on by itself with --allow-debug"
	inside -- ./l
	is "$ST" 0 "and off without"
else
	skip 'gdb and the leak check' 'gcc is not installed'
fi
debugger 'strace -f' strace 'execve.*cat.*exited with 0' \
	sh -c 'strace -f -o log sh -c "echo a | cat"; tr "\n" " " <log; rm -f log'
debugger 'strace -p' strace 'attached.*exit_group\(0\)' sh -c 'sleep 1 & strace -p $! 2>&1 | tr "\n" " "'

# --- a user's own filter -------------------------------------------------------------------------------------------------

cp "$here/../filter/docker.json" "$T/f.json"
own=(--security-opt "seccomp=$T/f.json")
gives 'hello' "a filter in Docker's form" "${own[@]}" -- sh -c 'echo hello'
inside "${own[@]}" -- mkdir x
like "$ERR" 'No space left on device' "its errno is the file's (mkdir: ENOSPC)"
inside "${own[@]}" -- chmod 700 .
like "$ERR" 'Operation not permitted' "what its default refuses is refused"
cloche explain "${own[@]}" --workspace "$WS"
like "$OUT" 'no system calls that are known here: a_call_of_the_future.*need a capability' 'explain tells what of it has no effect'
inside "${own[@]}" -- ./try_syscall keyctl ptrace perf_event_open mount
is "$OUT" "$(printf '%s\n' 'mount EPERM' 'perf_event_open EINVAL' 'keyctl EPERM' 'ptrace EPERM')" \
	"what it allows is allowed, but not what the floor refuses"
inside "${own[@]}" --allow-debug -- ./try_syscall keyctl ptrace
is "$OUT" "$(printf '%s\n' 'keyctl EPERM' 'ptrace ESRCH')" "with --allow-debug it may allow ptrace as well"
echo '{"defaultAction": "SCMP_ACT_ALLOW"}' >"$T/all.json"
all=(--security-opt "seccomp=$T/all.json")
inside "${all[@]}" -- ./try_syscall clone:newuser unshare openat:setuid socket:alg socket:vsock ioctl:tiocsti-high mount open_tree \
	open_by_handle_at io_uring_setup bpf keyctl ptrace
is "$OUT" "$(printf '%s\n' 'clone:newuser EPERM' 'unshare EPERM' 'openat:setuid EPERM' 'socket:alg EAFNOSUPPORT' \
	'socket:vsock EAFNOSUPPORT' 'ioctl:tiocsti-high EPERM' 'mount EPERM' 'open_tree ENOSYS' 'open_by_handle_at EPERM' \
	'io_uring_setup ENOSYS' 'bpf EPERM' 'keyctl EPERM' 'ptrace EPERM')" 'a filter that allows everything still has the floor under it'

# --- what is refused -----------------------------------------------------------------------------------------------------

wrong() { # REGEX NAME VALUE
	refused "$1" "$2" run --workspace "$WS" --security-opt "$3" -- true
}
wrong 'seccomp=unconfined is not possible.*--allow-debug' 'unconfined is refused, with a way out' seccomp=unconfined
wrong 'default, debug, or FILE' 'a filter without a name' seccomp=
wrong "'$T/no.json' cannot be opened: No such file" 'a filter that is not there' "seccomp=$T/no.json"
wrong 'is not a regular file' 'a folder' "seccomp=$T"
mkfifo "$T/fifo"
wrong 'is not a regular file' 'a pipe, without waiting for it' "seccomp=$T/fifo"
head -c 1048577 /dev/zero | tr '\0' ' ' >"$T/big.json"
wrong 'is larger than 1048576 bytes' 'a file of more than a MiB' "seccomp=$T/big.json"
printf '{\n"defaultAction": "SCMP_ACT_ALLOW",\n"syscall": []\n}\n' >"$T/w.json"
wrong "'$T/w.json': line 3: the member 'syscall' of the filter is not known: it may have 'defaultAction'" \
	'a slip is named with its line and what is allowed there' "seccomp=$T/w.json"
printf '{' >"$T/w.json"
wrong 'line 1: this is not JSON' 'half a file' "seccomp=$T/w.json"
echo '{"defaultAction": "SCMP_ACT_ERRNO"}' >"$T/w.json"
wrong "does not allow 'execve'" 'a filter under which nothing could start' "seccomp=$T/w.json"
wrong 'only seccomp=FILE, and no-new-privileges' 'another option' label=disable

# --- what is kept --------------------------------------------------------------------------------------------------------

# The programs without the one that compiles.
mkdir "$T/without"
ln -s "$CLOCHE" "$T/without/real"
cp "$CLOCHE" "$T/without/cloche"
ln -s "$(dirname "$CLOCHE")/cloche-init" "$T/without/cloche-init"
works() { # NAME: the filter of the file holds
	inside "${own[@]}" -- sh -c 'echo works; mkdir x'
	[ "$OUT" = works ] && [[ $ERR == *'No space left'* ]]
	ok $? "$1" "status $ST, output '$OUT', messages '$ERR'"
}
found() { # NAME YES|NO: cloche finds what was compiled before
	local real=$CLOCHE
	CLOCHE=$T/without/cloche
	inside "${own[@]}" -- sh -c 'echo works'
	CLOCHE=$real
	if [ "$2" = yes ]; then is "$OUT" works "$1"; else like "$ERR" "cloche-compile' that belongs to cloche was not found" "$1"; fi
}
inside "${own[@]}" -- true
found 'what was compiled before is found' yes
is "$(stat -c %a "$kept")" 700 'it is kept where nobody else can look'
for file in "$kept"/*; do truncate -s -1 "$file"; done
found 'what was cut is not used' no
works 'but made anew'
found 'and kept again' yes
for file in "$kept"/*; do printf 'X' | dd of="$file" bs=1 seek=40 conv=notrunc status=none; done
found 'what belongs to another text is not used' no
works 'but made anew once more'
for file in "$kept"/*; do printf '\377\377' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") - 400)) conv=notrunc status=none; done
found 'instructions that make no sense are not used' no
works 'but made anew a third time'
echo ' ' >>"$T/f.json"
found 'another text is not found' no
works 'it is compiled'
rm -rf "$XDG_RUNTIME_DIR/cloche"
chmod 500 "$XDG_RUNTIME_DIR"
works 'without a folder for state it works too'
chmod 700 "$XDG_RUNTIME_DIR"

# --- who compiles --------------------------------------------------------------------------------------------------------

mkfifo "$T/in"
compile=$(dirname "$CLOCHE")/cloche-compile
mkfifo "$T/said"
cat "$T/said" >"$T/err" &
"$compile" seccomp name <"$T/in" >"$T/said" 2>&1 3</etc/passwd &
pid=$!
exec 4>"$T/in"
until_true grep -q '^Seccomp:.*2' "/proc/$pid/status"
status=$(cat "/proc/$pid/status")
like "$status" $'Seccomp:\t2' 'it has a filter before it has read a byte'
like "$status" $'NoNewPrivs:\t1' 'and no_new_privs'
like "$(cat "/proc/$pid/limits")" 'Max processes +0 +0 .*Max open files +0 +0' 'it can start and open nothing'
like "$(cat "/proc/$pid/limits")" 'Max address space +201326592 +201326592 ' 'nor take memory without end, of whatever kind'
if [ "$ME" = 0 ]; then
	unlike "$status" $'Uid:\t0' 'started by root, it is not root'
	is "$(cd "/proc/$pid/fd" && echo *)" '0 1 2' 'it has three descriptors'
else
	skip 'identity and descriptors' 'only root can look'
fi
printf '{}' >&4
exec 4>&-
wait "$pid"
is "$?" 1 'it refuses what is wrong'
wait
like "$(cat "$T/err")" "^the system-call filter 'name': line 1: the filter has no 'defaultAction'" 'in one sentence'
is "$("$compile" 2>&1)" 'cloche-compile is a part of cloche, which calls it to read policy files' 'called by people it says what it is'

# --- with the server -----------------------------------------------------------------------------------------------------

{
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
	echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"mkdir made; echo done"}}}'
} >"$T/requests"
{
	cat "$T/requests"
	sleep 2
} | "$CLOCHE" mcp "${MARKED[@]}" "${own[@]}" "$WS" >"$T/answers" 2>"$T/err"
like "$(cat "$T/answers")" 'No space left on device.*done' "the server's commands run under the user's filter"

gone 'nothing is left'
finish
