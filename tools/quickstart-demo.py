#!/usr/bin/env python3
"""Plays an agent's session with cloche and prints it: quickstart-demo.py /path/to/cloche [WORKSPACE]

Spawns `cloche mcp WORKSPACE` as an MCP client does, speaks JSON-RPC with it over its standard input and output, lets it write,
run, edit and run a Python program, tries two things that must fail, and prints how long each step took. Ends with the
lines that connect real clients to this program. Without WORKSPACE a temporary folder is used and removed. Needs nothing
but Python's standard library.
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

PROTOCOL = "2025-11-25"
ANSWER_S = 60  # only to catch a hang

PROGRAM = '''\
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


print("fibonacci(30) =", fibonacci(3))
'''


class Client:
    """The smallest MCP client: one request at a time."""

    def __init__(self, cloche, workspace):
        self.started = time.monotonic()
        self.number = 0
        self.process = subprocess.Popen([cloche, "mcp", workspace], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, message):
        line = json.dumps(dict(jsonrpc="2.0", **message)) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def request(self, method, **params):
        """Returns the result and how many milliseconds it took."""
        self.number += 1
        begin = time.monotonic()
        self.send({"id": self.number, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit("quickstart: cloche ended (status %s) before it answered %s" % (self.process.wait(5), method))
            message = json.loads(line)
            if message.get("id") == self.number:
                break
        if "error" in message:
            sys.exit("quickstart: %s was refused: %s" % (method, json.dumps(message["error"])))
        return message["result"], (time.monotonic() - begin) * 1000

    def close(self):
        """Hangs up, as a client does that ends; returns the exit status and the milliseconds until everything was gone."""
        begin = time.monotonic()
        self.process.stdin.close()
        status = self.process.wait(ANSWER_S)
        return status, (time.monotonic() - begin) * 1000


def show(heading, text, milliseconds=None):
    print("\n%s%s" % (heading, "" if milliseconds is None else "   (%.1f ms)" % milliseconds))
    for line in text.rstrip("\n").splitlines() or [""]:
        print("    %s" % line)


def call(client, tool, expect, is_error=False, **arguments):
    """Calls a tool, prints the call and the answer, and makes sure that the answer is what the demonstration says."""
    result, took = client.request("tools/call", name=tool, arguments=arguments)
    text = "".join(block.get("text", "") for block in result["content"])
    shown = ", ".join("%s=%s" % (k, json.dumps(v) if len(json.dumps(v)) < 120 else "...") for k, v in arguments.items())
    show("agent > %s(%s)" % (tool, shown), text, took)
    if expect not in text or bool(result.get("isError")) != is_error:
        sys.exit("\nquickstart: this answer is wrong: it should contain '%s'%s" %
                 (expect, " and be an error" if is_error else ""))
    return text


def session(cloche, workspace):
    client = Client(cloche, workspace)
    hello, took = client.request("initialize", protocolVersion=PROTOCOL, capabilities={},
                                 clientInfo={"name": "quickstart", "version": "1"})
    since_spawn = (time.monotonic() - client.started) * 1000
    client.send({"method": "notifications/initialized"})
    show("client > spawn `cloche mcp %s`, initialize" % workspace,
         "%s %s, MCP %s\nanswered %.1f ms after the spawn: the whole sandbox was built in that time"
         % (hello["serverInfo"]["name"], hello["serverInfo"]["version"], hello["protocolVersion"], since_spawn))
    tools, took = client.request("tools/list")
    show("client > tools/list", "\n".join("%-20s %s" % (tool["name"], tool["description"].split(". ")[0][:90])
                                          for tool in tools["tools"]), took)

    call(client, "write_file", "wrote", filepath="fib.py", content=PROGRAM)
    call(client, "run_bash", "fibonacci(30) = 2", command="python3 fib.py")
    call(client, "search_and_replace", "", filepath="fib.py",
         edits=[{"old": "fibonacci(3))", "new": "fibonacci(30))"}])
    call(client, "run_bash", "fibonacci(30) = 832040", command="python3 fib.py")

    print("\n-- what must not work")
    call(client, "run_bash", "No such file", command="cat /etc/shadow")
    call(client, "read_file", "outside the workspace boundary", is_error=True, filepath="../../etc/shadow")
    call(client, "run_bash", "unreachable", command="python3 -c 'import socket; "
         "socket.create_connection((\"192.0.2.1\", 80), 3)' 2>&1 | tail -n 1")
    call(client, "run_bash", "CapEff:\t0000000000000000",
         command="id; ls /home; grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status; ps ax 2>/dev/null | head -n 5")

    status, took = client.close()
    show("client > hangs up", "exit status %d; every process of the sandbox is gone" % status, took)
    if status != 0:
        sys.exit("quickstart: the exit status should be 0")
    with open(os.path.join(workspace, "fib.py"), encoding="utf-8") as result:
        owner = os.fstat(result.fileno())
        if "fibonacci(30))" not in result.read() or owner.st_uid != os.stat(workspace).st_uid:
            sys.exit("quickstart: fib.py on the host is not what the agent left")
    print("\non the host: %s/fib.py belongs to uid %d, the owner of the workspace" % (workspace, owner.st_uid))


CONFIGS = '''
Connect a client. Replace %(ws)s by your project; it is all that the agent can touch.

  Claude Code       in the project's folder
      claude mcp add cloche -- %(quoted)s mcp "$PWD"

  any other         print its configuration, or with --write put it into the client's file, beside what is there
      %(quoted)s mcp --client list
      %(quoted)s mcp --client cursor [--write] %(ws)s

What this host can give:  %(quoted)s doctor'''


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.splitlines()[0])
    cloche = os.path.abspath(sys.argv[1])
    workspace = sys.argv[2] if len(sys.argv) == 3 else tempfile.mkdtemp(prefix="cloche-quickstart-")
    try:
        session(cloche, os.path.abspath(workspace))
    finally:
        if len(sys.argv) == 2:
            shutil.rmtree(workspace, ignore_errors=True)
    print(CONFIGS % {"quoted": shlex.quote(cloche), "ws": os.path.expanduser("~/src/project")})


if __name__ == "__main__":
    main()
