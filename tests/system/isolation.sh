#!/bin/bash
# What a command can see, reach and do: nothing of the host but what was given to it. Attacks that must fail, each with a
# marker on the host that must not change.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

# try NAME COMMAND: a shell command inside that must fail, whatever it tries.
try() {
	inside -- sh -c "$2"
	[ "$ST" != 0 ] && [ "$ST" != 125 ]
	ok $? "$1" "status $ST, output '$OUT', messages '$ERR'"
}

# --- who a command is --------------------------------------------------------------------------------------------------

inside -- cat /proc/self/status
for line in CapInh:0000000000000000 CapPrm:0000000000000000 CapEff:0000000000000000 CapBnd:0000000000000000 CapAmb:0000000000000000 \
	NoNewPrivs:1 Seccomp:2; do
	[[ $OUT == *$'\n'"${line/:/$':\t'}"$'\n'* ]]
	ok $? "a command has ${line/:/ }"
done
like "$OUT" $'\nUid:\t1000\t1000\t1000\t1000\n' "no id is 0"
like "$OUT" $'\nGroups:\t((1000|65534) )* *\n' "no supplementary group has a name inside"
for ns in user pid mnt net ipc uts cgroup; do
	inside -- readlink "/proc/self/ns/$ns"
	[ "$ST" = 0 ] && [ -n "$OUT" ] && [ "$OUT" != "$(readlink /proc/self/ns/$ns)" ]
	ok $? "its $ns namespace is not the host's" "$OUT"
done
inside -- cat /proc/self/uid_map
[[ $OUT =~ ^\ *1000\ +([0-9]+)\ +1$ ]] && [ "${BASH_REMATCH[1]}" != 0 ]
ok $? "one id is mapped, and not to root of the host" "$OUT"
"$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sleep "$MARK" </dev/null &
supervisor=$!
until_true pgrep -f "^sleep $MARK" >/dev/null
sleeper=$(pgrep -f "^sleep $MARK")
uids=$(sed -n 's/^Uid:\t//p' "/proc/$sleeper/status")
unlike "$uids" $'(^|\t)0(\t|$)' "seen from the host it does not run as root (uids $uids)"
if [ "$ME" = 0 ]; then
	skip "the supervisor's memory is closed to others of its uid" "root may look into everything"
else
	! cat "/proc/$supervisor/environ" >/dev/null 2>&1
	ok $? "the supervisor's memory is closed to others of its uid"
fi
kill "$supervisor"
wait "$supervisor" 2>/dev/null

# --- other processes ---------------------------------------------------------------------------------------------------

sleep 300 &
witness=$!
inside -- sh -c 'ls -d /proc/[0-9]* | wc -l; ls -d /proc/1'
like "$OUT" "^[1-4]"$'\n?'"$" "it sees only itself"
unlike "$OUT" "/proc/1" "and not PID 1"
inside -- sh -c 'kill -9 1; kill -TERM 1; kill -HUP 1; sleep 0.2; echo alive'
is "$ST,$OUT" "0,alive" "signals to PID 1 do nothing"
inside -- sh -c '(kill -9 -1); echo not reached'
is "$ST,$OUT" "137," "kill -9 -1 kills its own shell"
inside -- sh -c "kill -9 $witness $$; exit 7"
is "$ST" 7 "a process of the host cannot be signalled by its number"
inside -- sh -c 'kill -9 0; exit 7'
is "$ST" 137 "kill -9 0 ends its own group"
kill -0 "$witness" && kill -0 $$
ok $? "the host's processes are as they were"
kill "$witness"
wait "$witness" 2>/dev/null
inside -- cat /proc/self/cgroup
unlike "$OUT" ":/[^"$'\n'"]" "its control group is the root of what it sees"

# --- files of the host -------------------------------------------------------------------------------------------------

