#!/usr/bin/env python3
"""Prompts, completion, and how the server introduces itself, on the wire. Prints TAP.

How to call it: wire.py.
"""
import base64
import os
import re
import struct
import subprocess
import sys
import zlib

from wire import ROOT, SERVER, Server, exchange, need, run
from wire_messages import INVALID, META, NONE, OK, PARAMS, call, initialize, line_of, notification, outcome, request

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
INFO = "io.modelcontextprotocol/serverInfo"
TEMPLATE = "file:///workspace/{+path}"


def ask(*requests, version=None):
    """One answer for each request, in their order, from a fresh server."""
    first = [initialize(version)] if version else []
    messages, status, _ = exchange(b"".join(line_of(m) for m in first + list(requests)))
    need(status == 0, "exit status %d" % status)
    by_id = {m["id"]: m for m in messages}
    return [by_id[r["id"]] for r in requests]


def text_of(answer):
    (message,) = answer["result"]["messages"]
    need(message["role"] == "user" and message["content"]["type"] == "text", message)
    return message["content"]["text"]


# --- prompts ------------------------------------------------------------------------------------------------------------

def prompt_list():
    for version in VERSIONS + ["2026-07-28"]:
        stateless = version == "2026-07-28"
        (m,) = ask(request(1, "prompts/list", **({"_meta": META} if stateless else {})), version=None if stateless else version)
        result = m["result"]
        names = [p["name"] for p in result["prompts"]]
        need(names == ["cloche", "explore", "fix-tests", "review-changes", "write-tests"], names)
        need("nextCursor" not in result, "nextCursor")
        for p in result["prompts"]:
            for thing in [p] + p.get("arguments", []):
                need(("title" in thing) == (version >= "2025-06-18"), "title belongs to 2025-06-18: %r" % thing)
                need(thing["description"], thing)
        required = {(p["name"], a["name"]) for p in result["prompts"] for a in p.get("arguments", []) if a["required"]}
        need(required == {("write-tests", "path")}, required)
        need((result.get("resultType"), result.get("ttlMs"), result.get("cacheScope"))
             == (("complete", 3600000, "public") if stateless else (None, None, None)), result.keys())
    (m,) = ask(request(1, "prompts/list", cursor="x"))
    need(outcome(m) == (1, PARAMS), m)


def skill_is_the_file():
    """The guide comes through the build unchanged, and speaks of what there is."""
    with open(os.path.join(TREE, "mcp", "skill", "SKILL.md"), encoding="utf-8") as f:
        front, body = re.fullmatch(r"---\n(.*?)\n---\n\n(.*)", f.read(), re.DOTALL).groups()
    description = re.search("^description: (.*)$", front, re.MULTILINE).group(1)
    answers = ask(request(1, "prompts/get", name="cloche"), request(2, "prompts/get", name="cloche", arguments={}, _meta=META),
                  request(3, "tools/list"), request(4, "prompts/list"))
    for m in answers[:2]:
        need(text_of(m) == body, "the text differs")
        need(m["result"]["description"] == description, m["result"]["description"])
    need(answers[1]["result"]["resultType"] == "complete", "resultType")
    need("resultType" not in answers[0]["result"], "a handshake answer with members of 2026-07-28")
    need(answers[3]["result"]["prompts"][0]["description"] == description, "the description in the list")
    tools = {t["name"]: t["inputSchema"]["properties"] for t in answers[2]["result"]["tools"]}
    texts = [front, body] + [text_of(m) for m in ask(*[
        request(i, "prompts/get", name=name, arguments={"path": "x"} if name == "write-tests" else {})
        for i, name in enumerate(["explore", "fix-tests", "review-changes", "write-tests"])])]
    known = set(tools) | {name for properties in tools.values() for name in properties} | {"__pycache__", ".ruff_cache", ".venv_container", "node_modules"}
    for text in texts:
        for word in re.findall(r"[a-z]+(?:_[a-z]+)+", text):
            need(word in known or "." + word in known or "__%s__" % word in known, "the text speaks of %r, which is no tool" % word)
    for name in tools:
        need(name in front and "`%s`" % name in body, "the guide does not name the tool %s" % name)


