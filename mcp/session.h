/*
 * What the client has told us about itself, and which revision of the protocol a message is served under.
 *
 * The era is decided for every message and never pinned: a request whose params._meta names a protocol version is
 * served without any state (2026-07-28); everything else belongs to the handshake revisions, with 2025-11-25 until a
 * version has been agreed.
 */
#pragma once

#include <stdbool.h>

#include "mcp/log.h"
#include "mcp/rpc.h"

/* In order of age. */
enum mcp_version { MCP_2024_11_05, MCP_2025_03_26, MCP_2025_06_18, MCP_2025_11_25, MCP_2026_07_28 };

#define MCP_META_VERSION "io.modelcontextprotocol/protocolVersion"
#define MCP_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP_META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define MCP_EXTENSION_TASKS "io.modelcontextprotocol/tasks"
#define MCP_META_SERVER_INFO "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define MCP_META_RELATED_TASK "io.modelcontextprotocol/related-task"
#define MCP_META_IMMEDIATE_RESPONSE "io.modelcontextprotocol/model-immediate-response"

struct session {
	bool ready;                   /* notifications/initialized has come: we may send notifications of our own */
	enum mcp_version version;     /* agreed by initialize */
	enum mcp_log_level log_level; /* least level of notifications/message */
};

void session_init(struct session *s);

/* What one request is served under. */
struct terms {
	enum mcp_version version;
	enum mcp_log_level log_level; /* stateless: least level of notifications/message about this request, or MCP_LOG_OFF */
	bool tasks;                   /* stateless: the client takes a task in place of a result (SEP-2663) */
};

/* Those of a request that says nothing itself. */
struct terms session_terms(const struct session *s);

/* A refusal of one request. */
struct refusal {
	enum rpc_code code;
	char message[320];
	char data[400]; /* JSON text or "" */
};

/* Decides the terms of the request @m. True, or false with the refusal to answer. */
bool session_serve_as(const struct session *s, const struct rpc *m, struct terms *ret_terms, struct refusal *refusal);

/* Begins a handshake session. Never fails: an unknown @wanted (or NULL) gets the newest handshake revision. */
enum mcp_version session_handshake(struct session *s, const char *wanted);

const char *session_version_name(enum mcp_version version);

/* Adds our name and version, with the members that @version knows. */
void session_write_server_info(struct buf *b, enum mcp_version version);

/* The same with all that we tell of ourselves, an icon too: for the answer by which a client gets to know us. */
void session_introduce(struct buf *b, enum mcp_version version);
