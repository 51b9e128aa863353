#!/usr/bin/env python3
"""Resources on the wire: lists, templates, reading. Prints TAP.

How to call it: wire.py.
"""
import base64
import fcntl
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from wire import ROOT, SANITIZED, Server, command, exchange, need, peak_kib, run, sleeper
from wire_messages import META, OK, PARAMS, call, initialize, line_of, notification, outcome, request

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
VERSIONS = HANDSHAKE + ["2026-07-28"]
NOT_FOUND = -32002
HOUR = 3600000
FILES = "file:///workspace/"


def put(path, data=b"x"):
    full = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as f:
        f.write(data)


def ask(*requests, version="2025-11-25", options=(), **popen):
    """One answer for each request, in their order, from a fresh server."""
    stateless = version == "2026-07-28"
    for r in requests:
        if stateless:
            r["params"]["_meta"] = META
    data = b"".join(line_of(m) for m in ([] if stateless else [initialize(version)]) + list(requests))
    p = subprocess.run(command(*options), input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30, **popen)
    need(p.returncode == 0, "exit status %d: %r" % (p.returncode, p.stderr[-400:]))
    by_id = {m["id"]: m for m in map(json.loads, p.stdout.splitlines())}
    return [by_id[r["id"]] for r in requests]


def read(id_, uri):
    return request(id_, "resources/read", uri=uri)


def content_of(answer):
    need("result" in answer, answer)
    (content,) = answer["result"]["contents"]
    return content


def caching(result):
    return result.get("resultType"), result.get("ttlMs"), result.get("cacheScope")


# --- lists --------------------------------------------------------------------------------------------------------------

def lists():
    for version in VERSIONS:
        stateless = version == "2026-07-28"
        wanted = ("complete", HOUR, "public") if stateless else (None, None, None)
        resources, templates = (m["result"] for m in ask(request(1, "resources/list"), request(2, "resources/templates/list"), version=version))
        need([r["uri"] for r in resources["resources"]] == ["skill://cloche/SKILL.md", "cloche://jobs"], resources)
        need([t["uriTemplate"] for t in templates["resourceTemplates"]] == [FILES + "{+path}", "cloche://jobs/{id}/output"], templates)
        for result in resources, templates:
            need("nextCursor" not in result, "nextCursor")
            need(caching(result) == wanted, result)
        for thing in resources["resources"] + templates["resourceTemplates"]:
            need(("title" in thing) == (version >= "2025-06-18"), "title belongs to 2025-06-18: %r" % thing)
            need(set(thing) <= {"uri", "uriTemplate", "name", "title", "description", "mimeType", "annotations", "size"}, thing)
            need(thing["name"] and len(thing["description"]) > 40, thing)
            need(set(thing["annotations"]["audience"]) <= {"user", "assistant"} and 0 <= thing["annotations"]["priority"] <= 1, thing)
        names = [t["name"] for t in resources["resources"] + templates["resourceTemplates"]]
        need(len(set(names)) == len(names), names)


def cursors():
    a = ask(*[request(i, method, cursor=c) for i, (method, c) in enumerate(
        [("resources/list", "x"), ("resources/list", ""), ("resources/list", 1), ("resources/templates/list", "x"), ("resources/list", None)])])
    need([outcome(m)[1] for m in a] == [PARAMS, PARAMS, PARAMS, PARAMS, OK], a)


def capability():
    (m,) = ask(request(1, "server/discover"), version="2026-07-28")
    need(m["result"]["capabilities"]["resources"] == {"subscribe": True}, m)
    for version in HANDSHAKE:
        messages, _, _ = exchange(line_of(initialize(version)))
        need(messages[0]["result"]["capabilities"]["resources"] == {"subscribe": True}, messages)


def every_listed_one_can_be_read():
    for version in VERSIONS:
        (listed,) = ask(request(0, "resources/list"), version=version)
        uris = [r["uri"] for r in listed["result"]["resources"]]
        for r, m in zip(listed["result"]["resources"], ask(*[read(i, uri) for i, uri in enumerate(uris)], version=version)):
            content = content_of(m)
            need((content["uri"], content["mimeType"]) == (r["uri"], r["mimeType"]), content)
            need("size" not in r or r["size"] == len(content["text"].encode()), "%r has %d bytes" % (r, len(content["text"].encode())))
            need(set(content) == {"uri", "mimeType", "text"}, content)


# --- those that are no files --------------------------------------------------------------------------------------------

