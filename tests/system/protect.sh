#!/bin/bash
# Protected paths: what programs of the host would run or trust cannot be changed from inside, whatever is there and however it is
# tried; git goes on working; and nothing stays behind on the host, however a sandbox ends.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
list=$(dirname "$0")/../../rootfs/protected.list
GIT=(git -c safe.directory='*' -c user.name=host -c user.email=host@localhost -c init.defaultBranch=main -c protocol.file.allow=always)

if ! in_usr python3 || ! have python3 || ! in_usr git || ! have git; then
	skip "protected paths" "python3 or git is missing"
	finish
fi
awk '!/^#/ && NF && $2 != "each" { print $1 }' "$list" >"$T/names"
awk '!/^#/ && NF && $2 != "each" && $2 != "existing" { print $1 }' "$list" >"$T/names.missing"

# fresh: an empty workspace. repository: one with a commit.
fresh() {
	chmod -R u+rwX "$WS" 2>/dev/null
	rm -rf "$WS"
	mkdir -m 755 "$WS"
}
repository() {
	fresh
	"${GIT[@]}" init -q "$WS"
	echo one >"$WS/one" && "${GIT[@]}" -C "$WS" add one && "${GIT[@]}" -C "$WS" commit -q -m one
}

# state [FOLDER]: kind, mode, content and links of everything in it; equal when nothing has changed.
state() {
	(cd "${1:-$WS}" && find . -mindepth 1 ! -path './.git/objects*' ! -path ./attack.py -printf '%p %y %m %l\n' -type f -exec sha1sum {} \; | sort)
}
# number: each request gets an id of its own.
number() { awk '{ sub(/"id":1/, "\"id\":" NR) } 1'; }
# marked COMM: processes of this test's sandboxes with that name.
marked() {
	local pid
	for pid in $(marked_pids); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] && echo "$pid"
	done
}
no_ghosts() { [ -z "$(cd "$WS" && find . -mindepth 1 -maxdepth 1 ! -name one ! -name keep -printf '%f ')" ]; }
# cleaned NAME: within five seconds the workspace is empty again.
cleaned() {
	until_true no_ghosts
	is "$(ls -A "$WS")" "" "$1"
}
occupied() { [ -d "$WS/.claude" ] && [ -d "$WS/.cloche.json" ]; }
# begin: a sandbox in the background that has occupied its names; $! is its supervisor.
begin() {
	setsid "$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- sh -c "echo up >/workspace/keep; sleep $MARK" </dev/null >/dev/null 2>"$T/err" &
	until_true test -s "$WS/keep"
	rm -f "$WS/keep"
}

# --- attacks from inside -----------------------------------------------------------------------------------------------

# Tries everything on each path given, and prints what worked.
cat >"$T/attack.py" <<'END'
import ctypes, os, shutil, sys

libc = ctypes.CDLL(None, use_errno=True)

def exchange(a, b):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), 2):
        raise OSError(ctypes.get_errno(), "exchange")

def fresh_file(name="scratch"):
    with open(name, "w") as f:
        f.write("evil")
    return name

def fresh_dir(name="scratch.d"):
    os.makedirs(name, exist_ok=True)
    return name

def write(path, flags=os.O_WRONLY):
    fd = os.open(path, flags, 0o644)
    os.write(fd, b"evil")
    os.close(fd)

def remove_tree(path):
    # Only what is gone afterwards counts.
    if not os.path.lexists(path):
        raise OSError("nothing there")
    before = sum(len(d) + len(f) for _, d, f in os.walk(path))
    shutil.rmtree(path, ignore_errors=True)
    if os.path.lexists(path) and sum(len(d) + len(f) for _, d, f in os.walk(path)) == before:
        raise OSError("nothing was removed")

def through_alias(path):
    os.link(path, "alias", follow_symlinks=False)
    write("alias")

