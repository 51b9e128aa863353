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
for path in /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh /etc/ssl/private /etc/machine-id /etc/cron.d /root /run /var/run /sys /boot \
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
unlike "$OUT" "root|run|sys|opt|mnt" "and no others"
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
is "$(grep -v '[ ,]nodev[ ,]' <<<"$OUT" | grep -vE '^[^ ]+ /dev/(null|zero|full|random|urandom|tty|pts) ')" "" "and nodev, but for the devices"

is "$(awk '$4 ~ /^rw/ { print $2 }' <<<"$OUT" | sort -u | tr '\n' ' ')" \
	"/dev/full /dev/null /dev/pts /dev/random /dev/shm /dev/tty /dev/urandom /dev/zero /home/agent /proc /tmp /workspace " "and read-only, but for these"

# --- set-user-ID -------------------------------------------------------------------------------------------------------

cp "$(readlink -f "$(type -P id)")" "$WS/id"
chmod 4755 "$WS/id"
inside -- ./id -u
is "$OUT" 1000 "a set-user-ID program in the workspace gives nothing"
rm -f "$WS/id"
try "chmod u+s" 'cp /usr/bin/id own && chmod u+s own'
try "chmod g+s" 'cp /usr/bin/id own && chmod g+s own'
try "chmod 6755" 'cp /usr/bin/id own && chmod 6755 own'
try "install -m 4755" 'install -m 4755 /usr/bin/id installed'
try "mkdir -m 2755" 'mkdir -m 2755 folder'
if in_usr python3; then
	try "open(2) with the bit" 'python3 -c "import os; os.umask(0); os.open(\"opened\", os.O_CREAT | os.O_WRONLY, 0o4755)"'
	try "mknod(2) with the bit" 'python3 -c "import os, stat; os.mknod(\"node\", stat.S_IFREG | 0o4755)"'
else
	skip "open(2) and mknod(2) with the bit" "no python3 in /usr"
fi
is "$(find "$WS" -perm /6000)" "" "no file on the host has such a bit"
try "mknod of a device" 'mknod dev c 1 3'
try "setting file capabilities" 'PATH=$PATH:/sbin:/usr/sbin; setcap cap_net_raw+ep true || exit 1'

# --- calls -------------------------------------------------------------------------------------------------------------

try "mount" 'mkdir -p /tmp/m; mount -t tmpfs none /tmp/m'
try "bind mount" 'mkdir -p /tmp/m; mount --bind /usr /tmp/m'
try "remount" 'mount -o remount,rw /usr'
try "umount" 'umount /proc || umount -l /usr'
try "unshare" 'unshare -Ur true'
try "unshare of mounts" 'unshare -m true'
try "chroot" '/usr/sbin/chroot /usr true || exit 1'
try "a new host name" 'hostname evil'
try "the kernel's log" 'dmesg'
try "the clock" 'date -s 2001-01-01'
try "becoming root" 'su -c true </dev/null'
if [ -n "${TEST_TRY_SYSCALL:-}" ]; then
	cp "$TEST_TRY_SYSCALL" "$WS/try_syscall"
	for call in mount:EPERM umount2:EPERM unshare:EPERM setns:EPERM clone:newuser:EPERM clone3:ENOSYS ptrace:EPERM keyctl:EPERM add_key:EPERM \
		bpf:EPERM io_uring_setup:ENOSYS perf_event_open:EPERM userfaultfd:EPERM process_vm_readv:EPERM pidfd_getfd:EPERM \
		open_by_handle_at:EPERM ioctl:tiocsti:EPERM ioctl:tiocsti-high:EPERM socket:alg:EAFNOSUPPORT socket:vsock:EAFNOSUPPORT \
		i386:SYS x32:SYS; do
		inside -- ./try_syscall "${call%:*}"
		is "$OUT" "${call%:*} ${call##*:}" "${call%:*} is refused"
	done
	rm -f "$WS/try_syscall"
else
	skip "calls that no shell command makes" "TEST_TRY_SYSCALL is not set"
fi

# --- network and sockets -----------------------------------------------------------------------------------------------

