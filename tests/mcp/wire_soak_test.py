#!/usr/bin/env python3
"""The server over a long time: a great many messages, malformed streams, many starts, neighbours on one workspace. Prints TAP.

How to call it: wire.py. TEST_WIRE_MESSAGES is how many messages the longest conversation has (20000; a million takes minutes).
"""
import os
import random
import sys

from wire import ROOT, SANITIZED, Server, exchange, need, run, server_pid
from wire_messages import META, NONE, OK, PING, call, initialize, line_of, notification, outcome, request, text_of
from wire_table import TABLE

MESSAGES = int(os.environ.get("TEST_WIRE_MESSAGES", "20000"))
WINDOW = 64  # requests under way at once: less than the server holds, so that it never waits for us


def memory_kib(server):
    """What the server has of its own now: neither its program nor what it has read from files."""
    with open("/proc/%d/status" % server_pid(server.p.pid)) as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon"))


def descriptors(server):
    return len(os.listdir("/proc/%d/fd" % server_pid(server.p.pid)))


def conversation(number):
    """The message of this number, and whether it is answered."""
    kinds = [
        lambda i: (request(i, "ping"), True),
        lambda i: (request(i, "tools/list"), True),
        lambda i: (call(i, "read_file", filepath="soak.txt"), True),
        lambda i: (call(i, "read_file", filepath="nothing-here"), True),
        lambda i: (call(i, "list_directory", nope=i), True),
        lambda i: (request(i, "nope/%d" % i), True),
        lambda i: (request(i, "server/discover", _meta=META), True),
        lambda i: (request(i, "tools/list", _meta=META), True),
        lambda i: (initialize(id_=i), True),
        lambda i: (notification("notifications/cancelled", requestId=i - 7), False),
        lambda i: (notification("notifications/%d" % i), False),
        lambda i: ("x" * (i % 3000), False),
        lambda i: ({"jsonrpc": "2.0", "id": i, "result": {}}, False),
        lambda i: (call(i, "search_workspace", pattern="nothing-%d" % i) if i % 50 == 0 else request(i, "ping"), True),
        lambda i: (call(i, "run_bash", command="echo %d" % i) if i % 500 == 0 else request(i, "ping"), True),
    ]
    return kinds[number % len(kinds)](number)


def many_messages():
    """Memory and descriptors are those of the first quarter. What is not answered stays unanswered."""
    with open(os.path.join(ROOT, "soak.txt"), "w") as f:
        f.write("a line\n" * 100)
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        pending, first = set(), None

        def settle(most):
            while len(pending) > most:
                m = s.message(60)
                if "method" in m:
                    continue
                # A cancelled call has no answer; a line that is no message one without id.
                pending.discard(m.get("id", NONE))

        for i in range(MESSAGES):
            message, answered = conversation(i)
            if message.__class__ is dict and message["method" if "method" in message else "result"] == "notifications/cancelled":
                pending.discard(message["params"]["requestId"])
            if answered:
                pending.add(i)
            s.send(message)
            settle(WINDOW)
            if i == MESSAGES // 4:
                settle(0)
                first = memory_kib(s), descriptors(s)
        settle(0)
        last = memory_kib(s), descriptors(s)
        print("# %d messages: %d KiB and %d descriptors after a quarter, %d KiB and %d at the end" % (MESSAGES, *first, *last))
        # An allocator keeps some; the sanitizer's keeps what was freed (its quarantine), up to 256 MiB.
        need(last[0] < first[0] + (400000 if SANITIZED else 2048), "memory grew from %d to %d KiB" % (first[0], last[0]))
        need(last[1] <= first[1], "descriptors grew from %d to %d" % (first[1], last[1]))
        s.send(request("p", "ping"))
        s.answer("p")
        need(s.end() == 0, "exit status")


def mutated(rng, data):
    """@data with a few bytes changed, taken out, doubled or put in."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            data[at:at + rng.randint(1, 8)] = b""
        elif kind == 1:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
        elif kind == 2:
            data[at:at] = data[:rng.randint(0, 40)]
        elif kind == 3:
            data[at:at] = rng.choice([b'"', b"\\", b"{", b"]", b",", b"\\u0000", b"\\ud800", b"\xff", b"\n", b"null", b"1e999", b"[[[[", b"}}"])
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data).replace(b"run_bash", b"run_bush")  # no command that chance made up


def malformed_streams():
    """Whatever comes, the server goes on, and what it says is a message."""
    rows = [data for _, data, _ in TABLE if 0 < len(data) < 2000]
    for seed in range(20):
        rng = random.Random(seed)
        stream = b"".join(mutated(rng, rng.choice(rows)) for _ in range(200))
        stream += bytes(rng.randrange(256) for _ in range(5000)) + b"\n" + PING
        messages, status, _ = exchange(stream)
        need(status == 0, "exit status %d with seed %d" % (status, seed))
        need(("after", OK) in [outcome(m) for m in messages if isinstance(m, dict)], "no answer at the end with seed %d" % seed)


def starts_and_stops():
    """A hundred short lives, some ended politely and some not, leave nothing in the workspace."""
    before = sorted(os.listdir(ROOT))
    for i in range(100):
        with Server(version=None if i % 3 else "2025-11-25") as s:
            s.send(request(1, "ping"), call(2, "read_file", filepath="nothing"))
            s.answer(1)
            if i % 2:
                need(s.end() == 0, "exit status of start %d" % i)
    need(sorted(os.listdir(ROOT)) == before, "left in the workspace: %r" % os.listdir(ROOT))


def neighbours():
    """Two servers on one workspace: each sees what the other writes, and no file is a mixture of two."""
    with Server() as a, Server("--log-level", "error") as b:
        for i in range(20):
            one, other = (a, b) if i % 2 else (b, a)
            one.send(call(i, "write_file", filepath="shared.txt", content="number %d\n" % i, create_only=False))
            need(one.answer(i)["result"]["isError"] is False, "a write that failed")
            other.send(call(i, "read_file", filepath="shared.txt"))
            text = text_of(other.answer(i))
            need("number %d" % i in text, text)
        texts = {s: "".join("%s %d\n" % (s, i) for i in range(2000)) for s in "ab"}
        for name, s in (("a", a), ("b", b)):
            s.send(*[call("w%d" % i, "write_file", filepath="race.txt", content=texts[name], create_only=False) for i in range(20)])
        written = 0
        for s in (a, b):
            for i in range(20):
                result = s.answer("w%d" % i, 30)["result"]
                written += not result["isError"]
                # Who comes between two steps of another is told so, and has changed nothing.
                need(not result["isError"] or "changed by something else" in result["content"][0]["text"] or "exists" in result["content"][0]["text"],
                     result)
        need(written > 0, "nobody could write")
        with open(os.path.join(ROOT, "race.txt")) as f:
            need(f.read() in texts.values(), "the contents of two writers are mixed")
        need(a.end() == 0, "exit status of the first")
        b.send(request("p", "ping"))
        b.answer("p")
        need(b.end() == 0, "exit status of the second")
    left = [n for n in os.listdir(ROOT) if n.startswith(".") or n.endswith("~")]
    need(not left, "left in the workspace: %r" % left)


TESTS = [many_messages, malformed_streams, starts_and_stops, neighbours]

if __name__ == "__main__":
    sys.exit(run(TESTS))
