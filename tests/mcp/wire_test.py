#!/usr/bin/env python3
"""cloche-mcp on the wire: bytes in, bytes out, without a sandbox around it.

    wire_test.py [FAKEINIT CLOCHE-MCP [TEST...]]

Without arguments the programs are those that TEST_FAKEINIT and CLOCHE (cloche-mcp lies beside it) name.
The first part is a table: one line in, the answers it must get. The second part talks to a running server: concurrency,
cancellation, progress, slow readers, ends of every kind. FAKEINIT starts the server and its commands without isolation.
Prints TAP.
"""
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

if len(sys.argv) > 2:
    FAKEINIT, SERVER = (os.path.abspath(p) for p in sys.argv[1:3])
else:
    FAKEINIT, SERVER = os.environ["TEST_FAKEINIT"], os.path.join(os.path.dirname(os.environ["CLOCHE"]), "cloche-mcp")
MAX_LINE = 16 * 1024 * 1024
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
META_JSON = json.dumps(META)[1:-1]
ROOT = tempfile.mkdtemp(prefix="cloche-wire-")
with open(SERVER, "rb") as program:
    SANITIZED = b"__asan_init" in program.read()
count = failures = 0


def report(name, problem=None):
    global count, failures
    count += 1
    failures += problem is not None
    print(("not ok" if problem else "ok"), count, "-", name, flush=True)
    if problem:
        for line in str(problem).splitlines()[:20]:
            print("#", line[:400])


NONE = object()  # no id at all


