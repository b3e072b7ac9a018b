"""Bytes of one connection become whole requests, or the reason why not. No I/O and no clock.

httptools is strict about what could be read in two ways: two lengths, a length and chunks, folded lines, bare line feeds.
What it lets through and nobody needs is refused here.
"""

from __future__ import annotations

import enum
from collections import deque
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import httptools

from awf.domain.ports.http_server import Memo
from awf.infrastructure.http_server.refusal import Refusal
from awf.infrastructure.http_server.target import target_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.ports.http_server import ServerLimits
    from awf.infrastructure.http_server.target import Target

__all__ = ["Phase", "ReadRequest", "RequestReader"]

NAMES_KEPT = 512
JOINED_LIMIT = 8 * 1024
HEADS_KNOWN = 8
KNOWN_SIZE = 2048
_names: dict[
    bytes, str
] = {}  # header names in small letters: decoding each anew is a tenth of the cost of a request
_ONLY_ONCE = frozenset(
    {"host", "content-type", "authorization", "x-awf-context", "x-awf-operator"}
)  # a second one would be believed by somebody

_MORE_THAN_A_HEAD = frozenset({"transfer-encoding", "upgrade", "expect"})


class Phase(enum.IntEnum):
    IDLE = 0
    HEAD = 1
    BODY = 2


class ReadRequest(NamedTuple):
    method: str
    target: Target
    headers: Mapping[str, str]
    body: bytes
    keep: bool  # the connection may carry another one
    old: bool  # HTTP/1.0
    memo: Memo


