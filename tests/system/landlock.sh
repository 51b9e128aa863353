#!/bin/bash
# The second wall: what Landlock forbids commands and the server beside namespaces and mounts, what it must leave alone, and, in the
# build whose walls can be taken away, that each attack here succeeds without it.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

# The version that this kernel has, as cloche asks for it (landlock_create_ruleset, 444, with the flag for the version).
if have python3; then
	abi=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, 0, 1)))')
else
	abi=0
fi
if [ "$abi" -lt 2 ]; then
	cloche run --workspace "$WS" -- sh -c 'echo x >f && mkdir d && mv f d/f && cat d/f'
	is "$ST,$OUT" "0,x" "without Landlock a sandbox starts and files can be moved"
	skip "the second wall" "this kernel has no Landlock, or no python3 is here to ask"
	finish
fi

# vacuous NAME: says that the attack cannot be shown to work here.
vacuous() { skip "$1" "no build with holes: CLOCHE_HOLES names none"; }

# --- the standard streams when they are files of the host -------------------------------------------------------------

file=$T/stream
fresh() { echo kept >"$file" && chmod 666 "$file"; }
reset_input() {
	fresh
	"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c "$1" <"$file" >"$T/out" 2>"$T/err"
	ST=$?
}
write_input() { reset_input 'echo evil >/proc/self/fd/0; echo evil >/dev/stdin'; }
read_log() {
	fresh
	"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c 'head -c 4 </proc/self/fd/1 >&2; head -c 4 </dev/stdout >&2' </dev/null 2>"$T/err" >>"$file"
	ST=$?
}

write_input
is "$(cat "$file")" kept "an input cannot be written by opening it anew"
read_log
unlike "$(cat "$T/err")" kept "a log that is written to cannot be read"
is "$(cat "$file")" kept "and is as it was"
if [ -n "$holes" ]; then
	without landlock write_input
	is "$(cat "$file")" evil "(without Landlock the input is written)"
	without landlock read_log
	like "$(cat "$T/err")" kept "(and the log is read)"
else
	vacuous "(without Landlock both succeed)"
fi

reset_input 'cat /dev/stdin; cat /proc/self/fd/0'
is "$ST,$(cat "$T/out")" $'0,kept\nkept' "an input can be read again from its beginning"
fresh
"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c 'echo a; echo b >>/dev/stdout; echo c >>/proc/self/fd/1' </dev/null 2>"$T/err" >"$file"
is "$?,$(cat "$file")" $'0,a\nb\nc' "an output can be opened anew to write"
fresh
"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c 'echo x >/dev/stdout' </dev/null 2>"$T/err" >>"$file"
is "$?,$(cat "$file")" "0,x" "also cut off, as echo x >/dev/stdout does"
fresh
"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c 'echo trouble >/dev/stderr' </dev/null 2>"$file"
is "$?,$(cat "$file")" "0,trouble" "and so can standard error"
if [ "$ME" = 0 ]; then
	skip "pipes can be opened anew" "pipes of root cannot be opened by the unprivileged id of the sandbox"
else
	OUT=$(echo abc | "$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c 'cat /dev/stdin; echo more >/dev/stdout' 2>&1 | cat)
	is "$OUT" $'abc\nmore' "pipes can be opened anew"
fi

# --- what leaks in all the same ---------------------------------------------------------------------------------------

echo secret >"$T/secret"
if [ -n "$holes" ] && in_usr python3; then
	cat >"$WS/leak.py" <<-'END'
		import os
		print(open(os.open("secret", os.O_RDONLY, dir_fd=20)).read())
	END
	leak() {
		"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- python3 leak.py 20<"$T" </dev/null >"$T/out" 2>"$T/err"
		ST=$?
	}
	without close-fds leak
	like "$ST,$(cat "$T/err")" "^1,.*Permission denied" "a directory that leaked in opens nothing"
	without close-fds,landlock leak
	is "$ST,$(cat "$T/out")" $'0,secret' "(without Landlock it does)"
else
	vacuous "a directory that leaked in opens nothing"
fi

# --- the server --------------------------------------------------------------------------------------------------------

# asks: the server's answer to reading a file outside.
asks() {
	printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"filepath":"%s"}}}\n' ../etc/hostname |
		"$CLOCHE" mcp "${MARKED[@]}" "$WS" 2>"$T/err" >"$T/out"
	OUT=$(cat "$T/out")
}
if [ -n "$holes" ]; then
	without beneath asks
	like "$OUT" "permission denied.*\"isError\":true" "a server whose path rule fails reads nothing outside the workspace"
	without beneath,landlock asks
	like "$OUT" "cloche.*\"isError\":false" "(without Landlock it does)"
else
	vacuous "a server whose path rule fails reads nothing outside the workspace"
fi
printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' \
	write_file '{"filepath":"new/file.py","content":"x = 1\n"}' | "$CLOCHE" mcp "${MARKED[@]}" "$WS" >"$T/out" 2>"$T/err"
like "$(cat "$T/out")" '"isError":false' "it makes folders and files in the workspace"
is "$(cat "$WS/new/file.py")" "x = 1" "(which are there)"
mkdir -p "$T/more" "$WS/more"
chmod 777 "$T/more"
printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' \
	write_file '{"filepath":"more/file","content":"y\n"}' | "$CLOCHE" mcp -v "$T/more:/workspace/more" "${MARKED[@]}" "$WS" >"$T/out" 2>"$T/err"
is "$(cat "$T/more/file" 2>&1)" y "and in a volume inside it"

# --- what must go on as ever -------------------------------------------------------------------------------------------

mkdir -p "$T/vol"
chmod 777 "$T/vol"
inside -v "$T/vol:/data" -- sh -ec '
	cd /workspace && rm -rf a b && mkdir a b && echo 1 >a/f && mv a/f b/f && ln b/f a/g && mkfifo a/p && ln -s f b/s
	mv b /tmp/b && cp -r /tmp/b /home/agent/b && mv /home/agent/b /dev/shm/b && mv /dev/shm/b /data/b && cat /data/b/s
	truncate -s 0 /data/b/f && rm -r a /tmp/b /data/b
	echo "#!/bin/sh" >/tmp/x && echo "echo run" >>/tmp/x && chmod +x /tmp/x && /tmp/x
	sleep 100 & kill $! && echo killed'
is "$ST,$OUT,$ERR" $'0,1\nrun\nkilled,' "files can be made, moved between file systems, linked and executed, own processes killed"
if in_usr python3; then
	cat >"$WS/reach.py" <<-'END'
		import os, pty, socket
		def meets(family, address):
		    a = socket.socket(family); a.bind(address); a.listen()
		    socket.socket(family).connect(a.getsockname())
		meets(socket.AF_INET, ("127.0.0.1", 0))
		meets(socket.AF_UNIX, "\0name")
		meets(socket.AF_UNIX, "/tmp/name")
		pid, fd = pty.fork()
		if pid == 0:
		    os.execlp("sh", "sh", "-c", "stty size </dev/tty && echo terminal >$(tty)")
		text = b""
		while b"terminal" not in text:
		    text += os.read(fd, 100)
		print("reached")
	END
	inside -- python3 reach.py
	is "$ST,$OUT" "0,reached" "sockets of the sandbox and its own terminals work"
	inside -- python3 -c 'import ctypes, os
print(ctypes.CDLL(None).syscall(444, None, 0, 1))'
	is "$OUT" "$abi" "a command can confine itself further"
else
	skip "sockets of the sandbox and its own terminals work" "no python3 in /usr"
fi
gone "nothing is left"
finish
