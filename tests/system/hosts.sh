#!/bin/bash
# Hosts that give less, and the modes of ids: `cloche doctor` says what holds, and `cloche run` then does what doctor says. Every
# host is a real one for the kernel: namespaces with masks, switched-off settings, or a filter that answers as an old kernel does.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

helpers=$(cd "$(dirname "$0")/../helpers" && pwd)
profile=$(cd "$(dirname "$0")/../.." && pwd)/profiles/apparmor/cloche.in
PATH=$PATH:/usr/sbin:/sbin

# The machine's root looks at these hosts as an ordinary user, who owns the workspace and has nobody's groups.
user=()
if [ "$ME" = 0 ]; then
	chown 12345:12345 "$WS"
	user=(setpriv --reuid 12345 --regid 12345 --clear-groups)
fi

# on COMMAND...: as cloche(), with everything in front of it; as an ordinary user.
on() {
	(cd "$WS" && exec "${user[@]}" "$@") >"$T/out" 2>"$T/err" </dev/null
	ST=$?
	OUT=$(tr -d '\0' <"$T/out")
	ERR=$(tr -d '\0' <"$T/err")
}

# doctor_says STATUS REGEX NAME: the last run was a doctor's.
doctor_says() {
	[ "$ST" = "$1" ] && [[ $OUT =~ $2 ]] && [ -z "$ERR" ]
	ok $? "$3" "status $ST, messages '$ERR', output"$'\n'"$OUT"$'\n'"wanted status $1 and '$2'"
}

# --- this machine ------------------------------------------------------------------------------------------------------

cd "$WS" || exit 1
cloche doctor
doctor_says 0 "active +kernel .*active +user namespace .*active +/proc of its own .*active +sandbox " "doctor finds all that is needed"
is "$(grep -c '^[a-z]' <<<"$OUT")" "$(grep -cE '^(active|weaker |missing) +[A-Za-z/_-]' <<<"$OUT")" "each line begins with one of three words"
text=$OUT
cloche doctor --json
if have python3; then
	python3 - "$T/out" >"$T/layers" 2>"$T/err" <<-'END'
		import json, sys
		d = json.load(open(sys.argv[1]))
		assert d["usable"] is True and d["worst"] == "active", d
		for l in d["layers"]:
		    assert set(l) == {"layer", "status", "required", "detail", "repair"}, l
		    assert l["status"] in ("active", "weaker", "missing") and l["detail"] and isinstance(l["required"], bool), l
		    assert l["status"] == "active" or not l["required"], l
		    print("%-8s %s" % (l["status"], l["layer"]))
	END
	is "$?,$(cat "$T/err")" "0," "doctor --json is JSON of the documented form"
	is "$(sed 's/ *$//' "$T/layers")" "$(grep '^[a-z]' <<<"$text" | cut -c1-29 | sed 's/ *$//')" "with the same findings as the text"
else
	skip "doctor --json" "no python3"
fi
inside -- grep -e CapEff -e NoNewPrivs -e Seccomp: /proc/self/status
is "$OUT" $'CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2' "and a command is as doctor says"
if [ "$ME" = 0 ]; then
	like "$text" "active +identity .*active +id-mapped mounts" "doctor tells root which id it becomes"
	unshare -Ur "$CLOCHE" run --workspace none -- true >"$T/out" 2>"$T/err" </dev/null
	ST=$? OUT=$(cat "$T/out") ERR=$(cat "$T/err")
	one_sentence 125 "machine's root.*cannot become" "the machine's root is refused in a user namespace that hides who it is"
	unshare -U --map-user=1000 --map-group=1000 "$CLOCHE" run --workspace none -- true >"$T/out" 2>"$T/err" </dev/null
	ST=$? OUT=$(cat "$T/out") ERR=$(cat "$T/err")
	one_sentence 125 "machine's root.*cannot become" "also under another number"
else
	unlike "$text" "identity" "doctor has nothing to say about root"
	skip "the machine's root in a user namespace" "not root"
fi

# --- ids ---------------------------------------------------------------------------------------------------------------