echo secret >"$T/secret"
here=$(dirname "$T/x")
for path in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh /etc/ssl/private /etc/machine-id /etc/cron.d /root /run /var/run /boot \
	/mnt /media /srv /lost+found /var/lib/dpkg /var/lib/docker /run/docker.sock /var/run/docker.sock /dev/mem /dev/kmsg /dev/sda \
	/dev/vda /dev/kvm /dev/fuse /dev/net/tun /dev/loop0 /proc/1 "$HOME" "$here" "$T" "$T/secret" "/home/$(id -un)" /.dockerenv; do
	[ "$path" != /home/agent ] || continue
	inside -- sh -c "test -e '$path' || test -L '$path'"
	is "$ST" 1 "$path does not exist inside"
done
for path in /proc/kcore /proc/kmsg /proc/1/environ /proc/1/root /proc/1/cwd /proc/1/exe /proc/sysrq-trigger; do
	try "$path cannot be read" "head -c 1 $path || ls $path/"
done
inside -- sh -c 'ls /home; ls /'
like "$OUT" "^agent"$'\n'"bin"$'\n'"dev"$'\n'"etc"$'\n'"home"$'\n'"lib" "the folders of the root"
unlike "$OUT" "root|run|opt|mnt" "and no others"
gives "/sys /sys/fs /sys/fs/cgroup" "/sys has a place for a command's own cgroup, and nothing of the host's" --cgroup none -- sh -c 'echo $(find /sys)'
inside -- sh -c 'cat /etc/passwd | cut -d: -f1 | tr "\n" " "'
is "$OUT" "root agent nobody " "the users that it knows"
ln -s /etc/shadow "$WS/shadow"
ln -s "$T/secret" "$WS/absolute"
ln -s ../secret "$WS/relative"
ln -s "/proc/self/root$T/secret" "$WS/magic"
for link in shadow absolute relative magic; do
	try "a link in the workspace to a file of the host is dead ($link)" "cat $link"
done
try "nothing above the workspace" "cat ../secret || ls -d /workspace/../ws"
try "a link made inside leads nowhere, and is not written through" "ln -s $T/secret out; echo changed >out"
is "$(cat "$T/secret")" secret "the secret is as it was"

# --- what can be written -----------------------------------------------------------------------------------------------

inside -- sh -c 'find / \( -path /proc -o -path /workspace -o -path /tmp -o -path /home/agent -o -path /dev/shm \) -prune -o ! -type l -writable -print'
is "$(grep -vE '^/dev/(null|zero|full|random|urandom|tty|ptmx|pts/ptmx)$' <<<"$OUT")" "" "only /workspace, /tmp, the home, /dev/shm and a few devices can be written"
[[ $OUT == *"/dev/null"* ]]
ok $? "(the search works: /dev/null can)"
inside -- sh -c 'find /proc/sys /proc/fs /proc/irq /proc/bus /proc/driver /proc/acpi -type f -writable 2>/dev/null'
is "$(grep -v '^/proc/sys/kernel/ns_last_pid$' <<<"$OUT")" "" "no setting of the kernel can be written"
try "not the next process number either, whose mode says so" "echo 5 >/proc/sys/kernel/ns_last_pid"
for path in /x /etc/x /etc/passwd /usr/bin/x /usr/bin/env /bin/x /dev/x /var/x /var/lib/x /home/x /proc/x; do
	try "writing $path fails" "echo x >$path"
done
for path in /etc/passwd /etc/os-release /usr/bin/env /dev/null /tmp /home/agent /workspace; do
	try "removing $path fails" "rm -rf $path/none; mv $path /tmp/away || rmdir $path"
