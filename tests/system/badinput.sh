#!/bin/bash
# Bad input and bad surroundings: each gets one sentence with the cause, exit status 125, and leaves nothing behind.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

# run_refused REGEX NAME OPTION...: `cloche run` with these options on the workspace is refused.
run_refused() {
	local regex=$1 name=$2
	shift 2
	refused "$regex" "$name" run --workspace "$WS" "$@" -- touch /workspace/was-run
}

# --- workspaces --------------------------------------------------------------------------------------------------------

echo x >"$T/file"
mkfifo "$T/fifo"
ln -s /etc "$T/to-etc"
ln -s "$T/file" "$T/to-file"
ln -s nowhere "$T/dangling"
for command in "run --workspace" mcp; do
	last=
	[ "$command" = mcp ] || last="-- true"
	# shellcheck disable=SC2086 # words
	while IFS='|' read -r path regex name; do
		refused "$regex" "${command%% *}: $name" $command "$path" $last
	done <<-END
		$T/missing|'$T/missing' does not exist.*mkdir|a missing workspace
		$T/dangling|'$T/dangling' does not exist|a dangling link
		$T/file|'$T/file' is not a directory|a file
		$T/to-file|'$T/to-file' is not a directory|a link to a file
		$T/fifo|'$T/fifo' is not a directory|a FIFO
		$T/file/below|'$T/file/below' cannot be opened: Not a directory|a path through a file
		/|refusing '/'|the root
		//|refusing '/'|the root in disguise
		$T/../..|refusing '/'|the root through dots
		/etc|system folder '/etc'|/etc
		$T/to-etc|system folder '/etc'|a link to /etc
		/etc/ssl|system folder '/etc/ssl'|a folder in /etc
		/usr|system folder '/usr'|/usr
		/proc|system folder '/proc'|/proc
		/proc/self|system folder '/proc|a folder in /proc
		/sys|system folder '/sys'|/sys
		/dev|system folder '/dev'|/dev
		/tmp|system folder '/tmp'|/tmp
		/var|system folder '/var'|/var
		$(printf '%05000d' 1)|[Ff]ile ?name too long|a path of 5,000 bytes
	END
done
mkdir -p "$T/home/project"
ln -s home "$T/to-home"
HOME=$T/home refused "is or contains your home directory" "the home" run --workspace "$T/home" -- true
HOME=$T/home refused "is or contains your home directory" "what contains the home" run --workspace "$T" -- true
HOME=$T/home refused "is or contains your home directory" "a link to the home" mcp "$T/to-home"
HOME=$T/home cloche run --allow-home --workspace "$T/home" -- pwd
is "$ST,$OUT" "0,/workspace" "--allow-home means it"
HOME=$T/home cloche run --workspace "$T/home/project" -- pwd
is "$ST,$OUT" "0,/workspace" "a folder below the home"
mkdir -m 700 "$WS/run"
XDG_RUNTIME_DIR=$WS/run run_refused "XDG_RUNTIME_DIR='$WS/run' lies in a folder that the sandbox may write to" "state in the workspace"
XDG_RUNTIME_DIR=$WS/run cloche run --workspace "$T/home/project" -v "$WS:/data:ro" -- true
is "$ST" 0 "and elsewhere"
XDG_RUNTIME_DIR=$T/home refused "XDG_RUNTIME_DIR='$T/home' lies in" "state in a writable volume" run --workspace "$WS" -v "$T/home:/data" -- true
rm -r "$WS/run"
mkdir "$T/deleted"
(
	cd "$T/deleted" && rmdir "$T/deleted" || exit 1
	cloche run -- true
	exit "$ST"
)
ST=$?
OUT=$(cat "$T/out")
ERR=$(cat "$T/err")
one_sentence 125 "was deleted" "a current folder that was deleted"
mkdir -m 000 "$T/locked"
if [ "$ME" = 0 ]; then
	skip "an unreadable workspace" "root may read everything"
else
	refused "'$T/locked' cannot be read by you: Permission denied" "an unreadable workspace" run --workspace "$T/locked" -- true
fi
odd=$T/$'odd \t\'"$(x)`y`:,;\\ \xc3\xa9'
mkdir "$odd"
cloche run --workspace "$odd" -- sh -c 'echo fine >here'
is "$ST,$(cat "$odd/here")" "0,fine" "a workspace with an odd name works"
refused "workspace is empty" "an empty workspace name" run --workspace '' -- true
refused "workspace is empty" "the same for mcp" mcp ''
refused "one workspace only" "two workspaces" mcp "$WS" "$WS"
refused "given twice" "a workspace and a volume at /workspace" mcp -v "$WS:/workspace" "$WS"
refused "does not exist" "control characters in a name are not printed" run --workspace $'/no\n\e[31m\x07such' -- true

