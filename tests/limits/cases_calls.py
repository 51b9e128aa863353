"""What a result tells, what a call may ask for, and how limits are held here."""
import json
import os
import re
import subprocess

from cases_cpu import best_of, judge, worked
from cases_cpu import run as burn
from cases_memory import how_it_ended
from session import MIB


def doctor(t):
    done = subprocess.run([t.program, "doctor", "--json"], stdout=subprocess.PIPE, check=False, timeout=60 * t.scale)
    return json.loads(done.stdout)


def explained(t, *options):
    done = subprocess.run([t.program, "explain", "--json"] + list(options), stdout=subprocess.PIPE, check=False, timeout=60 * t.scale, cwd=t.workspace)
    return json.loads(done.stdout)


def find_mode(t):
    """From the product itself; nothing else may differ from what a result says."""
    with t.session("--memory", "256m", "--pids-limit", "64") as session:
        result = session.bash("true")
    t.mode = result.metrics.get("measured")
    t.ok(t.mode in ("exact", "approximate"), "a result says how it was measured: %s" % t.mode, result)
    if t.expect:
        t.ok(t.mode == t.expect, "limits are held as this machine must: %s" % t.expect, result)
    said = doctor(t)
    found = next((layer for layer in said["layers"] if layer["layer"] == "limits"), {})
    t.ok(found.get("status") == ("active" if t.exact else "weaker"), "doctor says the same: %s" % found.get("status"), json.dumps(found))
    t.ok(t.exact or found.get("repair"), "doctor knows a repair for less", json.dumps(found))
    limits = {limit["name"]: limit for limit in explained(t, "--memory", "256m").get("limits", [])}
    memory = limits.get("memory") or {}
    t.ok(memory.get("exact") is t.exact, "explain says the same: held by %s" % memory.get("held_by"), json.dumps(limits))
    if t.backend:
        t.ok(said["limits"]["backend"] == t.backend, "the back end is the one of this machine: %s" % t.backend, json.dumps(said["limits"]))


def cpu_time_agrees(result):
    """Whether the metrics have the CPU time that the program itself was told by the kernel. How the kernel divides it between user and
    system is a matter of the machine: an emulated one may give most of a mere computation to the system."""
    said = re.search(r"^cpus .*, ([0-9.]+) of [0-9.]+ seconds, ([0-9.]+) of them the user's$", result.text, re.MULTILINE)
    if not said:
        return False
    done, user = (1000 * float(said.group(i)) for i in (1, 2))
    slack = 0.2 * done + 200  # the shell's own, and what the kernel rounds
    has_user, has_system = result.metrics.get("cpu_user_ms", 0), result.metrics.get("cpu_system_ms", 0)
    return 0.8 * done <= has_user + has_system <= done + slack and abs(has_user - user) <= slack and abs(has_system - (done - user)) <= slack


def figures(t):
    """Everything that a result can tell, one command each."""
    with t.session("--memory", "512m") as session:
        metrics = session.bash("exit 7").metrics
        t.ok(metrics.get("exit_status") == 7 and "signal" not in metrics, "exit status", metrics)
        metrics = session.bash("kill -TERM $$").metrics
        t.ok(metrics.get("signal") == 15 and "exit_status" not in metrics, "signal", metrics)
        result = session.bash("sleep 0.5")
        t.ok(500 <= result.metrics.get("wall_ms", 0) <= result.seconds * 1000 + 1, "wall time", result)
        result = session.bash("./bomb --processes 1 --seconds 1 burn")
        t.ok(cpu_time_agrees(result), "CPU time, the user's and the system's", result)
        result = session.bash("dd if=/dev/zero of=/dev/null bs=1 count=400000 2>/dev/null")
        t.ok(result.metrics.get("cpu_system_ms", 0) > 10, "CPU time of the system", result)
        result = session.bash("(sleep 60 & sleep 60 & sleep 60) & sleep 0.3; true")
        t.ok(4 <= result.metrics.get("processes_peak", 0) <= 7 and result.metrics.get("exit_status") == 0, "processes of the background count", result)
        result = session.bash("sleep 60", timeout=1)
        t.ok(result.metrics.get("timed_out") is True and result.is_error, "timed out", result)
        result = session.bash("yes | head -c 300000")
        t.ok(result.metrics.get("truncated") is True, "output truncated", result.metrics)
        result = session.bash("true")
        wrong = [key for key in ("timed_out", "oom_killed", "pids_limit_hit", "truncated") if result.metrics.get(key)]
        t.ok(result.metrics.get("exit_status") == 0 and not wrong and not result.limit_lines(), "nothing of it for a command that does nothing", result)
        limits = result.metrics.get("limits") or {}
        t.ok(limits.get("memory") == 512 * MIB and limits.get("pids", 0) > 0 and "cpus" not in limits, "the limits that held, and no others", result)
    storage(t)