def in_folder_fd(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    os.close(os.open("evil", os.O_CREAT | os.O_WRONLY, 0o644, dir_fd=fd))

def by_parent(path):
    if "/" not in path:
        raise OSError("no parent")
    os.rename(path.split("/")[0], "moved")

attacks = {
    "write": lambda p: write(p),
    "append": lambda p: write(p, os.O_WRONLY | os.O_APPEND),
    "create": lambda p: write(p, os.O_WRONLY | os.O_CREAT),
    "truncate": lambda p: os.truncate(p, 0),
    "create below": lambda p: fresh_file(p + "/evil"),
    "mkdir below": lambda p: os.mkdir(p + "/evil.d"),
    "link below": lambda p: os.symlink("/tmp", p + "/evil.l"),
    "write below": lambda p: write(p + "/kept"),
    "unlink below": lambda p: os.unlink(p + "/kept"),
    "rename file over": lambda p: os.rename(fresh_file(), p),
    "rename folder over": lambda p: os.rename(fresh_dir(), p),
    "rename below over": lambda p: os.rename(fresh_file(), p + "/kept"),
    "rename away": lambda p: os.rename(p, "away"),
    "rename the parent": by_parent,
    "exchange": lambda p: exchange(fresh_file(), p),
    "exchange folder": lambda p: exchange(fresh_dir(), p),
    "unlink": lambda p: os.unlink(p),
    "rmdir": lambda p: os.rmdir(p),
    "rm -r": remove_tree,
    "mkdir": lambda p: os.mkdir(p),
    "symlink": lambda p: os.symlink("/tmp", p),
    "hard link over": lambda p: os.link(fresh_file(), p),
    "hard link": through_alias,
    "mkfifo": lambda p: os.mkfifo(p),
    "chmod": lambda p: os.chmod(p, 0o777),
    "utime": lambda p: os.utime(p),
    "xattr": lambda p: os.setxattr(p, "user.x", b"y"),
    "by /proc/self/root": lambda p: write("/proc/self/root/workspace/" + p, os.O_WRONLY | os.O_CREAT),
    "by /proc/self/cwd": lambda p: fresh_file("/proc/self/cwd/" + p + "/evil"),
    "by a descriptor": in_folder_fd,
    "by //": lambda p: write("/workspace/./" + p.replace("/", "//") + "/", os.O_WRONLY | os.O_CREAT),
}
got = []
for path in sys.argv[1:]:
    for name, attack in attacks.items():
        try:
            attack(path)
            got.append(path + ": " + name)
        except (OSError, ValueError):
            pass
for left in ("scratch", "alias"):
    if os.path.lexists(left):
        os.unlink(left)
shutil.rmtree("scratch.d", ignore_errors=True)
print("; ".join(got) or "nothing")
END

# prepare KIND: every protected name becomes that.
prepare() {
	local name
	repository
	mkdir -p "$WS/targets" "$T/outside"
	while read -r name; do
		local flat=${name//\//_}
		mkdir -p "$(dirname "$WS/$name")"
		rm -rf "${WS:?}/$name"
		case $1 in
		file) echo kept >"$WS/$name" ;;
		folder) mkdir "$WS/$name" && echo kept >"$WS/$name/kept" ;;
		missing) ;;
		link-inside) mkdir "$WS/targets/$flat" && echo kept >"$WS/targets/$flat/kept" && ln -s "$([[ $name == */* ]] && echo ../)targets/$flat" "$WS/$name" ;;
		link-to-missing) ln -s "$([[ $name == */* ]] && echo ../)targets/$flat/none" "$WS/$name" ;;
		link-outside) ln -s "$T/outside" "$WS/$name" ;;
		hard-link) echo kept >"$WS/targets/$flat" && ln "$WS/targets/$flat" "$WS/$name" ;;
		esac
	done <"$T/names"
	[ "$1" = missing ] || [ "$1" = link-outside ] || [ "$1" = link-inside ] || cp /dev/null "$WS/.git/x" # a file of no matter
	cp "$T/attack.py" "$WS/attack.py"
}

for kind in file folder missing link-inside link-to-missing link-outside hard-link; do
	rm -rf "$T/outside"
	prepare "$kind"
	names=$T/names
	[ "$kind" != missing ] || names=$T/names.missing
	mapfile -t paths <"$names"
	case $kind in
	link-inside | link-to-missing)
		while read -r name; do paths+=("targets/${name//\//_}"); done <"$names"
		;;
	esac
	state >"$T/before"
	inside -- python3 attack.py "${paths[@]}"
	is "$OUT" nothing "$kind: no attack from inside works"
	state >"$T/after"
	is "$(diff "$T/before" "$T/after")" "" "$kind: and everything is as it was"
	if [ "$kind" = hard-link ]; then
		like "$ERR" "'$WS/\.envrc' has 2 names" "a hard link is told of"
		unlike "$ERR" "'$WS/one'" "(and only what is protected)"
	fi
	is "$(ls -A "$T/outside")" "" "$kind: nothing got out"
done
ok "$([ "$(wc -l <"$T/names")" -ge 15 ]; echo $?)" "the list was read"

# The file tools of the server.
prepare folder
for name in .git/hooks/pre-commit .git/config .claude/settings.local.json .mcp.json .github/workflows/x.yml .vscode/kept; do
	for tool in '"write_file","arguments":{"create_only":false,"content":"evil",' '"search_and_replace","arguments":{"edits":[{"old":"kept","new":"evil"}],'; do
		printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%s"filepath":"%s"}}}\n' "$tool" "$name"
	done