inside -- cat /proc/net/dev
is "$(tail -n +3 <<<"$OUT" | cut -d: -f1 | tr -d ' ')" lo "the only network device is lo"
is "$(inside -- cat /proc/net/unix; wc -l <"$T/out")" 1 "no unix socket of the host is listed"
if have python3 && in_usr python3; then
	# Listens on the host's loopback and on an abstract name, and writes down the port.
	python3 - "$MARK" "$T/port" "$WS/path-outside" <<-'END' &
		import os, socket, sys
		tcp = socket.create_server(("127.0.0.1", 0))
		name = socket.socket(socket.AF_UNIX)
		name.bind("\0cloche-test-" + sys.argv[1])
		name.listen()
		with open(sys.argv[2] + ".new", "w") as f:
		    f.write(str(tcp.getsockname()[1]))
		os.rename(sys.argv[2] + ".new", sys.argv[2])
		import time
		time.sleep(60)
	END
	listener=$!
	until_true test -e "$T/port"
	port=$(cat "$T/port")
	connect_tcp="import socket; socket.create_connection(('127.0.0.1', $port), 3)"
	connect_name="import socket; socket.socket(socket.AF_UNIX).connect('\\0cloche-test-$MARK')"
	python3 -c "$connect_tcp" && python3 -c "$connect_name"
	ok $? "(the host reaches its listeners)"
	inside -- python3 -c "$connect_tcp"
	like "$ST,$ERR" "^1,.*Connection refused" "a command does not reach a port of the host's loopback"
	inside -- python3 -c "$connect_name"
	like "$ST,$ERR" "^1,.*Connection refused" "nor an abstract socket of the host"
	kill "$listener"
	wait "$listener" 2>/dev/null
	for target in 192.0.2.1 10.0.0.1 169.254.169.254 224.0.0.1 255.255.255.255 2001:db8::1; do
		inside -- python3 -c "import socket; socket.create_connection(('$target', 80), 3)"
		like "$ST,$ERR" "^1,.*(unreachable|Invalid argument|refused|denied)" "$target cannot be reached"
	done
	inside -- python3 -c "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('192.0.2.1', 53))"
	like "$ST,$ERR" "^1,.*unreachable" "not with UDP either"
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
	skip "listeners of the host cannot be reached" "no python3 in /usr"
fi
if have ipcmk; then
	id=$(ipcmk -M 4096 | grep -o '[0-9]*$')
	inside -- sh -c "cat /proc/sysvipc/shm | tail -n +2"
	is "$OUT" "" "shared memory of the host is not there"
	ipcrm -m "$id"
else
	skip "shared memory of the host" "no ipcmk here"
fi

# --- what the caller had open and set ----------------------------------------------------------------------------------

(
	exec 9<"$T/secret" 7</etc 200<"$T/secret"
	inside -- sh -c 'ls /proc/self/fd | tr "\n" " "; cat <&9'
	[ "$OUT" = "0 1 2 3 " ] && [ "$ST" != 0 ]
	exit
)
ok $? "descriptors of the caller are not inherited"
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
inside -- env
is "$(grep -c "$MARK" <<<"$OUT")" 0 "a variable of the caller is not visible"
is "$(SECRET=$MARK inside -- sh -c 'cat /proc/*/environ' ; grep -c "$MARK" "$T/out")" 0 "not in /proc either"
TZ='x;$(id)' TERM=$'a\nb' inside -- env
unlike "$OUT" "(^|"$'\n'")(TZ|TERM)=" "an odd TZ or TERM is not passed"

# --- the programs of cloche --------------------------------------------------------------------------------------------

# In a folder of the caller's own, so that file permissions do not protect them.
mkdir "$T/bin"
for program in cloche cloche-init cloche-mcp; do
	file=$(dirname "$CLOCHE")/$program
	[ -e "$file" ] || file=$(dirname "$CLOCHE")/../libexec/cloche/$program
	[ ! -e "$file" ] || cp "$file" "$T/bin/"
done
sha256sum "$T"/bin/* >"$T/sums"
printf '#!/proc/self/exe\n' >"$WS/self"
cat >"$WS/overwrite" <<'END'
#!/bin/sh
# Tries for a second to write into the program of every process that it can see, while some of them are cloche's.
i=0
while [ $i -lt 150 ]; do
	./self >/dev/null 2>&1 &
	for exe in /proc/[0-9]*/exe /proc/self/exe /proc/1/exe; do
		{ echo overwritten >>"$exe"; } 2>/dev/null && echo "wrote $exe"
	done
	i=$((i + 1))
done
wait
echo tried
END
chmod 755 "$WS/self" "$WS/overwrite"
"$T/bin/cloche" run --workspace "$WS" "${MARKED[@]}" -- ./overwrite >"$T/out" 2>&1 </dev/null
is "$(cat "$T/out")" tried "no program of a process can be opened for writing"
"$T/bin/cloche" run --workspace "$WS" "${MARKED[@]}" -- ./self >"$T/out" 2>&1 </dev/null
unlike "$(cat "$T/out")" "Usage|sandbox cannot" "#!/proc/self/exe as the command gives nothing"
sha256sum --status -c "$T/sums"
ok $? "the programs of cloche are as they were"

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
else
	skip "root on another user's workspace" "not root"
fi
sort /proc/self/mounts >"$T/mounts-after"
cmp -s "$T/mounts-before" "$T/mounts-after"
ok $? "the host's mounts are as they were" "$(diff "$T/mounts-before" "$T/mounts-after")"
gone "nothing is left"
finish
