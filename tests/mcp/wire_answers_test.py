#!/usr/bin/env python3
"""What tools say to clients and models: their descriptions and schemas, how long an answer may be, pictures, log messages.
Prints TAP.

How to call it: wire.py.
"""
import base64
import json
import os
import re
import struct
import sys
import zlib

from wire import ROOT, Server, exchange, need, run
from wire_messages import META, call, initialize, line_of, notification, request, text_of

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LONGEST = 40000
BUDGET = 8192  # bytes of the tools and the instructions
NAME = "io.modelcontextprotocol/logLevel"


def put(name, data):
    with open(os.path.join(ROOT, name), "wb") as f:
        f.write(data)


def tools_and_instructions(*options):
    """(revision, array of tools, instructions) for each revision."""
    for version in HANDSHAKE:
        messages, _, _ = exchange(line_of(initialize(version)) + line_of(request(1, "tools/list")), *options)
        by_id = {m["id"]: m["result"] for m in messages}
        yield version, by_id[1]["tools"], by_id["init"].get("instructions", "")
    messages, _, _ = exchange(line_of(request(1, "tools/list", _meta=META)) + line_of(request(2, "server/discover", _meta=META)), *options)
    by_id = {m["id"]: m["result"] for m in messages}
    yield "2026-07-28", by_id[1]["tools"], by_id[2].get("instructions", "")


def budget():
    for version, tools, instructions in tools_and_instructions():
        size = len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False).encode())
        text = len(instructions.encode())
        need(tools and text <= 2048, "instructions of %d bytes" % text)
        need(size + text <= BUDGET, "%s: tools %d bytes + instructions %d bytes are more than %d" % (version, size, text, BUDGET))


def check_schema(schema, where, root=False):
    """What every client's translation of a schema knows, and nothing else."""
    known = {"string": {"enum", "pattern"}, "integer": {"minimum", "maximum"}, "number": {"minimum", "maximum"}, "boolean": set(), "array": {"items"},
             "object": {"properties", "required", "additionalProperties"}}
    kind = schema.get("type")
    need(kind in known, "%s: type %r" % (where, kind))
    extra = set(schema) - known[kind] - {"type", "description", "default"}
    need(not extra, "%s: %s is not understood everywhere" % (where, extra))
    need(not root or (kind == "object" and schema["additionalProperties"] is False), "%s: the root" % where)
    need(set(schema.get("required", ())) <= set(schema.get("properties", ())), "%s: required" % where)
    if kind == "array":
        check_schema(schema["items"], where + "[]")
    for name, member in schema.get("properties", {}).items():
        inner = "%s.%s" % (where, name)
        need(re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name), "%s: name" % inner)
        need(member.get("description"), "%s: no description" % inner)
        need("default" not in member or name not in schema.get("required", ()), "%s: required, and has a default" % inner)
        check_schema(member, inner)


def descriptions():
    hints = {  # read-only, destructive, idempotent, open world
        "read_file": (True, False, True, False), "list_directory": (True, False, True, False), "search_workspace": (True, False, True, False),
        "write_file": (False, True, True, False), "search_and_replace": (False, True, False, False), "run_bash": (False, True, False, True),
    }
    for version, tools, _ in tools_and_instructions():
        need([t["name"] for t in tools] == ["read_file", "write_file", "list_directory", "search_workspace", "run_bash", "search_and_replace"], version)
        for t in tools:
            need(re.fullmatch(r"[a-z][a-z0-9_]{0,39}", t["name"]), t["name"])
            a = t["annotations"]
            need((a["readOnlyHint"], a["destructiveHint"], a["idempotentHint"], a["openWorldHint"]) == hints[t["name"]], "hints of %s" % t["name"])
            need(t["title"] and a["title"] == t["title"], "title of %s" % t["name"])
            first = t["description"].split(". ")[0]
            need(20 < len(first) < 200 and len(t["description"]) < 1024, "description of %s" % t["name"])
            need(not re.search(r"\b(MUST|ALWAYS|NEVER|CRITICAL|IMPORTANT)\b", t["description"]), "%s shouts" % t["name"])
            check_schema(t["inputSchema"], t["name"], root=True)
            need("_meta" not in t and "outputSchema" not in t, "%s has more than it needs" % t["name"])


def hint_for_long_answers():
    """A client that keeps long answers from its model must know that these are meant to be long."""
    for version, tools, _ in tools_and_instructions("--max-answer-chars", "60000"):
        want = {"anthropic/maxResultSizeChars": 60000} if version >= "2025-06-18" else None
        need(all(t.get("_meta") == want for t in tools), "%s: %r" % (version, tools[0].get("_meta")))


