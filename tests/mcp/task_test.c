/*
 * Tasks: their table and its bounds, their time to live, what both eras are told, and who waits for results.
 */
#include "mcp/task.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "mcp/subscribe.h"
#include "tests/harness/unit.h"

static struct mcp_config config = { .root_name = "/workspace", .max_answer_chars = 40000 };
static struct server server;
static int reader = -1; /* what the server writes */

static void begin(void)
{
	int ends[2];

	server.config = &config;
	session_init(&server.session);
	server.session.ready = true;
	ck_assert_int_eq(loop_init(&server.loop), 0);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	reader = ends[0];
	ck_assert_int_eq(fcntl(reader, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(out_init(&server.out, &server.loop, ends[1]), 0);
	subscribe_init(&server);
}

static void end(void)
{
	task_done(&server);
	ck_assert_ptr_null(server.tasks);
	ck_assert_uint_eq(server.task_count, 0);
	ck_assert_uint_eq(server.task_working, 0);
	ck_assert_uint_eq(server.task_readers, 0);
	ck_assert_uint_eq(server.held, 0);
	subscribe_done(&server);
	out_done(&server.out);
	loop_done(&server.loop);
}

/* What the server has written since the last time: one message, or NULL. Release with cJSON_Delete(). */
static cJSON *message(void)
{
	static char text[1 << 20];
	size_t len = 0;

	while (len < sizeof(text) && read(reader, text + len, 1) == 1 && text[len] != '\n')
		len++;
	return len > 0 ? cJSON_ParseWithLength(text, len) : NULL;
}

static void drain(void)
{
	for (cJSON *m = message(); m; m = message())
		cJSON_Delete(m);
}

static const cJSON *at(const cJSON *tree, const char *path)
{
	char part[64];

	while (tree && *path) {
		size_t len = strcspn(path, ".");
		ck_assert_uint_lt(len, sizeof(part));
		memcpy(part, path, len);
		part[len] = '\0';
		tree = cJSON_GetObjectItemCaseSensitive(tree, part);
		path += len + (path[len] == '.');
	}
	return tree;
}

static const char *text_at(const cJSON *tree, const char *path)
{
	const char *text = cJSON_GetStringValue(at(tree, path));

	ck_assert_msg(text != NULL, "no text at %s", path);
	return text;
}

static struct request *new_request(const char *id, enum mcp_version version)
{
	struct request *req = request_new(&server, NULL);

	ck_assert_ptr_nonnull(req);
	req->rpc.id = strdup(id);
	req->rpc.size = 1000;
	server.held += req->rpc.size;
	req->terms = (struct terms) { .version = version, .tasks = version == MCP_2026_07_28 };
	return req;
}

/* A call as call.c makes one, which runs nothing. */
static struct call *new_call(enum mcp_version version)
{
	struct call *call = calloc(1, sizeof(*call));

	ck_assert_ptr_nonnull(call);
	call->server = &server;
	call->tool = &tool_run_bash;
	call->request = new_request("1", version);
	call->pub.config = &config;
	call->pub.text = (struct buf) BUF_INIT(TOOL_TEXT_MAX);
	call->args = cJSON_CreateObject();
	(void) pthread_mutex_init(&call->lock, NULL);
	(void) pthread_cond_init(&call->wake, NULL);
	return call;
}

static struct task *new_task(enum mcp_version version)
{
	struct call *call = new_call(version);

	ck_assert_int_eq(task_begin(call, TASK_TTL_MS), 0);
	return call->task;
}

static void finish(struct task *task, const char *text, bool is_error)
{
	buf_add_str(&task->call->pub.text, text);
	task->call->pub.is_error = is_error;
	task_end(task);
}

/* The Task as @version has it. */
static cJSON *written(struct task *task, enum mcp_version version)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1 << 20);

	buf_add_char(&b, '{');
	if (version == MCP_2026_07_28)
		task_write_detailed(&b, task);
	else
		task_write(&b, task, version);
	buf_add_char(&b, '}');
	cJSON *tree = cJSON_Parse(buf_cstr(&b));
	ck_assert_msg(tree != NULL, "not JSON: %s", buf_cstr(&b));
	return tree;
}