done | number >"$T/in"
state >"$T/before"
"$CLOCHE" mcp "${MARKED[@]}" "$WS" <"$T/in" >"$T/out" 2>"$T/err"
is "$(grep -c '"isError":true' "$T/out"),$(grep -c protected "$T/out")" "12,8" "the file tools cannot write there either, and most say why" # others find no text, or no JSON
state >"$T/after"
is "$(diff "$T/before" "$T/after")" "" "and everything is as it was after them"
fresh
printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{%s}}}\n' \
	list_directory '' write_file '"filepath":".envrc","content":"evil","create_only":false' |
	number >"$T/in"
"$CLOCHE" mcp "${MARKED[@]}" "$WS" <"$T/in" >"$T/out" 2>"$T/err"
like "$(grep '"id":1,' "$T/out")" "Directory is empty" "stand-ins are not listed by the server"
like "$(grep '"id":2,' "$T/out")" "protected path" "a missing path that is protected is called that"
is "$(ls -A "$WS")" "" "and nothing stays"

# Links that lead through folders which are empty, missing or full, and back.
fresh
mkdir -p "$WS/empty" "$WS/full" "$WS/evil/x" && echo kept >"$WS/full/kept" && echo evil >"$WS/evil/b"
ln -s empty/../a "$WS/.claude" && ln -s gone/../b "$WS/.cursor" && ln -s full/../c "$WS/.vscode"
state >"$T/before"
inside -- sh -c 'for i in a b c; do mkdir $i; echo evil >$i; done; rmdir empty; mv full away; mkdir gone; for i in empty gone full; do rm -rf $i; ln -sT evil/x $i; done
	echo evil >.claude/x; echo evil >.cursor/x; echo evil >.vscode/x'
state >"$T/after"
is "$(diff "$T/before" "$T/after")" "" "a way through a folder and back by .. leads where it led"

# --- options -----------------------------------------------------------------------------------------------------------

fresh
inside --unprotect all -- sh -c 'mkdir .claude && echo x >.envrc && git init -q . && echo y >.git/hooks/z && ls -A | tr "\n" " "'
is "$OUT" ".claude .envrc .git " "--unprotect all lets everything be written"
fresh
inside --unprotect .git --unprotect .github/ -- sh -c 'git init -q . && git config a.b c && mkdir -p .github/workflows && echo x >.envrc'
is "$(ls -A "$WS")" ".git"$'\n'".github" "--unprotect takes paths with all below them, and nothing else"
fresh
echo x >"$WS/Makefile"
inside --protect Makefile --protect /workspace/ci/scripts/ -- sh -c 'echo y >Makefile; mkdir -p ci/scripts; mkdir ci/x; cat Makefile'
is "$OUT,$(ls -A "$WS")" "x,Makefile" "--protect adds files, and folders that are not there"
inside --protect Makefile --unprotect Makefile -- sh -c 'echo y >Makefile; cat Makefile'
is "$OUT" y "--unprotect takes back what --protect added"
for bad in /etc ../x a/../b '' . 'a//b' .git/../x $'a\nb'; do
	refused "is not a path in the workspace" "--protect '${bad//[$'\n']/ }' is refused" run --protect "$bad" -- true
done
refused "not protected" "--unprotect of something else is refused" run --unprotect src -- true
refused "'.git/hooks' is protected as a whole" "so is a part of a path" run --unprotect .git/hooks/pre-commit -- true
fresh
inside -v "$WS:/workspace:ro" -- true
is "$ST,$(ls -A "$WS")" 0, "a read-only workspace needs no stand-ins"
mkdir -p "$T/vol" && echo theirs >"$T/vol/f"
mkdir "$WS/.vscode"
inside -v "$T/vol:/workspace/.vscode" -- sh -c 'echo mine >.vscode/f'
is "$(cat "$T/vol/f")" mine "a volume given for a protected path is the caller's choice"

# --- git ---------------------------------------------------------------------------------------------------------------

