#!/bin/bash
# `cloche run`: exit statuses, standard streams, arguments, signals, and every option with its effect measured inside.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

# --- exit statuses -----------------------------------------------------------------------------------------------------

for n in 0 1 42 124 200 255; do
	inside -- sh -c "exit $n"
	is "$ST" "$n" "the command's own exit status $n"
done
for sig in HUP:1 INT:2 KILL:9 USR1:10 SEGV:11 TERM:15; do
	inside -- sh -c "kill -${sig%:*} \$\$"
	is "$ST" $((128 + ${sig#*:})) "a command that dies of SIG${sig%:*}"
	is "$ERR" "" "no comment of ours on SIG${sig%:*}"
done
inside -- no-such-command-here
one_sentence 127 "'no-such-command-here' was not found" "127: a command that does not exist"
inside -- ./missing.sh
one_sentence 127 "missing.sh" "127: a path that does not exist"
inside -- ''
one_sentence 127 "empty" "127: an empty command"
echo 'echo hello' >"$WS/plain"
inside -- ./plain
one_sentence 126 "'./plain' cannot be executed.*Permission denied" "126: a file without the x bit"
inside -- /workspace
one_sentence 126 "cannot be executed" "126: a folder"
printf '#!/no/such/interpreter\n' >"$WS/lost"
chmod +x "$WS/lost"
inside -- ./lost
one_sentence 127 "lost" "127: an interpreter that does not exist"
refused "no command" "125: no command" run
refused "no command" "125: no command behind --" run --
refused "working directory '/nope'" "125: a working directory that does not exist" run --workspace "$WS" -w /nope -- true
refused "no command given" "125: nothing at all"
refused "unknown command 'rnu'.*'run'" "125: a mistyped sub-command, and the right one" rnu

# --- arguments ---------------------------------------------------------------------------------------------------------

odd=('' ' ' $'a\tb' $'line\nbreak' "it's" '"' "\\" '$HOME' '*' ';id' '--' '-x' $'\xff\xfe' $'\e[31m' '`id`' 'a=b' "$(printf 'x%.0s' {1..5000})")
inside -- sh -c 'for a; do printf "%s|" "$a"; done' sh "${odd[@]}"
is "$OUT" "$(printf '%s|' "${odd[@]}")" "arguments arrive byte for byte"
inside -- sh -c 'echo $#' sh $(seq 200)
is "$OUT" 200 "two hundred arguments"
gives "--hostname x" "options behind the command are the command's" --hostname here -- sh -c 'echo "$@"' sh --hostname x
inside --hostname here sh -c 'hostname; echo "$@"' sh --hostname x -v
is "$OUT" "here"$'\n'"--hostname x -v" "the same without --"
gives "-v" "a command of our options' spelling behind --" -- echo -v
long=$(head -c 131000 /dev/zero | tr '\0' y)
inside -- sh -c 'echo ${#1}' sh "$long"
is "$OUT" 131000 "an argument as long as the kernel allows"

# --- standard streams --------------------------------------------------------------------------------------------------

is "$(echo hello | "$CLOCHE" run --workspace "$WS" -- cat)" hello "standard input and output"
inside -- sh -c 'echo out; echo err >&2; exit 3'
is "$ST,$OUT,$ERR" "3,out,err" "standard output and error stay apart"
sum=$(head -c 50000000 /dev/zero | tr '\0' 'z' | cksum)
is "$(head -c 50000000 /dev/zero | tr '\0' 'z' | "$CLOCHE" run --workspace "$WS" -- cat | cksum)" "$sum" "50 MB through a pipe and back"
head -c 300000 /dev/urandom >"$T/data"
is "$("$CLOCHE" run --workspace "$WS" -- cksum <"$T/data")" "$(cksum <"$T/data")" "a file as input"
echo first >"$T/data"
"$CLOCHE" run --workspace "$WS" -- sh -c 'echo appended >&1' >>"$T/data"
is "$(cat "$T/data")" first$'\n'appended "a file as output, appended to"
"$CLOCHE" run --workspace "$WS" -- yes 2>"$T/err" | head -n 1 >/dev/null
is "${PIPESTATUS[0]}" 141 "a reader that goes away ends the command with SIGPIPE"
(
	trap '' PIPE
	"$CLOCHE" run --workspace "$WS" -- yes 2>"$T/err" | head -n 1 >/dev/null
	exit "${PIPESTATUS[0]}"
)
is $? 141 "also when the caller ignores SIGPIPE"
begin=$SECONDS
is "$("$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c 'setsid sleep 60 & sleep 60 & echo done')" "done" "processes left behind do not hold the caller's pipe"
[ $((SECONDS - begin)) -lt 20 ]
ok $? "and are not waited for"
gone "nothing of them is left"
inside -- sh -c 'test -p /dev/stdin || test -e /dev/stdin; ls /proc/self/fd | wc -l'
is "$OUT" 4 "a command has its three streams (and the one that lists them)"

# --- signals -----------------------------------------------------------------------------------------------------------

# signalled SIGNAL COMMAND: starts the command, waits for its "ready", sends the signal to cloche; $ST and $OUT are the result.
signalled() {
	: >"$T/out"
	"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c "$2" >"$T/out" 2>"$T/err" </dev/null &
	local pid=$!
	until_true grep -q ready "$T/out"
	kill -"$1" "$pid"
	wait "$pid"
	ST=$?
	OUT=$(cat "$T/out")
	ERR=$(cat "$T/err")
}

loop='while :; do sleep 0.05; done'
for sig in TERM:15 INT:2 HUP:1 QUIT:3 USR1:10 USR2:12; do
	signalled "${sig%:*}" "trap 'echo got; exit 7' ${sig%:*}; echo ready; $loop"
	is "$ST,$OUT" "7,ready"$'\n'"got" "SIG${sig%:*} is passed on to a command that handles it"
	signalled "${sig%:*}" "echo ready; $loop"
	is "$ST" $((128 + ${sig#*:})) "and ends one that does not"
done
signalled TERM "trap '' TERM; (sleep 0.5; echo late; kill -9 \$\$) & echo ready; wait; $loop"
is "$ST,$OUT" "137,ready"$'\n'"late" "a command may ignore SIGTERM"
gone "no process is left after the signals"
(
	trap '' TERM INT
	inside -- sh -c 'kill -TERM $$; echo alive'
	exit "$ST"
)
is $? 143 "signals that the caller ignores are at their defaults inside"

# --- Docker's options, measured ----------------------------------------------------------------------------------------

inside -i --rm --init --name box --memory 2g --cpus 2.0 --pids-limit 256 --read-only --tmpfs /tmp:rw,noexec,nosuid,size=64m \
	--user 1000:1000 -w /workspace -e A=b --network none --cap-drop ALL --cap-drop=NET_RAW --security-opt no-new-privileges \
	--security-opt=no-new-privileges:true --ulimit nofile=1024:2048 --hostname box --shm-size 64m -- sh -c 'echo "$A"; pwd'
is "$ST,$OUT" "0,b"$'\n'"/workspace" "a whole Docker command line"
cloche run -i --rm -v "$WS:/workspace" -- sh -c 'ls'
like "$OUT" "plain" "a volume at /workspace is the workspace"
inside --memory 64m -- sh -c 'exec 3>/tmp/late; dd if=/dev/zero of=/dev/null bs=400M count=1000; echo late >&3'
[ "$ST" = 137 ] && [[ $ERR =~ "was killed: used "(about )?[0-9]+" MiB of 64 MiB of memory, the limit of this sandbox. " ]] && [[ $ERR == *"--memory"* ]]
ok $? "--memory holds: what uses 400 MB is killed under 64m" "$ST $ERR"
inside -m 512m -- dd if=/dev/zero of=/dev/null bs=200M count=1
is "$ST" 0 "and can under 512m"
gives 1 "--cpus 1" --cpus 1 -- nproc
gives 1 "--cpus 0.5 is one CPU" --cpus 0.5 -- nproc
all=$(nproc)
gives $((all < 2 ? all : 2)) "--cpus 2" --cpus 2 -- nproc
gives "$all" "without --cpus all CPUs" -- nproc
inside --pids-limit 20 -- sh -c 'i=0; while [ $i -lt 60 ]; do sleep 3 & i=$((i+1)); done; wait'
[ "$ST" != 0 ] && [[ $ERR =~ fork ]]
ok $? "--pids-limit 20 refuses sixty processes" "$ST $ERR"
# Where nobody counts refusals, they must be there for as long as init takes to look.
inside --pids-limit 20 -- sh -c 'sleep 1 & s=$!; (i=0; while [ $i -lt 60 ]; do sleep 3 & i=$((i+1)); done); wait $s; exit 3'
[ "$ST" = 3 ] && [[ $ERR =~ "cloche: limit of the sandbox: "(a new process or thread was refused|new processes or threads were (refused|probably)) ]] &&
	[[ $ERR == *"allow more with --pids-limit"* ]]
ok $? "and says so when the command failed" "$ST $ERR"
inside --pids-limit 20 -- sh -c 'sleep 1 & s=$!; (i=0; while [ $i -lt 60 ]; do sleep 3 & i=$((i+1)); done); wait $s; exit 0'
[ "$ST" = 0 ] && [[ $ERR != *"limit of the sandbox"* ]]
ok $? "and not when it did not mind" "$ST $ERR"
inside --pids-limit 200 -- sh -c 'i=0; while [ $i -lt 60 ]; do sleep 0.1 & i=$((i+1)); done; wait; echo fine'
is "$ST,$OUT" "0,fine" "--pids-limit 200 allows them"
if in_usr bash; then
	timeout -k 1 60 "$CLOCHE" run --workspace "$WS" "${MARKED[@]}" --pids-limit 64 -- bash -c 'b() { b | b & }; b; sleep 1; exit 5' >/dev/null 2>&1
	[ $? -lt 124 ]
	ok $? "a fork bomb under --pids-limit ends with its command"
	gone "and leaves nothing" 5
else
	skip "a fork bomb under --pids-limit" "no bash in /usr"
fi
inside --tmpfs /scratch:size=1m -- sh -c 'dd if=/dev/zero of=/scratch/x bs=64k count=64'
like "$ERR" "No space left" "--tmpfs has the size it was given"
cp "$(readlink -f "$(type -P true)")" "$WS/true"
inside --tmpfs /scratch:noexec -- sh -c 'cp true /scratch/ && /scratch/true'
is "$ST" 126 "--tmpfs noexec"
inside --tmpfs /scratch -- sh -c 'cp true /scratch/ && /scratch/true && cp true /tmp/ && /tmp/true && cp true ~ && ~/true'
is "$ST,$ERR" "0," "without noexec programs run there, as in /tmp and the home"
inside --tmpfs /tmp:noexec,size=2m -- sh -c 'cp true /tmp/ && /tmp/true'
is "$ST" 126 "--tmpfs /tmp:noexec replaces /tmp"
inside --tmpfs /tmp:size=1m -- sh -c 'dd if=/dev/zero of=/tmp/x bs=64k count=64'
like "$ERR" "No space left" "--tmpfs /tmp:size=1m"
gives "700" "--tmpfs mode=" --tmpfs /scratch:mode=0700 -- stat -c %a /scratch
inside --shm-size 1m -- sh -c 'dd if=/dev/zero of=/dev/shm/x bs=64k count=64'
like "$ERR" "No space left" "--shm-size"
gives "1000 1000" "the ids inside" -- sh -c 'echo $(id -u) $(id -g)'
gives "1234 567" "--user" --user 1234:567 -- sh -c 'echo $(id -u) $(id -g)'
gives "77 77" "-u with one number" -u 77 -- sh -c 'echo $(id -u) $(id -g)'
inside --user 1234:567 -- sh -c 'echo x >owned; id -un'
is "$OUT,$(stat -c %u "$WS/owned")" "agent,$(stat -c %u "$WS")" "--user changes nothing on the host"
gives "box box" "--hostname" --hostname box -- sh -c 'echo $(hostname) $(cat /etc/hostname)'
gives "100 200" "--ulimit" --ulimit nofile=100:200 -- sh -c 'echo $(ulimit -Sn) $(ulimit -Hn)'
gives "0" "core files are never made" --ulimit core=1000 -- sh -c 'ulimit -Hc'
mkdir "$WS/sub"
gives "/workspace/sub" "-w" -w /workspace/sub -- pwd
gives "/tmp" "--workdir=" --workdir=/tmp -- pwd
gives "inner" "-e NAME=VALUE" -e WHAT=inner -- sh -c 'echo "$WHAT"'
WHAT=outer gives "outer" "-e NAME passes ours" -e WHAT -- sh -c 'echo "$WHAT"'
gives "unset" "-e NAME of a variable that is not set" -e NOT_SET_AT_ALL -- sh -c 'echo "${NOT_SET_AT_ALL-unset}"'
gives "two" "the last -e counts" -e X=one -e X=two -- sh -c 'echo "$X"'
gives "a b=c" "a value with blanks and signs" -e "X=a b=c" -- sh -c 'echo "$X"'
printf '# comment\n\nONE=1\r\nTWO=two words\nWHAT\n' >"$T/env"
WHAT=outer gives "1,two words,outer" "--env-file" --env-file "$T/env" -- sh -c 'echo "$ONE,$TWO,$WHAT"'

# --- volumes -----------------------------------------------------------------------------------------------------------

mkdir "$T/data.d"
echo content >"$T/data.d/file"
echo single >"$T/single"
gives "content" "a volume is there" -v "$T/data.d:/data" -- cat /data/file
inside -v "$T/data.d:/data" -- sh -c 'echo new >/data/made'
is "$ST,$(cat "$T/data.d/made" 2>&1),$(stat -c %u "$T/data.d/made" 2>&1)" "0,new,$ME" "a volume can be written, and what is made is the caller's"
inside -v "$T/data.d:/data:ro" -- sh -c 'cat /data/file; echo bad >/data/bad; rm -f /data/file'
[ "$ST" != 0 ] && [ ! -e "$T/data.d/bad" ] && [ -e "$T/data.d/file" ]
ok $? "a read-only volume cannot be written" "$ST $ERR"
like "$ERR" "Read-only file system" "and says so"
gives "single" "a single file" -v "$T/single:/etc/single.conf:ro" -- cat /etc/single.conf
inside -v "$T/single:/opt/single" -- sh -c 'echo changed >/opt/single'
is "$ST,$(cat "$T/single")" "0,changed" "a single file that can be written"
inside -v "$T/single:/opt/single:ro" -- sh -c 'echo again >/opt/single'
is "$(cat "$T/single")" "changed" "a single file that cannot"
(
	cd "$T" || exit 1
	inside -v ./data.d:/data -- cat /data/file
	echo "$OUT" >"$T/relative"
)
is "$(cat "$T/relative")" content "a relative source"
gives "content" "--mount type=bind" --mount "type=bind,source=$T/data.d,target=/data" -- cat /data/file
inside --mount "type=bind,src=$T/data.d,dst=/data,readonly" -- sh -c 'echo x >/data/bad2'
[ "$ST" != 0 ] && [ ! -e "$T/data.d/bad2" ]
ok $? "--mount readonly"
inside --mount type=tmpfs,target=/scratch,tmpfs-size=1m -- sh -c 'dd if=/dev/zero of=/scratch/x bs=64k count=64'
like "$ERR" "No space left" "--mount type=tmpfs with a size"
cloche run -v "$WS:/workspace:ro" -- sh -c 'echo x >/workspace/bad'
[ "$ST" != 0 ] && [ ! -e "$WS/bad" ]
ok $? "a read-only workspace" "$ST $ERR"
gives "content" "a volume inside the workspace, on a folder that exists" -v "$T/data.d:/workspace/sub" -- cat sub/file
is "$(ls "$WS/sub")" "" "and the host's folder stays empty"
(
	cd "$WS/sub" || exit 1
	cloche run -- pwd
	echo "$OUT $ST" >"$T/cwd"
)
is "$(cat "$T/cwd")" "/workspace 0" "without --workspace the current folder is the workspace"
cloche run --workspace none -- sh -c 'ls -A /workspace; echo x >/workspace/x && cat /workspace/x'
is "$OUT" x "--workspace none is an empty one"

# --- options that are refused, by name ---------------------------------------------------------------------------------

while read -r word flags; do
	# shellcheck disable=SC2086 # flags are words
	refused "'?--$word'?" "$flags is refused" run --workspace "$WS" $flags -- true
done <<'END'
privileged --privileged
cap-add --cap-add SYS_ADMIN
device --device /dev/kvm
gpus --gpus all
pid --pid host
ipc --ipc host
uts --uts host
userns --userns host
cgroupns --cgroupns host
cgroup-parent --cgroup-parent x
publish -p 80:80
publish --publish 80:80
add-host --add-host a:1.2.3.4
dns --dns 1.1.1.1
group-add --group-add docker
detach -d
detach --detach
restart --restart always
entrypoint --entrypoint sh
cpuset-cpus --cpuset-cpus 0
volumes-from --volumes-from x
platform --platform linux/arm64
pull --pull always
network --network host
network --net bridge
security-opt --security-opt seccomp=unconfined
security-opt --security-opt apparmor=unconfined
rm --rm=false
read-only --read-only=false
init --init=false
END

# --- help --------------------------------------------------------------------------------------------------------------

cloche --version
like "$ST,$OUT" "^0,cloche [0-9]+\.[0-9]+" "--version"
cloche --help
like "$ST,$OUT" "^0,Usage: cloche.* mcp .* run .* doctor " "--help"
for c in run mcp doctor; do
	cloche "$c" --help
	like "$ST,$OUT" "^0,Usage: cloche $c " "$c --help"
done
cloche run --help
for o in memory cpus pids-limit read-only tmpfs user volume mount workdir env network cap-drop security-opt ulimit hostname name rm init; do
	[[ $OUT == *"--$o "* || $OUT == *"--$o"$'\n'* ]]
	ok $? "run --help explains --$o"
done
cloche doctor
like "$ST,$OUT" "^0,.*active +user namespace.*active +sandbox " "doctor finds everything that is required"
cloche doctor --json
like "$OUT" '^\{"version":"[^"]+","worst":"active","usable":true,"layers":\[.*\],"limits":\{.*\}\}$' "doctor --json"
gone "nothing is left"
finish