def skill():
    with open(os.path.join(TREE, "mcp", "skill", "SKILL.md"), encoding="utf-8") as f:
        text = f.read()
    for version, wanted in [("2025-11-25", (None, None, None)), ("2026-07-28", ("complete", HOUR, "public"))]:
        (m,) = ask(read(1, "skill://cloche/SKILL.md"), version=version)
        need(content_of(m) == {"uri": "skill://cloche/SKILL.md", "mimeType": "text/markdown", "text": text}, m)
        need(caching(m["result"]) == wanted, m["result"])


def policy_file(data):
    """A file with @data, whose descriptor is none of the low numbers that the server's init uses."""
    with tempfile.TemporaryFile() as f:
        f.write(data)
        f.seek(0)
        return os.fdopen(fcntl.fcntl(f.fileno(), fcntl.F_DUPFD_CLOEXEC, 50), "rb")


def policy():
    """What --policy-fd holds is listed and read, with how limits are held in front; without it there is no such resource."""
    told = {"version": "1", "files": [{"path": "/\u00e9\"\\"}], "walls": []}
    for limits in [("--limits", "exact"), ()]:
        with policy_file(json.dumps(told, ensure_ascii=False).encode()) as f:
            options = ["--policy-fd", str(f.fileno()), *limits]
            a = ask(request(1, "resources/list"), read(2, "cloche://policy"), version="2026-07-28", options=options, pass_fds=[f.fileno()])
        row = next(r for r in a[0]["result"]["resources"] if r["uri"] == "cloche://policy")
        text = content_of(a[1])["text"]
        need(json.loads(text) == {"limits_held": limits[1] if limits else None, **told}, text)
        need(row["size"] == len(text.encode()) and row["mimeType"] == content_of(a[1])["mimeType"] == "application/json", row)
        need(caching(a[1]["result"]) == ("complete", HOUR, "private"), a[1])
    (m,) = ask(read(1, "cloche://policy"))
    need(outcome(m) == (1, NOT_FOUND) and "not known" in m["error"]["message"], m)


def policy_that_cannot_be_read():
    for data in b"", b"{", b"[1]", b"text":
        with policy_file(data) as f:
            p = subprocess.run(command("--policy-fd", str(f.fileno())), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=20, pass_fds=[f.fileno()])
        need(p.returncode == 125 and b"no JSON object" in p.stderr and p.stdout == b"", "%r: %r" % (data, p))
    p = subprocess.run(command("--policy-fd", "1000"), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=20)
    need(p.returncode == 1 and b"the policy in descriptor 1000 cannot be read: Bad file descriptor" in p.stderr, p)


def jobs():
    for version, wanted, code in [("2025-11-25", (None, None, None), NOT_FOUND), ("2026-07-28", ("complete", 0, "private"), PARAMS)]:
        a = ask(read(1, "cloche://jobs"), read(2, "cloche://jobs/0123/output"), version=version)
        need(json.loads(content_of(a[0])["text"]) == [] and caching(a[0]["result"]) == wanted, a[0])
        need(outcome(a[1]) == (2, code) and a[1]["error"]["data"] == {"uri": "cloche://jobs/0123/output"}, a[1])


def output_of_a_job():
    """The output of a task can be read while it runs and afterwards."""
    with Server(version="2025-11-25") as s:
        s.send(request(1, "tools/call", name="run_bash", arguments={"command": "echo first; read -r line <gate; echo second"}, task={"ttl": 60000}))
        os.mkfifo(os.path.join(ROOT, "gate"))
        task = s.answer(1)["result"]["task"]["taskId"]
        uri = "cloche://jobs/%s/output" % task
        for attempt in range(200):
            s.send(read("r%d" % attempt, uri))
            content = content_of(s.answer("r%d" % attempt))
            if "first" in content["text"]:
                break
            time.sleep(0.05)
        need("first" in content["text"] and "second" not in content["text"], content)
        need((content["uri"], content["mimeType"]) == (uri, "text/plain"), content)
        s.send(read(2, "cloche://jobs"))
        (job,) = json.loads(content_of(s.answer(2))["text"])
        need((job["id"], job["tool"], job["status"]) == (task, "run_bash", "working"), job)
        with open(os.path.join(ROOT, "gate"), "w") as gate:
            gate.write("x\n")
        s.send(request(3, "tasks/result", taskId=task))
        s.answer(3)
        s.send(read(4, uri), read(5, "cloche://jobs"))
        need("first\nsecond" in content_of(s.answer(4))["text"], "the output of a job that has ended")
        need(json.loads(content_of(s.answer(5))["text"])[0]["status"] == "completed", "its status")
    os.unlink(os.path.join(ROOT, "gate"))


