#!/usr/bin/env python3
"""Subscriptions on the wire: resources/subscribe of the handshake revisions, subscriptions/listen of 2026-07-28. Prints TAP.

How to call it: wire.py. Whether something is *not* told is found out without waiting for it: something else that must be told
is changed behind it.
"""
import fcntl
import json
import os
import select
import signal
import sys
import termios
import time

from wire import ROOT, Server, exchange, need, run, server_pid, wait_until
from wire_messages import INVALID, META, OK, PARAMS, UNKNOWN, call, initialize, line_of, notification, outcome, request

FILES = "file:///workspace/"
NOT_FOUND, INTERNAL = -32002, -32603
UPDATED, ACKNOWLEDGED = "notifications/resources/updated", "notifications/subscriptions/acknowledged"
TAG = "io.modelcontextprotocol/subscriptionId"


def change(name, text="x"):
    with open(os.path.join(ROOT, name), "a") as f:
        f.write(text)


def readable(pipe):
    """How many bytes wait in @pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def fresh(name):
    """A name that no other test uses."""
    fresh.count += 1
    return "%s-%d" % (name, fresh.count)


fresh.count = 0


def subscribe(id_, uri, method="subscribe"):
    return request(id_, "resources/" + method, uri=uri)


def listen(id_, *uris, **wishes):
    if uris:
        wishes["resourceSubscriptions"] = list(uris)
    return request(id_, "subscriptions/listen", notifications=wishes, _meta=META)


def next_of(server, method):
    m = server.message()
    need(m.get("method") == method, "%s was expected, but there is %r" % (method, m))
    return m["params"]


def next_update(server, *uris, tag=None):
    """The next message is an update of one of @uris, with this tag. Returns its URI."""
    params = next_of(server, UPDATED)
    need(params["uri"] in uris, "%r is not one of %r" % (params, uris))
    need(params.get("_meta", {}).get(TAG) == tag, "tag of %r" % params)
    return params["uri"]


def opened(server, id_, *uris, **wishes):
    """Opens a stream and returns what is honoured."""
    server.send(listen(id_, *uris, **wishes))
    params = next_of(server, ACKNOWLEDGED)
    need(params["_meta"] == {TAG: id_}, params)
    return params["notifications"]


def subscribed(server, id_, uri):
    server.send(subscribe(id_, uri))
    need(server.answer(id_)["result"] == {}, "the answer to subscribe")


# --- the handshake revisions

def a_file():
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        name, marker = fresh("a"), fresh("marker")
        with Server(version=version) as s:
            subscribed(s, 1, FILES + name)
            subscribed(s, 2, FILES + marker)
            change(name)
            next_update(s, FILES + name)
            change(name)
            next_update(s, FILES + name)
            os.remove(os.path.join(ROOT, name))
            next_update(s, FILES + name)
            s.send(subscribe(3, FILES + name, "unsubscribe"))
            need(s.answer(3)["result"] == {}, "the answer to unsubscribe")
            change(name)
            change(marker)
            next_update(s, FILES + marker)
            need(s.end() == 0, "exit status")


def a_folder():
    name = fresh("folder")
    os.mkdir(os.path.join(ROOT, name))
    with Server() as s:
        subscribed(s, 1, FILES + name)
        change(name + "/new")
        next_update(s, FILES + name)
        os.rename(os.path.join(ROOT, name, "new"), os.path.join(ROOT, name, "newer"))
        next_update(s, FILES + name)


def what_a_tool_changes():
    name = fresh("tool")
    with Server() as s:
        subscribed(s, 1, FILES + name)
        s.send(call(2, "write_file", filepath=name, content="one\n"))
        s.answer(2, seen=(seen := []))
        while not any(m.get("method") == UPDATED for m in seen):
            seen.append(s.message())
        s.send(call(3, "run_bash", command="echo two >>" + name))
        s.answer(3, seen=(seen := []))
        while not any(m.get("method") == UPDATED for m in seen):
            seen.append(s.message())


def the_uri_comes_back_as_it_was_written():
    name = fresh("\u00e4 b%")
    escaped = "".join(c if c.isascii() and c.isalnum() or c == "-" else "".join("%%%02x" % b for b in c.encode()) for c in name)
    spellings = [FILES + escaped, "file://localhost/workspace/" + escaped]
    with Server() as s:
        for i, uri in enumerate(spellings):
            subscribed(s, i, uri)
        change(name)
        need({next_update(s, *spellings) for _ in spellings} == set(spellings), "both spellings")


def what_cannot_be_subscribed_to():
    rows = [
        ({}, PARAMS), ({"uri": 5}, PARAMS), ({"uri": "file:///etc/passwd"}, NOT_FOUND), ({"uri": "http://x/"}, NOT_FOUND),
        ({"uri": FILES + "a/../../b"}, PARAMS), ({"uri": FILES + "%00"}, PARAMS), ({"uri": FILES + "%2e%2e/x"}, PARAMS),
        ({"uri": ""}, NOT_FOUND),
        ({"uri": "cloche://jobs/0123456789abcdef0123456789abcdef/output"}, NOT_FOUND), ({"uri": "cloche://nothing"}, NOT_FOUND),
    ]
    with Server() as s:
        for i, (params, code) in enumerate(rows):
            s.send(request(i, "resources/subscribe", **params))
            a = s.answer(i)
            need(outcome(a) == (i, code), "%r: %r" % (params, a))
            if isinstance(params.get("uri"), str):
                need(a["error"]["data"] == {"uri": params["uri"]} and "Resource '" in a["error"]["message"], a)
        s.send(request("u", "resources/unsubscribe"))
        need(outcome(s.answer("u")) == ("u", PARAMS), "unsubscribe without uri")
        for i, uri in enumerate(["skill://cloche/SKILL.md", "cloche://jobs", FILES[:-1], FILES]):
            subscribed(s, "ok%d" % i, uri)


def twice_and_not_at_all():
    name, marker = fresh("twice"), fresh("marker")
    with Server() as s:
        s.send(subscribe(1, FILES + name), subscribe(2, FILES + name), subscribe(3, FILES + name, "unsubscribe"),
               subscribe(4, FILES + name, "unsubscribe"), subscribe(5, FILES + name), subscribe(6, FILES + marker))
        for id_ in range(1, 7):
            need(s.answer(id_)["result"] == {}, id_)
        change(name)
        next_update(s, FILES + name)
        change(marker)
        next_update(s, FILES + marker)


def nothing_is_told_before_initialized():
    name = fresh("early")
    with Server(version=None) as s:
        s.send(initialize())
        s.answer("init")
        subscribed(s, 1, FILES + name)
        opened(s, 2, FILES + name)
        change(name)
        next_update(s, FILES + name, tag=2)  # the stream needs no handshake
        s.send(request(3, "ping"))
        need(s.message().get("id") == 3, "something was told too early")
        s.send(notification("notifications/initialized"))
        next_update(s, FILES + name)


def a_new_session_forgets():
    name, marker = fresh("forgotten"), fresh("marker")
    with Server() as s:
        subscribed(s, 1, FILES + name)
        s.send(subscribe(2, FILES + name), initialize(id_="again"), notification("notifications/initialized"))
        s.answer(2)
        s.answer("again")
        subscribed(s, 3, FILES + marker)
        change(name)
        change(marker)
        next_update(s, FILES + marker)


def in_a_batch():
    name = fresh("batch")
    with Server(version="2025-03-26") as s:
        s.raw(json.dumps([subscribe(1, FILES + name), listen(2, FILES + name), request(3, "ping")]).encode() + b"\n")
        answers = {m["id"]: m for m in s.message()}
        need(answers[1].get("result") == {} and answers[2]["error"]["code"] == INVALID and set(answers) == {1, 2, 3}, answers)
        change(name)
        next_update(s, FILES + name)


# --- 2026-07-28

def a_stream():
    name, marker = fresh("stream"), fresh("marker")
    with Server(version=None) as s:
        need(opened(s, 7, FILES + name) == {"resourceSubscriptions": [FILES + name]}, "what is honoured")
        need(opened(s, "7", FILES + name, FILES + marker) == {"resourceSubscriptions": [FILES + name, FILES + marker]}, "order")
        change(name)
        tags = set()
        for _ in range(2):
            params = next_of(s, UPDATED)
            need(params["uri"] == FILES + name, params)
            tags.add(params["_meta"][TAG])
        need(tags == {7, "7"}, tags)
        s.send(notification("notifications/cancelled", requestId=7))
        change(name)
        next_update(s, FILES + name, tag="7")
        change(marker)
        next_update(s, FILES + marker, tag="7")
        opened(s, 7)  # the id is free again


def the_id_comes_back_as_it_was_written():
    with Server(version=None) as s:
        for raw in (b"9007199254740993", b"1.0", b"-0", b'""', b'"\\u0061"', b'"' + b"i" * 1000 + b'"'):
            s.raw(b'{"jsonrpc":"2.0","id":' + raw + b',"method":"subscriptions/listen","params":{"notifications":{},"_meta":'
                  + json.dumps(META).encode() + b"}}\n")
            while b"\n" not in s.buffer:
                need(select.select([s.p.stdout], [], [], 15)[0], "no message within 15 s")
                s.buffer += os.read(s.p.stdout.fileno(), 65536)
            line, s.buffer = s.buffer.split(b"\n", 1)
            need(b'"%s":%s}' % (TAG.encode(), raw) in line, "%r in %r" % (raw[:40], line[:300]))


def what_is_honoured():
    name = fresh("honoured")
    with Server(version=None) as s:
        need(opened(s, 1) == {}, "nothing was asked for")
        need(opened(s, 2, toolsListChanged=True, promptsListChanged=True, resourcesListChanged=True) == {}, "lists do not change here")
        need(opened(s, 3, "test://x", FILES + "../x", "cloche://jobs/none/output", FILES + name, FILES + name, "skill://cloche/SKILL.md",
                    toolsListChanged=False) == {"resourceSubscriptions": [FILES + name, "skill://cloche/SKILL.md"]}, "a part")
        need(opened(s, 4, "test://x") == {}, "nothing of it")
        for i, wishes in enumerate([None, [], "all", {"resourceSubscriptions": FILES}, {"resourceSubscriptions": [FILES, 5]},
                                    {"resourceSubscriptions": {}}, {"toolsListChanged": "yes"}]):
            params = {"_meta": META} if wishes is None else {"_meta": META, "notifications": wishes}
            s.send(request("bad%d" % i, "subscriptions/listen", **params))
            need(outcome(s.answer("bad%d" % i)) == ("bad%d" % i, PARAMS), wishes)


def methods_belong_to_their_era():
    uri = FILES + fresh("era")
    with Server() as s:
        s.send(request(1, "resources/subscribe", uri=uri, _meta=META), request(2, "resources/unsubscribe", uri=uri, _meta=META),
               request(3, "subscriptions/listen", notifications={}))
        for id_ in (1, 2, 3):
            need(outcome(s.answer(id_)) == (id_, UNKNOWN), id_)


def both_eras_at_once():
    name = fresh("both")
    with Server() as s:
        subscribed(s, 1, FILES + name)
        opened(s, 2, FILES + name)
        change(name)
        tags = {next_of(s, UPDATED).get("_meta", {}).get(TAG) for _ in range(2)}
        need(tags == {None, 2}, tags)
        s.send(subscribe(3, FILES + name, "unsubscribe"))
        s.answer(3)
        change(name)
        next_update(s, FILES + name, tag=2)


def an_open_stream_is_in_flight():
    with Server(version=None) as s:
        opened(s, 5)
        s.send(request(5, "ping"))
        m = s.message()
        need("id" not in m and m["error"]["code"] == INVALID, m)
        s.send(notification("notifications/cancelled", requestId=5), request(5, "ping"))
        need(s.answer(5)["result"] == {}, "the id is free")
        s.send(notification("notifications/cancelled", requestId=5), request(6, "ping"))
        need(s.answer(6)["result"] == {}, "cancelled twice")


# --- jobs

TASKS = {"io.modelcontextprotocol/tasks": {}}


def jobs_of_the_handshake():
    with Server(version="2025-11-25") as s:
        subscribed(s, 1, "cloche://jobs")
        s.send(request(2, "tools/call", name="run_bash", arguments={"command": "echo one; sleep 600"}, task={"ttl": 60000}))
        seen = []
        job = "cloche://jobs/%s/output" % s.answer(2, seen=seen)["result"]["task"]["taskId"]
        while not any(m.get("params", {}).get("uri") == "cloche://jobs" for m in seen):
            seen.append(s.message())
        subscribed(s, 3, job)
        s.send(request(4, "tasks/cancel", taskId=job.split("/")[3]))
        wanted, heard = {job, "cloche://jobs"}, set()
        while not wanted <= heard:
            heard.add(s.message().get("params", {}).get("uri"))


def many_jobs_become_few_notifications():
    jobs = 12
    with Server(version="2025-11-25") as s:
        subscribed(s, "sub", "cloche://jobs")
        start, seen = time.monotonic(), []
        for i in range(jobs):
            s.send(request(i, "tools/call", name="run_bash", arguments={"command": "true"}, task={"ttl": 60000}))
            s.answer(i, seen=seen)
        while sum(m.get("method") == "notifications/tasks/status" for m in seen) < jobs:
            seen.append(s.message())
        most = (time.monotonic() - start) / 0.1 + 1
        updates = sum(m.get("method") == UPDATED for m in seen)
        need(1 <= updates <= most, "%d updates, at most %d" % (updates, most))
        while not any(m.get("method") == UPDATED for m in seen[-1:]):
            seen.append(s.message())  # of the last end


def tasks_on_a_stream():
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": {"extensions": TASKS}}
    with Server(version=None) as s:
        s.send(request(1, "tools/call", name="run_bash", arguments={"command": "sleep 5; echo done"}, _meta=meta))
        task = s.answer(1)["result"]["taskId"]
        s.send(request(2, "subscriptions/listen", notifications={"taskIds": [task]}, _meta=META))
        a = s.answer(2)
        need(outcome(a) == (2, -32021) and a["error"]["data"] == {"requiredCapabilities": {"extensions": TASKS}}, a)
        s.send(request(3, "subscriptions/listen", notifications={"taskIds": 5}, _meta=meta))
        need(outcome(s.answer(3)) == (3, PARAMS), "no list")
        s.send(request(4, "subscriptions/listen", notifications={"taskIds": [task, "none"]}, _meta=meta))
        need(next_of(s, ACKNOWLEDGED) == {"notifications": {"taskIds": [task]}, "_meta": {TAG: 4}}, "what is honoured")
        end = next_of(s, "notifications/tasks")
        need(end["taskId"] == task and end["status"] == "completed" and end["_meta"][TAG] == 4, end)
        need("done" in end["result"]["content"][0]["text"], end)
        s.send(request(5, "subscriptions/listen", notifications={"taskIds": [task]}, _meta=meta))
        need(next_of(s, ACKNOWLEDGED)["_meta"] == {TAG: 5}, "another stream")
        need(next_of(s, "notifications/tasks") == {**end, "_meta": {**end["_meta"], TAG: 5}}, "what is over is told at once")


# --- limits

def at_most_64_streams():
    with Server(version=None) as s:
        for i in range(64):
            opened(s, i)
        s.send(listen(64))
        a = s.answer(64)
        need(outcome(a) == (64, INTERNAL) and "64 streams" in a["error"]["message"], a)
        s.send(notification("notifications/cancelled", requestId=3))
        opened(s, 65)


def at_most_256_uris():
    with Server() as s:
        many = [FILES + fresh("many") for _ in range(300)]
        need(opened(s, "s", *many[:100]) == {"resourceSubscriptions": many[:100]}, "100")
        s.send(*[subscribe(i, uri) for i, uri in enumerate(many[:157])])
        for i in range(157):
            need(outcome(s.answer(i)) == (i, OK if i < 156 else INTERNAL), i)
        need(opened(s, "t", many[0]) == {}, "no room")
        s.send(notification("notifications/cancelled", requestId="s"))
        need(len(opened(s, "u", *many)["resourceSubscriptions"]) == 100, "room for 100")
        change(many[99][len(FILES):])
        while next_of(s, UPDATED) != {"uri": many[99], "_meta": {TAG: "u"}}:
            pass


def at_most_so_many_bytes():
    long = [FILES + "%78" * 4000 + "/%d" % i for i in range(90)]
    with Server(version=None) as s:
        honoured = opened(s, 1, *long)["resourceSubscriptions"]
        need(0 < sum(map(len, honoured)) <= 1 << 20 and len(honoured) < len(long), len(honoured))
        opened(s, 2)


def many_changes_become_few():
    name = fresh("busy")
    with Server() as s:
        subscribed(s, 1, FILES + name)
        start = time.monotonic()
        for i in range(3000):
            change(name)
            if i % 10 == 0:
                time.sleep(0.005)
        s.send(request(2, "ping"))
        seen = []
        s.answer(2, seen=seen)
        most = (time.monotonic() - start) / 0.1 + 2
        need(1 <= len(seen) - 1 <= most, "%d updates, at most %d" % (len(seen) - 1, most))


def a_slow_reader_is_told_once():
    """While nobody reads, what is to be told waits, and is one notification in the end."""
    name, lists = fresh("slow"), 400
    with Server() as s:
        subscribed(s, 1, FILES + name)
        s.send(*[request("list%d" % i, "tools/list") for i in range(lists)])  # more than the server queues
        before = -1
        while readable(s.p.stdout) > before:  # until the pipe is full, and time for the server's own queue
            before = readable(s.p.stdout)
            time.sleep(0.5)
        for _ in range(15):
            change(name)
            time.sleep(0.12)
        seen = []
        for i in range(lists):
            s.answer("list%d" % i, seen=seen, timeout=60)
        while not any(m.get("method") == UPDATED for m in seen):
            seen.append(s.message())
        updates = sum(m.get("method") == UPDATED for m in seen)
        need(updates <= 3, "%d updates" % updates)
        need(sum(len(json.dumps(m)) for m in seen) > 1 << 20, "the server was never held up")


# --- the end

def the_end_of_the_input():
    name = fresh("end")
    messages, status, _ = exchange(line_of(initialize()) + line_of(subscribe(1, FILES + name)) + line_of(listen(2, FILES + name)))
    need(status == 0, status)
    need(sorted(str(m.get("id", m.get("method"))) for m in messages) == ["1", "init", ACKNOWLEDGED], messages)


def asked_to_end():
    with Server(version=None) as s:
        opened(s, 1, FILES + fresh("term"))
        opened(s, "two")
        os.kill(server_pid(s.p.pid), signal.SIGTERM)
        ended = {}
        for _ in range(4):
            m = s.message()
            if "result" in m:
                need(m["result"]["resultType"] == "complete" and m["result"]["_meta"][TAG] == m["id"], m)
                need(m["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "cloche", m)
                ended[m["id"]] = ["result"]
            else:
                need(m["method"] == "notifications/cancelled", m)
                ended[m["params"]["requestId"]].append("cancelled")
        need(ended == {1: ["result", "cancelled"], "two": ["result", "cancelled"]}, ended)
        wait_until(lambda: s.p.poll() is not None, "the end of the server")


def a_server_without_subscriptions_watches_nothing():
    """Neither inotify nor a thread before the first subscription, and no inotify after the last."""
    def descriptors(pid):
        return [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]

    name = fresh("cheap")
    with Server() as s:
        pid = server_pid(s.p.pid)
        need("anon_inode:inotify" not in descriptors(pid), "before")
        subscribed(s, 1, FILES + name)
        need("anon_inode:inotify" in descriptors(pid), "while something is watched")
        s.send(subscribe(2, FILES + name, "unsubscribe"))
        s.answer(2)
        wait_until(lambda: "anon_inode:inotify" not in descriptors(pid), "the end of inotify")


TESTS = [
    a_file, a_folder, what_a_tool_changes, the_uri_comes_back_as_it_was_written, what_cannot_be_subscribed_to, twice_and_not_at_all,
    nothing_is_told_before_initialized, a_new_session_forgets, in_a_batch, a_stream, the_id_comes_back_as_it_was_written, what_is_honoured,
    methods_belong_to_their_era, both_eras_at_once, an_open_stream_is_in_flight, jobs_of_the_handshake,
    many_jobs_become_few_notifications, tasks_on_a_stream, at_most_64_streams, at_most_256_uris, at_most_so_many_bytes,
    many_changes_become_few, a_slow_reader_is_told_once, the_end_of_the_input, asked_to_end, a_server_without_subscriptions_watches_nothing,
]

if __name__ == "__main__":
    sys.exit(run(TESTS))
