#!/usr/bin/env python3
"""docs/protocol-coverage.md against the server: which method and which capability there is in which revision, and that each row's
tests are there. Prints TAP.

How to call it: wire.py.
"""
import os
import re
import sys

from wire import exchange, need, run
from wire_messages import META, UNKNOWN, initialize, line_of, request

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]
STATELESS = REVISIONS[-1]
TASKS = dict(META, **{"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}})


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as f:
        return f.read()


def table(heading):
    """The rows of the table below @heading: {name: ({revision: bool}, [test])}."""
    text = read("docs", "protocol-coverage.md")
    need("\n## %s\n" % heading in text, "there is no heading %r" % heading)
    lines = text.split("\n## %s\n" % heading)[1].split("\n## ")[0].splitlines()
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    need(lines[0][1:-1] == REVISIONS and lines[0][-1] == "Tests", "the columns of %r" % heading)
    rows = {}
    for name, *marks, tests in lines[2:]:
        need(len(marks) == len(REVISIONS) and set(marks) <= {"yes", "–"}, "the marks of %s: %r" % (name, marks))
        need(name not in rows, "%s is there twice" % name)
        rows[name.strip("`")] = dict(zip(REVISIONS, (mark == "yes" for mark in marks))), re.findall(r"`([^`]+)`", tests)
    return rows


def methods_in_the_code():
    names = set()
    for name in os.listdir(os.path.join(TOP, "mcp")):
        if name.startswith("methods_") and name.endswith(".c"):
            names |= set(re.findall(r'^\t\{ "([A-Za-z/]+)", METHOD_', read("mcp", name), re.MULTILINE))
    need(len(names) > 10, "only %r are methods" % names)
    return names


def answers(revision, methods):
    """What a server that speaks @revision says to each of @methods, without parameters of their own."""
    # A handshake begins anew: it comes last, lest it change the revision of what follows.
    order = sorted(methods, key=lambda m: m == "initialize")
    if revision == STATELESS:
        lines = [line_of(request(m, m, _meta=TASKS)) for m in order]
    else:
        lines = [line_of(initialize(revision))] + [line_of(request(m, m)) for m in order]
    messages, status, _ = exchange(b"".join(lines))
    need(status == 0, "exit status %d" % status)
    return {m["id"]: m for m in messages if "id" in m}


def methods():
    rows = table("Methods")
    need(set(rows) == methods_in_the_code(), "in the table or in mcp/methods_*.c alone: %r" % (set(rows) ^ methods_in_the_code()))
    for revision in REVISIONS:
        got = answers(revision, rows)
        for name, (marks, _) in rows.items():
            # Without _meta, server/discover is refused in the one way that tells a prober what is missing.
            there = got[name].get("error", {}).get("code") != UNKNOWN and not (name == "server/discover" and revision != STATELESS)
            need(there == marks[revision], "%s in %s: the table says %s, the server %r" % (name, revision, marks[revision], got[name]))


def notifications():
    rows = table("Notifications that the server takes")
    in_the_code = set(re.findall(r'^\t\{ "(notifications/[a-z_/]+)", ', read("mcp", "method.c"), re.MULTILINE))
    need(set(rows) == in_the_code, "in the table or in mcp/method.c alone: %r" % (set(rows) ^ in_the_code))


def sent_notifications():
    rows = table("Notifications that the server sends")
    in_the_code = set()
    for name in os.listdir(os.path.join(TOP, "mcp")):
        if name.endswith(".c") and name != "method.c":
            in_the_code |= set(re.findall(r'"(notifications/[a-z_/]+)"', read("mcp", name)))
    need(set(rows) == in_the_code, "in the table or in mcp/ alone: %r" % (set(rows) ^ in_the_code))


def flat(capabilities, prefix=""):
    names = set()
    for name, value in capabilities.items():
        names.add(prefix + name)
        if isinstance(value, dict):
            names |= flat(value, prefix + name + ".")
    return names


def capabilities():
    rows = table("Capabilities")
    for revision in REVISIONS:
        question = "server/discover" if revision == STATELESS else "init"
        got = flat(answers(revision, ["server/discover"])[question]["result"]["capabilities"])
        wanted = {name for name, (marks, _) in rows.items() if marks[revision]}
        need(got == wanted, "in the table or in the answer alone in %s: %r" % (revision, got ^ wanted))


def tests():
    """Every row names tests, and each of them is there: FILE: NAME, where NAME is a function or a part of a test's title."""
    for heading in ("Methods", "Notifications that the server takes", "Notifications that the server sends", "Capabilities", "Beside methods"):
        for row, (_, names) in table(heading).items():
            need(names, "%s names no test" % row)
            for name in names:
                file, _, part = name.partition(": ")
                need(file.startswith("tests/") and os.path.exists(os.path.join(TOP, file)), "%s: there is no %s" % (row, file))
                text = read(file)
                found = re.search(r"^def %s\(" % re.escape(part), text, re.MULTILINE) or re.search(r"""["'`][^"'`\n]*%s""" % re.escape(part), text)
                need(not part or found, "%s: %s has no test %r" % (row, file, part))


TESTS = [methods, notifications, sent_notifications, capabilities, tests]

if __name__ == "__main__":
    sys.exit(run(TESTS))
