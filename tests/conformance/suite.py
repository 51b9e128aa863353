#!/usr/bin/env python3
"""Runs the official conformance suite against cloche and prints TAP: see run.

    suite.py NODE PACKAGE [fixtures] [real]

A scenario is one test. What is known to fail stands in a file of the form that the suite's option --expected-failures takes, with the
reason as a comment above it: an entry that passes is a failure, so that the files cannot rot.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT_S = 500
AT_ONCE = 3
BAD = ("FAILURE", "WARNING")
SCHEMA_CHECK = "wire-schema-valid"  # made by the suite in every scenario


class Run:
    """One run of the suite: what is tested, at which revision, and what is known to fail."""

    def __init__(self, kind, revision, required, known=None):
        self.kind, self.revision, self.required = kind, revision, required
        self.title = "%s, %s" % (kind, revision)
        self.known_file = known and os.path.join(HERE, known)

    def arguments(self):
        if self.required:
            return ["--requirements", self.revision]
        return ["--suite", "all", "--spec-version", self.revision]

    def known(self):
        """{scenario: None for all of it, or the names of checks}"""
        known = {}
        if not self.known_file:
            return known
        with open(self.known_file, encoding="utf-8") as lines:
            for line in lines:
                entry = re.match(r"\s+- ([^\s:#]+)(?::(\S+))?", line)
                if entry and entry.group(2):
                    known.setdefault(entry.group(1), set()).add(entry.group(2))
                elif entry:
                    known[entry.group(1)] = None
        return known


RUNS = [
    Run("fixtures", "2026-07-28", True, "fixtures-2026-07-28.yml"),
    Run("fixtures", "2025-11-25", True),
    Run("real", "2026-07-28", False, "real-2026-07-28.yml"),
    Run("real", "2025-11-25", False, "real-2025-11-25.yml"),
    Run("fixtures", "2025-06-18", False),
    Run("fixtures", "2025-03-26", False),
]


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def point(self, good, name, details=()):
        self.count += 1
        print("%sok %d - %s" % ("" if good else "not ", self.count, name))
        if not good:
            self.failed += 1
            for line in details:
                print("# " + line)
        sys.stdout.flush()


def command_of(kind, workspace):
    if kind == "real":
        return [os.environ["CLOCHE"], "mcp", workspace]
    return [os.environ["TEST_FAKEINIT"], os.environ["TEST_CONFORMANCE"], "--conformance-fixtures", "--root", workspace]


def read_results(folder):
    """{scenario: its checks}; the suite makes a folder server-SCENARIO-TIME for each."""
    results = {}
    for name in sorted(os.listdir(folder)):
        scenario = re.fullmatch(r"server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z", name)
        if scenario:
            with open(os.path.join(folder, name, "checks.json"), encoding="utf-8") as file:
                results[scenario.group(1)] = json.load(file)
    return results


def run_suite(node, package, run):
    """Returns (exit status, output, results, whether every process of the server ended well)."""
    with tempfile.TemporaryDirectory(prefix="cloche-conformance-") as folder:
        workspace = os.path.join(folder, "workspace")
        os.mkdir(workspace)
        bridge = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "bridge.py"), *command_of(run.kind, workspace)],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            url = bridge.stdout.readline().strip()
            command = [node, os.path.join(package, "dist", "index.js"), "server", "--url", url, *run.arguments(), "-o", folder]
            if run.known_file and not run.required:
                command += ["--expected-failures", run.known_file]
            suite = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   timeout=TIMEOUT_S, check=False)
        finally:
            bridge.stdin.close()
            ended_well = bridge.wait() == 0
        return suite.returncode, suite.stdout, read_results(folder), ended_well


def scenarios_of(node, package, run):
    """What has to be run: of the frozen list that comes with the suite, or everything that it has for the revision."""
    if run.required:
        with open(os.path.join(package, "requirements", run.revision + ".yaml"), encoding="utf-8") as file:
            section = re.search(r"^server:\n((?:[ \t].*\n|#.*\n|\n)*)", file.read(), re.MULTILINE)
        return re.findall(r"^\s+- (\S+)", section.group(1), re.MULTILINE)
    listed = subprocess.run([node, os.path.join(package, "dist", "index.js"), "list", "--server"], stdout=subprocess.PIPE, text=True,
                            timeout=TIMEOUT_S, check=True).stdout
    return [name for name, revisions in re.findall(r"^\s+- (\S+) \[(.*)\]$", listed, re.MULTILINE)
            if run.revision in revisions.split(",")]


def describe(check):
    return "%s %s: %s" % (check["status"], check["id"], check.get("errorMessage", ""))


def report(tap, run, wanted, status, output, results, ended_well):
    known = run.known()
    for scenario, checks in results.items():
        excused = known.get(scenario, set())
        if excused is None:
            continue
        bad = [describe(check) for check in checks if check["status"] in BAD and check["id"] not in excused]
        tap.point(checks and not bad, "%s: %s" % (run.title, scenario), bad or ["no check was made"])
    if known:
        invalid = ["%s: %s" % (scenario, describe(check)) for scenario in known for check in results.get(scenario, [])
                   if check["id"] == SCHEMA_CHECK and check["status"] in BAD]
        tap.point(not invalid, "%s: the messages in what is known to fail are valid" % run.title, invalid)
        stale = [scenario for scenario, excused in known.items()
                 if not any(check["status"] in BAD and (excused is None or check["id"] in excused)
                            for check in results.get(scenario, []))]
        tap.point(not stale, "%s: what is known to fail does" % run.title,
                  ["%s: %s does not fail any more, or was not run: take it out" % (os.path.basename(run.known_file), name)
                   for name in stale])
    missing = sorted(set(wanted) - set(results))
    tap.point(wanted and not missing, "%s: every scenario was run" % run.title, ["not run: " + " ".join(missing)])
    tap.point(ended_well, "%s: every process of the server ended by itself, with status 0" % run.title)
    tap.point(status == 0, "%s: the suite is content" % run.title, output.splitlines()[-30:])


def check_product(tap):
    """The program that is installed has no fixtures, and no option for them."""
    server = os.path.join(os.path.dirname(os.path.realpath(os.environ["CLOCHE"])), "cloche-mcp")
    refused = subprocess.run([server, "--conformance-fixtures"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S, check=False)
    tap.point(refused.returncode == 125 and "conformance-fixtures" in refused.stdout, "the product refuses --conformance-fixtures",
              ["exit status %d: %s" % (refused.returncode, refused.stdout)])
    with open(server, "rb") as file:
        tap.point(b"test_simple_text" not in file.read(), "the product has no fixtures")
    with open(os.environ["TEST_CONFORMANCE"], "rb") as file:
        tap.point(b"test_simple_text" in file.read(), "the test build has them")


def main():
    node, package, *kinds = sys.argv[1:]
    if not set(kinds) <= {run.kind for run in RUNS}:
        print(__doc__, file=sys.stderr)
        return 2
    tap = Tap()
    runs = [run for run in RUNS if not kinds or run.kind in kinds]
    if any(run.kind == "real" for run in runs):
        check_product(tap)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for run, job in [(run, pool.submit(run_suite, node, package, run)) for run in runs]:
            try:
                report(tap, run, scenarios_of(node, package, run), *job.result())
            except (OSError, subprocess.SubprocessError, json.JSONDecodeError) as error:
                tap.point(False, "%s: the suite runs to its end" % run.title, [str(error)])
    print("1..%d" % tap.count)
    return 1 if tap.failed or not tap.count else 0


if __name__ == "__main__":
    sys.exit(main())
