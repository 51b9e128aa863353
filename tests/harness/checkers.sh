#!/bin/sh
# The checkers of tools/ find what they are for: each is shown a small tree with one thing wrong in it. Prints TAP.
set -u
tools=$(cd "$(dirname "$0")/../../tools" && pwd) || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
n=0

# A tree that every checker likes.
fresh_tree() {
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/tools" "$scratch/tree/runtime/base" "$scratch/tree/runtime/kern" "$scratch/tree/mcp" "$scratch/tree/tests"
	cp "$tools/check-layers" "$tools/check-style" "$tools/check-lists" "$scratch/tree/tools/"
	cd "$scratch/tree" || exit 1
	printf '/* A. */\n#pragma once\n\nint a(void);\n' >runtime/base/a.h
	printf '/* A. */\n#include "runtime/base/a.h"\n\n#include <stddef.h>\n\nint a(void)\n{\n\treturn 0;\n}\n' >runtime/base/a.c
	printf '/* K. */\n#pragma once\n' >runtime/kern/k.h
	printf '/* M. */\n#include "runtime/base/a.h"\n' >mcp/m.c
}

# verdict ok|found NAME MESSAGE CHECKER...: runs CHECKER in the tree; `found` means that it fails and says MESSAGE.
verdict() {
	want=$1 name=$2 message=$3
	shift 3
	n=$((n + 1))
	"$@" >"$scratch/out" 2>&1
	status=$?
	if { [ "$want" = ok ] && [ $status = 0 ]; } ||
		{ [ "$want" = found ] && [ $status = 1 ] && grep -qF -- "$message" "$scratch/out"; }; then
		echo "ok $n - $name"
	else
		echo "not ok $n - $name"
		sed 's/^/# /' "$scratch/out"
	fi
}

# broken CHECKER NAME MESSAGE FILE: appends standard input to FILE of a fresh tree, and CHECKER must find MESSAGE.
broken() {
	fresh_tree
	cat >>"$4"
	verdict found "$1: $2" "$3" "./tools/$1"
}

fresh_tree
verdict ok "check-layers likes a good tree" "" ./tools/check-layers
verdict ok "check-style likes a good tree" "" ./tools/check-style
verdict ok "check-lists likes a good tree" "" ./tools/check-lists runtime/base/a mcp/m

broken check-layers "upward include" "runtime/base may only see itself" runtime/base/a.c <<'END'
#include "runtime/kern/k.h"
END
broken check-layers "server includes the launcher" "mcp may only see" mcp/m.c <<'END'
#include "runtime/kern/k.h"
END
broken check-layers "not from the top" "write the path from the top" runtime/base/a.c <<'END'
#include "a.h"
END
broken check-layers "a header that does not exist" "write the path from the top" runtime/base/a.c <<'END'
#include "runtime/base/none.h"
END
broken check-layers "a library outside its place" "includes <seccomp.h>" runtime/base/a.c <<'END'
#  include <seccomp.h>
END
broken check-layers "JSON outside its place" "includes <cjson/cJSON.h>" runtime/base/a.c <<'END'
#include <cjson/cJSON.h>
END

broken check-style "a banned function" "'sprintf' is banned" runtime/base/a.c <<'END'
static void b(char *p) { sprintf(p, "x"); }
END
broken check-style "a long line" "the limit" runtime/base/a.c <<END
static const char *const c = "$(printf '%0170d' 0)";
END
broken check-style "blanks instead of a tab" "use tabs" runtime/base/a.c <<'END'
static int d(void) {
        return 1; }
END
broken check-style "blanks at the end" "blanks at the end" runtime/base/a.c <<END
static int e;$(printf '\t')
END
broken check-style "a letter that is not ASCII" "not ASCII" runtime/base/a.c <<'END'
static const char *const f = "…";
END
broken check-style "work left over" "is banned" runtime/base/a.c <<END
/* $(printf 'TO')DO: all of it */
END
broken check-style "no comment at the top" "begins with a comment" runtime/base/b.h <<'END'
#pragma once
END
broken check-style "no #pragma once" "no #pragma once" runtime/base/b.h <<'END'
/* B. */
END
broken check-style "a function of many lines" "the limit" runtime/base/a.c <<END
static void g(void)
{
$(yes '	;' | head -n 110)
}
END

fresh_tree
verdict found "check-lists: a forgotten file" "mcp/m.c is in no list" ./tools/check-lists runtime/base/a
verdict found "check-lists: a file that is gone" "lists mcp/gone.c, which does not exist" \
	./tools/check-lists runtime/base/a mcp/m mcp/gone
verdict found "check-lists: a file listed twice" "lists mcp/m.c twice" ./tools/check-lists runtime/base/a mcp/m mcp/m
echo "1..$n"
