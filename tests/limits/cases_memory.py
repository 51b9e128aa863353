"""Memory: bombs of every kind, amounts below and above the limit, peaks."""
import os
import re
import subprocess
import time

import host
from session import MIB

LIMIT = 256             # MiB of the sandbox
BOMB = 768              # MiB at which a bomb stops by itself: it has escaped then
SECONDS = 1.5           # for which an amount is held, so that whoever looks from time to time sees it
TRIES = 3               # there, since whoever else computes on the machine can keep init from looking
OVERSHOOT = 2           # times the limit that a bomb may have before init has seen it, where init watches
STALL_MAX = 0.05        # part of the time for which everything on the machine waited for memory; a bomb without a limit: 0.07 and more
BIG = ["--memory", "%dm" % LIMIT, "--tmpfs", "/tmp:size=1g", "--pids-limit", "512"]

CROWDED = 5             # times that, where hundreds of processes wait for the memory of their own group, and nobody else wants to run
FILES = 448 * 4096      # that a sandbox may have open with its usual limits

KILLED, REFUSED = "killed", "refused"
# How each kind ends. Where the kernel refuses to give more of it without an end by force, that is as good.
KINDS = {
    "heap": (KILLED,), "shared": (KILLED,), "shared-dropped": (KILLED,), "memfd": (KILLED,), "memfd-mapped": (KILLED,),
    "memfd-untouched": (KILLED,), "memfd-queued": (KILLED, REFUSED), "memfd-thread": (KILLED,), "tmpfs": (KILLED, REFUSED),
    "sysv": (KILLED, REFUSED), "sysv-unattached": (KILLED, REFUSED), "small-processes": (KILLED,), "page-tables": (KILLED,),
    "unix-stream": (KILLED, REFUSED), "unix-datagram": (KILLED, REFUSED), "udp": (KILLED, REFUSED), "tcp": (KILLED, REFUSED),
    "pipes": (KILLED, REFUSED), "messages": (KILLED, REFUSED), "semaphores": (KILLED, REFUSED), "files": (KILLED, REFUSED),
    "epoll": (KILLED, REFUSED),
}
# The kinds that are best known; the others hide better, or the kernel holds them.
BEST_KNOWN = ("heap", "shared", "memfd", "tmpfs", "sysv", "small-processes", "page-tables", "unix-stream")
# What is not stopped where init watches instead of the kernel; so that nobody forgets it.
OPEN_APPROXIMATE = {}
# Files in folders in memory are no command's own where init watches: they count for all of them together.
IN_FOLDERS = ("tmpfs",)
# Kinds of which a limit of 256 MiB means what it says: what a program counts is what the kernel keeps for it.
MEASURED = {
    "heap": ("heap", 1), "heap in 8 processes": ("heap", 8), "shared": ("shared", 1), "memfd": ("memfd", 1), "memfd-mapped": ("memfd-mapped", 1),
    "tmpfs": ("tmpfs", 1), "sysv": ("sysv", 1), "sysv-unattached": ("sysv-unattached", 1), "page-tables": ("page-tables", 1),
}


