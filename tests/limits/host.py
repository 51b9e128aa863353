"""What the machine around a sandbox shows: its free memory and pressure, its groups, its processes."""
import os
import subprocess
import threading
import time

CGROUPS = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]


def memory(name):
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise RuntimeError("no %s in /proc/meminfo" % name)


def available():
    """Bytes that programs of the host could have."""
    return memory("MemAvailable")


def total():
    return memory("MemTotal")


def stall_us(kind="full"):
    """Microseconds for which everything that wanted to run waited for memory since the machine's start; None where the kernel keeps no account."""
    try:
        with open("/proc/pressure/memory", encoding="ascii") as file:
            for line in file:
                if line.startswith(kind):
                    return int(line.rsplit("total=", 1)[1])
    except OSError:
        pass
    return None


def busy_seconds():
    """CPU seconds that all programs of the machine have had."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq = (int(word) for word in file.readline().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def runnable():
    """Programs of the whole machine that have a CPU or wait for one."""
    return int(read("/proc/loadavg").split()[3].split("/")[0])


def file_max():
    """Open files that the whole machine may have; systemd takes this limit away, others leave it."""
    return int(read("/proc/sys/fs/file-max"))


def can_start_programs():
    """Whether the caller's other programs can still be started."""
    try:
        return subprocess.run(["/bin/true"], check=False, timeout=20).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def settle(seconds):
    """Waits until what ended programs had is free: the kernel gives it back a little later."""
    end, last = time.monotonic() + seconds, 0
    while time.monotonic() < end and available() > last + (8 << 20):
        last = available()
        time.sleep(0.1)


class Watch:
    """Looks at the machine every few milliseconds while its block runs."""

    def __enter__(self):
        self.trouble = None  # of this program, which runs beside the sandbox
        self.least = self.before = available()
        self.stalled, self.begin = stall_us(), time.monotonic()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()
        return self

    def _look(self):
        while not self.stop.wait(0.005):
            try:
                self.least = min(self.least, available())
            except OSError as error:
                self.trouble = error

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.seconds = time.monotonic() - self.begin
        now = stall_us()
        self.stall_share = None if now is None or self.stalled is None else (now - self.stalled) / 1e6 / self.seconds

    @property
    def taken(self):
        """The most bytes that were taken from the machine meanwhile."""
        return self.before - self.least


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def groups():
    """The groups that sandboxes have in the tree now, whoever made them."""
    found = set()
    for top in CGROUPS:
        if not os.path.exists(os.path.join(top, "cgroup.procs")):
            continue
        for folder, folders, _ in os.walk(top):
            for name in list(folders):
                if name.startswith("cloche-"):
                    found.add(os.path.join(folder, name))
    return found


def group_of(pid):
    """The folder of a process's group in the unified tree, or None."""
    with open("/proc/%d/cgroup" % pid, encoding="utf-8") as file:
        for line in file:
            if line.startswith("0::"):
                path = line[3:].rstrip("\n")
    for top in CGROUPS:
        if os.path.exists(os.path.join(top, "cgroup.procs")) and os.path.isdir(top + path):
            return top + path
    return None


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read().strip()


def is_alive(pid):
    try:
        return read("/proc", str(pid), "stat").rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
