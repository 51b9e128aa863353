# Shared by the scripts that run the steps inside the virtual machine. Sourced; root.
# shellcheck shell=sh
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
vm=/run/vm
test_user='cloche-test'
# shellcheck disable=SC2034 # for those who source it
cgroups=/sys/fs/cgroup
uid=$(sed -n "s/^$test_user:[^:]*:\([0-9]*\):.*/\1/p" /etc/passwd)

# become WHO COMMAND...: with a clean environment, as a login would; WHO is root or user.
become() {
	who=$1
	shift
	if [ "$who" = root ]; then
		exec env -i PATH="$PATH" HOME=/root USER=root LOGNAME=root SHELL=/bin/sh LANG=C.UTF-8 "$@"
	fi
	runtime=
	[ -d "/run/user/$uid" ] && runtime="XDG_RUNTIME_DIR=/run/user/$uid DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$uid/bus"
	# shellcheck disable=SC2086 # $runtime is no or two words
	exec setpriv --reuid "$uid" --regid "$uid" --init-groups --inh-caps=-all env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin \
		HOME="/home/$test_user" USER="$test_user" LOGNAME="$test_user" SHELL=/bin/sh LANG=C.UTF-8 $runtime "$@"
}

# run_steps LIST: runs the steps that are listed; place_PHASE COMMAND... is the function that goes to the right place first.
# A process that a step leaves behind may hold its output open; it gets a moment, then the copying ends.
run_steps() {
	while read -r number step_phase seconds; do
		read -r begin _ </proc/uptime
		rm -f "$vm/pipe"
		mkfifo "$vm/pipe"
		cat <"$vm/pipe" >"/dev/vport${port_bus}p$((number + 1))" &
		copier=$!
		("place_$(echo "$step_phase" | tr - _)" timeout -k 5 "$seconds" /bin/sh "$vm/steps/$number") </dev/null >"$vm/pipe" 2>&1
		status=$?
		read -r end _ </proc/uptime
		echo "$number $status $((${end%.*} - ${begin%.*}))" >&3
		(
			sleep 5
			kill "$copier"
		) 2>/dev/null &
		wait "$copier"
		kill $! 2>/dev/null
	done <"$1"
}

# The number of the device varies; there is one.
for port in /dev/vport*p1; do
	port_bus=${port#/dev/vport}
	port_bus=${port_bus%p1}
done
