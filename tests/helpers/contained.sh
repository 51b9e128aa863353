#!/bin/sh
# Runs a command in a world like that of an unprivileged container: user, mount and PID namespaces, /proc with parts of it
# masked or read-only as container runtimes do it, and then an ordinary user id.
#
#     contained.sh [--root] [--open] COMMAND [ARGUMENT...]
#
# --root stays the container's root; --open masks nothing. Needs util-linux, neither a container runtime nor a network. The
# machine's root becomes an ordinary user (12345) first: a container's root who is the machine's is another case.
set -u

user='unshare --user --map-user=1000 --map-group=1000 --'
masks=yes
while :; do
	case ${1:-} in
	--root) user= ;;
	--open) masks= ;;
	*) break ;;
	esac
	shift
done

as=
[ "$(id -u)" != 0 ] || as='setpriv --reuid 12345 --regid 12345 --clear-groups'
export user masks
# shellcheck disable=SC2086,SC2016 # words; expanded by the inner shell
exec $as unshare --user --map-root-user --mount --pid --fork --kill-child -- sh -c '
	mount --make-rprivate / && mount -t proc proc /proc || exit 99
	if [ -n "$masks" ]; then
		for folder in acpi scsi; do
			[ ! -d /proc/$folder ] || mount -t tmpfs -o ro,size=0,mode=555 none /proc/$folder || exit 99
		done
		for file in kcore timer_list; do # not keys: that one cloche hides itself
			[ ! -e /proc/$file ] || mount --bind /dev/null /proc/$file || exit 99
		done
		for part in sys bus fs irq sysrq-trigger; do
			[ ! -e /proc/$part ] || { mount --bind /proc/$part /proc/$part && mount -o remount,bind,ro /proc/$part; } || exit 99
		done
	fi
	run=$user
	unset user masks
	exec $run "$@"' sh "$@"