# --- options -----------------------------------------------------------------------------------------------------------

run_refused "unknown option '--memroy': did you mean '--memory'" "a mistyped option" --memroy 5
run_refused "did you mean '--workdir'" "another" --workdri=/x
run_refused "unknown option '--frobnicate'" "an option that nothing resembles" --frobnicate
run_refused "unknown option '-X'" "an unknown letter" -X
run_refused "unknown option '-Z'" "an unknown letter among others" -iZ
refused "needs an argument" "an option without its argument" run --memory
refused "did you mean '--log-level'" "a mistyped option of mcp" mcp --loglevel debug
refused "doctor takes no argument" "doctor with an operand" doctor now
refused "for bash only, not for 'zsh'" "completion for another shell" completion zsh
refused "the command comes first" "an option in the place of the command" --memory 2g
refused "drop .run. and the image name" "a Docker line with its image" mcp -i --rm "$WS" some/image
refused "unknown option" "control characters in an option" run $'--a\nb\e[1m' true
refused "takes no argument" "a value where none belongs" run --rm=maybe true

for value in 1x -1 "" "5 m" 99999999999999999999g 1.5.5g 0x10 5mm; do
	run_refused "--memory '$value' is not a size" "--memory '$value'" --memory="$value"
done
run_refused "--memory '1m' is too little" "--memory 1m" --memory 1m
for value in 0 -1 abc "" 1e3 0.0001 5000 1.; do
	run_refused "--cpus '$value' is not a number" "--cpus '$value'" --cpus="$value"
done
for value in -2 abc "" 5000000 1.5 +3; do
	run_refused "--pids-limit '.*' is not a number" "--pids-limit '$value'" --pids-limit="$value"
done
for value in 1x -2 "" 1.5g unlimited 99999999999999999999g; do
	run_refused "--memory-swap '$value' is not a size" "--memory-swap '$value'" --memory-swap="$value"
done
for value in 1 -1 262145 abc "" 1.5; do
	run_refused "--cpu-shares '$value' is not a number from 2 to 262144" "--cpu-shares '$value'" --cpu-shares="$value"
done
for value in 1x -1 "" 5mm; do
	run_refused "--command-memory '$value' is not a size" "--command-memory '$value'" --command-memory="$value"
done
run_refused "--command-memory '1m' is too little" "--command-memory 1m" --command-memory 1m
run_refused "--command-cpus '0' is not a number" "--command-cpus 0" --command-cpus 0
run_refused "--command-pids-limit '-2' is not a number" "--command-pids-limit -2" --command-pids-limit=-2
for value in "" x ./x ../x cgroupfs Auto 'auto ' $'/sys\n' $'/\e[31m' "/$(printf '%05000d' 1)"; do
	run_refused "--cgroup '.*' is not possible: write auto, systemd, none, or" "--cgroup $(printf %q "${value:0:20}")" --cgroup="$value"
done
run_refused "option '--cgroup-parent' is not needed.*--cgroup " "--cgroup-parent" --cgroup-parent /x
for value in nofile nofile= nofile=a nofile=5:3 nofile=1:2:3 foo=1 =5 nofile=-2; do
	run_refused "--ulimit '$value'" "--ulimit '$value'" --ulimit "$value"
done
for value in 0 x "" 1; do
	run_refused "--shm-size '$value' is not a size" "--shm-size '$value'" --shm-size="$value"
done
for value in '' scratch /x:size=0 /x:size=a /x:mode=9 /x:mode=77777 /x:bind / /proc /proc/x /dev/x /sys /x/../y //x '/x:size=1m,huge=always,'; do
	run_refused "target|--tmpfs" "--tmpfs '$value'" --tmpfs="$value"
done
for value in "" root 0 1000:0 0:1000 +1 01 1: -1 :5 65534 4294967295 4294967296 18446744073709551617 "1 " 1:2:3 1000:users; do
	run_refused "--user '.*'" "--user '$value'" --user="$value"
done
for value in "" a_b -x .x a/b $'a\nb' "$(printf '%0300d' 1)"; do
	run_refused "--hostname '" "--hostname $(printf %q "${value:0:20}")" --hostname="$value"
done
for value in "" ../x a/b . $'a\nb' "$(printf '%0300d' 1)"; do
	run_refused "--name '" "--name $(printf %q "${value:0:20}")" --name="$value"