git_day='set -e
git status -s; echo two >two; git add two; git commit -qm two; git checkout -qb side; echo s >>one; git commit -qam side
git checkout -q main; echo m >three; git add three; git commit -qm three; git merge -q --no-edit side
echo x >>one; git stash -q; git stash pop -q; git commit -qam stashed; git checkout -q side; git rebase -q main; git tag -a -m t v1
git worktree add -q sub-tree 2>&1; (cd sub-tree; git commit -q --allow-empty -m linked); git worktree list | wc -l
git checkout -q -b from main~1; git switch -q main; git branch -D from >/dev/null; git gc -q 2>&1; git fsck 2>&1 | grep -v dangling || true
git worktree remove sub-tree; git reflog expire --expire=now --all; git prune; git log --oneline | wc -l'
repository
state "$WS/.git/hooks" >"$T/hooks.before"
sum=$(sha1sum <"$WS/.git/config")
inside -- sh -c "$git_day"
is "$ST,$OUT,$(grep -v -e 'config file .*busy' -e 'Update of config-file failed' "$T/err")" "0,2"$'\n'"6," "a day of git in a clone" # branch -D wants to tidy up settings
is "$("${GIT[@]}" -C "$WS" log --format=%s -1 main),$("${GIT[@]}" -C "$WS" status --short)" "stashed," "the host's git reads it"
inside -- sh -c 'git config core.fsmonitor evil; git config --local alias.x "!evil"; git remote add x y; git config --worktree a.b c
	printf "[core]\n\tfsmonitor = evil\n" >.git/config.worktree; cp /dev/null .git/config.lock && mv .git/config.lock .git/config; rm -f .git/config.lock
	git submodule add ./. x; rm -rf x .gitmodules; git init; true'
is "$(sha1sum <"$WS/.git/config")" "$sum" "git's settings are as they were"
is "$(state "$WS/.git/hooks" | diff "$T/hooks.before" -),$(find "$WS/.git" -name 'config.worktree' -o -name commondir)" "," "and so are its hooks"
fresh
inside -- sh -c 'git init 2>&1 | head -1; git status; git init -q sub && cd sub && git commit -q --allow-empty -m x && git log --format=%s'
like "$OUT,$ERR" "Read-only file system.*x,.*not a git repository" "without a repository: none can be made at the top, but in a folder"

# A remote branch: its tracking would have to be written to the settings.
rm -rf "$T/origin"
repository && "${GIT[@]}" -C "$WS" branch feature && mv "$WS" "$T/origin" && "${GIT[@]}" clone -q "$T/origin" "$WS"
inside -- sh -c 'git checkout -q -b mine origin/feature && git branch --show-current'
is "$OUT" mine "git checkout -b from a remote branch works"

# Submodules.
repository
"${GIT[@]}" -C "$WS" submodule --quiet add "$T/origin" deep/module >/dev/null 2>&1
"${GIT[@]}" -C "$WS" commit -qm module
state "$WS/.git/modules" | grep -e config -e hooks >"$T/before"
inside -- sh -c 'cd deep/module && git config core.fsmonitor evil; echo x >/workspace/.git/modules/deep/module/hooks/post-checkout
	echo x >/workspace/.git/modules/deep/module/config; mv /workspace/.git/modules/deep /workspace/.git/modules/other
	git commit -q --allow-empty -m in && git log --format=%s -1'
is "$OUT" in "a submodule can be committed to"
is "$(state "$WS/.git/modules" | grep -e config -e hooks | diff "$T/before" -)" "" "and its settings and hooks are as they were"
# A name with a dot; and git's marks of a repository taken away in one session, to be put back in a later one.
"${GIT[@]}" -C "$WS" submodule --quiet add --name .vim/plug "$T/origin" plug >/dev/null 2>&1
"${GIT[@]}" -C "$WS" commit -qm plug
module=.git/modules/.vim/plug
sum=$(sha1sum <"$WS/$module/config")
for step in "mv $module/HEAD $module/H; mv $module/objects $module/o; : >.git/modules/.vim/HEAD; mkdir .git/modules/.vim/objects .git/modules/.vim/refs" true; do
	inside -- sh -c "$step; echo '[core] fsmonitor = evil' >>$module/config; python3 -c 'import os; os.rename(\"$module\", \"m\")'; mkdir $module/hooks; echo evil >$module/hooks/post-checkout; rm -rf $module/config"
done
is "$(sha1sum <"$WS/$module/config"),$(find "$WS/$module/hooks" -name post-checkout)" "$sum," "a repository that lost its HEAD is protected as one"
mv "$WS/$module/H" "$WS/$module/HEAD" && mv "$WS/$module/o" "$WS/$module/objects" && rm -rf "$WS"/.git/modules/.vim/{HEAD,objects,refs}
inside -- sh -c 'cd plug && git commit -q --allow-empty -m plugged && git log --format=%s -1'
is "$OUT" plugged "and git works in it"
# More repositories than can be protected one by one.
inside -- sh -c 'for i in $(seq 300); do mkdir .git/modules/$i; echo x >.git/modules/$i/HEAD; done'
inside -- sh -c "echo evil >>$module/config; rm -rf .git/modules/1; mkdir .git/modules/x; echo evil >>.git/config; git log --format=%s -1; echo x >x"
is "$ST,$(sha1sum <"$WS/$module/config"),$(find "$WS/.git/modules" -maxdepth 1 -name '[1x]'),$(cat "$WS/x")" "0,$sum,$WS/.git/modules/1,x" \
	"300 more of them: all of modules is read-only"
