#!/usr/bin/env python3
"""Lines that a client may send, and what each must be answered with: one row for each edge case of JSON-RPC and of both eras.

    wire_table.py --seeds DIR     writes each row's bytes to a file in DIR, for tests/fuzz

A row: (name, bytes in, expected answers in any order: (id or NONE, code or OK)).
"""
import os
import re
import sys

from wire_messages import INVALID, META, META_JSON, NONE, OK, PARAMS, PARSE, UNKNOWN, VERSION
from wire_messages import initialize, line_of, request, rpc

SIDE_EFFECT = "made-by-a-notification"  # a file that must not appear in the workspace


def deep(n):
    return rpc('"id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"filepath":' + "[" * n + "]" * n + "}}")


TABLE = [
    ("not JSON", b"hello\n", [(NONE, PARSE)]),
    ("truncated JSON", b'{"jsonrpc":"2.0","id":1,"method":"ping"\n', [(NONE, PARSE)]),
    ("empty line", b"\n", []),
    ("white space", b" \t \r\n", []),
    ("byte order mark and carriage return", b"\xef\xbb\xbf" + rpc('"id":1,"method":"ping"').strip() + b"\r\n", [(1, OK)]),
    ("byte order mark alone", b"\xef\xbb\xbf\n", []),
    ("two values on a line", rpc('"id":1,"method":"ping"').strip() * 2 + b"\n", [(NONE, PARSE)]),
    ("number", b"42\n", [(NONE, INVALID)]),
    ("string", b'"x"\n', [(NONE, INVALID)]),
    ("null", b"null\n", [(NONE, INVALID)]),
    ("true", b"true\n", [(NONE, INVALID)]),
    ("empty array", b"[]\n", [(NONE, INVALID)]),
    ("batch outside 2025-03-26", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', [(NONE, INVALID)]),
    ("broken batch", b'[{"jsonrpc":"2.0","id":1,"method":"ping"},]\n', [(NONE, PARSE)]),
    ("jsonrpc missing", rpc('"id":1,"method":"ping"', ""), [(1, INVALID)]),
    ("jsonrpc 1.0", rpc('"id":1,"method":"ping"', '"jsonrpc":"1.0",'), [(1, INVALID)]),
    ("jsonrpc is a number", rpc('"id":1,"method":"ping"', '"jsonrpc":2.0,'), [(1, INVALID)]),
    ("leading zero", rpc('"id":1,"method":"ping","params":{"x":01}'), [(NONE, PARSE)]),
    ("trailing comma", rpc('"id":1,"method":"ping",'), [(NONE, PARSE)]),
    ("comment", rpc('"id":1,"method":"ping"/* x */'), [(NONE, PARSE)]),
    ("single quotes", b"{'jsonrpc':'2.0','id':1,'method':'ping'}\n", [(NONE, PARSE)]),
    ("NaN", rpc('"id":1,"method":"ping","params":{"x":NaN}'), [(NONE, PARSE)]),
    ("response", rpc('"id":1,"result":{}'), []),
    ("error response", rpc('"id":1,"error":{"code":1,"message":"x"}'), []),
    ("response with id null", rpc('"id":null,"result":{}'), []),
    ("response without id", rpc('"error":{"code":1,"message":"x"}'), []),
    ("response with _meta", rpc('"id":1,"result":{"_meta":{%s}}' % META_JSON), []),
    ("request with a result", rpc('"id":1,"method":"ping","result":{}'), [(1, OK)]),
    ("neither method nor result", rpc('"id":1'), [(1, INVALID)]),
    ("method is a number", rpc('"id":1,"method":5'), [(1, INVALID)]),
    ("unknown method", rpc('"id":1,"method":"foo/bar"'), [(1, UNKNOWN)]),
    ("resources", rpc('"id":1,"method":"resources/list"'), [(1, OK)]),
    ("resource without uri", rpc('"id":1,"method":"resources/read"'), [(1, PARAMS)]),
    ("unknown resource", rpc('"id":1,"method":"resources/read","params":{"uri":"test://nosuch"}'), [(1, -32002)]),
    ("prompts", rpc('"id":1,"method":"prompts/list"'), [(1, OK)]),
    ("prompt without name", rpc('"id":1,"method":"prompts/get"'), [(1, PARAMS)]),
    ("unknown prompt", rpc('"id":1,"method":"prompts/get","params":{"name":"nosuch"}'), [(1, PARAMS)]),
    ("completion of nothing", rpc('"id":1,"method":"completion/complete"'), [(1, PARAMS)]),
    ("completion with arrays", rpc('"id":1,"method":"completion/complete","params":{"ref":[],"argument":[{}]}'), [(1, PARAMS)]),
    ("unknown notification", rpc('"method":"notifications/foo"'), []),
    ("unknown request without id", rpc('"method":"foo/bar"'), []),
    ("method is empty", rpc('"id":1,"method":""'), [(1, UNKNOWN)]),
    ("request without id", rpc('"method":"tools/call","params":{"name":"run_bash","arguments":{"command":"touch %s"}}' % SIDE_EFFECT), []),
    ("bad notification", rpc('"method":"notifications/cancelled","params":[1]'), []),
    ("cancelled without id", rpc('"method":"notifications/cancelled"'), []),
    ("cancelled for nothing", rpc('"method":"notifications/cancelled","params":{"requestId":99}'), []),
    ("cancelled with an odd id", rpc('"method":"notifications/cancelled","params":{"requestId":{"a":1}}'), []),
    ("notification with id", rpc('"id":1,"method":"notifications/cancelled"'), [(1, UNKNOWN)]),
    ("initialized with id", rpc('"id":1,"method":"notifications/initialized"'), [(1, UNKNOWN)]),
    ("empty string id", rpc('"id":"","method":"ping"'), [("", OK)]),
    ("id of 1 KiB", rpc('"id":"%s","method":"ping"' % ("x" * 1022)), [("x" * 1022, OK)]),
    ("id over 1 KiB", rpc('"id":"%s","method":"ping"' % ("x" * 1023)), [(NONE, INVALID)]),
    ("id null", rpc('"id":null,"method":"ping"'), [(NONE, INVALID)]),
    ("id true", rpc('"id":true,"method":"ping"'), [(NONE, INVALID)]),
    ("id object", rpc('"id":{},"method":"ping"'), [(NONE, INVALID)]),
    ("id array", rpc('"id":[1],"method":"ping"'), [(NONE, INVALID)]),
    ("params null", rpc('"id":1,"method":"tools/list","params":null'), [(1, OK)]),
    ("params absent", rpc('"id":1,"method":"tools/list"'), [(1, OK)]),
    ("params array", rpc('"id":1,"method":"tools/list","params":[]'), [(1, PARAMS)]),
    ("params string", rpc('"id":1,"method":"tools/list","params":"x"'), [(1, PARAMS)]),
    ("duplicate id", rpc('"id":1,"id":2,"method":"ping"'), [(NONE, INVALID)]),
    ("duplicate method", rpc('"id":1,"method":"ping","method":"tools/list"'), [(1, INVALID)]),
    ("duplicate method, escaped", rpc('"id":1,"method":"ping","meth\\u006fd":"tools/list"'), [(1, INVALID)]),
    ("duplicate in params", rpc('"id":1,"method":"ping","params":{"a":1,"a":2}'), [(1, INVALID)]),
    ("duplicate in _meta", rpc('"id":1,"method":"ping","params":{"_meta":{"a":1,"a":2}}'), [(1, INVALID)]),
    ("nested too deeply", deep(200), [(NONE, PARSE)]),
    ("nested deeply", deep(100), [(1, OK)]),
    ("nested absurdly", deep(100000), [(NONE, PARSE)]),
    ("too many values", b"[" + b"0," * 300000 + b"0]\n", [(NONE, INVALID)]),
    ("invalid UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"nope\xff\xfe"}\n', [(1, UNKNOWN)]),
    ("lone surrogate", rpc('"id":1,"method":"nope\\ud800"'), [(1, UNKNOWN)]),
    ("control character", b'{"jsonrpc":"2.0","id":1,"method":"a\x01b"}\n', [(1, UNKNOWN)]),
    ("NUL byte outside a string", b'{"jsonrpc":"2.0",\x00"id":1,"method":"ping"}\n', [(NONE, PARSE)]),
    ("line ends in other alphabets", rpc('"id":1,"method":"a\u2028\u2029\u0085b"'), [(1, UNKNOWN)]),
    ("NUL in an argument", rpc('"id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"filepath":"a\\u0000b"}}'), [(1, OK)]),
    ("NUL elsewhere", rpc('"id":1,"method":"ping","params":{"x":"a\\u0000b"}'), [(1, OK)]),
    ("ping before initialize", rpc('"id":1,"method":"ping"'), [(1, OK)]),
    ("list before initialize", rpc('"id":1,"method":"tools/list"'), [(1, OK)]),
    ("initialize without params", rpc('"id":1,"method":"initialize"'), [(1, OK)]),
    ("initialize twice", line_of(initialize(id_=1)) + line_of(initialize(id_=2)), [(1, OK), (2, OK)]),
    ("cursor that is none of ours", rpc('"id":1,"method":"tools/list","params":{"cursor":"x"}'), [(1, PARAMS)]),
    ("empty cursor", rpc('"id":1,"method":"tools/list","params":{"cursor":""}'), [(1, PARAMS)]),
    ("unknown tool", rpc('"id":1,"method":"tools/call","params":{"name":"nosuch"}'), [(1, PARAMS)]),
    ("call without name", rpc('"id":1,"method":"tools/call","params":{}'), [(1, PARAMS)]),
    ("name is a number", rpc('"id":1,"method":"tools/call","params":{"name":3}'), [(1, PARAMS)]),
    ("arguments are an array", rpc('"id":1,"method":"tools/call","params":{"name":"read_file","arguments":[]}'), [(1, PARAMS)]),
    ("arguments absent", rpc('"id":1,"method":"tools/call","params":{"name":"read_file"}'), [(1, OK)]),
    ("arguments null", rpc('"id":1,"method":"tools/call","params":{"name":"read_file","arguments":null}'), [(1, OK)]),
    ("bad level", rpc('"id":1,"method":"logging/setLevel","params":{"level":"loud"}'), [(1, PARAMS)]),
    ("level missing", rpc('"id":1,"method":"logging/setLevel"'), [(1, PARAMS)]),
    ("good level", rpc('"id":1,"method":"logging/setLevel","params":{"level":"alert"}'), [(1, OK)]),
    # the stateless revision
    ("discover", rpc('"id":1,"method":"server/discover","params":{"_meta":{%s}}' % META_JSON), [(1, OK)]),
    ("discover without _meta", rpc('"id":1,"method":"server/discover"'), [(1, PARAMS)]),
    ("unknown version", rpc('"id":1,"method":"server/discover","params":{"_meta":{%s}}' % META_JSON.replace("2026-07-28", "1900-01-01")), [(1, VERSION)]),
    ("handshake version in _meta", rpc('"id":1,"method":"tools/list","params":{"_meta":{%s}}' % META_JSON.replace("2026-07-28", "2025-06-18")), [(1, VERSION)]),
    ("version is a number", rpc('"id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}'), [(1, PARAMS)]),
    ("capabilities missing", rpc('"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'), [(1, PARAMS)]),
    ("capabilities are a string", rpc('"id":1,"method":"tools/list","params":{"_meta":{%s}}' % META_JSON.replace("{}", '"x"')), [(1, PARAMS)]),
    ("bad log level in _meta", rpc('"id":1,"method":"tools/list","params":{"_meta":{%s,"io.modelcontextprotocol/logLevel":"loud"}}' % META_JSON), [(1, PARAMS)]),
    ("stateless ping", rpc('"id":1,"method":"ping","params":{"_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("stateless setLevel", rpc('"id":1,"method":"logging/setLevel","params":{"level":"info","_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("stateless subscribe", rpc('"id":1,"method":"resources/subscribe","params":{"_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("stateless unsubscribe", rpc('"id":1,"method":"resources/unsubscribe","params":{"_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("stateless initialize", rpc('"id":1,"method":"initialize","params":{"_meta":{%s}}' % META_JSON), [(1, UNKNOWN)]),
    ("initialize with both", rpc('"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","_meta":{%s}}' % META_JSON), [(1, OK)]),
    ("stateless list", rpc('"id":1,"method":"tools/list","params":{"_meta":{%s}}' % META_JSON), [(1, OK)]),
    ("eras alternate", line_of(request(1, "tools/list", _meta=META)) + line_of(request(2, "tools/list")) + line_of(initialize(id_=3))
     + line_of(request(4, "tools/list", _meta=META)) + line_of(request(5, "ping")), [(1, OK), (2, OK), (3, OK), (4, OK), (5, OK)]),
    ("half a message at the end", b"", []),
]

RAW_IDS = ['1', '-5', '9007199254740993', '18446744073709551616', '1.0', '1.5', '1e3', '"a"', '"\\u00e4\\ud83d\\ude00"', '"\\""',
           '"\\ud800"', '0', '4' * 107]


def write_seeds(folder):
    """Small ones only: what is large is about a limit, which needs no variation."""
    os.makedirs(folder, exist_ok=True)
    for name, data, _ in TABLE:
        if len(data) < 4096:
            with open(os.path.join(folder, re.sub(r"\W+", "-", name)), "wb") as f:
                f.write(data)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "--seeds":
        sys.exit(__doc__)
    write_seeds(sys.argv[2])
