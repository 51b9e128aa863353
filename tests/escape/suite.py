"""The escape suite: reads attacks.list, prepares what is attacked, makes attacks, and judges them from the host.

Used by tests/escape/run, which proves cloche's walls, and by tools/escape-matrix, which compares sandboxes.
"""
import ctypes
import hashlib
import json
import os
import pty
import re
import secrets
import select
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SUCCEEDED, REFUSED, NOT_TRIED = "succeeded", "refused", "could not try"
BEGINS = "the attack begins"
TIMEOUT = 30
REFUSED_START = 125  # cloche's own exit status
ROOT_INSIDE = 65533  # who root's sandboxes run as, on the host


class Attack:
    """One row of the list."""

    def __init__(self, line, number):
        fields = [field.strip() for field in line.split(" | ", 5)]
        if len(fields) != 6:
            raise ValueError("line %d has %d fields instead of 6" % (number, len(fields)))
        self.id, self.title, walls, launch, judge, self.command = fields
        kind, _, reason = walls.partition(":")
        self.reason, self.is_open = reason.strip() or None, kind == "open"
        self.inseparable = "+" in walls
        self.walls = [] if self.reason else re.split("[,+]", walls)
        words = launch.split()
        self.mode, self.launch = words[0], words[1:]
        self.judges = judge.split()

    def has(self, word):
        return word in self.launch

    def options(self):
        return [word[len("opt:"):] for word in self.launch if word.startswith("opt:")]

    def value(self, key):
        return next((word[len(key) + 1:] for word in self.launch if word.startswith(key + "=")), None)


def read_list(path=os.path.join(HERE, "attacks.list")):
    """The attacks, and the headings as {index of the first attack below: text}."""
    attacks, headings = [], {}
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.rstrip("\n")
            if line.startswith("## "):
                headings[len(attacks)] = line[3:]
            elif line.strip() and not line.startswith("#"):
                attacks.append(Attack(line, number))
    ids = [attack.id for attack in attacks]
    twice = {name for name in ids if ids.count(name) > 1}
    if twice:
        raise ValueError("more than one attack is called " + ", ".join(sorted(twice)))
    return attacks, headings


def landlock_version():
    """0 where the kernel has none."""
    create_ruleset, ask_version = 444, 1
    return max(ctypes.CDLL(None).syscall(create_ruleset, None, 0, ask_version), 0)


