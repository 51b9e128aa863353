#!/bin/sh
# The documents say what the program and the tree say: options, refusals, exit statuses, packages, links, file names, modules.
#
# Needs CLOCHE, the path of cloche. Reads the tree that this file is in. Prints TAP.
set -u

cloche=${CLOCHE:?is the path of cloche}
tree=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$tree" || exit 1
count=0

# verdict NAME FILE: passes when FILE, a list of what is wrong, is empty.
verdict() {
	count=$((count + 1))
	if [ -s "$2" ]; then
		echo "not ok $count - $1"
		sed 's/^/# /' "$2"
	else
		echo "ok $count - $1"
	fi
}

# at_least N FILE WHAT: a complaint when FILE has fewer lines, so that no check passes because it found nothing to check.
at_least() {
	found=$(wc -l <"$2")
	[ "$found" -ge "$1" ] || echo "only $found $3 were found: does this test still read the right place?"
}

# section HEADING: the lines of README.md from a heading to the next one of its kind.
section() { awk -v heading="## $1" '/^## / { on = ($0 == heading) } on' README.md; }

# --- the flags: "name command argument" on both sides ------------------------------------------------------------------

for command in $("$cloche" --help | sed -n "/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p" | grep -vx completion); do
	"$cloche" "$command" --help | sed -n "s/^  \(-., \|    \)--\([a-z-]*\) \{0,1\}\([^ ]*\).*/\2 $command \3/p"
done | sort >"$scratch/flags.program"
section Flags | sed 's/\\|/PIPE/g' | awk -F ' [|] ' '/^[|] `/ {
	if (!match($1, /--[a-z-]+( [^`]*)?/)) next
	flag = substr($1, RSTART + 2, RLENGTH - 2)
	split(flag, words, " ")
	n = split($2, commands, " ")
	for (i = 1; i <= n; i++) print words[1], commands[i], words[2] }' | sed 's/PIPE/|/g' | sort >"$scratch/flags.readme"
{
	at_least 40 "$scratch/flags.program" "options in --help"
	say='s/^\([^ ]*\) \([^ ]*\) \(.*\)/--\1 \3 of cloche \2/'
	comm -23 "$scratch/flags.program" "$scratch/flags.readme" | sed "$say; s/^/README.md lacks /"
	comm -13 "$scratch/flags.program" "$scratch/flags.readme" | sed "$say; s/^/only README.md knows /"
} >"$scratch/wrong"
verdict "the flag table of README.md is that of --help" "$scratch/wrong"

section Flags | awk '/^Refused by name/ { on = 1 } /^$/ { on = 0 } on' | grep -o '`--[a-z-]*`' | tr -d '`' >"$scratch/refused"
{
	at_least 20 "$scratch/refused" "refused options"
	while read -r option; do
		message=$("$cloche" run "$option" x -- /bin/true 2>&1 </dev/null)
		case $? in 125) ;; *) echo "cloche run $option x ends with $?, not 125" ;; esac
		case $message in *"option '$option'"*) ;; *) echo "cloche run $option x says: $message" ;; esac
	done <"$scratch/refused"
} >"$scratch/wrong"
verdict "what README.md calls refused by name is refused by name" "$scratch/wrong"

# --- names that must exist on both sides -------------------------------------------------------------------------------

sed -n 's/^\t{ "\([A-Z_]*\)", "--.*/\1/p' runtime/cli/cmd_mcp.c >"$scratch/variables"
echo LOG_LEVEL >>"$scratch/variables"
{
	at_least 5 "$scratch/variables" "variables"
	while read -r name; do
		for page in README.md docs/protocols.md docs/man/cloche.1.in; do
			grep -qF "$name" "$page" || echo "$page does not name $name"
		done
	done <"$scratch/variables"
} >"$scratch/wrong"
verdict "every environment variable is described" "$scratch/wrong"

# "option default" on both sides; the default is what stands in parentheses at the end of the help.
"$(dirname "$cloche")/cloche-mcp" --help | tr '\n' ' ' | sed 's/  --/\n--/g' |
	sed -n 's/^--\([a-z-]*\) .* (\(.*\)) *$/\1 \2/p' | sort >"$scratch/settings"