like "$ERR" "modules' cannot be gone through .*read-only inside" "which is said"
rm -rf "$WS"/.git/modules/[0-9]*
inside_module() { cloche run --workspace "$WS/deep/module" "${MARKED[@]}" "$@"; }
inside_module -- true
like "$ST,$ERR" "^0,cloche: git will find no repository.*is a submodule" "a submodule as the workspace: it is said why git does not work there"

# --- linked working trees ----------------------------------------------------------------------------------------------

rm -rf "$T/main" "$T/tree" "$T/tree2"
repository && mv "$WS" "$T/main"
"${GIT[@]}" -C "$T/main" worktree add -q "$T/tree" 2>/dev/null
"${GIT[@]}" -C "$T/main" worktree add -q "$T/tree2" 2>/dev/null
in_tree() { cloche run --workspace "$T/tree" "${MARKED[@]}" "$@"; }
sum=$(sha1sum <"$T/main/.git/config")
state "$T/main/.git/worktrees/tree2" >"$T/before"
find "$T/main/.git" "$T/tree" ! -path '*/objects/*' -printf '%P\n' | sort >"$T/names.before"
in_tree -- sh -c "${git_day//main/tree}"
is "$ST,$OUT,$(grep -v -e 'config file .*busy' -e 'Update of config-file failed' "$T/err")" "0,4"$'\n'"6," "a day of git in a linked working tree"
is "$("${GIT[@]}" -C "$T/tree" log --format=%s -1 tree),$("${GIT[@]}" -C "$T/tree" status --short)" "stashed," "the host's git reads it there too"
in_tree -- sh -c "git config a.b c; git config --worktree a.b c; cd $T/main/.git && echo x >hooks/pre-commit; echo x >config.worktree; echo x >worktrees/tree/config.worktree
	echo /tmp >worktrees/tree/commondir; rm -rf worktrees/tree2/gitdir; mv hooks h; mv worktrees w; mv worktrees/tree worktrees/t; cd ..; mv .git g; mkdir -p .git/hooks
	cd /workspace; rm -f .git; echo gitdir: /tmp >.git; git worktree prune; git worktree list | wc -l"
is "$OUT" 3 "working trees elsewhere are not taken for lost"
is "$(sha1sum <"$T/main/.git/config"),$(find "$T/main/.git" -name config.worktree -o -name locked)" "$sum," "the settings of the repository are as they were"
is "$(state "$T/main/.git/worktrees/tree2" | grep -v -e logs -e ORIG_HEAD | diff <(grep -v -e logs -e ORIG_HEAD "$T/before") -)" "" "so is another working tree"
is "$("${GIT[@]}" -C "$T/tree" rev-parse --git-common-dir)" "$T/main/.git" "and the link between the two"
in_tree -- sh -c "ls -A $T/main; ls $T"
is "$OUT" ".git"$'\n'"main"$'\n'"tree" "of the rest of the host nothing is shown"
inside_main() { cloche run --workspace "$T/main" "${MARKED[@]}" "$@"; }
inside_main -- sh -c "git worktree add -q within 2>/dev/null; cd within && git commit -q --allow-empty -m w && git log -1 --format=%s"
is "$OUT" w "a tree made inside, in a clone with others"
inside_main -- sh -c "cd within && git commit -q --allow-empty -m again && git log -1 --format=%s && git worktree remove --force ../within"
is "$OUT" again "is usable in the next session"

# A submodule of a linked working tree has its repository in there.
"${GIT[@]}" -C "$T/main" submodule --quiet add "$T/origin" module >/dev/null 2>&1
"${GIT[@]}" -C "$T/main" commit -qm module && "${GIT[@]}" -C "$T/tree" reset -q --hard main
"${GIT[@]}" -C "$T/tree" submodule --quiet update --init >/dev/null 2>&1
module=.git/worktrees/tree/modules/module
sum=$(sha1sum <"$T/main/$module/config")
for place in in_tree inside_main; do
	repository=$T/main
	[ "$place" = in_tree ] || repository=/workspace
	"$place" -- sh -c "cd $repository/$module && { echo evil >>config; echo evil >hooks/post-checkout; python3 -c 'import os; os.rename(\"../module\", \"../m\")' || echo tried; }"
	is "$OUT,$(sha1sum <"$T/main/$module/config"),$(find "$T/main/$module/hooks" -name post-checkout)" "tried,$sum," \
		"$place: a submodule of a linked working tree is protected"