def guide_knows_the_limits():
    """Its table has the defaults of the program."""
    answers = ask(request(1, "prompts/get", name="cloche"), request(2, "tools/list"))
    body, limit = text_of(answers[0]), next(t["inputSchema"]["properties"]["limit"] for t in answers[1]["result"]["tools"] if t["name"] == "read_file")
    text = " ".join(subprocess.run([SERVER, "--help"], stdout=subprocess.PIPE, timeout=10, check=True).stdout.decode().split())
    default = {name: int(value) for name, value in re.findall(r"--([a-z-]+) [A-Z]+ (?:(?!--)[^(])*\((\d+)\)", text)}
    for row in ("| the text of an answer | %d characters |" % default["max-answer-chars"],
                "| a command | %d seconds; ask for up to 3600 with `timeout` |" % default["command-timeout"],
                "| `read_file` | %d lines unless you give `limit`; go on with `offset` |" % limit["default"],
                "| `write_file` | %d MiB of content |" % (default["max-write-bytes"] >> 20),
                "| `search_workspace` | %d paths |" % default["max-search-results"]):
        need(row in body, "%r is not in the guide" % row)


def prompt_values():
    with Server() as s:
        s.send(request(1, "prompts/get", name="write-tests", arguments={"path": "src/ä\u2028.c\n\"{}\"%s", "command": ""}))
        text = text_of(s.answer(1))
        need("/workspace: src/ä\u2028.c\n\"{}\"%s\n" in text and "Find out how the tests are run" in text, text)
        s.send(request(2, "prompts/get", name="explore", arguments=None))
        need("Look only at" not in text_of(s.answer(2)), "a part without its argument")
        s.send(request(3, "prompts/get", name="explore", arguments={"question": "\x01" * 4096}))
        need("\x01" * 4096 in text_of(s.answer(3)), "the longest value")