def arguments():
    put("a.txt", b"one\ntwo\n")
    with Server() as s:
        s.send(request(1, "tools/call", name="list_directory"), request(2, "tools/call", name="list_directory", arguments=None),
               request(3, "tools/call", name="search_and_replace"))
        need("a.txt" in text_of(s.answer(1)) and "a.txt" in text_of(s.answer(2)), "no arguments are none")
        a = s.answer(3)
        need(a["result"]["isError"] and all(p in text_of(a) for p in ("- filepath: is required", "- edits: is required")), text_of(a))
        for id_, (tool, wrong, parts) in enumerate([
                ("read_file", {"path": "a.txt"}, ['- path: there is no such argument; did you mean "filepath"?', "- filepath: is required"]),
                ("run_bash", {"command": "x", "timeout_ms": 5}, ['- timeout_ms: there is no such argument; did you mean "timeout"?']),
                ("run_bash", {"cmd": "x"}, ["- cmd: there is no such argument; there are: command, timeout", "- command: is required"]),
                ("read_file", {"filepath": "a.txt", "limit": "many"}, ['- limit: must be an integer, but is the string "many"']),
                ("list_directory", {"offset": -1}, ["- offset: must be at least 0, but is -1"])], 10):
            s.send(call(id_, tool, **wrong))
            a = s.answer(id_)
            need(a["result"]["isError"] and all(p in text_of(a) for p in parts), text_of(a))
        for id_, (tool, near, part) in enumerate([
                ("read_file", {"filepath": "a.txt", "offset": "1", "limit": "1"}, "two"),
                ("search_and_replace", {"filepath": "a.txt", "edits": '[{"old":"one","new":"1"}]', "dry_run": "yes"}, "DRY RUN: 1 edits"),
                ("search_and_replace", {"filepath": "a.txt", "edits": {"old": "one", "new": "1"}, "dry_run": 1}, "DRY RUN: 1 edits"),
                ("search_workspace", {"pattern": "*.txt", "exclude_patterns": "b*"}, "a.txt"),
                ("run_bash", {"command": "echo x", "timeout": None, "pids": "50", "memory": 536870912}, "x")], 20):
            s.send(call(id_, tool, **near))
            a = s.answer(id_)
            need(not a["result"]["isError"] and part in text_of(a), text_of(a))


def longest_answers():
    put("long.txt", b"".join(b"line %d of a text whose lines are of some length\n" % i for i in range(20000)))
    put("line.txt", b"x" * 200000)
    os.makedirs(os.path.join(ROOT, "many"), exist_ok=True)
    for i in range(1500):
        put("many/%04d-%s" % (i, "n" * 60), b"")
    edits = [{"old": "line %d of" % i, "new": "row %d of" % i} for i in range(0, 20000, 100)]
    calls = [("read_file", {"filepath": "long.txt", "limit": 0}), ("read_file", {"filepath": "line.txt"}), ("list_directory", {"path": "many"}),
             ("search_workspace", {"pattern": "many/*"}), ("search_and_replace", {"filepath": "long.txt", "edits": edits, "dry_run": True}),
             ("run_bash", {"command": "cat long.txt"}), ("run_bash", {"command": "head -c 100000 /dev/urandom"}),
             ("run_bash", {"command": "cat line.txt; sleep 9", "timeout": 1})]
    for longest in (LONGEST, 2000, 100000):
        options = [] if longest == LONGEST else ["--max-answer-chars", str(longest)]
        with Server("--max-search-results", "100000", *options) as s:
            s.send(request("l", "logging/setLevel", level="emergency"))
            s.answer("l")
            for id_, (tool, args) in enumerate(calls):
                s.send(call(id_, tool, **args))
                text = text_of(s.answer(id_))
                need(len(text) <= longest, "%s %.80r: %d characters" % (tool, args, len(text)))
                if longest < 100000:
                    need(re.search(r"truncated|are shown|are not shown", text), "%s does not say that something is missing" % tool)
            s.send(call("e", "read_file", **{"unknown%d" % i: i for i in range(60)}))
            text = text_of(s.answer("e"))
            need(len(text) <= longest and ("answer truncated: the first " in text) == (longest == 2000), text[-200:])