class World:
    """What is attacked: files, services, memory and a process of the host, and a fresh workspace for each attack."""

    def __init__(self, attack_program):
        self.program = attack_program
        self.token = "secret-" + secrets.token_hex(16)
        self.top = tempfile.mkdtemp(prefix="cloche-escape.", dir="/tmp")
        # Whoever a sandbox runs as, permissions of files must not be the wall that holds.
        os.chmod(self.top, 0o777)
        self.workspace = os.path.join(self.top, "ws")
        self.home = self.top + ".home"  # of the tools that are called; not watched
        os.mkdir(self.home)
        self.put("secret", self.token + "\n", 0o644)
        self.put("marker", "untouched\n", 0o666)
        os.mkdir(os.path.join(self.top, "ro"))
        os.chmod(os.path.join(self.top, "ro"), 0o777)
        self.put("ro/file", "kept\n", 0o666)
        self.witness = subprocess.Popen(["/bin/sleep", "100000"], stdin=subprocess.DEVNULL)
        self.listeners = []
        self.serve()
        self.share()
        self.names = {
            "top": self.top, "secret": self.path("secret"), "marker": self.path("marker"), "pid": str(self.witness.pid),
            "port": str(self.port), "abstract": self.abstract, "socket": self.path("service.sock"), "shm": str(self.shm_key),
            "host": os.uname().nodename, "mark": str(100000000 + secrets.randbelow(900000000)),
        }

    def path(self, name):
        return os.path.join(self.top, name)

    def put(self, name, text, mode):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def serve(self):
        """Services that tell the token to whoever connects: TCP, an abstract name, a path."""
        tcp = socket.create_server(("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        self.abstract = "cloche-escape-" + secrets.token_hex(4)
        named, path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        named.bind("\0" + self.abstract)
        path.bind(self.path("service.sock"))
        os.chmod(self.path("service.sock"), 0o777)
        self.listeners = [tcp, named, path]
        for listener in self.listeners:
            listener.listen()
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        while True:
            for listener in select.select(self.listeners, [], [])[0]:
                client, _ = listener.accept()
                with client:
                    client.sendall(self.token.encode())

    def share(self):
        """System V shared memory with the token in it, readable by everybody."""
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.shmat.restype = ctypes.c_void_p
        self.libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
        self.shm_key = 0x10000000 + secrets.randbelow(0x10000000)
        self.shm = self.libc.shmget(self.shm_key, 4096, 0o1666)
        memory = self.libc.shmat(self.shm, None, 0)
        ctypes.memmove(memory, self.token.encode() + b"\0", len(self.token) + 1)

    def close(self):
        self.libc.shmctl(self.shm, 0, None)
        self.witness.kill()
        self.witness.wait()
        subprocess.run(["chmod", "-R", "u+rwX", self.top], check=False)
        shutil.rmtree(self.top, ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)

    def fresh_workspace(self, attack):
        if os.path.lexists(self.workspace):
            subprocess.run(["chmod", "-R", "u+rwX", self.workspace], check=False)
            shutil.rmtree(self.workspace)
        os.mkdir(self.workspace)
        os.chmod(self.workspace, 0o755)
        shutil.copy2(self.program, os.path.join(self.workspace, "attack"))
        if attack.has("node"):
            os.mknod(os.path.join(self.workspace, "node"), 0o20666, os.makedev(1, 5))
            os.chmod(os.path.join(self.workspace, "node"), 0o666)
        if attack.has("pin"):
            os.makedirs(os.path.join(self.workspace, "deep/a/b"))
        if attack.has("git"):
            git = ["git", "-C", self.workspace, "-c", "user.name=x", "-c", "user.email=x@x"]
            for words in (["init", "-q", "-b", "main"], ["config", "extensions.worktreeConfig", "true"],
                          ["commit", "-q", "--allow-empty", "-m", "first"]):
                subprocess.run(git + words, check=True, env=clean_environment(self.home), stdin=subprocess.DEVNULL)
        if attack.has("socket"):
            os.link(self.path("service.sock"), os.path.join(self.workspace, "service.sock"))

    def state(self):
        """Everything outside of the workspace that an attack could have changed, as text."""
        lines = []
        for folder, folders, files in os.walk(self.top):
            if folder == self.top:
                folders.remove("ws")
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                status = os.lstat(path)
                content = ""
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        content = hashlib.sha256(file.read()).hexdigest()
                lines.append("%s %o %d %s" % (path, status.st_mode, status.st_nlink, content))
        return "\n".join(sorted(lines))

    def expand(self, text):
        for name, value in self.names.items():
            text = text.replace("{%s}" % name, value)
        return text

    def words(self, command):
        """The command of a row as an argument vector. What it prints first is the proof that it was run at all."""
        command = self.expand(command)
        if command.startswith("sh "):
            return ["/bin/sh", "-c", "echo '%s'; %s" % (BEGINS, command[3:])]
        return ["./attack"] + shlex.split(command)

    def was_run(self, attack, output):
        name = attack.command.split(" ")[0]
        return (BEGINS if name == "sh" else "attack %s begins" % name) in output

    def survivors(self):
        """Processes with the mark of this world in their arguments."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    if b"sleep\0" + self.names["mark"].encode() in file.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def end_survivors(self):
        for pid in self.survivors():
            os.kill(pid, signal.SIGKILL)


def clean_environment(home):
    return {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": home, "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}


class Outcome:
    def __init__(self, status, output, texts=(), died=False, survivors=()):
        self.status, self.output, self.texts, self.died, self.survivors = status, output, list(texts), died, list(survivors)


def caller(attack, world):
    """How the caller of a sandbox behaves: descriptors and variables that it has, its standard input."""
    options = {"stdin": subprocess.DEVNULL, "env": clean_environment(world.home), "close_fds": True, "cwd": world.workspace,
               "start_new_session": True}
    opened = []
    if attack.has("fds"):
        for name in ("secret", "secret", "secret", ".", "."):
            fd = os.open(world.path(name), os.O_RDONLY)
            opened.append(os.dup2(fd, 20 + len(opened)))
            os.close(fd)
        options["pass_fds"] = opened
    if attack.has("dir-stdin"):
        options["stdin"] = os.open(world.top, os.O_RDONLY)
        opened.append(options["stdin"])
    if attack.has("file-stdin"):
        options["stdin"] = os.open(world.path("marker"), os.O_RDONLY)
        opened.append(options["stdin"])
    if attack.has("socket-stdin"):
        ours, theirs = socket.socketpair()
        opened += [ours.detach(), theirs.detach()]
        options["stdin"] = opened[-1]
    if attack.has("env"):
        options["env"]["SECRET"] = world.token
    if "CLOCHE_TEST_WITHOUT" in os.environ: # of the build that can leave out walls; others do not look at it
        options["env"]["CLOCHE_TEST_WITHOUT"] = os.environ["CLOCHE_TEST_WITHOUT"]
    return options, opened


# Runs a program and then looks whether somebody has typed for it.
TERMINAL_OWNER = """
import os, select, subprocess, sys, termios
status = subprocess.call(sys.argv[1:])
mode = termios.tcgetattr(0)
mode[3] &= ~termios.ICANON
termios.tcsetattr(0, termios.TCSANOW, mode)
if select.select([0], [], [], 0.05)[0]:
    print("typed for the user:", os.read(0, 100))
sys.exit(status)
"""


def in_terminal(argv, environment, folder):
    """Runs a program in a new terminal; returns its status and what was to be seen there."""
    pid, master = pty.fork()
    if pid == 0:
        try:
            os.chdir(folder)
            os.execvpe("python3", ["python3", "-c", TERMINAL_OWNER] + argv, environment)
        finally:
            os._exit(127)
    output = b""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end and select.select([master], [], [], 1)[0] != []:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        output += data
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return os.waitstatus_to_exitcode(status), output.decode("utf-8", "replace")


def run_command(argv, attack, world):
    """One command in a sandbox."""
    options, opened = caller(attack, world)
    if attack.value("key"):
        argv = [world.program, "key-owner", attack.value("key"), world.token] + argv
    if attack.value("cwd"):
        options["cwd"] = attack.value("cwd")
    try:
        if attack.has("pty"):
            status, output = in_terminal(argv, options["env"], options["cwd"])
        else:
            done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False, **options)
            status, output = done.returncode, done.stdout.decode("utf-8", "replace")
    except subprocess.TimeoutExpired as error:
        return Outcome(-1, "still running after %d s\n%s" % (TIMEOUT, (error.stdout or b"").decode("utf-8", "replace")), died=True)
    finally:
        for fd in opened:
            os.close(fd)
    return Outcome(status, output)


def tool_call(number, step, world):
    """One step of an MCP attack as a request."""
    word, _, rest = world.expand(step).strip().partition(" ")
    if word == "attack":
        name, arguments = "run_bash", {"command": "./attack " + rest, "timeout": 10}
    elif word == "bash":
        name, arguments = "run_bash", {"command": rest, "timeout": 10}
    elif word == "write":
        path, _, content = rest.partition(" ")
        name, arguments = "write_file", {"filepath": path, "content": content, "create_only": False}
    elif word == "read":
        name, arguments = "read_file", {"filepath": rest}
    elif word == "edit":
        path, old, new = rest.split(" ")
        name, arguments = "search_and_replace", {"filepath": path, "edits": [{"old_text": old, "new_text": new}]}
    elif word == "list":
        name, arguments = "list_directory", {"directory": rest}
    elif word == "search":
        name, arguments = "search_workspace", {"pattern": rest}
    else:
        raise ValueError("'%s' is no step of an MCP attack" % step)
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})


def wait_for_survivors(world):
    """Processes that outlive their command, while the session goes on. They need a moment to begin."""
    end = time.monotonic() + 0.5
    while not world.survivors() and time.monotonic() < end:
        time.sleep(0.02)
    return world.survivors()


def run_session(argv, attack, world):
    """Tool calls of one MCP session, each after the answer to the one before."""
    options, opened = caller(attack, world)
    options["stdin"] = subprocess.PIPE
    texts, wire = [], ""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **options) as server:
        watchdog = threading.Timer(TIMEOUT, server.kill)
        watchdog.start()
        for number, step in enumerate(attack.command.split(" ;; ")):
            try:
                server.stdin.write(tool_call(number, step, world) + "\n")
                server.stdin.flush()
            except BrokenPipeError:
                break
            line = server.stdout.readline()
            wire += line
            try:
                texts.append(json.loads(line)["result"]["content"][0]["text"])
            except (ValueError, KeyError):
                break
        survivors = wait_for_survivors(world) if "survivor" in attack.judges else []
        try:
            server.stdin.close()
        except BrokenPipeError:
            pass
        wire += server.stdout.read()
        watchdog.cancel()
    for fd in opened:
        os.close(fd)
    died = len(texts) < len(attack.command.split(" ;; "))
    found = re.search(r"\[Exit code: (-?\d+)\]", texts[-1]) if texts else None
    return Outcome(int(found.group(1)) if found else -1, wire, texts, died, survivors)


def judge_status(outcome, _world):
    if outcome.status == 0:
        return SUCCEEDED
    return REFUSED


def judge_secret(outcome, world):
    return SUCCEEDED if world.token in outcome.output else REFUSED


def judge_set_id(_outcome, world):
    for folder, _, files in os.walk(world.workspace):
        for name in files:
            if os.lstat(os.path.join(folder, name)).st_mode & 0o6000:
                return SUCCEEDED
    return REFUSED


def judge_typed(outcome, _world):
    return SUCCEEDED if "typed for the user:" in outcome.output else REFUSED


def judge_survivor(outcome, world):
    end = time.monotonic() + 1
    while world.survivors() and time.monotonic() < end:
        time.sleep(0.02)
    return SUCCEEDED if outcome.survivors or world.survivors() else REFUSED


def judge_works(outcome, _world):
    """The sandbox was to be ended from inside."""
    return SUCCEEDED if outcome.died or outcome.status in (REFUSED_START, 137, -9) else REFUSED


def judge_git(_outcome, world):
    """What the user does next: looks at the repository with git. Whatever that runs shows in the state of the host."""
    for words in (["status"], ["log", "-p", "-1"], ["diff"], ["add", "."], ["commit", "-q", "-m", "x"], ["checkout", "-q", "-b", "y"]):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x"] + words, cwd=world.workspace,
                       env=clean_environment(world.home), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=False, timeout=TIMEOUT)
    return REFUSED  # the comparison of the host's state says more


def judge_raw(outcome, _world):
    """Control characters that a terminal would obey reach the client as they are."""
    return SUCCEEDED if re.search("[\x00-\x08\x0b-\x1f\x7f]", outcome.output) else REFUSED


JUDGES = {"status": judge_status, "secret": judge_secret, "set-id": judge_set_id, "typed": judge_typed,
          "survivor": judge_survivor, "works": judge_works, "git": judge_git, "raw": judge_raw}


def judge(attack, outcome, world, before):
    """The verdict and why. A change on the host is always a success of the attack."""
    verdicts = []
    if "start" in attack.judges and outcome.status == REFUSED_START:
        return REFUSED, outcome.output
    for name in attack.judges:
        if name in JUDGES:
            verdicts.append(JUDGES[name](outcome, world))
        elif name.startswith(("last=", "any=")):
            kind, _, regex = name.partition("=")
            text = "\n".join(outcome.texts[-1:] if kind == "last" else outcome.texts)
            verdicts.append(SUCCEEDED if re.search(regex.replace("_", " "), text) else REFUSED)
        elif name.startswith("left="):
            path = os.path.join(world.workspace, name[5:])
            verdicts.append(SUCCEEDED if os.path.isfile(path) and os.path.getsize(path) > 0 else REFUSED)
        elif name not in ("start", "host"):
            raise ValueError("%s: there is no judge '%s'" % (attack.id, name))
    after = world.state()
    if after != before:
        return SUCCEEDED, "the host was changed: " + ", ".join(sorted(set(after.splitlines()) ^ set(before.splitlines())))
    if world.witness.poll() is not None:
        return SUCCEEDED, "a process of the host was ended"
    program_gave_up = outcome.status == 2 and not attack.command.startswith("sh ")
    if SUCCEEDED not in verdicts and attack.mode == "run" and (program_gave_up or not world.was_run(attack, outcome.output)):
        return NOT_TRIED, "the command was not run, or not to its end: " + outcome.output
    if SUCCEEDED not in verdicts and outcome.died:
        return NOT_TRIED, "it did not come to its end: " + outcome.output
    for verdict in (SUCCEEDED, NOT_TRIED):
        if verdict in verdicts:
            return verdict, outcome.output
    return REFUSED, outcome.output


def repair(world, before):
    """Puts the host back as it was, after an attack that was meant to succeed."""
    world.end_survivors()
    if world.state() == before:
        return
    for entry in os.listdir(world.top):
        path = world.path(entry)
        if "%s " % path not in before and entry != "ws":
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
    shutil.rmtree(world.path("ro"))
    os.mkdir(world.path("ro"))
    os.chmod(world.path("ro"), 0o777)
    world.put("ro/file", "kept\n", 0o666)
    world.put("marker", "untouched\n", 0o666)


def make(attack, world, argv_of):
    """Makes one attack; @argv_of(attack, world) yields the argument vector. Returns verdict and explanation."""
    world.fresh_workspace(attack)
    before = world.state()
    argv = argv_of(attack, world)
    outcome = (run_session if attack.mode == "mcp" else run_command)(argv, attack, world)
    result = judge(attack, outcome, world, before)
    repair(world, before)
    return result


def cloche_argv(program):
    """How the cloche at @program is called for an attack."""
    def argv(attack, world):
        options = [world.expand(option) for option in attack.options()]
        if attack.has("ro"):
            options += ["-v", world.path("ro") + ":/ro:ro"]
        if attack.has("pin"):
            options += ["-v", world.path("ro") + ":/workspace/deep/a/b:ro"]
        if attack.mode == "mcp":
            return [program, "mcp"] + options + [world.workspace]
        return [program, "run", "--workspace", world.workspace] + options + ["--"] + world.words(attack.command)
    return argv


def bare(attack, world):
    """Without any sandbox: does the host have what the attack needs?"""
    return world.words(attack.command) if attack.mode == "run" else ["/bin/false"]