START_TEST(test_handle)
{
	begin();
	struct task *old = new_task(MCP_2025_11_25);
	cJSON *m = message();
	ck_assert_str_eq(text_at(m, "result.task.taskId"), old->id);
	ck_assert_uint_eq(strspn(old->id, "0123456789abcdef"), TASK_ID_SIZE - 1);
	ck_assert_str_eq(text_at(m, "result.task.status"), "working");
	ck_assert_double_eq(at(m, "result.task.ttl")->valuedouble, TASK_TTL_MS);
	ck_assert_ptr_nonnull(at(m, "result.task.pollInterval"));
	ck_assert_ptr_null(at(m, "result.resultType"));
	ck_assert_uint_eq(strlen(text_at(m, "result.task.createdAt")), strlen("2026-01-02T03:04:05.678Z"));
	cJSON_Delete(m);

	struct task *new = new_task(MCP_2026_07_28);
	m = message();
	ck_assert_str_ne(new->id, old->id);
	ck_assert_str_eq(text_at(m, "result.taskId"), new->id);
	ck_assert_str_eq(text_at(m, "result.resultType"), "task");
	ck_assert_double_eq(at(m, "result.ttlMs")->valuedouble, TASK_TTL_MS);
	ck_assert_ptr_nonnull(at(m, "result.pollIntervalMs"));
	ck_assert_ptr_null(at(m, "result.ttl"));
	ck_assert_ptr_null(at(m, "result.task"));
	cJSON_Delete(m);
	finish(old, "", false);
	finish(new, "", false);
	end();
}
END_TEST

START_TEST(test_bounds)
{
	char first[TASK_ID_SIZE], second[TASK_ID_SIZE];
	struct task *working[TASK_WORKING_MAX];
	const char *ids[TASK_MAX];

	begin();
	for (size_t i = 0; i < TASK_WORKING_MAX; i++) {
		ck_assert(task_has_room(&server));
		working[i] = new_task(MCP_2025_11_25);
	}
	ck_assert(!task_has_room(&server));
	struct call *call = new_call(MCP_2025_11_25);
	drain();
	ck_assert_int_eq(task_begin(call, TASK_TTL_MS), -EBUSY);
	ck_assert_ptr_null(call->task);
	ck_assert_ptr_null(message());
	call_free(call);

	/* The first to end is the first to go, and not the oldest; one that works stays. */
	memcpy(first, working[1]->id, sizeof(first));
	memcpy(second, working[2]->id, sizeof(second));
	finish(working[1], "", false);
	working[1]->ended_ms -= 10;
	for (size_t i = 2; i < TASK_WORKING_MAX; i++)
		finish(working[i], "", false);
	while (server.task_count < TASK_MAX) {
		finish(new_task(MCP_2026_07_28), "", false);
		drain();
	}
	ck_assert(task_exists(&server, first));
	finish(new_task(MCP_2026_07_28), "", false);
	ck_assert_uint_eq(server.task_count, TASK_MAX);
	ck_assert(!task_exists(&server, first));
	ck_assert(task_exists(&server, second));
	ck_assert(task_exists(&server, working[0]->id));

	ck_assert_uint_eq(task_ids(&server, "", ids, TASK_MAX), TASK_MAX);
	ck_assert_str_eq(ids[0], working[0]->id);
	ck_assert_uint_eq(task_ids(&server, "", ids, 3), 3);
	ck_assert_uint_eq(task_ids(&server, second, ids, TASK_MAX), 1);
	ck_assert_uint_eq(task_ids(&server, "x", ids, TASK_MAX), 0);
	finish(working[0], "", false);
	end();
}
END_TEST

START_TEST(test_time_to_live)
{
	begin();
	struct task *task = new_task(MCP_2025_11_25);
	char id[TASK_ID_SIZE];
	int64_t over_ms = task->begun_ms + TASK_TTL_MS;

	memcpy(id, task->id, sizeof(id));
	ck_assert_int_lt(task_tick(&server, over_ms + TASK_TTL_MAX_MS), INT64_MAX);
	ck_assert(task_exists(&server, id)); /* it works */
	finish(task, "", false);
	ck_assert_int_eq(task_tick(&server, over_ms - 1), over_ms);
	ck_assert(task_exists(&server, id));
	ck_assert_int_eq(task_tick(&server, over_ms), INT64_MAX);
	ck_assert(!task_exists(&server, id));

	/* One that worked for longer than its time is kept for a while all the same. */
	task = new_task(MCP_2025_11_25);
	task->begun_ms -= TASK_TTL_MAX_MS;
	finish(task, "", false);
	ck_assert_int_eq(task->begun_ms + task->ttl_ms, task->ended_ms + TASK_KEEP_MS);
	cJSON *t = written(task, MCP_2025_11_25);
	ck_assert_double_eq(at(t, "ttl")->valuedouble, (double) task->ttl_ms);
	cJSON_Delete(t);
	memcpy(id, task->id, sizeof(id));
	(void) task_tick(&server, task->ended_ms + TASK_KEEP_MS - 1);
	ck_assert(task_exists(&server, id));
	(void) task_tick(&server, task->ended_ms + TASK_KEEP_MS);
	ck_assert(!task_exists(&server, id));
	end();
}
END_TEST

