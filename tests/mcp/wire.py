"""What the tests of cloche-mcp on the wire share: the server without a sandbox around it, a conversation with it, and TAP.

A test program is tests/mcp/wire_NAME_test.py. It defines functions without arguments, which raise when something is wrong,
and ends in `sys.exit(run(TESTS))`. Called as

    wire_NAME_test.py [FAKEINIT CLOCHE-MCP [TEST...]]

it runs all of them, or those that are named. Without arguments the programs are those that TEST_FAKEINIT and CLOCHE
(cloche-mcp lies beside it) name. FAKEINIT starts the server and its commands without isolation.
"""
import atexit
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

from wire_messages import initialize, line_of, notification, NONE

if len(sys.argv) > 2:
    FAKEINIT, SERVER = (os.path.abspath(p) for p in sys.argv[1:3])
else:
    FAKEINIT, SERVER = os.environ["TEST_FAKEINIT"], os.path.join(os.path.dirname(os.environ["CLOCHE"]), "cloche-mcp")
ROOT = tempfile.mkdtemp(prefix="cloche-wire-")  # the workspace
atexit.register(shutil.rmtree, ROOT, ignore_errors=True)
with open(SERVER, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()


class Failed(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Failed(text)


def command(*options, fake=()):
    return [FAKEINIT, *fake, SERVER, "--root", ROOT, *options]


def strict(line):
    """Parses one line of output and insists on what every reader may rely on."""
    text = line.decode("utf-8")  # strict
    need("\x00" not in text and "\\u0000" not in text, "NUL in the output")
    need(len(text.splitlines()) == 1, "several lines for a reader that splits at Unicode line ends: %r" % text[:200])
    value = json.loads(text)
    for message in value if isinstance(value, list) else [value]:
        need(message.get("jsonrpc") == "2.0", "no jsonrpc in %r" % text[:200])
        need(message.get("id", 0) is not None, "an id of null in %r" % text[:200])
    return value


def exchange(data, *options, timeout=20):
    """Feeds @data to a fresh server, closes its input, returns (messages, exit status, raw lines)."""
    p = subprocess.run(command(*options), input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)
    lines = p.stdout.split(b"\n")
    need(lines.pop() == b"", "the output does not end in a line break")
    need(b"Sanitizer" not in p.stderr, p.stderr.decode(errors="replace"))
    return [strict(l) for l in lines], p.returncode, lines


class Server:
    """A running server with a conversation."""

    def __init__(self, *options, version="2025-06-18", fake=(), **popen):
        popen.setdefault("stderr", subprocess.DEVNULL)
        self.p = subprocess.Popen(command(*options, fake=fake), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **popen)
        self.buffer = b""
        self.answers = {}
        if version:
            self.send(initialize(version))
            need(self.answer("init")["result"]["protocolVersion"] == version, "handshake")
            self.send(notification("notifications/initialized"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()
        for stream in (self.p.stdin, self.p.stdout, self.p.stderr):
            try:
                if stream:
                    stream.close()
            except BrokenPipeError:
                pass

    def send(self, *messages):
        self.raw(b"".join(line_of(m) for m in messages))

    def raw(self, data):
        self.p.stdin.write(data)
        self.p.stdin.flush()

    def message(self, timeout=15):
        deadline = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            if not select.select([self.p.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Failed("no message within %s s" % timeout)
            data = os.read(self.p.stdout.fileno(), 65536)
            if not data:
                raise Failed("the server ended (status %s)" % self.p.wait(5))
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return strict(line)

    def answer(self, id_, timeout=15, seen=None):
        """The answer to @id_; answers to others are kept for those who ask for them."""
        while id_ not in self.answers:
            m = self.message(timeout)
            if seen is not None:
                seen.append(m)
            if isinstance(m, dict) and ("result" in m or "error" in m):
                self.answers[m.get("id", NONE)] = m
        return self.answers.pop(id_)

    def silence(self, seconds):
        try:
            m = self.message(seconds)
        except Failed:
            return
        raise Failed("unexpected message %r" % m)

    def end(self, timeout=10):
        self.p.stdin.close()
        return self.p.wait(timeout)


def server_pid(fakeinit_pid):
    """The server is the first child of its init."""
    with open("/proc/%d/task/%d/children" % (fakeinit_pid, fakeinit_pid)) as f:
        return int(f.read().split()[0])


def peak_kib(fakeinit_pid):
    with open("/proc/%d/status" % server_pid(fakeinit_pid)) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))


def sleeper(number):
    """A command line that only this run of the tests uses."""
    return "sleep %d.%d" % (86400 + number, os.getpid())


def alive(line):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if f.read().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace") == line:
                    return True
        except OSError:
            pass
    return False


def wait_until(condition, what, seconds=5):
    deadline = time.monotonic() + seconds
    while not condition():
        need(time.monotonic() < deadline, "%s within %s s" % (what, seconds))
        time.sleep(0.02)


def guarded(number, name, function, *args):
    """Runs one test and prints its line. Returns whether it failed."""
    try:
        function(*args)
        problem = None
    except Exception as e:  # whatever goes wrong is one failed test
        problem = "%s: %s" % (type(e).__name__, e)
    print("not ok" if problem else "ok", number, "-", name, flush=True)
    for line in (problem or "").splitlines()[:20]:
        print("#", line[:400], flush=True)
    return problem is not None


def run(tests):
    """Runs @tests, or those of them that the command line names: functions, or tuples (name, function, argument...).
    Returns the exit status."""
    tests = [t if isinstance(t, tuple) else (t.__name__, t) for t in tests]
    chosen = [t for t in tests if t[0] in sys.argv[3:]] if len(sys.argv) > 3 else tests
    print("1..%d" % len(chosen))
    failures = sum([guarded(i, name.replace("_", " "), *rest) for i, (name, *rest) in enumerate(chosen, 1)])
    return 1 if failures or not chosen else 0
