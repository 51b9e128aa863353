/*
 * Methods of a connection's life: handshake, discovery, ping and the level of log messages. Runs on the event loop of
 * cloche-mcp, without any capability.
 */
#include <assert.h>
#include <string.h>

#include "mcp/answer.h"
#include "mcp/log.h"
#include "mcp/method.h"
#include "mcp/subscribe.h"
#include "runtime/base/jsonw.h"

enum { LIFE_ANSWER_MAX = 64 * 1024 };

/* At most 1024 bytes: with the list of tools it is in the context of every conversation. */
static const char instructions[] =
	"You work in a sandbox: a private Linux with the user's project at /workspace, an unprivileged account and no network. "
	"Other places are lost at the end. A denial is a rule: do what it says instead of trying again.\n"
	"Give paths relative to /workspace. Find files with search_workspace or list_directory. Read a file before you change "
	"it and copy the text to replace exactly; use search_and_replace for changes, write_file for new files.\n"
	"run_bash starts a fresh shell in /workspace, without terminal or input. All it starts ends with it; only files stay. "
	"Its answer begins with the exit code. Ask for a longer timeout where needed, and send long output to a file to look at "
	"parts of it.\n"
	"Run the tests before you say that something works. More about all this: prompt cloche, also the resource "
	"skill://cloche/SKILL.md; what exactly is allowed: resource cloche://policy.";

static_assert(sizeof(instructions) <= 1024, "too long");

/* What both ways to meet a server tell of it. */
static void add_introduction(struct buf *b, enum mcp_version version)
{
	jsonw_name(b, "capabilities");
	method_write_capabilities(b, version);
	jsonw_member(b, "instructions", instructions);
}

static void initialize(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(LIFE_ANSWER_MAX);

	if (req->batch)
		return answer_refuse(s, req, RPC_INVALID_REQUEST, NULL, "initialize must not be part of a batch.");
	subscribe_end_session(s);
	req->terms.version = session_handshake(&s->session, rpc_param_str(&req->rpc, "protocolVersion"));
	answer_begin(&b, req);
	jsonw_member(&b, "protocolVersion", session_version_name(req->terms.version));
	jsonw_name(&b, "serverInfo");
	session_introduce(&b, req->terms.version);
	add_introduction(&b, req->terms.version);
	answer_finish(s, req, &b);
}

static void discover(struct server *s, struct request *req)
{
	_cleanup_buf_ struct buf b = BUF_INIT(LIFE_ANSWER_MAX);

	answer_begin(&b, req);
	jsonw_name(&b, "supportedVersions");
	buf_addf(&b, "[\"%s\"]", session_version_name(MCP_2026_07_28));
	add_introduction(&b, req->terms.version);
	answer_cache(&b, req, ANSWER_FIXED_TTL_MS, true);
	answer_finish_introduction(s, req, &b);
}

static void set_level(struct server *s, struct request *req)
{
	const char *level = rpc_param_str(&req->rpc, "level");
	enum mcp_log_level parsed;

	if (!level || log_level_from_name(level, &parsed) < 0)
		return answer_refuse(s, req, RPC_INVALID_PARAMS, NULL,
				     "The level must be one of debug, info, notice, warning, error, critical, alert, emergency.");
	s->session.log_level = parsed;
	answer_empty(s, req);
}

static const char *capability(enum mcp_version version)
{
	return version == MCP_2026_07_28 ? NULL : "\"logging\":{}";
}

static const struct method methods[] = {
	{ "initialize", METHOD_HANDSHAKE, initialize },
	{ "ping", METHOD_HANDSHAKE, answer_empty },
	{ "logging/setLevel", METHOD_HANDSHAKE, set_level },
	{ "server/discover", METHOD_STATELESS, discover },
	{ NULL },
};

const struct method_group methods_life = { methods, capability };
