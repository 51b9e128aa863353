#!/bin/bash
# Attacks that once worked or nearly did: on the host through what a command inherits, on folders that were given read-only,
# on other users of the machine's counters, and on an MCP session through its commands and its client.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

# session COMMAND...: runs each as a run_bash call of one MCP session, one after the other; their answers are lines of $OUT.
session() {
	local command id=0 line
	OUT=
	coproc SERVER { exec "$CLOCHE" mcp "${MARKED[@]}" "$WS" 2>"$T/err"; }
	for command in "$@"; do
		id=$((id + 1))
		printf '{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"%s","timeout":%d}}}\n' \
			"$id" "$command" "${TIMEOUT:-20}" >&"${SERVER[1]}"
		IFS= read -r -t 30 line <&"${SERVER[0]}" || line="no answer"
		OUT+=$line$'\n'
	done
	local pid=$SERVER_PID input=${SERVER[1]}
	exec {input}>&-
	wait "$pid"
	ST=$?
}

echo secret >"$T/secret"

# --- what a command inherits -------------------------------------------------------------------------------------------

for fd in 0 1 2; do
	eval '"$CLOCHE" run --workspace "$WS" -- /bin/true '"$fd"'<"$T" '"$([ "$fd" = 2 ] || echo '2>"$T/err"')"
	is $? 125 "a directory of the host as descriptor $fd is refused by run"
	[ "$fd" = 2 ] || like "$(cat "$T/err")" "directory of the host" "and told (descriptor $fd)"
done
"$CLOCHE" mcp "$WS" <"$T" >"$T/out" 2>"$T/err"
is "$?,$(cat "$T/out")" "125," "a directory as the input of mcp is refused"
if have python3; then
	python3 - "$CLOCHE" "$WS" "$T" <<-'END' 2>"$T/err"
		import os, subprocess, sys
		looked_up = os.open(sys.argv[3] + "/secret", os.O_PATH)
		sys.exit(subprocess.run([sys.argv[1], "run", "--workspace", sys.argv[2], "--", "/bin/true"], stdin=looked_up).returncode)
	END
	is $? 125 "a path that was only looked up (O_PATH) is refused too"
else
	skip "a path that was only looked up (O_PATH)" "no python3 here"
fi

# --- limits of the caller ----------------------------------------------------------------------------------------------

inside -- sh -c 'grep -E "realtime priority|nice priority" /proc/self/limits | tr -s " "'
is "$OUT" $'Max nice priority 0 0 \nMax realtime priority 0 0 ' "no command may raise its priority"
for files in 24 100 300; do
	(
		ulimit -n "$files"
		exec "$CLOCHE" mcp "$WS"
	) </dev/null >"$T/out" 2>"$T/err"
	ST=$? OUT=$(cat "$T/out") ERR=$(cat "$T/err")
	one_sentence 125 "limit of open files" "mcp under a limit of $files open files says so"
done
if [ "$ME" = 0 ] && have setpriv; then
	setpriv --securebits=+no_setuid_fixup "$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sleep "$MARK" </dev/null &
	supervisor=$!
	until_true pgrep -f "^sleep $MARK" >/dev/null
	is "$(grep -E '^Cap(Prm|Eff|Inh|Amb)' "/proc/$supervisor/status" | cut -f2 | sort -u)" 0000000000000000 \
		"securebits of the caller leave the supervisor no capability"
	kill "$supervisor"
	wait "$supervisor" 2>/dev/null
else
	skip "securebits of the caller leave the supervisor no capability" "not root, or no setpriv"
fi

# --- folders given read-only -------------------------------------------------------------------------------------------

mkdir -p "$WS/.git/hooks" "$WS/.git/info" "$WS/deep/a/b" "$T/hooks"
echo kept >"$T/hooks/pre-commit"
inside -v "$T/hooks:/workspace/.git/hooks:ro" -v "$T/hooks:/workspace/deep/a/b:ro" -- sh -c '
	echo x >.git/hooks/pre-commit
	mv .git/hooks .git/other
	mv .git .other && mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit
	mv deep/a deep/c; mv deep other; rm -rf deep .git/hooks
	mkdir -p .git/hooks deep/a/b && echo evil >.git/hooks/evil
	ln -s /tmp .git/hooks/link
	echo x >.git/info/exclude && mv .git/info/exclude .git/excluded && echo written'
