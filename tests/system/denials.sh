#!/bin/bash
# Denials explained: a command is told what the filter refuses with the same errno as without anybody listening, whatever kind
# of program it is, and its caller is told which calls, how often and what to do instead, however many there were.
#
# Needs CLOCHE, TEST_REFUSED and TEST_WITH_FILTER: the paths of cloche and of two helpers.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
: "${TEST_REFUSED:?is the path of the helper refused}" "${TEST_WITH_FILTER:?is the path of the helper with_filter}"

cp "$TEST_REFUSED" "$WS/refused" && chmod 755 "$WS/refused" || exit 1
if ! have python3; then
	skip "denials" "no python3 here"
	finish
fi

# An MCP session: each command after "--" is a call of run_bash, or of another tool when it is {"name": ..., "arguments": ...}.
# Prints the text of each answer, and a line of "=" behind it.
cat >"$T/talk.py" <<'END'
import json, subprocess, sys
cloche, *words = sys.argv[1:]
at = words.index("--")
p = subprocess.Popen([cloche, "mcp", *words[:at]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for id_, word in enumerate(words[at + 1:]):
    params = json.loads(word) if word.startswith("{") else {"name": "run_bash", "arguments": {"command": word, "timeout": 60}}
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}).encode() + b"\n")
    p.stdin.flush()
    print(json.loads(p.stdout.readline())["result"]["content"][0]["text"])
    print("=====", flush=True)
p.stdin.close()
sys.exit(p.wait())
END
talk() {
	python3 "$T/talk.py" "$CLOCHE" "${MARKED[@]}" "$@" >"$T/out" 2>"$T/err" </dev/null
	ST=$?
	OUT=$(cat "$T/out")
	ERR=$(cat "$T/err")
}
denied='[Denied by the sandbox: '
times() { grep -cF -- "$1" "$T/out"; }

# --- the same errno, for every kind of program --------------------------------------------------------------------------

for mode in "flood 1000" "threads 500" "vfork 100" "signals 5000" "eintr 5000" "filter 100" "kinds 3"; do
	# shellcheck disable=SC2086 # two words
	without=$("$TEST_WITH_FILTER" "$TEST_REFUSED" $mode)
	inside -- sh -c "./refused $mode"
	is "$OUT,$ST,$ERR" "$without,0," "$mode: as without a listener, and not a word when the command works"
	talk "$WS" -- "./refused $mode"
	like "$OUT" "^\[Exit code: 0\]"$'\n'"$without"$'\n\n'"\[Denied by the sandbox: add_key \(EPERM, [0-9]+ times\)\. " \
		"$mode: the same in a session, and told"
done
if [ -n "${TEST_TRY_SYSCALL:-}" ]; then
	cp "$TEST_TRY_SYSCALL" "$WS/try_syscall"
	talk "$WS" -- "./try_syscall --check | grep instead; ./try_syscall --check >/dev/null"
	like "$OUT" "^\[Exit code: 0\]"$'\n\n'"\[Denied" "every call of the filter's table has its answer in a session"
else
	skip "every call of the filter's table has its answer in a session" "TEST_TRY_SYSCALL is not set"
fi
inside -- ./refused listener
is "$OUT" "listener EBUSY" "a program can have no listener of its own"
inside -- ./refused descriptors
is "$OUT" "descriptors worked" "a command of run has no descriptor but its streams"
talk "$WS" -- "./refused descriptors; ls /proc/self/fd | wc -l"
is "$OUT" $'[Exit code: 0]\ndescriptors worked\n4\n\n=====' "nor has one of a session (the fourth is that of ls)"
talk "$WS" -- "for p in /proc/[0-9]*; do cat \$p/comm; done; ls -l /proc/1/fd 2>&1 | grep -c seccomp"
unlike "$OUT" "shim|cloche" "nobody inside sees who listens"

if in_usr strace; then
	inside --security-opt seccomp=debug -- strace -qqfe trace=add_key ./refused flood 3
	is "$OUT,$(grep -c 'EPERM' "$T/err")" "flood EPERM,3" "strace shows each refused call with its errno"
else
	skip "strace shows each refused call with its errno" "no strace in /usr"
fi
if in_usr gdb; then
	inside --security-opt seccomp=debug -- gdb -q -batch -ex run -ex 'print 6*7' --args ./refused flood 100
	like "$OUT" "flood EPERM.*= 42" "gdb runs a program that is refused calls"
else
	skip "gdb runs a program that is refused calls" "no gdb in /usr"
