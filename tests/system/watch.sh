#!/bin/bash
# Limits where no cgroup holds them: what init has the right to see, that nobody inside can hide memory from it, and shares of CPUs held by
# stopping. How near to a limit bombs of all kinds are ended is for tests/limits.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
unset CLOCHE_PROFILE
cd "$WS" || exit 1

# hoard SIZE: a Python program that holds SIZE MiB in a memfd which it neither maps nor lets anybody see, and says so.
cat >hoard <<'EOF'
import ctypes, os, sys, time
if "seen" not in sys.argv:
    assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0  # PR_SET_DUMPABLE
fd = os.memfd_create("hoard")
for _ in range(int(sys.argv[1])):
    os.write(fd, bytes(1 << 20))
print("holds", sys.argv[1], flush=True)
time.sleep(2)
EOF
limited() { cloche run --cgroup none --memory 128m "$@"; }

limited -- python3 hoard 100
is "$ST,$OUT" "0,holds 100" "100 MiB in a memfd of an undumpable process are let through by 128 MiB"
limited -- python3 hoard 160
is "$ST" 137 "160 MiB are not"
like "$ERR" "killed: used about 1[2-9][0-9] MiB of 128 MiB" "and it is told"
limited -- python3 hoard 160 seen
is "$ST" 137 "the same of one that can be looked into"
limited --tmpfs /data:size=200m -- sh -c 'head -c 160m /dev/zero >/data/file; sleep 2'
is "$ST" 137 "a folder in memory of one's own counts"
limited --tmpfs /data:size=200m -- sh -c 'head -c 100m /dev/zero >/data/file && python3 -c "
import mmap
f = open(\"/data/file\", \"r+b\")
m = mmap.mmap(f.fileno(), 0)
sum(m[i] for i in range(0, len(m), 4096))
import time
time.sleep(1)
print(\"done\")"'
is "$ST,$OUT" "0,done" "and not twice when it is mapped too"

# --- processes ------------------------------------------------------------------------------------------------------------

# crowd N: a Python program that starts up to N children and fails at once, when a child is refused or all are there: hardly time for a look.
cat >crowd <<'EOF'
import os, sys, time
for _ in range(int(sys.argv[1])):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    except OSError:
        os._exit(3)
os._exit(4)
EOF
crowded() { cloche run --cgroup none --pids-limit 40 -- python3 crowd "$1"; }
crowded 100
is "$ST" 3 "the 40th process is refused"
like "$ERR" "probably refused, since it was seen with about 3[89]: there may be 40 at once" "and it is told, though hardly anybody can have seen that many"
crowded 20
is "$ST,$ERR" "4," "half as many are not, and nothing is told"

# --- what init may do -----------------------------------------------------------------------------------------------------

# init_of OPTION...: the capabilities of init while `cloche run OPTION...` runs a command.
init_of() {
	local pid init
	"$CLOCHE" run "${MARKED[@]}" --workspace "$WS" "$@" -- sleep "$MARK" </dev/null >/dev/null 2>&1 &
	pid=$!
	until_true pgrep -f "^sleep $MARK" >/dev/null
	init=$(awk '/^PPid/ { print $2 }' "/proc/$(pgrep -f "^sleep $MARK")/status")
	awk '/^CapPrm|^CapEff|^CapInh|^CapAmb|^CapBnd/ { print $2 }' "/proc/$init/status" | sort -u | tr '\n' ' '
	kill -TERM "$pid"
	wait "$pid" 2>/dev/null
	until_true not_there
}
not_there() { ! pgrep -f "^sleep $MARK" >/dev/null; }
is "$(init_of --cgroup none)" "0000000000000000 0000000000080000 " "init of cloche run keeps CAP_SYS_PTRACE to watch over memory, and nothing else"
is "$(init_of --cgroup none --allow-weaker=proc)" "$(init_of --cgroup none)" "(the same where proc may be weaker, and need not be)"
gives "0000000000000000" "the command has nothing" --cgroup none -- awk '/^CapPrm/ { print $2 }' /proc/self/status

# --- shares of CPUs -------------------------------------------------------------------------------------------------------

# Undoes the affinity, computes with two processes for some seconds and tells how many CPUs that took.
cat >burn <<'EOF'
import os, resource, time
os.sched_setaffinity(0, range(1024))
start = time.monotonic()
for _ in range(2):
    if os.fork() == 0:
        while time.monotonic() - start < 4:
            pass
        os._exit(0)
for _ in range(2):
    os.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("%.2f" % ((used.ru_utime + used.ru_stime) / (time.monotonic() - start)))
EOF
cloche run --cgroup none --cpus 0.3 -- python3 burn
is "$ST" 0 "a program that computes comes to its end"
awk "BEGIN { exit !($OUT > 0 && $OUT < 0.4) }"
ok $? "two processes that chose all CPUs got 0.3" "got '$OUT'"

# What somebody inside has stopped stays stopped, though everything else is stopped and let go on in between; also at the moment when
# both want to stop it.
cloche run --cgroup none --cpus 0.1 -- bash -c '
	for i in {1..15}; do sleep 100 & kill -STOP $!; pids="$pids $!"; done
	end=$((SECONDS + 3)); while [ $SECONDS -lt $end ]; do :; done
	for pid in $pids; do awk "/^State/ { print \$2 }" /proc/$pid/status; done | sort | uniq -c | tr -d " "; kill -KILL $pids'
is "$ST,$OUT" "0,15T" "what was stopped inside stays stopped"

finish
