#!/bin/bash
# Profiles: what each built-in one does, shown by what happens inside; that flags go before them; files, good and hostile; the workspace's
# own, which may only narrow; and `cloche explain`, whose claims are compared with a real sandbox.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
tree=$(cd "$(dirname "$0")/../.." && pwd)
unset CLOCHE_PROFILE
export XDG_CONFIG_HOME=$T/config
OWN=$XDG_CONFIG_HOME/cloche/profiles
mkdir -p "$OWN"
mkdir "$WS/src"
echo hello >"$WS/file"
echo deep >"$WS/src/deep"
ln -s file "$WS/link"
chmod -R a+rX "$WS"
cp "$(readlink -f "$(type -P true)")" "$WS/true"
chmod 755 "$WS/true"

# profile NAME TEXT: a file of that name; $P is its path.
profile() {
	P=$T/$1.json
	printf '%s' "$2" >"$P"
	chmod 644 "$P"
}

# --- built-in ----------------------------------------------------------------------------------------------------------

cloche profile ls
is "$(cut -d' ' -f1 <<<"$OUT" | tr '\n' ' ')" "default airgap strict interpreter " "profile ls names the built-in ones"
is "$(grep -c 'built in  [a-z]' <<<"$OUT")" 4 "with their origin and a line about each"
for name in default airgap strict interpreter; do
	cloche profile check "$name"
	is "$ST,$ERR" "0," "profile check $name"
	like "$OUT" "^OK: $name: " "and says OK"
	cloche profile show "$name"
	is "$ST,$ERR" "0," "profile show $name"
	cloche profile check "$tree/profiles/$name.json"
	like "$OUT" "^OK: " "its file is a profile too"
	"$CLOCHE" profile show "$name" | grep '^  --' >"$T/built"
	"$CLOCHE" profile show "$tree/profiles/$name.json" | grep '^  --' | diff "$T/built" - >"$T/diff"
	ok $? "and says the same as what was built in" "$(cat "$T/diff")"
done

cloche explain --json --plan "$WS"
plain=$OUT
cloche explain --json --plan --profile default "$WS"
is "$(sed -E 's/"profile":\{[^}]*\}/"profile":null/' "$T/out")" "$plain" "default is exactly what holds without a profile"
like "$OUT" '"profile":\{"name":"default",' "and is named"
gives hello "default: a command runs" --profile default -- cat file

inside --profile airgap -- sh -c 'cat /proc/net/dev | grep -c :; echo $PIP_NO_INDEX $CARGO_NET_OFFLINE $GOPROXY $GIT_ALLOW_PROTOCOL; touch made && echo writable'
is "$OUT" "1"$'\n'"1 true off file"$'\n'"writable" "airgap: loopback only, package managers know, the workspace is writable"
rm -f "$WS/made"
inside --profile airgap -- git -c protocol.version=2 ls-remote https://localhost/x
if in_usr git; then like "$ERR" "not allowed" "airgap: git says at once that there is no network"; else skip "airgap and git" "no git in /usr"; fi

# strict: in a workspace without `build`, where entries are shown one by one, and in one with it.
for build in without with; do
	[ "$build" = without ] || mkdir "$WS/build"
	before=$(find "$WS" -printf '%p %s %m %T@\n' | sort)
	gives "10001 10001" "strict, $build build: uid and gid" --profile strict -- sh -c 'echo $(id -u) $(id -g)'
	gives "hello hello deep" "strict, $build build: files are read" --profile strict -- sh -c 'echo $(cat file link src/deep)'
	for try in 'touch new' 'echo x >>file' 'rm file' 'mv src s2' 'touch src/new' 'ln file f2' 'rmdir build' 'mv build b2' 'chmod 777 src'; do
		inside --profile strict -- sh -c "$try"
		[ "$ST" != 0 ]
		ok $? "strict, $build build: not '$try'" "$OUT $ERR"
	done
	gives "x" "strict, $build build: build can be written" --profile strict -- sh -c 'mkdir -p build/a && echo x >build/a/b && cat build/a/b'
	is "$(find "$WS" -printf '%p %s %m %T@\n' | sort)" "$before" "strict, $build build: nothing has changed on the host"
	inside --profile strict -- sh -c 'cp true build/ && build/true && echo runs'
	is "$OUT" runs "strict, $build build: what is built there runs"
