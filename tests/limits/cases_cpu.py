"""CPUs: the work that is done under a limit, measured by the programs that do it."""
import os
import re
import time

import host

SECONDS = 2
KINDS = ("burn", "burn-threads", "burn-vfork", "burn-short", "burn-orphans")
OTHERS = 0.5  # CPUs that other programs had: then less than a limit allows says nothing
ATTEMPTS = 4  # a machine on which others work gives less than the limit allows: then once more


def worked(result):
    """CPUs that the program had, by its own account; None when it did not come to its end."""
    found = re.search(r"^cpus ([0-9.]+),", result.text, re.MULTILINE)
    return float(found.group(1)) if found else None


def run(t, session, kind, processes=4, **arguments):
    return session.bash("./bomb --processes %d --seconds %d %s" % (processes, SECONDS, kind), timeout=int(20 + 10 * t.scale), **arguments)


def best_of(t, session, kind, least, **arguments):
    """The run that came nearest to what can be had, and the CPUs that others had during the last."""
    for _ in range(ATTEMPTS):
        begin, busy = time.monotonic(), host.busy_seconds()
        result = run(t, session, kind, **arguments)
        others = (host.busy_seconds() - busy) / (time.monotonic() - begin) - (worked(result) or 0)
        if (worked(result) or 0) >= least:
            break
    return result, others


def judge(t, name, result, others, least, most):
    """Less than a limit allows is no fault of the limit where others had the rest of the machine; more always is one."""
    got = worked(result)
    if got is not None and got < least and others > OTHERS:
        t.skip(name, "others had %.1f of %d CPUs" % (others, os.cpu_count()))
    else:
        t.ok(got is not None and least <= got <= most, name, "%s CPUs of work, others had %.2f\n%s" % (got, others, result))


def reported(result):
    metrics = result.metrics
    return (metrics.get("cpu_user_ms", 0) + metrics.get("cpu_system_ms", 0)) / max(metrics.get("wall_ms", 0), 1)


def one_limit(t, cpus):
    with t.session("--cpus", "%g" % cpus) as session:
        usual = t.usual_answer(session)
        for kind in KINDS:
            # Between the processes that nobody waits for are pauses, and making them is work too: what counts is that it is not more.
            least = cpus - 0.1 if kind != "burn-orphans" else cpus * 0.1
            result, others = best_of(t, session, kind, least)
            judge(t, "%s: %s CPUs of work under --cpus %g" % (kind, worked(result), cpus), result, others, least, cpus + 0.1)
            t.answers(session, usual, "%s: the next calls are answered" % kind)
            t.ok(reported(result) <= cpus + 0.1, "%s: the metrics say no more than %g CPUs, all counted" % (kind, cpus), result)
            if kind == "burn":
                check_result(t, cpus, worked(result) or 0, others, result)


def check_result(t, cpus, got, others, result):
    metrics = result.metrics
    t.ok(abs(reported(result) - got) <= 0.1 * max(got, 0.1) + 0.05, "the metrics say %.2f CPUs, the program %.2f" % (reported(result), got), result)
    t.ok((metrics.get("limits") or {}).get("cpus") == cpus, "the metrics name the limit of %g CPUs" % cpus, result)
    if others > OTHERS:
        t.skip("the result says that it was held back", "others had %.1f of %d CPUs, which held it back too" % (others, os.cpu_count()))
    elif got >= cpus - 0.1 and cpus < os.cpu_count():
        t.ok(metrics.get("throttled_ms", 0) > 0, "the metrics say that it was held back", result)
        t.ok(any("held back" in line and "--cpus" in line for line in result.limit_lines()), "the text says that it was held back", result)


def one_cpu(t):
    one_limit(t, 1)


def half_a_cpu(t):
    one_limit(t, 0.5)


def two_cpus(t):
    count = len(os.sched_getaffinity(0))
    if count <= 2:
        t.skip("2.0 CPUs of work under --cpus 2", "this machine has %d CPUs, so that nobody could have more" % count)
        return
    one_limit(t, 2)


def burners_are_real(t):
    """Without a limit the same programs have what the machine gives."""
    count = len(os.sched_getaffinity(0))
    wanted = 0.75 if count == 1 else 1.3
    with t.session() as session:
        result, others = best_of(t, session, "burn", wanted)
        judge(t, "%s CPUs of work without a limit" % worked(result), result, others, wanted, count + 0.1)
        t.ok("throttled_ms" not in result.metrics and "cpus" not in (result.metrics.get("limits") or {}) and not result.limit_lines(),
             "nothing says that it was held back", result)


def several(t):
    """Two commands together have the limit of the sandbox."""
    with t.session("--cpus", "1") as session:
        usual = t.usual_answer(session)
        for _ in range(ATTEMPTS):
            begin, busy, slow = time.monotonic(), host.busy_seconds(), []
            calls = [session.start("run_bash", command="./bomb --processes 2 --seconds %d burn" % SECONDS, timeout=60) for _ in range(2)]
            while not all(call.is_done() for call in calls):
                result = session.call("read_file", filepath="small")
                if result.seconds > 3 * t.cap(usual):
                    slow.append(str(result))
                host.wait_until(lambda: all(call.is_done() for call in calls), 0.2)
            results = [call.wait() for call in calls]
            total = sum(worked(result) or 0 for result in results)
            others = (host.busy_seconds() - busy) / (time.monotonic() - begin) - total
            if total >= 0.9:
                break
        name, details = "two commands: %.2f CPUs of work under --cpus 1" % total, "\n".join(map(str, results))
        if total < 0.9 and others > OTHERS:
            t.skip(name, "others had %.1f of %d CPUs" % (others, os.cpu_count()))
        else:
            t.ok(0.9 <= total <= 1.1, name, details)
        t.ok(not slow, "file tools answer while they compute", "\n".join(slow))


def burners_stop(t):
    """Burners that never stop are ended by the time limit."""
    with t.session("--cpus", "1") as session:
        usual = t.usual_answer(session)
        for _ in range(t.repeat):
            for kind in ("burn", "burn-threads"):
                result = session.bash("./bomb --processes 16 --seconds 1000 %s" % kind, timeout=1)
                t.ok(result.metrics.get("timed_out") is True and result.seconds < 1 + 1.5 * t.scale, "%s: ended by its time limit" % kind, result)
                t.answers(session, usual, "%s: the next calls are answered" % kind)


CASES = [
    ("cpu-one", "--cpus 1", one_cpu),
    ("cpu-half", "--cpus 0.5", half_a_cpu),
    ("cpu-two", "--cpus 2", two_cpus),
    ("cpu-real", "the same without a limit", burners_are_real),
    ("cpu-several", "several commands together", several),
    ("cpu-endless", "burners that never stop", burners_stop),
]
