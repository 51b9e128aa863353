#!/usr/bin/env python3
"""cloche-scope against a stand-in for systemd's manager (standin.py). Prints TAP.

    suite.py CLOCHE-SCOPE

How cloche uses it is tested by tests/runtime/life/scope_test.c, and with a real systemd in tests/vm.
"""
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import standin  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
NO_CAUSE, NO_BUS, UNTRUSTED, NO_MANAGER, REFUSED, TOO_OLD, JOB, TIMEOUT, BROKEN, OURSELVES = range(10)
REQUEST, ANSWER = struct.Struct("=64sII"), struct.Struct("=Ii512s")
WAIT = 5  # seconds: what cloche-scope allows a manager
SLACK = 20  # seconds: far more than a loaded machine needs, far less than for ever
UNIT = "cloche-77-0123456789abcdef.scope"
RESERVED = os.open("/dev/null", os.O_RDONLY)  # takes descriptor 3 if that is free, so that nothing of ours is where the helper's goes
OTHER = 65533


class Tap:
    count = failed = 0

    def point(self, good, name, details="", skip=None):
        self.count += 1
        print("%sok %d - %s%s" % ("" if good else "not ", self.count, name, " # SKIP " + skip if skip else ""), flush=True)
        if not good:
            self.failed += 1
            print("# " + str(details).replace("\n", "\n# "), flush=True)


class Helper:
    """cloche-scope, started as cloche starts it, and the other end of its socket."""

    def __init__(self, *words, env=None, extra=None):
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        keep = theirs.fileno()

        def become():
            os.dup2(keep, 3)
            os.set_inheritable(3, True)
            if extra:
                extra()
        self.process = subprocess.Popen([PROGRAM, *words], executable=PROGRAM, env=env or {}, stdin=subprocess.DEVNULL, cwd="/",
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=become, pass_fds=(3,))
        theirs.close()
        self.ours.settimeout(SLACK)

    def ask(self, unit=UNIT, pid=None, reserved=0):
        self.ours.send(REQUEST.pack(unit.encode(), pid or os.getpid(), reserved))

    def answer(self):
        data = self.ours.recv(4096)
        if len(data) != ANSWER.size:
            return None, 0, "an answer of %d bytes" % len(data)
        cause, errnum, text = ANSWER.unpack(data)
        return cause, errnum, text.split(b"\0")[0].decode()

    def end(self):
        self.ours.close()
        return self.process.wait(SLACK)