sed -n 's/^| `--\([a-z-]*\) [^|]*` | \([^ ]*\) |.*/\1 \2/p' docs/protocols.md | sort >"$scratch/described"
{
	at_least 6 "$scratch/settings" "options of the server"
	diff "$scratch/settings" "$scratch/described" | sed -n 's/^</the program says:/p; s/^>/docs\/protocols.md says:/p'
	level=$(sed -n 's/^log-level //p' "$scratch/settings")
	grep -qF "| \`LOG_LEVEL\` | $level |" README.md || echo "README.md does not say that the level is $level"
	grep -qF "$level (the default)" docs/man/cloche.1.in || echo "docs/man/cloche.1.in does not say that the level is $level"
} >"$scratch/wrong"
verdict "the server's options and their defaults are those of docs/protocols.md" "$scratch/wrong"

sed -n 's/^\t\.name = "\([a-z_]*\)",$/\1/p' mcp/tool_*.c >"$scratch/tools"
{
	at_least 6 "$scratch/tools" "tools"
	while read -r name; do
		for page in README.md docs/protocols.md docs/man/cloche.1.in; do
			grep -qF "$name" "$page" || echo "$page does not name the tool $name"
		done
	done <"$scratch/tools"
} >"$scratch/wrong"
verdict "every tool is described" "$scratch/wrong"

sed -n 's/^\t\t\.name = "\([a-z-]*\)",$/\1/p' mcp/prompts.c >"$scratch/prompts"
{
	at_least 4 "$scratch/prompts" "prompts"
	while read -r name; do
		for page in README.md docs/protocols.md; do
			grep -qF "\`$name\`" "$page" || echo "$page does not name the prompt $name"
		done
		sed 's/\\-/-/g' docs/man/cloche.1.in | grep -q "Li $name\>" || echo "docs/man/cloche.1.in does not name the prompt $name"
	done <"$scratch/prompts"
} >"$scratch/wrong"
verdict "every prompt is described" "$scratch/wrong"

./tools/deps --list build test | awk '{ print $1 }' >"$scratch/packages"
{
	at_least 10 "$scratch/packages" "packages"
	while read -r name; do
		grep -qF "\`$name\`" docs/building.md || echo "docs/building.md does not name the package $name"
	done <"$scratch/packages"
} >"$scratch/wrong"
verdict "every package that tools/deps installs is in docs/building.md, with its reason" "$scratch/wrong"

find runtime mcp -name '*.[ch]' | sed 's,.*/,,; s/\.[ch]$//' | sort -u >"$scratch/modules"
{
	at_least 50 "$scratch/modules" "modules"
	while read -r name; do
		grep -qF "\`$name\`" docs/architecture.md || echo "docs/architecture.md does not name the module $name"
	done <"$scratch/modules"
	sed -n 's/^\t{ \(step_[a-z_]*\), .*/\1/p' runtime/life/child.c >"$scratch/steps"
	at_least 10 "$scratch/steps" "steps of a start"
	sed -n 's/^| `\(step_[a-z_]*\)` .*/\1/p' docs/architecture.md | diff "$scratch/steps" - >"$scratch/diff" ||
		echo "the steps of docs/architecture.md are not those of runtime/life/child.c: $(grep '^[<>]' "$scratch/diff" | tr '\n' ' ')"
} >"$scratch/wrong"
verdict "docs/architecture.md names every module, and the steps of a start in their order" "$scratch/wrong"

# --- links and file names ----------------------------------------------------------------------------------------------

find README.md docs -name '*.md' | sort >"$scratch/pages"

# The anchor that a heading gets: lower case, blanks become "-", other signs but "-" and "_" go.
anchors() { sed -n 's/^#\{1,6\} //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'; }

while read -r page; do
	# Code is no link.
	sed -e '/^```/,/^```/d' -e 's/`[^`]*`//g' "$page" | grep -o '](\([^)]*\))' | sed 's/^](//; s/)$//' | while read -r link; do
		echo "$page $link"
	done