done
rmdir "$WS/build"
inside --profile strict -- sh -c 'cp true /tmp && /tmp/true'
is "$ST" 126 "strict: nothing is executed in /tmp"
gives "1024 2048 128" "strict: limits" --profile strict -- sh -c 'echo $(ulimit -Sn) $(ulimit -Hn) $(awk "/^Max processes/ { print \$3 }" /proc/self/limits)'
inside --profile strict -- sh -c 'i=0; while [ $i -lt 200 ]; do sleep 3 & i=$((i+1)); done; wait'
like "$ERR" "fork" "strict: no more than 128 processes"
gone "nothing of them is left"
gives "$(nproc | awk '{ print ($1 < 2 ? $1 : 2) }')" "strict: two CPUs" --profile strict -- nproc
mkdir "$T/many"
chmod 755 "$T/many"
(cd "$T/many" && seq 1030 | xargs touch)
cloche run --workspace "$T/many" --profile strict -- true
one_sentence 125 "more than 1024.*mkdir" "strict: a folder with very many entries and no build is refused, with the way out"
mkdir "$T/many/build"
cloche run --workspace "$T/many" --profile strict -- sh -c 'ls | wc -l; touch build/x'
is "$ST,$OUT" "0,1031" "and works with the folder made"

# The same for the tools of the server: what they say is about the same workspace.
python3 - "$CLOCHE" "$WS" >"$T/wrong" 2>&1 <<'END'
import json, subprocess, sys

calls = [("write_file", {"filepath": "new", "content": "x"}, "Read-only|read-only"),
         ("write_file", {"filepath": "build/a/b", "content": "built\n"}, None),
         ("read_file", {"filepath": "src/deep"}, "deep"),
         ("read_file", {"filepath": "link"}, "hello"),
         ("list_directory", {"path": "."}, "build"),
         ("run_bash", {"command": "cat build/a/b; id -u"}, "10001")]
