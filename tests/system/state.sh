#!/bin/bash
# Which sandboxes run, and how others end them: `cloche ps`, `cloche kill` and `cloche gc`, and where the records are kept.
#
# Other tests on this machine may have sandboxes of their own, which root sees: everything here is found by its name.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
mkdir -m 700 "$T/run"
export XDG_RUNTIME_DIR=$T/run
if [ "$ME" = 0 ]; then
	# An identity of our own, so that launches of others do not sweep what this test looks at.
	OWNER=$((100000 + MARK % 800000))
	chown $OWNER:$OWNER "$WS"
	RECORDS=/run/cloche/$OWNER/sandboxes
else
	OWNER=$ME
	RECORDS=$XDG_RUNTIME_DIR/cloche/sandboxes
fi
N=t$MARK # all our names begin like this
exec 2>"$T/shell" # bash tells there whom it has reaped

# start NAME [OPTION...]: a sandbox that sleeps; $pid is its supervisor. Returns when it is listed.
start() {
	local name=$1
	shift
	"$CLOCHE" run --name "$name" --workspace "$WS" "${MARKED[@]}" "$@" -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	until_true listed "$pid"
}
rows() { "$CLOCHE" ps -a --json | sed 's/},{/}\n{/g' | grep -F "\"name\":\"$N"; }
# field PID KEY: of the row of that supervisor.
field() { rows | grep -F "\"pid\":$1," | sed "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/"; }
listed() { [ -n "$(field "$1" id)" ]; }
row() { "$CLOCHE" ps -a | grep " $N$1 "; }
ended() { # ended PID: reaps it; $ST is its status
	wait "$1" 2>/dev/null
	ST=$?
}

# --- ps ----------------------------------------------------------------------------------------------------------------

start "$N-a"
a=$pid
id=$(field $a id)
like "$id" '^[0-9a-f]{16}$' "a running sandbox has an id"
like "$("$CLOCHE" ps | head -n 1)" '^ID +NAME +AGE +WHAT +WORKSPACE +(UID +)?PID$' "ps prints a table"
like "$(row -a)" "^$id  $N-a +[0-9]+s +sleep $MARK +$WS +($OWNER +)?$a\$" "with a line for it"
is "$(field $a workspace),$(field $a kind),$(field $a command),$(field $a state),$(field $a uid)" "$WS,run,sleep $MARK,running,$OWNER" \
	"ps --json tells the same"
"$CLOCHE" ps --json >"$T/json"
if have jq; then
	is "$(jq -r ".sandboxes[] | select(.name == \"$N-a\") | .pid" "$T/json")" "$a" "in JSON that others read"
else
	skip "in JSON that others read" "jq is not installed"
fi
like " $("$CLOCHE" ps --quiet | tr '\n' ' ')" " $id " "ps --quiet prints its id"
is "$(stat -c '%a %u %F' "$RECORDS/$id")" "600 $OWNER regular file" "its record is a file that nobody else can read"
is "$(stat -c '%a' "$RECORDS")" 700 "in a folder that nobody else can enter"
mkfifo "$T/in"
"$CLOCHE" mcp --name "$N-m" "${MARKED[@]}" "$WS" <"$T/in" >/dev/null 2>&1 &
m=$!
exec 5>"$T/in"
until_true listed $m
like "$(row -m)" "^[0-9a-f]{16}  $N-m +[0-9]+s +mcp +$WS " "an MCP session is listed as mcp"
exec 5>&-
ended $m
is "$ST,$(row -m)" "0," "and no longer when its client has hung up"
"$CLOCHE" run --name "$N-w" --workspace none "${MARKED[@]}" -- sh -c 'sleep '"$MARK"'; : '"$(printf 'long %.0s' {1..50})"$'\e[31mred' </dev/null >/dev/null 2>&1 &
w=$!
until_true listed $w
like "$(row -w)" "  sh -c sleep $MARK; : long lon?g? ?l?.*[.][.][.] +- +" "a long command is shortened, an empty workspace is a dash"
unlike "$("$CLOCHE" ps)" $'\e' "and nothing that a terminal would obey is printed"

# --- kill --------------------------------------------------------------------------------------------------------------