class Failed(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Failed(text)


def command(*options, fake=()):
    return [FAKEINIT, *fake, SERVER, "--root", ROOT, *options]


def request(id_, method, **params):
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def call(id_, tool, **arguments):
    return request(id_, "tools/call", name=tool, arguments=arguments)


def notification(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def initialize(version="2025-06-18", id_="init"):
    return request(id_, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"})


def line_of(message):
    return json.dumps(message).encode() + b"\n"


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


def text_of(answer):
    return answer["result"]["content"][0]["text"]


# --- the table ----------------------------------------------------------------------------------------------------------
# (name, bytes in, expected answers in any order: (id or NONE, code or "result"))

PING = b'{"jsonrpc":"2.0","id":"after","method":"ping"}\n'
OK, PARSE, INVALID, UNKNOWN, PARAMS, VERSION = "result", -32700, -32600, -32601, -32602, -32022


def rpc(body, jsonrpc='"jsonrpc":"2.0",'):
    return ("{" + jsonrpc + body + "}\n").encode()


def deep(n):
    return rpc('"id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"filepath":' + "[" * n + "]" * n + "}}")


TABLE = [
    ("not JSON", b"hello\n", [(NONE, PARSE)]),
    ("truncated JSON", b'{"jsonrpc":"2.0","id":1,"method":"ping"\n', [(NONE, PARSE)]),
    ("empty line", b"\n", []),
    ("white space", b" \t \r\n", []),
    ("byte order mark and carriage return", b"\xef\xbb\xbf" + rpc('"id":1,"method":"ping"').strip() + b"\r\n", [(1, OK)]),
    ("byte order mark alone", b"\xef\xbb\xbf\n", []),
    ("two values on a line", rpc('"id":1,"method":"ping"').strip() * 2 + b"\n", [(NONE, PARSE)]),
    ("number", b"42\n", [(NONE, INVALID)]),
    ("string", b'"x"\n', [(NONE, INVALID)]),
    ("null", b"null\n", [(NONE, INVALID)]),
    ("empty array", b"[]\n", [(NONE, INVALID)]),
    ("batch outside 2025-03-26", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', [(NONE, INVALID)]),
    ("broken batch", b'[{"jsonrpc":"2.0","id":1,"method":"ping"},]\n', [(NONE, PARSE)]),
    ("jsonrpc missing", rpc('"id":1,"method":"ping"', ""), [(1, INVALID)]),
    ("jsonrpc 1.0", rpc('"id":1,"method":"ping"', '"jsonrpc":"1.0",'), [(1, INVALID)]),
    ("response", rpc('"id":1,"result":{}'), []),
    ("error response", rpc('"id":1,"error":{"code":1,"message":"x"}'), []),
    ("neither method nor result", rpc('"id":1'), [(1, INVALID)]),
    ("method is a number", rpc('"id":1,"method":5'), [(1, INVALID)]),
    ("unknown method", rpc('"id":1,"method":"foo/bar"'), [(1, UNKNOWN)]),
    ("resources are not there", rpc('"id":1,"method":"resources/list"'), [(1, UNKNOWN)]),
    ("prompts are not there", rpc('"id":1,"method":"prompts/list"'), [(1, UNKNOWN)]),
    ("completion is not there", rpc('"id":1,"method":"completion/complete"'), [(1, UNKNOWN)]),
    ("unknown notification", rpc('"method":"notifications/foo"'), []),
    ("request without id", rpc('"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"touch %s/no-id"}}' % ROOT), []),
    ("bad notification", rpc('"method":"notifications/cancelled","params":[1]'), []),
    ("cancelled without id", rpc('"method":"notifications/cancelled"'), []),
    ("cancelled for nothing", rpc('"method":"notifications/cancelled","params":{"requestId":99}'), []),
    ("cancelled with an odd id", rpc('"method":"notifications/cancelled","params":{"requestId":{"a":1}}'), []),
    ("notification with id", rpc('"id":1,"method":"notifications/cancelled"'), [(1, UNKNOWN)]),
    ("initialized with id", rpc('"id":1,"method":"notifications/initialized"'), [(1, UNKNOWN)]),
    ("empty string id", rpc('"id":"","method":"ping"'), [("", OK)]),
    ("id of 1 KiB", rpc('"id":"%s","method":"ping"' % ("x" * 1022)), [("x" * 1022, OK)]),
    ("id over 1 KiB", rpc('"id":"%s","method":"ping"' % ("x" * 1023)), [(NONE, INVALID)]),
    ("id null", rpc('"id":null,"method":"ping"'), [(NONE, INVALID)]),
    ("id true", rpc('"id":true,"method":"ping"'), [(NONE, INVALID)]),
    ("id object", rpc('"id":{},"method":"ping"'), [(NONE, INVALID)]),
    ("id array", rpc('"id":[1],"method":"ping"'), [(NONE, INVALID)]),
    ("params null", rpc('"id":1,"method":"tools/list","params":null'), [(1, OK)]),
    ("params absent", rpc('"id":1,"method":"tools/list"'), [(1, OK)]),
    ("params array", rpc('"id":1,"method":"tools/list","params":[]'), [(1, PARAMS)]),
    ("params string", rpc('"id":1,"method":"tools/list","params":"x"'), [(1, PARAMS)]),
    ("duplicate id", rpc('"id":1,"id":2,"method":"ping"'), [(NONE, INVALID)]),
    ("duplicate method", rpc('"id":1,"method":"ping","method":"tools/list"'), [(1, INVALID)]),
    ("duplicate method, escaped", rpc('"id":1,"method":"ping","meth\\u006fd":"tools/list"'), [(1, INVALID)]),
    ("duplicate in params", rpc('"id":1,"method":"ping","params":{"a":1,"a":2}'), [(1, INVALID)]),
    ("duplicate in _meta", rpc('"id":1,"method":"ping","params":{"_meta":{"a":1,"a":2}}'), [(1, INVALID)]),
    ("nested too deeply", deep(200), [(NONE, PARSE)]),
    ("nested absurdly", deep(100000), [(NONE, PARSE)]),
    ("too many values", b"[" + b"0," * 300000 + b"0]\n", [(NONE, INVALID)]),
    ("invalid UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"nope\xff\xfe"}\n', [(1, UNKNOWN)]),
    ("lone surrogate", rpc('"id":1,"method":"nope\\ud800"'), [(1, UNKNOWN)]),
    ("control character", b'{"jsonrpc":"2.0","id":1,"method":"a\x01b"}\n', [(1, UNKNOWN)]),
    ("NUL byte outside a string", b'{"jsonrpc":"2.0",\x00"id":1,"method":"ping"}\n', [(NONE, PARSE)]),
    ("line ends in other alphabets", rpc('"id":1,"method":"a\u2028\u2029\u0085b"'), [(1, UNKNOWN)]),
    ("NUL in an argument", rpc('"id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"filepath":"a\\u0000b"}}'), [(1, OK)]),
    ("NUL elsewhere", rpc('"id":1,"method":"ping","params":{"x":"a\\u0000b"}'), [(1, OK)]),
    ("ping before initialize", rpc('"id":1,"method":"ping"'), [(1, OK)]),
    ("list before initialize", rpc('"id":1,"method":"tools/list"'), [(1, OK)]),
    ("initialize without params", rpc('"id":1,"method":"initialize"'), [(1, OK)]),
    ("initialize twice", line_of(initialize(id_=1)) + line_of(initialize(id_=2)), [(1, OK), (2, OK)]),
    ("cursor that is none of ours", rpc('"id":1,"method":"tools/list","params":{"cursor":"x"}'), [(1, PARAMS)]),
    ("empty cursor", rpc('"id":1,"method":"tools/list","params":{"cursor":""}'), [(1, PARAMS)]),
    ("unknown tool", rpc('"id":1,"method":"tools/call","params":{"name":"nosuch"}'), [(1, PARAMS)]),
    ("call without name", rpc('"id":1,"method":"tools/call","params":{}'), [(1, PARAMS)]),
    ("name is a number", rpc('"id":1,"method":"tools/call","params":{"name":3}'), [(1, PARAMS)]),
    ("arguments are an array", rpc('"id":1,"method":"tools/call","params":{"name":"read_file","arguments":[]}'), [(1, PARAMS)]),
    ("arguments absent", rpc('"id":1,"method":"tools/call","params":{"name":"read_file"}'), [(1, OK)]),
    ("arguments null", rpc('"id":1,"method":"tools/call","params":{"name":"read_file","arguments":null}'), [(1, OK)]),
    ("bad level", rpc('"id":1,"method":"logging/setLevel","params":{"level":"loud"}'), [(1, PARAMS)]),
    ("level missing", rpc('"id":1,"method":"logging/setLevel"'), [(1, PARAMS)]),
    ("good level", rpc('"id":1,"method":"logging/setLevel","params":{"level":"alert"}'), [(1, OK)]),
    # the stateless revision
    ("discover", rpc('"id":1,"method":"server/discover","params":{"_meta":{%s}}' % META_JSON), [(1, OK)]),
    ("discover without _meta", rpc('"id":1,"method":"server/discover"'), [(1, PARAMS)]),
    ("unknown version", rpc('"id":1,"method":"server/discover","params":{"_meta":{%s}}' % META_JSON.replace("2026-07-28", "1900-01-01")), [(1, VERSION)]),
    ("handshake version in _meta", rpc('"id":1,"method":"tools/list","params":{"_meta":{%s}}' % META_JSON.replace("2026-07-28", "2025-06-18")), [(1, VERSION)]),
    ("version is a number", rpc('"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}'), [(1, PARAMS)]),
    ("capabilities missing", rpc('"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'), [(1, PARAMS)]),
    ("capabilities are a string", rpc('"id":1,"method":"tools/list","params":{"_meta":{%s}}' % META_JSON.replace("{}", '"x"')), [(1, PARAMS)]),
    ("bad log level in _meta", rpc('"id":1,"method":"tools/list","params":{"_meta":{%s,"io.modelcontextprotocol/logLevel":"loud"}}' % META_JSON), [(1, PARAMS)]),
    ("stateless ping", rpc('"id":1,"method":"ping","params":{"_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("stateless setLevel", rpc('"id":1,"method":"logging/setLevel","params":{"level":"info","_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("stateless subscribe", rpc('"id":1,"method":"resources/subscribe","params":{"_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("stateless initialize", rpc('"id":1,"method":"initialize","params":{"_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("initialize with both", rpc('"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","_meta":{%s}}' % META_JSON), [(1, OK)]),
    ("stateless list", rpc('"id":1,"method":"tools/list","params":{"_meta":{%s}}' % META_JSON), [(1, OK)]),
    ("eras alternate", line_of(request(1, "tools/list", _meta=META)) + line_of(request(2, "tools/list")) + line_of(initialize(id_=3))
     + line_of(request(4, "tools/list", _meta=META)) + line_of(request(5, "ping")), [(1, OK), (2, OK), (3, OK), (4, OK), (5, OK)]),
    ("half a message at the end", b"", []),
]


def outcome(message):
    return (message.get("id", NONE), message["error"]["code"] if "error" in message else OK)


def run_row(name, data, expected):
    tail = b'{"jsonrpc":"2.0","id":2,"meth' if name.startswith("half") else b""
    messages, status, _ = exchange(data + PING + tail)
    got = [outcome(m) for m in messages if "method" not in m]
    need(status == 0, "exit status %d" % status)
    need(("after", OK) in got, "the server does not go on: %r" % messages)
    got.remove(("after", OK))
    need(sorted(map(repr, got)) == sorted(map(repr, expected)), "wanted %r\ngot %r" % (expected, messages))
    for m in messages:
        if "error" in m:
            need(len(m["error"]["message"]) > 10, "a message for people: %r" % m)


RAW_IDS = ['1', '-5', '9007199254740993', '18446744073709551616', '1.0', '1.5', '1e3', '"a"', '"\\u00e4\\ud83d\\ude00"', '"\\""',
           '"\\ud800"', '0']


def raw_ids():
    for raw in RAW_IDS:
        _, _, lines = exchange(rpc('"id":%s,"method":"ping"' % raw))
        need(lines == [('{"jsonrpc":"2.0","id":%s,"result":{}}' % raw).encode()], "%s gave %r" % (raw, lines))


# --- single questions ----------------------------------------------------------------------------------------------------

def versions():
    for asked, given in [("2024-11-05",) * 2, ("2025-03-26",) * 2, ("2025-06-18",) * 2, ("2025-11-25",) * 2,
                         ("1999-01-01", "2025-11-25"), ("2026-07-28", "2025-11-25"), (5, "2025-11-25")]:
        (m,), _, _ = exchange(line_of(initialize(asked)))
        result = m["result"]
        need(result["protocolVersion"] == given, "%s -> %s" % (asked, result["protocolVersion"]))
        need(result["serverInfo"]["name"] == "cloche" and result["serverInfo"]["version"], "serverInfo")
        need(("title" in result["serverInfo"]) == (given >= "2025-06-18"), "title belongs to 2025-06-18")
        need(set(result["capabilities"]) == {"tools", "logging"}, "capabilities %r" % result["capabilities"])
        need(len(result["instructions"].encode()) <= 2048 and "/workspace" in result["instructions"], "instructions")
        need("resultType" not in result and "_meta" not in result, "a handshake answer with members of 2026-07-28")


def stateless_members():
    (discover, tools), _, _ = exchange(line_of(request(1, "server/discover", _meta=META)) + line_of(request(2, "tools/list", _meta=META)))
    need(discover["result"]["supportedVersions"] == ["2026-07-28"], "supportedVersions")
    need(set(discover["result"]["capabilities"]) == {"tools"}, "capabilities")
    for m in (discover, tools):
        r = m["result"]
        need(r["resultType"] == "complete", "resultType")
        need(r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "cloche", "serverInfo")
        need(isinstance(r["ttlMs"], int) and r["cacheScope"] == "public", "cache hints")
    (error,), _, _ = exchange(rpc('"id":1,"method":"ping","params":{"_meta":{%s}}' % META_JSON.replace("2026-07-28", "x")))
    need(error["error"]["data"] == {"supported": ["2026-07-28"], "requested": "x"}, "data of -32022")


def tool_list():
    lists = []
    for extra in ({}, {"_meta": META}):
        (m,), _, _ = exchange(line_of(request(1, "tools/list", **extra)))
        lists.append(m["result"]["tools"])
        need("nextCursor" not in m["result"], "nextCursor")
    need(lists[0] == lists[1], "the list depends on the era")
    names = {t["name"] for t in lists[0]}
    need(names == {"read_file", "write_file", "list_directory", "search_workspace", "run_bash", "search_and_replace"}, names)
    for t in lists[0]:
        need(t["title"] and t["description"] and t["annotations"]["title"] == t["title"], t["name"])
        need(all(isinstance(t["annotations"][h], bool) for h in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")), t["name"])
        need(t["inputSchema"]["type"] == "object" and t["inputSchema"]["additionalProperties"] is False, t["name"])
        need("outputSchema" not in t, "outputSchema without being asked for")


def structured():
    m, _, _ = exchange(line_of(initialize()) + line_of(request(1, "tools/list")) + line_of(call(2, "run_bash", command="echo x"))
                       + line_of(call(3, "read_file")), "--structured-output")
    by_id = {x["id"]: x["result"] for x in m}
    need(by_id[1]["tools"][0]["outputSchema"]["required"] == ["result"], "outputSchema")
    need(by_id[2]["structuredContent"] == {"result": by_id[2]["content"][0]["text"]}, "structuredContent")
    need(by_id[3]["isError"] is True and "structuredContent" not in by_id[3], "structuredContent of an error")


def argument_errors():
    with Server() as s:
        s.send(call(1, "read_file", filpath="x", limit=5.5))
        a = s.answer(1)
        need(a["result"]["isError"] is True, a)
        for part in ("filpath", "filepath", "limit", "5.5"):
            need(part in text_of(a), "%s is not named in %r" % (part, text_of(a)))
        s.raw(rpc('"id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"filepath":"a\\u0000b"}}'))
        a = s.answer(2)
        need(a["result"]["isError"] is True and "filepath" in text_of(a), a)
        s.send(call(3, "run_bash", command="echo $((6*7))", timeout="5"))
        need("42" in text_of(s.answer(3)), "a number as a string")


def run_bash_basics():
    with Server() as s:
        for id_, (script, expected) in enumerate([("exit 3", "[Exit code: 3]"), ("echo out; echo err >&2", "out\nerr"),
                                                  ("cat; echo end", "end"), ("kill -9 $$", "[Exit code: -9]"), ("pwd", ROOT)]):
            s.send(call(id_, "run_bash", command=script))
            a = s.answer(id_)
            need(expected in text_of(a), "%r gave %r" % (script, text_of(a)))
            need(a["result"]["isError"] is False, a)
            need(isinstance(a["result"]["_meta"]["cloche/metrics"]["wall_ms"], int), "metrics")
        s.send(call("t", "run_bash", command="sleep 30", timeout=1))
        a = s.answer("t")
        need(a["result"]["isError"] is True and "timed out after 1" in text_of(a), a)
        need(a["result"]["_meta"]["cloche/metrics"]["timed_out"] is True, a)
        s.send(call("n", "run_bash", command=r"printf 'a\000\377\302\205b'"))
        need("a" in text_of(s.answer("n")), "binary output")


def denials():
    """What init says was refused: told behind the output, once for each kind, bounded, and nowhere when there was nothing."""
    mark = "[Denied by the sandbox: "
    for output in ("", "echo x"):
        with Server() as s:
            s.send(call(1, "run_bash", command=output or "true"))
            result = s.answer(1)["result"]
            need(result["content"][0]["text"] == "[Exit code: 0]" + ("\nx\n" if output else ""), result)
            need(list(result["_meta"]) == ["cloche/metrics"], result)
    unknown, family = "99999 1 7".split(), "99998 97 1".split()
    with Server("--structured-output", fake=("--denied", *unknown, "--denied", *family)) as s:
        s.send(call(1, "run_bash", command="echo x; exit 3"))
        result = s.answer(1)["result"]
        head, lines = result["content"][0]["text"].split("\n\n")
        need(head == "[Exit code: 3]\nx", head)
        lines = lines.split("\n")
        need(len(lines) == 2 and all(l.startswith(mark) and l.endswith(".]") for l in lines), lines)
        need("99999 (EPERM, 7 times)" in lines[0] and "99998 (EAFNOSUPPORT)" in lines[1], lines)
        need(result["structuredContent"]["result"] == result["content"][0]["text"], "structuredContent")
        need(result["_meta"]["cloche/denials"] == [{"number": 99999, "errno": 1, "times": 7}, {"number": 99998, "errno": 97, "times": 1}], result)
        need(result["isError"] is False, result)
        s.send(call(2, "run_bash", command="sleep 30", timeout=1))
        text = text_of(s.answer(2))
        need("timed out after 1" in text and text.count(mark) == 2, text)
        s.send(call(3, "read_file", filepath="nothing-denied"))
        need(mark not in text_of(s.answer(3)), "another tool")
    with Server(fake=[word for i in range(50) for word in ("--denied", str(90000 + i), "1", "4000000000")]) as s:
        s.send(call(1, "run_bash", command="head -c 1000000 /dev/zero | tr '\\0' x"))
        text = text_of(s.answer(1))
        need(text.count(mark) == 9 and len(text) < 60000, "%d lines in %d characters" % (text.count(mark), len(text)))


def bash(s, id_, script, **arguments):
    s.send(call(id_, "run_bash", command=script, **arguments))
    result = s.answer(id_)["result"]
    return result["content"][0]["text"], result["isError"], result.get("_meta", {}).get("cloche/metrics")


def tell(**figures):
    return [word for name, value in figures.items() for word in ("--tell", name.replace("_", "-"), str(value))]


MIB = 1 << 20
SANDBOX = {"sandbox_memory": 2048 * MIB, "sandbox_cpu_milli": 2000, "sandbox_pids": 512, "limit_pids": 448, "measured": 1}


def metrics():
    """What init tells is passed on; what it does not know is left out."""
    with Server() as s:
        text, _, m = bash(s, 1, "exit 4")
        need(text == "[Exit code: 4]" and m["exit_status"] == 4 and m["measured"] == "approximate" and m["limits"] == {}, m)
        need(set(m) == {"exit_status", "wall_ms", "cpu_user_ms", "cpu_system_ms", "output_bytes", "timed_out", "oom_killed", "truncated",
                        "measured", "limits"}, m)
    figures = dict(SANDBOX, memory_peak=5 << 32, processes_peak=3, read_bytes=0, written_bytes=7, throttled_us=1999, wall_us=4000000)
    with Server("--limits", "exact", "--open-files", "1024", fake=tell(**figures)) as s:
        text, _, m = bash(s, 1, "echo x")
        need(text == "[Exit code: 0]\nx\n", text)
        need(m == dict(m, exit_status=0, wall_ms=4000, memory_peak=5 << 32, processes_peak=3, bytes_read=0, bytes_written=7, throttled_ms=1,
                       output_bytes=2, timed_out=False, oom_killed=False, pids_limit_hit=False, truncated=False, measured="exact",
                       limits={"memory": 2048 * MIB, "cpus": 2, "pids": 448}), m)
        _, _, m = bash(s, 2, "kill -10 $$", memory="512m", cpus="0.5", pids="20")
        need(m["signal"] == 10 and "exit_status" not in m and m["limits"] == {"memory": 512 * MIB, "cpus": 0.5, "pids": 20}, m)
        _, _, m = bash(s, 3, "true", memory=256 * MIB, cpus=1, pids=None)
        need(m["limits"] == {"memory": 256 * MIB, "cpus": 1, "pids": 448}, m)
        text, failed, m = bash(s, 4, "exit 1; : Too many open files >&2")
        need(text == "[Exit code: 1]" and not failed, text)
        text, _, _ = bash(s, 5, "echo Too many open files; exit 1")
        need("[Limit of the sandbox: too many open files: each process may have 1024." in text, text)
        text, failed, m = bash(s, 6, "sleep 30", timeout=1)
        need(failed and m["timed_out"] is True and m["signal"] == 9 and m["oom_killed"] is False, m)


def limit_arguments():
    """What cannot be a limit is refused before anything runs; what is too much is cut, and said."""
    with Server(fake=tell(**SANDBOX)) as s:
        for i, (arguments, part) in enumerate([({"memory": "much"}, "memory must be a size"), ({"memory": "5m"}, "at least 6m"),
                                               ({"memory": 5}, "at least 6m"), ({"memory": True}, "- memory: must be a string"),
                                               ({"memory": 1.5}, "- memory: must be a string"), ({"memory": []}, "- memory:"),
                                               ({"cpus": 0}, "- cpus: must be at least 0.01"), ({"cpus": "many"}, "- cpus: must be a number"),
                                               ({"cpus": -1}, "- cpus:"), ({"pids": 0}, "- pids: must be at least 1"),
                                               ({"pids": 1.5}, "- pids: must be an integer"), ({"pids": "all"}, "- pids:"),
                                               ({"memroy": "1g"}, 'did you mean "memory"')]):
            text, failed, m = bash(s, "r%d" % i, "touch %s/ran" % ROOT, **arguments)
            need(failed and part in text and m is None, "%r gave %r" % (arguments, text))
        need(not os.path.exists(ROOT + "/ran"), "a refused call was run")
        text, failed, m = bash(s, 1, "echo x", memory="8g", cpus=64, pids=100000)
        need(not failed and m["limits"] == {"memory": 2048 * MIB, "cpus": 2, "pids": 512}, m)
        head, lines = text.split("\n\n")
        need(head == "[Exit code: 0]\nx" and len(lines.split("\n")) == 3, text)
        for part in ("memory 8192 MiB was asked for, but is more than the sandbox has: it ran with 2048 MiB.", "cpus 64 was", "pids 100000 was"):
            need("[Limit of the sandbox: " + part in lines, text)


def killed_for_memory():
    """The first line stays the exit code; the second names the limit; the output follows."""
    begin = "[Exit code: -9]\n[Limit of the sandbox: killed: "
    for figures, arguments, part in [
            (dict(memory_peak=512 * MIB - 9, killed=2), {"memory": "512m"}, "used 512 MiB of 512 MiB of memory, the limit of this call (its argument memory). "),
            (dict(memory_peak=2048 * MIB, killed=2), {}, "used 2048 MiB of 2048 MiB of memory, the limit of this sandbox. "),
            (dict(memory_peak=100 * MIB, killed=2, limit_memory=99 * MIB), {}, "used 100 MiB of 99 MiB of memory, the limit of a single command. "),
            (dict(memory_peak=100 * MIB, killed=3), {}, "all commands together used all of 2048 MiB of memory, and this one itself 100 MiB. "),
            (dict(memory_peak=100 * MIB, killed=3, measured=0), {}, "all commands together used all of 2048 MiB of memory, and this one itself about 100 MiB. "),
            (dict(killed=2), {}, "used all of 2048 MiB of memory")]:
        with Server("--structured-output", fake=tell(**dict(SANDBOX, **figures))) as s:
            text, failed, m = bash(s, 1, "echo before; kill -9 $$", **arguments)
            need(failed and text.startswith(begin + part) and text.endswith(".]\nbefore\n"), text)
            need("--memory of cloche" in text and text.count("[Limit") == 1, text)
            need(m["oom_killed"] is True and m["signal"] == 9, m)
    with Server(fake=tell(**SANDBOX)) as s:
        text, failed, m = bash(s, 1, "kill -9 $$")
        need(text == "[Exit code: -9]" and not failed and m["oom_killed"] is False, text)


def limits_felt():
    with Server(fake=tell(**dict(SANDBOX, pids_refused=7, throttled_us=3000000, wall_us=4000000)) + ["--tell", "limit-cpu-milli", "500"]) as s:
        text, failed, m = bash(s, 1, "echo x")
        head, lines = text.split("\n\n")
        lines = lines.split("\n")
        need(head == "[Exit code: 0]\nx" and not failed and len(lines) == 2, text)
        need(lines[0].startswith("[Limit of the sandbox: new processes or threads were refused 7 times: there may be 448 at once, "), text)
        need(lines[1].startswith("[Limit of the sandbox: held back ") and "0.5 CPUs" in lines[1] and "--cpus" in lines[1], text)
        need(m["pids_limit_hit"] is True and m["throttled_ms"] == 3000, m)
        text, failed, _ = bash(s, 2, "sleep 30", timeout=1)
        need(failed and "timed out after 1" in text and text.count("[Limit") == 2, text)
    with Server(fake=tell(**dict(SANDBOX, processes_peak=445, measured=0))) as s:
        text, _, m = bash(s, 1, "echo x")
        need(text == "[Exit code: 0]\nx\n" and "pids_limit_hit" not in m, text)
        text, _, m = bash(s, 2, "echo bash: fork: retry: Resource temporarily unavailable")
        need("probably refused" in text and m["pids_limit_hit"] is True, text)
        text, _, m = bash(s, 3, "echo x; exit 1")
        need("probably refused, since it was seen with about 445: there may be 448 at once" in text and m["pids_limit_hit"] is True, text)


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


def log_notifications():
    with Server() as s:
        seen = []
        s.send(call(1, "run_bash", command="true"))
        s.answer(1, seen=seen)
        need(seen[0]["method"] == "notifications/message" and seen[0]["params"]["level"] == "info", seen)
        need("run_bash" in seen[0]["params"]["data"]["msg"], seen)
        seen = []
        s.send(call(2, "run_bash", command="sleep 9", timeout=1))
        s.answer(2, seen=seen)
        need(any(m.get("params", {}).get("level") == "error" for m in seen), seen)
        s.send(request(3, "logging/setLevel", level="emergency"))
        s.answer(3)
        s.send(call(4, "run_bash", command="true"))
        need(s.message()["id"] == 4, "a notification below the level")
        s.send(request(5, "tools/call", name="run_bash", arguments={"command": "true"}, _meta=META))
        need(s.message()["id"] == 5, "a log notification for a stateless request")
    messages, _, _ = exchange(line_of(call(1, "run_bash", command="true")))
    need([m.get("id") for m in messages] == [1], "a notification before notifications/initialized: %r" % messages)


def batches():
    with Server(version="2025-03-26") as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")

        def batch(*elements):
            s.raw(("[" + ",".join(json.dumps(e) if not isinstance(e, str) else e for e in elements) + "]\n").encode())

        batch(request(1, "ping"), call(2, "run_bash", command="sleep 0.3; echo b"), notification("notifications/x"), "5", initialize(id_=6),
              request(7, "nope"), '{"jsonrpc":"2.0","id":8,"result":{}}')
        t = time.monotonic()
        answers = s.message()
        need(time.monotonic() - t > 0.2, "the batch did not wait for its slowest part")
        got = sorted(repr(outcome(m)) for m in answers)
        need(got == sorted(map(repr, [(1, OK), (2, OK), (NONE, INVALID), (6, INVALID), (7, UNKNOWN)])), answers)
        batch(notification("notifications/x"), notification("notifications/y"))
        s.silence(0.3)
        batch(*[request(i, "ping") for i in range(100)])
        need(len(s.message()) == 100, "100 elements")
        batch(*[request(i, "ping") for i in range(101)])
        need(outcome(s.message()) == (NONE, INVALID), "101 elements")
        batch(call(1, "run_bash", command="sleep 60"), request(2, "ping"))
        s.send(notification("notifications/cancelled", requestId=1))
        need([m["id"] for m in s.message(5)] == [2], "a batch with a cancelled element")
        batch(*[request(i, "tools/list", _meta=META) for i in range(2)])
        need(len(s.message()) == 2, "stateless elements")


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


def id_in_flight():
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        s.send(call(1, "run_bash", command="sleep 0.5; echo first"), call(1, "run_bash", command="echo second"))
        need(outcome(s.message()) == (NONE, INVALID), "the second request")
        need("first" in text_of(s.answer(1)), "the first request")
        s.send(call(1, "run_bash", command="echo third"))
        need("third" in text_of(s.answer(1)), "the id after its answer")


def concurrency():
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        t = time.monotonic()
        s.send(*[call(i, "run_bash", command="sleep 1; echo n%d" % i) for i in range(55)])
        s.send(call("file", "list_directory"))
        first = s.message()
        need(first["id"] == "file", "a quick call waited for slow ones: %r" % first)
        pings = []
        for i in range(10):
            u = time.monotonic()
            s.send(request("p%d" % i, "ping"))
            s.answer("p%d" % i)
            pings.append(time.monotonic() - u)
        need(max(pings) < 1, "ping during 55 calls: %.3f s" % max(pings))
        got = [text_of(s.answer(i)) for i in range(55)]
        need(all("n%d" % i in got[i] for i in range(55)), "answers are mixed up")
        need(time.monotonic() - t < 15, "55 sleeps of 1 s took %.1f s" % (time.monotonic() - t))
        s.send(*[call(i, "run_bash", command="echo n%d" % i) for i in range(300)])
        got = [text_of(s.answer(i)) for i in range(300)]
        need(all("n%d" % i in got[i] for i in range(300)), "answers of 300 queued calls are mixed up")


def progress():
    with Server() as s:
        s.send(request(1, "tools/call", name="run_bash", arguments={"command": "sleep 11"}, _meta={"progressToken": 9007199254740993}))
        seen = []
        s.answer(1, 30, seen)
        p = [m["params"] for m in seen if m.get("method") == "notifications/progress"]
        need(len(p) == 2, "%d notifications in 11 s" % len(p))
        need(all(x["progressToken"] == 9007199254740993 for x in p) and p[0]["progress"] < p[1]["progress"], p)
        need("run_bash" in p[0]["message"], p)


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


def slow_reader():
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        s.send(call("victim", "run_bash", command=sleeper(21)))
        wait_until(lambda: alive(sleeper(21)), "the command runs")
        s.send(*[request(i, "tools/list") for i in range(150)])  # far more than the pipe and the queue take
        s.send(notification("notifications/cancelled", requestId="victim"))
        wait_until(lambda: not alive(sleeper(21)), "a cancellation is read though nobody reads the output")
        for i in range(150):
            need(s.message()["id"] == i, "order after congestion")
        s.send(request("p", "ping"))
        s.answer("p")


def never_reads():
    p = subprocess.Popen(command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    line = line_of(request("x", "tools/list", pad="y" * 100000))
    sent, deadline = 0, time.monotonic() + 3
    os.set_blocking(p.stdin.fileno(), False)
    while time.monotonic() < deadline and sent < 300 << 20:
        try:
            sent += os.write(p.stdin.fileno(), line[:65536])
        except BlockingIOError:
            time.sleep(0.01)
    rss = peak_kib(p.pid)
    p.stdout.close()
    try:
        p.stdin.close()
    except BrokenPipeError:
        pass
    need(p.wait(10) == 0, "exit status %s after the client went away" % p.returncode)
    need(rss < 600000, "the server grew to %d KiB" % rss)


# --- beginnings and ends --------------------------------------------------------------------------------------------------

def end_at_once():
    messages, status, _ = exchange(b"")
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
    need(status == 0 and time.monotonic() - t < 5, "status %d after %.1f s" % (status, time.monotonic() - t))
    wait_until(lambda: not alive(sleeper(31)), "the command is gone")


def end_by_signal():
    for sig in (signal.SIGTERM, signal.SIGINT):
        with Server() as s:
            s.send(call(1, "run_bash", command=sleeper(41)))
            wait_until(lambda: alive(sleeper(41)), "the command runs")
            os.kill(server_pid(s.p.pid), sig)
            need(s.p.wait(5) == 0, "status %s" % s.p.returncode)
        wait_until(lambda: not alive(sleeper(41)), "the command is gone")


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


TESTS = [raw_ids, versions, stateless_members, tool_list, structured, argument_errors, run_bash_basics, denials, metrics, limit_arguments,
         killed_for_memory, limits_felt, flood, log_notifications, batches,
         cancellation, id_in_flight, concurrency, progress, one_byte_writes, sizes, many_small_lines, garbage_is_rate_limited,
         slow_reader, never_reads, end_at_once, end_after_initialize, end_answers_short_requests, end_kills_long_requests,
         end_by_signal, output_closed, init_gone, sockets_as_streams, files_as_streams, flags_stay, full_stderr, log_lines, bad_options]


def guarded(name, function, *args):
    try:
        function(*args)
        report(name)
    except Exception as e:  # whatever goes wrong is one failed test
        report(name, "%s: %s" % (type(e).__name__, e))


def main():
    only = sys.argv[3:]
    print("1..%d" % (len(TABLE) + 1 + len(TESTS)) if not only else "TAP version 13")
    for row in TABLE:
        if not only or row[0] in only:
            guarded("line: " + row[0], run_row, *row)
    if not only or "side effects" in only:
        report("a request without id was not executed", "it was" if os.path.exists(os.path.join(ROOT, "no-id")) else None)
    for test in TESTS:
        if not only or test.__name__ in only:
            guarded(test.__name__.replace("_", " "), test)
    shutil.rmtree(ROOT, ignore_errors=True)
    return failures > 0


sys.exit(main())
