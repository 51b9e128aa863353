#!/bin/sh
# Real programs: what a developer's day needs must work. Either under the filter for commands and nothing else of a sandbox
# (TEST_WITH_FILTER, the path of the helper with_filter), or in a whole sandbox with nothing but defaults (TEST_SANDBOX, the
# path of cloche; tests/system/workloads.sh).
#
# Each program is also known to do its work outside, because a failure there would say nothing about cloche. Runs as root and
# as an ordinary user. With TEST_WORKLOADS_MUST_RUN=1 a program that is missing is a failure instead of a skip.
# shellcheck disable=SC2016,SC2086 # the scripts are for the bash that runs them; options are words
set -u

sandbox=${TEST_SANDBOX:-}
run=${sandbox:-${TEST_WITH_FILTER:?is the path of with_filter}}
scratch=$(mktemp -d) || exit 1
chmod 755 "$scratch"
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
count=0
options=

# Runs $script outside, under the filter or in a sandbox. Options of cloche are in $options.
perform() {
	case $1${sandbox:+-in-sandbox} in
	without*) timeout 120 bash -euc "$script" ;;
	with) timeout 120 "$run" bash -euc "$script" ;;
	with-in-sandbox) timeout 120 "$run" run $options -- bash -euc "$script" ;;
	esac >"$scratch/log" 2>&1 </dev/null
}

# workload NAME NEEDED-PROGRAM SCRIPT: runs SCRIPT in bash outside and inside, in a fresh folder each.
workload() {
	count=$((count + 1)) name=$1 needed=$2 script=$3
	if ! command -v "$needed" >/dev/null 2>&1; then
		if [ "${TEST_WORKLOADS_MUST_RUN:-}" = 1 ]; then
			echo "not ok $count - $name: $needed is not installed"
		else
			echo "ok $count - $name # SKIP $needed is not installed"
		fi
		return
	fi
	for way in without with; do
		cd / && rm -rf "$scratch/work" && mkdir "$scratch/work" && cd "$scratch/work" || exit 1
		perform $way && continue
		if [ $way = without ] && [ "${TEST_WORKLOADS_MUST_RUN:-}" != 1 ]; then
			echo "ok $count - $name # SKIP it does not work here outside either"
		else
			echo "not ok $count - $name ($way)"
		fi
		tail -n 20 "$scratch/log" | sed 's/^/# /'
		return
	done
	echo "ok $count - $name"
}

# Only in a whole sandbox: with options of cloche.
workload_with() {
	options=$1
	shift
	[ -z "$sandbox" ] || workload "$@"
	options=
}

export RUSTUP_HOME="${RUSTUP_HOME:-${HOME:-}/.rustup}" # toolchains may live in the home that this replaces
export HOME="$scratch" GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

workload 'bash: pipes, jobs, here documents, process substitution' bash '
	cat <(echo a) <(echo b) | sort -r | tr -d "\n" | grep -q ba
	sleep 0.01 & wait $!
	read -r line <<<"text"; [ "$line" = text ]
	mkfifo p; (echo x >p) & [ "$(cat p)" = x ]
	trap "got=1" USR1; kill -USR1 $$; [ "$got" = 1 ]'

workload 'coreutils: ls, cp, mv, ln, chmod, install, touch, stat, df, sort' ls '
	mkdir in; cd in; echo x >a; cp -a a b; mv b c; ln a d; ln -s a e; mkdir -p f/g; chmod -R u=rwX,go=rX .; chmod 1777 f
	install -m 755 a h; touch -d "2020-01-01" a; stat a >/dev/null; df . >/dev/null; ls -laR >/dev/null
	seq 10000 | sort -R | sort -n --parallel=2 | tail -1 | grep -qx 10000; rm -r f; sync; nproc >/dev/null; date >/dev/null'

