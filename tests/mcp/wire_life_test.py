#!/usr/bin/env python3
"""How the server begins and ends, and what it does with its streams. Prints TAP.

How to call it: wire.py.
"""
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time

from wire import FAKEINIT, ROOT, SERVER, Server, alive, command, exchange, need, server_pid, sleeper, strict, wait_until, run
from wire_messages import OK, PING, call, initialize, line_of, request, text_of


def end_at_once():
    t = time.monotonic()
    messages, status, _ = exchange(b"")
    print("# start and end of input: %.2f s" % (time.monotonic() - t))
    need(status == 0 and not messages, "status %d, %r" % (status, messages))


def end_after_initialize():
    messages, status, lines = exchange(line_of(initialize(id_=1)))
    need(status == 0 and b'"jsonrpc":"2.0"' in lines[0], lines)


def end_answers_short_requests():
    messages, status, _ = exchange(line_of(call(1, "run_bash", command="sleep 0.3; echo done")))
    need(status == 0 and "done" in text_of(messages[0]), messages)


def end_kills_long_requests():
    t = time.monotonic()
    messages, status, _ = exchange(line_of(call(1, "run_bash", command=sleeper(31))))
    print("# end of input, busy: %.2f s" % (time.monotonic() - t))
    need(status == 0 and time.monotonic() - t < 5, "status %d after %.1f s" % (status, time.monotonic() - t))
    wait_until(lambda: not alive(sleeper(31)), "the command is gone")


def end_by_signal():
    for sig in (signal.SIGTERM, signal.SIGINT):
        for busy in (False, True):
            with Server() as s:
                if busy:
                    s.send(call(1, "run_bash", command=sleeper(41)))
                    wait_until(lambda: alive(sleeper(41)), "the command runs")
                t = time.monotonic()
                os.kill(server_pid(s.p.pid), sig)
                need(s.p.wait(5) == 0, "status %s" % s.p.returncode)
                print("# %s, %s: %.2f s" % (sig.name, "busy" if busy else "idle", time.monotonic() - t))
            wait_until(lambda: not alive(sleeper(41)), "the command is gone")


def second_signal_ends_at_once():
    """The first one gives what was asked before it a second; who asks again does not want to wait."""
    with Server() as s:
        s.send(call(1, "run_bash", command=sleeper(42)))
        wait_until(lambda: alive(sleeper(42)), "the command runs")
        pid = server_pid(s.p.pid)
        os.kill(pid, signal.SIGTERM)
        time.sleep(0.2)
        os.kill(pid, signal.SIGTERM)
        need(s.p.wait(5) == 0, "status %s" % s.p.returncode)
    wait_until(lambda: not alive(sleeper(42)), "the command is gone")


def client_killed():
    """SIGKILL of the client says nothing; the streams that end with it do."""
    r, w = os.pipe()
    client = os.fork()
    if client == 0:
        try:
            s = Server()
            s.send(call(1, "run_bash", command=sleeper(43)))
            wait_until(lambda: alive(sleeper(43)), "the command runs")
            os.write(w, b"%d %d" % (s.p.pid, server_pid(s.p.pid)))
            signal.pause()
        finally:
            os._exit(1)
    os.close(w)
    pids = [int(word) for word in os.read(r, 100).split()]
    os.close(r)
    os.kill(client, signal.SIGKILL)
    os.waitpid(client, 0)
    need(len(pids) == 2, "the client did not come so far")
    wait_until(lambda: not any(running(pid) for pid in pids), "the server and its init end")
    wait_until(lambda: not alive(sleeper(43)), "the command is gone")