done
inside -- sh -c 'for d in /workspace /tmp /home/agent /dev/shm /var/tmp; do echo x >$d/probe && cat $d/probe; done'
is "$OUT" $'x\nx\nx\nx\nx' "where it may write, it can"
inside -- sh -c 'ls -A /tmp /home/agent /dev/shm'
unlike "$OUT" "probe" "and nothing of it is there in the next sandbox"
awk '$1 != "" { print }' /proc/self/mounts | sort >"$T/mounts-before"
inside -- cat /proc/mounts
is "$(grep -v '[ ,]nosuid[ ,]' <<<"$OUT")" "" "every mount inside is nosuid"
is "$(grep -v '[ ,]nodev[ ,]' <<<"$OUT" | grep -vE '^[^ ]+ (/dev/(null|zero|full|random|urandom|tty|pts)|/proc/keys) ')" "" "and nodev, but for the devices"

is "$(awk '$4 ~ /^rw/ { print $2 }' <<<"$OUT" | sort -u | tr '\n' ' ')" \
	"/dev/full /dev/null /dev/pts /dev/random /dev/shm /dev/tty /dev/urandom /dev/zero /home/agent /proc /proc/keys /tmp /workspace " "and read-only, but for these"

# --- set-user-ID -------------------------------------------------------------------------------------------------------

cp "$(readlink -f "$(type -P id)")" "$WS/id"
chmod 4755 "$WS/id"
inside -- ./id -u
is "$OUT" 1000 "a set-user-ID program in the workspace gives nothing"
rm -f "$WS/id"

# --- calls: tests/escape/ and seccomp.sh make them all ---------------------------------------------------------------

try "the clock" 'date -s 2001-01-01'
try "becoming root" 'su -c true </dev/null'

# --- network and sockets -----------------------------------------------------------------------------------------------

inside -- cat /proc/net/dev
is "$(tail -n +3 <<<"$OUT" | cut -d: -f1 | tr -d ' ')" lo "the only network device is lo"
inside -- cat /proc/net/unix
is "$(awk 'NR > 1 && NF > 7' <<<"$OUT")" "" "no unix socket of the host is listed: none that has a name"
if in_usr python3; then
	for target in 192.0.2.1 10.0.0.1 169.254.169.254 224.0.0.1 255.255.255.255 2001:db8::1; do
		inside -- python3 -c "import socket; socket.create_connection(('$target', 80), 3)"
		like "$ST,$ERR" "^1,.*(unreachable|Invalid argument|refused|denied)" "$target cannot be reached"
	done
	inside -- python3 -c "import socket; socket.getaddrinfo('example.com', 80)"
	[ "$ST" = 1 ]
	ok $? "names are not resolved"
	inside -- python3 -c "
import socket
a = socket.create_server(('127.0.0.1', 0))
socket.create_connection(a.getsockname(), 3)
b = socket.create_server(('::1', 0), family=socket.AF_INET6) if socket.has_ipv6 else None
print('fine')"
	is "$OUT" fine "its own loopback works"
else
	skip "nothing of the network can be reached" "no python3 in /usr"
fi

# --- what the caller had open and set ----------------------------------------------------------------------------------

leaked=
exec 7</etc 8<"$T"
for n in {0..40}; do
	inside -w "/proc/self/fd/$n" -- sh -c 'pwd; ls'
	if [ "$ST" != 125 ] || [ -n "$OUT" ]; then leaked="$leaked $n"; fi
done
exec 7<&- 8<&-
is "$leaked" "" "no descriptor can be the working directory"
for dir in /proc/self/cwd /proc/self/root /proc/1/root /proc/1/cwd /proc/self/fd; do
	inside -w "$dir" -- sh -c 'cat etc/shadow; cat secret; ls'
	unlike "$OUT" "secret|shadow|root:" "-w $dir leads nowhere outside"
done
mapfile -t names < <(TERM=xterm TZ=UTC SECRET=$MARK BASH_ENV=/x LD_PRELOAD='' PYTHONSTARTUP=/x AWS_KEY=1 \
	"$CLOCHE" run --workspace "$WS" -- env | cut -d= -f1 | sort)