workload 'set-user-ID and set-group-ID files cannot be made' chmod '
	if [ "$(awk "/^Seccomp:/ { print \$2 }" /proc/self/status)" = 0 ]; then exit 0; fi
	touch a; mkdir d
	if chmod u+s a || chmod 2755 a || install -m 4755 a b || chmod g+s d; then exit 1; fi
	[ -z "$(find . -perm /6000)" ]'

workload 'tar and gzip: pack and unpack' tar '
	mkdir -p a/b; seq 1000 >a/b/c; ln -s c a/b/l; mkfifo a/p
	tar -czf x.tar.gz a; mkdir y; tar -xpzf x.tar.gz -C y; cmp a/b/c y/a/b/c; [ -p y/a/p ]'

workload 'git: init, commit, branch, merge, gc, worktree, clone' git '
	mkdir r; cd r; git init -q -b main .; seq 500 >a; git add a; git commit -qm one; git checkout -qb side; echo s >>a; git commit -qam two
	git checkout -q main; echo m >b; git add b; git commit -qm three; git merge -q -m merged side; git gc -q; git fsck --full
	git worktree add -q w side; git clone -q . c; git -C c log --oneline | grep -q merged
	git stash -q || true; git status --short'

workload 'gcc and make: compile, link, run, in parallel' gcc '
	for i in 1 2 3 4; do echo "int f$i(int x) { return x + $i; }" >f$i.c; done
	printf "int f1(int), f2(int), f3(int), f4(int);\nint main(void) { return f1(f2(f3(f4(0)))) != 10; }\n" >m.c
	printf "p: m.o f1.o f2.o f3.o f4.o\n\tgcc -o \$@ \$^\n%%.o: %%.c\n\tgcc -O2 -c -o \$@ \$<\n" >Makefile
	make -j2; ./p; gcc -flto -o q m.c f?.c; ./q'

workload 'g++ -fsanitize=address,undefined: the standard library, threads, exceptions' g++ '
	printf "#include <map>\n#include <stdexcept>\n#include <string>\n#include <thread>\n#include <vector>\nint main() { std::map<std::string, std::vector<int>> m; m[\"a\"] = {1, 2, 3}; int s = 0; std::thread t([&] { for (int i : m[\"a\"]) s += i; }); t.join(); try { m.at(\"b\"); } catch (const std::out_of_range &) { return s != 6; } return 2; }\n" >a.cc
	g++ -std=c++17 -g -fsanitize=address,undefined -pthread -o a a.cc; ASAN_OPTIONS=detect_leaks=0 ./a'

# Its leak check stops all threads with ptrace, which the filter denies: see docs/seccomp.md.
workload 'gcc -fsanitize=address,undefined (without the leak check)' gcc '
	printf "#include <stdlib.h>\nint main(void) { char *p = malloc(10); p[9] = 1; free(p); return 0; }\n" >a.c
	printf "#include <stdlib.h>\nint main(void) { char *p = malloc(10); p[10] = 1; free(p); return 0; }\n" >b.c
	gcc -g -fsanitize=address,undefined -o a a.c; ASAN_OPTIONS=detect_leaks=0 ./a
	gcc -g -fsanitize=address -o b b.c; if ASAN_OPTIONS=detect_leaks=0 ./b 2>err; then exit 1; fi; grep -q heap-buffer-overflow err'

workload 'gcc -fsanitize=thread' gcc '
	printf "#include <pthread.h>\nstatic void *f(void *p) { return p; }\nint main(void) { pthread_t t; pthread_create(&t, 0, f, 0); return pthread_join(t, 0); }\n" >a.c
	gcc -g -fsanitize=thread -o a a.c; ./a'

workload 'python3: threads, multiprocessing, shared memory, subprocess, sockets, asyncio' python3 '
	cat >a.py <<"END"
import asyncio, concurrent.futures, mmap, multiprocessing as mp, os, selectors, socket, subprocess, tempfile, threading
from multiprocessing import shared_memory

def square(x):
    return x * x

