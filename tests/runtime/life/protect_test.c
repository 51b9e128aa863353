/*
 * What of a workspace is protected, in scratch folders of many shapes; where the repository is that a .git file names; and the
 * stand-ins with their records. Each test works in a folder of its own.
 */
#include "runtime/life/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/buf.h"
#include "runtime/base/fd.h"
#include "runtime/life/gitdir.h"
#include "runtime/life/placeholder.h"
#include "runtime/life/protect_walk.h"
#include "runtime/life/workspace.h"
#include "tests/harness/unit.h"

static char scratch[64];
static int scratch_fd = -EBADF;

static void set_up(void)
{
	(void) snprintf(scratch, sizeof(scratch), "/tmp/cloche-protect-test.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(scratch));
	scratch_fd = open(scratch, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(scratch_fd, 0);
}

static void tear_down(void)
{
	_cleanup_buf_ struct buf command = BUF_INIT(256);

	scratch_fd = fd_close(scratch_fd);
	buf_addf(&command, "chmod -R u+rwX %s; rm -rf %s", scratch, scratch);
	ck_assert_int_eq(system(buf_cstr(&command)), 0);
}

/* Makes "name/" a folder, "name>target" a link, "name=text" a file with a line of text; with the folders that lead there. */
static void make(const char *what)
{
	char path[512] = "";
	size_t len = strcspn(what, ">=");

	ck_assert_uint_lt(len, sizeof(path));
	memcpy(path, what, len);
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert_msg(mkdirat(scratch_fd, path, 0755) == 0 || errno == EEXIST, "%s: %m", path);
		*slash = '/';
	}
	if (what[len] == '>') {
		ck_assert_msg(symlinkat(what + len + 1, scratch_fd, path) == 0, "%s: %m", what);
	} else if (what[len] == '=') {
		_cleanup_fd_ int fd = openat(scratch_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		ck_assert_msg(fd >= 0 && dprintf(fd, "%s%s", what + len + 1, what[len + 1] ? "\n" : "") >= 0, "%s: %m", what);
	}
}

static bool exists(const char *path)
{
	struct stat st;

	return fstatat(scratch_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Each item as a word: its path inside, with "+" behind it when something has to be there and is not, "?" when it may be a stand-in. */
static const char *words(const struct protect *p)
{
	static struct buf text = BUF_INIT(65536);

	buf_clear(&text);
	for (size_t i = 0; i < p->count; i++) {
		const struct protect_item *item = &p->items[i];
		buf_addf(&text, "%s%s/%s%s", text.len ? " " : "", p->roots[item->root].inside + strlen("workspace"), item->path,
			 !item->occupy ? "" : item->is_taken ? "?" : "+");
	}
	ck_assert_int_eq(buf_error(&text), 0);
	return buf_cstr(&text);
}

static struct protect *look(const struct spec *spec)
{
	static struct protect p;
	struct err err = { .text = "" };

	memset(&p, 0, sizeof(p));
	protect_init(&p, spec);
	int r = protect_workspace(&p, scratch_fd, scratch, &err);
	ck_assert_msg(r == 0, "%s", err.text);
	return &p;
}

#define OTHERS                                                                                                          \
	" /.claude+ /.cursor+ /.codex+ /.gemini+ /.roo+ /.cline+ /.mcp.json+ /.vscode+ /.zed+ /.windsurf+ /.kiro+ /.idea+ /.envrc+ " \
	"/.devcontainer+ /.devcontainer.json+ " \
	"/.github+ /.husky+ /.cloche.json+"
#define GIT_MISSING "/.git/hooks+ /.git/config+ /.git/config.worktree+ /.git/commondir+"

/* What is there, separated by blanks, and what of it is protected. */
START_TEST(test_shapes)
{
	static const struct {
		const char *made, *found;
	} cases[] = {
		{ "x/", "/.git+" OTHERS },
		{ ".git/HEAD=x", GIT_MISSING OTHERS },
		{ ".git/hooks/h=x .git/config=x", "/.git/hooks /.git/config /.git/config.worktree+ /.git/commondir+" OTHERS },
		/* An empty folder may be a stand-in for all in it; empty files and "." in a repository for themselves. */
		{ ".git/", "/.git?" OTHERS },
		{ ".git/HEAD=x .git/hooks/ .git/config= .git/config.worktree= .git/commondir=.",
		  "/.git/hooks? /.git/config? /.git/config.worktree? /.git/commondir?" OTHERS },
		{ ".git/HEAD=x .git/commondir=../x", "/.git/hooks+ /.git/config+ /.git/config.worktree+ /.git/commondir" OTHERS },
		/* .git as a file: nothing can be below it. */
		{ ".git=gitdir: x", "/.git" OTHERS },
		/* Links: themselves, and what they lead to within the workspace, there or not. */
		{ ".git>real real/HEAD=x", "/.git /real/hooks+ /real/config+ /real/config.worktree+ /real/commondir+" OTHERS },
		{ ".git>/tmp", "/.git" OTHERS },
		{ ".git>../x", "/.git" OTHERS },
		{ ".git>.git", "/.git" OTHERS },
		{ ".github>ci ci/x=", "/.git+ /.claude+ /.cursor+ /.codex+ /.gemini+ /.roo+ /.cline+ /.mcp.json+ /.vscode+ /.zed+ /.windsurf+ /.kiro+ /.idea+"
				      " /.envrc+ /.devcontainer+ /.devcontainer.json+ /.github /ci/workflows+ /.husky+ /.cloche.json+" },
		/* What is left by ".." has to be what it is, there or not. */
		{ ".git>a/../b a/x=", "/.git /a /b+" OTHERS },
		{ ".git>a/../b a/", "/.git /a? /b+" OTHERS },
		{ ".git>a/../b", "/.git /a+ /b+" OTHERS },
		{ ".git>a/./x//y/../../../b b/x=", "/.git /a+ /b/hooks+ /b/config+ /b/config.worktree+ /b/commondir+" OTHERS },
		{ ".git>a/../../b", "/.git /a+" OTHERS },
		{ ".git>a/x/../y", "/.git /a+" OTHERS },
		{ ".git>a/..", "/.git /a+ /hooks+ /config+ /config.worktree+ /commondir+" OTHERS },
		{ ".git>a/b/../../c a/x=", "/.git /a/b+ /c+" OTHERS },
		{ ".git>a/b/.. a/x=", "/.git /a/b+ /a/hooks+ /a/config+ /a/config.worktree+ /a/commondir+" OTHERS },
		{ ".git/HEAD=x .git/hooks>../scripts scripts/x=", "/.git/hooks /scripts /.git/config+ /.git/config.worktree+ /.git/commondir+" OTHERS },
		{ ".git/HEAD=x .git/hooks>../scripts/none scripts/x=",
		  "/.git/hooks /scripts/none+ /.git/config+ /.git/config.worktree+ /.git/commondir+" OTHERS },
		/* Submodules, also nested and with slashes in their names; a link there is none. */
		{ ".git/HEAD=x .git/modules/a/b/HEAD=x .git/modules/a/b/modules/c/HEAD=x .git/modules/l>/tmp",
		  GIT_MISSING " /.git/modules/a/b/hooks+ /.git/modules/a/b/config+ /.git/modules/a/b/config.worktree+ /.git/modules/a/b/commondir+"
			      " /.git/modules/a/b/modules/c/hooks+ /.git/modules/a/b/modules/c/config+ /.git/modules/a/b/modules/c/config.worktree+"
			      " /.git/modules/a/b/modules/c/commondir+" OTHERS },
		/* Only where it is there. */
		{ ".githooks/x=", "/.git+ /.claude+ /.cursor+ /.codex+ /.gemini+ /.roo+ /.cline+ /.mcp.json+ /.vscode+ /.zed+ /.windsurf+ /.kiro+ /.idea+"
				  " /.envrc+ /.devcontainer+ /.devcontainer.json+ /.github+ /.husky+ /.githooks /.cloche.json+" },
		/* Each mark of a repository counts: an agent may take others away for a while. Names may begin with a dot. */
		{ ".git/HEAD=x .git/modules/.v/config=x", GIT_MISSING " /.git/modules/.v/hooks+ /.git/modules/.v/config /.git/modules/.v/config.worktree+"
							  " /.git/modules/.v/commondir+" OTHERS },
		{ ".git/HEAD=x .git/modules/a/hooks/x=", GIT_MISSING " /.git/modules/a/hooks /.git/modules/a/config+"
							 " /.git/modules/a/config.worktree+ /.git/modules/a/commondir+" OTHERS },
		{ ".git/HEAD=x .git/modules/a/objects/aa/", GIT_MISSING " /.git/modules/a/hooks+ /.git/modules/a/config+"
							    " /.git/modules/a/config.worktree+ /.git/modules/a/commondir+" OTHERS },
		/* A false repository around a true one, also by a name of git's own. */
		{ ".git/HEAD=x .git/modules/a/HEAD=x .git/modules/a/refs/heads/ .git/modules/a/info/config=y .git/modules/a/b/config=y",
		  GIT_MISSING " /.git/modules/a/hooks+ /.git/modules/a/config+ /.git/modules/a/config.worktree+ /.git/modules/a/commondir+"
			      " /.git/modules/a/info/hooks+ /.git/modules/a/info/config /.git/modules/a/info/config.worktree+ /.git/modules/a/info/commondir+"
			      " /.git/modules/a/b/hooks+ /.git/modules/a/b/config /.git/modules/a/b/config.worktree+ /.git/modules/a/b/commondir+"
			      OTHERS },
		/* Submodules of linked working trees, and linked working trees of submodules. */
		{ ".git/HEAD=x .git/worktrees/t/gitdir=/workspace/t .git/worktrees/t/modules/s/config=x",
		  GIT_MISSING " /.git/worktrees/t/gitdir /.git/worktrees/t/config.worktree+ /.git/worktrees/t/modules/s/hooks+"
			      " /.git/worktrees/t/modules/s/config /.git/worktrees/t/modules/s/config.worktree+ /.git/worktrees/t/modules/s/commondir+"
			      OTHERS },
		{ ".git/HEAD=x .git/modules/s/config=x .git/modules/s/worktrees/t/gitdir=/workspace/t",
		  GIT_MISSING " /.git/modules/s/hooks+ /.git/modules/s/config /.git/modules/s/config.worktree+ /.git/modules/s/commondir+"
			      " /.git/modules/s/worktrees/t/gitdir /.git/modules/s/worktrees/t/config.worktree+" OTHERS },
		/* Linked working trees: one elsewhere is locked, one within is not. */
		{ ".git/HEAD=x .git/worktrees/t/gitdir=/else/.git .git/worktrees/u/gitdir=/workspace/u/.git",
		  GIT_MISSING " /.git/worktrees/t/gitdir /.git/worktrees/t/config.worktree+ /.git/worktrees/t/locked+"
			      " /.git/worktrees/u/gitdir /.git/worktrees/u/config.worktree+" OTHERS },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char made[512];
		struct spec spec;

		set_up();
		(void) snprintf(made, sizeof(made), "%s", cases[i].made);
		for (char *rest = made, *word; (word = strsep(&rest, " "));)
			make(strncmp(word, ".git=", 5) == 0 ? ".git=gitdir: x" : word);
		spec_init(&spec);
		struct protect *p = look(&spec);
		/* Folders are visited in the order of the file system. */
		if (!strstr(cases[i].found, "worktrees") && !strstr(cases[i].found, "/b/hooks"))
			ck_assert_msg(strcmp(words(p), cases[i].found) == 0, "%s:\n%s\nwanted\n%s", cases[i].made, words(p), cases[i].found);
		ck_assert_msg(strlen(words(p)) == strlen(cases[i].found), "%s:\n%s\nwanted\n%s", cases[i].made, words(p), cases[i].found);
		ck_assert_uint_eq(p->warnings.len, 0);
		protect_done(p);
		tear_down();
	}
}
END_TEST

START_TEST(test_options)
{
	struct spec spec;

	set_up();
	make(".git/HEAD=x");
	make("Makefile=x");
	spec_init(&spec);
	spec.unprotect[spec.unprotect_count++] = ".git/config";
	spec.unprotect[spec.unprotect_count++] = ".git/modules";
	spec.protect[spec.protect_count++] = "Makefile";
	spec.protect[spec.protect_count++] = "ci/scripts";
	spec.protect[spec.protect_count++] = "ci/other";
	spec.protect[spec.protect_count++] = ".git/hooks/x";
	struct protect *p = look(&spec);
	ck_assert_str_eq(words(p), "/.git/hooks+ /.git/config.worktree+ /.git/commondir+" OTHERS " /Makefile /ci+");
	protect_done(p);
	/* A way through a link protects neither the link's other contents nor anything twice. */
	make("l>ci");
	make("ci/x=");
	spec.protect_count = 0;
	spec.protect[spec.protect_count++] = "l/x";
	spec.protect[spec.protect_count++] = "l/y";
	spec.protect[spec.protect_count++] = "l";
	p = look(&spec);
	ck_assert_ptr_nonnull(strstr(words(p), "/.cloche.json+ /l /ci/x /ci/y+ /ci"));
	protect_done(p);
	spec.protect_count = 0;
	spec.protect[spec.protect_count++] = ".git/hooks/x";
	spec.unprotect[spec.unprotect_count++] = ".git";
	p = look(&spec);
	ck_assert_str_eq(words(p), &(OTHERS " /.git/hooks+")[1]);
	protect_done(p);
	tear_down();
}
END_TEST

START_TEST(test_unusual)
{
	struct spec spec;
	char name[64];

	set_up();
	make(".envrc=x");
	ck_assert_int_eq(linkat(scratch_fd, ".envrc", scratch_fd, "other", 0), 0);
	make(".git/HEAD=x");
	for (int i = 0; i < 600; i++) {
		(void) snprintf(name, sizeof(name), ".git/modules/%d/", i);
		make(name);
	}
	spec_init(&spec);
	struct protect *p = look(&spec);
	ck_assert_ptr_nonnull(strstr(p->warnings.p, "/.envrc' has 2 names"));
	ck_assert_ptr_nonnull(strstr(p->warnings.p, "/modules' cannot be gone through"));
	ck_assert_ptr_nonnull(strstr(words(p), " /.git/modules "));
	protect_done(p);
	tear_down();
	set_up();
	/* More repositories than can be protected one by one; what a link in there leads to is protected too. A name fakes no line. */
	make(".git/HEAD=x");
	make(".git/modules/hooked/config=x");
	make(".git/modules/hooked/hooks>../../../scripts");
	make("scripts/x=");
	for (int i = 0; i < 300; i++) {
		(void) snprintf(name, sizeof(name), ".git/modules/%d/HEAD=x", i);
		make(name);
	}
	make(".git/worktrees/a\ncloche: b\x1b[2J/gitdir=x");
	ck_assert_int_eq(linkat(scratch_fd, ".git/worktrees/a\ncloche: b\x1b[2J/gitdir", scratch_fd, "other", 0), 0);
	p = look(&spec);
	ck_assert_ptr_nonnull(strstr(p->warnings.p, "/modules' cannot be gone through"));
	ck_assert_ptr_nonnull(strstr(p->warnings.p, "/a?cloche: b?[2J/gitdir' has 2 names"));
	ck_assert_ptr_eq(strchr(strchr(p->warnings.p, '\n') + 1, '\n'), p->warnings.p + p->warnings.len - 1);
	ck_assert_ptr_nonnull(strstr(words(p), " /.git/modules /scripts /.git/worktrees/a"));
	ck_assert_ptr_nonnull(strstr(words(p), OTHERS));
	ck_assert_uint_lt(p->count, 40);
	protect_done(p);
	/* A chain as long as the kernel follows it, and one that is longer. */
	for (int i = 0; i < 40; i++) {
		(void) snprintf(name, sizeof(name), "l%d>l%d", i, i + 1);
		make(name);
	}
	spec.unprotect_all = true;
	spec.protect[spec.protect_count++] = "l0";
	p = look(&spec);
	ck_assert_ptr_nonnull(strstr(words(p), "/l39 /l40+"));
	protect_done(p);
	make("l40>l41");
	p = look(&spec);
	ck_assert_ptr_nonnull(strstr(words(p), "/l39 /l40"));
	ck_assert_ptr_null(strstr(words(p), "/l41"));
	protect_done(p);
	spec_init(&spec);
	if (geteuid() != 0) {
		/* A folder that its owner has closed can be opened by him again. */
		ck_assert_int_eq(fchmodat(scratch_fd, ".git", 0, 0), 0);
		p = look(&spec);
		ck_assert_int_eq(strncmp(words(p), "/.git /.claude+", 15), 0);
		protect_done(p);
	}
	tear_down();
}
END_TEST

static enum gitdir_kind find(const char *workspace, struct gitdir *git)
{
	char path[SPEC_PATH_MAX];
	struct stat st;
	_cleanup_fd_ int fd = openat(scratch_fd, workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_int_eq(workspace_path_of(fd, path), 0);
	gitdir_find(fd, path, st.st_uid, git);
	ck_assert(!git->why == (git->kind != GITDIR_UNPROVEN));
	ck_assert((git->fd >= 0) == (git->kind == GITDIR_WITHIN || git->kind == GITDIR_LINKED));
	git->fd = fd_close(git->fd);
	return git->kind;
}

/* Writes "name=text" with the scratch folder in the place of "@". */
static void write_line(const char *what)
{
	_cleanup_buf_ struct buf text = BUF_INIT(512);
	size_t len = strcspn(what, "@");

	buf_add(&text, what, len);
	if (what[len])
		buf_addf(&text, "%s%s", scratch, what + len + 1);
	ck_assert_int_eq(buf_error(&text), 0);
	make(buf_cstr(&text));
}

START_TEST(test_gitdir)
{
	static const char *const changes[] = {
		/* each breaks the proof that the lines of a true linked tree give */
		"tree/.git=gitdir: @/main/.git", "tree/.git=gitdir: @/main/.git/worktrees/other", "tree/.git=gitdir: /", "tree/.git=gitdir: x",
		"tree/.git=@/main/.git/worktrees/tree", "tree/.git=", "main/.git/worktrees/tree/gitdir=@/other/.git",
		"main/.git/worktrees/tree/gitdir=", "main/.git/worktrees/tree/commondir=..", "main/.git/worktrees/tree/commondir=@/other",
		"main/.git/worktrees/tree/commondir=", "main/.git/worktrees/tree/gitdir=../../../../tree/.git/x",
	};
	struct gitdir git;
	char wanted[256];

	for (size_t i = 0; i <= ARRAY_LEN(changes); i++) {
		set_up();
		make("main/.git/HEAD=x");
		make("main/.git/objects/");
		make("main/.git/refs/");
		make("other/HEAD=x");
		make("main/.git/worktrees/tree/commondir=../..");
		write_line("main/.git/worktrees/tree/gitdir=@/tree/.git");
		ck_assert_int_eq(find("main", &git), GITDIR_NONE);
		write_line("tree/.git=gitdir: @/main/.git/worktrees/tree");
		ck_assert_msg(find("tree", &git) == GITDIR_LINKED, "%s", git.why);
		(void) snprintf(wanted, sizeof(wanted), "%s/main/.git", scratch);
		ck_assert_str_eq(git.host, wanted);
		make("tree/.git=gitdir: ../main/.git/worktrees/tree"); /* as git 2.48 and later can write it */
		make("main/.git/worktrees/tree/gitdir=../../../../tree/.git");
		ck_assert_msg(find("tree", &git) == GITDIR_LINKED, "%s", git.why);
		make("tree/.git=gitdir: ./.bare");
		make("tree/.bare/HEAD=x");
		ck_assert_int_eq(find("tree", &git), GITDIR_WITHIN);
		(void) snprintf(wanted, sizeof(wanted), "%s/tree/.bare", scratch);
		ck_assert_str_eq(git.host, wanted);
		if (i < ARRAY_LEN(changes)) {
			write_line("tree/.git=gitdir: @/main/.git/worktrees/tree");
			write_line(changes[i]);
			ck_assert_msg(find("tree", &git) == GITDIR_UNPROVEN, "%s", changes[i]);
		}
		tear_down();
	}
}
END_TEST

static struct placeholder_folder folder_here(const char *path)
{
	static char host[128];

	(void) snprintf(host, sizeof(host), "%s%s%s", scratch, path[0] == '.' ? "" : "/", path[0] == '.' ? "" : path);
	struct placeholder_folder folder = { .host = host, .record = -EBADF, .fd = openat(scratch_fd, path, O_PATH | O_CLOEXEC) };
	struct stat st;

	ck_assert_int_eq(fstat(folder.fd, &st), 0);
	folder.device = st.st_dev;
	folder.inode = st.st_ino;
	return folder;
}

static void join(struct placeholder_folder *folder, int state_fd, struct placeholder *wanted, size_t count)
{
	size_t failed = 99;

	*folder = folder_here(".");
	ck_assert_int_eq(placeholder_join(folder, state_fd), 0);
	ck_assert_int_eq(placeholder_make(folder, 0, wanted, count, &failed), 0);
	ck_assert_uint_eq(failed, 99);
}

static void leave(struct placeholder_folder *folder, int state_fd, const struct placeholder *made, size_t count)
{
	struct placeholder_trash trash = { .count = 0 };

	placeholder_leave(folder, 0, state_fd, made, count, &trash);
	placeholder_discard(&trash);
	folder->fd = fd_close(folder->fd);
}

/* Two sandboxes on one folder, with a record and without: the last one removes what is still as it was made. */
START_TEST(test_stand_ins)
{
	for (int with_record = 1; with_record >= 0; with_record--) {
		struct placeholder a[] = { { .path = "d" }, { .path = "sub/f", .stand_in = PROTECTED_FILE }, { .path = "here", .stand_in = PROTECTED_HERE },
					   { .path = "mine", .was_there = true }, { .path = "filled" }, { .path = "elsewhere", .folder = 1 } };
		struct placeholder b[] = { { .path = "d", .was_there = true }, { .path = "more" } };
		struct placeholder_folder first, second;

		set_up();
		make("sub/");
		make("state/");
		make("mine/");
		int state_fd = with_record ? openat(scratch_fd, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -EBADF;
		join(&first, state_fd, a, ARRAY_LEN(a));
		ck_assert(exists("d") && exists("sub/f") && exists("here") && exists("filled") && !exists("elsewhere"));
		ck_assert(a[0].inode && a[1].inode && a[2].inode && !a[3].inode);
		if (with_record) {
			join(&second, state_fd, b, ARRAY_LEN(b));
			ck_assert(!b[0].inode && b[1].inode);
			ck_assert_int_eq(placeholder_sweep(state_fd, false), 0);
			leave(&second, state_fd, b, ARRAY_LEN(b));
			ck_assert(exists("d") && exists("more"));
		}
		make("filled/x=y");
		leave(&first, state_fd, a, ARRAY_LEN(a));
		ck_assert(!exists("d") && !exists("sub/f") && !exists("here") && !exists("more") && exists("mine") && exists("filled/x"));
		if (with_record)
			ck_assert_int_eq(placeholder_sweep(state_fd, false), 0);
		(void) fd_close(state_fd);
		tear_down();
	}
}
END_TEST

/* What another sandbox removes while it is looked at is a stand-in of that, and has to be made again. */
START_TEST(test_in_flux)
{
	struct stat st;

	set_up();
	make("d/");
	make("full/x=");
	make("here=.");
	_cleanup_fd_ int empty = openat(scratch_fd, "d", O_PATH | O_CLOEXEC), full = openat(scratch_fd, "full", O_PATH | O_CLOEXEC);
	ck_assert_int_eq(fstat(full, &st), 0);
	ck_assert(!protect_is_empty_folder(full, &st));
	ck_assert_int_eq(fstat(empty, &st), 0);
	ck_assert(protect_is_empty_folder(empty, &st));
	ck_assert_int_eq(unlinkat(scratch_fd, "d", AT_REMOVEDIR), 0);
	ck_assert(protect_is_empty_folder(empty, &st));
	ck_assert_int_eq(fstat(empty, &st), 0);
	ck_assert(protect_is_empty_folder(empty, &st));
	ck_assert_int_eq(fstatat(scratch_fd, "here", &st, 0), 0);
	ck_assert(placeholder_is_untouched(scratch_fd, "here", &st, PROTECTED_HERE));
	ck_assert(!placeholder_is_untouched(scratch_fd, "here", &st, PROTECTED_FILE));
	ck_assert_int_eq(unlinkat(scratch_fd, "here", 0), 0);
	ck_assert(placeholder_is_untouched(scratch_fd, "here", &st, PROTECTED_HERE));
	tear_down();
}
END_TEST

/* What the dead leave is swept, by whoever comes first; what is no longer what they made is left alone. */
START_TEST(test_sweep)
{
	for (int by_launch = 0; by_launch < 2; by_launch++) {
		struct placeholder made[] = { { .path = "a" }, { .path = "b" }, { .path = "f", .stand_in = PROTECTED_FILE } }, none[1] = { { .folder = 1 } };
		struct placeholder_folder dead, next;

		set_up();
		make("state/");
		int state_fd = openat(scratch_fd, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		join(&dead, state_fd, made, ARRAY_LEN(made));
		dead.record = fd_close(dead.record); /* as the kernel does it */
		dead.fd = fd_close(dead.fd);
		make("b/x=y");
		make("f=z");
		make("state/0-0=junk");
		if (by_launch) {
			join(&next, state_fd, none, 1);
			ck_assert(!exists("a") && exists("b") && exists("f"));
			leave(&next, state_fd, none, 1);
		} else {
			ck_assert_int_eq(placeholder_sweep(state_fd, true), 2);
			ck_assert(exists("a"));
			ck_assert_int_eq(placeholder_sweep(state_fd, false), 2);
		}
		ck_assert(!exists("a") && exists("b") && exists("f"));
		(void) fd_close(state_fd);
		tear_down();
	}
}
END_TEST

/* A record that was cut off anywhere, or says anything, leads to nothing outside of the folder and to no crash. */
START_TEST(test_broken_records)
{
	struct placeholder made[] = { { .path = "a" }, { .path = "b" } }, evil[] = { { .path = "../evil" }, { .path = "/tmp" } };
	struct placeholder_folder folder;
	char bytes[4096], name[64];
	size_t failed;

	set_up();
	make("state/");
	make("ws/");
	int state_fd = openat(scratch_fd, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	folder = folder_here("ws");
	ck_assert_int_eq(placeholder_join(&folder, state_fd), 0);
	ck_assert_int_eq(placeholder_make(&folder, 0, evil, ARRAY_LEN(evil), &failed), -ESTALE);
	ck_assert(!exists("evil"));
	ck_assert_int_eq(placeholder_make(&folder, 0, made, ARRAY_LEN(made), &failed), 0);
	ssize_t len = pread(folder.record, bytes, sizeof(bytes), 0);
	ck_assert_int_gt(len, 32);
	(void) snprintf(name, sizeof(name), "%jx-%jx", (uintmax_t) folder.device, (uintmax_t) folder.inode);
	folder.record = fd_close(folder.record);
	for (ssize_t cut = 0; cut <= len; cut++) {
		int fd = openat(state_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		ck_assert(write(fd, bytes, (size_t) cut) == cut);
		(void) fd_close(fd);
		ck_assert_int_eq(placeholder_sweep(state_fd, false), 1);
	}
	ck_assert(!exists("ws/a") && !exists("ws/b") && exists("ws"));
	for (ssize_t at = 0; at < len; at++) {
		int fd = openat(state_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		bytes[at] ^= (char) 0x81;
		ck_assert(write(fd, bytes, (size_t) len) == len);
		bytes[at] ^= (char) 0x81;
		(void) fd_close(fd);
		ck_assert_int_eq(placeholder_sweep(state_fd, false), 1);
	}
	ck_assert(exists("ws") && exists("state"));
	(void) fd_close(state_fd);
	folder.fd = fd_close(folder.fd);
	tear_down();
}
END_TEST

/* Empty folders are moved to and fro; one that somebody used or changed is not. */
START_TEST(test_spares)
{
	struct spare s;
	struct stat st;

	set_up();
	make("state/");
	make("full/x=y");
	make("odd/");
	make("taken/");
	make("new/");
	ck_assert_int_eq(fchmodat(scratch_fd, "odd", 0700, 0), 0);
	ck_assert_int_eq(fstatat(scratch_fd, "new", &st, 0), 0);
	int state_fd = openat(scratch_fd, "state", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	spare_open(&s, state_fd);
	ck_assert_uint_eq(spare_take(&s, st.st_dev, scratch_fd, "none"), 0);
	static const char *const names[] = { "full", "odd", "new" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_fd_ int fd = openat(scratch_fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ck_assert(spare_give(&s, fd, scratch_fd, names[i]) == (i == 2));
		ck_assert(exists(names[i]) == (i != 2));
	}
	spare_close(&s);
	spare_open(&s, state_fd);
	ck_assert_uint_eq(s.count, 1);
	ck_assert_uint_eq(spare_take(&s, st.st_dev + 1, scratch_fd, "other"), 0);
	ck_assert_uint_eq(spare_take(&s, st.st_dev, scratch_fd, "taken"), 0);
	spare_close(&s);
	spare_open(&s, state_fd);
	ck_assert_uint_eq(spare_take(&s, st.st_dev, scratch_fd, "again"), st.st_ino);
	ck_assert(exists("again"));
	_cleanup_fd_ int fd = openat(scratch_fd, "again", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert(spare_give(&s, fd, scratch_fd, "again"));
	/* Something got into it all the same: it is no spare any more, and nobody takes it away. */
	ck_assert_int_eq(mkdirat(fd, "late", 0755), 0);
	ck_assert_uint_eq(spare_take(&s, st.st_dev, scratch_fd, "again"), 0);
	spare_clear(state_fd);
	ck_assert_int_eq(fstatat(fd, "late", &st, 0), 0);
	spare_close(&s);
	(void) fd_close(state_fd);
	tear_down();
}
END_TEST

UNIT_MAIN("runtime/life/protect", test_shapes, test_options, test_unusual, test_gitdir, test_stand_ins, test_in_flux, test_sweep, test_broken_records,
	  test_spares)