is "$OUT" written "beside a read-only mount all can be written"
is "$(cd "$WS" && find . \( -name '*other*' -o -name 'evil*' -o -name pre-commit -o -name c \) -print)" "" \
	"a folder that leads to a read-only mount cannot be moved out of the way"
is "$(cat "$T/hooks/pre-commit"; ls "$T/hooks")" $'kept\npre-commit' "and its source is as it was"
inside -v "$T/hooks:/workspace/deep/a/b:ro" -v "$T/hooks:/workspace/deep/a:ro" -v "$WS/.git:/workspace/deep/a/x" -- true
one_sentence 125 "does not exist in a folder of the host" "nothing is made in a read-only mount for another one"
rm -rf "$WS/.git" "$WS/deep"

# --- what counts for the host's user -----------------------------------------------------------------------------------

if in_usr python3 && ! grep -q "^[^ ]* /proc/sys " /proc/self/mounts; then
	inside -- cat /proc/sys/user/max_user_namespaces
	is "$OUT" 0 "a second wall against user namespaces inside"
	inside -- python3 -c 'import ctypes
l = ctypes.CDLL(None); n = 0
while n < 5000 and l.inotify_init() >= 0: n += 1
print(n <= 64)'
	is "$OUT" True "a sandbox leaves its user some of the watchers"
else
	skip "a sandbox leaves its user some of the watchers" "no python3 in /usr, or /proc/sys is read-only"
fi

# --- one MCP session ---------------------------------------------------------------------------------------------------

session "ipcmk -M 1000000 -Q -S 1 >/dev/null && ipcs -m | grep -c 1000000" "ipcs -mqs | grep -c '^0x' || echo none"
like "$OUT" '"\[Exit code: 0\]\\n1\\n".*"\[Exit code: 0\]\\n0\\nnone\\n"' "System V objects of a command end with it"
session 'ls -d /proc/[0-9]* | wc -l; cat /proc/1/status' 'kill -9 1; kill -STOP 1; kill -9 -1' 'echo still here'
unlike "$OUT" "cloche-shim" "a command does not see its shim"
like "$OUT" "still here" "nor can it end more than itself"
TIMEOUT=1 session 'kill -STOP $$' 'setsid sh -c \"kill -STOP \\$\\$\" & sleep 60' 'f() { f | f & }; f; sleep 60' 'echo still here'
like "$OUT" "timed out.*timed out.*timed out.*still here" "stopped commands and fork bombs end at their time"
is "$ST" 0 "and the session goes on to its end"
session 'yes | head -c 30000000' 'printf \"\\\\000\\\\377\\\\033[2J\"' 'echo still here'
like "$OUT" "truncated.*still here" "a flood of output, or any byte in it, is no obstacle"
session 'mkfifo fifo; ln -s loop loop; ln -s /proc/self/root root; truncate -s 1G sparse; mkdir -p \"$(printf \"a\\\\nb\")\"; ls | wc -l'
for file in fifo loop root/etc/passwd /proc/self/environ ../secret sparse; do
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{"filepath":"%s"%s}}}\n' \
		read_file "$file" "" write_file "$file/x" ',"content":"x"' >"$T/in"
	sed -i '2s/"id":1/"id":2/' "$T/in"
	"$CLOCHE" mcp "${MARKED[@]}" "$WS" <"$T/in" >"$T/out" 2>"$T/err"
	is "$?,$(grep -c '"isError":true' "$T/out")" 0,2 "reading and writing below '$file' fails at once"
done

# --- a hostile client --------------------------------------------------------------------------------------------------

{
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"sleep %s"}}}\n' "$MARK"
	sleep 1
	head -c 20000000 /dev/zero
	printf '\n[[[[[\n{"jsonrpc":"2.0","id":"half'
} | timeout 20 "$CLOCHE" mcp "${MARKED[@]}" "$WS" 2>"$T/err" | head -c 10 >/dev/null
is "${PIPESTATUS[1]}" 0 "garbage, half a message and an output that is not read end the session"
"$CLOCHE" mcp "${MARKED[@]}" "$WS" </dev/null >&- 2>"$T/err"
[ $? -le 1 ]
ok $? "a closed output ends it too"
is "$(cat "$T/secret")" secret "the secret is as it was"
gone "nothing is left"
finish