cloche kill "$N-w"
ended $w
like "$OUT" "^[0-9a-f]{16} \($N-w\) ended\$" "kill NAME ends a sandbox and says so"
is "$ST,$(row -w)" "143," "its command got SIGTERM, and it is gone from the list"
cloche kill "${id:0:12}"
is "$ST,$OUT" "0,$id ($N-a) ended" "kill takes the beginning of an id"
ended $a
gone "nothing of them is left"
start "$N-t"
one=$pid
start "$N-t"
two=$pid
is "$(rows | grep -c "\"$N-t\"")" 2 "two sandboxes may have one name"
cloche kill "$N-t"
is "$ST" 1 "then the name is not enough for kill"
like "$ERR" "^cloche: '$N-t' means 2 sandboxes \([0-9a-f]{16}, [0-9a-f]{16}\): say which by its id\$" "which says what it may mean"
cloche kill --signal KILL "$(field $one id)" no-such-one "$(field $two id)"
is "$ST" 1 "one of three words means nothing"
is "$ERR" "cloche: no running sandbox has the id or name 'no-such-one': see \`cloche ps\`" "and is complained about"
like "$OUT" "$N-t\) killed.*$N-t\) killed" "the other two sandboxes are killed"
is "$(rows)" "" "and their records swept"
ended $one
is "$ST" 137 "a killed supervisor was killed"
ended $two
# A name that is the id of another one: whoever can have a sandbox could otherwise draw the kill upon it.
start "$N-i"
one=$pid
id=$(field $one id)
"$CLOCHE" run --name "$id" --workspace "$WS" "${MARKED[@]}" -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
two=$!
until_true eval '"$CLOCHE" ps --json | grep -qF "\"name\":\"$id\""'
cloche kill "$id"
is "$ST,$OUT" "0,$id ($N-i) ended" "an id goes before a name that looks like it"
ended $one
kill -TERM $two
ended $two
"$CLOCHE" run --name "$N-s" --workspace "$WS" "${MARKED[@]}" -- sh -c "trap '' TERM; echo >begun; while :; do sleep 0.1; done" </dev/null >/dev/null 2>&1 &
stubborn=$!
until_true test -e "$WS/begun"
cloche kill "$N-s"
like "$ST,$OUT" "^0,[0-9a-f]{16} \($N-s\) killed\$" "what ignores SIGTERM is killed some seconds later"
ended $stubborn
gone "nothing of it is left"
start "$N-p"
kill -STOP "$pid"
cloche kill -s KILL "$N-p"
like "$ST,$OUT" "^0,.* killed\$" "a stopped supervisor is killed"
ended "$pid"
refused "^cloche: which sandbox" "kill without a name" kill
refused "^cloche: --all and names" "kill with names and --all" kill --all x
refused "^cloche: --signal 'HUP': only TERM and KILL" "kill with another signal" kill -s HUP x
cloche kill ""
is "$ST" 1 "an empty word means no sandbox"

# --- what a killed supervisor leaves, and gc ---------------------------------------------------------------------------

start "$N-d"
id=$(field "$pid" id)
kill -KILL "$pid"
ended "$pid"
gone "a killed supervisor leaves no process"
is "$(stat -c %F "$RECORDS/$id")" "regular file" "but its record"
unlike "$("$CLOCHE" ps)" "$N-d" "which ps does not list"
like "$(row -d)" "^$id  $N-d .* dead\$" "and ps --all calls dead"
cloche kill "$N-d"
is "$ST" 1 "there is nothing to kill"
cloche gc --dry-run
like "$OUT" "would remove the record of the killed sandbox $id \($N-d\)" "gc --dry-run says what gc would remove"
is "$(stat -c %F "$RECORDS/$id")" "regular file" "and does not"
cloche gc
like "$ST,$OUT" "^0,.*removed the record of the killed sandbox $id \($N-d\)" "gc removes it and says so"
[ ! -e "$RECORDS/$id" ]
ok $? "it is gone"
pids=()
for i in {1..20}; do
	"$CLOCHE" run --name "$N-g$i" --workspace "$WS" "${MARKED[@]}" -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pids+=($!)
done
twenty() { [ "$(rows | grep -c '"state":"running"')" = 20 ]; }
until_true twenty
ok $? "twenty sandboxes"
kill -KILL "${pids[@]}"
for pid in "${pids[@]}"; do ended "$pid"; done
"$CLOCHE" gc >"$T/gc1" 2>&1 &
one=$!
cloche gc
two=$ST
ended $one
is "$ST,$two,$(cat "$T/gc1" "$T/out" | grep -c "$N-g")" 0,0,20 "two gc at once remove what twenty killed ones left, each record once"
is "$(rows)" "" "nothing is left"
if [ "$ME" != 0 ]; then
	cloche gc
	is "$ST,$OUT" "0,nothing to remove" "then there is nothing to remove"
fi
start "$N-d"
kill -KILL "$pid"
ended "$pid"
for i in {1..5}; do inside -- true; done
is "$(rows)" "" "launches sweep as well"

# When the janitor is killed as well, the stand-ins for protected names stay in the workspace.
start "$N-j"
kill -KILL "$(pgrep -P "$pid" -x cloche-janitor)"
kill -KILL "$pid"
ended "$pid"
gone "a sandbox without its janitor"
like "$(find "$WS" -mindepth 1 -printf '%P ')" '[.]git ' "leaves stand-ins in the workspace"
cloche gc --dry-run
like "$OUT" "would remove the empty stand-ins for protected names in [0-9]+ workspace" "which gc --dry-run tells"
like "$(find "$WS" -mindepth 1 -printf '%P ')" '[.]git ' "and leaves"
cloche gc
like "$OUT" "removed the empty stand-ins for protected names in [0-9]+ workspace" "and gc removes"
is "$(find "$WS" -mindepth 1 ! -name begun)" "" "all of them"

# --- where no state can be kept ----------------------------------------------------------------------------------------

