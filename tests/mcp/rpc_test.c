/*
 * The envelope: every kind of message, good and bad.
 */
#include "mcp/rpc.h"

#include <string.h>

#include "tests/harness/unit.h"

static const struct {
	const char *line;
	enum rpc_kind kind;
	int code;       /* of RPC_BAD */
	const char *id; /* what an answer would carry, or NULL */
} rows[] = {
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", RPC_REQUEST, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\",\"params\":{}}", RPC_REQUEST, 0, "1.0" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"m\",\"params\":null}", RPC_REQUEST, 0, "\"\"" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", RPC_NOTIFICATION, 0, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RPC_RESPONSE, 0, "1" },
	{ "{\"id\":1,\"error\":{}}", RPC_RESPONSE, 0, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", RPC_RESPONSE, 0, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[1]}", RPC_BAD, RPC_INVALID_PARAMS, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":3}", RPC_BAD, RPC_INVALID_PARAMS, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":[1]}", RPC_SILENT, 0, NULL },
	{ "nonsense", RPC_BAD, RPC_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"", RPC_BAD, RPC_PARSE_ERROR, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}{}", RPC_BAD, RPC_PARSE_ERROR, NULL },
	{ "42", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "\"x\"", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "null", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "{}", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "{\"id\":1,\"method\":\"m\"}", RPC_BAD, RPC_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", RPC_BAD, RPC_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", RPC_BAD, RPC_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7}", RPC_BAD, RPC_INVALID_REQUEST, "7" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":7}", RPC_BAD, RPC_INVALID_REQUEST, "7" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"m\"}", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}", RPC_BAD, RPC_INVALID_REQUEST, NULL },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"method\":\"n\"}", RPC_BAD, RPC_INVALID_REQUEST, "1" },
	{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":1,\"a\":2}}", RPC_BAD, RPC_INVALID_REQUEST,
	  "1" },
};

START_TEST(test_rows)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_rpc_ struct rpc m;
		rpc_parse(&m, rows[i].line, strlen(rows[i].line));
		ck_assert_msg(m.kind == rows[i].kind, "'%s': kind %d", rows[i].line, (int) m.kind);
		if (m.kind == RPC_BAD) {
			ck_assert_msg((int) m.code == rows[i].code, "'%s': code %d", rows[i].line, (int) m.code);
			ck_assert(m.problem[0] != '\0');
		}
		ck_assert_msg(!m.id == !rows[i].id, "'%s': id %s", rows[i].line, m.id ? m.id : "absent");
		if (m.id)
			ck_assert_str_eq(m.id, rows[i].id);
	}
}
END_TEST

START_TEST(test_too_long)
{
	static const char head[] =
		"{\"jsonrpc\":\"2.0\",\"id\":\"big\",\"method\":\"tools/call\",\"params\":{\"x\":\"aaaa";
	_cleanup_rpc_ struct rpc m;

	rpc_too_long(&m, head, sizeof(head) - 1, 100);
	ck_assert_int_eq(m.kind, RPC_BAD);
	ck_assert_int_eq((int) m.code, RPC_INVALID_REQUEST);
	ck_assert_str_eq(m.id, "\"big\"");
	ck_assert_ptr_nonnull(strstr(m.problem, "100"));
}
END_TEST

START_TEST(test_error_text)
{
	_cleanup_buf_ struct buf b = BUF_INIT(1000);

	rpc_write_error(&b, NULL, RPC_PARSE_ERROR, "a \"b\"\n", NULL);
	ck_assert_str_eq(b.p, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"a \\\"b\\\"\\n\"}}");
	buf_clear(&b);
	rpc_write_error(&b, "1e3", RPC_INTERNAL_ERROR, "m", "[1]");
	ck_assert_str_eq(b.p,
			 "{\"jsonrpc\":\"2.0\",\"id\":1e3,\"error\":{\"code\":-32603,\"message\":\"m\",\"data\":[1]}}");
}
END_TEST

UNIT_MAIN("mcp/rpc", test_rows, test_too_long, test_error_text)