fi
if have go; then
	cat >"$T/refused.go" <<-'END'
		package main

		import (
			"runtime"
			"sync"
			"syscall"
		)

		func main() {
			runtime.GOMAXPROCS(4)
			var group sync.WaitGroup
			wrong := [8]int{}
			for i := range wrong {
				group.Add(1)
				go func(i int) {
					defer group.Done()
					for j := 0; j < 500; j++ {
						if syscall.Mount("none", "/tmp", "tmpfs", 0, "") != syscall.EPERM {
							wrong[i]++
						}
						runtime.GC()
					}
				}(i)
			}
			group.Wait()
			println("go", wrong == [8]int{})
		}
	END
	if HOME=$T GOCACHE=$T/gocache GOFLAGS=-mod=mod go build -o "$WS/refused-go" "$T/refused.go" 2>"$T/err"; then
		talk "$WS" -- "./refused-go"
		like "$OUT" "^\[Exit code: 0\]"$'\n'"go true"$'\n\n'"\[Denied by the sandbox: mount \(EPERM, 4000 times\)" \
			"a Go program with many goroutines and signals gets EPERM every time"
	else
		skip "a Go program" "go cannot build here: $(head -n 1 "$T/err")"
	fi
else
	skip "a Go program" "no go here"
fi

# --- what is told -------------------------------------------------------------------------------------------------------

inside -- sh -c './refused kinds; exit 3'
like "$ERR" "^cloche: denied by the sandbox: add_key \(EPERM\)\. [A-Z].*\." "a command that fails is explained on stderr"
is "$ST,$(wc -l <"$T/err"),$(grep -c 'calls of other kinds, 5 times' "$T/err")" "3,9,1" "in nine lines at the most"
inside -- sh -c 'exit 3'
is "$ST,$OUT,$ERR" "3,," "and not at all when nothing was denied"
talk "$WS" -- true "echo x" "printf x; exit 3"
is "$OUT" $'[Exit code: 0]\n=====\n[Exit code: 0]\nx\n\n=====\n[Exit code: 3]\nx\n=====' "an answer without denials is what it always was"
talk "$WS" -- "./refused kinds 5" "true"
is "$(times "$denied"),$(times "calls of other kinds, 25 times")" "9,1" "eight kinds of calls are told one by one, the others together"
like "$OUT" $'=====\n\[Exit code: 0\]\n=====$' "the next command begins anew"
talk "$WS" -- "unshare -U true" "mount -t tmpfs none /tmp" "chmod 4755 refused"
for call in unshare mount fchmodat; do
	like "$OUT" "\[Denied by the sandbox: $call \(EPERM\)\. [^]]*Instead: [^]]*\.\]" "$call: why, and what to do instead"
done

# --- floods -------------------------------------------------------------------------------------------------------------

cat >"$T/flood.py" <<'END'
import json, subprocess, sys, time
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(id_, method, **params):
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode() + b"\n")
    p.stdin.flush()
send("flood", "tools/call", name="run_bash", arguments={"command": "./refused flood 1000000", "timeout": 200})
worst, pings, over = 0, 0, None
while not over:
    start = time.monotonic()
    send(pings, "ping")
    pings += 1
    answer = json.loads(p.stdout.readline())
    if answer["id"] == "flood":
        over = answer
    worst = max(worst, time.monotonic() - start)
    time.sleep(0.05)
print("1000000 times" in over["result"]["content"][0]["text"], pings > 3, "worst below 2 s" if worst < 2 else worst)
p.stdin.close()
sys.exit(p.wait())
END
python3 "$T/flood.py" "$CLOCHE" mcp "${MARKED[@]}" "$WS" >"$T/out" 2>"$T/err"
is "$?,$(cat "$T/out")" "0,True True worst below 2 s" "a million refused calls are counted, and pings are answered meanwhile"
talk "$WS" -- '{"name": "run_bash", "arguments": {"command": "./refused flood 1000000000 & ./refused flood 1000000000", "timeout": 1}}'
like "$OUT" "timed out after 1s.*\[Denied by the sandbox: add_key \(EPERM, [0-9]+ times\)" "what was refused is told of a command that was killed, too"
start=$SECONDS
talk "$WS" -- "./refused behind 10"
like "$OUT" "^\[Exit code: 0\]"$'\n'"behind EPERM" "a process left behind in a flood does not hold its command up"
inside -- ./refused behind 10
is "$ST,$OUT" "0,behind EPERM" "nor that of run"
[ $((SECONDS - start)) -lt 20 ]
ok $? "both end at once" "after $((SECONDS - start)) s"
gone "and nothing of them stays"
"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c 'trap "echo caught; exit 7" TERM; echo ready; ./refused flood 1000000000 & wait' \
	</dev/null >"$T/out" 2>"$T/err" &
supervisor=$!
until_true grep -q ready "$T/out"
kill -TERM "$supervisor"
wait "$supervisor"
is "$?,$(cat "$T/out")" $'7,ready\ncaught' "signals reach a command in a flood"

# --- who listens, and who cannot ----------------------------------------------------------------------------------------

cat >"$T/shim.py" <<'END'
import json, os, signal, subprocess, sys, time
mark, *command = sys.argv[1:]
p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def call(id_, text):
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": "run_bash", "arguments": {"command": text}}}).encode() + b"\n")
    p.stdin.flush()