done
for value in relative . /x/../y //x "" $'/a\nb' "/$(printf '%05000d' 1)"; do
	run_refused "the working directory" "--workdir $(printf %q "${value:0:20}")" --workdir="$value"
done
touch "$WS/plain"
run_refused "working directory '/workspace/plain'.*Not a directory" "a file as working directory" -w /workspace/plain
run_refused "working directory '/root'" "a working directory of the host's" -w /root

# --- the environment ---------------------------------------------------------------------------------------------------

for value in "" =x 1A=2 A-B=c "A B=c" $'A\nB=c' $'\xff=1'; do
	run_refused "is not an environment variable" "-e $(printf %q "$value")" -e "$value"
done
many=()
for ((i = 0; i < 500; i++)); do many+=(-e "V$i=x"); done
run_refused "too many environment variables" "five hundred variables" "${many[@]}"
printf 'A=1\nnot a variable\n' >"$T/env-bad"
printf 'A=1\0B=2\n' >"$T/env-nul"
head -c 100000 /dev/zero | tr '\0' A >"$T/env-big"
run_refused "'not a variable' is not an environment variable" "--env-file with a line that is none" --env-file "$T/env-bad"
run_refused "NUL" "--env-file with a NUL byte" --env-file "$T/env-nul"
run_refused "larger than" "--env-file of 100,000 bytes" --env-file "$T/env-big"
run_refused "cannot be read: No such file" "--env-file that does not exist" --env-file "$T/missing"
run_refused "cannot be read: Is a directory" "--env-file that is a folder" --env-file "$T"
COMMAND_TIMEOUT=soon refused "COMMAND_TIMEOUT='soon' is not a number" "COMMAND_TIMEOUT=soon" mcp "$WS"
MAX_ANSWER_CHARS=100 refused "MAX_ANSWER_CHARS='100' is not a number from 2000 to 200000" "MAX_ANSWER_CHARS=100" mcp "$WS"
refused "--max-answer-chars '1e5' is not a number" "--max-answer-chars 1e5" mcp --max-answer-chars 1e5 "$WS"
MAX_READ_SIZE_BYTES=-5 refused "MAX_READ_SIZE_BYTES='-5' is not a number" "MAX_READ_SIZE_BYTES=-5" mcp "$WS"
LOG_LEVEL=loud refused "log level 'loud'" "LOG_LEVEL=loud" mcp "$WS"
refused "log level 'loud'" "--log-level loud" mcp --log-level loud "$WS"

# --- volumes -----------------------------------------------------------------------------------------------------------

mkdir "$T/d" "$WS/dir"
ln -s "$T/outside" "$WS/link"
ln -s /etc "$WS/etc-link"
while IFS='|' read -r value regex name; do
	run_refused "$regex" "volume: $name" -v "$value"
done <<END
$T/d|is not HOST:INSIDE|no target
data:/data|named volumes do not exist here|a name instead of a path
:/data|needs a host path|no source
$T/missing:/data|'$T/missing' cannot be used: No such file|a missing source
$T/fifo:/data|neither a directory nor a regular file|a FIFO as source
/dev/null:/data|neither a directory nor a regular file|a device as source
$T/d:data|must be an absolute path|a relative target
$T/d:|must be an absolute path|an empty target
$T/d:/|target '/' is not possible|the root as target
$T/d:/proc|/proc belongs to the sandbox|/proc
$T/d:/proc/sys/x|/proc belongs to the sandbox|below /proc
$T/d:/dev/x|/dev belongs to the sandbox|below /dev
$T/d:/sys|/sys belongs to the sandbox|/sys
$T/d:/data/../etc|'[.][.]' component|dots in the target
$T/d:/data//x|double slash|a double slash
$T/d:/data:rx|unknown option 'rx'|an unknown option
$T/d:/data:ro:rw|unknown option|two sets of options
$T/d:/bin/x|symbolic link|a target below a link of the root
$T/d:/lib|symbolic link|a link of the root as target
$T/d:/usr/x|does not exist in a folder of the host|a target that would have to be made in /usr
$T/d:/workspace/none|does not exist in a folder of the host|a target that would have to be made in the workspace
$T/d:/workspace/link|symbolic link|a link in the workspace as target
$T/d:/workspace/link/x|symbolic link|below a link in the workspace
$T/d:/workspace/etc-link|symbolic link|a link to /etc in the workspace
$T/d:/workspace/plain/x|Not a directory|below a file
$T/d:/workspace/plain|Not a directory|a folder on a file
$T/file:/workspace/dir|directory|a file on a folder
END
is "$(ls -A "$T/d" "$WS/dir")" "$T/d:"$'\n\n'"$WS/dir:" "none of them made anything in the folders"
[ ! -e "$T/outside" ] && [ ! -e "$WS/none" ]
ok $? "nor elsewhere on the host"
run_refused "control character" "volume: a control character in the target" -v "$T/d:/da"$'\n'"ta"
run_refused "cannot be used: No such file" "volume: a control character in the source" -v "/no"$'\e\n'"such:/data"
many=()
for ((i = 0; i < 200; i++)); do many+=(-v "$T/d:/data$i"); done
run_refused "too many" "two hundred volumes" "${many[@]}"
while IFS='|' read -r value regex; do
	run_refused "$regex" "--mount $value" --mount "$value"
