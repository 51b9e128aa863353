/*
 * Watched paths: what counts as a change and what does not, that many changes become few events, and that lost events, deep
 * paths and watches that end meanwhile are no problem.
 *
 * Whether something is *not* told is found out without waiting for it: another path is changed behind it, and rounds tell in
 * order.
 */
#include "mcp/watch.h"

#include <unistd.h>

#include "runtime/base/clock.h"
#include "tests/mcp/double.h"

static struct {
	struct loop loop;
	struct work work;
	struct watcher watcher;
} w;

/* Counts what it is told. */
struct listener {
	struct watch *watch;
	int ready, changed;
	bool drop; /* at the next event */
};

static void heard(void *owner, enum watch_event event)
{
	struct listener *l = owner;

	l->ready += event == WATCH_READY;
	l->changed += event == WATCH_CHANGED;
	if (l->drop)
		watch_drop(l->watch);
}

static void setup(void)
{
	double_setup();
	work_init(&w.work, &w.loop);
	ck_assert_int_eq(loop_init(&w.loop), 0);
	watch_init(&w.watcher, &w.loop, &w.work, &d.config, d.call.root_fd);
}

static void teardown(void)
{
	work_done(&w.work);
	watch_done(&w.watcher);
	loop_done(&w.loop);
	double_teardown();
}

/* Lets the loop go on until *@counter has reached @wanted. */
static void await(const int *counter, int wanted)
{
	int64_t give_up_ms = clock_now_ms() + 30000;

	while (*counter < wanted) {
		int64_t now_ms = clock_now_ms(), next_ms = watch_tick(&w.watcher, now_ms);
		ck_assert_msg(now_ms < give_up_ms, "nothing was told");
		ck_assert_int_eq(loop_wait(&w.loop, MIN(next_ms, give_up_ms) - now_ms), 0);
	}
}

static void listen_to(struct listener *l, const char *rel)
{
	*l = (struct listener) { .ready = 0 };
	l->watch = watch_add(&w.watcher, rel, heard, l);
	ck_assert_ptr_nonnull(l->watch);
}

static void shell(const char *command)
{
	ck_assert_msg(system(command) == 0, "%s", command);
}

/* --- what is a change --------------------------------------------------------------------------------------------- */

static const struct {
	const char *before, *rel, *change;
	bool told;
} rows[] = {
	{ "echo a >f", "f", "echo b >>f", true },
	{ "printf a >f", "f", "printf b 1<>f", true },
	{ "printf a >f; touch -d @1 f", "f", "printf b 1<>f; touch -d @1 f", true },
	{ "echo a >f", "f", ": >f", true },
	{ "echo a >f", "f", "chmod 600 f", true },
	{ ":", "f", ": >f", true },
	{ ": >f", "f", "rm f", true },
	{ "echo a >f", "f", "echo b >g; mv g f", true },
	{ "echo a >f", "f", "mv f g", true },
	{ "echo a >f", "f", "rm f; mkdir f", true },
	{ "mkdir d; echo a >d/f; ln d/f f", "f", "echo b >>d/f", true },
	/* The folders above. */
	{ ":", "a/b/f", "mkdir a; mkdir a/b; : >a/b/f", true },
	{ "mkdir -p a/b; : >a/b/f", "a/b/f", "mv a x", true },
	{ "mkdir a x; echo a >a/f; echo b >x/f", "a/f", "mv a y; mv x a", true },
	{ "mkdir a; : >a/f", "a/f", "rm -r a", true },
	{ ": >a", "a/f", "rm a; mkdir a; : >a/f", true },
	/* Links. */
	{ "echo a >real; ln -s real l", "l", "echo b >>real", true },
	{ "echo a >one; echo b >two; ln -s one l", "l", "ln -sfn two l", true },
	{ "mkdir one two; echo a >one/f; echo b >two/f; ln -s one now", "now/f", "ln -sfn two now", true },
	{ "mkdir -p a/b; echo a >f; ln -s ../../f a/b/l", "a/b/l", "echo b >g; mv g f", true },
	{ "echo a >real; ln -s /workspace/real l", "l", "echo b >>real", true },
	{ "ln -s real l", "l", ": >real", true },
	{ "ln -s l l", "l", "ln -sfn f l; : >f", true },
	/* Folders: which entries they have. */
	{ "mkdir d", "d", ": >d/new", true },
	{ "mkdir d; : >d/f", "d", "rm d/f", true },
	{ "mkdir d; : >d/f", "d", "mv d/f d/g", true },
	{ "mkdir d", "d/", ": >d/new", true },
	{ ":", ".", ": >new", true },
	/* Nothing of it. */
	{ "mkdir d; : >d/f", "d", "echo x >>d/f", false },
	{ "mkdir -p d/e", "d", ": >d/e/f", false },
	{ ": >f; : >g", "f", "echo x >>g; rm g; : >h", false },
	{ "echo a >f", "f", "read x <f", false },
	{ "mkdir a; : >a/f", "a/f", ": >a/g; mkdir b; mv b c", false },
	{ "ln -s \"$PWD-outside\" l", "l", "echo x >\"$PWD-outside\"; rm \"$PWD-outside\"", false },
	{ "ln -s /etc/passwd l", "l", "test -r l", false },
};