def find(test):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if test(open("/proc/%s/comm" % pid).read().strip(), open("/proc/%s/cmdline" % pid).read()):
                found.append(int(pid))
        except OSError:
            pass
    return found
def wait(test):
    for _ in range(100):
        found = find(test)
        if found:
            return found
        time.sleep(0.05)
call(1, "setsid sleep %s & ./refused flood 1000000000" % mark)
wait(lambda comm, line: line == "sleep\0%s\0" % mark)
[shim] = wait(lambda comm, line: comm == "cloche-shim" and mark in line)
os.kill(shim, signal.SIGKILL)
print(json.loads(p.stdout.readline())["result"]["content"][0]["text"].split("\n")[0])
print(find(lambda comm, line: line == "sleep\0%s\0" % mark or comm == "refused" and mark in line))
call(2, "echo next")
print(json.loads(p.stdout.readline())["result"]["content"][0]["text"].strip())
p.stdin.close()
sys.exit(p.wait())
END
python3 "$T/shim.py" "$MARK" "$CLOCHE" mcp "${MARKED[@]}" "$WS" >"$T/out" 2>"$T/err"
is "$?,$(cat "$T/out")" $'0,[Exit code: -9]\n[]\n[Exit code: 0]\nnext' "when a shim is killed, all of its command is gone, and the session goes on"
"$TEST_REFUSED" under "$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c './refused flood 5; exit 3' </dev/null >"$T/out" 2>"$T/err"
ST=$?
if [ "$ST" = 125 ] && [ ! -s "$T/err" ]; then
	skip "where another program listens already" "no listener can be had here"
else
	is "$ST,$(cat "$T/out"),$(cat "$T/err")" "3,flood EPERM," "where another program listens already, the answers are the same, without a word"
fi

# A user's own filter that refuses what the listener's way to its holder needs.
for call in sendmsg seccomp chdir; do
	printf '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["%s", "add_key"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}' $call \
		>"$T/$call.json"
	inside --security-opt "seccomp=$T/$call.json" -- sh -c './refused flood 5; exit 3'
	is "$ST,$OUT,$([ $call = chdir ] && echo "$ERR" | grep -c 'add_key (EPERM, 5 times)' || echo "${ERR:-0}")" \
		"3,flood EPERM,$([ $call = chdir ] && echo 1 || echo 0)" "a filter of the user's that refuses $call"
done

# --- paths and the network ----------------------------------------------------------------------------------------------

mkdir -p "$T/given" "$WS/given"
echo x >"$WS/file"
write='{"name": "write_file", "arguments": {"filepath": "PATH", "content": "x", "create_only": false}}'
talk "$WS" -- "touch /usr/x" "touch /usr/x || true" "ls /workspace/none /nowhere /var/log/syslog" \
	"python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80))'" "python3 -c 'import socket; socket.getaddrinfo(\"example.com\", 80)'"
is "$(times "$denied")" 4 "a message in the output of a command that failed is explained once, of one that worked not"
like "$OUT" "Read-only file system.*Denied by the sandbox: writing outside of [^]]*/workspace[^]]*/tmp" "what is read-only, and what can be written"
like "$OUT" "No such file or directory.*Denied by the sandbox: files of the host outside of the workspace[^]]*/root[^]]*/var" "what is not visible"
like "$OUT" "Network is unreachable.*Denied by the sandbox: the network\. There is none" "that there is no network"
like "$OUT" "name resolution.*Denied by the sandbox: the network\. There is none" "nor a name service"
mkdir "$T/opt"
talk -v "$T/opt:/opt/x" "$WS" -- "ls /opt/x/none; ls /var/none; exit 1"
like "$OUT" "files of the host outside of the workspace[^]]*/mnt, /root" "a volume makes its folder visible"
unlike "$OUT" "/opt," "which is not told any more"
talk -v "$T/given:/workspace/given:ro" "$WS" -- "${write/PATH/given/x}" "${write/PATH/file}" "mv given other" "touch given/x"
like "$OUT" "File 'given/x' cannot be changed: it is a protected path or a read-only volume" "a file tool tells of a read-only part"
like "$OUT" "Successfully wrote 1 bytes to file" "and writes beside it"
like "$OUT" "busy.*Denied by the sandbox: protected paths and volumes in the workspace[^]]*cannot be removed, renamed" "a part that cannot be moved"
talk -v "$WS:/workspace:ro" --tmpfs /workspace/given -- "${write/PATH/file}" "${write/PATH/given/x}" "touch new"
like "$OUT" "File 'file' cannot be changed: the workspace is read-only in this sandbox\. What can be written: [^.]*/workspace/given" \
	"a file tool tells of a read-only workspace, and of what can be written"
like "$OUT" "Successfully wrote 1 bytes to given/x" "which can be"
like "$OUT" "Denied by the sandbox: writing outside of [^]]*/workspace/given" "a command is told the same"
finish
