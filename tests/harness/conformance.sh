#!/bin/sh
# How tests/conformance/suite.py judges a run of the conformance suite, and what bridge.py says of a server that ends badly. Prints TAP.
set -u
here=$(cd "$(dirname "$0")/../conformance" && pwd) || exit 1
exec python3 -B - "$here" <<'END'
import contextlib
import http.client
import io
import os
import subprocess
import sys
import tempfile

here = sys.argv[1]
sys.path.insert(0, here)
import suite

GOOD = {"id": "a", "status": "SUCCESS"}
BAD = {"id": "b", "status": "FAILURE", "errorMessage": "why"}
DOUBT = {"id": "c", "status": "WARNING"}
INVALID = {"id": "wire-schema-valid", "status": "FAILURE"}
count = failed = 0


def point(good, name):
    global count, failed
    count += 1
    failed += not good
    print("%sok %d - %s" % ("" if good else "not ", count, name))


def judge(results, known="", wanted=("one",), status=0, ended_well=True):
    """How many tests of a run fail."""
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        file.write("server:\n  # reason\n" + known)
        file.flush()
        run = suite.Run("fixtures", "2025-11-25", True)
        run.known_file = file.name if known else None
        tap = suite.Tap()
        with contextlib.redirect_stdout(io.StringIO()):
            suite.report(tap, run, wanted, status, "output", results, ended_well)
    return tap.failed


for name, count_wanted, arguments in [
        ("all is well", 0, {"results": {"one": [GOOD]}}),
        ("a failed check", 1, {"results": {"one": [GOOD, BAD]}}),
        ("a warning counts as a failure", 1, {"results": {"one": [GOOD, DOUBT]}}),
        ("a scenario without checks", 1, {"results": {"one": []}}),
        ("a scenario that was not run", 1, {"results": {}}),
        ("nothing was to be run", 1, {"results": {"one": [GOOD]}, "wanted": ()}),
        ("the suite fails", 1, {"results": {"one": [GOOD]}, "status": 1}),
        ("the server crashes", 1, {"results": {"one": [GOOD]}, "ended_well": False}),
        ("known to fail", 0, {"results": {"one": [BAD]}, "known": "  - one\n"}),
        ("known to fail, and passes", 1, {"results": {"one": [GOOD]}, "known": "  - one\n"}),
        ("known to fail, and gone", 1, {"results": {"one": [GOOD]}, "known": "  - two\n"}),
        ("known to fail, with an invalid message", 1, {"results": {"one": [BAD, INVALID]}, "known": "  - one\n"}),
        ("one check is known to fail", 0, {"results": {"one": [GOOD, BAD]}, "known": "  - one:b\n"}),
        ("one check is known to fail, another does", 1, {"results": {"one": [BAD, DOUBT]}, "known": "  - one:b\n"}),
        ("one check is known to fail, and passes", 1, {"results": {"one": [GOOD]}, "known": "  - one:a\n"})]:
    point(judge(**arguments) == count_wanted, name)

for server, wanted in (("cat >/dev/null", 0), ("cat >/dev/null; exit 3", 1)):
    bridge = subprocess.Popen([sys.executable, "-B", os.path.join(here, "bridge.py"), "sh", "-c", server], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    host, _, path = bridge.stdout.readline().strip().removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("POST", "/" + path, '{"jsonrpc":"2.0","method":"notifications/x"}', {"MCP-Protocol-Version": "2026-07-28"})
    accepted = connection.getresponse().status == 202
    connection.close()
    bridge.stdin.close()
    point(accepted and bridge.wait() == wanted, "a server that ends with %s" % ("0" if wanted == 0 else "another status"))

print("1..%d" % count)
sys.exit(1 if failed else 0)
END