messages = [{"method": "initialize", "id": 0, "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                                                          "clientInfo": {"name": "t", "version": "1"}}},
            {"method": "notifications/initialized"}]
server = subprocess.Popen([sys.argv[1], "mcp", "--profile", "strict", sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
def say(message):
    server.stdin.write(json.dumps(dict(message, jsonrpc="2.0")) + "\n")
    server.stdin.flush()
    while "id" in message:
        answer = json.loads(server.stdout.readline())
        if answer.get("id") == message["id"]:
            return answer
for message in messages:
    say(message)
for number, (name, arguments, wanted) in enumerate(calls, 1):
    result = say({"method": "tools/call", "id": number, "params": {"name": name, "arguments": arguments}})["result"]
    text = result["content"][0]["text"]
    if wanted and not any(part in text for part in wanted.split("|")) or result["isError"] != (number == 1):
        print("%s %s: %s" % (name, arguments, text))
server.stdin.close()
if server.wait(20) != 0:
    print("the server ended with %d" % server.returncode)
END
ok "$([ ! -s "$T/wrong" ]; echo $?)" "strict: the server's tools see the same" "$(cat "$T/wrong")"

cd "$WS" || exit 1
cloche run --profile interpreter "${MARKED[@]}" -- sh -c 'pwd; ls -A; echo x >made; cat made; nproc; df -k --output=size . /tmp ~ | tail -n 3 | tr -d " "'
is "$ST,$OUT" "0,/workspace"$'\n'"x"$'\n'"1"$'\n'"262144"$'\n'"65536"$'\n'"65536" "interpreter: an empty workspace, one CPU, small folders"
[ ! -e "$WS/made" ]
ok $? "interpreter: nothing reaches the current folder"
cloche run --profile interpreter -- dd if=/dev/zero of=big bs=1M count=300
like "$ERR" "No space left" "interpreter: its workspace is bounded"
cloche run --profile interpreter "${MARKED[@]}" -- sh -c 'i=0; while [ $i -lt 150 ]; do sleep 3 & i=$((i+1)); done; wait'
like "$ERR" "fork" "interpreter: no more than 100 processes"
gone "nothing of them is left"
refused "in memory \(by: profile interpreter\), but '$WS' was named" "interpreter: a folder beside it is a question" run --profile interpreter --workspace "$WS" -- true
refused "in memory .*--workspace-mode rw" "also for mcp" mcp --profile interpreter "$WS"
gives "hello" "and has an answer" --profile interpreter --workspace-mode ro -- cat file
inside --profile interpreter --workspace-mode ro -- touch new
like "$ERR" "Read-only" "which holds"

# --- what goes before what ---------------------------------------------------------------------------------------------

gives "5" "a flag goes before the profile" --profile strict --user 5 -- id -u
gives "5" "also when it stands in front" --user 5 --profile strict -- id -u
inside --profile strict --workspace-mode rw -- true
one_sentence 125 "'/workspace/build'.*creates nothing there. Make it first \(mkdir\)" "a writable workspace without build is not shown by entry"
mkdir "$WS/build"
inside --profile strict --workspace-mode rw -- sh -c 'touch new && rm new && echo wrote'
is "$OUT" wrote "--workspace-mode rw lets the workspace be written"
inside --profile strict --tmpfs /workspace/build:size=1m -- dd if=/dev/zero of=build/x bs=64k count=64
like "$ERR" "No space left" "--tmpfs replaces the profile's at the same place"
inside --profile strict --tmpfs /tmp:size=1m -- sh -c 'cp true /tmp && /tmp/true'
is "$ST" 126 "--tmpfs /tmp:size= leaves noexec as the profile said"
inside --profile strict --tmpfs /tmp:exec -- sh -c 'cp true /tmp && /tmp/true'
is "$ST" 0 "--tmpfs /tmp:exec takes it away"
rmdir "$WS/build"
inside --profile strict -v "$WS:/workspace" -- touch new
[ "$ST" != 0 ]
ok $? "a volume at /workspace about which nothing is said stays read-only" "$ERR"
is "$(CLOCHE_PROFILE=strict "$CLOCHE" run --workspace "$WS" -- id -u)" 10001 "CLOCHE_PROFILE names one"
is "$(CLOCHE_PROFILE=strict "$CLOCHE" run --profile default --workspace "$WS" -- id -u)" 1000 "--profile goes before it"
CLOCHE_PROFILE=none-such refused "CLOCHE_PROFILE: there is no profile 'none-such'" "a wrong one is named" run --workspace "$WS" -- true
refused "one profile only.*'strict' and 'airgap'" "two profiles" run --profile strict --profile airgap -- true
refused "no profile 'strit': did you mean 'strict'" "a mistyped one" run --profile strit -- true

# --- files -------------------------------------------------------------------------------------------------------------

profile good '{"description": "good one", "memory": "64m", "user": 77, "env": {"A": "b c"}, "cpus": 1, "volume": ["/usr/share:/data:ro"]}'
gives "77 b c" "a file" --profile "$P" -- sh -c 'test -d /data && echo $(id -u) $A'
cp "$P" "$OWN/mine.json"
gives "77" "a name of one's own" --profile mine -- id -u
cloche profile ls
like "$OUT" "mine +yours +good one" "which profile ls lists"
cp "$P" "$OWN/strict.json"
gives "10001" "a built-in name cannot be taken" --profile strict -- id -u
cloche profile ls
is "$(grep -c '^strict ' <<<"$OUT")" 1 "nor is it listed"
echo '{"memroy": 1}' >"$OWN/broken.json"
cloche profile ls
like "$OUT" "broken +yours +WRONG: .*did you mean 'memory'" "a wrong one is listed with what is wrong"
rm "$OWN/broken.json" "$OWN/strict.json"
for name in ../mine a/../mine '' . .. -x 'a b' $'a\nb' "$(printf 'x%.0s' {1..64})" mine.json/; do
	cloche run --profile="$name" -- true
	[ "$ST" = 125 ] && [ "$(wc -l <"$T/err")" = 1 ]
	ok $? "no name: $(printf %q "${name:0:20}")" "$ST $ERR"
done

# wrong MESSAGE TEXT: such a file is refused in one sentence, by run, and by check with status 1.
wrong() {
	profile wrong "$2"
	refused "wrong.json.*$1" "wrong: ${2:0:60}" run --profile "$P" --workspace "$WS" -- true
	cloche profile check "$P"
	one_sentence 1 "$1" "profile check says the same"
}
wrong "memroy: unknown member: did you mean 'memory'" '{"memroy": "4g"}'
wrong "'memory' is there twice" '{"memory": "1g", "memory": "4g"}'
wrong "cpus: must be a string or a number, not true" '{"cpus": true}'
wrong "member 'memory': --memory '1' is too little" '{"memory": 1}'
wrong "member 'cpus'.*0.0001" '{"cpus": 0.0001}'
wrong "member 'user'" '{"user": "0:0"}'
wrong "member 'memory-swap'" '{"memory-swap": "many"}'
wrong "member 'command-cpus'" '{"command-cpus": 0}'
wrong "member 'command-pids-limit'" '{"command-pids-limit": -2}'
wrong "member 'cpu-shares'" '{"cpu-shares": 1}'
wrong "require-limits: must be true or false" '{"require-limits": "yes"}'
wrong "cgroup: unknown member" '{"cgroup": "none"}'
wrong "member 'ulimit'.*unknown limit" '{"ulimit": {"nofiles": 3}}'
wrong "member 'tmpfs'.*'/proc'" '{"tmpfs": {"/proc": ""}}'
wrong "member 'network'.*host" '{"network": "host"}'
wrong "member 'workspace-mode'" '{"workspace-mode": "overlay"}'
wrong "member 'env'" '{"env": {"A-B": "x"}}'
wrong "env.LD=X" '{"env": {"LD=X": "x"}}'
wrong "volume.0.*'./x:/y'" '{"volume": ["./x:/y"]}'
wrong "privileged: unknown member" '{"privileged": true}'
wrong "profile: unknown member" '{"profile": "default"}'
wrong "nested too deeply" "$(printf '[%.0s' {1..20000})"
wrong "nested too deeply|must be" "{\"env\": $(printf '{\"a\":%.0s' {1..500})1$(printf '}%.0s' {1..500})}"
wrong "NUL" '{"hostname": "a\u0000b"}'
wrong "not UTF-8" $'{"hostname": "\xff"}'
wrong "" ''
wrong "is an object" '[]'

# Limits that contradict each other, or what holds without the profile: who said each is told.
while IFS='|' read -r text regex; do
	profile contradiction "$text"
	refused "$regex" "contradiction: $text" run --profile "$P" --workspace "$WS" -- true
	cloche profile check "$P"
	one_sentence 1 "$regex" "profile check says the same"
done <<'END'
{"memory": "2g", "memory-swap": "1g"}|--memory-swap 1g \(by: profile .*/contradiction.json\) is less than --memory 2g \(by: profile
{"command-memory": "8g"}|--command-memory 8g \(by: profile .*\) is more than --memory 4g \(by: default\)
{"cpus": 1, "command-cpus": 1.5}|--command-cpus 1.5 \(by: profile .*\) is more than --cpus 1 \(by: profile
END
gives "done" "a flag resolves it" --profile "$P" --cpus 2 -- echo "done"

# hostile MESSAGE NAME: the file $P, whatever it is, is refused within seconds.
hostile() {
	local begin=$SECONDS
	refused "$1" "$2" run --profile "$P" --workspace "$WS" -- true
	[ $((SECONDS - begin)) -lt 10 ]
	ok $? "and at once"
}
P=$T/hostile.json
printf '{"hostname":"a\0b"}' >"$P"
hostile "NUL" "a NUL byte"
head -c 10000000 /dev/zero >"$P"
hostile "larger than 65536" "ten megabytes"
rm "$P" && mkfifo "$P"
hostile "not a regular file" "a FIFO"
rm "$P" && mkdir "$P"
hostile "not a regular file" "a folder"
rmdir "$P" && ln -s /dev/zero "$P"
hostile "not a regular file" "a device"
rm "$P"
hostile "cannot be read: No such file" "a file that is not there"
profile hostile '{}'
chmod o+w "$P"
hostile "can be changed by everybody" "a file that everybody can write"
python3 - >"$P" <<'END'
print("{" + ",".join('"env%d": "%s"' % (i, "x" * 10) for i in range(2000)) + "}")
END
chmod 644 "$P"
hostile "more than 256|unknown member" "two thousand members"
printf '{"\\u001b[31m\\u0007red":1}' >"$P"
hostile "unknown member" "escape sequences in a name do not reach the terminal"

cp "$T/good.json" "$WS/inside.json"
refused "inside.json' lies in '.*' which the sandbox may write|inside.json' lies in '.*', which the sandbox may write" "a profile that its sandbox could write" run --profile "$WS/inside.json" --workspace "$WS" -- true
ln -s "$WS/inside.json" "$T/to-inside.json"
refused "which the sandbox may write" "also behind a link" run --profile "$T/to-inside.json" --workspace "$WS" -- true
refused "which the sandbox may write" "also in a volume" run --profile "$T/to-inside.json" -v "$WS:/data" --workspace none -- true
gives 77 "but not in a read-only workspace" --profile "$WS/inside.json" --workspace-mode ro -- id -u
rm "$WS/inside.json"

# --- the workspace's own -----------------------------------------------------------------------------------------------

# narrows TEXT: .cloche.json with that text is taken. widens MEMBER TEXT: it is refused, and the member is named.
narrows() {
	printf '%s' "$1" >"$WS/.cloche.json"
	chmod 644 "$WS/.cloche.json"
	inside --workspace-profile "${@:2}" -- true
	is "$ST,$ERR" "0," "the workspace may say $1 ${*:2}"
}
widens() {
	printf '%s' "$2" >"$WS/.cloche.json"
	chmod 644 "$WS/.cloche.json"
	refused "member '$1'" "the workspace may not say $2 ${*:3}" run --workspace "$WS" --workspace-profile "${@:3}" -- true
}
narrows '{}'
narrows '{"memory": "1g"}'
narrows '{"memory": "8g"}' --memory 0
narrows '{"memory": "8g"}' --memory 8g
narrows '{"cpus": 1, "pids-limit": 100, "shm-size": "1m", "network": "none", "allow-debug": false}'
narrows '{"memory": "1g", "memory-swap": "1g"}'
narrows '{"memory-swap": "1g", "memory": "1g"}'
narrows '{"memory-swap": "5g"}' --memory-swap 6g
narrows '{"command-memory": "1g", "command-cpus": 1, "command-pids-limit": 10, "cpu-shares": 2}'
narrows '{"require-limits": false}'
narrows '{"memory": "256m", "tmpfs": {"/tmp": "size=512m"}}'
narrows '{"tmpfs": {"/tmp": "size=512m"}, "memory": "256m"}'
narrows '{"tmpfs": {"/tmp": "noexec,size=1m", "/home/agent": "size=1m"}}'
narrows '{"ulimit": {"nofile": "64:64", "cpu": 100}}'
narrows '{"workspace-mode": "ro"}'
narrows '{"workspace-mode": "tmpfs"}'
narrows '{"protect": ["file"]}'
widens memory '{"memory": "8g"}'
widens memory '{"memory": 0}'
widens memory '{"memory": "2g"}' --memory 1g
widens memory '{"memory": "3g"}' --profile strict
widens cpus '{"cpus": 2}' --cpus 1
widens memory-swap '{"memory-swap": "5g"}'
widens memory-swap '{"memory-swap": -1}'
widens memory-swap '{"memory": "1g", "memory-swap": "2g"}'
widens memory-swap '{"memory-swap": "7g"}' --memory-swap 6g
widens command-memory '{"command-memory": "2g"}' --command-memory 1g
widens command-memory '{"command-memory": 0}' --command-memory 1g
widens command-cpus '{"command-cpus": 2}' --command-cpus 1
widens command-pids-limit '{"command-pids-limit": -1}' --command-pids-limit 10
widens cpu-shares '{"cpu-shares": 2048}'
widens tmpfs '{"tmpfs": {"/tmp": "size=1g"}}' --memory 512m
widens shm-size '{"shm-size": "256m"}' --memory 512m
widens tmpfs '{"tmpfs": {"/workspace/build": "size=8g"}}' --profile strict
widens tmpfs '{"tmpfs": {"/data": ""}}' -v /usr/share:/data:ro
widens pids-limit '{"pids-limit": -1}'
widens pids-limit '{"pids-limit": 513}'
widens shm-size '{"shm-size": "1g"}'
widens tmpfs '{"tmpfs": {"/tmp": "size=2g"}}'
widens tmpfs '{"tmpfs": {"/tmp": "exec"}}' --tmpfs /tmp:noexec
widens tmpfs '{"tmpfs": {"/more": ""}}'
widens tmpfs '{"tmpfs": {"/workspace/src": ""}}'
widens ulimit '{"ulimit": {"nofile": 100000}}'
widens ulimit '{"ulimit": {"nofile": -1}}'
widens workspace-mode '{"workspace-mode": "rw"}' --workspace-mode ro
widens workspace-mode '{"workspace-mode": "rw"}' --profile strict
widens network '{"network": "host"}'
widens volume '{"volume": ["/etc:/data:ro"]}'
widens volume '{"volume": ["/root:/workspace"]}'
widens env '{"env": {"LD_PRELOAD": "/workspace/x.so"}}'
widens user '{"user": 5}'
widens hostname '{"hostname": "x"}'
widens allow-debug '{"allow-debug": true}'
widens security-opt '{"security-opt": ["seccomp=/workspace/f.json"]}'
widens security-opt '{"security-opt": ["seccomp=debug"]}'
widens unprotect '{"unprotect": ["all"]}'
widens unprotect '{"unprotect": [".git/hooks"]}'
printf '{"memory": "64m", "workspace-mode": "ro", "tmpfs": {"/tmp": "noexec"}}' >"$WS/.cloche.json"
inside --workspace-profile -- sh -c 'touch new'
like "$ERR" "Read-only" "with consent it holds: the workspace is read-only"
inside --workspace-profile -- sh -c 'cp true /tmp && /tmp/true'
is "$ST" 126 "and /tmp is noexec"
inside -- sh -c 'touch new && rm new && cp true /tmp && /tmp/true && echo unread'
is "$OUT,$ERR" "unread," "without consent nothing of it is read, and nothing is said to a program"
if have script; then
	script -qec "'$CLOCHE' run --workspace '$WS' -- true" /dev/null >"$T/tty" </dev/null
	like "$(cat "$T/tty")" "'.cloche.json', which was not read" "a terminal gets a line about it"
else
	skip "a terminal gets a line about it" "script is not installed"
fi
printf '{"memory": ' >"$WS/.cloche.json"
refused "not JSON" "one that is no JSON" run --workspace "$WS" --workspace-profile -- true
rm "$WS/.cloche.json"
refused "--workspace-profile was given, but" "one that is not there" run --workspace "$WS" --workspace-profile -- true
P=$T/good.json
ln -s "$P" "$WS/.cloche.json"
refused "symbolic link" "a symbolic link" run --workspace "$WS" --workspace-profile -- true
rm "$WS/.cloche.json" && mkfifo "$WS/.cloche.json"
refused "not a regular file" "a FIFO" run --workspace "$WS" --workspace-profile -- true
rm "$WS/.cloche.json" && mkdir "$WS/.cloche.json"
refused "not a regular file" "a folder" run --workspace "$WS" --workspace-profile -- true
rmdir "$WS/.cloche.json" && head -c 10000000 /dev/zero >"$WS/.cloche.json"
refused "larger than 65536" "ten megabytes" run --workspace "$WS" --workspace-profile -- true
printf '[%.0s' {1..30000} >"$WS/.cloche.json"
refused "nested too deeply" "thirty thousand brackets" run --workspace "$WS" --workspace-profile -- true
printf '{"memory": "1g"}' >"$WS/.cloche.json"
inside -- sh -c 'echo "{}" >.cloche.json || mv .cloche.json x || rm .cloche.json'
is "$(cat "$WS/.cloche.json")" '{"memory": "1g"}' "nobody inside can write it"
rm -f "$WS/.cloche.json"

# --- explain -----------------------------------------------------------------------------------------------------------

cloche explain "$WS"
is "$ST,$ERR" "0," "explain"
like "$OUT" "read, write +/workspace = $WS on the host +\[default\]" "it names the workspace and who said so"
before=$(find "$WS" | sort)
cloche explain --plan "$WS"
is "$(find "$WS" | sort)" "$before" "nothing was made"
cloche explain --profile strict --memory 3g --tmpfs /more "$WS"
like "$OUT" "memory +3g .*\[command line\]" "a flag's value"
like "$OUT" "pids-limit +128 .*\[profile strict\]" "a profile's value"
like "$OUT" "/tmp, 256m, nothing can be executed +\[profile strict\]" "a profile's folder"
like "$OUT" "/more, 64m +\[command line\]" "a flag's folder"
like "$OUT" "/dev/shm, 192m +\[default\]" "a default, which follows the memory"
like "$OUT" "/workspace = .*entries as they are at the start" "the workspace by entry"
is "$(find "$WS" | sort)" "$before" "nothing was made"
cloche explain "$T/none"
is "$ST" 1 "a workspace that does not exist: status 1"
like "$OUT" "would not start: the workspace '$T/none' does not exist" "why"
like "$OUT" "memory +4g" "and the rest all the same"
cloche explain "$WS"
like "$OUT" "/home/agent, 1g +\[default\]" "a default"
cloche explain --plan "$T/none"
one_sentence 125 "does not exist" "--plan of it is an error"
cloche explain --plan "$WS"
sed -n 's/^\t{ step_[a-z_]*, "\([^"]*\)".*/\1/p' "$tree/runtime/life/child.c" >"$T/steps"
sed -n 's/^ *[0-9]*\. \([^:]*\): .*/\1/p' "$T/out" | head -n "$(wc -l <"$T/steps")" | diff "$T/steps" - >"$T/diff"
ok $? "--plan prints the steps of a start, each with its reason" "$(cat "$T/diff")"

# Claims and reality: each place that explain names is a mount inside of that kind, size and access, and there are no other writable ones.
claims() {
	cloche explain --json "$@" "$WS"
	cp "$T/out" "$T/policy"
	"$CLOCHE" run --workspace "$WS" "$@" -- cat /proc/self/mounts >"$T/mounts" 2>"$T/err"
	python3 - "$T/policy" "$T/mounts" <<'END'
import json, sys
policy = json.load(open(sys.argv[1]))
mounts = {}
for line in open(sys.argv[2]):
    _, path, kind, options = line.split()[:4]
    mounts[path.encode().decode("unicode_escape")] = (kind, options.split(","))
wrong = []
for place in policy["files"]:
    path, access = place["path"], place["access"]
    if path not in mounts:
        if not place["optional"]:
            wrong.append("%s is no mount inside" % path)
        continue
    kind, options = mounts[path]
    writable = "rw" in options
    if place["by_entry"]:
        pass
    elif writable != (access != "read"):
        wrong.append("%s is said to be %s, and is %s" % (path, access, options[0]))
    if (access == "memory") and kind != "tmpfs":
        wrong.append("%s is said to be in memory, and is %s" % (path, kind))
    if access == "memory" and "size=%dk" % (place["size"] // 1024) not in options:
        wrong.append("%s is said to have %d bytes, and has %s" % (path, place["size"], options))
    if place["execute"] == ("noexec" in options):
        wrong.append("%s: execute is said to be %s: %s" % (path, place["execute"], options))
named = {place["path"] for place in policy["files"] if place["access"] != "read"}
for path, (kind, options) in mounts.items():
    if "rw" in options and path not in named and not path.startswith(("/dev/", "/proc")):
        wrong.append("%s is writable, and not named" % path)
print("\n".join(wrong))
sys.exit(bool(wrong))
END
}
for options in "" "--profile strict" "--profile airgap --tmpfs /a:noexec,size=1m" "--workspace-mode ro -v /usr/share:/b" "--shm-size 1m -v /usr/share:/b:ro" \
	"--memory 512m" "--profile interpreter --workspace-mode ro" "--memory 10000001 --tmpfs /tmp:size=1g"; do
	# shellcheck disable=SC2086 # words
	wrong=$(claims $options)
	ok $? "explain and a sandbox agree: ${options:-no options}" "$wrong"
done
identity=$("$CLOCHE" run --workspace "$WS" --profile strict -- sh -c 'echo $(id -u) $(id -g) $(hostname)')
cloche explain --json --profile strict "$WS"
is "$(python3 -c 'import json,sys; i=json.load(open(sys.argv[1]))["identity"]; print(i["uid"], i["gid"], i["hostname"])' "$T/out")" "$identity" "and about the identity"
before=$("$CLOCHE" run --workspace "$WS" -e SECRET=hidden -- env | cut -d= -f1 | grep -vxE '_|PWD|SHLVL|OLDPWD' | sort | tr '\n' ' ')
cloche explain --json -e SECRET=hidden "$WS"
unlike "$OUT" "hidden" "values of variables are not printed"
like " $(python3 -c 'import json,sys; print(" ".join(sorted(json.load(open(sys.argv[1]))["environment"])))' "$T/out") " "SECRET" "their names are"

# --- the schema, the table and the program say the same ----------------------------------------------------------------

python3 - "$CLOCHE" "$tree" "$T" >"$T/wrong" 2>&1 <<'END'
import json, re, subprocess, sys

cloche, tree, scratch = sys.argv[1:]
schema = json.load(open(tree + "/profiles/schema.json"))
code = open(tree + "/runtime/compile/profile.c").read()
members = set(re.findall(r'^\t\{ \.name = "([a-z-]+)"', code, re.M))
table = open(tree + "/docs/profiles.md").read().split("## Members")[1].split("\n## ")[0]
rows = dict(re.findall(r"^\| `([a-z$-]+)` \|.*\| (.*) \|$", table, re.M))
options = open(tree + "/runtime/cli/options.c").read()
in_profile = set(re.findall(r'\.name = "([a-z-]+)",[^\n]*GROUP_IN_PROFILE', options))
extra = {"description", "$schema"}
for name, other in (("profiles/schema.json", set(schema["properties"]) - extra), ("docs/profiles.md", set(rows) - extra),
                    ("runtime/cli/options.c", in_profile)):
    if other != members:
        print("%s and runtime/compile/profile.c differ in %s" % (name, " ".join(sorted(other ^ members))))
for name in set(rows) - extra:
    if "`--%s" % name not in rows[name]:
        print("docs/profiles.md: %s is said to be %s" % (name, rows[name]))
if len(members) < 12:
    print("only %d members were found: does this test still read the right place?" % len(members))

TYPES = {"string": str, "number": (int, float), "boolean": bool, "object": dict, "array": list}

def fits(s, v):
    """The part of JSON Schema that the file uses; a keyword it does not know is a mistake of this test."""
    known = {"$schema", "title", "description", "type", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "properties",
             "additionalProperties", "propertyNames", "maxProperties", "items", "maxItems"}
    if set(s) - known:
        raise SystemExit("schema.json uses " + " ".join(set(s) - known))
    types = s.get("type", [])
    types = types if isinstance(types, list) else [types]
    if types and not any(isinstance(v, TYPES[t]) and (t == "boolean") == isinstance(v, bool) for t in types):
        return False
    if "enum" in s and v not in s["enum"]:
        return False
    if isinstance(v, str):
        if not s.get("minLength", 0) <= len(v.encode()) <= s.get("maxLength", 1 << 30):
            return False
        if "pattern" in s and not re.search(s["pattern"], v):
            return False
    elif isinstance(v, (int, float)) and not isinstance(v, bool):
        return s.get("minimum", v) <= v <= s.get("maximum", v)
    elif isinstance(v, dict):
        if len(v) > s.get("maxProperties", 1 << 30):
            return False
        for key, value in v.items():
            sub = s.get("properties", {}).get(key, s.get("additionalProperties", True))
            if sub is False or (sub is not True and not fits(sub, value)) or not fits(s.get("propertyNames", {}), key):
                return False
    elif isinstance(v, list):
        return len(v) <= s.get("maxItems", 1 << 30) and all(fits(s.get("items", {}), item) for item in v)
    return True

# Values for each member, some right and some wrong; what the schema cannot know (units in strings, say) is left out.
values = {
    "allow-debug": [True, False, "true", 1, None],
    "command-cpus": [1, 0.5, 0, -1, 4097, True, None],
    "command-memory": [0, 6291456, "1g", -1, True, [], None],
    "command-pids-limit": [-1, 0, 1, 448, -2, 4194305, True, None],
    "cpu-shares": [0, 2, 1024, 262144, "1024", -1, 262145, True, [], None],
    "cpus": [1, 0.5, 0.01, 4096, 0, -1, 4097, True, [], None],
    "env": [{}, {"A": "b"}, {"A": ""}, {"_a1": 1}, {"A-B": "x"}, {"1A": "x"}, {"A=": "x"}, {"": "x"}, {"A": None}, {"A": []}, [], "A=b"],
    "hostname": ["a", "a.b-1", "x" * 63, "x" * 64, "", "-a", "a_b", "a b", 1, None],
    "memory": [0, 6291456, 1 << 40, "4g", "512m", -1, True, [], {}, None],
    "memory-swap": [-1, 0, 4294967296, "6g", -2, True, {}, None],
    "network": ["none", "host", "", 1, None],
    "pids-limit": [-1, 0, 1, 4194304, -2, 4194305, True, None],
    "protect": [[], ["a"], ["a", "b/c"], [""], [1], "a", {}, None],
    "require-limits": [False, True, "true", 1, None],
    "security-opt": [[], ["seccomp=default"], ["no-new-privileges"], ["seccomp=unconfined"], ["seccomp=./x"], ["x"], [1], "x", None],
    "shm-size": [4096, "64m", 4095, True, None],
    "tmpfs": [{}, {"/a": ""}, {"/a": "size=1m"}, {"a": ""}, {"": ""}, {"/a:size=1m": ""}, {"/a": None}, [], "/a"],
    "ulimit": [{}, {"nofile": 10}, {"nofile": "10:20"}, {"nofiles": 10}, {"NOFILE": 1}, {"nofile": None}, {"nofile": True}, [], 3],
    "unprotect": [[], ["all"], [".envrc"], [""], [1], "all", {}],
    "user": [1, 65533, "5", "5:6", 0, 65534, -1, "root", "5:", ":5", "", True, None],
    "volume": [[], ["/a:/b"], ["/a:/b:ro"], ["a:/b"], ["./a:/b"], ["/a"], ["/a:b"], [""], [1], "/a:/b", {}],
    "workspace-mode": ["rw", "ro", "tmpfs", "", "RW", "overlay", True, None],
    "description": ["", "x" * 200, "x" * 201, 1, None],
    "$schema": ["x", 1],
    "memroy": ["4g"],
}
for name in members - set(values):
    print("this test has no values for " + name)
for name, tries in values.items():
    verdicts = set()
    for value in tries:
        profile = {name: value}
        with open(scratch + "/agree.json", "w") as out:
            json.dump(profile, out)
        done = subprocess.run([cloche, "profile", "check", scratch + "/agree.json"], capture_output=True, text=True)
        verdict = fits(schema, profile)
        verdicts.add(verdict)
        if verdict != (done.returncode == 0):
            print("%s: the schema says %s, cloche says %s%s" % (json.dumps(profile)[:80], verdict, done.returncode, done.stderr))
    if name in members and verdicts != {True, False}:
        print("%s is only ever %s here" % (name, verdicts))
for name in ("default", "airgap", "strict", "interpreter"):
    if not fits(schema, json.load(open("%s/profiles/%s.json" % (tree, name)))):
        print("profiles/%s.json does not fit the schema" % name)
example = re.search(r"```json\n(.*?)```", open(tree + "/docs/profiles.md").read(), re.S).group(1)
if not fits(schema, json.loads(example)):
    print("the example of docs/profiles.md does not fit the schema")
END
ok "$([ ! -s "$T/wrong" ]; echo $?)" "schema, documentation and program agree" "$(cat "$T/wrong")"

finish