class RequestReader:
    """Fills `ready` until there is a `refusal`, or a request that is the `last` one."""

    def __init__(self, limits: ServerLimits) -> None:
        self.ready: deque[ReadRequest] = deque()
        self.refusal: Refusal | None = None
        self.last = False
        self.phase = Phase.IDLE
        self.wants_continue = False
        self._limits = limits
        self._unseen = 0  # bytes since the parser last said something: names and values grow inside of it
        self._upgrading = False
        self._known: dict[bytes, tuple[ReadRequest, int]] = {}
        self._parser = httptools.HttpRequestParser(self)
        self.on_message_begin()
        self.phase = Phase.IDLE

    def feed(self, data: bytes) -> None:
        if self.ready or self.phase is not Phase.IDLE or self.last or self.refusal is not None:
            self._feed_parser(data)
            return
        end = data.find(b"\r\n\r\n") + 4
        head = data[:end]
        known = self._known.get(head)
        if known is not None and known[1] == len(data) - end:
            method, target, headers, _, keep, old, memo = known[0]
            self.ready.append(ReadRequest(method, target, headers, data[end:], keep, old, memo))
            return
        self._feed_parser(data)
        if len(head) <= KNOWN_SIZE:
            self._remember(head, len(data) - end)

    def _remember(self, head: bytes, length: int) -> None:
        """Clients repeat themselves. What the parser took for one whole request is the same request the next time."""
        if len(self.ready) != 1 or self.phase is not Phase.IDLE or self.last or self.refusal is not None:
            return
        request = self.ready[0]
        if len(request.body) != length or not _MORE_THAN_A_HEAD.isdisjoint(request.headers):
            return
        if len(self._known) >= HEADS_KNOWN:
            self._known.clear()
        # Nobody may change what is remembered, and a body is not worth the room.
        headers = MappingProxyType(dict(request.headers))
        self._known[head] = (request._replace(headers=headers, body=b"", memo=Memo()), length)

    def _feed_parser(self, data: bytes) -> None:
        while data and self.refusal is None and not self.last:
            data = self._parse(data)

    def _parse(self, data: bytes) -> bytes:
        """What is still to be parsed, after the parser stopped in the middle."""
        self._unseen += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._go_on_without_upgrade()
            return data[upgrade.args[0] :]
        except httptools.HttpParserError as error:
            self._fail(error)
        else:
            if self._unseen > self._limits.max_headers and self.phase is not Phase.IDLE:
                self.refusal = Refusal(431, "the headers are too long")
        return b""

    def _fail(self, error: Exception) -> None:
        reason = error.__context__
        if isinstance(reason, Refusal):
            self.refusal = reason
        elif not self.last:  # what comes after the last request is nobody's
            self.refusal = Refusal(400, "this is not an HTTP/1.1 request")

    # httptools' side

    def on_message_begin(self) -> None:
        self.phase = Phase.HEAD
        self._raw_target = b""
        self._fields: dict[str, str] = {}
        self._body: list[bytes] = []
        self._body_size = 0

    def on_url(self, url: bytes) -> None:
        self._raw_target += url
        if len(self._raw_target) > self._limits.max_target:
            raise Refusal(414, "the address is too long")

    def on_header(self, name: bytes, value: bytes) -> None:
        key = _names.get(name) or _name(name)
        fields = self._fields
        text = value.decode("latin-1").strip(" \t")  # the parser leaves what stands at the end
        fields[key] = _joined(key, fields[key], text) if key in fields else text

    def on_headers_complete(self) -> None:
        self._headers, self._fields = self._fields, {}  # trailers, which nobody asked for, stay apart
        if self._unseen > self._limits.max_headers:
            self._measure()
        self._unseen = 0
        self._method = self._parser.get_method().decode()
        self._old = self._parser.get_http_version() != "1.1"
        if self._method == "CONNECT":
            raise Refusal(501, "this is not a proxy")
        self._target = target_of(self._raw_target)
        self._check_head()
        self.phase = Phase.BODY

    def _measure(self) -> None:
        """Exactly, since what came with the head may be the body."""
        if sum(len(key) + len(value) for key, value in self._headers.items()) > self._limits.max_headers:
            raise Refusal(431, "the headers are too long")

    def _check_head(self) -> None:
        headers = self._headers
        if self._old:
            self._check_old()
        elif "host" not in headers:
            raise Refusal(400, "there is no Host header")
        if self._target.path == "*" and self._method != "OPTIONS":
            raise Refusal(400, "only OPTIONS may ask for *")
        if self._target.host:
            headers["host"] = self._target.host
        if headers.get("transfer-encoding", "chunked").lower() != "chunked":
            raise Refusal(501, "the only transfer encoding here is chunked")
        if int(headers.get("content-length", 0)) > self._limits.max_body:
            raise self._too_large()
        if "expect" in headers:
            self._check_expectation(headers["expect"])

    def _check_old(self) -> None:
        if self._parser.get_http_version() != "1.0":
            raise Refusal(505, "this server speaks HTTP/1.1")
        if "transfer-encoding" in self._headers:
            raise Refusal(400, "HTTP/1.0 has no transfer encoding")

    def _check_expectation(self, expected: str) -> None:
        if expected.lower() != "100-continue":
            raise Refusal(417, "the only expectation that can be met is 100-continue")
        self.wants_continue = not self._old

    def on_chunk_header(self) -> None:
        self._unseen = 0

    def on_body(self, body: bytes) -> None:
        self._unseen = 0
        self.wants_continue = False
        self._body_size += len(body)
        if self._body_size > self._limits.max_body:
            raise self._too_large()
        self._body.append(body)

    def on_message_complete(self) -> None:
        if "upgrade" in self._headers and not self._upgrading and self._parser.should_upgrade():
            return  # its body is still to come, see below
        keep = self._parser.should_keep_alive()
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self.ready.append(
            ReadRequest(self._method, self._target, self._headers, body, keep, self._old, Memo())
        )
        self.last = not keep
        self.phase = Phase.IDLE
        self.wants_continue = self._upgrading = False
        self._unseen = 0

    def _too_large(self) -> Refusal:
        return Refusal(413, f"the body is longer than {self._limits.max_body} bytes")

    # A wish to change the protocol may be ignored, and is: some clients send it with their first request, body and all.
    # The parser takes it for granted and stops after the head, so another one gets a head that only tells of the body.

    def _go_on_without_upgrade(self) -> None:
        self._upgrading = True
        self._parser = httptools.HttpRequestParser(_AfterUpgrade(self))
        names = ("content-length", "transfer-encoding")
        lines = [f"{name}: {self._headers[name]}" for name in names if name in self._headers]
        if self._old or "close" in self._headers.get("connection", "").lower():
            lines.append("connection: close")
        self._parser.feed_data("\r\n".join(["POST / HTTP/1.1", *lines, "", ""]).encode("latin-1"))


class _AfterUpgrade:
    """Keeps the head that was made up from the reader, and nothing else."""

    def __init__(self, reader: RequestReader) -> None:
        self._reader = reader
        self._made_up = True
        self.on_body = reader.on_body
        self.on_chunk_header = reader.on_chunk_header
        self.on_message_complete = reader.on_message_complete

    def on_message_begin(self) -> None:
        if not self._made_up:
            self._reader.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._made_up:
            self._reader.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._made_up:
            self._reader.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._made_up:
            self._made_up = False
        else:
            self._reader.on_headers_complete()


def _joined(key: str, one: str, other: str) -> str:
    if key in _ONLY_ONCE:
        raise Refusal(400, f"there is more than one {key} header")
    if len(one) > JOINED_LIMIT:  # joining over and over would cost more than it cost to send
        raise Refusal(431, f"there is too much in the {key} headers")
    return f"{one}{'; ' if key == 'cookie' else ', '}{other}"


def _name(raw: bytes) -> str:
    name = raw.decode("latin-1").lower()
    if len(_names) < NAMES_KEPT:
        _names[raw] = name
    return name