done

# --- false .git files --------------------------------------------------------------------------------------------------

mkdir -p "$T/secret/.git" && "${GIT[@]}" init -q "$T/secret" && echo secret >"$T/secret/.git/marker"
"${GIT[@]}" -C "$T/secret" commit -q --allow-empty -m x && "${GIT[@]}" -C "$T/secret" worktree add -q "$T/secret-tree" 2>/dev/null
# forged NAME CONTENT: with this .git file, nothing of the other repository is shown.
forged() {
	fresh
	printf '%b' "$2" >"$WS/.git"
	[ "$#" -lt 3 ] || eval "$3"
	inside -- sh -c "find / -name marker 2>/dev/null; cat $T/secret/.git/marker; cat $T/secret/.git/config; ls $T" 2>/dev/null
	is "$OUT" "" "$1: nothing is shown"
	like "$ERR" "cloche: git will find no repository inside" "$1: which is said"
	[ "$(wc -l < <(grep '^cloche: ' "$T/err"))" = 1 ]
	ok $? "$1: in one line" "$ERR"
}
forged "the folder of a repository" "gitdir: $T/secret/.git\n"
forged "the tree of another" "gitdir: $T/secret/.git/worktrees/secret-tree\n"
forged "a relative way" "gitdir: ../secret/.git/worktrees/secret-tree\n"
forged "by a link" "gitdir: $T/link/worktrees/secret-tree\n" 'ln -sfn "$T/secret/.git" "$T/link"'
forged "the root" "gitdir: /\n"
forged "a system folder" "gitdir: /etc\n"
forged "two lines" "gitdir: $T/secret/.git/worktrees/secret-tree\ngitdir: x\n"
forged "no such thing" "gitdir: /nonexistent\n"
forged "an empty file" ""
forged "garbage" "\\0001\\0377"
forged "a large file" "gitdir: $(head -c 6000 /dev/zero | tr '\0' a)\n"
# The agent can write to a volume: a false repository there may lead back to the workspace, but not to anything else.
rm -rf "$T/vol" && mkdir -p "$T/vol/worktrees/x" "$T/vol/objects" "$T/vol/refs" && : >"$T/vol/HEAD"
echo "$WS/.git" >"$T/vol/worktrees/x/gitdir"
forged "a false tree with a foreign common directory" "gitdir: $T/vol/worktrees/x\n" 'echo "$T/secret/.git" >"$T/vol/worktrees/x/commondir"'
forged "the same by .." "gitdir: $T/vol/worktrees/x\n" 'echo "../../../secret/.git" >"$T/vol/worktrees/x/commondir"'
forged "a hard link to the file of another tree" "" 'rm "$WS/.git"; ln "$T/secret-tree/.git" "$WS/.git"'
rm -f "$T/link"
# Within the workspace there is nothing to believe.
fresh
"${GIT[@]}" init -q --bare "$WS/.bare" && echo "gitdir: ./.bare" >"$WS/.git"
state >"$T/before"
inside -- sh -c 'git -C .bare rev-parse --is-bare-repository; echo x >.bare/hooks/x; echo x >.bare/config; echo x >.git; mv .bare b; mv .git g'
is "$OUT,$(state | diff "$T/before" -)" "true," "a repository beside the files is protected"

# --- nothing stays behind ----------------------------------------------------------------------------------------------

fresh
inside -- sh -c '[ -d .claude ] && echo there'
is "$OUT" there "while a sandbox runs, names are occupied"
is "$(ls -A "$WS")" "" "when it has ended, nothing is left"
inside -- nonexistent-command
is "$ST,$(ls -A "$WS")" "127," "nor after a command that was not found"
inside -v "$T/names:/workspace/none/x" -- true
is "$ST,$(ls -A "$WS")" "125," "nor after a start that failed"
"$CLOCHE" mcp "${MARKED[@]}" "$WS" </dev/null >/dev/null 2>&1
is "$?,$(ls -A "$WS")" "0," "nor after a session"
for how in TERM KILL group; do
	begin
	supervisor=$!
	ok "$(occupied; echo $?)" "$how: names are occupied before it"
	if [ "$how" = group ]; then kill -KILL -- "-$supervisor"; else kill -"$how" "$supervisor"; fi
	wait "$supervisor" 2>/dev/null
	cleaned "$how: nothing is left after that signal to the supervisor"
