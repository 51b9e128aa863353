#!/bin/bash
# An agent's day, as shell commands: version control, compilers, test runners, servers, archives. What the host does not have
# in /usr is skipped, and named.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"

works_options= # of cloche run

# works NAME WANTED TOOLS COMMAND: when all TOOLS are there, the shell command prints something that matches WANTED and ends with 0.
works() {
	local tool
	for tool in $3; do
		if ! in_usr "$tool"; then
			skip "$1" "no $tool in /usr"
			return
		fi
	done
	# shellcheck disable=SC2086 # words
	inside $works_options -- sh -c "$4"
	[ "$ST" = 0 ] && [[ $OUT =~ $2 ]]
	ok $? "$1" "status $ST, output '$OUT', messages '$ERR'"$'\n'"wanted 0 and '$2'"
}

# --- version control ---------------------------------------------------------------------------------------------------

works "git: a repository, a commit" 'first' git '
	git init -q origin && cd origin && echo one >a.txt && git add a.txt && git commit -q -m first && git log --oneline'
works "git: clone of a local repository" 'first' git 'git clone -q origin copy && cd copy && git log --oneline && git status --short'
works "git: branch, change, diff, merge" 'Merge|merged' git '
	cd copy && git switch -q -c work && echo two >>a.txt && git diff --stat && git commit -q -am second &&
	git switch -q - && git merge -q --no-ff -m merged work && git log --oneline --graph'
works "git: stash, rebase, tag, gc, fsck" 'v1' git '
	cd copy && echo x >>a.txt && git stash -q && git stash pop -q && git commit -q -am third && git rebase -q HEAD~1 && git tag v1 &&
	git gc -q && git fsck --no-progress && git tag'
works "git: worktree" 'linked' git 'cd copy && git worktree add -q ../linked && cd ../linked &&
	git commit -q --allow-empty -m linked && git log -1 --oneline'
works "git: push back, with its hooks" 'hook ran' git '
	cd origin && git config receive.denyCurrentBranch updateInstead && printf "#!/bin/sh\necho hook ran\n" >.git/hooks/post-receive &&
	chmod +x .git/hooks/post-receive && cd ../copy && git push origin HEAD 2>&1'
if in_usr git && have git; then
	is "$(git -c safe.directory='*' -C "$WS/copy" log -1 --format=%an)" agent "the host's git reads what was committed inside"
else
	skip "the host's git reads what was committed inside" "no git on the host"
fi

# --- C -----------------------------------------------------------------------------------------------------------------

mkdir -p "$WS/c"
cat >"$WS/c/Makefile" <<'END'
CFLAGS = -O2 -Wall -Werror -g
prog: main.o add.o
	$(CC) $(CFLAGS) -o $@ $^ -lm -pthread
main.o add.o: add.h
check: prog
	./prog | grep -qx 'sum 42 root 3'
clean:
	rm -f prog *.o
END
echo 'int add(int a, int b);' >"$WS/c/add.h"
printf '#include "add.h"\nint add(int a, int b) { return a + b; }\n' >"$WS/c/add.c"
cat >"$WS/c/main.c" <<'END'
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include "add.h"
static void *work(void *arg) { *(int *) arg = add(40, 2); return NULL; }
int main(void)
{
	pthread_t thread;
	int sum = 0;
	if (pthread_create(&thread, NULL, work, &sum) || pthread_join(thread, NULL))
		return 1;
	volatile double nine = 9;
	printf("sum %d root %.0f\n", sum, sqrt(nine));
	return 0;
}
END
works "make and gcc: build and test" '' "make gcc" 'cd c && make -s -j4 check'
works "the program runs" 'sum 42 root 3' gcc 'cd c && ./prog'
works "make: nothing to do, then clean" 'up to date' "make gcc" 'cd c && make prog && make -s clean && test ! -e prog'
works "a compiler error has its place" 'bad.c:10:9: error' gcc 'cd c &&
	sed "s/sum = 0;/sum = 0/" main.c >bad.c; gcc -c bad.c -o bad.o 2>&1; test $? = 1 && test ! -e bad.o'
works "gcc: static and shared" 'sum 42 root 3' gcc 'cd c && gcc -static -o s main.c add.c -lm -pthread && ./s &&
	gcc -shared -fPIC -o libadd.so add.c && test -x libadd.so'
works "gcc: undefined-behaviour sanitizer" 'signed integer overflow' gcc '
	cd c && echo "int main(int c, char **v) { (void) v; return 0x7fffffff + c; }" >ub.c &&
	gcc -fsanitize=undefined -o ub ub.c; ./ub 2>&1; true'