# --- files --------------------------------------------------------------------------------------------------------------

def files():
    put("a.md", "# caf\u00e9\u2028 \u0001\n".encode())
    put("empty", b"")
    put("all bytes \u00e9#?%25.bin", bytes(range(256)))
    put("dir/sub/b.c", b"int b;\n")
    rows = [
        ("a.md", {"mimeType": "text/markdown", "text": "# caf\u00e9\u2028 \u0001\n"}),
        ("empty", {"mimeType": "text/plain", "text": ""}),
        ("all%20bytes%20%C3%A9%23%3F%2525.bin", {"mimeType": "application/octet-stream", "blob": base64.b64encode(bytes(range(256))).decode()}),
        ("all bytes \u00e9#?%2525.bin", {"mimeType": "application/octet-stream", "blob": base64.b64encode(bytes(range(256))).decode()}),
        ("dir", {"mimeType": "inode/directory", "text": "sub/\n"}),
        ("dir/sub/", {"mimeType": "inode/directory", "text": "b.c\n"}),
        ("dir/sub/b.c", {"mimeType": "text/x-c", "text": "int b;\n"}),
    ]
    for version, wanted in [("2024-11-05", (None, None, None)), ("2026-07-28", ("complete", 0, "private"))]:
        for (path, content), m in zip(rows, ask(*[read(i, FILES + path) for i, (path, _) in enumerate(rows)], version=version)):
            need(content_of(m) == {"uri": FILES + path, **content}, m)
            need(caching(m["result"]) == wanted, m["result"])
    (m,) = ask(read(1, "file://localhost/workspace/a.md"))
    need(content_of(m)["uri"] == "file://localhost/workspace/a.md", "a URI comes back as it was sent")


def refusals():
    put("file")
    os.symlink("/etc/passwd", os.path.join(ROOT, "out"))
    os.mkfifo(os.path.join(ROOT, "fifo"))
    missing = [FILES + "nothing", FILES + "file/x", FILES + "out", "file:///etc/passwd", "file:///workspaces/file", "file:///",
               "file://elsewhere/workspace/file", "test://nothing", "", "relative", "cloche://policy/", FILES + "n" * 300, FILES + "x/" * 4000]
    bad = [FILES + "../etc/passwd", FILES + "%2e%2e/etc/passwd", FILES + "a/%2E./b", FILES + "a%2Fb", FILES + "a%00", FILES + "a%", FILES + "a%zz",
           FILES + "a//b", FILES + "./a", FILES + "a\nb", "file:workspace/file", FILES + "fifo"]
    for version, code in [("2024-11-05", NOT_FOUND), ("2025-11-25", NOT_FOUND), ("2026-07-28", PARAMS)]:
        for uri, wanted in [(u, code) for u in missing] + [(u, PARAMS) for u in bad]:
            (m,) = ask(read(1, uri), version=version)
            need(outcome(m) == (1, wanted), "%r: %r" % (uri, m))
            need(m["error"]["data"] == {"uri": uri}, m)
            need(m["error"]["message"].endswith("."), m)
    for uri in FILES + "\1" * 4000, "skill://" + "x" * 40000:
        (m,) = ask(read(1, uri))
        need(outcome(m) == (1, PARAMS if "\1" in uri else NOT_FOUND) and m["error"]["data"] == {"uri": uri}, "a URI of %d bytes: %.300r" % (len(uri), m))
    for params in {}, {"uri": 1}, {"uri": None}, {"uri": ["a"]}, {"name": "a"}:
        (m,) = ask(request(1, "resources/read", **params))
        need(outcome(m) == (1, PARAMS), m)
    os.unlink(os.path.join(ROOT, "out"))
    os.unlink(os.path.join(ROOT, "fifo"))