if __name__ == "__main__":
    for way in "fork", "spawn", "forkserver":
        with mp.get_context(way).Pool(2) as pool:
            assert pool.map(square, range(5)) == [0, 1, 4, 9, 16]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(square, range(10))) == 285
    memory = shared_memory.SharedMemory(create=True, size=4096)
    memory.buf[0] = 7
    memory.close()
    memory.unlink()
    queue = mp.Queue()
    queue.put(1)
    assert queue.get() == 1
    assert subprocess.run(["true"]).returncode == 0
    assert subprocess.check_output(["cat"], input=b"x") == b"x"
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    client.sendall(b"hello")
    assert server.accept()[0].recv(5) == b"hello"
    assert socket.getaddrinfo("localhost", 80)
    a, b = socket.socketpair()
    a.send(b"1")
    async def main():
        process = await asyncio.create_subprocess_exec("echo", "hi", stdout=subprocess.PIPE)
        out, _ = await process.communicate()
        assert out == b"hi\n"
    asyncio.run(main())
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/x", "w+b") as f:
            f.truncate(8192)
            mmap.mmap(f.fileno(), 8192).close()
    os.sched_getaffinity(0)
    os.memfd_create("x")
END
	python3 a.py; python3 -m venv --without-pip v; v/bin/python -c "print(1)"'

workload 'node: worker threads, child processes, files, a server on loopback' node '
	cat >a.js <<"END"
const { Worker, isMainThread, parentPort } = require("worker_threads");
const { execFileSync, spawn } = require("child_process");
const fs = require("fs"), http = require("http"), os = require("os"), crypto = require("crypto");
if (!isMainThread) { parentPort.postMessage(42); return; }
const done = (name) => { left.delete(name); if (left.size === 0) process.exit(0); };
const left = new Set(["worker", "child", "http", "watch", "crypto", "wasm"]);
setTimeout(() => { console.error("left:", [...left]); process.exit(1); }, 20000);
new Worker(__filename).on("message", (m) => { if (m === 42) done("worker"); });
if (execFileSync("echo", ["x"]).toString() !== "x\n") process.exit(2);
spawn("cat", { stdio: ["ignore", "pipe", "inherit"] }).on("exit", () => done("child"));
const server = http.createServer((q, r) => r.end("ok")).listen(0, "127.0.0.1", () =>
  http.get(server.address(), (r) => { r.resume(); r.on("end", () => done("http")); }));
fs.writeFileSync("w", ""); fs.watch(".", () => done("watch")); setTimeout(() => fs.copyFileSync("a.js", "b.js"), 50);
crypto.scrypt("a", "b", 32, () => done("crypto"));
new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])); done("wasm");
os.cpus(); os.networkInterfaces();
END
	node a.js'