works "gcc: address sanitizer" 'heap-buffer-overflow' gcc '
	cd c && printf "#include <stdlib.h>\nint main(void) { volatile char *p = malloc(1); return p[1]; }\n" >over.c &&
	gcc -g -fsanitize=address -o over over.c; ./over 2>&1 | grep heap'
works "g++" 'three' g++ 'cd c && printf "#include <iostream>\n#include <vector>\nint main() { std::vector<int> v{1,2,3}; std::cout << (v.size() == 3 ? \"three\" : \"?\"); }" >v.cc && g++ -std=c++17 -o v v.cc && ./v'
works "gdb is told that it may not trace" 'not permitted' "gdb gcc" 'cd c && gcc -g -o t main.c add.c -lm -pthread &&
	gdb -batch -ex run ./t 2>&1; true'

# --- Python ------------------------------------------------------------------------------------------------------------

mkdir -p "$WS/py"
cat >"$WS/py/calc.py" <<'END'
def mean(values):
    return sum(values) / len(values)
END
cat >"$WS/py/test_calc.py" <<'END'
import unittest
from calc import mean


class Mean(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 2, 6]), 3)

    def test_empty(self):
        with self.assertRaises(ZeroDivisionError):
            mean([])


def test_plain():
    assert mean([4]) == 4
END
works "python3: unittest" '' python3 'cd py && python3 -m unittest -q 2>&1'
if in_usr python3 && PATH=/usr/local/bin:/usr/bin:/bin python3 -c 'import pytest' 2>/dev/null; then
	works "python3: pytest" '3 passed' python3 'cd py && python3 -m pytest -q -p no:cacheprovider'
	works "python3: a failing pytest" '1 failed' python3 'cd py &&
	printf "def test_no():\n    assert 1 == 2\n" >test_no.py; python3 -m pytest -q -p no:cacheprovider test_no.py; test $? = 1 &&
	rm test_no.py'
else
	skip "python3: pytest" "the host's python3 in /usr has no pytest"
fi
works "python3: multiprocessing, threads, asyncio, subprocess" '285 285 9 ok' python3 'cat >py/par.py <<"END"
import asyncio, concurrent.futures as cf, subprocess
def square(x): return x * x
async def a():
    p = await asyncio.create_subprocess_exec("echo", "ok", stdout=subprocess.PIPE)
    return (await p.communicate())[0].decode().strip()
if __name__ == "__main__":
    with cf.ProcessPoolExecutor(4) as p: one = sum(p.map(square, range(10)))
    with cf.ThreadPoolExecutor(8) as p: two = sum(p.map(square, range(10)))
    print(one, two, subprocess.run(["sh", "-c", "exit 9"]).returncode, asyncio.run(a()))
END
python3 py/par.py'
works "python3: shared memory, temporary files, sqlite3, time zones" 'fine' python3 'python3 - <<"END"
from multiprocessing import shared_memory
import os, sqlite3, tempfile, time
m = shared_memory.SharedMemory(create=True, size=100); m.buf[0] = 7; m.close(); m.unlink()
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
db = sqlite3.connect("py/data.db"); db.execute("create table t (x)"); db.execute("insert into t values (5)"); db.commit()
assert db.execute("select x from t").fetchone() == (5,)
time.localtime()
import pwd
assert os.path.expanduser("~") == "/home/agent" and pwd.getpwuid(os.getuid()).pw_name == "agent"
print("fine")
END'
works "python3: venv without a network" '/workspace/py/venv' python3 'cd py && python3 -m venv --without-pip venv &&
	venv/bin/python -c "import sys; print(sys.prefix)"'
works "python3: a pseudo-terminal" 'True' python3 'python3 -c "import pty, os; m, s = pty.openpty(); print(os.isatty(s), os.ttyname(s))"'

# --- Node, Perl, others ------------------------------------------------------------------------------------------------

