#!/bin/sh
# The counting of tools/run-tests, on which every other test relies: what is passed, failed and skipped, and that a program
# which dies is never taken for one that passed. Prints TAP itself.
set -u
run_tests=$(dirname "$0")/../../tools/run-tests
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
unset RUN_TESTS_TOTALS
n=0

# expect NAME 'P passed, F failed, S skipped' <<program: the last line for a shell program that prints TAP.
expect() {
	n=$((n + 1))
	{
		echo '#!/bin/sh'
		cat
	} >"$scratch/program"
	chmod +x "$scratch/program"
	"$run_tests" --timeout 2 "$scratch/program" >"$scratch/out" 2>&1
	status=$?
	last=$(tail -n 1 "$scratch/out")
	want=1
	case $2 in *" 0 failed"*) want=0 ;; esac
	if [ "$last" = "$2" ] && [ "$status" = "$want" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "# wanted '$2' and exit status $want, got '$last' and $status:"
		sed 's/^/# /' "$scratch/out"
	fi
}

expect "passed and skipped" "1 passed, 0 failed, 1 skipped" <<'END'
echo "1..2"; echo "ok 1 - a"; echo "ok 2 - b # SKIP no such thing here"
END
expect "a failed test" "1 passed, 1 failed, 0 skipped" <<'END'
echo "ok 1 - a"; echo "not ok 2 - b"; echo "# why"; echo "1..2"; exit 1
END
expect "a test that is still to do is not a failure" "0 passed, 0 failed, 1 skipped" <<'END'
echo "1..1"; echo "not ok 1 - a # TODO later"
END
expect "no plan" "1 passed, 1 failed, 0 skipped" <<'END'
echo "ok 1 - a"
END
expect "nothing at all" "0 passed, 1 failed, 0 skipped" <<'END'
exit 0
END
expect "died before the end" "1 passed, 1 failed, 0 skipped" <<'END'
echo "1..2"; echo "ok 1 - a"; kill -SEGV $$
END
expect "died after the last test" "1 passed, 1 failed, 0 skipped" <<'END'
echo "1..1"; echo "ok 1 - a"; kill -KILL $$
END
expect "more tests than planned" "2 passed, 1 failed, 0 skipped" <<'END'
echo "1..1"; echo "ok 1 - a"; echo "ok 2 - b"
END
expect "an exit status without a failed test" "1 passed, 1 failed, 0 skipped" <<'END'
echo "1..1"; echo "ok 1 - a"; exit 3
END
expect "gave up" "1 passed, 1 failed, 0 skipped" <<'END'
echo "1..2"; echo "ok 1 - a"; echo "Bail out! no disk"; exit 1
END
expect "all of it skipped" "0 passed, 0 failed, 1 skipped" <<'END'
echo "1..0 # SKIP no kernel"
END
expect "a hang" "0 passed, 1 failed, 0 skipped" <<'END'
echo "1..1"; sleep 1000
END
expect "only the innermost tests count" "2 passed, 1 failed, 0 skipped" <<'END'
echo "TAP version 13"
echo "# Subtest: outer"
echo "    # Subtest: a"; echo "    ok 1 - a"
echo "      ---"; echo "      text: |-"; echo "        not ok 9 - part of a text"; echo "      ..."
echo "    not ok 2 - b"
echo "    1..2"
echo "not ok 1 - outer"
echo "ok 2 - alone"
echo "1..2"; exit 1
END
expect "an outer test that fails by itself" "1 passed, 1 failed, 0 skipped" <<'END'
echo "    ok 1 - a"; echo "    1..1"
echo "not ok 1 - its clean-up failed"
echo "1..1"; exit 1
END
expect "names with signs in them" "2 passed, 0 failed, 0 skipped" <<'END'
echo "ok 1 - issue \\# SKIP is no directive"; echo "ok 2"; echo "1..2"
END

n=$((n + 1))
if "$run_tests" "$scratch/does-not-exist" | tail -n 1 | grep -qx '0 passed, 1 failed, 0 skipped'; then
	echo "ok $n - a program that does not exist"
else
	echo "not ok $n - a program that does not exist"
fi
n=$((n + 1))
if "$run_tests" | tail -n 1 | grep -qx '0 passed, 1 failed, 0 skipped'; then
	echo "ok $n - no program"
else
	echo "not ok $n - no program"
fi
echo "1..$n"
