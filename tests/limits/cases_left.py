"""Groups: who may touch them, what is in them, and that none is left."""
import os
import signal
import subprocess
import time

import host

SESSIONS = 10  # quick ones; LIMITS_REPEAT more of them

WRITE = r"""
cat /proc/self/cgroup
echo "files $(find /sys/fs/cgroup -type f 2>/dev/null | wc -l)"
for f in $(find /sys/fs/cgroup -type f 2>/dev/null); do
    { echo max >"$f"; } 2>/dev/null && echo "wrote $f"
    { echo 0 >"$f"; } 2>/dev/null && echo "wrote $f"
    { echo $$ >"$f"; } 2>/dev/null && echo "wrote $f"
done
for d in $(find /sys/fs/cgroup -type d 2>/dev/null); do mkdir "$d/mine" 2>/dev/null && echo "made $d/mine"; done
mount -t cgroup2 none /tmp 2>/dev/null && echo "mounted"
mount -o remount,rw /sys/fs/cgroup 2>/dev/null && echo "remounted"
find / -xdev -name cgroup.procs 2>/dev/null
for p in /proc/[0-9]*; do for f in $p/fd/*; do [ -e "$f/cgroup.procs" ] && echo "open $f"; done; done
cat /proc/self/cgroup
echo end
"""


def no_way_out(t):
    """A command cannot write to a group, make one, or leave its own."""
    with t.session("--memory", "256m") as session:
        result = session.bash(WRITE, timeout=int(20 + 10 * t.scale))
        lines = [line for line in result.text.splitlines()[1:] if line]
        own = [line for line in lines if line.startswith("0::")]
        wrong = [line for line in lines if line.split()[0] in ("wrote", "made", "mounted", "remounted", "open")]
        t.ok("end" in lines and not wrong, "no file of a group can be written, no group made, none mounted", result)
        t.ok(len(own) == 2 and set(own) == {"0::/"}, "a command sees its own group as the root", result)
        tried = int(next((line.split()[1] for line in lines if line.startswith("files ")), 0))
        t.ok(tried > 10 if t.exact else tried == 0, "%d files were tried" % tried, result)
        limit = session.bash("cat /sys/fs/cgroup/memory.max")
        if t.exact:
            t.ok(limit.text.splitlines()[-1] == str(256 << 20), "programs find their limit in /sys/fs/cgroup", limit)
        else:
            t.ok("memory.max" in limit.text and str(256 << 20) not in limit.text, "there is no limit to be found in /sys/fs/cgroup", limit)


def init_of(session):
    return next((pid for pid, name in session.processes().items() if name == "cloche-init"), None)


def node_of(session):
    """The folder of a session's node."""
    group = host.group_of(init_of(session))
    while group and not os.path.basename(group).startswith("cloche-"):
        group = os.path.dirname(group) if group.count("/") > 3 else None
    return group


