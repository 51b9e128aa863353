/*
 * The JSON-RPC 2.0 envelope: what kind of message a line is, and the texts of answers.
 *
 * Ids and progress tokens are kept and echoed as the JSON text their sender wrote.
 */
#pragma once

#include <stddef.h>

#include <cjson/cJSON.h>

#include "mcp/scan.h"
#include "runtime/base/attr.h"
#include "runtime/base/buf.h"

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_RESOURCE_NOT_FOUND = -32002,  /* MCP until 2025-11-25 */
	RPC_MISSING_CAPABILITY = -32021,  /* MCP 2026-07-28: of the client */
	RPC_UNSUPPORTED_VERSION = -32022, /* MCP 2026-07-28 */
};

enum rpc_kind {
	RPC_REQUEST,
	RPC_NOTIFICATION,
	RPC_RESPONSE, /* to nothing we asked: ignored */
	RPC_BAD,      /* to be answered with code and problem */
	RPC_SILENT,   /* a bad notification: never answered */
};

struct rpc {
	enum rpc_kind kind;
	char *id;            /* JSON text; NULL when there is none or it must not be echoed */
	const char *method;  /* in tree */
	const cJSON *params; /* an object in tree, or NULL */
	char *token;         /* JSON text of the progress token, or NULL */
	char *target;        /* JSON text of the request to cancel, or NULL */
	char nul_name[SCAN_NAME_MAX + 1]; /* an argument of tools/call that held U+0000, or "" */
	size_t size;         /* bytes that keeping the message costs, roughly */
	enum rpc_code code;
	char problem[200];
	cJSON *tree;
};

/* Reads one message that is not an array. Never fails: what is wrong is told by @m->kind. */
void rpc_parse(struct rpc *m, const char *line, size_t len);

/* For the head of a line that was too long: an RPC_BAD with the id, if that stood in the head. */
void rpc_too_long(struct rpc *m, const char *head, size_t len, size_t max);

void rpc_done(struct rpc *m);
#define _cleanup_rpc_ _cleanup_(rpc_done)

/* Members of params; NULL when absent or of another type. */
const cJSON *rpc_param(const struct rpc *m, const char *name);
const char *rpc_param_str(const struct rpc *m, const char *name);

/* {"jsonrpc":"2.0","id":ID,"error":{…}} without the id when it is NULL; @data is JSON text or NULL. */
void rpc_write_error(struct buf *b, const char *id, enum rpc_code code, const char *message, const char *data);

/* {"jsonrpc":"2.0","id":ID,"result": and the closing brace to go behind the result. */
void rpc_begin_result(struct buf *b, const char *id);
void rpc_end_result(struct buf *b);

/* Adds a tree of cJSON; NULL is written as null. */
void rpc_write_tree(struct buf *b, const cJSON *tree);
