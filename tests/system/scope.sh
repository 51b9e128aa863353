#!/bin/bash
# cloche-scope against a stand-in for systemd's manager: what it asks for, whom it believes, and how it ends.
: "${CLOCHE:?is the path of cloche}"
here=$(dirname "$(readlink -f "$0")")
program=$(dirname "$(readlink -f "$CLOCHE")")/cloche-scope

if ! [ -x "$program" ]; then
	echo "ok 1 - cloche-scope # SKIP it is not built: configure found no libsystemd, or was told not to use it"
	echo "1..1"
	exit 0
fi
exec python3 "$here/../scope/suite.py" "$program"