# A folder without rights for its owner's processes; root's own process would not care, but the supervisor is not root.
start "$N-r"
kill -KILL "$pid"
ended "$pid"
chmod 500 "$RECORDS"
gives works "a sandbox starts where its record cannot be written" -- echo works
if [ "$ME" != 0 ]; then
	cloche gc
	is "$ST" 1 "gc fails where it cannot remove a record"
	like "$ERR" "^cloche: cannot remove the record of the killed sandbox [0-9a-f]{16} \($N-r\)\$" "and says which"
fi
chmod 700 "$RECORDS"
cloche gc
if [ "$ME" != 0 ] && unshare -Urm true 2>/dev/null; then
	# A full disk: in a namespace of mounts of our own, where the place for state has room for its folders only.
	cat >"$T/full" <<'END'
mount -t tmpfs -o mode=700,nr_inodes=3 none "$XDG_RUNTIME_DIR" || exit 99
mkdir -p "$XDG_RUNTIME_DIR/cloche/sandboxes"
chmod 700 "$XDG_RUNTIME_DIR/cloche" "$XDG_RUNTIME_DIR/cloche/sandboxes"
touch "$XDG_RUNTIME_DIR/x" 2>/dev/null && exit 98
"$CLOCHE" run --workspace none -- echo works
END
	is "$(CLOCHE=$CLOCHE unshare -Urm sh "$T/full" 2>&1)" works "a sandbox starts where the disk for its record is full"
	# No place at all: the programs are seen elsewhere, and what is left of /run and /tmp cannot be written.
	cat >"$T/none" <<'END'
mount --bind "$1" /mnt || exit 99
for dir in /run /tmp; do
	mount -t tmpfs -o ro none $dir || exit 98
done
cd / || exit 97
/mnt/cloche run --workspace none -- echo works
/mnt/cloche ps
END
	out=$(unset XDG_RUNTIME_DIR && unshare -Urm sh "$T/none" "$(dirname "$CLOCHE")" 2>&1)
	like "$out" $'^works\ncloche: no sandbox is recorded: there is no safe folder to keep state in: tried .*/tmp/cloche-' \
		"without any place for state a sandbox starts, and ps says why it lists nothing"
else
	why_not="an ordinary user's mounts are needed, which root's own namespaces are not"
	[ "$ME" = 0 ] || why_not="user namespaces cannot be made by unshare"
	skip "a sandbox starts where the disk for its record is full" "$why_not"
	skip "without any place for state a sandbox starts, and ps says why it lists nothing" "$why_not"
fi
env -i "$CLOCHE" run --name "$N-e" --workspace "$WS" "${MARKED[@]}" -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
pid=$!
until_true listed $pid
ok $? "a sandbox started with an empty environment is listed"
cloche kill "$N-e"
ended $pid

# --- records that somebody wrote ---------------------------------------------------------------------------------------

forged=0123456789abcdef
printf 'cloche=1\nstarted=1\nname=%s\nworkspace=/x\\x1b[31mred\\x0aline\ncommand=\\xe2\\x80\\xaetxt.exe\n' "$N-f" >"$RECORDS/$forged"
like "$(row -f)" "^$forged  $N-f +[0-9]+d +\?txt\.exe +/x\?\[31mred\?line +.*dead\$" "a forged record is printed without what a terminal obeys"
printf 'cloche=1\nname=\033[31mred\n' >"$RECORDS/$forged"
like "$("$CLOCHE" ps -a | grep $forged)" "^$forged +- +0s +\(unreadable\) +- " "an unreadable one is called so"
rm -f "$RECORDS/$forged"
ln -s /etc/passwd "$RECORDS/$forged"
unlike "$("$CLOCHE" ps -a)" $forged "a link is no record"
cloche gc
[ -L "$RECORDS/$forged" ]
ok $? "and not removed"
rm -f "$RECORDS/$forged"

# --- root sees all of them ---------------------------------------------------------------------------------------------

if [ "$ME" = 0 ] && have setpriv; then
	chmod 777 "$WS"
	(cd / && exec setpriv --reuid 61234 --regid 61234 --clear-groups env -i "$CLOCHE" run --name "$N-o" --workspace none "${MARKED[@]}" \
		-- sleep "$MARK" </dev/null >/dev/null 2>&1) &
	pid=$!
	until_true listed $pid
	is "$(field $pid uid)" 61234 "root's ps lists the sandbox of another user"
	is "$(cd / && setpriv --reuid 61235 --regid 61235 --clear-groups "$CLOCHE" ps)" "no sandbox is running" "a third user's ps does not"
	cloche kill "$N-o"
	like "$ST,$OUT" "^0,.*$N-o\) ended\$" "root's kill ends it"
	ended $pid
	rm -rf /tmp/cloche-61234 /tmp/cloche-61235
else
	skip "root's ps lists the sandbox of another user" "only root can be another user"
fi
refused "^cloche: ps takes no argument" "ps with an argument" ps x
refused "^cloche: gc takes no argument" "gc with an argument" gc x
gone "nothing is left at the end"
[ "$ME" != 0 ] || rm -rf "/run/cloche/$OWNER"
finish