is "${names[*]}" "ASAN_OPTIONS HOME LANG LOGNAME PATH SHELL TERM TZ USER container" "the environment has these names and no others"
TZ='x;$(id)' TERM=$'a\nb' inside -- env
unlike "$OUT" "(^|"$'\n'")(TZ|TERM)=" "an odd TZ or TERM is not passed"

# --- whose files they are ----------------------------------------------------------------------------------------------

inside -- sh -c 'umask 022; mkdir -p new/sub; echo x >new/sub/file; ln -s file new/sub/link; chmod 700 new'
is "$(stat -c '%u %a' "$WS/new" "$WS/new/sub/file" "$WS/new/sub/link" | tr '\n' ' ')" "$ME 700 $ME 644 $ME 777 " "files made inside belong to the caller"
is "$(stat -c %g "$WS/new/sub/file")" "$(id -g)" "and to the caller's group"
echo "by the caller" >"$WS/kept"
chmod 600 "$WS/kept"
gives "by the caller" "private files of the caller can be read" -- cat kept
inside -- sh -c 'echo more >>kept'
is "$(cat "$WS/kept"; stat -c '%u %a' "$WS/kept")" $'by the caller\nmore\n'"$ME 600" "and changed, keeping owner and mode"
if [ "$ME" = 0 ]; then
	mkdir "$T/theirs"
	chown 12345:12346 "$T/theirs"
	cloche run --workspace "$T/theirs" -- sh -c 'echo x >file; id -u'
	is "$OUT $(stat -c '%u:%g' "$T/theirs/file")" "1000 12345:12346" "root on another user's workspace makes that user's files"
	echo "root's" >"$T/theirs/roots"
	chmod 600 "$T/theirs/roots"
	cloche run --workspace "$T/theirs" -- cat roots
	[ "$ST" != 0 ]
	ok $? "and does not lend root's rights over root's private files in it" "$OUT"
	# Its owner stops the janitor, which has his id, so that the rest of the start waits, and looks for what root has in its environment.
	cat >"$T/spy.py" <<'END'
import os, signal, sys, time

def mine(comm):
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat("/proc/" + p).st_uid in (0, os.getuid()) and open("/proc/" + p + "/comm").read().strip() == comm:
                yield int(p)
        except OSError:
            pass

def seen():
    for p in mine("cloche"):
        try:
            if sys.argv[1].encode() in open("/proc/%d/environ" % p, "rb").read():
                return True
        except OSError:
            pass
    return False

def stopped():
    for p in mine("cloche-janitor"):
        try:
            os.kill(p, signal.SIGSTOP)
            return p
        except OSError:
            pass

print("ready", flush=True)
found, stops = False, 0
while not os.path.exists(sys.argv[2]):
    janitor = stopped()
    if janitor:
        stops += 1
        found = any([seen() or time.sleep(0.005) for i in range(10)]) or found
        try:
            os.kill(janitor, signal.SIGCONT)
        except ProcessLookupError:
            pass # it was killed meanwhile, since its sandbox ended
        time.sleep(0.02)
    found = seen() or found
print("seen" if found else "not seen" if stops else "nothing stopped")
END
	setpriv --reuid 12345 --regid 12346 --clear-groups /usr/bin/python3 "$T/spy.py" "secret$MARK" "$T/theirs/over" >"$T/spy" 2>&1 &
	spy=$!
	until_true grep -q ready "$T/spy"
	for ((i = 0; i < 20; i++)); do
		OF_ROOT=secret$MARK "$CLOCHE" run --workspace "$T/theirs" -- true </dev/null >/dev/null 2>&1
	done
	touch "$T/theirs/over"
	wait $spy
	is "$(cat "$T/spy")" "ready"$'\n'"not seen" "nor shows its owner root's environment"
else
	skip "root on another user's workspace" "not root"
fi
sort /proc/self/mounts >"$T/mounts-after"
cmp -s "$T/mounts-before" "$T/mounts-after"
ok $? "the host's mounts are as they were" "$(diff "$T/mounts-before" "$T/mounts-after")"
gone "nothing is left"
finish
