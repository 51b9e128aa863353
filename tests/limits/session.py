"""An MCP client over the standard streams of `cloche mcp`: calls that run side by side, each with the time that its answer took."""
import json
import os
import random
import signal
import subprocess
import threading
import time

SPEAKS = "2025-06-18"
PATIENCE = 60  # seconds until an answer is given up, before TIME_SCALE
MIB = 1024 * 1024


class Gone(Exception):
    """The server ended, or did not answer in time."""


class Result:
    """The answer to a tool call."""

    def __init__(self, message, seconds):
        result = message.get("result") or {}
        self.seconds = seconds
        self.error = message.get("error")
        self.is_error = bool(result.get("isError"))
        self.text = "\n".join(part.get("text", "") for part in result.get("content", []))
        self.meta = result.get("_meta") or {}
        self.metrics = self.meta.get("cloche/metrics") or {}

    def limit_lines(self):
        """What the server, and no command, says about limits."""
        return [line for line in self.text.splitlines() if line.startswith("[Limit of the sandbox: ")]

    def __str__(self):
        lines = self.text.splitlines()
        if len(lines) > 9:
            lines[4:-4] = ["..."]
        return "%s\n(%.0f ms) error=%s metrics=%s" % ("\n".join(lines), self.seconds * 1000, self.error, json.dumps(self.metrics))


class Call:
    """A request that waits for its answer."""

    def __init__(self, session, number):
        self.session, self.number = session, number
        self.begin, self.end, self.message = time.monotonic(), None, None
        self.done = threading.Event()

    def is_done(self):
        return self.done.is_set()

    def wait(self, patience=None):
        if not self.done.wait((patience or PATIENCE) * self.session.scale):
            raise Gone("no answer to request %d within %.0f s" % (self.number, (patience or PATIENCE) * self.session.scale))
        if self.message is None:
            raise Gone("the server ended, with status %s: %s" % (self.session.process.poll(), self.session.log()[-500:]))
        return Result(self.message, self.end - self.begin)


class Session:
    """One `cloche mcp`. To be used as a context manager; nothing of it is left afterwards, whatever happened."""

    def __init__(self, program, workspace, options=(), scale=1.0, environment=None):
        self.mark = random.randrange(100000000, 999999999)
        self.scale, self.calls, self.next, self.lock = scale, {}, 1, threading.Lock()
        # RLIMIT_LOCKS is a limit that the kernel keeps and never uses: the number is in the arguments of all programs of cloche.
        argv = [program, "mcp", "--ulimit", "locks=%d" % self.mark] + list(options) + [workspace]
        self.errors = []
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.readers = [threading.Thread(target=self._read, daemon=True), threading.Thread(target=self._read_log, daemon=True)]
        for reader in self.readers:
            reader.start()

    def __enter__(self):
        try:
            self.request("initialize", {"protocolVersion": SPEAKS, "capabilities": {}, "clientInfo": {"name": "limits", "version": "1"}}).wait()
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def log(self):
        return "".join(self.errors)

    def _read_log(self):
        for line in self.process.stderr:
            self.errors.append(line.decode("utf-8", "replace"))

    def _read(self):
        for line in self.process.stdout:
            now = time.monotonic()
            message = json.loads(line)
            call = self.calls.pop(message.get("id"), None)
            if call:
                call.end, call.message = now, message
                call.done.set()
        for call in list(self.calls.values()):
            call.done.set()

    def _send(self, message):
        with self.lock:
            try:
                self.process.stdin.write(json.dumps(message).encode() + b"\n")
                self.process.stdin.flush()
            except (BrokenPipeError, ValueError):
                raise Gone("the server has ended, with status %s: %s" % (self.process.poll(), self.log()[-500:])) from None

    def request(self, method, params=None):
        with self.lock:
            number, self.next = self.next, self.next + 1
        call = self.calls[number] = Call(self, number)
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            message["params"] = params
        self._send(message)
        return call

    def start(self, tool, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, **arguments):
        return self.start(tool, **arguments).wait()

    def bash(self, command, **arguments):
        return self.call("run_bash", command=command, **arguments)

    def ping(self):
        return self.request("ping").wait()

    def close(self):
        """As a client does: it hangs up and waits."""
        try:
            self.process.stdin.close()
        except (BrokenPipeError, ValueError):
            pass
        return self._end()

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self._end()

    def kill(self):
        self.process.kill()
        return self._end()

    def _end(self):
        try:
            self.process.wait(10 * self.scale)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join(5 * self.scale)
        return self.process.returncode

    def processes(self):
        """Of this session's own programs, as the host sees them: {pid: name}."""
        found, word = {}, b"%d" % self.mark
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    words = file.read()
            except OSError:
                continue
            if word in words and int(pid) != os.getpid():
                found[int(pid)] = os.path.basename(words.split(b"\0")[0]).decode("utf-8", "replace")
        return found
