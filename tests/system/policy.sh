#!/bin/bash
# What an agent is told of its sandbox, and what it reads as resources, in a real one: behind Landlock and the filter of the server.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

# ask REQUESTS: the answers of a server, as JSON in $OUT: an object, id to result or error. $OPTIONS are options of `cloche mcp`.
OPTIONS=()
cat >"$T/ask.py" <<'END'
import json, subprocess, sys
requests = json.loads(sys.argv[1])
p = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
answers = {}
for i, (method, params) in enumerate([["initialize", hello]] + requests):
    p.stdin.write(json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}) + "\n")
    p.stdin.flush()
    while i not in answers:
        message = json.loads(p.stdout.readline())
        if "id" in message:
            answers[message["id"]] = message.get("result", message.get("error"))
p.stdin.close()
print(json.dumps(answers))
sys.exit(p.wait())
END
ask() {
	OUT=$(python3 "$T/ask.py" "$1" "$CLOCHE" mcp "${MARKED[@]}" "${OPTIONS[@]}" "$WS" 2>"$T/err")
	ST=$?
}

# pick EXPRESSION [FILE]: of a Python value `a`, the last answers.
pick() { python3 -c "import json, sys; a = json.loads(sys.argv[1]); print($1)" "$OUT"; }

read_policy='[["resources/read", {"uri": "cloche://policy"}]]'

# --- the policy ---------------------------------------------------------------------------------------------------------

# compare NAME: what the agent reads is what explain says of the same options, without what is about the host.
compare() {
	local differences
	ask "$read_policy"
	is "$ST" 0 "$1: the server answers and ends"
	pick 'a["1"]["contents"][0]["text"]' >"$T/told"
	"$CLOCHE" explain --json "${MARKED[@]}" "${OPTIONS[@]}" "$WS" >"$T/explained" 2>/dev/null
	differences=$(python3 - "$T/told" "$T/explained" <<'END'
import json, sys
told, explained = (json.load(open(name)) for name in sys.argv[1:])
held = told.pop("limits_held")
if held not in ("exact", "approximate", None):
    print("limits_held is", held)
for name in "would_start", "refusal":
    del explained[name]
for place in explained["files"]:
    del place["source"]
for name in "host_uid", "host_gid", "subordinate_ids":
    del explained["identity"][name]
del explained["cgroup"]["path"]
if explained["profile"]:
    path = explained["profile"].pop("file")
    del explained["profile"]["options"]
    if "/" in explained["profile"]["name"]:
        explained["profile"]["name"] = path.rsplit("/", 1)[1]
        explained = json.loads(json.dumps(explained).replace(json.dumps("profile " + path), '"profile"'))
for name in sorted(set(told) | set(explained)):
    if told.get(name) != explained.get(name):
        print(name, "is", json.dumps(told.get(name))[:300], "but explained as", json.dumps(explained.get(name))[:300])
END
	)
	is "$differences" "" "$1: the agent is told what explain says"
}

compare "without options"
OPTIONS=(--profile strict)
compare "with a built-in profile"
mkdir "$T/secret-folder"
echo "{\"description\": \"of a test\", \"env\": {\"FROM_PROFILE\": \"value-of-profile\"}, \"volume\": [\"$T/secret-folder:/opt/shared:ro\"]}" >"$T/mine.json"
OPTIONS=(--profile "$T/mine.json" -e FROM_LINE=value-of-line --memory 1g --pids-limit 300)
compare "with a profile of one's own"
like "$(<"$T/told")" '"FROM_LINE".*"FROM_PROFILE"|"FROM_PROFILE".*"FROM_LINE"' "names of variables are told"
unlike "$(<"$T/told")" 'value-of-line|value-of-profile' "values are not"
unlike "$(<"$T/told")" "$T|secret-folder" "nor where folders are on the host"
like "$(<"$T/told")" '"/opt/shared"' "but where they are inside"
OPTIONS=()

ask '[["resources/list", {}], ["resources/read", {"uri": "cloche://policy"}]]'
is "$(pick '[r["size"] for r in a["1"]["resources"] if r["uri"] == "cloche://policy"] == [len(a["2"]["contents"][0]["text"].encode())]')" True \
	"its size is that in the list"

if [ "$ME" = 0 ]; then
	exec 5> >(exec "$CLOCHE" mcp "${MARKED[@]}" "$WS" >"$T/served" 2>/dev/null)
	echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' >&5
	until_true grep -q '"id":1' "$T/served"
	is "$(for pid in $(marked_pids); do readlink /proc/"$pid"/fd/*; done | grep -c memfd:cloche-policy)" 0 "the file it came in is closed everywhere"
	exec 5>&-
	gone "the server ends with its input"
else
	skip "the file it came in is closed everywhere" "only root can look"
	skip "the server ends with its input" "not started"
fi

# --- files --------------------------------------------------------------------------------------------------------------

mkdir "$WS/src"
echo 'int a;' >"$WS/src/a.c"
printf '\377\0\1' >"$WS/src/b"
ln -s /etc/passwd "$WS/out"
ln -s /workspace/src/a.c "$WS/in"
head -c 2000000 /dev/zero >"$WS/big"
uris=()
for path in src/a.c src/b src in out big nothing '%2e%2e/etc/passwd'; do
	uris+=("[\"resources/read\", {\"uri\": \"file:///workspace/$path\"}]")
done
ask "[$(IFS=,; echo "${uris[*]}"), [\"resources/read\", {\"uri\": \"file:///etc/hostname\"}]]"
is "$ST" 0 "the server reads files and ends"
is "$(pick 'a["1"]["contents"][0]["text"]')" 'int a;' "a text"
is "$(pick 'a["2"]["contents"][0]["blob"]')" '/wAB' "what is none, in base64"
is "$(pick 'a["3"]["contents"][0]["text"]')" $'a.c\nb' "the names in a directory"
is "$(pick 'a["4"]["contents"][0]["text"]')" 'int a;' "a link that stays inside"
is "$(pick '[a[str(i)]["code"] for i in range(5, 10)]')" '[-32002, -32602, -32002, -32602, -32002]' "what is outside, too large, missing or malformed"
like "$(pick 'a["5"]["message"]')" "outside the workspace boundary" "a link that leads out is refused as such"
like "$(pick 'a["6"]["message"]')" "more than 1048576 bytes" "and a large file, with the limit"
gone "nothing is left"
finish
