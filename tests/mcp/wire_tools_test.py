#!/usr/bin/env python3
"""The tools on the wire: their list, their arguments, commands and what is told about them. Prints TAP.

How to call it: wire.py.
"""
import os
import sys

from wire import ROOT, Server, exchange, need, run
from wire_messages import META, call, initialize, line_of, notification, request, rpc, text_of

MIB = 1 << 20
SANDBOX = {"sandbox_memory": 2048 * MIB, "sandbox_cpu_milli": 2000, "sandbox_pids": 512, "limit_pids": 448, "measured": 1}


def tool_list():
    lists = []
    for extra in ({}, {"_meta": META}):
        (m,), _, _ = exchange(line_of(request(1, "tools/list", **extra)))
        lists.append(m["result"]["tools"])
        need("nextCursor" not in m["result"], "nextCursor")
    plain = [{k: v for k, v in t.items() if k != "execution"} for t in lists[0]]  # of 2025-11-25 only
    need(plain == lists[1], "the list depends on the era")
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


def longest_answers():
    """No text is longer than an answer may be, whatever bytes it is about and however JSON writes them."""
    os.mkdir(ROOT + "/longest")
    for name, data in {"nul": b"%d " + b"\0" * 60, "latin": b"%d " + b"\xe9" * 60, "quotes": b"%d " + b'"\\\x01' * 20}.items():
        with open(ROOT + "/longest/" + name, "wb") as f:
            f.write(b"x" * 9000 + b"\n")  # a NUL further in front would make it binary
            f.write(b"\n".join(data.replace(b"%d", b"%d" % i) for i in range(400)))
    quotes = "longest/" + "'" * 190
    with open(os.path.join(ROOT, quotes), "wb") as f:
        f.write(b"x" * 300000)
    calls = [("run_bash", {"command": "head -c 100000 /dev/zero" + to}) for to in ("", " | tr '\\0' '\\377'", " | tr '\\0' '\\177'", " | tr '\\0' '\\1'")]
    for name in ("nul", "latin", "quotes"):
        calls += [("read_file", {"filepath": "longest/" + name, "limit": 0}),
                  ("search_and_replace", {"filepath": "longest/" + name, "edits": [{"old": "\n%d " % i, "new": "\n-%d " % i} for i in range(200, 390)]})]
    for most in (2000, 40000, 200000):
        with Server("--structured-output", "--max-answer-chars", str(most)) as s:
            for i, (name, arguments) in enumerate(calls):
                s.send(call(i, name, **dict(arguments, **({"dry_run": True} if "edits" in arguments else {}))))
                a = s.answer(i)
                need(len(text_of(a).encode()) <= most and not a["result"]["isError"], "%s %r: %d" % (name, arguments, len(text_of(a).encode())))
                need(a["result"]["structuredContent"] == {"result": text_of(a)}, name)
            s.send(call("q", "read_file", filepath=quotes))
            text = text_of(s.answer("q"))
            need(len(text) <= most and "run_bash with: sed -n 1p FILE" in text, text[-900:])


def progress():
    with Server() as s:
        s.send(request(1, "tools/call", name="run_bash", arguments={"command": "sleep 11"}, _meta={"progressToken": 9007199254740993}))
        seen = []
        s.answer(1, 30, seen)
        p = [m["params"] for m in seen if m.get("method") == "notifications/progress"]
        need(len(p) == 2, "%d notifications in 11 s" % len(p))
        need(all(x["progressToken"] == 9007199254740993 for x in p) and p[0]["progress"] < p[1]["progress"], p)
        need("run_bash" in p[0]["message"], p)


TESTS = [tool_list, structured, argument_errors, run_bash_basics, denials, metrics, limit_arguments, killed_for_memory,
         limits_felt, log_notifications, longest_answers, progress]

if __name__ == "__main__":
    sys.exit(run(TESTS))