cloche run --workspace none --userns single -- cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups
like "$OUT" "^ +1000 +[0-9]+ +1"$'\n'" +1000 +[0-9]+ +1"$'\n'"deny$" "single: one id of each kind, and no way to drop groups"
refused "--userns 'host' is not possible" "--userns host" run --userns host -- true
refused "'keep-id' is not a mode" "--userns of Podman" run --userns=keep-id -- true

# Who has ranges? The caller, or for root the first user that has some.
owner=$(id -un)
[ "$ME" != 0 ] || owner=$(cut -d: -f1 /etc/subuid 2>/dev/null | while read -r name; do
	uid=$(id -u "$name" 2>/dev/null) && [ "$uid" != 0 ] && grep -q "^$name:" /etc/subgid && echo "$name" && break
done)
range=$(grep -m1 "^$owner:" /etc/subuid 2>/dev/null | cut -d: -f2-)
start=${range%%:*}
subid_ready() { [ -n "$range" ] && [ -u /usr/bin/newuidmap ] && [ -u /usr/bin/newgidmap ] && [ "${range##*:}" -ge 2000 ]; }
if subid_ready; then
	uid=$(id -u "$owner")
	gid=$(id -g "$owner")
	mkdir -m 755 "$T/theirs"
	[ "$ME" != 0 ] || chown "$uid:$gid" "$T/theirs"
	theirs=(run --workspace "$T/theirs" "${MARKED[@]}")
	cloche "${theirs[@]}" --userns=subid -- sh -c 'cat /proc/self/uid_map; echo made >made; id -u; cat /proc/self/setgroups'
	is "$(tr -s ' ' <<<"$OUT")" " 1000 $uid 1"$'\n'" 1 $start 999"$'\n'" 1001 $((start + 1000)) $((${range##*:} < 65533 ? ${range##*:} - 1000 : 64533))"$'\n'"1000"$'\n'"deny" \
		"subid: the caller and the N-th subordinate id as N; no root; setgroups denied"
	is "$(stat -c '%u:%g' "$T/theirs/made")" "$uid:$gid" "files still belong to the caller"
	cloche "${theirs[@]}" --userns auto --user 5 -- cat /proc/self/uid_map
	like "$(tr -s ' ' <<<"$OUT")" "^ 5 $uid 1"$'\n'" 1 $start 4"$'\n'" 6 " "auto is subid here, with any inside id"
	cloche doctor
	if [ "$ME" != 0 ]; then
		like "$OUT" "active +subordinate ids .*auto means subid" "doctor says so"
	else
		like "$OUT" "missing +subordinate ids .*another's owner may have some" "doctor speaks of the id that root becomes"
	fi
	cloche "${theirs[@]}" --userns=subid -- python3 -c 'import os; os.setuid(5)'
	like "$ST,$ERR" "^1,.*Operation not permitted" "nothing inside can become one of them"
	cloche "${theirs[@]}" --userns=subid -- python3 -c 'import os; os.setgroups([])'
	like "$ST,$ERR" "^1,.*Operation not permitted" "or drop a group"
	cloche "${theirs[@]}" --userns=subid -- chown 5 made
	[ "$ST" = 1 ] && [ "$(stat -c %u "$T/theirs/made")" = "$uid" ]
	ok $? "or give a file to one" "$ST $ERR"
	as_owner=()
	[ "$ME" != 0 ] || as_owner=(setpriv --reuid "$uid" --regid "$gid" --init-groups)
	if "${as_owner[@]}" unshare --user --map-auto --map-root-user true 2>/dev/null; then
		: >"$T/theirs/fifth"
		[ "$ME" != 0 ] || chown "$uid:$gid" "$T/theirs/fifth"
		"${as_owner[@]}" unshare --user --map-auto --map-root-user chown 5:5 "$T/theirs/fifth"
		is "$(stat -c %u "$T/theirs/fifth")" "$((start + 4))" "(a file of the fifth subordinate id)"
		cloche "${theirs[@]}" --userns=subid -- stat -c '%u:%g' fifth
		is "$OUT" "5:5" "subid shows its number"
		cloche "${theirs[@]}" --userns=single -- stat -c '%u:%g' fifth
		is "$OUT" "65534:65534" "single shows nobody"
	else
		skip "a file of a subordinate id" "unshare --map-auto does not work here"
	fi
	mkdir "$T/bin"
	for name in newuidmap newgidmap; do
		printf '#!/bin/sh\necho "$0 $LD_PRELOAD" >>%s\nexec /usr/bin/%s "$@"\n' "$T/fooled" "$name" >"$T/bin/$name"
		chmod 755 "$T/bin/$name"
	done
	PATH=$T/bin:$PATH cloche "${theirs[@]}" --userns=subid -- true
	[ "$ST" = 0 ] && [ ! -e "$T/fooled" ]
	ok $? "the helpers are not looked up in PATH" "$ST $ERR"
	setpriv --no-new-privs "$CLOCHE" "${theirs[@]}" --userns=subid -- true >"$T/out" 2>"$T/err" </dev/null
	ST=$? OUT=$(cat "$T/out") ERR=$(cat "$T/err")
	one_sentence 125 "newuidmap' would get no rights here.*no_new_privs" "subid under no_new_privs is refused"
	setpriv --no-new-privs "$CLOCHE" "${theirs[@]}" --userns=auto -- cat /proc/self/uid_map >"$T/out" 2>"$T/err" </dev/null
	like "$?,$(tr -s ' ' <"$T/out"),$(cat "$T/err")" "^0, 1000 $uid 1,$" "auto under no_new_privs is single"
