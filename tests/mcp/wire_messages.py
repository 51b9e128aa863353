"""The messages that the tests of cloche-mcp on the wire are made of. Nothing here starts a program."""
import json

MAX_LINE = 16 * 1024 * 1024
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
META_JSON = json.dumps(META)[1:-1]
NONE = object()  # no id at all
PING = b'{"jsonrpc":"2.0","id":"after","method":"ping"}\n'
OK, PARSE, INVALID, UNKNOWN, PARAMS, VERSION = "result", -32700, -32600, -32601, -32602, -32022


def request(id_, method, **params):
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def call(id_, tool, **arguments):
    return request(id_, "tools/call", name=tool, arguments=arguments)


def notification(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def initialize(version="2025-06-18", id_="init"):
    return request(id_, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "t", "version": "1"})


def line_of(message):
    return json.dumps(message).encode() + b"\n"


def rpc(body, jsonrpc='"jsonrpc":"2.0",'):
    return ("{" + jsonrpc + body + "}\n").encode()


def outcome(message):
    return (message.get("id", NONE), message["error"]["code"] if "error" in message else OK)


def text_of(answer):
    return answer["result"]["content"][0]["text"]
