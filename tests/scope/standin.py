"""A stand-in for systemd's manager, and for the bus before it: enough of D-Bus's wire protocol for one conversation.

It answers one call, StartTransientUnit, and misbehaves on demand. What it was asked for is kept for the test to look at.
"""
import os
import socket
import struct
import threading

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_SERIAL, DESTINATION, SENDER, SIGNATURE = range(1, 9)
MANAGER = "org.freedesktop.systemd1.Manager"
OBJECT = "/org/freedesktop/systemd1"
ALIGN = {"y": 1, "b": 4, "n": 2, "q": 2, "i": 4, "u": 4, "x": 8, "t": 8, "d": 8, "s": 4, "o": 4, "g": 1, "v": 1, "a": 4, "(": 8, "{": 8}
FIXED = {"y": "<B", "b": "<I", "n": "<h", "q": "<H", "i": "<i", "u": "<I", "x": "<q", "t": "<Q", "d": "<d"}


def split(signature):
    """The complete types that a signature is made of."""
    types = []
    while signature:
        end = 0
        while signature[end] == "a":
            end += 1
        if signature[end] in "({":
            depth = 0
            while True:
                depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[end], 0)
                if depth == 0:
                    break
                end += 1
        types.append(signature[:end + 1])
        signature = signature[end + 1:]
    return types


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if self.at + size > len(self.data):
            raise ValueError("the message is too short")
        self.at += size
        return self.data[self.at - size:self.at]

    def fields(self):
        """Those of a message's header, by their codes."""
        self.at = 12
        return dict(self.one("a(yv)"))

    def one(self, kind):
        self.at += -self.at % ALIGN[kind[0]]
        if kind in FIXED:
            return struct.unpack(FIXED[kind], self.take(struct.calcsize(FIXED[kind])))[0]
        if kind in "sog":
            text = self.take(self.one("y" if kind == "g" else "u")).decode()
            self.take(1)
            return text
        if kind == "v":
            return self.one(self.one("g"))
        if kind[0] == "a":
            size = self.one("u")
            self.at += -self.at % ALIGN[kind[1]]
            end, items = self.at + size, []
            while self.at < end:
                items.append(self.one(kind[1:]))
            return items
        return tuple(self.one(part) for part in split(kind[1:-1]))


class Writer:
    def __init__(self):
        self.data = bytearray()

    def one(self, kind, value):
        self.data += bytes(-len(self.data) % ALIGN[kind[0]])
        if kind in FIXED:
            self.data += struct.pack(FIXED[kind], value)
        elif kind in "sog":
            raw = value.encode()
            self.data += struct.pack("<B" if kind == "g" else "<I", len(raw)) + raw + b"\0"
        elif kind == "v":
            self.one("g", value[0])
            self.one(value[0], value[1])
        elif kind[0] == "a":
            self.one("u", 0)
            at = len(self.data)
            self.data += bytes(-len(self.data) % ALIGN[kind[1]])
            begin = len(self.data)
            for item in value:
                self.one(kind[1:], item)
            struct.pack_into("<I", self.data, at - 4, len(self.data) - begin)
        else:
            for part, item in zip(split(kind[1:-1]), value):
                self.one(part, item)


def message(kind, serial, fields, signature="", body=()):
    content = Writer()
    for part, value in zip(split(signature), body):
        content.one(part, value)
    types = {PATH: "o", REPLY_SERIAL: "u", SIGNATURE: "g"}
    if signature:
        fields = fields | {SIGNATURE: signature}
    head = Writer()
    for value in (ord("l"), kind, 1, 1):
        head.one("y", value)
    head.one("u", len(content.data))
    head.one("u", serial)
    head.one("a(yv)", [(code, (types.get(code, "s"), value)) for code, value in fields.items()])
    head.data += bytes(-len(head.data) % 8)
    return bytes(head.data + content.data)


