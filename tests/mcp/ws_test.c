/*
 * Resolving paths: what stays in the workspace is found, nothing else is, whatever others do meanwhile.
 */
#include "mcp/ws.h"

#include "tests/mcp/double.h"

/* Opens @path and compares what is read with @text; NULL means it must be refused. */
static void expect(const char *path, const char *text, const char *why)
{
	char content[64] = "";
	struct stat st;

	double_reset();
	_cleanup_fd_ int fd = ws_open_file(&d.call, path, &st);
	if (!text) {
		ck_assert_msg(fd < 0, "'%s' was opened", path);
		ck_assert_failed(buf_cstr(&d.call.text), why);
		return;
	}
	ck_assert_msg(fd >= 0, "'%s': %s", path, buf_cstr(&d.call.text));
	ck_assert_int_ge(read(fd, content, sizeof(content) - 1), 0);
	ck_assert_str_eq(content, text);
	ck_assert(!d.call.is_error);
}

START_TEST(test_paths)
{
	double_setup();
	char sibling[80], long_path[WS_PATH_MAX + 10], long_name[300];

	ck_assert_int_eq(mkdir("dir", 0755), 0);
	double_put_str("a.txt", "A");
	double_put_str("dir/b.txt", "B");
	(void) snprintf(sibling, sizeof(sibling), "%s-evil", d.dir);
	ck_assert_int_eq(mkdir(sibling, 0755), 0);

	expect("a.txt", "A", NULL);
	expect("./a.txt", "A", NULL);
	expect("dir//b.txt", "B", NULL);
	expect("dir/../a.txt", "A", NULL);
	expect("/workspace/a.txt", "A", NULL);
	expect("/workspace//dir/b.txt", "B", NULL);
	expect("a.txt/", NULL, "not found");
	expect("nothing", NULL, "File 'nothing' not found");
	expect("a.txt/x", NULL, "not found");
	expect("", NULL, "is a directory");
	expect("dir", NULL, "is a directory");
	expect("/workspace", NULL, "is a directory");

	static const char outside[] = "outside the workspace boundary";
	expect("../x", NULL, outside);
	expect("../../etc/passwd", NULL, outside);
	expect("dir/../../etc/passwd", NULL, outside);
	expect("/etc/passwd", NULL, outside);
	expect("/", NULL, outside);
	expect("/workspace-evil/x", NULL, outside);
	expect("/workspacex", NULL, outside);
	expect("/workspace/../etc/passwd", NULL, outside);
	expect("/proc/self/root/etc/passwd", NULL, outside);
	expect(sibling, NULL, outside);

	memset(long_path, 'a', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	expect(long_path, NULL, "4095");
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	expect(long_name, NULL, "255 bytes");
	expect("line\nbreak\x01", NULL, "'line?break?' not found");

	expect("dir/d.txt", NULL, "Did you mean 'dir/b.txt'?");
	memset(long_name, 'n', WS_SHOWN_MAX); /* a name that a message would cut is not proposed */
	(void) snprintf(long_name + WS_SHOWN_MAX, sizeof(long_name) - WS_SHOWN_MAX, "/file");
	long_name[WS_SHOWN_MAX] = '\0';
	ck_assert_int_eq(mkdir(long_name, 0755), 0);
	long_name[WS_SHOWN_MAX] = '/';
	double_put_str(long_name, "");
	long_name[strlen(long_name) - 1] = 'x';
	expect(long_name, NULL, "not found. Use list_directory");
	ck_assert_int_eq(rmdir(sibling), 0);
	double_teardown();
}
END_TEST

START_TEST(test_links)
{
	double_setup();
	ck_assert_int_eq(mkdir("dir", 0755), 0);
	ck_assert_int_eq(mkdir("dir/sub", 0755), 0);
	double_put_str("dir/b.txt", "B");
	static const struct {
		const char *target, *name;
	} links[] = {
		{ "dir/b.txt", "in" },
		{ "/workspace/dir/b.txt", "absolute-in" },
		{ "absolute-in", "chain" },
		{ "/workspace/dir", "absolute-dir" },
		{ "../../dir/b.txt", "dir/sub/up" },
		{ "/etc/passwd", "out" },
		{ "../../../../../../etc/passwd", "relative-out" },
		{ "/", "root" },
		{ "/workspace/../etc", "sneaky" },
		{ "/proc/self/cwd", "magic" },
		{ "loop-b", "loop-a" },
		{ "loop-a", "loop-b" },
		{ "/workspace/loop-c", "loop-c" },
		{ "nowhere", "dangling" },
	};
	for (size_t i = 0; i < ARRAY_LEN(links); i++)
		ck_assert_int_eq(symlink(links[i].target, links[i].name), 0);

	expect("in", "B", NULL);
	expect("absolute-in", "B", NULL);
	expect("chain", "B", NULL);
	expect("absolute-dir/b.txt", "B", NULL);
	expect("absolute-dir/sub/../b.txt", "B", NULL);
	expect("dir/sub/up", "B", NULL);
	static const char outside[] = "outside the workspace boundary";
	expect("out", NULL, outside);
	expect("relative-out", NULL, outside);
	expect("root/etc/passwd", NULL, outside);
	expect("sneaky/passwd", NULL, outside);
	expect("magic/x", NULL, outside);
	expect("loop-a", NULL, "circle");
	expect("loop-c", NULL, "circle");
	expect("dangling", NULL, "not found");
	double_teardown();
}
END_TEST

START_TEST(test_special_files_never_block)
{
	double_setup();
	ck_assert_int_eq(mkfifo("pipe", 0644), 0);
	expect("pipe", NULL, "named pipe");
	double_teardown();
}
END_TEST

START_TEST(test_places)
{
	double_setup();
	ck_assert_int_eq(mkdir("dir", 0755), 0);
	double_put_str("file", "");
	ck_assert_int_eq(symlink("dir", "to-dir"), 0);
	ck_assert_int_eq(symlink("/workspace/dir/target", "to-missing"), 0);
	ck_assert_int_eq(symlink("../x", "out"), 0);
	static const struct {
		const char *path, *place, *name;
		bool is_dir;
	} rows[] = {
		{ "file", "file", "file", false },
		{ "to-dir/x", "dir/x", "x", false },
		{ "to-missing", "dir/target", "target", false },
		{ "dir/../dir/./y", "dir/y", "y", false },
		{ "new/deep/z", "new/deep/z", "z", false },
		{ "new/../z", "z", "z", false },
		{ "dir/", "dir", "dir", true },
		{ ".", "", "", true },
		{ "dir/..", "", "", true },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_place_ struct ws_place p = WS_PLACE_INIT;

		double_reset();
		ck_assert_msg(ws_place_find(&d.call, rows[i].path, &p) == 0, "%s: %s", rows[i].path,
			      buf_cstr(&d.call.text));
		ck_assert_str_eq(p.path, rows[i].place);
		ck_assert_str_eq(p.name, rows[i].name);
		ck_assert_int_eq(p.is_dir, rows[i].is_dir);
	}
	static const char *const refused[] = { "../x", "out", "out/y", "/etc/x", "file/x", "new/../../x" };
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		_cleanup_place_ struct ws_place p = WS_PLACE_INIT;

		double_reset();
		ck_assert_msg(ws_place_find(&d.call, refused[i], &p) < 0, "%s", refused[i]);
		ck_assert(d.call.is_error);
	}
	double_teardown();
}
END_TEST