workload 'node: fetch' node '
	node -e "if (typeof fetch === \"undefined\") process.exit(0)
		const s = require(\"http\").createServer((q, r) => r.end(\"fetched\")).listen(0, \"127.0.0.1\", async () => {
		const r = await fetch(\"http://127.0.0.1:\" + s.address().port); process.exit(await r.text() === \"fetched\" ? 0 : 1) })"'

workload 'java: start, threads, processes' java '
	java -version
	cat >A.java <<"END"
import java.net.*; import java.nio.file.*; import java.util.concurrent.*; import java.util.stream.*;
public class A {
    public static void main(String[] args) throws Exception {
        if (IntStream.range(0, 100000).parallel().sum() != 704982704) System.exit(2);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        if (pool.submit(() -> 42).get() != 42) System.exit(3);
        pool.shutdown();
        if (new ProcessBuilder("true").start().waitFor() != 0) System.exit(4);
        Files.writeString(Path.of("x"), "y"); NetworkInterface.getNetworkInterfaces();
        try (DatagramSocket s = new DatagramSocket()) { s.getLocalPort(); }
    }
}
END
	if command -v javac; then javac A.java; java -Xmx128m A; fi'

workload 'perl: fork, pipes, sockets' perl '
	perl -MSocket -e "socketpair(my \$a, my \$b, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die; if (!fork) { syswrite \$a, q(x); exit 0 } sysread \$b, my \$c, 1; wait; exit(\$c ne q(x) || \$?)"'

workload 'sqlite: write-ahead log' sqlite3 '
	sqlite3 a.db "pragma journal_mode=wal; create table t(x); insert into t values (1),(2); select sum(x) from t" | grep -qx 3'

workload 'postgres: initdb, a server on its own socket, queries' "$(find /usr/lib/postgresql -name initdb 2>/dev/null | head -n 1)" '
	bin=$(echo /usr/lib/postgresql/*/bin | tr " " "\n" | tail -1); [ "$(id -u)" != 0 ] || exit 0
	mkdir -m 700 d; "$bin/initdb" -D d -A trust --no-sync >log
	"$bin/pg_ctl" -D d -w -l server.log -o "-c listen_addresses= -c unix_socket_directories=/tmp -p 5499" start >>log
	psql() { "$bin/psql" -h /tmp -p 5499 -d postgres -Atc "$1"; }
	psql "create table t as select generate_series(1, 1000) x"; psql "select sum(x) from t" | grep -qx 500500
	"$bin/pg_ctl" -D d -m fast stop >>log'

workload 'go: build and run' go '
	export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GOTOOLCHAIN=local
	printf "module a\ngo 1.18\n" >go.mod
	printf "package main\nimport (\"fmt\"; \"net\"; \"os/exec\")\nfunc main() { l, e := net.Listen(\"tcp\", \"127.0.0.1:0\"); if e != nil { panic(e) }; l.Close(); c := make(chan int); go func() { c <- 1 }(); fmt.Println(<-c); if exec.Command(\"true\").Run() != nil { panic(1) } }\n" >a.go
	go run .'

workload 'rustc: compile and run' rustc '
	printf "fn main() { let h: Vec<_> = (0..4).map(|i| std::thread::spawn(move || i)).collect(); let s: i32 = h.into_iter().map(|t| t.join().unwrap()).sum(); assert_eq!(s, 6); assert!(std::process::Command::new(\"true\").status().unwrap().success()); }\n" >a.rs
	rustc a.rs; ./a'

workload 'cargo: a library, a program and tests, offline' cargo '
	export CARGO_HOME=$PWD/cargo; cargo new -q --vcs none --name a p; cd p; mkdir -p b/src
	printf "[package]\nname = \"b\"\nversion = \"0.1.0\"\nedition = \"2021\"\n" >b/Cargo.toml
	printf "pub fn two() -> i32 { 2 }\n#[test]\nfn works() { assert_eq!(two(), 2); }\n" >b/src/lib.rs
	printf "b = { path = \"b\" }\n" >>Cargo.toml; printf "fn main() { println!(\"{}\", b::two()); }\n" >src/main.rs
	cargo --offline run -q | grep -qx 2; cargo --offline test -q -p b'

workload_with --allow-debug 'gdb: break, run, backtrace, with --allow-debug' gdb '
	printf "int f(int x) {\n\treturn x + 1;\n}\nint main(void) {\n\treturn f(1) != 2;\n}\n" >a.c; gcc -g -o a a.c
	gdb -nx -batch -ex "break f" -ex run -ex backtrace -ex "print x" -ex continue ./a >out 2>&1 </dev/null
	cat out; grep -q "in main () at a.c:5" out; grep -q "= 1" out; grep -q "exited normally" out'

workload_with --allow-debug 'strace: follows forks, with --allow-debug' strace '
	strace -f -o log sh -c "cat /etc/passwd >/dev/null; true"; grep -q "exited with 0" log; grep -q /etc/passwd log'

workload_with --allow-debug 'the leak check of AddressSanitizer, with --allow-debug' gcc '
	printf "#include <stdlib.h>\nint main(void) { volatile char *p = malloc(7); p = 0; return p != 0; }\n" >a.c
	gcc -g -fsanitize=address -o a a.c; if ASAN_OPTIONS=detect_leaks=1 ./a 2>err; then exit 1; fi; cat err; grep -q "7 byte" err'

echo "1..$count"