class Suite:
    def __init__(self, folder):
        self.folder, self.tap, self.number = folder, Tap(), 0

    def path(self):
        self.number += 1
        return "%s/%d" % (self.folder, self.number)

    def manager(self, **how):
        path = self.path()
        manager = standin.Manager(path, **how)
        manager.start()
        return manager, ("direct=" if how.get("direct") else "bus=") + path

    def case(self, name, cause, words, at_least=0, **how):
        """One conversation: the cause it must end with, and a regular expression for the words."""
        manager, word = self.manager(**how)
        begin = time.monotonic()
        helper = Helper(word)
        helper.ask()
        got = helper.answer()
        took = time.monotonic() - begin
        status = helper.end()
        manager.close()
        good = got[0] == cause and bool(re.search(words, got[2])) and (got[1] > 0) == (cause != NO_CAUSE) and status == 0
        self.tap.point(good and at_least <= took < SLACK, name, "%s after %.1f s, exit status %d" % (got, took, status))
        return manager

    # --- success ---------------------------------------------------------------------------------------------------------

    def check_request(self, manager, name):
        """What it asks for, to the letter: each of these is there for a reason (runtime/scope/manager.c)."""
        unit, mode, properties, aux = manager.asked
        wanted = [("Description", "cloche sandbox of process %d" % os.getpid()), ("PIDs", [os.getpid()]),
                  ("DelegateControllers", ["cpu", "io", "memory", "pids"]), ("TasksMax", 2 ** 64 - 1),
                  ("CollectMode", "inactive-or-failed"), ("TimeoutStopUSec", 10000000)]
        good = (manager.signature == "ssa(sv)a(sa(sv))" and (unit, mode, aux) == (UNIT, "fail", []) and properties == wanted and
                manager.head[standin.PATH] == standin.OBJECT and manager.head[standin.INTERFACE] == standin.MANAGER)
        self.tap.point(good, name, manager.asked)

    def successes(self):
        manager = self.case("a scope over the bus", NO_CAUSE, "^$")
        self.check_request(manager, "it asks for what it needs, and for nothing else")
        order = [member for member in manager.order if member in ("Hello", "AddMatch", "StartTransientUnit")]
        self.tap.point(order == ["Hello", "AddMatch", "StartTransientUnit"], "it listens for the end of the job before it asks", manager.order)
        manager = self.case("a scope from the manager itself", NO_CAUSE, "^$", direct=True)
        self.tap.point(manager.order == ["StartTransientUnit"], "without a bus there is nothing to say but the call", manager.order)
        self.case("the end of the job comes before the answer", NO_CAUSE, "^$", behave="signal-first")
        self.case("the ends of other jobs are not its own", NO_CAUSE, "^$", behave="others-first")

    def early(self):
        """The connection is made while there is nothing to ask yet."""
        manager, word = self.manager()
        helper = Helper(word)
        ready = manager.connected.wait(SLACK) and not manager.asked
        helper.ask()
        self.tap.point(ready and helper.answer()[0] == NO_CAUSE, "it connects before it is asked")
        helper.end()

    def second_socket(self):
        manager, word = self.manager()
        stale = self.path()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(stale)
        helper = Helper("bus=%s/nowhere" % self.folder, "bus=" + stale, word)
        helper.ask()
        got = helper.answer()
        self.tap.point(got[0] == NO_CAUSE, "sockets without a listener are passed over", got)
        helper.end()

    # --- refusals and misbehaviour ---------------------------------------------------------------------------------------

    def failures(self):
        self.case("a job that fails", JOB, "^the job that makes '%s' ended with 'failed'$" % re.escape(UNIT), behave="job-failed")
        self.case("a manager that refuses", REFUSED, r"^Access denied \(org\.freedesktop\.DBus\.Error\.AccessDenied\)$", behave="denied")
        self.case("a manager that is too old", TOO_OLD, "Cannot set property CollectMode", behave="too-old")
        self.case("a bus without a manager", NO_MANAGER, "not activatable", behave="no-manager")
        self.case("a bus that takes no match", REFUSED, "too many matches", behave="no-match")
        self.case("a bus that does not take our identity", REFUSED, "identity", behave="reject")
        self.case("words that are long and ugly", REFUSED, r"^\?\[31mno\?x{400}[ -~]{1,111}$", behave="ugly")
        self.case("a bus that hangs up", BROKEN, ".", behave="hang-up")
        self.case("noise instead of a greeting", REFUSED, "is no bus", behave="noise")
        self.case("noise instead of an answer", BROKEN, ".", behave="garbage")
        self.case("a signal of another form", BROKEN, "not JobRemoved's", behave="other-form")
        self.case("a message of 100 MiB", BROKEN, ".", behave="huge")

    def timeouts(self):
        for behave, name in (("mute", "a bus that takes the connection and says nothing"), ("silent", "a manager that never answers"),
                             ("half", "a job that never ends"), ("flood", "a bus that never stops talking")):
            self.case(name, TIMEOUT, "no answer within %d seconds" % WAIT, at_least=WAIT - 1, behave=behave)

    def no_bus(self):
        helper = Helper("bus=%s/nowhere" % self.folder)
        got = helper.answer()
        self.tap.point(got[0] == NO_BUS and "nowhere' takes no connection: No such file" in got[2], "no bus", got)
        helper.end()
        helper = Helper("bus=" + "/x" * 80)
        got = helper.answer()
        self.tap.point(got[0] == NO_BUS, "a path that no socket can have", got)
        helper.end()
        helper = Helper("unixexec:path=/bin/sh")
        got = helper.answer()
        self.tap.point(got[0] == OURSELVES, "an address that is none of ours", got)
        helper.end()

    def untrusted(self):
        name = "a listener of another user is not spoken to"
        if os.getuid() != 0:
            return self.tap.point(True, name, skip="needs root, to be two users")
        path = self.path()
        os.chmod(self.folder, 0o755)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.chown(self.folder, OTHER, OTHER)
            os.setuid(OTHER)
            sock = socket.socket(socket.AF_UNIX)
            sock.bind(path)
            sock.listen(1)
            os.write(writing, b"l")
            connection, _ = sock.accept()
            os.write(writing, b"+" if connection.recv(1) else b"-")
            os._exit(0)
        os.read(reading, 1)
        helper = Helper("bus=" + path)
        got = helper.answer()
        helper.end()
        heard = os.read(reading, 1)
        os.waitpid(child, 0)
        self.tap.point(got[0] == UNTRUSTED and "uid %d" % OTHER in got[2] and heard == b"-", name, (got, heard))

    def bad_requests(self):
        for name, request in (
                ("a unit that is not ours", {"unit": "ssh.service"}), ("a unit with a slash", {"unit": "cloche-/../x.scope"}),
                ("a unit without an end", {"unit": "cloche-" + "x" * 57}), ("a unit without a name", {"unit": "cloche-.scope"}),
                ("a process that cannot be", {"pid": 0x80000000}), ("something where nothing is", {"reserved": 1})):
            manager, word = self.manager()
            helper = Helper(word)
            helper.ask(**request)
            got = helper.answer()
            helper.end()
            manager.close()
            self.tap.point(got[0] == OURSELVES and manager.asked is None, "a request is refused: " + name, (got, manager.asked))

    # --- ends ------------------------------------------------------------------------------------------------------------

    def socket_closes(self, asked):
        manager, word = self.manager(behave="silent")
        helper = Helper(word)
        manager.connected.wait(SLACK)
        if asked:
            helper.ask()
        begin = time.monotonic()
        helper.ours.close()
        status = helper.process.wait(SLACK)
        took = time.monotonic() - begin
        manager.close()
        self.tap.point(status != 0 and took < WAIT - 1, "it ends when nobody waits for it any more" + (" for an answer" if asked else ""),
                       "exit status %d after %.1f s" % (status, took))

    def alone(self):
        """It has an end even when nothing ever happens, and even when it hangs: an alarm, and little CPU time and memory."""
        manager, word = self.manager(behave="mute")
        helper = Helper(word)
        manager.connected.wait(SLACK)
        time.sleep(0.2)
        with open("/proc/%d/limits" % helper.process.pid, encoding="utf-8") as file:
            limits = dict(re.findall(r"^(Max [a-z ]+?) {2,}(\S+)", file.read(), re.M))
        with open("/proc/%d/status" % helper.process.pid, encoding="utf-8") as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        good = (limits["Max cpu time"], limits["Max core file size"], limits["Max file size"]) == ("6", "0", "0")
        self.tap.point(good and limits["Max processes"] == "0" and int(limits["Max address space"]) <= 64 << 20, "its limits are tight", limits)
        self.tap.point(status["NoNewPrivs"].strip() == "1" and int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0,
                       "it has no capability, not even as root, and gains none", status)
        self.tap.point(status["Seccomp"].strip() == "2", "its system-call filter is loaded before it hears a word", status)
        helper.process.send_signal(signal.SIGALRM)
        self.tap.point(helper.process.wait(SLACK) == -signal.SIGALRM, "an alarm ends it")
        manager.close()

    def surroundings(self):
        """Whatever it inherits: signals, descriptors, an environment that libraries listen to."""
        leak = os.open("/etc/passwd", os.O_RDONLY)
        os.set_inheritable(leak, True)

        def extra():
            os.dup2(leak, 9)
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2 if os.getuid() == 0 else (0, 0))
        manager, word = self.manager(behave="silent")
        helper = Helper(word, extra=extra)
        helper.ask()
        manager.connected.wait(SLACK)
        time.sleep(0.2)
        try:
            open_files = {os.readlink("/proc/%d/fd/%s" % (helper.process.pid, fd)) for fd in os.listdir("/proc/%d/fd" % helper.process.pid)}
            self.tap.point("/etc/passwd" not in open_files and len(open_files) == 3, "it keeps its two sockets and no file", open_files)
        except PermissionError:
            self.tap.point(os.getuid() != 0, "it cannot be looked into by its own user", "PermissionError as root")
        os.close(leak)
        helper.end()
        manager.close()

    def misused(self):
        done = subprocess.run([PROGRAM], capture_output=True, check=False)
        self.tap.point(done.returncode == 125 and b"part of cloche" in done.stderr, "called by hand, it says what it is", done)

    def run(self):
        self.successes()
        self.early()
        self.second_socket()
        self.failures()
        self.no_bus()
        self.untrusted()
        self.bad_requests()
        self.socket_closes(False)
        self.socket_closes(True)
        self.alone()
        self.surroundings()
        self.misused()
        self.timeouts()
        print("1..%d" % self.tap.count)
        return 1 if self.tap.failed else 0


def main():
    with tempfile.TemporaryDirectory(prefix="cloche-scope-", dir="/tmp") as folder:
        sys.exit(Suite(folder).run())


if __name__ == "__main__":
    main()
