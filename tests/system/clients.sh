#!/bin/bash
# `cloche mcp --client`: what each client is told starts a server; --write puts it beside what a file has and nothing else; what cannot
# be understood, or lies behind a link, is left alone.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

unset XDG_CONFIG_HOME CODEX_HOME CLOCHE_PROFILE MAX_ANSWER_CHARS
HOME=$T/home
export HOME
mkdir "$HOME" "$T/f"
umask 022

# --- the list ----------------------------------------------------------------------------------------------------------

cloche mcp --client list
names=$(cut -d' ' -f1 <<<"$OUT")
is "$(tr '\n' ' ' <<<"$names")" 'claude-code claude-desktop cline codex cursor gemini openai-agents roo vscode windsurf zed ' \
	"--client list names the clients"
refused "the client 'claude' is not known: known are claude-code, claude-desktop, .* and zed\." "a client that is not known" mcp --client claude "$WS"
refused '--write and --client-file need --client NAME' "--write without a client" mcp --write "$WS"
refused '--write and --client-file need --client NAME' "--client-file without a client" mcp --client-file "$T/x" "$WS"
refused "option '--client' needs an argument" "--client without a name" mcp --client
refused "unknown option '--client'" "explain has no clients" explain --client codex "$WS"

# --- each client -------------------------------------------------------------------------------------------------------

# start.py FILE FORM PROJECT: the server of this configuration answers an initialize, with as little as the strictest client gives.
cat >"$T/start.py" <<'END'
import json, os, re, subprocess, sys, tomllib

text, form, project = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2], sys.argv[3]
if form == "python":
    compile(text, "x", "exec")
    server = eval(re.search(r"params=(\{.*?\n    \})", text, re.S).group(1))
else:
    config = tomllib.loads(text) if form == "toml" else json.loads(text)
    [servers] = config.values()
    [(name, server)] = servers.items()
    assert name == "cloche", name
for key in server:
    assert key in ("type", "command", "args", "env", "timeout", "startup_timeout_sec", "tool_timeout_sec"), key