works "node: a script with modules, files and child processes" 'fine 42' node 'mkdir -p js && cat >js/main.mjs <<"END"
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
writeFileSync("js/out.json", JSON.stringify({ answer: 42 }));
const { answer } = JSON.parse(readFileSync("js/out.json", "utf8"));
const told = execFileSync("node", ["-e", "console.log(\"fine\")"]).toString().trim();
new Worker("process.exit(0)", { eval: true }).on("exit", () => console.log(told, answer));
END
node js/main.mjs'
works "node: its test runner" 'pass 1' node 'mkdir -p js && printf "const test = require(\"node:test\"); test(\"t\", () => {});\n" >js/a.test.js && node --test js/a.test.js'
works "node: WebAssembly" '^3' node 'node -e "
const b = Uint8Array.from([0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11]);
WebAssembly.instantiate(b).then((m) => console.log(m.instance.exports.add(1, 2)));"'
works "npm: an offline install of a local package" 'local-package' "node npm" 'mkdir -p js/dep js/app &&
	echo "{\"name\":\"local-package\",\"version\":\"1.0.0\"}" >js/dep/package.json &&
	echo "{\"name\":\"app\",\"version\":\"1.0.0\"}" >js/app/package.json && cd js/app &&
	npm install --offline --no-audit --no-fund --no-update-notifier ../dep >/dev/null && ls node_modules'
works "perl" '^6$' perl 'perl -e "print eval { join(q(+), 1..3) } ? 1+2+3 : 0"'
works "awk, sed, sort, xargs, find, grep" 'b 2' awk 'printf "a 1\nb 2\nc 3\n" | sort -r | awk "\$2 == 2" | sed s/x/y/ | xargs -n2 echo && find . -name "*.c" | xargs grep -l main >/dev/null'
works "bash" '^10$' bash 'bash -c "a=({1..10}); echo \${#a[@]}"'
works "tar, gzip, xz" 'content' "tar gzip" 'mkdir -p t && echo content >t/f && tar czf t.tgz t && rm -r t && tar xzf t.tgz && cat t/f'
works "patch and diff" 'new' "patch diff" 'echo old >p.txt && echo new >q.txt; diff -u p.txt q.txt >d.patch; patch -s p.txt d.patch && cat p.txt'
works "zip and unzip" 'content' "zip unzip" 'echo content >z && zip -q z.zip z && rm z && unzip -q z.zip && cat z'
works "jq" '^3$' jq 'echo "{\"a\":[1,2,3]}" | jq ".a | length"'
works "sqlite3" '^7$' sqlite3 'sqlite3 s.db "create table t(x); insert into t values(3),(4); select sum(x) from t"'
works "java" '[0-9]' java 'java -version 2>&1'
works "go, when the host has it" '^hello' go 'mkdir -p g && cd g &&
	printf "package main\nfunc main() { println(\"hello\") }\n" >m.go && GOCACHE=/tmp/go GO111MODULE=off go run m.go 2>&1'
works "cargo, when the host has it" 'hello' cargo 'cargo new -q --vcs none r && cd r &&
	CARGO_HOME=/tmp/cargo cargo run -q --offline | tr H h'
works "cmake" 'built' "cmake make gcc" 'mkdir -p cm && cd cm &&
	printf "project(x C)\nadd_executable(x x.c)\n" >CMakeLists.txt &&
	printf "#include <stdio.h>\nint main(void) { puts(\"built\"); }" >x.c && cmake -S . -B b >/dev/null 2>&1 &&
	cmake --build b >/dev/null && b/x'

# --- servers and background work ---------------------------------------------------------------------------------------

works "a development server in the background of one command" 'sum 42|add' "python3 curl" '
	cd c && python3 -m http.server 8765 --bind 127.0.0.1 >/tmp/log 2>&1 &
	i=0; until curl -sf http://localhost:8765/add.h; do i=$((i+1)); [ $i -lt 50 ] || exit 1; sleep 0.1; done'
gone "it is gone with its command"
works "the same port is free in the next" '404' "python3 curl" '
	python3 -m http.server 8765 --bind 127.0.0.1 >/tmp/log 2>&1 &
	i=0; until curl -s -o /dev/null -w "%{http_code}\n" http://127.0.0.1:8765/none; do i=$((i+1)); [ $i -lt 50 ] || exit 1; sleep 0.1; done'
works "pipes, jobs and wait" 'done 3' sh 'for i in 1 2 3; do (sleep 0.1; exit $i) & done; wait $!; echo done $?'
works "a lock file" 'locked' flock 'flock lock -c "echo locked"'
works "inotify and large files" '104857600' sh 'dd if=/dev/zero of=big bs=1M count=100 2>/dev/null && stat -c %s big && rm big'
works "a thousand files" '^1000$' sh 'mkdir -p many && i=0; while [ $i -lt 1000 ]; do : >many/$i; i=$((i+1)); done; ls many | wc -l'
is "$(find "$WS" ! -uid "$ME" -print -quit)" "" "everything in the workspace belongs to the caller"
gone "nothing is left"
finish