/* How a task ended, in the words of both eras. */
static const struct {
	bool is_error, cancelled;
	const char *old_status, *new_status;
	bool has_result; /* in the new one */
} ends[] = {
	{ false, false, "completed", "completed", true },
	{ true, false, "failed", "completed", true },
	{ true, true, "cancelled", "cancelled", false },
	{ false, true, "cancelled", "cancelled", false },
};

START_TEST(test_status)
{
	begin();
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct task *task = new_task(i % 2 ? MCP_2025_11_25 : MCP_2026_07_28);
		if (ends[i].cancelled)
			task_cancel(task);
		ck_assert(task_is_terminal(task) == ends[i].cancelled);
		finish(task, "the text", ends[i].is_error);
		ck_assert(task_is_terminal(task));
		cJSON *old = written(task, MCP_2025_11_25), *new = written(task, MCP_2026_07_28);
		ck_assert_str_eq(text_at(old, "status"), ends[i].old_status);
		ck_assert_str_eq(text_at(new, "status"), ends[i].new_status);
		ck_assert((at(new, "result") != NULL) == ends[i].has_result);
		if (ends[i].has_result) {
			ck_assert(cJSON_IsTrue(at(new, "result.isError")) == ends[i].is_error);
			ck_assert_str_eq(text_at(new, "result.resultType"), "complete");
			ck_assert_ptr_null(at(new, "result._meta.io"));
		}
		cJSON_Delete(old);
		cJSON_Delete(new);
		drain();
	}
	end();
}
END_TEST

START_TEST(test_status_notification)
{
	static const struct {
		enum mcp_version task, session;
		bool ready, told;
	} rows[] = {
		{ MCP_2025_11_25, MCP_2025_11_25, true, true },
		{ MCP_2025_11_25, MCP_2025_11_25, false, false },
		{ MCP_2025_11_25, MCP_2025_06_18, true, false },
		{ MCP_2026_07_28, MCP_2025_11_25, true, false },
	};

	begin();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		server.session.version = rows[i].session;
		server.session.ready = rows[i].ready;
		struct task *task = new_task(rows[i].task);
		drain();
		finish(task, "", false);
		cJSON *m = message();
		ck_assert((m != NULL) == rows[i].told);
		if (m) {
			ck_assert_str_eq(text_at(m, "method"), "notifications/tasks/status");
			ck_assert_str_eq(text_at(m, "params.taskId"), task->id);
			ck_assert_str_eq(text_at(m, "params.status"), "completed");
		}
		cJSON_Delete(m);
	}
	end();
}
END_TEST

START_TEST(test_readers)
{
	begin();
	struct task *task = new_task(MCP_2025_11_25);
	cJSON *m;

	drain();
	for (int i = 0; i < TASK_READERS_MAX; i++) {
		char id[16];
		(void) snprintf(id, sizeof(id), "%d", i + 100);
		ck_assert_int_eq(task_answer_result(&server, task, new_request(id, MCP_2025_11_25)), 0);
	}
	struct request *more = new_request("2", MCP_2025_11_25);
	ck_assert_int_eq(task_answer_result(&server, task, more), -ENOBUFS);
	request_free(&server, more);
	ck_assert_ptr_null(message());
	ck_assert(task_reader_has(&server, "100"));
	ck_assert(!task_reader_has(&server, "1"));
	for (int i = 1; i < TASK_READERS_MAX; i++) {
		char id[16];
		(void) snprintf(id, sizeof(id), "%d", i + 100);
		ck_assert(task_reader_cancel(&server, id));
		ck_assert(!task_reader_cancel(&server, id));
	}
	task_stop(&server); /* somebody waits */
	ck_assert(!task->cancelled);
	finish(task, "late", false);
	m = message();
	ck_assert_str_eq(text_at(m, "method"), "notifications/tasks/status");
	cJSON_Delete(m);
	m = message();
	ck_assert_double_eq(at(m, "id")->valuedouble, 100);
	ck_assert_str_eq(cJSON_GetStringValue(at(cJSON_GetArrayItem(at(m, "result.content"), 0), "text")), "late");
	const cJSON *meta = at(m, "result._meta");
	ck_assert_str_eq(text_at(cJSON_GetObjectItemCaseSensitive(meta, MCP_META_RELATED_TASK), "taskId"), task->id);
	cJSON_Delete(m);
	ck_assert_ptr_null(message());

	ck_assert_int_eq(task_answer_result(&server, task, new_request("3", MCP_2025_11_25)), 0); /* at once */
	m = message();
	ck_assert_double_eq(at(m, "id")->valuedouble, 3);
	cJSON_Delete(m);

	struct task *unwanted = new_task(MCP_2026_07_28);
	task_stop(&server);
	ck_assert(unwanted->cancelled);
	finish(unwanted, "", true);
	end();
}
END_TEST