class Manager(threading.Thread):
    """Listens at `path` and serves one connection as `behave` says; a bus lies before it unless `direct`."""

    def __init__(self, path, behave="done", direct=False, place=None):
        super().__init__(daemon=True)
        self.behave, self.direct, self.place = behave, direct, place
        self.asked, self.order, self.serial = None, [], 100
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        os.chmod(path, 0o777)
        self.listener.listen(8)
        self.connected = threading.Event()
        self.over = threading.Event()
        self.stop = threading.Event()

    def run(self):
        try:
            self.sock, _ = self.listener.accept()
            self.connected.set()
            with self.sock:
                self.serve()
        except (ConnectionError, EOFError):
            pass
        finally:
            self.over.set()

    def close(self):
        self.stop.set()
        self.listener.close()

    def hold(self):
        """Keeps the connection and says nothing, until the other end goes or the test does."""
        self.sock.settimeout(0.1)
        while not self.stop.is_set():
            try:
                if not self.sock.recv(4096):
                    return
            except TimeoutError:
                pass

    def receive(self, size):
        data = b""
        while len(data) < size:
            part = self.sock.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def line(self):
        text = b""
        while not text.endswith(b"\r\n"):
            text += self.receive(1)
        return text[:-2].lstrip(b"\0").decode()

    def authenticate(self):
        """False when the conversation is over already."""
        if self.behave == "mute":
            self.hold()
            return False
        if self.behave == "noise":
            self.sock.sendall(b"\0\377 220 mail.example ESMTP\r\n" * 8)
            self.hold()
            return False
        while True:
            words = self.line().split()
            if self.behave == "reject":
                self.sock.sendall(b"REJECTED EXTERNAL\r\n")
            elif words[0] == "BEGIN":
                return True
            elif words[0] == "AUTH" and len(words) == 2:
                self.sock.sendall(b"DATA\r\n")
            elif words[0] in ("AUTH", "DATA"):
                self.sock.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
            elif words[0] == "NEGOTIATE_UNIX_FD":
                self.sock.sendall(b"ERROR\r\n")

    def read(self):
        head = self.receive(16)
        _, kind, _, _, body_size, serial, fields_size = struct.unpack("<BBBBIII", head)
        rest = self.receive(fields_size + -fields_size % 8)
        return kind, serial, Reader(head + rest).fields(), self.receive(body_size)

    def send(self, kind, fields, signature="", body=()):
        self.serial += 1
        if not self.direct:
            fields = fields | {DESTINATION: ":1.7"}
        self.sock.sendall(message(kind, self.serial, fields, signature, body))

    def reply(self, serial, signature="", body=(), sender="org.freedesktop.systemd1"):
        self.send(RETURN, {REPLY_SERIAL: serial} | ({} if self.direct else {SENDER: sender}), signature, body)

    def error(self, serial, name, text):
        self.send(ERROR, {REPLY_SERIAL: serial, ERROR_NAME: name} | ({} if self.direct else {SENDER: "org.freedesktop.DBus"}), "s", (text,))

    def removed(self, unit, result, number=42, signature="uoss"):
        fields = {PATH: OBJECT, INTERFACE: MANAGER, MEMBER: "JobRemoved"} | ({} if self.direct else {SENDER: "org.freedesktop.systemd1"})
        body = (number, OBJECT + "/job/%d" % number, unit, result)
        self.send(SIGNAL, fields, signature, body[:len(split(signature))])

    def serve(self):
        if not self.authenticate():
            return
        while not self.stop.is_set():
            _, serial, fields, body = self.read()
            member = fields.get(MEMBER)
            self.order.append(member)
            if member == "Hello":
                self.reply(serial, "s", (":1.7",), "org.freedesktop.DBus")
            elif member == "AddMatch":
                if self.behave == "no-match":
                    self.error(serial, "org.freedesktop.DBus.Error.LimitsExceeded", "too many matches")
                else:
                    self.reply(serial, sender="org.freedesktop.DBus")
            elif member == "StartTransientUnit":
                reader = Reader(body)
                self.asked = [reader.one(part) for part in split(fields[SIGNATURE])]
                self.signature, self.head = fields[SIGNATURE], fields
                getattr(self, "do_" + self.behave.replace("-", "_"))(serial, self.asked[0])

    # --- what it does when it is asked ----------------------------------------------------------------------------------

    def accept_call(self, serial):
        self.reply(serial, "o", (OBJECT + "/job/42",))

    def do_done(self, serial, unit):
        if self.place:
            self.place(unit, dict(self.asked[2])["PIDs"][0])
        self.accept_call(serial)
        self.removed(unit, "done")

    def do_signal_first(self, serial, unit):
        self.removed(unit, "done")
        self.accept_call(serial)

    def do_others_first(self, serial, unit):
        for number in range(500):
            self.removed("other-%d.service" % number, "failed", number)
        self.accept_call(serial)
        self.removed("cloche-1-0000000000000000.scope", "failed")
        self.removed(unit, "done")

    def do_job_failed(self, serial, unit):
        self.accept_call(serial)
        self.removed(unit, "failed")

    def do_denied(self, serial, _):
        self.error(serial, "org.freedesktop.DBus.Error.AccessDenied", "Access denied")

    def do_ugly(self, serial, _):
        self.error(serial, "org.example.Ugly", "\033[31mno\n" + "x" * 5000)

    def do_too_old(self, serial, _):
        self.error(serial, "org.freedesktop.DBus.Error.PropertyReadOnly", "Cannot set property CollectMode, or unknown property.")

    def do_no_manager(self, serial, _):
        self.error(serial, "org.freedesktop.DBus.Error.ServiceUnknown", "The name is not activatable")

    def do_silent(self, _, __):
        self.hold()

    do_no_match = do_silent

    def do_half(self, serial, _):
        self.accept_call(serial)
        self.hold()

    def do_flood(self, serial, _):
        self.accept_call(serial)
        while not self.stop.is_set():
            self.removed("other.service", "done")

    def do_hang_up(self, _, __):
        self.sock.shutdown(socket.SHUT_RDWR)

    def do_garbage(self, _, __):
        self.sock.sendall(os.urandom(65536))
        self.hold()

    def do_other_form(self, serial, _):
        self.accept_call(serial)
        self.removed("x", "y", signature="uo")

    def do_huge(self, _, __):
        """A message of 100 MiB, none of which must be believed before it is there."""
        self.sock.sendall(struct.pack("<BBBBIII", ord("l"), SIGNAL, 1, 1, 100 << 20, 7, 8) + bytes(8))
        try:
            for _ in range(100):
                self.sock.sendall(bytes(1 << 20))
        except OSError:
            pass
        self.hold()