START_TEST(test_directories_are_made_and_unmade)
{
	double_setup();
	_cleanup_place_ struct ws_place p = WS_PLACE_INIT;

	ck_assert_int_eq(mkdir("old", 0755), 0);
	ck_assert_int_eq(ws_place_find(&d.call, "old/a/b/c.txt", &p), 0);
	ck_assert_int_lt(p.dir_fd, 0);
	ck_assert_int_eq(ws_place_make(&d.call, "old/a/b/c.txt", &p), 0);
	ck_assert_int_ge(p.dir_fd, 0);
	ck_assert_uint_eq(p.made, 2);
	ck_assert_int_eq(access("old/a/b", F_OK), 0);
	ws_place_unmake(&d.call, &p);
	ck_assert_int_ne(access("old/a", F_OK), 0);
	ck_assert_int_eq(access("old", F_OK), 0); /* it was there before */

	/* What somebody has put something into by now stays. */
	ck_assert_int_eq(ws_place_find(&d.call, "x/y/z", &p), 0);
	ck_assert_int_eq(ws_place_make(&d.call, "x/y/z", &p), 0);
	double_put_str("x/other", "");
	ws_place_unmake(&d.call, &p);
	ck_assert_int_ne(access("x/y", F_OK), 0);
	ck_assert_int_eq(access("x/other", F_OK), 0);
	double_teardown();
}
END_TEST

/* Somebody swaps a directory and a link to the outside as fast as possible: nothing outside is ever reached. */
START_TEST(test_swapped_link)
{
	double_setup();
	char outside[80];

	(void) snprintf(outside, sizeof(outside), "%s-out", d.dir);
	ck_assert_int_eq(mkdir(outside, 0755), 0);
	ck_assert_int_eq(mkdir("real", 0755), 0);
	double_put_str("real/f", "inside");
	char secret[100];
	(void) snprintf(secret, sizeof(secret), "%s/f", outside);
	double_put_str(secret, "outside");
	ck_assert_int_eq(symlink(outside, "link"), 0);
	pid_t pid = fork();
	if (pid == 0) {
		for (;;)
			(void) renameat2(AT_FDCWD, "real", AT_FDCWD, "link", RENAME_EXCHANGE);
	}
	int found = 0;
	for (int i = 0; i < 20000; i++) {
		char content[16] = "";
		struct stat st;

		double_reset();
		_cleanup_fd_ int fd = ws_open_file(&d.call, i % 2 ? "real/f" : "real/../real/f", &st);
		if (fd < 0)
			continue;
		found++;
		ck_assert_int_ge(read(fd, content, sizeof(content) - 1), 0);
		ck_assert_str_eq(content, "inside");
	}
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_gt(found, 0);
	ck_assert_int_eq(unlink(secret), 0);
	ck_assert_int_eq(rmdir(outside), 0);
	double_teardown();
}
END_TEST

START_TEST(test_hidden_names)
{
	ck_assert(ws_is_hidden_name(".git"));
	ck_assert(ws_is_hidden_name(".venv"));
	ck_assert(ws_is_hidden_name(".venv_container"));
	ck_assert(ws_is_hidden_name(".mcp"));
	ck_assert(ws_is_hidden_name("__pycache__"));
	ck_assert(ws_is_hidden_name(".ruff_cache"));
	ck_assert(!ws_is_hidden_name(".gitignore"));
	ck_assert(!ws_is_hidden_name(".env"));
	ck_assert(ws_is_hidden_name(".cloche-tmp-0123456789abcdef"));
	ck_assert(!ws_is_hidden_name(".cloche-tmp-0123456789abcdeg"));
}
END_TEST

UNIT_MAIN("mcp/ws", test_paths, test_links, test_special_files_never_block, test_places,
	  test_directories_are_made_and_unmade, test_swapped_link, test_hidden_names)