START_TEST(test_output)
{
	_cleanup_buf_ struct buf b = BUF_INIT(TOOL_TEXT_MAX);

	begin();
	struct task *task = new_task(MCP_2025_11_25);
	ck_assert(!task_write_output(&server, "0123", &b));
	ck_assert(task_write_output(&server, task->id, &b));
	ck_assert_uint_eq(b.len, 0);

	/* Cut within characters at both ends of the gap: neither half is shown. */
	struct capture *capture = &task->call->job.capture;
	capture_init(capture, 5, 5);
	task->call->job_active = true;
	capture_add(capture, "head\xc3", 5);
	ck_assert(task_write_output(&server, task->id, &b));
	ck_assert_str_eq(buf_cstr(&b), "head");
	buf_clear(&b);
	capture_add(capture, "\xa4xyz\xc3\xa4tail", 10);
	ck_assert(task_write_output(&server, task->id, &b));
	static const char begins[] = "head\n[... output truncated at 1KB: 7 bytes from the middle of 15 are left out here. ";
	ck_assert_mem_eq(buf_cstr(&b), begins, strlen(begins));
	ck_assert_str_eq(strrchr(b.p, '\n'), "\ntail");
	ck_assert_uint_eq(capture->total, 15);
	capture_done(capture);

	/* However long it becomes when it is shown. */
	static char nuls[60000];
	capture_init(capture, sizeof(nuls) / 2, sizeof(nuls) / 2);
	capture_add(capture, nuls, sizeof(nuls));
	buf_clear(&b);
	ck_assert(task_write_output(&server, task->id, &b));
	ck_assert_int_eq(buf_error(&b), 0);
	ck_assert_uint_le(b.len, (size_t) config.max_answer_chars);
	ck_assert_ptr_null(memchr(b.p, '\0', b.len));
	buf_clear(&b);
	capture_done(capture);
	task->call->job_active = false;

	finish(task, "[Exit code: 0]\nall of it", false);
	ck_assert(task_write_output(&server, task->id, &b));
	ck_assert_str_eq(buf_cstr(&b), "[Exit code: 0]\nall of it");
	end();
}
END_TEST

START_TEST(test_list)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1 << 20);

	begin();
	task_write_list(&server, &b);
	ck_assert_str_eq(buf_cstr(&b), "[]");
	buf_clear(&b);
	struct task *first = new_task(MCP_2026_07_28), *second = new_task(MCP_2025_11_25);
	finish(first, "line \"one\"\nline two", true);
	task_write_list(&server, &b);
	cJSON *list = cJSON_Parse(buf_cstr(&b));
	ck_assert_int_eq(cJSON_GetArraySize(list), 2);
	ck_assert_str_eq(text_at(cJSON_GetArrayItem(list, 0), "id"), first->id);
	ck_assert_str_eq(text_at(cJSON_GetArrayItem(list, 0), "tool"), "run_bash");
	ck_assert_str_eq(text_at(cJSON_GetArrayItem(list, 0), "status"), "failed");
	ck_assert_str_eq(text_at(cJSON_GetArrayItem(list, 0), "summary"), "line \"one\"");
	ck_assert_str_eq(text_at(cJSON_GetArrayItem(list, 1), "status"), "working");
	ck_assert_str_eq(text_at(cJSON_GetArrayItem(list, 1), "id"), second->id);
	cJSON_Delete(list);
	finish(second, "", false);
	end();
}
END_TEST

UNIT_MAIN("mcp/task", test_handle, test_bounds, test_time_to_live, test_status, test_status_notification, test_readers, test_output, test_list)
