#!/usr/bin/env python3
"""Puts an MCP server that speaks on stdin and stdout behind HTTP, for test programs that know HTTP only.

    bridge.py COMMAND [ARGUMENT...]

Listens on a free port of 127.0.0.1, prints the URL, and serves until its standard input ends. A handshake session (revisions up to
2025-11-25) has a process of its own; all requests of 2026-07-28 share one, as clients of a stateless server may. What HTTP adds to
the protocol (headers, status codes, Host and Origin, event streams, disconnects) is the bridge's; everything else is the server's.
The exit status is 1 when a process of the server did not end with 0.
"""
import base64
import binascii
import json
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODERN = "2026-07-28"
HANDSHAKE = ("2025-03-26", "2025-06-18", "2025-11-25")
META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
BODY_MAX = 16 * 1024 * 1024
ERROR_STATUS = {-32601: 404, -32020: 400, -32021: 400, -32022: 400}
NAME_OF = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/get": "taskId", "tasks/update": "taskId",
           "tasks/cancel": "taskId"}
POLL_S = 0.1  # how soon a disconnect is noticed
STOP_S = 10  # with sanitizers on a busy machine


def meta_of(message):
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


class Exchange:
    """A request on its way: what comes back for it, in order."""

    def __init__(self, message):
        self.id = message["id"]
        self.token = meta_of(message).get("progressToken")
        self.logs = META_LOG_LEVEL in meta_of(message)
        self.messages = queue.Queue()


