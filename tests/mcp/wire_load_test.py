#!/usr/bin/env python3
"""The server under load: many calls at once, large and many messages, readers that are slow or read nothing. Prints TAP.

How to call it: wire.py.
"""
import os
import subprocess
import sys
import threading
import time

from wire import ROOT, SANITIZED, Server, alive, command, exchange, need, peak_kib, sleeper, wait_until, run
from wire_messages import INVALID, MAX_LINE, NONE, OK, PING, call, line_of, notification, outcome, request, text_of


def cancellation():
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        s.send(call(1, "run_bash", command=sleeper(11) + " & " + sleeper(12)), request(2, "ping"))
        s.answer(2)
        wait_until(lambda: alive(sleeper(12)), "the command runs")
        s.send(notification("notifications/cancelled", requestId="1"))  # another type: not this one
        time.sleep(0.2)
        need(alive(sleeper(12)), "an id of another type cancelled it")
        s.send(notification("notifications/cancelled", requestId=1), notification("notifications/cancelled", requestId=1))
        wait_until(lambda: not alive(sleeper(11)) and not alive(sleeper(12)), "both processes are gone")
        s.silence(0.3)
        s.send(call(1, "run_bash", command="echo again"))  # the id is free again
        need("again" in text_of(s.answer(1)), "the id after its cancellation")
        s.send(notification("notifications/cancelled", requestId=1), request(3, "ping"))
        s.answer(3)


def ping_times(s, name, count=40):
    """How long each of @count pings took, in seconds, the shortest first."""
    times = []
    for i in range(count):
        t = time.monotonic()
        s.send(request("%s-%d" % (name, i), "ping"))
        s.answer("%s-%d" % (name, i))
        times.append(time.monotonic() - t)
    return sorted(times)


def concurrency():
    """Fifty-five commands and as many searches at once: a quick call and a ping overtake them, and no answer is mixed up."""
    for i in range(300):
        with open(os.path.join(ROOT, "searched-%d.txt" % i), "w") as f:
            f.write("some line\n" * 2000)
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        idle = ping_times(s, "idle")
        t = time.monotonic()
        s.send(*[call(i, "run_bash", command="i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 1; echo n%d" % i) for i in range(55)])
        s.send(*[call("s%d" % i, "search_workspace", pattern="no such line %d" % i) for i in range(55)])
        s.send(call("file", "list_directory", path="."))
        busy = ping_times(s, "busy")
        print("# ping: median %.2f ms idle, %.2f ms busy; longest %.2f and %.2f ms"
              % tuple(1000 * x for x in (idle[20], busy[20], idle[-1], busy[-1])))
        # The machine has other work as well: what counts is that no ping waits for a tool.
        need(busy[20] < max(0.05, 20 * idle[20]), "ping during 110 calls: %.3f s, idle %.3f s" % (busy[20], idle[20]))
        got = [text_of(s.answer(i, 60)) for i in range(55)]
        need(all("n%d\n" % i in got[i] for i in range(55)), "answers are mixed up")
        for i in range(55):
            need(s.answer("s%d" % i, 60)["result"]["isError"] is False, "a search")
        s.answer("file", 60)
        need(time.monotonic() - t < 30, "55 sleeps of 1 s took %.1f s" % (time.monotonic() - t))
        s.send(*[call(i, "run_bash", command="echo n%d" % i) for i in range(300)])
        got = [text_of(s.answer(i, 60)) for i in range(300)]
        need(all("n%d\n" % i in got[i] for i in range(300)), "answers of 300 queued calls are mixed up")


def one_byte_writes():
    with Server() as s:
        for b in line_of(request(1, "ping")):
            s.raw(bytes([b]))
        s.answer(1)


def sizes():
    with Server() as s:
        head = b'{"jsonrpc":"2.0","id":"exact","method":"ping","params":{"x":"'
        tail = b'"}}'
        for extra in (0, 1):
            s.raw(head + b"x" * (MAX_LINE - len(head) - len(tail) + extra) + tail + b"\n")
            a = s.answer("exact", 30)
            need(outcome(a) == ("exact", INVALID if extra else OK), "%d bytes over: %r" % (extra, a))
        late = b'{"jsonrpc":"2.0","method":"ping","params":{"x":"' + b"x" * MAX_LINE + b'"},"id":"late"}\n'
        s.raw(late)
        need(outcome(s.message()) == (NONE, INVALID), "an id beyond the head")
        s.raw(b"".join(line_of(request(i, "ping")) for i in range(500)))
        for i in range(500):
            need(s.message()["id"] == i, "order of pings")