done <"$scratch/pages" >"$scratch/links"
{
	at_least 15 "$scratch/links" "links"
	while read -r page link; do
		case $link in http:* | https:* | mailto:*) continue ;; esac
		file=${link%%#*}
		if [ -z "$file" ]; then target=$page; else target=$(dirname "$page")/$file; fi
		if [ ! -e "$target" ]; then
			echo "$page: the link $link leads nowhere"
			continue
		fi
		case $link in
		*'#'*) anchors "$target" | grep -qxF -- "${link#*#}" || echo "$page: $file has no heading for the link $link" ;;
		esac
	done <"$scratch/links"
} >"$scratch/wrong"
verdict "no link leads nowhere" "$scratch/wrong"

# Words in backticks that look like a path of the tree, but for names of MCP. `runtime/kern/caps` stands for a module's
# two files.
while read -r page; do
	grep -o '`[^`]*`' "$page" | tr -d '`' | grep -oE '(^|[ ./])(runtime|mcp|profiles|rootfs|tests|tools|docs)/[A-Za-z0-9_./*-]*' |
		sed 's,^[ ./]*,,; s,[.]*$,,' | grep -vxE 'tools/(list|call|list_changed)' | sort -u | sed "s,^,$page ,"
done <"$scratch/pages" >"$scratch/names"
{
	at_least 40 "$scratch/names" "file names"
	while read -r page name; do
		found=
		for candidate in $name $name.c $name.h; do # with patterns, which the shell expands here
			[ -e "$candidate" ] && found=yes
		done
		[ -n "$found" ] || echo "$page names $name, which does not exist"
	done <"$scratch/names"
} >"$scratch/wrong"
verdict "every file that a page names exists" "$scratch/wrong"

# --- the lines for clients ---------------------------------------------------------------------------------------------

python3 - "$cloche" "$scratch" >"$scratch/wrong" 2>&1 <<'END'
import json, re, subprocess, sys, tomllib

cloche, scratch = sys.argv[1:]
text = "".join(open(name, encoding="utf-8").read() for name in ("README.md", "docs/clients.md"))
blocks = re.findall(r"```(json|toml)\n(.*?)```", text, re.S)
servers = []
for kind, text in blocks:
    try:
        config = json.loads(text) if kind == "json" else tomllib.loads(text)
        [servers_of_one] = config.values()
        servers += servers_of_one.values()
    except ValueError as error:
        print("a block of %s: %s" % (kind, error))
ours = [server for server in servers if server["command"] != "docker"]
if len(ours) < 11:
    print("only %d configurations were found: does this test still read the right place?" % len(ours))