def exact_way_to_the_rest():
    """What the notice of a long output names is what is missing."""
    with Server() as s:
        s.send(call(1, "run_bash", command="seq 20000"))
        text = text_of(s.answer(1))
        m = re.search(r"\[\.\.\. output truncated at (\d+)KB: lines (\d+) to (\d+) of 20000 .* sed -n '(\d+),(\d+)p' /tmp/out, or grep\. \.\.\.\]\n", text)
        need(m, text[15000:25000])
        kb, first, last, begin, _ = (int(x) for x in m.groups())
        shown = text[len("[Exit code: 0]\n"):m.start()] + "".join("%d\n" % i for i in range(first, last + 1)) + text[m.end():]
        need(shown == "".join("%d\n" % i for i in range(1, 20001)), "the parts are not the whole")
        need(begin == first and kb == round((len(text) - len(m.group(0)) - 15) / 1024), m.group(0))


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"\xff\0\0" * width for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pictures():
    picture = png(30, 20)
    put("p.png", picture)
    put("half.png", picture[:-20])
    put("wide.png", png(2001, 1))
    for options in ([], ["--structured-output"]):
        for version in HANDSHAKE + ("2026-07-28",):
            meta = {"_meta": META} if version == "2026-07-28" else {}
            start = b"" if meta else line_of(initialize(version))
            messages, _, _ = exchange(start + line_of(request(1, "tools/call", name="read_file", arguments={"filepath": "p.png"}, **meta)), *options)
            result = next(m["result"] for m in messages if m.get("id") == 1)
            text, image = result["content"]
            need(text == {"type": "text", "text": "image/png, 30 x 20 pixels, %d bytes" % len(picture)}, text)
            need(image["type"] == "image" and image["mimeType"] == "image/png" and set(image) == {"type", "mimeType", "data"}, image)
            need(base64.b64decode(image["data"], validate=True) == picture and result["isError"] is False, "the picture")
            need(("structuredContent" in result) == (bool(options) and version >= "2025-06-18"), "structuredContent")
    with Server() as s:
        for id_, (name, part) in enumerate([("half.png", "is damaged or not complete"), ("wide.png", "has 2001 x 1 pixels")]):
            s.send(call(id_, "read_file", filepath=name))
            result = s.answer(id_)["result"]
            need(result["isError"] and len(result["content"]) == 1 and part in result["content"][0]["text"], result)


def log_messages():
    put("a.txt", b"one\ntwo\n")
    put("p.png", png(2, 2))
    calls = [("read_file", {"filepath": "a.txt"}, "read_file: 2 lines returned"), ("read_file", {"filepath": "p.png"}, "read_file: picture of "),
             ("list_directory", {}, "list_directory: "), ("search_workspace", {"pattern": "a.txt"}, "search_workspace: 1 matches"),
             ("run_bash", {"command": "exit 3"}, "run_bash: exit_code=3, 0 bytes of output"), ("write_file", {"filepath": "n", "content": "x"}, "write_file: Successfully"),
             ("search_and_replace", {"filepath": "a.txt", "edits": [{"old": "one", "new": "1"}]}, "search_and_replace: 1 edits")]
    with Server(version="2025-11-25") as s:
        for id_, (tool, args, figure) in enumerate(calls):
            seen = []
            s.send(call(id_, tool, **args))
            s.answer(id_, seen=seen)
            told = [m["params"] for m in seen if m.get("method") == "notifications/message"]
            need([t["level"] for t in told] == ["info", "info"] and seen[-1].get("id") == id_, seen)
            need(told[0]["data"]["msg"].startswith(tool + "(") and told[1]["data"]["msg"].startswith(figure), told)
        seen = []
        s.send(call("e", "read_file", filepath="none"))
        s.answer("e", seen=seen)
        told = [m["params"] for m in seen if m.get("method") == "notifications/message"]
        need([t["level"] for t in told] == ["info", "error"] and "not found" in told[1]["data"]["msg"], told)
        # A stateless request chooses for itself.
        for level, least in (("debug", 2), ("info", 2), ("warning", 0), (None, 0)):
            seen = []
            meta = dict(META, **({NAME: level} if level else {}))
            s.send(request("m", "tools/call", name="list_directory", arguments={}, _meta=meta))
            s.answer("m", seen=seen)
            need(len([m for m in seen if m.get("method") == "notifications/message"]) == least, (level, seen))


def options_of_the_answer():
    for value in ("1999", "200001", "x", "-1"):
        _, status, _ = exchange(b"", "--max-answer-chars", value)
        need(status == 125, "%s was accepted" % value)
    messages, _, _ = exchange(line_of(initialize()) + line_of(notification("notifications/initialized"))
                              + line_of(call(1, "run_bash", command="head -c 60000 /dev/zero | tr '\\0' x")), "--max-answer-chars", "52000")
    text = next(text_of(m) for m in messages if m.get("id") == 1)
    need("output truncated at 50KB" in text and 51000 < len(text) <= 52000, "%d characters" % len(text))


TESTS = [budget, descriptions, hint_for_long_answers, arguments, longest_answers, exact_way_to_the_rest, pictures, log_messages,
         options_of_the_answer]

if __name__ == "__main__":
    sys.exit(run(TESTS))