static void check_row(size_t i)
{
	struct listener it, marker;

	setup();
	shell(": >marker");
	shell(rows[i].before);
	listen_to(&it, rows[i].rel);
	listen_to(&marker, "marker");
	await(&it.ready, 1);
	await(&marker.ready, 1);
	ck_assert_int_eq(it.changed, 0);
	shell(rows[i].change);
	shell("echo x >>marker");
	await(&marker.changed, 1);
	ck_assert_msg((it.changed > 0) == rows[i].told, "%s; watched: %s; then: %s: told %d times", rows[i].before, rows[i].rel,
		      rows[i].change, it.changed);
	ck_assert_int_eq(it.ready, 1);
	teardown();
}

START_TEST(test_changes)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_row(i);
}
END_TEST

/* A path that changes again and again is told of again, also after what is watched has been another file for some time. */
START_TEST(test_again)
{
	struct listener it;

	setup();
	listen_to(&it, "d/f");
	await(&it.ready, 1);
	for (int i = 1; i <= 3; i++) {
		shell("mkdir d; echo a >d/f");
		await(&it.changed, it.changed + 1);
		shell("echo b >>d/f");
		await(&it.changed, it.changed + 1);
		shell("rm -r d");
		await(&it.changed, it.changed + 1);
	}
	teardown();
}
END_TEST

/* --- many --------------------------------------------------------------------------------------------------------- */

START_TEST(test_many_changes_become_few_events)
{
	enum { WRITES = 20000 };
	struct listener it;
	int64_t start_ms;

	setup();
	shell(": >f");
	listen_to(&it, "f");
	await(&it.ready, 1);
	_cleanup_fd_ int fd = open("f", O_WRONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	start_ms = clock_now_ms();
	for (int i = 0; i < WRITES; i++) {
		ck_assert_int_eq(pwrite(fd, i % 2 ? "a" : "b", 1, 0), 1);
		ck_assert_int_eq(loop_wait(&w.loop, 0), 0);
		(void) watch_tick(&w.watcher, clock_now_ms());
	}
	ck_assert_int_eq(pwrite(fd, "the end", 7, 0), 7);
	await(&it.changed, it.changed + 1);
	ck_assert_int_le(it.changed, (clock_now_ms() - start_ms) / WATCH_SETTLE_MS + 1);
	teardown();
}
END_TEST

/* More events than the kernel keeps, and the one that matters is the last. */
START_TEST(test_lost_events)
{
	struct listener it;
	char text[32];

	setup();
	ssize_t len = fd_read_text(AT_FDCWD, "/proc/sys/fs/inotify/max_queued_events", text, sizeof(text));
	ck_assert_int_gt(len, 0);
	long events = strtol(text, NULL, 10);
	ck_assert_int_lt(events, 1000000);
	shell(": >f");
	listen_to(&it, "f");
	await(&it.ready, 1);
	for (long i = 0; i <= events / 2; i++) {
		double_put_str("g", "");
		ck_assert_int_eq(unlink("g"), 0);
	}
	double_put_str("f", "changed");
	await(&it.changed, 1);
	double_put_str("f", "changed once more");
	await(&it.changed, 2);
	teardown();
}
END_TEST

/* Below more folders than are watched, and so looked at from time to time. */
START_TEST(test_deep)
{
	enum { DEPTH = WATCH_DEPTH_MAX + 5 };
	struct listener it;
	char path[2 * DEPTH + 2], command[sizeof(path) + 40];

	setup();
	for (size_t i = 0; i < DEPTH; i++)
		memcpy(path + 2 * i, "d/", 2);
	memcpy(path + 2 * DEPTH, "f", 2);
	(void) snprintf(command, sizeof(command), "mkdir -p $(dirname %s)", path);
	shell(command);
	listen_to(&it, path);
	await(&it.ready, 1);
	(void) snprintf(command, sizeof(command), "echo x >%s", path);
	shell(command);
	await(&it.changed, 1);
	(void) snprintf(command, sizeof(command), "rm %s", path);
	shell(command);
	await(&it.changed, 2);
	teardown();
}
END_TEST

/* --- the life of watches ------------------------------------------------------------------------------------------ */

/* Dropped at every point of its life: before it is looked at, while a worker has it, out of its own events. */
START_TEST(test_drop)
{
	struct listener early, late, during, other;

	setup();
	shell(": >f");
	listen_to(&early, "f");
	watch_drop(early.watch);
	ck_assert_int_eq(watch_tick(&w.watcher, clock_now_ms()) == INT64_MAX, 1);
	watch_drop(NULL);

	listen_to(&during, "f");
	(void) watch_tick(&w.watcher, clock_now_ms());
	ck_assert(w.watcher.busy);
	watch_drop(during.watch);
	listen_to(&late, "f"); /* while the worker is at it */
	listen_to(&other, "f");
	late.drop = true;
	await(&other.ready, 1);
	ck_assert_int_eq(late.ready, 1);
	shell("echo x >>f");
	await(&other.changed, 1);
	ck_assert_int_eq(early.ready + during.ready + late.changed, 0);

	watch_drop(other.watch);
	ck_assert_int_lt(w.watcher.marks.fd, 0);
	ck_assert_uint_eq(w.watcher.marks.count, 0);
	teardown();
}
END_TEST

/* The end of the server may come while a round goes on. */
START_TEST(test_end_in_a_round)
{
	struct listener it;

	setup();
	listen_to(&it, "a/b/c");
	(void) watch_tick(&w.watcher, clock_now_ms());
	ck_assert(w.watcher.busy);
	teardown();
}
END_TEST

UNIT_MAIN("mcp/watch", test_changes, test_again, test_many_changes_become_few_events, test_lost_events, test_deep, test_drop,
	  test_end_in_a_round)
