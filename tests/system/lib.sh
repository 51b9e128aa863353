# What the system tests share. Sourced by bash, not run: CLOCHE names the program.
#
# Makes a folder $T for the test with the workspace $WS in it, and removes it at the end. Each test prints TAP; `finish` prints
# the plan and ends. The words of $MARK appear in the argument lists of cloche, its init and its server when they are
# started with "${MARKED[@]}", so that a test finds its own processes and no others.
set -u
: "${CLOCHE:?is the path of cloche}"
CLOCHE=$(readlink -f "$CLOCHE")
LC_ALL=C.UTF-8
export LC_ALL
unset CDPATH COMMAND_TIMEOUT MAX_SEARCH_RESULTS MAX_READ_SIZE_BYTES MAX_WRITE_SIZE_BYTES MAX_ANSWER_CHARS LOG_LEVEL

T=$(mktemp -d /tmp/cloche-system.XXXXXX) || exit 1
chmod 755 "$T"
WS=$T/ws
mkdir -m 755 "$WS" "$T/tmp"
export TMPDIR=$T/tmp
MARK=$((100000000 + (SRANDOM % 900000000)))
echo "$MARK" >"$T/mark"
MARKED=(--ulimit "locks=$MARK") # a limit that the kernel keeps and never uses
ME=$(id -u)
count=0
failed=0

tidy() {
	local pid
	[ "$BASHPID" = $$ ] || return # a child that had not got to its exec when a signal came
	for pid in $(marked_pids); do
		kill -KILL "$pid" 2>/dev/null
	done
	chmod -R u+rwX "$T" 2>/dev/null
	rm -rf "$T"
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

diag() { sed 's/^/# /' <<<"$*"; }

# ok STATUS NAME [DIAGNOSTICS]
ok() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=$((failed + 1))
		[ $# -lt 3 ] || diag "$3"
	fi
}

skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# is GOT WANTED NAME
is() {
	[ "$1" = "$2" ]
	ok $? "$3" "got    '$1'"$'\n'"wanted '$2'"
}

# like GOT REGEX NAME
like() {
	[[ $1 =~ $2 ]]
	ok $? "$3" "got '$1'"$'\n'"which does not match '$2'"
}

unlike() {
	! [[ $1 =~ $2 ]]
	ok $? "$3" "got '$1'"$'\n'"which matches '$2'"
}

finish() {
	echo "1..$count"
	[ "$failed" = 0 ]
	exit $?
}

# cloche ARGUMENT...: runs it without input; $ST, $OUT and $ERR are its status, output and messages.
cloche() {
	"$CLOCHE" "$@" >"$T/out" 2>"$T/err" </dev/null
	ST=$?
	OUT=$(tr -d '\0' <"$T/out")
	ERR=$(tr -d '\0' <"$T/err")
}

# inside [OPTION...] -- COMMAND...: a command in a sandbox on $WS.
inside() { cloche run --workspace "$WS" "${MARKED[@]}" "$@"; }

# gives WANTED NAME [OPTION...] -- COMMAND...: it prints exactly that, says nothing else and ends with 0.
gives() {
	local wanted=$1 name=$2
	shift 2
	inside "$@"
	[ "$OUT" = "$wanted" ] && [ "$ST" = 0 ] && [ -z "$ERR" ]
	ok $? "$name" "status $ST, output '$OUT', messages '$ERR'"$'\n'"wanted '$wanted'"
}

# one_sentence STATUS REGEX NAME: the last run failed with that status and one line that says why.
one_sentence() {
	local name=$3 printable
	printable=$(tr -d '\n' <"$T/err" | tr -d '\0-\037\177' | wc -c)
	[ "$ST" = "$1" ] && [ -z "$OUT" ] && [ "$(wc -l <"$T/err")" = 1 ] && [[ $ERR == "cloche: "* ]] && [[ $ERR =~ $2 ]] &&
		[ "$printable" = $(($(wc -c <"$T/err") - 1)) ] && [ "${#ERR}" -lt 1040 ]
	ok $? "$name" "status $ST, output '$OUT', messages '$ERR'"$'\n'"wanted status $1 and one line that matches '$2'"
}

# refused REGEX NAME ARGUMENT...: cloche says no, in one sentence, with exit status 125.
refused() {
	local regex=$1 name=$2
	shift 2
	cloche "$@"
	one_sentence 125 "$regex" "$name"
}

# marked_pids: the processes of this test's sandboxes, seen from the host. Zombies have no words and are not among them.
marked_pids() {
	local file
	for file in $(grep -lazf "$T/mark" /proc/[0-9]*/cmdline 2>/dev/null); do
		file=${file#/proc/}
		file=${file%/cmdline}
		[ "$file" = $$ ] || echo "$file"
	done
}

# gone NAME [SECONDS]: within that time (2) no process of this test's sandboxes is left.
gone() {
	local i left=
	for ((i = 0; i < ${2:-2} * 20; i++)); do
		left=$(marked_pids)
		[ -z "$left" ] && break
		sleep 0.05
	done
	[ -z "$left" ]
	ok $? "$1" "still there: $(for i in $left; do echo "$i $(tr '\0' ' ' <"/proc/$i/cmdline" 2>/dev/null)"; done)"
}

# until COMMAND...: waits for it to succeed, at most five seconds.
until_true() {
	local i
	for ((i = 0; i < 100; i++)); do
		"$@" && return 0
		sleep 0.05
	done
	return 1
}

have() { command -v "$1" >/dev/null 2>&1; }
# in_usr TOOL: the sandbox will find it, since it sees the host's /usr.
in_usr() { PATH=/usr/local/bin:/usr/bin:/bin command -v "$1" >/dev/null 2>&1; }

# The build whose walls can be taken away (make holes), where CLOCHE_HOLES names it; else empty.
holes=${CLOCHE_HOLES:-}
[ -x "$holes" ] || holes=

# without WALLS COMMAND...: runs that with $CLOCHE being the build for tests, those walls missing.
without() {
	local CLOCHE=$holes
	export CLOCHE_TEST_WITHOUT=$1
	shift
	"$@"
	unset CLOCHE_TEST_WITHOUT
}
