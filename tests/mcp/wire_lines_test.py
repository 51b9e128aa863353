#!/usr/bin/env python3
"""The server on the wire, line by line: each row of wire_table.py, and what belongs to the revisions. Prints TAP.

How to call it: wire.py.
"""
import json
import os
import sys
import time

from wire import ROOT, Server, exchange, need, run
from wire_messages import INVALID, META, META_JSON, NONE, OK, PING, UNKNOWN, call, initialize, line_of, notification, outcome, request
from wire_messages import rpc, text_of
from wire_table import RAW_IDS, SIDE_EFFECT, TABLE


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


def raw_ids():
    for raw in RAW_IDS:
        _, _, lines = exchange(rpc('"id":%s,"method":"ping"' % raw))
        need(lines == [('{"jsonrpc":"2.0","id":%s,"result":{}}' % raw).encode()], "%s gave %r" % (raw, lines))


def refusals_name_their_object():
    for data, part in [(rpc('"id":1,"method":"foo/bar"'), "foo/bar"), (rpc('"id":1,"method":"notifications/cancelled"'), "notifications/cancelled"),
                       (rpc('"id":1,"method":"ping","params":{"_meta":{%s}}' % META_JSON), "2026-07-28"),
                       (rpc('"id":1,"method":"tools/call","params":{"name":"nosuch"}'), "nosuch"), (b"{x\n", "byte 1"),
                       (rpc('"id":"%s","method":"ping"' % ("x" * 2000)), "1024"), (b"[" + b'{"jsonrpc":"2.0","method":"x"},' * 100 + b"1]\n", "100")]:
        (m,), _, _ = exchange(data)
        need(part in m["error"]["message"], "%r does not name %s" % (m, part))


def last_of_equal_arguments_counts():
    """As in JavaScript. In the protocol's own objects, where readers could differ about what is asked, two are refused."""
    with Server() as s:
        s.raw(rpc('"id":1,"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"echo one","command":"echo two"}}'))
        text = text_of(s.answer(1))
        need("two" in text and "one" not in text, text)


def versions():
    for asked, given in [("2024-11-05",) * 2, ("2025-03-26",) * 2, ("2025-06-18",) * 2, ("2025-11-25",) * 2,
                         ("1999-01-01", "2025-11-25"), ("2026-07-28", "2025-11-25"), (5, "2025-11-25")]:
        (m,), _, _ = exchange(line_of(initialize(asked)))
        result = m["result"]
        need(result["protocolVersion"] == given, "%s -> %s" % (asked, result["protocolVersion"]))
        need(result["serverInfo"]["name"] == "cloche" and result["serverInfo"]["version"], "serverInfo")
        need(("title" in result["serverInfo"]) == (given >= "2025-06-18"), "title belongs to 2025-06-18")
        expected = {"logging", "prompts", "resources", "tools"}
        expected |= {"completions"} if given >= "2025-03-26" else set()
        expected |= {"tasks"} if given == "2025-11-25" else set()
        need(set(result["capabilities"]) == expected, "capabilities %r" % result["capabilities"])
        need(len(result["instructions"].encode()) <= 2048 and "/workspace" in result["instructions"], "instructions")
        need("resultType" not in result and "_meta" not in result, "a handshake answer with members of 2026-07-28")


def stateless_members():
    (discover, tools), _, _ = exchange(line_of(request(1, "server/discover", _meta=META)) + line_of(request(2, "tools/list", _meta=META)))
    need(discover["result"]["supportedVersions"] == ["2026-07-28"], "supportedVersions")
    declared = set(discover["result"]["capabilities"])
    need(declared == {"completions", "extensions", "prompts", "resources", "tools"}, "capabilities %r" % declared)
    for m in (discover, tools):
        r = m["result"]
        need(r["resultType"] == "complete", "resultType")
        need(r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "cloche", "serverInfo")
        need(isinstance(r["ttlMs"], int) and r["cacheScope"] == "public", "cache hints")
    (error,), _, _ = exchange(rpc('"id":1,"method":"ping","params":{"_meta":{%s}}' % META_JSON.replace("2026-07-28", "x")))
    need(error["error"]["data"] == {"supported": ["2026-07-28"], "requested": "x"}, "data of -32022")


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


def id_in_flight():
    with Server() as s:
        s.send(request("l", "logging/setLevel", level="emergency"))
        s.answer("l")
        s.send(call(1, "run_bash", command="sleep 0.5; echo first"), call(1, "run_bash", command="echo second"))
        need(outcome(s.message()) == (NONE, INVALID), "the second request")
        need("first" in text_of(s.answer(1)), "the first request")
        s.send(call(1, "run_bash", command="echo third"))
        need("third" in text_of(s.answer(1)), "the id after its answer")


def nothing_was_executed():
    """A request without id is no request: the table has one that would make a file."""
    need(not os.path.exists(os.path.join(ROOT, SIDE_EFFECT)), "a request without id was executed")


TESTS = [("line: " + row[0], run_row, *row) for row in TABLE]
TESTS += [nothing_was_executed, raw_ids, refusals_name_their_object, last_of_equal_arguments_counts, versions, stateless_members, batches, id_in_flight]

if __name__ == "__main__":
    sys.exit(run(TESTS))
