#!/bin/bash
# What a command sees of its own cgroup, what it cannot do to it, what is counted, and that the cgroups of commands go with them.
# Where the host gives no cgroup, what is there instead. The limits themselves are for tests/limits, the host's side for cgroup.sh.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

[ "$ME" != 0 ] || chown 1234:1234 "$WS" # root's own folder needs a file system with id-mapped mounts
backend=$("$CLOCHE" explain --json --workspace "$WS" | python3 -c 'import json, sys; print(json.load(sys.stdin)["cgroup"]["backend"])')
like "$backend" '^(own|systemd|root|none)$' "explain names a way to a cgroup, or none"
[ -z "${LIMITS_BACKEND:-}" ] || is "$backend" "$LIMITS_BACKEND" "it is the one that this host has"

gives 800 "the kernel takes commands first when the machine runs out of memory" -- cat /proc/self/oom_score_adj
gives "" "without a cgroup, the place for one is empty" --cgroup none -- ls -A /sys/fs/cgroup
gives "fs cgroup" "and there is nothing else of /sys" --cgroup none -- sh -c 'echo $(ls -A /sys) $(ls -A /sys/fs)'
gives "2" "nobody can put something there" --cgroup none -- sh -c 'mkdir /sys/fs/cgroup/x /sys/x 2>&1 | grep -c "Read-only file system"'
if [ "$backend" = none ]; then
	gives "" "no cgroup is mounted" -- sh -c 'grep cgroup /proc/self/mountinfo; true'
	gone "nothing is left"
	finish
fi

# --- cloche run --------------------------------------------------------------------------------------------------------

limits=(--memory 96m --cpus 1.5 --pids-limit 100)
gives "0::/" "a command is at the root of all cgroups that it sees" -- cat /proc/self/cgroup
gives "/ /sys/fs/cgroup ro,nosuid,nodev,noexec" "its own is mounted read-only, and nothing else of the kind" -- \
	sh -c 'grep " - cgroup" /proc/self/mountinfo | cut -d" " -f4-6 | sed s/,relatime//'
gives "100663296 100 150000 100000 1 0" "its files tell its limits" "${limits[@]}" -- \
	sh -c 'cd /sys/fs/cgroup; echo $(cat memory.max pids.max) $(cat cpu.max 2>/dev/null || echo 150000 100000) $(cat memory.oom.group) $(find . -mindepth 1 -type d | wc -l)'
gives "1 /sys/fs/cgroup/cgroup.procs" "nobody else is in it" -- wc -l /sys/fs/cgroup/cgroup.procs
cat >"$WS/poke" <<'PY'
import errno, os
root, failed = "/sys/fs/cgroup", []
names = os.listdir(root)
for name in names:
    try:
        os.close(os.open(os.path.join(root, name), os.O_WRONLY))
        failed.append(name)
    except OSError as e:
        if e.errno != (errno.EROFS if os.stat(os.path.join(root, name)).st_mode & 0o222 else errno.EACCES):
            failed.append("%s: %s" % (name, e.strerror))
for what, call in (("mkdir", lambda: os.mkdir(root + "/x")), ("chmod", lambda: os.chmod(root + "/memory.max", 0o666)),
                   ("procs", lambda: open("/proc/self/root/sys/fs/cgroup/cgroup.procs", "w").write("1"))):
    try:
        call()
        failed.append(what)
    except OSError as e:
        if e.errno != errno.EROFS:
            failed.append("%s: %s" % (what, e.strerror))
print(len(names) > 20, failed)
PY
gives "True []" "and no file of it can be written" -- python3 poke
gives "ok" "nor is there a way to the one above" -- sh -c '[ "$(stat -c %d:%i /sys/fs/cgroup/..)" != "$(stat -c %d:%i /sys/fs/cgroup)" ] && [ ! -e /sys/fs/cgroup/../cgroup.procs ] && [ ! -e /sys/fs/cgroup/../../cgroup.procs ] && echo ok'
inside --memory 96m -- python3 -c 'x = bytearray(160 << 20)'
is "$ST" 137 "one that takes too much memory is killed"
like "$ERR" "cloche: .*96 MiB" "and the limit is named"
gives "done" "one that stays below is not" --memory 96m -- python3 -c 'x = bytearray(70 << 20); print("done")'
if command -v node >/dev/null && [ -n "$(inside -- sh -c 'command -v node'; echo "$OUT")" ]; then
	gives "268435456" "programs size themselves by it: Node.js" --memory 256m -- node -e 'console.log(process.constrainedMemory())'
else
	skip "programs size themselves by it: Node.js" "there is no node in the sandbox"
fi

# --- cloche mcp --------------------------------------------------------------------------------------------------------