done
begin
supervisor=$!
kill -KILL "$(marked cloche-init)"
wait "$supervisor" 2>/dev/null
is "$(ls -A "$WS")" "" "nothing is left after the end of init"
begin
supervisor=$!
janitor=$(marked cloche-janitor)
is "$(wc -w <<<"$janitor")" 1 "there is one janitor"
is "$(grep -h -e CapEff -e CapPrm "/proc/$janitor/status" | cut -f2 | sort -u)" 0000000000000000 "it has no capability"
if [ "$ME" = 0 ]; then
	is "$(find "/proc/$janitor/fd" -type l ! -lname 'socket:*' ! -lname 'anon_inode:*pidfd*' ! -lname "$WS*" ! -lname '*/placeholders*' -printf '%l ')" "" \
		"and no descriptor but a socket, init, the workspace and records"
else
	is "$(find "/proc/$janitor/fd" 2>/dev/null)" "/proc/$janitor/fd" "and cannot be looked into"
fi
kill -KILL "$janitor"
kill -TERM "$supervisor"
wait "$supervisor" 2>/dev/null
[ "$ME" != 0 ] || cloche gc # root's supervisor is nobody that could remove something of root's
cleaned "nothing is left when the janitor was killed"
for then in gc launch; do
	begin
	supervisor=$!
	kill -KILL "$(marked cloche-janitor)" "$supervisor"
	wait "$supervisor" 2>/dev/null
	gone "killed with its janitor, the sandbox ends"
	ok "$(occupied; echo $?)" "and leaves its stand-ins"
	if [ "$then" = gc ]; then
		cloche gc
		like "$ST,$OUT" "^0,.*removed" "cloche gc says that it removed them"
	else
		inside -- true
	fi
	is "$(ls -A "$WS")" "" "$then removes them"
done
begin
supervisor=$!
echo '{}' >"$WS/.claude/settings.json" && mkdir -p "$WS/.vscode/x"
kill -TERM "$supervisor"
wait "$supervisor" 2>/dev/null
is "$(cd "$WS" && find . -mindepth 1 | sort | tr '\n' ' ')" "./.claude ./.claude/settings.json ./.vscode ./.vscode/x " "what got content from outside stays"
fresh
mkdir "$WS/.idea"
inside -- sh -c 'mkdir .idea/x'
is "$ST,$(ls -A "$WS")" "1,.idea" "an empty folder of the caller's own is protected, and stays"

# Several on one workspace.
fresh
begin
first=$!
begin
second=$!
kill -TERM "$first"
wait "$first" 2>/dev/null
ok "$(occupied; echo $?)" "the end of one sandbox leaves the stand-ins of another"
pid=$(marked sh | head -1)
is "$(awk '$5 == "/workspace/.claude"' "/proc/$pid/mountinfo" | wc -l)" 1 "and its mounts"
begin
third=$!
kill -KILL "$second"
wait "$second" 2>/dev/null
sleep 0.3
ok "$(occupied; echo $?)" "so does a kill of the second"
kill -TERM "$third"
wait "$third" 2>/dev/null
cleaned "the last one takes them away"
gone "no process is left" 5

# Many, one after the other and at once. Where a record lies on another file system, folders are made and removed instead of moved.
fresh
runtime=$T/tmp
[ ! -w /dev/shm ] || runtime=$(mktemp -d /dev/shm/cloche-system.XXXXXX)
many() {
	local i
	for ((i = 0; i < 100; i++)); do
		XDG_RUNTIME_DIR=$runtime "$CLOCHE" run --workspace "$WS" "${MARKED[@]}" -- true </dev/null || echo "failed: $?"
	done
}
for i in 1 2 3; do many >"$T/many.$i" 2>&1 & done
wait
is "$(cat "$T"/many.?)$(ls -A "$WS")" "" "300 starts in three loops on one workspace all succeed, and leave nothing"
[ "$runtime" = "$T/tmp" ] || rm -rf "$runtime"

# A janitor that was stopped does not keep its supervisor.
fresh
begin
supervisor=$!
janitor=$(marked cloche-janitor)
kill -STOP "$janitor"
kill -TERM "$supervisor"
ended() { ! kill -0 "$supervisor" 2>/dev/null; }
until_true ended || until_true ended || until_true ended
ok $? "the supervisor ends although its janitor was stopped"
kill -KILL "$supervisor" 2>/dev/null
wait "$supervisor" 2>/dev/null
if [ "$ME" = 0 ]; then
	like "$(cat "$T/err")" "stand-ins for protected names stay in '$WS'.*kill -KILL $janitor.*cloche gc" "root is told what stays, and what to do"
	kill -KILL "$janitor"
	until_true eval "! kill -0 $janitor 2>/dev/null"
	cloche gc