for server in ours:
    # The folders are examples; everything else is tried as it stands.
    args = [re.sub(r"^(\.|\$\{workspaceFolder\}|/home/me/src/project)(?=$|:)", scratch, arg) for arg in server["args"]]
    env = server.get("env", {})
    done = subprocess.run([cloche] + args, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if done.returncode or done.stdout or done.stderr:
        print("%s ends with %d: %s" % (server["args"], done.returncode, done.stderr))
END
verdict "the configurations for clients start a server" "$scratch/wrong"

# --- messages ----------------------------------------------------------------------------------------------------------

python3 - >"$scratch/wrong" 2>&1 <<'END'
import glob, re

# The sources with strings in one piece, whatever their line breaks.
code = "".join(open(name, encoding="utf-8").read() for name in glob.glob("runtime/*/*.c"))
code = re.sub(r'"\s*"', "", code).lower()

page = open("docs/troubleshooting.md", encoding="utf-8").read().split("## Messages")[1].split("\n## ")[0]
messages = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| `")]
messages = [message.strip("`") for message in messages if not message.endswith(" inside")]
page = open("docs/man/cloche.1.in", encoding="utf-8").read().split(".Sh DIAGNOSTICS")[1].split(".Sh ")[0]
messages += [line[4:] for line in page.splitlines() if line.startswith(".It ")]
if len(messages) < 15:
    print("only %d messages were found: does this test still read the right place?" % len(messages))
for message in messages:
    for part in re.split(r"'?(?:\u2026|\.\.\.)'?|'[^']*'$", message):
        # "the sandbox cannot %s" gets its end from the table of steps or from the mount plan.
        part = re.sub("^the sandbox cannot ", "", part.strip().lower())
        if part not in code:
            print("no program says '%s' (as in: %s)" % (part, message))
END
verdict "the messages that the documents explain are messages of the program" "$scratch/wrong"

# --- the man page ------------------------------------------------------------------------------------------------------

page=$scratch/cloche.1
tools/build/gen-man "$cloche" docs/man/cloche.1.in >"$page" 2>"$scratch/wrong" || echo "gen-man failed" >>"$scratch/wrong"
{
	grep -n '@[A-Z_]*@' "$page"
	awk '{ print $1 }' "$scratch/flags.program" | sort -u | while read -r name; do
		grep -qF -- "\\-$(printf '%s' "$name" | sed 's/-/\\-/g')" "$page" || echo "the page lacks --$name"
	done
	grep -qF "$("$cloche" --version)" "$page" || echo "the page lacks the version"
} >>"$scratch/wrong"
verdict "the man page has every option and the version" "$scratch/wrong"

# Statuses: those of err_exit_status(), what a shell adds for signals, and doctor's.
awk '/^\.Sh EXIT STATUS/ { on = 1; next } /^\.Sh / { on = 0 } on' "$page" >"$scratch/statuses"
{
	sed -n '/^int err_exit_status/,/^}/s/.*\[ERR_[A-Z_]*\] = \([0-9]*\),/\1/p' runtime/base/err.c | sort -u >"$scratch/codes"
	at_least 4 "$scratch/codes" "exit statuses"
	for status in $(cat "$scratch/codes") 1 128+n; do
		grep -qE "^\.It $(echo "$status" | sed 's/+/\\+/')( |\$)" "$scratch/statuses" || echo "the man page lacks the exit status $status"
		grep -qF "| $status |" docs/troubleshooting.md || echo "docs/troubleshooting.md lacks the exit status $status"
	done
} >"$scratch/wrong"
verdict "every exit status is described" "$scratch/wrong"

if command -v mandoc >/dev/null; then
	mandoc -Tlint -Wwarning "$page" >"$scratch/wrong" 2>&1
	verdict "mandoc has nothing to say about the man page" "$scratch/wrong"
else
	count=$((count + 1))
	echo "ok $count - the man page # SKIP mandoc is not installed (Debian: apt-get install mandoc)"
fi

# --- completion --------------------------------------------------------------------------------------------------------

# completed WORD...: what bash offers for the last word.
completed() {
	# shellcheck disable=SC2016 # expanded by that bash
	PATH=$(dirname "$cloche"):$PATH bash -c 'source <("$0" completion); COMP_WORDS=(cloche "$@"); COMP_CWORD=$#; _cloche; echo "${COMPREPLY[*]}"' "$cloche" "$@"
}
{
	[ "$(completed doc)" = doctor ] || echo "cloche doc<TAB> gives '$(completed doc)'"
	[ "$(completed mcp --struct)" = --structured-output ] || echo "cloche mcp --struct<TAB> gives '$(completed mcp --struct)'"
	[ "$(completed profile s)" = show ] || echo "cloche profile s<TAB> gives '$(completed profile s)'"
	for before in "mcp --profile" "profile show" "explain --memory 1g --profile"; do
		# shellcheck disable=SC2086 # words
		[ "$(completed $before str)" = strict ] || echo "cloche $before str<TAB> gives '$(completed $before str)'"
	done
	[ "$(completed explain --allow-h)" = --allow-home ] || echo "cloche explain --allow-h<TAB> gives '$(completed explain --allow-h)'"
	[ "$(completed mcp --client code)" = codex ] || echo "cloche mcp --client code<TAB> gives '$(completed mcp --client code)'"
	[ -z "$(completed mcp ./x)" ] || echo "cloche mcp ./x<TAB> gives '$(completed mcp ./x)' instead of leaving it to file names"
} >"$scratch/wrong" 2>&1
verdict "completion in bash knows commands and options" "$scratch/wrong"

echo "1..$count"