def sizes():
    put("big", b"a" * 5001)
    put("text", b"\x01" * 700000)   # six bytes each in JSON
    put("blob", b"\xff" * 3200000)  # more than four millions in base64
    a = ask(read(1, FILES + "big"), options=["--max-read-bytes", "5001"]) + ask(read(2, FILES + "big"), options=["--max-read-bytes", "5000"])
    need(len(content_of(a[0])["text"]) == 5001, "the largest that may be read")
    need(outcome(a[1]) == (2, PARAMS) and "more than 5000 bytes" in a[1]["error"]["message"], a[1])
    need(a[1]["error"]["data"] == {"uri": FILES + "big"}, a[1])
    for m in ask(read(1, FILES + "text"), read(2, FILES + "blob"), options=["--max-read-bytes", "5000000"]):
        need(m["error"]["code"] == PARAMS and "read_file" in m["error"]["message"], m["error"]["message"])
    put("blob", b"\xff" * 3000000)
    (m,) = ask(read(1, FILES + "blob"), options=["--max-read-bytes", "5000000"])
    need(base64.b64decode(content_of(m)["blob"], validate=True) == b"\xff" * 3000000, "all of it")


def many_at_once():
    """More than run at the same time, each with its own content; one id at a time."""
    for i in range(300):
        put("many/%d" % i, b"%d" % i)
    with Server(version="2025-11-25") as s:
        s.send(*[read(i, FILES + "many/%d" % i) for i in range(300)])
        for i in range(300):
            need(content_of(s.answer(i))["text"] == str(i), "the content of %d" % i)
        need(s.end() == 0, "the end")


def without_reader():
    """While nobody reads, few files are held in memory, whatever is asked for; calls that wait for them can be cancelled."""
    put("text", b"\x01" * 690000)
    with Server(version="2025-11-25") as s:
        s.send(*[read(i, FILES + "text") for i in range(100)])
        before, now = None, peak_kib(s.p.pid)
        while now != before:
            time.sleep(2)
            before, now = now, peak_kib(s.p.pid)
        need(now < (900000 if SANITIZED else 100000), "the server grew to %d KiB" % now)
        s.send(*[notification("notifications/cancelled", requestId=i) for i in range(8, 100)], read("last", FILES + "file"))
        need(content_of(s.answer("last", timeout=60))["text"] == "x", "the one behind those that were cancelled")
        need({len(content_of(s.answer(i))["text"]) for i in range(8)} == {690000} and not s.answers, "the answers")
        need(s.end() == 0, "the end")


def out_of_memory():
    """Whatever cannot be had for want of memory is refused in words, and the server goes on."""
    put("text", b"\x01" * 690000)
    data = line_of(initialize("2025-11-25")) + b"".join(line_of(read(i, FILES + "text")) for i in range(4)) + line_of(request("last", "ping"))
    refused = 0
    for size in range(5 << 20, 13 << 20, 8 << 20 if SANITIZED else 128 << 10):
        limit = None if SANITIZED else lambda size=size: resource.setrlimit(resource.RLIMIT_AS, (size, size))
        p = subprocess.run(command(), input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30, preexec_fn=limit)
        need(p.returncode == 0, "exit status %d: %r" % (p.returncode, p.stderr[-400:]))
        errors = [m["error"] for m in map(json.loads, p.stdout.split(b"\n")[:-1]) if "error" in m]
        need(all(len(e["message"]) > 10 for e in errors), errors)
        refused += len(errors)
    need(SANITIZED or refused > 64, "%d were refused" % refused)


def cancelled():
    """What is cancelled while it waits is never answered, and its id is free again."""
    put("file")
    with Server(version="2025-11-25") as s:
        s.send(*[call("s%d" % i, "run_bash", command=sleeper(0)) for i in range(128)])
        s.send(read(1, FILES + "a.md"), notification("notifications/cancelled", requestId=1))
        s.send(request(2, "ping"))
        s.answer(2)
        s.send(notification("notifications/cancelled", requestId="s0"), read(1, FILES + "file"))
        need(content_of(s.answer(1))["uri"] == FILES + "file", "the answer of the second")
        need(s.end() == 0, "the end")  # and that of all commands


def batch():
    """In the one revision with batches, what is read on a thread finds its way into the answer of its batch."""
    data = line_of(initialize("2025-03-26")) + line_of([read(1, FILES + "file"), read(2, "cloche://jobs"), read(3, FILES + "nothing")])
    put("file")
    messages, status, _ = exchange(data)
    need(status == 0 and {outcome(m) for m in messages[1]} == {(1, OK), (2, OK), (3, NOT_FOUND)}, messages)


TESTS = [lists, cursors, capability, every_listed_one_can_be_read, skill, policy, policy_that_cannot_be_read, jobs, output_of_a_job, files,
         refusals, sizes, many_at_once, without_reader, out_of_memory, cancelled, batch]

if __name__ == "__main__":
    sys.exit(run(TESTS))
