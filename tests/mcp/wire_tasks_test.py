#!/usr/bin/env python3
"""Calls that outlive their request, on the wire: tasks of revision 2025-11-25, the extension io.modelcontextprotocol/tasks of
2026-07-28, and what cancels and ends them. Prints TAP.

How to call it: wire.py.
"""
import json
import os
import re
import sys
import time

from wire import ROOT, Server, alive, exchange, need, run, sleeper, wait_until
from wire_messages import META, PARAMS, UNKNOWN, call, initialize, line_of, notification, outcome, request, text_of

EXTENSION = "io.modelcontextprotocol/tasks"
RELATED = "io.modelcontextprotocol/related-task"
TAKES = dict(META, **{"io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}}})
MISSING, INTERNAL = -32021, -32603
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def task_call(id_, command, task, **arguments):
    return request(id_, "tools/call", name="run_bash", arguments=dict(arguments, command=command), task=task)


def old_server(**popen):
    s = Server(version="2025-11-25", **popen)
    s.send(request("l", "logging/setLevel", level="emergency"))
    s.answer("l")
    return s


def begin(s, id_, command, task=None, **arguments):
    s.send(task_call(id_, command, task or {}, **arguments))
    return s.answer(id_)["result"]["task"]


def ask(s, id_, method, **params):
    s.send(request(id_, method, **params))
    return s.answer(id_)


def gate(name):
    """A command line that goes on when the file appears, and how to make it go on."""
    path = os.path.join(ROOT, name)
    return "while ! [ -e %s ]; do sleep 0.02; done" % path, lambda: open(path, "w").close()


def capabilities():
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        (m,), _, _ = exchange(line_of(initialize(version, 1)))
        declared = m["result"]["capabilities"]
        need(("tasks" in declared) == (version == "2025-11-25") and "extensions" not in declared, "%s: %r" % (version, declared))
        messages, _, _ = exchange(line_of(initialize(version, 1)) + line_of(request(2, "tools/list")))
        having = {t["name"] for t in messages[1]["result"]["tools"] if "execution" in t}
        need(having == ({"run_bash"} if version == "2025-11-25" else set()), "%s: %r" % (version, having))
    need(declared["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}, declared)
    messages, _, _ = exchange(line_of(request(1, "server/discover", _meta=META)) + line_of(request(2, "tools/list", _meta=TAKES)))
    declared = messages[0]["result"]["capabilities"]
    need(declared["extensions"] == {EXTENSION: {}} and "tasks" not in declared, declared)
    need(not any("execution" in t for t in messages[1]["result"]["tools"]), "execution in 2026-07-28")


def who_may_ask():
    """Each method answers in its revision, and to those who declared what it needs."""
    for version in ("2024-11-05", "2025-03-26", "2025-06-18"):
        with Server(version=version) as s:
            for i, method in enumerate(("get", "result", "list", "cancel", "update")):
                need(outcome(ask(s, i, "tasks/" + method, taskId="x")) == (i, UNKNOWN), "%s in %s" % (method, version))
            s.send(task_call("t", "echo x", {"ttl": 1}))
            need("x" in text_of(s.answer("t")), "a member that %s does not know" % version)
    with old_server() as s:
        for i, (method, code) in enumerate([("get", PARAMS), ("result", PARAMS), ("cancel", PARAMS), ("update", UNKNOWN)]):
            a = ask(s, i, "tasks/" + method, taskId="nosuch")
            need(outcome(a) == (i, code) and (code == UNKNOWN or "nosuch" in a["error"]["message"]), a)
            need(outcome(ask(s, "n%d" % i, "tasks/" + method)) == ("n%d" % i, code), method)
        for i, (method, plain, takes) in enumerate([("get", MISSING, PARAMS), ("cancel", MISSING, PARAMS), ("update", MISSING, PARAMS),
                                                    ("result", UNKNOWN, UNKNOWN), ("list", UNKNOWN, UNKNOWN)]):
            a = ask(s, "p%d" % i, "tasks/" + method, taskId="nosuch", inputResponses={}, _meta=META)
            need(a["error"]["code"] == plain, a)
            need(plain != MISSING or a["error"]["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}, a)
            a = ask(s, "t%d" % i, "tasks/" + method, taskId="nosuch", inputResponses={}, _meta=TAKES)
            need(a["error"]["code"] == takes, a)


def bad_wishes():
    with old_server() as s:
        for i, (task, code) in enumerate([([], PARAMS), ("x", PARAMS), (True, PARAMS), ({"ttl": "1"}, PARAMS), ({"ttl": -1}, PARAMS)]):
            s.send(task_call(i, "touch %s/refused" % ROOT, task))
            need(outcome(s.answer(i)) == (i, code), task)
        s.send(request("r", "tools/call", name="read_file", arguments={"filepath": "x"}, task={}))
        a = s.answer("r")
        need(outcome(a) == ("r", UNKNOWN) and "read_file" in a["error"]["message"], a)
        s.send(task_call("n", "echo plain", None))
        need("plain" in text_of(s.answer("n")), "task: null")
        need(ask(s, "l", "tasks/list")["result"]["tasks"] == [], "a refused call left a task")
        need(outcome(ask(s, "c", "tasks/list", cursor="x")) == ("c", PARAMS), "cursor")
    need(not os.path.exists(ROOT + "/refused"), "a refused call was run")


def life():
    """The handle at once, the state while it works, the result when it is there, and a notification."""
    wait, go_on = gate("life")
    with old_server() as s:
        t = begin(s, 1, "echo begun; %s; echo done; exit 3" % wait, {"ttl": 120000})
        need(re.fullmatch("[0-9a-f]{32}", t["taskId"]) and t["status"] == "working" and t["ttl"] == 120000 and t["pollInterval"] > 0, t)
        need(TIME.fullmatch(t["createdAt"]) and TIME.fullmatch(t["lastUpdatedAt"]), t)
        got = ask(s, 2, "tasks/get", taskId=t["taskId"])["result"]
        need(got["status"] == "working" and "_meta" not in got and got["createdAt"] == t["createdAt"], got)
        wait_until(lambda: "6 bytes" in ask(s, 3, "tasks/get", taskId=t["taskId"])["result"]["statusMessage"], "its output is told")
        s.send(request("r", "tasks/result", taskId=t["taskId"]), request("p", "ping"))
        s.answer("p")
        need("r" not in s.answers, "a result of what still works")
        s.send(request("r", "ping"))  # the id is in flight
        need(s.message()["error"]["code"] == -32600, "the id of a waiting tasks/result")
        go_on()
        seen = []
        result = s.answer("r", seen=seen)["result"]
        need(result["content"][0]["text"] == "[Exit code: 3]\nbegun\ndone\n" and result["isError"] is False, result)
        need(result["_meta"][RELATED] == {"taskId": t["taskId"]} and "cloche/metrics" in result["_meta"], result)
        told = [m["params"] for m in seen if m.get("method") == "notifications/tasks/status"]
        need([x["status"] for x in told] == ["completed"] and told[0]["taskId"] == t["taskId"] and "_meta" not in told[0], seen)
        need(ask(s, 4, "tasks/result", taskId=t["taskId"])["result"] == result, "the result a second time")
        got = ask(s, 5, "tasks/get", taskId=t["taskId"])["result"]
        need(got["status"] == "completed" and "exit_code=3" in got["statusMessage"] and got["lastUpdatedAt"] > got["createdAt"], got)
        need(ask(s, 6, "tasks/list")["result"] == {"tasks": [got]}, "the list")
        need(outcome(ask(s, 7, "tasks/cancel", taskId=t["taskId"])) == (7, PARAMS), "cancelling what has ended")
        need(s.end() == 0, "the end, which tells of leaks under AddressSanitizer")


def failures():
    with old_server() as s:
        slow = begin(s, 1, "sleep 30", timeout=1)
        bad = begin(s, 2, "true", timeout="soon")
        for i, (t, part) in enumerate([(slow, "timed out after 1"), (bad, "Invalid arguments")]):
            result = ask(s, "r%d" % i, "tasks/result", taskId=t["taskId"])["result"]
            need(result["isError"] is True and part in result["content"][0]["text"], result)
            got = ask(s, "g%d" % i, "tasks/get", taskId=t["taskId"])["result"]
            need(got["status"] == "failed", got)


def cancelling():
    """tasks/cancel kills everything at once; nothing else does, and the status stays."""
    with old_server() as s:
        t = begin(s, 1, "%s & %s" % (sleeper(61), sleeper(62)))
        wait_until(lambda: alive(sleeper(61)) and alive(sleeper(62)), "the command runs")
        s.send(notification("notifications/cancelled", requestId=1), request("p", "ping"))
        s.answer("p")
        time.sleep(0.2)
        need(alive(sleeper(62)), "notifications/cancelled for a request that has its answer ended the task")
        s.send(request("r", "tasks/result", taskId=t["taskId"]), request("gone", "tasks/result", taskId=t["taskId"]),
               notification("notifications/cancelled", requestId="gone"))
        seen, began = [], time.monotonic()
        s.send(request("c", "tasks/cancel", taskId=t["taskId"]))
        got = s.answer("c", seen=seen)["result"]
        need(got["status"] == "cancelled" and got["taskId"] == t["taskId"], got)
        wait_until(lambda: not alive(sleeper(61)) and not alive(sleeper(62)), "both processes are gone")
        need(time.monotonic() - began < 2, "it took %.1f s" % (time.monotonic() - began))
        result = s.answer("r", seen=seen)["result"]
        need(result["isError"] is True and "cancelled" in result["content"][0]["text"], result)
        need([m["params"]["status"] for m in seen if "method" in m] == ["cancelled"], seen)
        need(ask(s, "g", "tasks/get", taskId=t["taskId"])["result"]["status"] == "cancelled", "the status afterwards")
        need(outcome(ask(s, "c2", "tasks/cancel", taskId=t["taskId"])) == ("c2", PARAMS), "cancelling twice")
        need("gone" not in s.answers, "an answer to a cancelled tasks/result")


def bounds():
    wait, go_on = gate("bounds")
    with old_server() as s:
        s.send(*[task_call(i, wait, {}) for i in range(17)])
        tasks = [s.answer(i) for i in range(17)]
        need(all("result" in a for a in tasks[:16]), "16 at once")
        need(outcome(tasks[16]) == (16, INTERNAL) and "16 tasks" in tasks[16]["error"]["message"], tasks[16])
        need(len({a["result"]["task"]["taskId"] for a in tasks[:16]}) == 16, "ids")
        s.send(call("c", "run_bash", command="echo beside"))
        need("beside" in text_of(s.answer("c")), "a call without task")
        first = tasks[0]["result"]["task"]["taskId"]
        s.send(*[request("w%d" % i, "tasks/result", taskId=first) for i in range(65)])
        need(outcome(s.answer("w64")) == ("w64", INTERNAL), "65 requests that wait")
        go_on()
        need(all("result" in s.answer("w%d" % i) for i in range(64)), "64 readers")
        for a in tasks[:16]:
            ask(s, "r", "tasks/result", taskId=a["result"]["task"]["taskId"])
        for i in range(48):
            t = begin(s, 100 + i, "echo %d" % i)
            ask(s, "r", "tasks/result", taskId=t["taskId"])
        listed = ask(s, "l", "tasks/list")["result"]["tasks"]
        need(len(listed) == 64, "%d tasks" % len(listed))
        t = begin(s, 200, "true")
        listed = {x["taskId"] for x in ask(s, "l2", "tasks/list")["result"]["tasks"]}
        need(len(listed) == 64 and t["taskId"] in listed, "%d tasks" % len(listed))
        gone = [a for a in tasks[:16] if a["result"]["task"]["taskId"] not in listed]
        need(len(gone) == 1, "%d of the first are gone" % len(gone))
        need(outcome(ask(s, "x", "tasks/get", taskId=gone[0]["result"]["task"]["taskId"])) == ("x", PARAMS), "one that was dropped")


def related_messages():
    """Progress and log messages of a task go on, and name it."""
    with Server(version="2025-11-25") as s:
        s.send(request(1, "tools/call", name="run_bash", arguments={"command": "sleep 5.5"}, task={}, _meta={"progressToken": "tok"}))
        seen = []
        t = s.answer(1, seen=seen)["result"]["task"]
        s.send(request(2, "tasks/result", taskId=t["taskId"]))
        s.answer(2, 30, seen)
        of = {"notifications/progress": [], "notifications/message": [], "notifications/tasks/status": []}
        for m in seen:
            if "method" in m:
                of[m["method"]].append(m["params"])
        need(len(of["notifications/progress"]) >= 1 and of["notifications/message"] and len(of["notifications/tasks/status"]) == 1, seen)
        for params in of["notifications/progress"] + of["notifications/message"]:
            need(params["_meta"][RELATED] == {"taskId": t["taskId"]}, params)


def stateless_call(id_, command, meta=TAKES, timeout=60, **more):
    return request(id_, "tools/call", name="run_bash", arguments={"command": command, "timeout": timeout}, _meta=meta, **more)


def server_decides():
    """A call of a client that takes tasks becomes one when it is slow; no other does."""
    wait, go_on = gate("decides")
    with old_server() as s:
        began = time.monotonic()
        s.send(stateless_call("slow", "echo begun; %s; exit 4" % wait), stateless_call("quick", "echo quick", task={"ttl": 5}),
               stateless_call("plain", "%s; echo plain" % wait, META),
               stateless_call("token", wait, dict(TAKES, progressToken=7, **{"io.modelcontextprotocol/logLevel": "debug"})))
        quick = s.answer("quick")["result"]
        need(quick["resultType"] == "complete" and "taskId" not in quick, quick)
        seen = []
        t = s.answer("slow", seen=seen)["result"]
        need(time.monotonic() - began > 3, "a task after %.1f s" % (time.monotonic() - began))
        need(t["resultType"] == "task" and t["status"] == "working" and "task" not in t and "result" not in t, t)
        need(isinstance(t["ttlMs"], int) and isinstance(t["pollIntervalMs"], int) and "ttl" not in t and "pollInterval" not in t, t)
        need("io.modelcontextprotocol/serverInfo" in t["_meta"] and TIME.fullmatch(t["createdAt"]), t)
        other = s.answer("token", seen=seen)["result"]
        need(other["resultType"] == "task" and other["taskId"] != t["taskId"], other)
        got = ask(s, 1, "tasks/get", taskId=t["taskId"], _meta=TAKES)["result"]
        need(got["resultType"] == "complete" and got["status"] == "working" and "result" not in got, got)
        acknowledged = ask(s, 2, "tasks/update", taskId=t["taskId"], inputResponses={"x": {}}, _meta=TAKES)["result"]
        need(set(acknowledged) == {"resultType", "_meta"}, acknowledged)
        need(outcome(ask(s, 3, "tasks/update", taskId=t["taskId"], _meta=TAKES)) == (3, PARAMS), "update without responses")
        need("plain" not in s.answers, "an answer before the end")
        from_here = []
        go_on()
        need("plain" in text_of(s.answer("plain", seen=from_here)), "a client that takes no tasks waits")

        def completed():
            s.send(request(4, "tasks/get", taskId=t["taskId"], _meta=TAKES))
            return s.answer(4, seen=from_here)["result"]["status"] == "completed"

        wait_until(completed, "the task is completed")
        got = ask(s, 5, "tasks/get", taskId=t["taskId"], _meta=TAKES)["result"]
        need(got["result"]["content"][0]["text"] == "[Exit code: 4]\nbegun\n" and got["result"]["isError"] is False, got)
        need(got["result"]["resultType"] == "complete" and RELATED not in got["result"]["_meta"], got)
        need(not any("method" in m for m in from_here), "a notification about a task: %r" % from_here)
        # The same task in the words of the other era.
        old = ask(s, 6, "tasks/get", taskId=t["taskId"])["result"]
        need(old["status"] == "completed" and "ttl" in old and "ttlMs" not in old and "resultType" not in old, old)
        result = ask(s, 7, "tasks/result", taskId=t["taskId"])["result"]
        need(result["_meta"][RELATED] == {"taskId": t["taskId"]} and "resultType" not in result, result)
        need(s.end() == 0, "the end, which tells of leaks under AddressSanitizer")


def followed():
    """Who listens to a task is told when it ends, with all that tasks/get would give; who may not is refused."""
    wait, go_on = gate("followed")
    with old_server() as s:
        a = ask(s, 1, "subscriptions/listen", notifications={"taskIds": ["x"]}, _meta=META)
        need(a["error"]["code"] == MISSING and EXTENSION in a["error"]["data"]["requiredCapabilities"]["extensions"], a)
        s.send(stateless_call(2, wait), stateless_call(3, sleeper(68)))
        t, other = s.answer(2)["result"], s.answer(3)["result"]
        s.send(request("ear", "subscriptions/listen", notifications={"taskIds": [t["taskId"], "nosuch", other["taskId"]]}, _meta=TAKES))
        m = s.message()
        need(m["method"] == "notifications/subscriptions/acknowledged", m)
        need(set(m["params"]["notifications"]["taskIds"]) == {t["taskId"], other["taskId"]}, m)
        # Each may be told as it is; then how it ended.
        go_on()
        s.send(request("c", "tasks/cancel", taskId=other["taskId"], _meta=TAKES))
        states = {}
        while len([x for x in states.values() if x["status"] != "working"]) < 2:
            m = s.message()
            if "method" in m:
                need(m["method"] == "notifications/tasks", m)
                need(m["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "ear", m)
                states[m["params"]["taskId"]] = m["params"]
        ended, killed = states[t["taskId"]], states[other["taskId"]]
        need(ended["status"] == "completed" and ended["result"]["content"][0]["text"] == "[Exit code: 0]", ended)
        need(killed["status"] == "cancelled" and "result" not in killed, killed)


def watched_output():
    """resources/subscribe to the output and to the list of tasks."""
    wait, go_on = gate("watched")
    with old_server() as s:
        ask(s, 1, "resources/subscribe", uri="cloche://jobs")
        t = begin(s, 2, "echo one; %s; echo two" % wait)
        uri = "cloche://jobs/%s/output" % t["taskId"]
        ask(s, 3, "resources/subscribe", uri=uri)

        heard = []

        def text():
            s.send(request(4, "resources/read", uri=uri))
            return s.answer(4, seen=heard)["result"]["contents"][0]["text"]

        wait_until(lambda: text() == "one\n", "the first line is read")
        listed = json.loads(ask(s, 5, "resources/read", uri="cloche://jobs")["result"]["contents"][0]["text"])
        need([(x["id"], x["tool"], x["status"]) for x in listed] == [(t["taskId"], "run_bash", "working")], listed)
        go_on()

        def told():
            return {m["params"].get("uri", "status") for m in heard if "method" in m}

        wait_until(lambda: "[Exit code: 0]" in text() and told() == {uri, "cloche://jobs", "status"}, "output and end are told")
        need(text() == "[Exit code: 0]\none\ntwo\n", text())


def stateless_cancelling():
    with Server(version=None) as s:
        s.send(stateless_call(1, sleeper(63)), stateless_call(2, "sleep 30", timeout=5))
        t, slow = s.answer(1)["result"], s.answer(2)["result"]
        need(alive(sleeper(63)), "it runs on")
        for i in range(2):  # the second time it has ended
            acknowledged = ask(s, i, "tasks/cancel", taskId=t["taskId"], _meta=TAKES)["result"]
            need(set(acknowledged) == {"resultType", "_meta"} and acknowledged["resultType"] == "complete", acknowledged)
            wait_until(lambda: not alive(sleeper(63)), "the command is gone")
        got = ask(s, 3, "tasks/get", taskId=t["taskId"], _meta=TAKES)["result"]
        need(got["status"] == "cancelled" and "result" not in got, got)

        def completed():
            got = ask(s, 6, "tasks/get", taskId=slow["taskId"], _meta=TAKES)["result"]
            return got["status"] == "completed" and got["result"]["isError"] is True

        wait_until(completed, "a tool's failure is a completed task")


def end_of_input():
    """At the end of the input nobody can ask for a task any more: it is killed, unless its result is awaited."""
    began = time.monotonic()
    messages, status, _ = exchange(line_of(initialize("2025-11-25", 0)) + line_of(task_call(1, sleeper(66), {})))
    took = time.monotonic() - began
    need(status == 0 and "task" in messages[1]["result"], messages)
    wait_until(lambda: not alive(sleeper(66)), "the command is gone")
    need(took < 10, "the end took %.1f s" % took)
    with old_server() as s:
        t = begin(s, 1, "sleep 0.3; echo late")
        s.send(request(2, "tasks/result", taskId=t["taskId"]))
        s.p.stdin.close()
        need("late" in text_of(s.answer(2)), "a short one whose result is awaited")
        need(s.p.wait(10) == 0, "exit status")


def batch():
    """A stateless call within a batch of 2025-03-26: the batch is answered when the task begins."""
    with Server(version="2025-03-26") as s:
        s.raw(b"[" + line_of(stateless_call(1, sleeper(67))).strip() + b"," + line_of(request(2, "ping")).strip() + b"]\n")
        answers = {m["id"]: m for m in s.message()}
        need(answers[1]["result"]["resultType"] == "task" and set(answers) == {1, 2}, answers)


if __name__ == "__main__":
    sys.exit(run([capabilities, who_may_ask, bad_wishes, life, failures, cancelling, bounds, related_messages, server_decides,
                  followed, watched_output, stateless_cancelling, end_of_input, batch]))