fi
cleaned "and nothing is left"

# --- a full disk -------------------------------------------------------------------------------------------------------

cat >"$T/full.sh" <<'END'
mount -t tmpfs -o size=64k none "$WS" && cd "$WS" && git init -q --template= || exit 77
head -c 100000 /dev/zero >"$WS/zeros" 2>/dev/null
"$CLOCHE" run --workspace "$WS" -- true
echo "$? $(find .git -name commondir -o -name config.worktree -o -name hooks)"
rm "$WS/zeros"
"$CLOCHE" run --workspace "$WS" -- sh -c 'git status >/dev/null && echo fine'
END
fresh
private=(unshare -rm)
[ "$ME" != 0 ] || private=(unshare -m)
CLOCHE=$CLOCHE WS=$WS "${private[@]}" sh "$T/full.sh" >"$T/out" 2>"$T/err"
case $? in
0)
	is "$(cat "$T/out")" "125 "$'\n'fine "on a full disk nothing half made stays"
	like "$(cat "$T/err")" "commondir' does not exist and cannot be occupied.*No space left on device\. Free some space" "and it is said what to do"
	;;
*) skip "a full disk" "no small file system can be mounted here: $(head -1 "$T/err")" ;;
esac

# --- replaced outside, during a session --------------------------------------------------------------------------------

cat >"$T/session.py" <<'END'
import json, os, subprocess, sys

cloche, ws, *options = sys.argv[1:]
server = subprocess.Popen([cloche, "mcp", *options, ws], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
count = 0

def call(name, **arguments):
    global count
    count += 1
    request = {"jsonrpc": "2.0", "id": count, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    server.stdin.write(json.dumps(request).encode() + b"\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())["result"]

def outside(command):
    subprocess.run(["sh", "-c", command], cwd=ws, check=True)

tries = "echo x >.git/config; echo x >.mcp.json; echo x >.git/hooks/h; mv .git g; rm -f .mcp.json; mkdir .claude/x; git config a.b evil; echo done"
call("run_bash", command=tries)
outside("git config a.b host; echo '{\"host\": 1}' >new && mv new .mcp.json")
call("run_bash", command=tries)
outside("mv .git old; cp -r old .git; mkdir new; mv .claude gone; mv new .claude; rm .mcp.json; ln -s target .mcp.json; echo '{}' >target")
call("run_bash", command=tries)
failed = [call("write_file", filepath=name, content="{}", create_only=False)["isError"] for name in (".git/config", ".git/hooks/x")]
git = call("run_bash", command="git add one && git commit -qm more --allow-empty && git log -1 --format=%s")["content"][0]["text"]
server.stdin.close()
server.wait()
print(failed, git.split()[-1], subprocess.run(["git", "config", "a.b"], cwd=ws, capture_output=True, text=True).stdout.strip(),
      os.listdir(ws + "/.claude"), os.path.exists(ws + "/.git/hooks/h"), os.readlink(ws + "/.mcp.json"))
END
repository
echo '{}' >"$WS/.mcp.json"
is "$(GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' python3 "$T/session.py" "$CLOCHE" "$WS" "${MARKED[@]}" 2>&1)" \
	"[True, True] more host [] False target" "what is replaced outside is protected again before the next command"
[ -e "$WS/.mcp.json" ] && rm -f "$WS/.mcp.json"

# --- started by root ---------------------------------------------------------------------------------------------------

if [ "$ME" = 0 ]; then
	for owner in 0:0 12345:12346; do
		fresh
		chown "$owner" "$WS"
		begin
		janitor=$(marked cloche-janitor)
		is "$(awk '$1 == "Uid:" { print $2, $3, $4 }' "/proc/$janitor/status"),$(awk '$1 == "Groups:" { print $2 }' "/proc/$janitor/status")" \
			"${owner%:*} ${owner%:*} ${owner%:*}," "the janitor is the owner $owner, and in no other group"
		is "$(stat -c %u:%g "$WS/.claude")" "$owner" "so are the stand-ins"
		kill -KILL $!
		wait $! 2>/dev/null
		cleaned "and they are removed"
	done
	fresh
else
	skip "the identity of root's janitor" "not root"
fi
if [ "$ME" != 0 ]; then
	fresh
	chmod 555 "$WS"
	inside -- true
	one_sentence 125 "cannot be occupied.*Permission denied" "a workspace that its owner cannot write to is refused"
	chmod 755 "$WS"
	inside() { cloche run --workspace /usr/share/doc "${MARKED[@]}" "$@"; }
	inside -- true
	is "$ST,$ERR" 0, "one that others own and nobody can write to is not"
fi
gone "nothing is left"
finish