def a_value_twice():
    """The last one counts, as in the arguments of tools."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"explore","arguments":{"path":"first","path":"second"}}}\n'
    (m,), _, _ = exchange(line)
    need("second" in text_of(m) and "first" not in text_of(m).split("\n\n")[1], text_of(m)[:200])


def prompt_errors():
    rows = [({}, "needs the name"), ({"name": 5}, "needs the name"), ({"name": "nope"}, "There are: cloche, explore"),
            ({"name": "explore", "arguments": []}, "must be an object"), ({"name": "explore", "arguments": "x"}, "must be an object"),
            ({"name": "explore", "arguments": {"pth": "x"}}, "it takes: path, question"), ({"name": "a\nb"}, 'Unknown prompt "a?b"'),
            ({"name": "explore", "arguments": {"a\nb": "x"}}, 'has no argument "a?b"'),
            ({"name": "explore", "arguments": {"path": ["x"]}}, '"path" must be a string'),
            ({"name": "write-tests"}, 'needs the argument "path"'), ({"name": "write-tests", "arguments": {"path": ""}}, 'needs the argument'),
            ({"name": "explore", "arguments": {"path": "x" * 4097}}, "4097 bytes")]
    answers = ask(*[request(i, "prompts/get", **params) for i, (params, _) in enumerate(rows)])
    for m, (params, part) in zip(answers, rows):
        need(outcome(m)[1] == PARAMS and part in m["error"]["message"], "%r: %r" % (params, m))


# --- completion -----------------------------------------------------------------------------------------------------------

def wanted(id_, ref, argument, value, **more):
    return request(id_, "completion/complete", ref=ref, argument={"name": argument, "value": value}, **more)


def prompt_ref(name):
    return {"type": "ref/prompt", "name": name}


def resource_ref(uri):
    return {"type": "ref/resource", "uri": uri}


def make_files():
    for name in ("one/deep", ".git"):
        os.makedirs(os.path.join(ROOT, "complete", name), exist_ok=True)
    for name in ["once.c", "two.c", ".env"] + ["many/f%03d" % i for i in range(150)]:
        path = os.path.join(ROOT, "complete", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "w").close()
    link = os.path.join(ROOT, "complete", "outside")
    if not os.path.islink(link):
        os.symlink("/etc", link)


def completions():
    make_files()
    path, command = ("explore", "path"), ("fix-tests", "command")
    rows = [(path, "complete/", [".env", "many/", "once.c", "one/", "outside", "two.c"]), (path, "complete/on", ["once.c", "one/"]),
            (path, "complete/one/", ["one/deep/"]), (path, ROOT + "/complete/tw", ["two.c"]), (path, "complete/outside/", []), (path, "/etc/pass", []),
            (path, "complete/../", []), (path, "nothing/", []), (path, "x" * 10000, []),
            (command, "make", ["make check", "make test"]), (command, "make test --", []),
            (("review-changes", "focus"), "sec", ["security"]), (("review-changes", "base"), "", []), (("explore", "nope"), "", []),
            (("cloche", "path"), "", [])]
    with Server() as s:
        s.send(*[wanted(i, prompt_ref(name), argument, value, context={"arguments": {"question": "x"}})
                 for i, ((name, argument), value, _) in enumerate(rows)])
        for i, ((name, argument), value, expected) in enumerate(rows):
            head = value[:value.rfind("/") + 1].replace("one/", "") if argument == "path" else ""
            got = s.answer(i)["result"]
            need(set(got) == {"completion"}, got)
            need(got["completion"] == {"values": [head + e for e in expected], "total": len(expected), "hasMore": False}, "%s %r: %r" % (name, value, got))
        s.send(wanted("many", prompt_ref("explore"), "path", "complete/many/f"))
        got = s.answer("many")["result"]["completion"]
        need(got["total"] == 150 and got["hasMore"] is True, got)
        need(got["values"] == ["complete/many/f%03d" % i for i in range(100)], got)


def template_completions():
    make_files()
    rows = [(TEMPLATE, "path", "complete/on", ["complete/once.c", "complete/one/"]), (TEMPLATE, "path", ROOT + "/complete/on", []),
            (TEMPLATE, "nope", "", []), ("cloche://jobs/{id}/output", "id", "", []), ("cloche://jobs", "id", "", []),
            ("skill://cloche/SKILL.md", "path", "", []), ("file:///workspace/complete", "path", "", [])]
    answers = ask(*[wanted(i, resource_ref(uri), argument, value) for i, (uri, argument, value, _) in enumerate(rows)],
                  wanted("m", resource_ref(TEMPLATE), "path", "complete/two", _meta=META))
    for m, (uri, argument, value, expected) in zip(answers, rows):
        need(m["result"]["completion"]["values"] == expected, "%s %r: %r" % (uri, value, m))
    last = answers[-1]["result"]
    need(last["completion"]["values"] == ["complete/two.c"] and last["resultType"] == "complete", last)


def completion_errors():
    argument = {"name": "path", "value": ""}
    rows = [{}, {"ref": prompt_ref("explore")}, {"argument": argument}, {"ref": prompt_ref("nope"), "argument": argument},
            {"ref": resource_ref("http://x/"), "argument": argument},
            {"ref": resource_ref("file:///workspace/../x"), "argument": argument}, {"ref": {"type": "ref/tool", "name": "x"}, "argument": argument},
            {"ref": {"type": "ref/prompt"}, "argument": argument}, {"ref": {"type": "ref/resource", "name": "explore"}, "argument": argument},
            {"ref": "explore", "argument": argument}, {"ref": prompt_ref("explore"), "argument": {"name": "path"}},
            {"ref": prompt_ref("explore"), "argument": {"name": "path", "value": 5}}, {"ref": prompt_ref("explore"), "argument": {"value": "x"}},
            {"ref": prompt_ref("explore"), "argument": ["path", "x"]}]
    for m, params in zip(ask(*[request(i, "completion/complete", **params) for i, params in enumerate(rows)]), rows):
        need(outcome(m)[1] == PARAMS and len(m["error"]["message"]) > 20, "%r: %r" % (params, m))


def completion_in_line():
    """One that works is like a call: it waits for a worker, its id is taken, and it can be cancelled."""
    make_files()
    slow = "x = [" + "1, " * 200000 + "]\n"  # its check takes a moment, and there are four workers
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        s.send(*[call("slow%d" % i, "write_file", filepath="slow%d.py" % i, content=slow) for i in range(4)])
        s.send(wanted("id", prompt_ref("explore"), "path", "complete/on"), wanted("twice", prompt_ref("explore"), "path", "complete/"),
               wanted("twice", prompt_ref("explore"), "path", "complete/"), notification("notifications/cancelled", requestId="id"),
               wanted("id", prompt_ref("explore"), "path", "complete/tw"), request("p", "ping"))
        order = []
        s.answer("p", 15, order)
        need([outcome(m) for m in order] == [(NONE, INVALID), ("p", OK)], "before the workers are free: %r" % order)
        for i in range(4):
            need("Successfully wrote" in s.answer("slow%d" % i, 30)["result"]["content"][0]["text"], "a call")
        need(s.answer("twice")["result"]["completion"]["total"] == 6, "the first of the two")
        # Only what was asked with the id of the cancelled one is answered.
        need(s.answer("id")["result"]["completion"]["values"] == ["complete/two.c"], "the second one with this id")
        s.silence(0.3)
        # 128 at the same time, 256 in line: then nothing more is read until one is answered.
        s.send(*[call("slow%d" % i, "write_file", filepath="slow%d.py" % i, content=slow, create_only=False) for i in range(4)])
        s.send(*[wanted(i, prompt_ref("explore"), "path", "complete/on") for i in range(500)], request("p", "ping"))
        first = s.message()
        need(first["id"] != "p", "500 requests at the same time")
        s.answers[first["id"]] = first
        need(all(s.answer(i)["result"]["completion"]["total"] == 2 for i in range(500)), "an answer")
        s.answer("p")
    for i in range(4):
        os.unlink(os.path.join(ROOT, "slow%d.py" % i))


def many_completions():
    """More than may run at the same time wait, and the server ends only when those it has are answered."""
    make_files()
    data = b"".join(line_of(wanted(i, prompt_ref("explore"), "path", "complete/many/")) for i in range(300))
    messages, status, _ = exchange(data)
    need(status == 0 and sorted(m["id"] for m in messages) == list(range(300)), "%d answers, status %d" % (len(messages), status))
    need(all(m["result"]["completion"]["total"] == 150 for m in messages), "an answer of another request")


# --- introductions -------------------------------------------------------------------------------------------------------

def capabilities():
    for version in VERSIONS:
        (m,), _, _ = exchange(line_of(initialize(version)))
        declared = m["result"]["capabilities"]
        need(declared["prompts"] == {}, declared)
        need(("completions" in declared) == (version >= "2025-03-26"), "completions belongs to 2025-03-26: %r" % declared)
        # The first revision has the method all the same.
        need("result" in ask(wanted(1, prompt_ref("explore"), "path", ""), version=version)[0], "completion in %s" % version)
    (m,) = ask(request(1, "server/discover", _meta=META))
    need(m["result"]["capabilities"]["prompts"] == {} and m["result"]["capabilities"]["completions"] == {}, m)


def instructions():
    handshake, discover = ask(initialize(id_=1), request(2, "server/discover", _meta=META))
    text = handshake["result"]["instructions"]
    need(text == discover["result"]["instructions"], "both eras get the same")
    need(len(text.encode()) <= 1024, "%d bytes" % len(text.encode()))
    (tools, prompts) = ask(request(3, "tools/list"), request(4, "prompts/list"))
    names = {t["name"] for t in tools["result"]["tools"]}
    for word in re.findall(r"[a-z]+(?:_[a-z]+)+", text):
        need(word in names, "the instructions speak of %r, which is no tool" % word)
    need(re.search(r"prompt (\w+)", text).group(1) in {p["name"] for p in prompts["result"]["prompts"]}, "a prompt that is not there")


def check_png(data, sizes):
    need(data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG: %r" % data[:16])
    at, kinds, pixels = 8, [], b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        need(struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body), "checksum of %r" % kind)
        kinds.append(kind)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        pixels += body if kind == b"IDAT" else b""
        at += 12 + length
    need(kinds[0] == b"IHDR" and kinds[-1] == b"IEND" and colour == 3 and b"PLTE" in kinds and b"tRNS" in kinds, kinds)
    need(sizes == ["%dx%d" % (width, height)], "%r is not %dx%d" % (sizes, width, height))
    need(len(zlib.decompress(pixels)) == height * (1 + (width * depth + 7) // 8), "pixels are missing")


def server_info():
    """The icon is there for the first answer only, and in revisions that know icons."""
    for version in VERSIONS:
        (m,), _, _ = exchange(line_of(initialize(version)))
        info = m["result"]["serverInfo"]
        need(("icons" in info) == (version >= "2025-11-25"), info)
        need("websiteUrl" not in info, "there is no web site")
    discover, tools = ask(request(1, "server/discover", _meta=META), request(2, "tools/list", _meta=META))
    need(set(tools["result"]["_meta"][INFO]) == {"name", "version", "title"}, "every answer: %r" % tools["result"]["_meta"])
    (icon,) = discover["result"]["_meta"][INFO]["icons"]
    need(icon == info["icons"][0], "both eras have the same")
    head = "data:image/png;base64,"
    need(icon["src"].startswith(head) and icon["mimeType"] == "image/png" and len(icon["src"]) <= 2048, icon)
    check_png(base64.b64decode(icon["src"][len(head):], validate=True), icon["sizes"])


TESTS = [prompt_list, skill_is_the_file, guide_knows_the_limits, prompt_values, a_value_twice, prompt_errors, completions, template_completions, completion_errors,
         completion_in_line, many_completions, capabilities, instructions, server_info]

if __name__ == "__main__":
    sys.exit(run(TESTS))