assert os.path.isabs(server["command"]), server
args = [arg.replace("${workspaceFolder}", project) for arg in server["args"]]
assert args[-1] == project, args
request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}
env = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"], **server.get("env", {})}
done = subprocess.run([server["command"]] + args, input=json.dumps(request) + "\n", env=env, cwd="/", capture_output=True, text=True)
assert done.returncode == 0 and not done.stderr, done
assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "cloche", done.stdout
print("started")
END
form_of() {
	case $1 in
	codex) echo toml ;;
	openai-agents) echo python ;;
	*) echo json ;;
	esac
}
options=("${MARKED[@]}" --tmpfs /data)
for name in $names; do
	cloche mcp --client "$name" "${options[@]}" "$WS"
	cp "$T/out" "$T/config"
	is "$ST,$(python3 "$T/start.py" "$T/config" "$(form_of "$name")" "$WS" 2>&1)" "0,started" "$name: what is printed starts a server"
	[ "$name" = openai-agents ] && continue
	like "$ERR" "^cloche: for '($HOME|$WS)/[^']*'; --write puts it there" "$name: where it belongs is said"
	file=${ERR#*\'}
	file=${file%%\'*}
	[ ! -e "$file" ]
	ok $? "$name: printing writes nothing"
	cloche mcp --client "$name" --write "${options[@]}" "$WS"
	like "$ST,$OUT" "^0,Wrote the server 'cloche' into '$file'" "$name: --write says where"
	cmp -s "$file" "$T/config"
	ok $? "$name: and has written what it printed" "$(diff "$file" "$T/config" 2>&1)"
	cloche mcp --client "$name" --write "${options[@]}" "$WS"
	like "$ST,$OUT" "^0,'$file' has it already: nothing was changed.\$" "$name: once more changes nothing"
done
is "$(find "$HOME" "$WS" -name '*.bak' -o -type f -name '.*.*????????????????')" "" "no copies and no temporary files"
refused "is not possible for OpenAI Agents SDK" "a program has no file" mcp --client openai-agents --write "$WS"
is "$(stat -c %a "$HOME/.codex/config.toml" "$HOME/.codex" "$WS/.mcp.json" "$WS/.cursor" | tr '\n' ' ')" "600 700 644 755 " \
	"modes of new files and folders"

# --- what goes into it -------------------------------------------------------------------------------------------------

COMMAND_TIMEOUT=7200 MAX_SEARCH_RESULTS=7 cloche mcp --client codex "$WS"
like "$OUT" 'tool_timeout_sec = 7260' "the client waits longer than the longest command"
like "$OUT" 'env = \{ COMMAND_TIMEOUT = "7200", MAX_SEARCH_RESULTS = "7" \}' "variables that are set are passed on"
COMMAND_TIMEOUT=7200 cloche mcp --client roo "$WS"
like "$OUT" '"timeout": 3600,' "a client waits no longer than it can"
cloche mcp --client claude-desktop "$WS"
like "$OUT" '"COMMAND_TIMEOUT": "45"' "one that gives up after a minute has commands that end before"
COMMAND_TIMEOUT=30 cloche mcp --client claude-desktop "$WS"
like "$OUT" '"COMMAND_TIMEOUT": "30"' "unless told otherwise"
OUT=$(cd "$WS" && "$CLOCHE" mcp --client zed 2>/dev/null)
like "$OUT" "\"args\": \[\"mcp\", \"$WS\"\]" "without a folder it is the current one, in full"
cloche mcp --client zed -v "$WS:/workspace" -i --rm --read-only=true
like "$OUT" "\"args\": \[\"mcp\", \"--volume\", \"$WS:/workspace\", \"--interactive\", \"--rm\", \"--read-only=true\"\]" \
	"a line of Docker's, with its volume at /workspace"
cloche mcp --client cursor --client-file "$T/elsewhere.json" "$WS"
like "$OUT" "\"mcp\", \"$WS\"\]" "a file that is not the project's names the folder"
cloche mcp --client zed -e 'A="b\c"' "$WS"
like "$OUT" '"A=\\"b\\\\c\\""' "quotes and backslashes are escaped"
refused "names a file relative to this folder" "a relative volume" mcp --client zed -v ./x:/x "$WS"
refused "names a file relative to this folder" "a relative mount" mcp --client zed --mount type=bind,src=./x,dst=/x "$WS"
refused "names a file relative to this folder" "a relative filter" mcp --client zed --security-opt seccomp=./f.json "$WS"
refused "names a file relative to this folder" "a relative profile" mcp --client zed --profile ./p.json "$WS"
echo '{}' >"$T/p.json"
cd "$T" || exit 1
CLOCHE_PROFILE=./p.json refused "the variable CLOCHE_PROFILE './p.json' names a file relative" "a relative profile in the variable" \
	mcp --client zed "$WS"
cloche mcp --client zed --profile interpreter
like "$ST,$OUT" '^0,.*"args": \["mcp", "--profile", "interpreter"\]' "a workspace in memory is not named"
# shellcheck disable=SC2016 # that sign
refused "has a '.' in it, which Cursor would take for a variable" "a sign that the client expands" mcp --client cursor -e 'A=$B' "$WS"
refused "holds a control character" "a line break" mcp --client cursor -e $'A=1\n2' "$WS"
refused "is not UTF-8" "bytes that are no text" mcp --client cursor -e $'A=\xff' "$WS"
COMMAND_TIMEOUT=x refused "the variable COMMAND_TIMEOUT='x'" "a variable that makes no sense" mcp --client zed "$WS"
refused "refusing the system folder '/etc'" "a workspace that would be refused" mcp --client zed /etc
refused "unknown option .--nonsense" "an option that does not exist" mcp --client zed --nonsense "$WS"

# The places that variables name.
XDG_CONFIG_HOME=$T/xdg cloche mcp --client zed "$WS"
like "$ERR" "for '$T/xdg/zed/settings.json'" "XDG_CONFIG_HOME"
CODEX_HOME=$T/cdx cloche mcp --client codex "$WS"
like "$ERR" "for '$T/cdx/config.toml'" "CODEX_HOME"
CODEX_HOME=$T/cdx refused "the folder '$T/cdx', for 'config.toml', cannot be opened" "a folder that is missing" mcp --client codex --write "$WS"

# --- files that have something -----------------------------------------------------------------------------------------

# write_into CLIENT FILE: --write into that file.
write_into() { cloche mcp --client "$1" --client-file "$2" --write "$WS"; }

printf '%s\r\n' '// Mine, with a comment: "servers": {}' '{' $'\t"editor.tabSize": 8, /* as it should be */' $'\t"servers": {' \
	$'\t\t"other": {' $'\t\t\t"command": "/bin/other", // "cloche": 1' $'\t\t\t"args": []' $'\t\t},' $'\t},' $'\t"z": [1,2,' $'\t\t3],' '}' \
	>"$T/a.json"
chmod 640 "$T/a.json"
cp -p "$T/a.json" "$T/was.json"
inode=$(stat -c %i "$T/a.json")
write_into vscode "$T/a.json"
like "$ST,$OUT" "^0,Wrote the server 'cloche' into '$T/a.json'" "into a file with comments"
cmp -s "$T/a.json.cloche-1.bak" "$T/was.json"
ok $? "the copy beside it has what was in it"
is "$(stat -c %i "$T/a.json.cloche-1.bak")" "$inode" "and is the old file itself, whole at any moment"
is "$(stat -c '%a %U' "$T/a.json" "$T/a.json.cloche-1.bak" | sort -u)" "640 $(id -un)" "mode and owner are kept"
diff "$T/was.json" "$T/a.json" >"$T/diff"
is "$(grep -c '^<' "$T/diff"),$(grep -c '^>' "$T/diff"),$(grep '^>' "$T/diff" | grep -cv $'\r$')" "0,5,0" \
	"lines were only added, and end as the others do"
undo=$(sed -n 's/^To undo that: //p' <<<"$OUT")
bash -c "$undo" && cmp -s "$T/a.json" "$T/was.json"
ok $? "the line that undoes it does"

cat >"$T/a.toml" <<'END'
# my model
model = "x"

[mcp_servers.other] # [mcp_servers.cloche]
command = 'other'
args = [
  "a", # b
]

[profiles.deep]
text = """
[mcp_servers.cloche]
command = "no"
"""
END
write_into codex "$T/a.toml"
python3 - "$T/a.toml" "$WS" <<'END'
import sys, tomllib
with open(sys.argv[1], "rb") as file:
    config = tomllib.load(file)
assert config["mcp_servers"]["cloche"]["args"] == ["mcp", sys.argv[2]], config
assert config["mcp_servers"]["other"]["args"] == ["a"] and config["profiles"]["deep"]["text"].startswith("[mcp_servers"), config
END
ok $? "into TOML that has the table's name in a string"
is "$(diff "$T/a.toml.cloche-1.bak" "$T/a.toml" | grep -c '^<')" 0 "lines were only added there too"
sed -i 's/^tool_timeout_sec.*/tool_timeout_sec = 5 # too short/; s/^startup_timeout_sec.*/&\nenabled_tools = ["read_file"]/' "$T/a.toml"
write_into codex "$T/a.toml"
like "$(cat "$T/a.toml")" $'enabled_tools = \["read_file"\]\ntool_timeout_sec = 3660 # too short' "what the user added to the server stays"

printf '{"mcpServers":{"cloche":{"command":"old","disabled":true}}}' >"$T/c.json"
write_into zed "$T/c.json"
write_into cline "$T/c.json"
python3 -c '
import json, sys
config = json.load(open(sys.argv[1]))
assert config["mcpServers"]["cloche"]["disabled"] is True and config["mcpServers"]["cloche"]["timeout"] == 3600
assert config["context_servers"]["cloche"]["timeout"] == 3660' "$T/c.json"
ok $? "two clients in one file"
is "$(find "$T" -maxdepth 1 -name 'c.json.cloche-[12].bak' | wc -l)" 2 "each time with a copy of its own"

# --- files that are left alone -----------------------------------------------------------------------------------------

state_of() {
	stat -c '%i %Y %s' "$1" 2>&1
	cat "$1" 2>&1
}

# left_alone REGEX NAME CLIENT FILE: refused, and the file is what it was, with nothing beside it.
left_alone() {
	local before
	before=$(state_of "$4")
	refused "$1" "$2" mcp --client "$3" --client-file "$4" --write "$WS"
	[ "$before" = "$(state_of "$4")" ] && ! compgen -G "$4.*" >/dev/null && ! compgen -G "${4%/*}/.${4##*/}.*" >/dev/null
	ok $? "$2: left alone"
}
printf '{\n  "mcpServers": {\n    "x": {}\n}\n' >"$T/f/open.json"
left_alone "the settings file '$T/f/open.json': line [0-9]*: " "JSON that is not closed" cline "$T/f/open.json"
printf '{\n  "mcpServers": []\n}\n' >"$T/f/list.json"
left_alone "line 2: 'mcpServers' is not an object" "another kind of value" cline "$T/f/list.json"
printf '{"mcpServers":{},\n"mcpServers":{}}\n' >"$T/f/twice.json"
left_alone "line 2: 'mcpServers' is there twice" "a name twice" cline "$T/f/twice.json"
printf 'a = 1\nb = \n' >"$T/f/bad.toml"
left_alone "line 2: a value is missing" "TOML that is none" codex "$T/f/bad.toml"
printf 'mcp_servers.cloche.x = 1\n' >"$T/f/dotted.toml"
left_alone "line 1: this is not the form of a table" "a table made of dotted keys" codex "$T/f/dotted.toml"
head -c 800000 /dev/zero | tr '\0' ' ' >"$T/f/large.json"
left_alone "larger than 786432 bytes" "a large file" cline "$T/f/large.json"
mkfifo "$T/f/fifo.json"
refused "is not a regular file" "a FIFO" mcp --client cline --client-file "$T/f/fifo.json" --write "$WS"
mkdir "$T/f/folder.json"
refused "is a folder, not a file. A running sandbox keeps such names" "a folder" mcp --client cline --client-file "$T/f/folder.json" --write "$WS"
echo '{}' >"$T/f/"$'line\nbreak.json'
left_alone "has characters in its path that no terminal shows" "a name with a line break" cline "$T/f/"$'line\nbreak.json'
HOME=$T/$'\e[31m' cloche mcp --client codex "$WS"
like "$ST,$ERR" '^0,.*/\?\[31m/.codex/config.toml' "a path that a terminal would obey is not printed as it is"
refused "names a folder" "a folder's name" mcp --client cline --client-file "$T/f/" --write "$WS"
refused "its folder cannot be opened: No such file" "a file in a folder that is missing" mcp --client cline --client-file "$T/no/x.json" --write "$WS"
echo '{}' >"$T/f/real.json"
ln -s real.json "$T/f/link.json"
left_alone "'$T/f/link.json' is, or is reached through, a symbolic link.*It leads to '$T/f/real.json'" "a link" cline "$T/f/link.json"
ln -s f "$T/g"
refused "'$T/g' is, or is reached through, a symbolic link" "a folder that is a link" \
	mcp --client cline --client-file "$T/g/real.json" --write "$WS"
is "$(cat "$T/f/real.json")" '{}' "what the links lead to is what it was"

# What an agent may have left in a workspace.
rm -rf "${WS:?}/.cursor" "$WS/.mcp.json"
ln -s "$HOME" "$WS/.cursor"
ln -s "$HOME/.bashrc" "$WS/.mcp.json"
refused "'$WS/.cursor' is, or is reached through, a symbolic link" "a planted folder" mcp --client cursor --write "$WS"
refused "'$WS/.mcp.json' is, or is reached through, a symbolic link" "a planted file" mcp --client claude-code --write "$WS"
[ ! -e "$HOME/mcp.json" ] && [ ! -e "$HOME/.bashrc" ]
ok $? "neither wrote where it led"

if [ "$ME" = 0 ]; then
	# What root makes in somebody's folders is that somebody's.
	mkdir "$T/theirs" "$T/theirs/ws"
	chown -R 1234:1235 "$T/theirs"
	HOME=$T/theirs cloche mcp --client codex --write "$T/theirs/ws"
	HOME=$T/theirs cloche mcp --client cursor --write "$T/theirs/ws"
	is "$(find "$T/theirs" -type f | wc -l),$(find "$T/theirs" ! -user 1234 -o ! -group 1235)" "2," "root makes files in a home as its owner would"
	HOME=$T/theirs cloche mcp --client codex --write --memory 1g "$T/theirs/ws"
	is "$(find "$T/theirs" -type f | wc -l),$(find "$T/theirs" ! -user 1234 -o ! -group 1235)" "3," "and changes them as such"
else
	chmod 400 "$T/f/real.json"
	left_alone "may not be written: Permission denied" "a file that is read-only" cline "$T/f/real.json"
	chmod 600 "$T/f/real.json"
	mkdir "$T/h"
	echo '{}' >"$T/h/x.json"
	chmod 500 "$T/h"
	left_alone "cannot be made beside it: Permission denied" "a folder that is read-only" cline "$T/h/x.json"
	chmod 700 "$T/h"
fi
for ((i = 1; i <= 99; i++)); do : >"$T/f/real.json.cloche-$i.bak"; done
refused "has 99 copies of itself beside it" "copies without end" mcp --client cline --client-file "$T/f/real.json" --write "$WS"
is "$(cat "$T/f/real.json")" '{}' "and then the file stays"

# --- a sandbox beside it -----------------------------------------------------------------------------------------------

mkdir "$T/ws2"
mkfifo "$T/in"
"$CLOCHE" mcp "${MARKED[@]}" "$T/ws2" <"$T/in" >/dev/null 2>&1 &
exec 9>"$T/in"
until_true [ -e "$T/ws2/.mcp.json" ]
ok $? "a running sandbox holds the name"
refused "'$T/ws2/.mcp.json' is a folder, not a file. A running sandbox keeps such names" "and --write says so" \
	mcp --client claude-code --write "$T/ws2"
exec 9>&-
gone "nothing of it runs on"
finish