def many_small_lines():
    n = 200000
    data = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % i for i in range(n))
    p = subprocess.Popen(command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    feeder = threading.Thread(target=lambda: (p.stdin.write(data), p.stdin.close()))
    feeder.start()
    out = p.stdout.read()
    feeder.join()
    need(p.wait(5) == 0, "exit status")
    need(out == b"".join(b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % i for i in range(n)), "answers differ")


def garbage_is_rate_limited():
    messages, status, _ = exchange(b"garbage\n" * 1000 + PING + b"garbage\n")
    need(status == 0 and len(messages) == 100 + 1 + 1, "%d answers" % len(messages))


def flood():
    with Server() as s:
        s.send(call(1, "run_bash", command="head -c 200000000 /dev/zero | tr '\\0' x", timeout=60))
        worst = 0
        for i in range(20):
            t = time.monotonic()
            s.send(request("p%d" % i, "ping"))
            s.answer("p%d" % i)
            worst = max(worst, time.monotonic() - t)
            time.sleep(0.01)
        need(worst < 2, "ping took %.3f s beside a flood" % worst)
        a = s.answer(1, 60)
        need(len(text_of(a)) < 65000, "%d characters" % len(text_of(a)))
        need(a["result"]["_meta"]["cloche/metrics"]["output_bytes"] == 200000000, a["result"]["_meta"])
        need(a["result"]["_meta"]["cloche/metrics"]["truncated"] is True, a["result"]["_meta"])
        rss = peak_kib(s.p.pid)
        limit = 400000 if SANITIZED else 16000
        need(rss < limit, "the server grew to %d KiB" % rss)


def slow_reader():
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        s.send(call("victim", "run_bash", command=sleeper(21)))
        wait_until(lambda: alive(sleeper(21)), "the command runs")
        s.send(*[request(i, "tools/list") for i in range(220)])  # more than the pipe and the queue of the output take
        s.send(notification("notifications/cancelled", requestId="victim"))
        wait_until(lambda: not alive(sleeper(21)), "a cancellation is read though nobody reads the output")
        for i in range(220):
            need(s.message()["id"] == i, "order after congestion")
        s.send(request("p", "ping"))
        s.answer("p")


def many_pictures():
    """Pictures are the longest answers. While nobody reads, only a few are in memory, though a hundred are asked for at once."""
    with open(os.path.join(ROOT, "big.gif"), "wb") as file:
        file.write(b"GIF89a\1\0\1\0\0\0\0" + b"x" * 740000 + b";")
    with Server() as s:
        s.send(*[call(i, "read_file", filepath="big.gif") for i in range(100)])
        time.sleep(0.5)  # for all that would be made ready in vain
        s.send(notification("notifications/cancelled", requestId=99), call("cancelled", "run_bash", command="true"))
        for i in range(99):
            need(len(s.answer(i)["result"]["content"][1]["data"]) > 980000, "a picture")
        s.answer("cancelled")
        need(99 not in s.answers, "an answer to a call that was cancelled while it waited")
        peak = peak_kib(s.p.pid)
        print("# %d KiB of memory for 100 pictures" % peak)
        need(SANITIZED or peak < 40000, "the server grew to %d KiB" % peak)


def never_reads():
    """
    A client that asks and never reads. While it also cancels what it asked for, the server goes on reading; when it does not, the
    server stops. Both in bounded memory, and the server ends with its client.
    """
    p = subprocess.Popen(command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    os.set_blocking(p.stdin.fileno(), False)

    def feed(number, cancel):
        """False: the server takes nothing for a second."""
        data = line_of(request(number, "tools/list", pad="y" * 10000))
        if cancel:
            data += line_of(notification("notifications/cancelled", requestId=number))
        waiting_since = time.monotonic()
        while data:
            try:
                data = data[os.write(p.stdin.fileno(), data):]
                waiting_since = time.monotonic()
            except BlockingIOError:
                if time.monotonic() - waiting_since > 1:
                    return False
                time.sleep(0.001)
        return True

    need(all(feed(i, True) for i in range(5000)), "the server does not read cancellations while its output is full")
    number = 0
    while number < 50000 and feed(number, False):
        number += 1
    rss = peak_kib(p.pid)
    print("# %d requests of 10 KB were taken without a reader; %d KiB of memory" % (number, rss))
    need(100 < number < 50000, "%d requests were taken" % number)
    need(rss < (600000 if SANITIZED else 100000), "the server grew to %d KiB" % rss)
    p.stdout.close()
    try:
        p.stdin.close()
    except BrokenPipeError:
        pass
    need(p.wait(10) == 0, "exit status %s after the client went away" % p.returncode)


TESTS = [cancellation, concurrency, one_byte_writes, sizes, many_small_lines, garbage_is_rate_limited, flood,
         slow_reader, many_pictures, never_reads]

if __name__ == "__main__":
    sys.exit(run(TESTS))