done <<END
|needs a type and a target
type=bind|needs a type and a target
type=bind,target=/x|needs a host path
type=volume,source=/x,target=/x|type 'volume' is not possible
type=bind,source=$T/d,target=/x,bind-propagation=shared|is not supported
type=tmpfs,target=/x,tmpfs-size=many|is not a size
type=tmpfs,target=/x,tmpfs-mode=rwx|not an octal mode
type=bind,source=$T/missing,target=/x|cannot be used: No such file
nonsense|is not supported
END

# --- long command lines, closed streams --------------------------------------------------------------------------------

half=$(head -c 100000 /dev/zero | tr '\0' y)
cloche run --workspace "$WS" -- echo "$half" "$half"
one_sentence 125 "too long" "arguments of 200,000 bytes"
mapfile -t words < <(seq 20000)
cloche run --workspace "$WS" -- echo "${words[@]}"
one_sentence 125 "too long" "twenty thousand arguments"
refused "[Ff]ile ?name too long" "a workspace of 100,000 bytes" run --workspace "$half" -- true
"$CLOCHE" run --workspace "$WS" -- sh -c 'echo x; echo y >&2; cat; ls /proc/self/fd | wc -l >count' <&- >&- 2>&-
is "$?,$(cat "$WS/count")" "0,4" "all three standard streams closed"
is "$("$CLOCHE" run --workspace "$WS" -- cat <&- 2>&1)" "" "standard input closed: it is empty"
"$CLOCHE" run --workspace "$WS" -- true 2>&-
is $? 0 "standard error closed"
"$CLOCHE" run --memroy 2>&- >"$T/out"
is "$?,$(cat "$T/out")" "125," "a refusal with nowhere to print it"
"$CLOCHE" mcp "$WS" <&- >&- 2>&-
is $? 0 "mcp with all streams closed ends at once"
"$CLOCHE" mcp "$WS" </dev/null >"$T/out" 2>"$T/err"
is "$?,$(cat "$T/out")" "0," "mcp on an empty input ends at once"
"$CLOCHE" --help >/dev/full 2>"$T/err"
is $? 125 "a help that cannot be printed"
[ ! -e "$WS/was-run" ]
ok $? "no refused command was run"

# --- a host that gives less --------------------------------------------------------------------------------------------

# in_userns SETUP COMMAND...: in a user namespace of its own whose limits SETUP lowers, as on a host that has them low. The machine's
# root is an ordinary user there: cloche refuses one that hides behind such a namespace (hosts.sh).
as=()
[ "$ME" != 0 ] || as=(setpriv --reuid 12345 --regid 12345 --clear-groups)
in_userns() {
	local setup=$1
	shift
	"${as[@]}" unshare -Ur sh -c "$setup"' || exit 99; exec "$@"' sh "$@" >"$T/out" 2>"$T/err" </dev/null
	ST=$?
	OUT=$(cat "$T/out")
	ERR=$(cat "$T/err")
}

if unshare -Ur true 2>/dev/null; then
	in_userns true "$CLOCHE" run --workspace "$WS" -- pwd
	is "$ST,$OUT" "0,/workspace" "in a user namespace of somebody else's it works"
	for kind in user net pid mnt; do
		in_userns "echo 0 >/proc/sys/user/max_${kind}_namespaces" "$CLOCHE" run --workspace "$WS" -- true
		one_sentence 125 "switched off.*sysctl -w user.max_${kind}_namespaces" "no $kind namespaces: cause and repair"
		in_userns "echo 0 >/proc/sys/user/max_${kind}_namespaces" "$CLOCHE" doctor
		[ "$ST" = 1 ] && [[ $OUT =~ missing.*repair:.*sysctl\ -w\ user.max_${kind}_namespaces ]]
		ok $? "doctor says so too" "$ST $OUT $ERR"
	done
	in_userns "echo 0 >/proc/sys/user/max_user_namespaces" "$CLOCHE" mcp "$WS"
	one_sentence 125 "user namespaces are switched off" "mcp without user namespaces"
	in_userns "echo 1 >/proc/sys/user/max_user_namespaces" "$CLOCHE" run --workspace "$WS" -- pwd
	is "$ST,$OUT" "0,/workspace" "one user namespace is enough"
	for kind in uts ipc cgroup; do
		in_userns "echo 0 >/proc/sys/user/max_${kind}_namespaces" "$CLOCHE" run --workspace "$WS" -- true
		one_sentence 125 "namespaces cannot be made.*user.max_" "no $kind namespaces"
	done