def storage(t):
    """Bytes to storage: only where the workspace is on one."""
    with t.session("--memory", "512m") as session:
        result = session.bash("dd if=/dev/zero of=written bs=1M count=32 conv=fsync 2>&1; rm written")
        written = result.metrics.get("bytes_written")
        if on_disk(t.workspace):
            t.ok(written is not None and 32 * MIB <= written <= 36 * MIB, "32 MiB written are reported as %s" % written, result)
        else:
            t.skip("32 MiB written", "the workspace is on no disk here")


def on_disk(path):
    """Whether a block device is below @path."""
    return os.stat(path).st_dev >> 8 != 0


def below(t):
    """A call may have less than its sandbox."""
    with t.session("--memory", "256m", "--pids-limit", "128", "--cpus", "1") as session:
        result = session.bash("./bomb --mib 200 --seconds 1.5 heap", memory="64m")
        t.ok(how_it_ended(result) == "killed" and result.metrics["limits"].get("memory") == 64 * MIB, "64 MiB for one call", result)
        t.ok("64 MiB" in " ".join(result.limit_lines()) and "argument memory" in " ".join(result.limit_lines()), "the text names the argument", result)
        result = session.bash("./bomb --mib 50 --seconds 0.5 heap", memory="64m")
        t.ok(how_it_ended(result) == "got all that it wanted", "50 of 64 MiB can be had", result)
        result = session.bash("./bomb --mib 200 --seconds 0.5 heap")
        t.ok(how_it_ended(result) == "got all that it wanted", "the next call has all again", result)
        result = session.bash("./bomb --processes 30 --seconds 0.5 crowd", pids=16)
        t.ok(result.metrics.get("exit_status") == 3 and result.metrics["limits"].get("pids") == 16, "16 processes for one call", result)
        result = session.bash("./bomb --processes 10 --seconds 0.5 crowd", pids=16)
        t.ok(result.metrics.get("exit_status") == 0, "10 of 16 can be had", result)
        result, others = best_of(t, session, "burn", 0.2, cpus=0.3)
        judge(t, "0.3 CPUs for one call: %s" % worked(result), result, others, 0.2, 0.4)
        t.ok(result.metrics["limits"].get("cpus") == 0.3, "the metrics name the limit of the call", result)


def above(t):
    """It cannot have more."""
    with t.session("--memory", "128m", "--pids-limit", "64", "--cpus", "0.5") as session:
        result = session.bash("./bomb --mib 300 --seconds 1.5 heap", memory="1g")
        t.ok(how_it_ended(result) == "killed" and result.metrics["limits"].get("memory") == 128 * MIB, "memory stays the sandbox's", result)
        result = session.bash("true", memory="1g")
        t.ok(any("asked for" in line for line in result.limit_lines()), "the text says that more was asked for", result)
        result = session.bash("./bomb --processes 80 --seconds 0.5 crowd", pids=1000)
        t.ok(result.metrics.get("exit_status") == 3 and 0 < result.metrics["limits"].get("pids", 0) <= 64, "processes stay the sandbox's", result)
        result = burn(t, session, "burn", cpus=8)
        t.ok((worked(result) or 9) <= 0.6 and result.metrics["limits"].get("cpus") == 0.5, "CPUs stay the sandbox's: %s" % worked(result), result)
        for arguments in ({"memory": "much"}, {"memory": "-1"}, {"cpus": -1}, {"pids": 0}):
            result = session.bash("true", **arguments)
            t.ok(result.is_error or result.error, "%s is refused" % arguments, result)


def required(t):
    """--require-limits starts only where limits are exact; --cgroup=none never is."""
    argv = [t.program, "run", "--workspace", t.workspace]
    def status(*options):
        return subprocess.run(argv + list(options) + ["--", "/bin/true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=60 * t.scale, cwd="/")
    done = status("--require-limits")
    t.ok(done.returncode == (0 if t.exact else 125), "--require-limits: %d" % done.returncode, done.stdout)
    if not t.exact:
        t.ok(done.stdout.count("\n") == 1 and "cgroup" in done.stdout, "the refusal says why", done.stdout)
    done = status("--cgroup=none", "--require-limits")
    t.ok(done.returncode == 125, "--require-limits with --cgroup=none is refused", done.stdout)
    done = status("--cgroup=none")
    t.ok(done.returncode == 0 and not done.stdout, "--cgroup=none", done.stdout)
    with t.session("--cgroup=none") as session:
        result = session.bash("true")
        t.ok(result.metrics.get("measured") == "approximate", "--cgroup=none is called approximate", result)
    done = status("--cgroup=/sys/fs/cgroup/there-is-none")
    t.ok(done.returncode == 125 and done.stdout.count("\n") == 1, "a group that is not there is refused by name", done.stdout)


FIRST = [("mode", "how limits are held here", find_mode)]
CASES = [
    ("calls-figures", "what a result tells", figures),
    ("calls-below", "a call with less", below),
    ("calls-above", "a call that asks for more", above),
    ("calls-required", "refusals", required),
]
