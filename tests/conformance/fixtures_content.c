/*
 * Conformance fixtures whose results the product's tools do not have: other kinds of content, progress in steps, and lists that
 * change. See fixtures.h.
 */
#include <stdlib.h>

#include "mcp/answer.h"
#include "mcp/listen.h"
#include "runtime/base/clock.h"
#include "tests/conformance/fixtures.h"

enum { PROGRESS_STEP_MS = 50, PROGRESS_STEP = 50, PROGRESS_TOTAL = 100 };

#define IMAGE "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"" FIXTURE_PNG "\"}"

static void answer_content(struct server *s, struct request *req)
{
	fixture_content(s, req, fixture_tool_find(rpc_param_str(&req->rpc, "name"))->data);
}

/* --- progress ----------------------------------------------------------------------------------------------------- */

struct progress {
	struct progress *next;
	struct request *req;
	int64_t due_ms;
	int done;
};

static struct progress *running;

static void answer_progress(struct server *s, struct request *req)
{
	struct progress *p = calloc(1, sizeof(*p));

	if (!p)
		return answer_refuse(s, req, RPC_INTERNAL_ERROR, NULL, "Out of memory.");
	*p = (struct progress) { .next = running, .req = req, .due_ms = clock_now_ms() };
	running = p;
}

static void report(struct server *s, const struct progress *p)
{
	_cleanup_buf_ struct buf b = BUF_INIT(4096);

	if (!p->req->rpc.token)
		return;
	answer_begin_notification(&b, "notifications/progress");
	buf_addf(&b, "\"progressToken\":%s,\"progress\":%d,\"total\":%d", p->req->rpc.token, p->done, PROGRESS_TOTAL);
	(void) answer_notify(s, &b, false);
}

/* The next step of the call behind @link. True when it has ended. */
static bool step(struct server *s, struct progress **link, int64_t now_ms)
{
	struct progress *p = *link;

	report(s, p);
	p->done += PROGRESS_STEP;
	p->due_ms = now_ms + PROGRESS_STEP_MS;
	if (p->done <= PROGRESS_TOTAL)
		return false;
	*link = p->next;
	fixture_text(s, p->req, "Progress was reported in three steps.");
	free(p);
	return true;
}

int64_t fixture_progress_tick(struct server *s, int64_t now_ms)
{
	struct progress **link = &running;
	int64_t next = INT64_MAX;

	while (*link) {
		if (now_ms >= (*link)->due_ms && step(s, link, now_ms))
			continue;
		next = MIN(next, (*link)->due_ms);
		link = &(*link)->next;
	}
	return next;
}

void fixture_progress_done(struct server *s)
{
	while (running) {
		struct progress *p = running;
		running = p->next;
		request_free(s, p->req);
		free(p);
	}
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static void answer_change_tools(struct server *s, struct request *req)
{
	listen_list_changed(s, LISTEN_TOOLS);
	fixture_text(s, req, "The list of tools is said to have changed.");
}

static void answer_change_prompts(struct server *s, struct request *req)
{
	listen_list_changed(s, LISTEN_PROMPTS);
	fixture_text(s, req, "The list of prompts is said to have changed.");
}

const struct fixture_tool fixture_content_tools[] = {
	{ FIXTURE_ROW("test_image_content", "an image", FIXTURE_NO_ARGUMENTS), .answer = answer_content, .data = "[" IMAGE "]" },
	{ FIXTURE_ROW("test_audio_content", "a sound", FIXTURE_NO_ARGUMENTS), .answer = answer_content,
	  .data = "[{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"" FIXTURE_WAV "\"}]" },
	{ FIXTURE_ROW("test_embedded_resource", "a resource", FIXTURE_NO_ARGUMENTS), .answer = answer_content,
	  .data = "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\",\"mimeType\":\"text/plain\","
		  "\"text\":\"This is an embedded resource content.\"}}]" },
	{ FIXTURE_ROW("test_multiple_content_types", "text, image and resource", FIXTURE_NO_ARGUMENTS), .answer = answer_content,
	  .data = "[{\"type\":\"text\",\"text\":\"Multiple content types test:\"}," IMAGE ",{\"type\":\"resource\",\"resource\":"
		  "{\"uri\":\"test://mixed-content-resource\",\"mimeType\":\"application/json\","
		  "\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]" },
	{ FIXTURE_ROW("test_tool_with_progress", "progress", FIXTURE_NO_ARGUMENTS), .answer = answer_progress },
	{ FIXTURE_ROW("test_trigger_tool_change", "another list of tools", FIXTURE_NO_ARGUMENTS), .answer = answer_change_tools },
	{ FIXTURE_ROW("test_trigger_prompt_change", "another list of prompts", FIXTURE_NO_ARGUMENTS), .answer = answer_change_prompts },
	{ .answer = NULL },
};