def reached(text):
    """MiB that a bomb had when it last said so."""
    found = re.findall(r"^(?:got )?(\d+) (MiB|bytes)$", text, re.MULTILINE)
    return max([int(number) // (1 if unit == "MiB" else MIB) for number, unit in found], default=0)


def how_it_ended(result):
    if result.metrics.get("oom_killed") or (result.is_error and result.limit_lines()):
        return KILLED
    if re.search(r"^refused at ", result.text, re.MULTILINE):
        return REFUSED
    if re.search(r"^got \d+ bytes$", result.text, re.MULTILINE):
        return "got all that it wanted"
    return "ended in another way"


def check_text(t, kind, result):
    """A command that was killed for its memory: the result names the limit, for people and for programs."""
    metrics, lines = result.metrics, result.limit_lines()
    t.ok(lines and "%d MiB" % LIMIT in lines[0] and "--memory" in lines[0] and "killed" in lines[0],
         "%s: the text names the limit, its value and what to ask for" % kind, result)
    limit, peak = (metrics.get("limits") or {}).get("memory"), metrics.get("memory_peak", 0)
    if kind in IN_FOLDERS and not t.exact:
        peak = LIMIT * MIB  # what nobody can be blamed for
    most = LIMIT * MIB * (1.02 if t.exact else OVERSHOOT + 0.5)  # the figure has page tables and stacks of hundreds of processes besides
    t.ok(metrics.get("oom_killed") is True and metrics.get("signal") == 9 and limit == LIMIT * MIB and 0.8 * LIMIT * MIB <= peak <= most,
         "%s: the metrics say the same" % kind, result)


def amount(kind):
    """MiB of a bomb. On a small machine one of them wants more than there is."""
    return max(BOMB, 2 * host.total() // MIB) if kind == "heap" and host.total() < 4096 * MIB else BOMB


def let_off(t, session, usual, kind, first):
    most = LIMIT + 8 if t.exact else LIMIT * OVERSHOOT
    for late in range(1 if t.exact else TRIES):
        host.settle(1)
        before = host.available()
        with host.Watch() as watch:
            result = session.bash("./bomb --mib %d --seconds %g %s" % (amount(kind), SECONDS, kind), timeout=int(30 + 20 * t.scale))
        end = how_it_ended(result)
        if end != KILLED or reached(result.text) <= most:
            break
        t.note("%s: stopped at %d MiB, the %d. time" % (kind, reached(result.text), late + 1))
    if t.mode == "approximate" and kind in OPEN_APPROXIMATE:
        t.skip("%s: a bomb is stopped" % kind, "not held here: " + OPEN_APPROXIMATE[kind])
        return
    if not t.exact and end == KILLED and reached(result.text) > most and t.is_crowded():
        t.skip("%s: a bomb is stopped" % kind, "stopped at %d MiB, but %d programs want to run: init had no CPU to look" %
               (reached(result.text), host.runnable()))
        t.answers(session, usual, "%s: the next calls are answered" % kind)
        return
    t.ok(end in KINDS[kind] and reached(result.text) <= most, "%s: a bomb is stopped" % kind,
         "it %s, at %d MiB; the machine lost %d MiB\n%s" % (end, reached(result.text), watch.taken / MIB, result))
    t.answers(session, usual, "%s: the next calls are answered" % kind)
    if end == KILLED:
        check_text(t, kind, result)
    elif end == REFUSED and first:
        t.note("%s: refused by the kernel at %d MiB" % (kind, reached(result.text)))
    if watch.trouble and kind == "files" and host.file_max() < FILES:
        t.skip("%s: other programs can work" % kind, "fs.file-max of this machine, %d, is less than one sandbox may open" % host.file_max())
    else:
        t.ok(watch.trouble is None, "%s: other programs can work" % kind, watch.trouble)
    # Nearly three times the limit would have been taken.
    t.ok(watch.taken < (LIMIT * 2 + 128) * MIB, "%s: the machine's memory was not taken" % kind, "%d MiB" % (watch.taken / MIB))
    if watch.stall_share is not None:
        t.ok(watch.stall_share < STALL_MAX * (CROWDED if kind == "small-processes" else 1), "%s: the machine did not wait for memory" % kind, "%.0f %% of the time" % (watch.stall_share * 100))
    back = host.wait_until(lambda: host.available() > before - 512 * MIB, 5 * t.scale)
    t.ok(back, "%s: the memory is free again" % kind, "%d MiB of %d" % (host.available() / MIB, before / MIB))


def bombs(t, kinds=BEST_KNOWN):
    with t.session(*BIG) as session:
        usual = t.usual_answer(session)
        t.note("a small command takes %.1f ms" % (usual * 1000))
        for i in range(t.repeat):
            for kind in kinds:
                let_off(t, session, usual, kind, i == 0)


def other_bombs(t):
    bombs(t, [kind for kind in KINDS if kind not in BEST_KNOWN])


def bombs_are_real(t):
    """Without the limit the same bombs get what they want."""
    with t.session("--memory", "0", "--tmpfs", "/tmp:size=1g", "--pids-limit", "-1") as session:
        for kind in KINDS:
            result = session.bash("./bomb --mib %d %s" % (LIMIT * 1.5, kind), timeout=int(30 + 20 * t.scale))
            end = how_it_ended(result)
            if end == REFUSED and KINDS[kind] != (KILLED,):
                t.note("%s: without a limit of memory the kernel gave %d MiB" % (kind, reached(result.text)))
                t.ok(reached(result.text) > LIMIT * 0.7, "%s: gets more without the limit" % kind, result)
            else:
                t.ok(end == "got all that it wanted", "%s: gets all without the limit" % kind, result)


def amounts(t):
    """A limit is neither less nor more than it says."""
    with t.session(*BIG) as session:
        for name, (kind, processes) in MEASURED.items():
            for amount, passes in ((240, True), (280, False)):
                result = session.bash("./bomb --mib %d --processes %d --seconds %g %s" % (amount, processes, SECONDS, kind), timeout=int(30 + 20 * t.scale))
                end = how_it_ended(result)
                good = end == "got all that it wanted" if passes else end in (KILLED, REFUSED) and reached(result.text) < amount + 1
                t.ok(good, "%s: %d of %d MiB %s" % (name, amount, LIMIT, "can be had" if passes else "cannot be had"), "%s\n%s" % (end, result))


def peaks(t):
    """The peak in the result is what the program took."""
    with t.session("--memory", "1g", "--tmpfs", "/tmp:size=1g") as session:
        for name, (kind, processes) in MEASURED.items():
            if kind in IN_FOLDERS and not t.exact:
                t.skip("%s: the peak" % name, "counts for all commands together where init watches")
                continue
            result = session.bash("./bomb --mib 200 --processes %d --seconds %g %s" % (processes, SECONDS, kind), timeout=int(30 + 20 * t.scale))
            peak = result.metrics.get("memory_peak", 0) / MIB
            t.ok(180 <= peak <= 220, "%s: 200 MiB are reported as %.1f" % (name, peak), result)
        result = session.bash("true")
        t.ok(0 < result.metrics.get("memory_peak", 0) < 20 * MIB, "a command after it has a peak of its own", result)


def totals(t):
    """Several commands together have the limit of the sandbox; the one with the most is ended."""
    with t.session(*BIG) as session:
        small = session.start("run_bash", command="./bomb --mib 40 --seconds 6 heap")
        first = session.start("run_bash", command="./bomb --mib 100 --seconds 6 heap")
        host.wait_until(first.is_done, 1)
        second = session.start("run_bash", command="./bomb --mib 180 --seconds 4 heap").wait()
        results = [small.wait(), first.wait(), second]
        ends = [how_it_ended(result) for result in results]
        t.ok(KILLED in ends[1:] and ends[0] == "got all that it wanted",
             "three commands of 40, 100 and 180 MiB: a large one is ended, the small one is not", "\n".join(map(str, results)))
        killed = next((result for result in results if how_it_ended(result) == KILLED), second)
        t.ok("together" in " ".join(killed.limit_lines()), "the text says that it was all commands together", killed)


def full_folders(t):
    """Folders in memory, full, leave enough for the commands that come."""
    with t.session("--memory", "%dm" % LIMIT) as session:
        result = session.bash("for d in /tmp /dev/shm /home/agent; do head -c 1G /dev/zero >$d/full; done 2>&1; df -m /tmp /dev/shm /home/agent",
                              timeout=int(30 + 20 * t.scale))
        t.ok("No space left" in result.text, "folders in memory have an end", result)
        t.ok(any("/tmp" in line and "full" in line for line in session.bash("echo x >/tmp/more").limit_lines()), "the text says that /tmp is full",
             session.bash("echo x >/tmp/more"))
        after = session.bash("./bomb --mib 80 --seconds %g heap" % SECONDS)
        t.ok(how_it_ended(after) == "got all that it wanted", "a command can work with a third of the memory while they are full", after)


def one_command(t):
    """`cloche run`: the same limit, the same words."""
    done = subprocess.run([t.program, "run", "--workspace", t.workspace] + BIG + ["--", "./bomb", "--mib", str(BOMB), "--seconds", "1", "heap"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=60 * t.scale, cwd="/")
    t.ok(done.returncode == 137 and re.search(r"^cloche: .*killed: used .*%d MiB.*--memory" % LIMIT, done.stderr, re.MULTILINE),
         "cloche run ends with 137 and says why", "status %d\n%s" % (done.returncode, done.stderr))


def server_lives(t):
    """A server goes on while its commands are at their limit."""
    with t.session(*BIG) as session:
        usual = t.usual_answer(session)
        loop = session.start("run_bash", command="while :; do (./bomb --mib %d heap >/dev/null); done" % BOMB, timeout=5)
        full = session.start("run_bash", command="./bomb --mib 200 --seconds 4 shared", timeout=20)
        slow, cap, count = [], t.cap(usual) * 3, 0
        while not (loop.is_done() and full.is_done()):
            time.sleep(0.02)
            os.utime(os.path.join(t.workspace, "small"))
            for what, call in (("ping", session.request("ping")), ("read_file", session.start("read_file", filepath="small")),
                               ("list_directory", session.start("list_directory", path=".")),
                               ("write_file", session.start("write_file", filepath="new", content="x\n", create_only=False))):
                result = call.wait()
                if result.seconds > cap or result.is_error or result.error:
                    slow.append("%s: %s" % (what, result))
            count += 1
        t.ok(count >= 3 and not slow, "ping and file tools answer during bombs (%d rounds)" % count, "\n".join(slow[:3]) + "\n" + str(loop.wait()))


CASES = [
    ("memory-bombs", "memory bombs of the %d best known kinds" % len(BEST_KNOWN), bombs),
    ("memory-others", "memory bombs of %d other kinds" % (len(KINDS) - len(BEST_KNOWN)), other_bombs),
    ("memory-real", "the same without a limit", bombs_are_real),
    ("memory-amounts", "240 of 256 MiB can be had, 280 cannot", amounts),
    ("memory-peaks", "the peak that is reported", peaks),
    ("memory-totals", "several commands together", totals),
    ("memory-folders", "folders in memory", full_folders),
    ("memory-run", "cloche run", one_command),
    ("memory-server", "the server during bombs", server_lives),
]
