"""Processes, threads and open files: bombs, exact numbers, and what other commands have left meanwhile."""
import re

import host
from cases_memory import how_it_ended, reached
from session import MIB

LIMIT = 64
ESCAPED = 400  # processes at which a bomb stops by itself
BOMBS = ("fork", "fork-away", "fork-orphans", "vfork", "threads")
OPTIONS = ["--memory", "512m", "--pids-limit", str(LIMIT)]


def number(text, word):
    """The last "WORD N" of a bomb."""
    found = re.findall(r"^%s (\d+)$" % word, text, re.MULTILINE)
    return int(found[-1]) if found else None


def check_result(t, kind, result):
    """A command that wanted more processes than it could have is told so."""
    metrics, lines = result.metrics, result.limit_lines()
    t.ok(any("--pids-limit" in line and "process" in line for line in lines), "%s: the text names the limit and what to ask for" % kind, result)
    limit, peak = (metrics.get("limits") or {}).get("pids"), metrics.get("processes_peak", 0)
    t.ok(metrics.get("pids_limit_hit") is True and 0 < (limit or 0) <= LIMIT and LIMIT / 2 <= peak <= LIMIT + 2,
         "%s: the metrics say the same" % kind, result)


def let_off(t, session, usual, kind):
    running = session.start("run_bash", command="./bomb --processes %d --seconds 2 %s" % (ESCAPED, kind), timeout=int(20 + 10 * t.scale))
    host.wait_until(running.is_done, 0.7)
    can_start = host.can_start_programs()
    beside = session.bash("true") if not running.is_done() else None
    # A second one, so that both together come to the sandbox's limit.
    result = running.wait()
    t.ok(result.metrics.get("exit_status") == 3 or result.metrics.get("signal"), "%s: a bomb is stopped" % kind, result)
    t.answers(session, usual, "%s: the next calls are answered" % kind)
    t.ok(can_start, "%s: the host starts programs meanwhile" % kind)
    if beside is not None:
        t.ok(beside.metrics.get("exit_status") == 0 or beside.text.startswith("[Exit code: 0]"), "%s: another command can run beside it" % kind, beside)
    check_result(t, kind, result)


def bombs(t):
    with t.session(*OPTIONS) as session:
        usual = t.usual_answer(session)
        for _ in range(t.repeat):
            for kind in BOMBS:
                let_off(t, session, usual, kind)
        left = [name for name in session.processes().values() if name == "bomb"]
        t.ok(not left, "nothing of the bombs is left", left)


def endless(t):
    """Bombs that do not stop by themselves are ended by the time limit, at once and with all that they made."""
    with t.session(*OPTIONS) as session:
        usual = t.usual_answer(session)
        for kind in ("fork-away", "threads", "churn"):
            result = session.bash("./bomb --processes 100000 --seconds 1000 %s" % kind, timeout=2)
            t.ok(result.metrics.get("timed_out") is True and result.seconds < 2 + 1.5 * t.scale, "%s: ended by its time limit" % kind, result)
            t.answers(session, usual, "%s: the next calls are answered" % kind)


def bombs_are_real(t):
    with t.session("--memory", "0", "--pids-limit", "-1") as session:
        for kind in BOMBS:
            result = session.bash("./bomb --processes %d --seconds 20 %s" % (ESCAPED, kind), timeout=60)
            reached_all = (number(result.text, "threads" if kind == "threads" else "processes") or 0) >= ESCAPED
            t.ok(reached_all, "%s: gets all without the limit" % kind, result)


def exact_number(t):
    """As many as there may be can be had; the peak is what was there."""
    with t.session("--memory", "512m", "--pids-limit", "200") as session:
        result = session.bash("./bomb --processes 100 --seconds 1.5 crowd", timeout=int(20 + 10 * t.scale))
        t.ok(result.metrics.get("exit_status") == 0, "100 processes of 200 can be had", result)
        peak = result.metrics.get("processes_peak", 0)
        t.ok(100 <= peak <= 110, "100 processes are reported as %d" % peak, result)
        result = session.bash("./bomb --processes 201 --seconds 1 crowd", timeout=int(20 + 10 * t.scale))
        t.ok(result.metrics.get("exit_status") == 3, "201 processes cannot be had", result)
        check_more = any("--pids-limit" in line for line in result.limit_lines())
        t.ok(check_more, "the text says so", result)
        result = session.bash("true")
        t.ok(result.metrics.get("processes_peak", 0) <= 4 and not result.limit_lines() and not result.metrics.get("pids_limit_hit"),
             "a command after it is not blamed", result)


def two_bombs(t):
    """Several fork bombs together: the server goes on, and each can be ended."""
    with t.session(*OPTIONS) as session:
        usual = t.usual_answer(session)
        running = [session.start("run_bash", command="./bomb --processes 100000 --seconds 1000 fork", timeout=3) for _ in range(3)]
        host.wait_until(lambda: all(call.is_done() for call in running), 1)
        slow = []
        for _ in range(5):
            result = session.call("read_file", filepath="small")
            if result.seconds > 3 * t.cap(usual) or "small" not in result.text:
                slow.append(str(result))
        t.ok(not slow, "file tools answer during three bombs", "\n".join(slow))
        ends = [call.wait() for call in running]
        # One for which nothing was left fails at once; the shell says so.
        stopped = [end.metrics.get("timed_out") or end.metrics.get("exit_status") or end.is_error for end in ends]
        t.ok(all(stopped) and any(end.metrics.get("timed_out") for end in ends), "three bombs are ended", "\n".join(map(str, ends)))
        t.answers(session, usual, "the next calls are answered after three bombs")


def descriptors(t):
    """Open files: a limit for each process, and the machine has enough left."""
    with t.session("--memory", "256m", "--pids-limit", str(LIMIT), "--ulimit", "nofile=1000") as session:
        usual = t.usual_answer(session)
        for _ in range(t.repeat):
            with host.Watch() as watch:
                result = session.bash("./bomb --mib 768 files", timeout=int(60 + 20 * t.scale))
            t.ok(result.metrics.get("exit_status") == 3 and reached(result.text) < LIMIT, "a flood of open files ends", result)
            t.answers(session, usual, "files: the next calls are answered")
            t.ok(watch.taken < 512 * MIB and host.can_start_programs(), "the machine has files and memory left", "%d MiB" % (watch.taken / MIB))
        result = session.bash("i=3; while [ $i -lt 2000 ]; do eval \"exec $i</dev/null\" || exit 7; i=$((i+1)); done; echo all", timeout=60)
        t.ok("all" not in result.text.splitlines(), "one process has no more than 1000", result)
        result = session.bash("python3 -c 'f=[open(\"/dev/null\") for i in range(2000)]'")
        t.ok(any("nofile" in line for line in result.limit_lines()) or "not found" in result.text, "the text says so", result)


def many_small(t):
    """Memory in many processes counts together, whoever has it."""
    with t.session("--memory", "128m", "--pids-limit", "512") as session:
        result = session.bash("./bomb --mib 768 --seconds 2 small-processes", timeout=int(30 + 10 * t.scale))
        t.ok(how_it_ended(result) == "killed", "hundreds of processes of 2 MiB are stopped at 128 MiB", result)


CASES = [
    ("processes-bombs", "bombs of processes and threads", bombs),
    ("processes-endless", "bombs that never stop", endless),
    ("processes-real", "the same without a limit", bombs_are_real),
    ("processes-number", "exact numbers", exact_number),
    ("processes-several", "several bombs at once", two_bombs),
    ("processes-files", "floods of open files", descriptors),
    ("processes-small", "many small processes", many_small),
]