else
	skip "--userns subid" "$owner has no range in /etc/subuid and /etc/subgid, or newuidmap is not there (Debian: apt-get install uidmap)"
fi
on "$CLOCHE" doctor
if [ "$ME" = 0 ] || ! subid_ready; then
	like "$OUT" "missing +subordinate ids .*repair: " "doctor knows who has no subordinate ids"
	on "$CLOCHE" run --userns subid -- true
	one_sentence 125 "--userns subid is not possible: .*(usermod --add-subuids|apt-get install uidmap)" "subid without them is refused, with the repair"
	on "$CLOCHE" run --userns auto -- cat /proc/self/uid_map
	like "$ST,$(tr -s ' ' <<<"$OUT")" "^0, 1000 [0-9]+ 1$" "and auto is single"
fi

# Groups that the caller has beside its own: useless for everything but files that are shown anyway.
if [ "$ME" = 0 ]; then
	mkdir -m 755 "$T/groups"
	for name in may:0640 mayn:0604; do
		echo secret >"$T/groups/${name%:*}"
		chgrp 4242 "$T/groups/${name%:*}"
		chmod "${name#*:}" "$T/groups/${name%:*}"
	done
	: >"$T/groups/own"
	who=12345 modes=single
	if subid_ready; then who=$(id -u "$owner") modes="single subid"; fi
	chown "$who:$who" "$T/groups" "$T/groups/own"
	for mode in $modes; do
		(cd "$T/groups" && exec setpriv --reuid "$who" --regid "$who" --groups 4242 "$CLOCHE" run "${MARKED[@]}" --userns "$mode" -- sh -c '
			id -G; cat may; cat mayn; chgrp 4242 own; chgrp 65534 own; newgrp nogroup -c true; python3 -c "import os; os.setgroups([4242])"
			python3 -c "import os; os.setgid(4242)"; ls -ln own' >"$T/out" 2>"$T/err" </dev/null)
		like "$(cat "$T/out")" "^1000 65534"$'\n'"secret"$'\n'"-rw-r--r-- 1 1000 (1000|65534) " \
			"$mode: a supplementary group is nobody's; it opens files of the workspace and nothing else"
		is "$(grep -c 'ermission denied\|not permitted\|nvalid argument' "$T/err")" 6 "$mode: what denies the group still denies it, and it can be neither used, given nor dropped"
		is "$(stat -c %g "$T/groups/own")" "$who" "$mode: the file's group is as it was"
	done
else
	skip "supplementary groups" "only root can give some"
fi

# --- a container that hides parts of /proc -------------------------------------------------------------------------------

box() { on "$helpers/contained.sh" "$@"; }
box true
if [ "$ST" = 0 ]; then
	box --open "$CLOCHE" doctor
	doctor_says 0 "active +/proc of its own" "in a container that hides nothing all is well"
	box --open "$CLOCHE" run --allow-weaker proc --allow-weaker root -- sh -c 'ls -d /proc/[0-9]* | wc -l'
	like "$ST,$OUT,$ERR" "^0,[1-4],$" "and what may be weaker is not"

	box "$CLOCHE" doctor
	doctor_says 1 "missing +/proc of its own .*systempaths=unconfined.*unmask=ALL.*procMount: Unmasked.*--allow-weaker=proc.*missing +sandbox " \
		"where parts of /proc are hidden, doctor says what is missing, and how to repair it"
	box "$CLOCHE" run -- true
	one_sentence 125 "cannot mount proc on '/proc'.*hides parts of /proc.*unmask=ALL.*--allow-weaker=proc" "and a run is refused, as doctor said"
	box "$CLOCHE" doctor --allow-weaker=proc
	doctor_says 2 "weaker +/proc of its own .*command lines.*active +sandbox .*weaker +limits .*for each process" \
		"what would hold when less is accepted"
	box "$CLOCHE" run --allow-weaker=proc -- sh -c 'id -u; grep -c "^proc /proc proc ro,nosuid,nodev,noexec" /proc/mounts; ulimit -d; grep CapEff /proc/self/status'
	is "$ST,$OUT" "0,1000"$'\n'"1"$'\n'"4194304"$'\n'"CapEff:"$'\t'"0000000000000000" "and it does hold"
	[ "$(wc -l <"$T/err")" = 1 ] && [[ $ERR == "cloche: weaker than usual: /proc is that of the container around"* ]]
	ok $? "with one line that says what is weaker" "$ERR"
	box "$CLOCHE" explain --allow-weaker=proc
	like "$OUT" "/proc is that of the container around" "explain says so too"

	# In there: a process of the container with the same uid as the sandbox, and what a command may do to it.
	cat >"$WS/attack.sh" <<-'END'
		p=$1
		readable="$p/environ $p/maps $p/mem $p/auxv $p/io $p/syscall $p/stack $p/smaps $p/personality $p/fd/0 $p/fd/9 $p/root/etc/passwd $p/cwd/ws"
		for f in $readable; do head -c 1 /proc/$f >/dev/null 2>&1 && [ -n "$(head -c 1 /proc/$f | tr '\0' x)" ] && echo "read $f"; done
		for f in root cwd exe ns/mnt ns/user ns/pid fd/0 fd/9; do readlink /proc/$p/$f && echo "resolved $f"; done
		for f in root cwd fd; do ls /proc/$p/$f/. >/dev/null 2>&1 && [ $f != fd ] && echo "listed $f"; done
		for f in $p/comm $p/oom_score_adj $p/mem $p/uid_map $p/setgroups $p/coredump_filter $p/timerslack_ns $p/clear_refs self/oom_score_adj self/comm \
			sys/kernel/core_pattern sys/kernel/hostname sys/vm/drop_caches sys/fs/suid_dumpable sys/net/ipv4/ip_forward sys/user/max_user_namespaces \
			sysrq-trigger; do
			(echo 1 >/proc/$f) 2>/dev/null && echo "wrote $f"
		done
		kill -9 $p 2>/dev/null && [ "$2" = outside ] || true
		kill -0 $p 2>/dev/null && echo "signalled $p"
		find /proc/sys /proc/fs /proc/irq /proc/bus -type f -writable 2>/dev/null | while read -r f; do (: >>"$f") 2>/dev/null && echo "wrote $f"; done
		mount -o remount,rw /proc 2>/dev/null && echo "remounted"
		umount /proc/sys 2>/dev/null && echo "unmounted a mask"
		cat /proc/keys /proc/timer_list 2>/dev/null | grep -q [0-9a-z] && echo "looked behind a mask"
		echo done
	END
	cat >"$WS/world.sh" <<-'END'
		# Numbers that the sandbox has no process for; a file that only the workspace's owner should reach through /proc/PID/root.
		i=0; while [ $i -lt 60 ]; do i=$((i + 1)); /bin/true; done
		TOKEN=topsecret sleep 100 9</etc/passwd &
		p=$!
		sleep 0.2
		grep -qz TOKEN=topsecret /proc/$p/environ && readlink /proc/$p/root && echo "control: outside it can be read"
		"$1" run --allow-weaker=proc -- sh attack.sh $p
		tr '\0' ' ' </proc/$p/cmdline
		"$1" run --allow-weaker=proc -- tr '\0' ' ' </proc/$p/cmdline
		kill $p
	END
	for as in "" --root; do
		# shellcheck disable=SC2086 # a word or none
		box $as sh world.sh "$CLOCHE"
		is "$OUT" "/"$'\n'"control: outside it can be read"$'\n'"done"$'\n'"sleep 100 sleep 100 " \
			"processes of the container ${as:+(as its root) }are closed to a command, and nothing of /proc can be written"
	done
	box sh -c "printf '%s\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}' \
		'{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}' \
		'{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"run_bash\",\"arguments\":{\"command\":\"echo in-\$((40 + 2)); ls -d /proc/self\"}}}' |
		{ cat; sleep 1; } | '$CLOCHE' mcp --allow-weaker=proc ."
	like "$OUT" "in-42.n/proc/self" "commands of an MCP session work too"
else
	skip "a container that hides parts of /proc" "contained.sh does not work here: $ERR"
fi

# --- a real container runtime ------------------------------------------------------------------------------------------------

# oci WORD...: cloche in a container of runc, without root: `masked` as runtimes do it, `setfcap` with that capability for its root.
oci() {
	python3 - "$T/oci" "$(dirname "$CLOCHE")" "$@" <<-'END'
		import json, sys
		folder, programs, *words = sys.argv[1:]
		c = json.load(open(folder + "/spec.json"))
		c["process"].update(terminal=False, args=["sh", "/inside.sh"])
		c["mounts"] = [m for m in c["mounts"] if m["type"] != "cgroup"]
		for source, target in (("/usr", "/usr"), (programs, "/cloche"), (folder + "/inside.sh", "/inside.sh")):
		    c["mounts"].append({"destination": target, "type": "bind", "source": source, "options": ["rbind", "ro"]})
		if "masked" not in words:
		    c["linux"]["maskedPaths"] = c["linux"]["readonlyPaths"] = []
		if "setfcap" in words:
		    for known in c["process"]["capabilities"].values():
		        known.append("CAP_SETFCAP")
		json.dump(c, open(folder + "/config.json", "w"))
	END
	on runc --root "$T/oci/state" run --bundle "$T/oci" "cloche-$MARK"
}
if have runc && have python3; then
	mkdir -p "$T/oci/rootfs/usr" "$T/oci/rootfs/cloche" "$T/oci/rootfs/proc" "$T/oci/rootfs/sys" "$T/oci/rootfs/dev" "$T/oci/rootfs/etc"
	: >"$T/oci/rootfs/inside.sh"
	for name in bin sbin lib lib64; do
		[ ! -L "/$name" ] || ln -s "usr/$name" "$T/oci/rootfs/$name"
	done
	cat >"$T/oci/inside.sh" <<-'END'
		c=/cloche/cloche
		$c doctor >/dev/null; echo "doctor $?"
		$c run --workspace none -- echo ran
		$c doctor --allow-weaker=proc >/dev/null; echo "weaker doctor $?"
		$c run --workspace none --allow-weaker=proc -- sh -c 'echo ran weaker; cat /proc/1/environ; ls /proc/1/root /proc/1/cwd; echo 1 >/proc/sys/kernel/core_pattern'
	END
	[ "$ME" != 0 ] || chown -R 12345:12345 "$T/oci"
	on runc spec --rootless --bundle "$T/oci"
	mv "$T/oci/config.json" "$T/oci/spec.json"
	oci setfcap
	if [[ $ERR == *runc* ]]; then
		skip "a container of runc" "runc does not work here: $ERR"
	else
		is "$ST,$OUT,$(grep -c cloche: "$T/err")" "2,doctor 0"$'\n'"ran"$'\n'"weaker doctor 0"$'\n'"ran weaker,0" "runc, nothing hidden: all is well"
		oci setfcap masked
		is "$ST,$OUT" "2,doctor 1"$'\n'"weaker doctor 2"$'\n'"ran weaker" "runc, /proc masked: refused, or weaker with consent"
		like "$ERR" "hides parts of /proc.*weaker than usual: /proc is that" "with its messages"
		is "$(grep -c 'ermission denied\|ead-only file system' <<<"$ERR")" 4 "and the container's first process is closed, /proc/sys too"
		oci masked
		like "$ST,$OUT" "^125,doctor 1"$'\n'"weaker doctor 1$" "runc, root without CAP_SETFCAP: refused, also with consent"
		like "$ERR" "taken CAP_SETFCAP from its root.*as an ordinary user of the container" "and the repair is told"
	fi
else
	skip "a container of runc" "no runc or no python3 (Debian: apt-get install runc)"
fi

# --- user namespaces off, or without rights ------------------------------------------------------------------------------

# in_userns SETUP COMMAND...: in a user and mount namespace of its own, then under an ordinary inner id.
in_userns() {
	local setup=$1
	shift
	# shellcheck disable=SC2016 # expanded by the inner shell
	on unshare -Urm sh -c "$setup"' || exit 99; exec "$@"' sh "$@"
}
in_userns true true
if [ "$ST" = 0 ]; then
	in_userns "echo 0 >/proc/sys/user/max_user_namespaces" "$CLOCHE" doctor
	doctor_says 1 "missing +user namespace .*repair: .*sysctl -w user.max_user_namespaces=" "max_user_namespaces=0: doctor"
	unlike "$OUT" "active +(sandbox|PID namespace|/proc)" "and claims nothing that was not tried"
	in_userns "echo 0 >/proc/sys/user/max_user_namespaces" "$CLOCHE" run -- true
	one_sentence 125 "user namespaces are switched off.*sysctl -w user.max_user_namespaces=" "max_user_namespaces=0: run"
	in_userns "echo 0 >/proc/sys/user/max_user_namespaces" "$CLOCHE" run --allow-weaker=proc --allow-weaker=root -- true
	one_sentence 125 "user namespaces are switched off" "and nothing that may be weaker changes that"
else
	skip "user namespaces off" "unshare does not work here"
fi

if [ -n "${TEST_WITHOUT_CALLS:-}" ]; then
	cp "$TEST_WITHOUT_CALLS" "$T/without"
	chmod 755 "$T/without"
	# host NAME "CALL=ERRNO..." STATUS DOCTOR-REGEX RUN-REGEX: what doctor says there, and that run does as it says.
	host() {
		# shellcheck disable=SC2086 # words
		on "$T/without" $2 -- "$CLOCHE" doctor
		doctor_says "$3" "$4" "$1: doctor"
		# shellcheck disable=SC2086
		on "$T/without" $2 -- "$CLOCHE" run --workspace none "${MARKED[@]}" -- echo ran
		if [ "$3" = 1 ]; then
			one_sentence 125 "$5" "$1: run"
		else
			is "$ST,$OUT,$ERR" "0,ran,$5" "$1: run"
		fi
	}
	docker="system-call filter of the container.*seccomp=unconfined.*Localhost profile"
	host "Docker's filter" "clone3=ENOSYS clone=EPERM unshare=EPERM mount=EPERM" 1 "active +kernel .*missing +user namespace .*repair: .*$docker" "$docker"
	host "a filter that forbids namespaces" "clone3=EPERM clone=EPERM" 1 "missing +user namespace .*repair: .*$docker" "$docker"
	powerless="security module of this host"
	host "namespaces without rights (mount)" mount=EPERM 1 "active +user namespace .*missing +rights in them .*$powerless" "make its mounts private.*$powerless"
	host "namespaces without rights (id map)" openat2=EACCES 1 "active +user namespace .*missing +rights in them .*$powerless" "write the id map.*$powerless"
	on "$T/without" close_range=ENOSYS -- "$CLOCHE" doctor
	one_sentence 125 "needs Linux 5.12 or later" "a kernel without close_range"
	for call in openat2:5.6 open_tree:5.2 move_mount:5.2 mount_setattr:5.12; do
		host "a kernel without ${call%:*}" "${call%:*}=ENOSYS" 1 "missing +kernel .*${call%:*}\(2\), of Linux ${call#*:}, does not exist.*repair: use Linux 5.12" \
			"lacks a system call.*Linux 5.12"
	done
	host "a kernel without Landlock" landlock_create_ruleset=ENOSYS 0 "missing +Landlock .*repair: .*active +sandbox " ""
	host "a kernel without detached procfs" fsopen=ENOSYS 0 "active +/proc of its own .*active +sandbox " ""
	host "a kernel without pidfd signals" pidfd_send_signal=ENOSYS 0 "weaker +pidfd .*active +sandbox " ""
	host "an initramfs as root" pivot_root=EINVAL 1 "missing +root of its own .*--allow-weaker=root" "enter its root.*initial root file system.*--allow-weaker=root"
	on "$T/without" pivot_root=EINVAL -- "$CLOCHE" doctor --allow-weaker root
	doctor_says 2 "weaker +root of its own .*active +sandbox " "an initramfs as root, when less is accepted: doctor"
	mkdir -p "$WS/deep"
	on "$T/without" pivot_root=EINVAL -- "$CLOCHE" run --allow-weaker root "${MARKED[@]}" -- sh -c "
		ls -d $T /root /run /.. /../root /../../run /proc/1/root/run /proc/self/root/run 2>/dev/null
		cd /; cd ..; pwd; cd deep 2>/dev/null; ls -d ../../../../run 2>/dev/null
		python3 -c 'import os; os.chroot(\"/workspace/deep\")' 2>/dev/null && echo chrooted
		umount -l / 2>/dev/null && echo unmounted; grep -c . /proc/mounts >/dev/null; grep \" / \" /proc/mounts | cut -d' ' -f1"
	is "$ST,$OUT" "0,/.."$'\n'"/"$'\n'"tmpfs" "and nothing of the host's root can be reached"
	like "$ERR" "^cloche: weaker than usual: the host's root is not detached" "with one line that says so"

	host "a filter that forbids host names" sethostname=EPERM 1 "missing +host name .*--allow-weaker=hostname" "set its host name.*--allow-weaker=hostname"
	on "$T/without" sethostname=EPERM -- "$CLOCHE" run --workspace none --allow-weaker=hostname,proc -- uname -n
	is "$ST,$OUT,$ERR" "0,$(uname -n),cloche: weaker than usual: the host name is that of the container around" "and with consent the name shows, which is told"

	# Ubuntu: the setting that takes the rights away is there, and names the repair.
	# shellcheck disable=SC2016 # expanded by the inner shell
	ubuntu='here=$PWD/deep kernel=/proc/sys/kernel && mount --bind $kernel $here && mount -t tmpfs none $kernel && : >$kernel/core_pattern &&
		mount --bind $here/core_pattern $kernel/core_pattern && echo 1 >$kernel/apparmor_restrict_unprivileged_userns'
	in_userns "$ubuntu" unshare -U --map-user=1000 --map-group=1000 -- "$T/without" mount=EACCES -- "$CLOCHE" doctor
	doctor_says 1 "missing +rights in them .*AppArmor lets user namespaces be made.*apparmor_parser -r" "namespaces restricted by AppArmor: doctor"
	in_userns "$ubuntu" unshare -U --map-user=1000 --map-group=1000 -- "$T/without" mount=EACCES -- "$CLOCHE" run -- true
	one_sentence 125 "AppArmor lets user namespaces be made.*apparmor_parser -r" "namespaces restricted by AppArmor: run"
else
	skip "old kernels and filters" "TEST_WITHOUT_CALLS is not set"
fi

# --- the AppArmor profile --------------------------------------------------------------------------------------------------

if have apparmor_parser; then
	sed 's,@CLOCHE@,/usr/local/bin/cloche,' "$profile" >"$T/apparmor"
	what="the AppArmor profile is one"
	case $(apparmor_parser --version) in
	*" version "[0-3].*) # before 4.0 neither the rule nor its ABI was known
		sed -i '/^ *userns,$/d; /^abi /d' "$T/apparmor"
		what="$what, but for its rule userns, which this parser does not know yet"
		;;
	esac
	apparmor_parser -Q -K "$T/apparmor" >"$T/out" 2>&1
	ok $? "$what" "$(cat "$T/out")"
	sed 's/^profile/profil/' "$T/apparmor" >"$T/wrong"
	! apparmor_parser -Q -K "$T/wrong" >/dev/null 2>&1
	ok $? "(a wrong one is noticed)"
else
	skip "the AppArmor profile" "no apparmor_parser (Debian: apt-get install apparmor)"
fi

gone "nothing is left"
finish