def written(t):
    """The limits are in the files of the groups, at their places."""
    if not t.exact:
        t.skip("limits in the files of groups", "there is no group here")
        return
    with t.session("--memory", "256m", "--memory-swap", "320m", "--cpu-shares", "512", "--pids-limit", "100", "--cpus", "1.5") as session:
        running = session.start("run_bash", command="sleep 3; echo done", memory="64m")
        time.sleep(1 * min(t.scale, 2))
        node = node_of(session)
        t.ok(node, "the sandbox has a node of its own", host.group_of(init_of(session)))
        work = os.path.join(node, "work")
        wanted = {"memory.max": str(256 << 20), "memory.swap.max": str(64 << 20), "cpu.max": "150000 100000", "pids.max": "100"}
        for name, value in wanted.items():
            path = os.path.join(work, name)
            if name == "memory.swap.max" and not os.path.exists(path):
                t.skip("work/%s" % name, "this kernel keeps no account of swap")
                continue
            t.ok(host.read(path) == value, "work/%s is %s" % (name, value), host.read(path))
        # Docker's shares of 2 to 262144 as weights of 1 to 10000.
        t.ok(host.read(node, "cpu.weight") == str(1 + (512 - 2) * 9999 // 262142), "--cpu-shares 512 is the node's weight", host.read(node, "cpu.weight"))
        leaves = [entry for entry in os.listdir(work) if os.path.isdir(os.path.join(work, entry))]
        of_call = [leaf for leaf in leaves if host.read(work, leaf, "memory.max") == str(64 << 20)]
        t.ok(len(of_call) == 1 and host.read(work, of_call[0], "memory.oom.group") == "1", "the call has a leaf of its own with 64 MiB", leaves)
        t.ok("done" in running.wait().text, "the command goes on meanwhile")
        left = [leaf for leaf in os.listdir(work) if leaf in of_call and os.path.isdir(os.path.join(work, leaf)) and host.read(work, leaf, "cgroup.procs")]
        t.ok(not left, "nobody is in its leaf afterwards", left)
    with t.session("--memory", "256m") as session:
        swap = os.path.join(node_of(session), "work", "memory.swap.max")
        if os.path.exists(swap):
            t.ok(host.read(swap) == "0", "without --memory-swap there is no swap", host.read(swap))


def new_groups(before):
    return sorted(host.groups() - before)


def end_by(session, how):
    """Ends a session while a command runs. Returns after its last program has ended."""
    session.start("run_bash", command="./bomb --mib 20 --seconds 60 heap & ./bomb --processes 5 --seconds 60 crowd", timeout=60)
    time.sleep(0.3 * session.scale)
    if how == "SIGTERM":
        session.terminate()
    elif how == "end of input":
        session.close()
    elif how == "SIGKILL of the supervisor":
        session.kill()
    else:
        os.kill(init_of(session), signal.SIGKILL)
        session.close()
    return host.wait_until(lambda: not session.processes(), 5 * session.scale)


def ends(t):
    """After every kind of end, nothing is left: no process, no group."""
    for how in ("end of input", "SIGTERM", "SIGKILL of init"):
        before = host.groups()
        with t.session() as session:
            session.bash("true")
            if t.exact:
                t.ok(new_groups(before), "%s: there is a group before" % how)
            gone = end_by(session, how)
        t.ok(gone, "%s: no process is left" % how, session.processes())
        t.ok(host.wait_until(lambda before=before: not new_groups(before), 5 * t.scale), "%s: no group is left" % how, "\n".join(new_groups(before)))


def killed(t):
    """What a killed supervisor leaves is removed by the next launch, and by cloche gc."""
    argv = [t.program, "run", "--workspace", t.workspace, "--", "/bin/true"]
    for what, clean in (("the next launch", argv), ("cloche gc", [t.program, "gc"])):
        before = host.groups()
        with t.session() as session:
            session.bash("true")
            gone = end_by(session, "SIGKILL of the supervisor")
        t.ok(gone, "SIGKILL of the supervisor: no process is left", session.processes())
        left = new_groups(before)
        t.note("a killed supervisor leaves %d groups" % len(left))
        done = subprocess.run(clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60 * t.scale, cwd="/")
        t.ok(done.returncode == 0, "%s works" % what, done.stdout)
        t.ok(host.wait_until(lambda before=before: not new_groups(before), 5 * t.scale), "%s removes what is left" % what, "\n".join(new_groups(before)))


def living_are_kept(t):
    """A sandbox that lives is left alone by both."""
    with t.session() as session:
        session.bash("true")
        for argv in ([t.program, "gc"], [t.program, "run", "--workspace", t.workspace, "--", "/bin/true"]):
            subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=60 * t.scale, cwd="/")
        result = session.bash("echo alive")
        t.ok("alive" in result.text, "a session lives on while others clean", result)


def quick(t):
    """Many short sessions, and many commands in one: nothing piles up."""
    before, count = host.groups(), SESSIONS * (10 if t.repeat >= 100 else 1)
    for _ in range(count):
        with t.session() as session:
            if "x" not in session.bash("echo x").text:
                t.ok(False, "a quick session")
    t.ok(host.wait_until(lambda: not new_groups(before), 5 * t.scale), "nothing is left of %d quick sessions" % count, "\n".join(new_groups(before)))
    with t.session() as session:
        for _ in range(count):
            calls = [session.start("run_bash", command="true") for _ in range(4)]
            for call in calls:
                call.wait()
        if t.exact:
            node = node_of(session)
            inside = [folder for folder, _, _ in os.walk(node)]
            t.ok(len(inside) <= 3 + 2 + 4, "leaves do not pile up: %d groups after %d commands" % (len(inside), 4 * count), "\n".join(inside))
    t.ok(host.wait_until(lambda: not new_groups(before), 5 * t.scale), "nothing is left of many commands", "\n".join(new_groups(before)))


CASES = [
    ("groups-inside", "no way out of a group", no_way_out),
    ("groups-files", "what is written", written),
    ("groups-ends", "every kind of end", ends),
    ("groups-killed", "after a kill", killed),
    ("groups-living", "others are left alone", living_are_kept),
    ("groups-quick", "many short ones", quick),
]