else
	skip "hosts without some namespaces" "unshare cannot make a user namespace here"
fi

# under LIMIT COMMAND...: the command after `ulimit LIMIT`.
under() {
	local limit=$1
	shift
	(
		# shellcheck disable=SC2086 # words
		ulimit $limit || exit 99
		exec "$@"
	) 2>&1 >"$T/out" </dev/null | cat >"$T/err" # a pipe: messages must not meet the limit on files
	ST=${PIPESTATUS[0]}
	OUT=$(cat "$T/out")
	ERR=$(cat "$T/err")
}

# It works or it says in one sentence why not. A limit that the kernel or the dynamic loader applies to programs other than
# ours has their words and statuses, not ours.
for limit in "-n 3" "-n 4" "-n 5" "-n 6" "-n 7" "-n 8" "-n 10" "-n 12" "-n 16" "-n 32" "-n 64" "-n 256" "-l 0" "-c 0" "-f 0" "-f 1" "-f 100" "-i 0" "-s 256"; do
	under "$limit" timeout -k 1 20 "$CLOCHE" run --workspace "$WS" -- /bin/true
	if [[ $ERR == *timeout:* ]]; then
		skip "ulimit $limit" "timeout(1) does not work under it"
	elif [ "$ST" = 0 ]; then
		is "$OUT$ERR" "" "ulimit $limit: works"
	else
		one_sentence 125 "." "ulimit $limit: one sentence"
	fi
done
for limit in "-n 256" "-n 64" "-f 100" "-l 0"; do
	under "$limit" timeout -k 1 20 "$CLOCHE" run --workspace "$WS" -- /bin/true
	is "$ST" 0 "ulimit $limit is no obstacle"
done
for limit in "-v 1000" "-v 2000" "-v 3000" "-v 4000" "-v 6000" "-v 10000" "-v 30000" "-v 100000"; do
	under "$limit" "$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- /bin/true
	if [ "$ST" = 125 ]; then
		one_sentence 125 "." "ulimit $limit: one sentence"
	else
		[ "$ST" != 124 ]
		ok $? "ulimit $limit: ends (with $ST)"
	fi
done
under "-f 0" "$CLOCHE" run --workspace "$WS" -- /bin/true
one_sentence 125 "File too large" "not even small files may be written: the cause is named"
under "-v 100000" "$CLOCHE" run --workspace "$WS" -- /bin/true
is "$ST" 0 "100 MB of address space are enough"
if [ "$ME" = 0 ]; then
	skip "a limit of one process" "root is not bound by it"
else
	under "-u 1" "$CLOCHE" run --workspace "$WS" -- /bin/true
	one_sentence 125 "too many processes.*ulimit -u" "a limit of one process"
fi
mkdir "$T/alone"
cp "$CLOCHE" "$T/alone/cloche"
"$T/alone/cloche" run --workspace "$WS" -- true >"$T/out" 2>"$T/err" </dev/null
ST=$?
OUT=
ERR=$(cat "$T/err")
if [ "$ST" = 0 ]; then
	skip "cloche without its other programs" "an installed cloche has them"
else
	one_sentence 125 "'cloche-init' .* not found.*make install" "cloche without its other programs"
fi
for ulimit in nofile=3 nofile=0 fsize=0 stack=4096 as=4096 data=4096 cpu=1 nproc=1 nproc=0 memlock=0 sigpending=0; do
	timeout -k 1 20 "$CLOCHE" run --workspace "$WS" "${MARKED[@]}" --ulimit "$ulimit" -- /bin/true >"$T/out" 2>"$T/err" </dev/null
	ST=$?
	OUT=$(cat "$T/out")
	ERR=$(cat "$T/err")
	if [ "$ST" = 125 ]; then
		one_sentence 125 "." "--ulimit $ulimit: one sentence"
	else
		[ "$ST" != 124 ]
		ok $? "--ulimit $ulimit: the command ends (with $ST)" "$ERR"
	fi
done
gone "nothing of all this is left"
is "$(ls -A "$TMPDIR")" "" "no temporary file"
finish