class Server:
    """One process of the server. With @shared, ids and progress tokens are made unique on the way in and restored on the way out."""

    def __init__(self, command, shared):
        self.shared = shared
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock = threading.Lock()
        self.pending = {}  # id on the wire -> Exchange, oldest first
        self.stream = None  # queue of a GET stream
        self.last = 0
        threading.Thread(target=self.read, daemon=True).start()

    def send(self, message):
        line = json.dumps(message).encode() + b"\n"
        with self.lock:
            try:
                self.process.stdin.write(line)
                self.process.stdin.flush()
            except (OSError, ValueError):
                pass  # its end is noticed where its answers are read

    def request(self, message):
        exchange = Exchange(message)
        wire = message["id"]
        with self.lock:
            if self.shared:
                self.last += 1
                wire = self.last
                message = json.loads(json.dumps(message))
                message["id"] = wire
                if exchange.token is not None:
                    message["params"]["_meta"]["progressToken"] = wire
            self.pending[wire] = exchange
        self.send(message)
        return wire, exchange

    def cancel(self, wire):
        with self.lock:
            gone = self.pending.pop(wire, None)
        if gone:
            self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": wire}})

    def read(self):
        for line in self.process.stdout:
            self.route(json.loads(line))
        with self.lock:
            waiting, self.pending = list(self.pending.values()), {}
        for exchange in waiting:
            exchange.messages.put(None)
        if self.stream:
            self.stream.put(None)

    def route(self, message):
        if "method" not in message:
            with self.lock:
                exchange = self.pending.pop(message.get("id"), None)
            if exchange:
                self.restore(message, exchange)
                exchange.messages.put(message)
            return
        exchange = self.find(message)
        if exchange:
            self.restore(message, exchange)
            exchange.messages.put(message)
        elif self.stream:
            self.stream.put(message)

    def find(self, message):
        """The request that a notification or a request of the server belongs to: the newest one where the message does not say."""
        params = message.get("params", {})
        with self.lock:
            newest_first = list(reversed(self.pending.items()))
        if META_SUBSCRIPTION in params.get("_meta", {}):
            wanted = params["_meta"][META_SUBSCRIPTION]
            return next((e for wire, e in newest_first if wire == wanted), None)
        if message["method"] == "notifications/progress":
            wanted = params.get("progressToken")
            return next((e for wire, e in newest_first if wanted == (wire if self.shared else e.token)), None)
        if self.shared:
            return next((e for _, e in newest_first if e.logs), None)
        return newest_first[0][1] if newest_first else None

    def restore(self, message, exchange):
        if not self.shared:
            return
        if "id" in message:
            message["id"] = exchange.id
        for part in (message.get("params"), message.get("result")):
            if not isinstance(part, dict):
                continue
            if "progressToken" in part:
                part["progressToken"] = exchange.token
            if META_SUBSCRIPTION in part.get("_meta", {}):
                part["_meta"][META_SUBSCRIPTION] = exchange.id

    def stop(self):
        """Ends the process as clients do. True when it ended well and by itself."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            status = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if status != 0:
            print("bridge: the server ended with status %d" % status, file=sys.stderr)
        return status == 0


class Bridge(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, command):
        super().__init__(("127.0.0.1", 0), Handler)
        self.command = command
        self.lock = threading.Lock()
        self.sessions = {}
        self.modern = None
        self.all_well = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # clients may go whenever they like
            super().handle_error(request, client_address)

    def shared(self):
        with self.lock:
            if not self.modern:
                self.modern = Server(self.command, True)
            return self.modern

    def begin(self):
        name = uuid.uuid4().hex
        with self.lock:
            self.sessions[name] = Server(self.command, False)
        return name, self.sessions[name]

    def end(self, server):
        if not server.stop():
            self.all_well = False

    def stop(self):
        with self.lock:
            servers = list(self.sessions.values()) + ([self.modern] if self.modern else [])
        for server in servers:
            self.end(server)


class Refused(Exception):
    def __init__(self, status, code, text):
        super().__init__(text)
        self.status, self.code = status, code


def decoded(value):
    """The value of an Mcp-Name header, which may be wrapped in base64."""
    wrapped = re.fullmatch(r"=\?base64\?(.*)\?=", value or "")
    if not wrapped:
        return value
    try:
        return base64.b64decode(wrapped.group(1), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    # --- replies ---------------------------------------------------------------------------------------------------

    def reply(self, status, message=None, headers=()):
        body = b"" if message is None else json.dumps(message).encode()
        self.send_response(status)
        for name, value in [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *headers]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, text, message_id=None):
        error = {"jsonrpc": "2.0", "error": {"code": code, "message": text}}
        self.reply(status, error if message_id is None else {**error, "id": message_id})

    def begin_stream(self, headers):
        self.close_connection = True
        self.send_response(200)
        for name, value in [("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache, no-transform"),
                            ("Connection", "close"), *headers]:
            self.send_header(name, value)
        self.end_headers()

    def event(self, message):
        self.wfile.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")
        self.wfile.flush()

    def disconnected(self):
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def next_message(self, messages):
        """The next message; None when there will be none: the server has ended or the client has gone."""
        while True:
            try:
                return messages.get(timeout=POLL_S)
            except queue.Empty:
                if self.disconnected():
                    return None

    def exchange(self, server, message, headers, status_of):
        """Sends a request and its answer back: as JSON, or as a stream when something comes before the answer."""
        wire, exchange = server.request(message)
        streaming = False
        try:
            while True:
                answer = self.next_message(exchange.messages)
                if answer is None:
                    break
                if "method" not in answer and not streaming:
                    return self.reply(status_of(answer), answer, headers)
                if not streaming:
                    self.begin_stream(headers)
                    streaming = True
                self.event(answer)
                if "method" not in answer:
                    return
        except OSError:
            pass
        if not self.disconnected() and not streaming:
            return self.refuse(502, -32603, "The server has ended.", message["id"])
        self.close_connection = True
        if server.shared:  # in the handshake revisions a disconnect is no cancellation
            server.cancel(wire)

    # --- checks ----------------------------------------------------------------------------------------------------

    def check_origin(self):
        names = ("localhost", "127.0.0.1", "[::1]")
        host = re.fullmatch(r"(.*?)(:\d+)?", self.headers.get("Host") or "")
        origin = self.headers.get("Origin")
        if host.group(1) not in names:
            raise Refused(403, -32000, "This Host is not allowed.")
        if origin is not None and not re.fullmatch(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?", origin):
            raise Refused(403, -32000, "This Origin is not allowed.")

    def body(self):
        """All of it, before anything is refused: what is left unread would be taken for the next request."""
        length = self.headers.get("Content-Length") or ""
        if not length.isdigit() or int(length) > BODY_MAX:
            self.close_connection = True
            raise Refused(413, -32600, "The body has no usable length.")
        return self.rfile.read(int(length))

    def check_modern(self, message, header):
        version = meta_of(message).get(META_VERSION)
        if version is None:
            raise Refused(400, -32602, "_meta has no " + META_VERSION)
        if header != version:
            raise Refused(400, -32020, "MCP-Protocol-Version and _meta disagree.")
        if (self.headers.get("Mcp-Method") or "").strip() != message["method"]:
            raise Refused(400, -32020, "Mcp-Method and method disagree.")
        member = NAME_OF.get(message["method"])
        name = self.headers.get("Mcp-Name")
        if member and decoded(name.strip() if name else None) != message.get("params", {}).get(member):
            raise Refused(400, -32020, "Mcp-Name and params.%s disagree." % member)

    # --- methods ---------------------------------------------------------------------------------------------------

    def do_POST(self):
        message = {}
        try:
            text = self.body()
            self.check_origin()
            message = json.loads(text)
            if not isinstance(message, dict):
                raise Refused(400, -32600, "A message is an object.")
            self.serve(message)
        except ValueError:
            self.refuse(400, -32700, "The body is not JSON.")
        except Refused as refused:
            self.refuse(refused.status, refused.code, str(refused), message.get("id") if isinstance(message, dict) else None)

    def serve(self, message):
        header = (self.headers.get("MCP-Protocol-Version") or "").strip() or None
        is_request = "id" in message and "method" in message
        if META_VERSION in meta_of(message) or (header and header not in HANDSHAKE):
            if not is_request:
                self.server.shared().send(message)
                return self.reply(202)
            self.check_modern(message, header)
            return self.exchange(self.server.shared(), message, (), lambda answer: self.status(message, answer))
        headers = ()
        if message.get("method") == "initialize":
            name, server = self.server.begin()
            headers = (("Mcp-Session-Id", name),)
        else:
            server = self.session()
        if is_request:
            return self.exchange(server, message, headers, lambda _: 200)
        server.send(message)
        return self.reply(202)

    @staticmethod
    def status(message, answer):
        code = answer.get("error", {}).get("code")
        if code == -32602 and not isinstance(meta_of(message).get(META_CAPABILITIES), dict):
            return 400
        return ERROR_STATUS.get(code, 200)

    def session(self):
        name = self.headers.get("Mcp-Session-Id")
        if name is None:
            raise Refused(400, -32000, "There is no Mcp-Session-Id.")
        server = self.server.sessions.get(name)
        if not server:
            raise Refused(404, -32001, "There is no such session.")
        return server

    def do_GET(self):
        try:
            self.check_origin()
            server = self.session()
            if server.stream:
                raise Refused(409, -32000, "The session has a stream already.")
        except Refused as refused:
            return self.refuse(refused.status, refused.code, str(refused))
        server.stream = queue.Queue()
        try:
            self.begin_stream(())
            while (message := self.next_message(server.stream)) is not None:
                self.event(message)
        except OSError:
            pass
        server.stream = None

    def do_DELETE(self):
        try:
            self.check_origin()
            self.session()
        except Refused as refused:
            return self.refuse(refused.status, refused.code, str(refused))
        with self.server.lock:
            server = self.server.sessions.pop(self.headers.get("Mcp-Session-Id"))
        self.server.end(server)
        self.reply(200)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    bridge = Bridge(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("http://127.0.0.1:%d/mcp" % bridge.server_address[1], flush=True)
    threading.Thread(target=bridge.serve_forever, daemon=True).start()
    try:
        while sys.stdin.buffer.read(4096):
            pass
    finally:
        bridge.stop()
    return 0 if bridge.all_well else 1


if __name__ == "__main__":
    sys.exit(main())