def running(pid):
    """Whether @pid is a process that has not ended; one that nobody has waited for yet counts as ended."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def init_killed():
    """SIGKILL of init: in the kernel that is the end of the sandbox; a server that lives on sees its socket close, and ends."""
    with Server() as s:
        s.send(call(1, "run_bash", command="sleep 2"), request(2, "ping"))
        s.answer(2)
        pid = server_pid(s.p.pid)
        os.kill(s.p.pid, signal.SIGKILL)
        s.p.wait()
        wait_until(lambda: not running(pid), "the server ends without its init")


def output_closed():
    for sockets in (False, True):
        with Server() as s:
            s.p.stdout.close()
            need(s.p.wait(5) == 0, "status %s after its output was closed" % s.p.returncode)


def init_gone():
    with Server(fake=("--exit-after", "1"), stderr=subprocess.PIPE) as s:
        s.send(call(1, "run_bash", command="sleep 60"))
        need(s.p.wait(5) == 1, "status %s when init is gone" % s.p.returncode)
        err = s.p.stderr.read().decode()
        need("init has ended" in err, err)


def last_words():
    """What was said before init ended reaches a reader that is a little slow, to the end of its last line."""
    r, w = os.pipe()
    fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 4096)
    p = subprocess.Popen(command(fake=("--exit-after", "1")), stdin=subprocess.PIPE, stdout=w, stderr=subprocess.DEVNULL)
    os.close(w)
    p.stdin.write(b"".join(line_of(request(i, "tools/list")) for i in range(10)) + line_of(call("c", "run_bash", command="sleep 60")))
    p.stdin.flush()
    time.sleep(0.2)
    with os.fdopen(r, "rb") as f:
        lines = f.read().split(b"\n")
    need(lines.pop() == b"", "the output ends within a line")
    need([m["id"] for m in map(strict, lines)] == list(range(10)), "%d lines" % len(lines))
    need(p.wait(5) == 1, "exit status %s" % p.returncode)
    p.stdin.close()


def sockets_as_streams():
    ours, theirs = socket.socketpair()
    p = subprocess.Popen(command(), stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
    theirs.close()
    ours.settimeout(10)
    ours.sendall(line_of(request(1, "ping")))
    need(strict(ours.recv(1000).strip())["id"] == 1, "an answer over a socket")
    ours.shutdown(socket.SHUT_WR)
    need(ours.recv(1000) == b"" and p.wait(5) == 0, "the end over a socket")


def files_as_streams():
    path = os.path.join(ROOT, "in")
    with open(path, "wb") as f:
        f.write(line_of(request(1, "ping")) + line_of(call(2, "run_bash", command="echo x")))
    with open(path, "rb") as i, open(os.path.join(ROOT, "out"), "wb") as o:
        p = subprocess.run(command(), stdin=i, stdout=o, stderr=subprocess.DEVNULL, timeout=10)
    lines = open(os.path.join(ROOT, "out"), "rb").read().splitlines()
    need(p.returncode == 0 and {strict(l)["id"] for l in lines} == {1, 2}, lines)
    p = subprocess.run(command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=10)
    need(p.returncode == 0 and p.stdout == b"", "/dev/null as input")


def flags_stay():
    """The client may share its ends of the streams: no flag of theirs may change."""
    r_in, w_in = os.pipe()
    r_out, w_out = os.pipe()
    p = subprocess.Popen(command(), stdin=r_in, stdout=w_out, stderr=w_out)
    os.write(w_in, line_of(request(1, "ping")))
    need(strict(os.read(r_out, 1000).strip())["id"] == 1, "ping")
    flags = [fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK for fd in (r_in, w_in, r_out, w_out)]
    need(flags == [0, 0, 0, 0], "O_NONBLOCK was set on a stream: %r" % flags)
    os.close(w_in)
    need(p.wait(5) == 0, "exit status")
    for fd in (r_in, r_out, w_out):
        os.close(fd)


def full_stderr():
    r, w = os.pipe()
    os.set_blocking(w, False)
    try:
        while True:
            os.write(w, b"x" * 65536)
    except BlockingIOError:
        pass
    os.set_blocking(w, True)
    with Server("--log-level", "debug", stderr=w) as s:
        s.send(call(1, "run_bash", command="echo x"))
        s.answer(1)
    os.close(r)
    os.close(w)


def log_lines():
    data = line_of(initialize()) + line_of(call(1, "run_bash", command="echo a\necho b")) + line_of(call(2, "read_file", nope="x\ny"))
    p = subprocess.run(command("--log-level", "INFO"), input=data, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=10)
    lines = p.stderr.decode().splitlines()
    need(all(l[:4].isdigit() and "] cloche: " in l for l in lines), "a forged line: %r" % lines)
    text = "\n".join(lines)
    for part in ("server starting", ROOT, "TOOL_CALL run_bash(", "TOOL_DONE run_bash [OK]", "TOOL_CALL read_file(", "TOOL_DONE read_file [FAIL]"):
        need(part in text, "%s is not in\n%s" % (part, text))
    p = subprocess.run(command(), input=line_of(initialize()) + line_of(call(1, "run_bash", command="true")) + line_of(call(2, "read_file")), stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, timeout=10)
    need(p.stderr == b"", "not quiet by default: %r" % p.stderr)


def bad_options():
    for options, part in [(["--nonsense"], "nonsense"), (["--command-timeout", "x"], "command-timeout"), (["--root", "rel"], "rel"),
                          (["--log-level", "loud"], "loud"), (["--limits", "some"], "some"), (["--open-files", "0"], "open-files"), (["word"], "word"), (["--init-fd", "3", "--max-read-bytes"], "max-read-bytes")]:
        p = subprocess.run([FAKEINIT, SERVER, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=10)
        need(p.returncode == 125 and part in p.stderr.decode() and p.stdout == b"", "%r: %d %r" % (options, p.returncode, p.stderr))
    p = subprocess.run([FAKEINIT, SERVER, "--root", "/nonexistent"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=10)
    need(p.returncode == 1 and b"/nonexistent" in p.stderr, p.stderr)
    env = dict(os.environ, COMMAND_TIMEOUT="nonsense", LOG_LEVEL="debug")
    p = subprocess.run(command(), input=PING, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=10)
    need(p.returncode == 0 and p.stderr == b"", "the environment is looked at: %r" % p.stderr)


TESTS = [end_at_once, end_after_initialize, end_answers_short_requests, end_kills_long_requests, end_by_signal,
         second_signal_ends_at_once, client_killed, init_killed, output_closed, init_gone, last_words,
         sockets_as_streams, files_as_streams, flags_stay, full_stderr, log_lines, bad_options]

if __name__ == "__main__":
    sys.exit(run(TESTS))