cat >"$T/session" <<'PY'
import os, sys, time
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
from session import Session, MIB
SCALE = float(os.environ.get("TIME_SCALE", "1"))
program, workspace, mark = sys.argv[2:5]

def point(good, name, details=""):
    print("%s %s" % ("ok" if good else "no", name))
    if not good:
        print("#", str(details).replace("\n", "\n# "))

def groups(session):
    """Of commands, seen from outside: the folders beside which a process of ours can be found."""
    found = []
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        base = os.path.basename(os.path.dirname(folder))
        if os.path.basename(folder) == "work" and base.startswith("cloche-%d-" % session.process.pid):
            found += names
    return found

def bash(session, command, **arguments):
    return session.request("tools/call", {"name": "run_bash", "arguments": {"command": command, **arguments}})

def until(what):
    end = time.monotonic() + 5 * SCALE
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()

options = ["--ulimit", "locks=" + mark, "--memory", "256m", "--pids-limit", "160"]
with Session(program, workspace, options, SCALE) as s:
    r = bash(s, "cat /proc/self/cgroup; cat /sys/fs/cgroup/memory.max; ls /sys/fs/cgroup | grep -c ^c[0-9]").wait()
    point("0::/\n268435456\n0" in r.text, "in a session it is the same", r)
    point(r.metrics.get("measured") == "exact", "and what it used is exact", r)
    point(until(lambda: len(groups(s)) == 1), "one group waits for the next command", groups(s))
    held = bash(s, "python3 -c 'x = bytearray(80 << 20); import time; time.sleep(%d)'" % (2 * SCALE))
    time.sleep(1 * SCALE)
    r = bash(s, "cat /sys/fs/cgroup/memory.current; wc -l </sys/fs/cgroup/cgroup.procs").wait()
    numbers = [int(word) for word in r.text.split() if word.isdigit()]
    point(len(numbers) == 2 and numbers[0] < 16 * MIB and numbers[1] < 6, "a command sees nothing of another one beside it", r)
    r = held.wait()
    peak = r.metrics.get("memory_peak", 0)
    point(80 * MIB < peak < 96 * MIB, "the peak of each is its own", r)
    r = bash(s, "python3 -c 'x = bytearray(60 << 20)'", memory="32m").wait()
    point(r.is_error and r.metrics.get("oom_killed") and r.metrics["limits"].get("memory") == 32 * MIB, "a call can ask for less memory", r)
    point(any("32 MiB" in line for line in r.limit_lines()), "and is told so", r)
    r = bash(s, "python3 -c 'x = bytearray(60 << 20)'; cat /sys/fs/cgroup/memory.max", memory="4g").wait()
    point("\n268435456" in r.text, "but not for more", r)
    r = bash(s, "for i in $(seq 12); do sleep 1 & done; wait; cat /sys/fs/cgroup/pids.max", pids=6).wait()
    point(r.metrics.get("pids_limit_hit") and r.metrics.get("processes_peak") == 6, "nor for more processes than it asked for", r)
    r = bash(s, "(setsid sleep 1000 &) ; (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &); sleep 1000", timeout=1).wait()
    point(r.is_error or r.metrics.get("timed_out"), "what is stopped is stopped with all that it started", r)
    for i in range(20):
        r = bash(s, "true").wait()
    point(r.metrics.get("exit_status") == 0, "many commands, one after the other", r)
    calls = [bash(s, "sleep 0.2") for _ in range(20)]
    for call in calls:
        r = call.wait()
        if r.metrics.get("exit_status") != 0:
            break
    point(r.metrics.get("exit_status") == 0, "and side by side", r)
    point(until(lambda: len(groups(s)) == 1), "their groups are gone", groups(s))
    scores = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open("/proc/%s/cmdline" % pid).read().split("\0")
            if mark in " ".join(words) or "cloche-mcp" in words[0]:
                scores[os.path.basename(words[0])] = int(open("/proc/%s/oom_score_adj" % pid).read())
        except OSError:
            pass
    point(scores.get("cloche-init", 1000) < 800 and scores.get("cloche-mcp", 1000) < 800, "init and the server are taken last", scores)
PY
python3 "$T/session" "$(dirname "$0")/../limits" "$CLOCHE" "$WS" "$MARK" >"$T/points" 2>"$T/points.err"
is "$?,$(<"$T/points.err")" "0," "the session came to its end"
mapfile -t points <"$T/points"
for line in "${points[@]}"; do
	case $line in
	"ok "*) ok 0 "${line#ok }" ;;
	"no "*) ok 1 "${line#no }" ;;
	*) diag "${line#\# }" ;;
	esac
done
is "$(grep -c '^ok \|^no ' "$T/points")" 14 "and nothing of it was left out"
gone "nothing is left"
finish
