"""WebSocket frames, byte by byte."""

from __future__ import annotations

import pytest

from awf.infrastructure.upstreams.websocket import handshake, wire
from awf.infrastructure.upstreams.websocket.wire import (
    BINARY,
    CLOSE,
    PING,
    TEXT,
    Breach,
    Message,
    MessageReader,
)


def server_frame(kind, data, final=True):
    size = len(data)
    if size < 126:
        length = bytes([size])
    else:
        length = b"\x7e" + size.to_bytes(2, "big") if size < 65536 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([(0x80 if final else 0) | kind]) + length + data


def test_the_frames_of_the_standards_own_examples_are_read_and_written():
    assert MessageReader(100).feed(b"\x81\x05Hello") == [Message(TEXT, b"Hello")]
    assert MessageReader(100).feed(b"\x01\x03Hel\x80\x02lo") == [Message(TEXT, b"Hello")]
    masked = bytes.fromhex("818537fa213d7f9f4d5158")
    assert wire.frame(TEXT, b"Hello", mask=bytes.fromhex("37fa213d")) == masked


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536])
def test_every_length_is_written_and_masked(size):
    data = bytes(number % 251 for number in range(size))
    made = wire.frame(TEXT, data)
    start = {True: 2, False: 4 if size < 65536 else 10}[size < 126]
    length = made[1] & 0x7F if size < 126 else int.from_bytes(made[2:start], "big")
    mask, masked = made[start : start + 4], made[start + 4 :]

    assert (made[0], made[1] & 0x80, length) == (0x81, 0x80, size)
    assert bytes(byte ^ mask[place % 4] for place, byte in enumerate(masked)) == data


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536])
def test_frames_are_found_wherever_the_bytes_are_cut(size):
    data = server_frame(TEXT, b"x" * size) + server_frame(PING, b"p") + server_frame(BINARY, b"\xff")
    step = 1 if size < 1000 else 4099
    reader, found = MessageReader(100_000), []
    for start in range(0, len(data), step):
        found += reader.feed(data[start : start + step])

    assert found == [Message(TEXT, b"x" * size), Message(PING, b"p"), Message(BINARY, b"\xff")]


def test_control_frames_may_come_between_the_pieces_of_a_message():
    data = (
        server_frame(TEXT, "ö".encode()[:1], final=False) + server_frame(PING, b"") + server_frame(0, b"\xb6")
    )

    assert MessageReader(10).feed(data) == [Message(PING, b""), Message(TEXT, "ö".encode())]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (server_frame(TEXT, b"x" * 101), 1009),
        (server_frame(TEXT, b"x" * 60, final=False) + server_frame(0, b"x" * 41), 1009),
        (b"\x81\x7f" + b"\xff" * 8, 1009),  # said, not yet sent
        (server_frame(0, b"x"), 1002),
        (server_frame(TEXT, b"x", final=False) + server_frame(TEXT, b"y"), 1002),
        (server_frame(3, b""), 1002),
        (server_frame(PING, b"x", final=False), 1002),
        (server_frame(CLOSE, b"x" * 126), 1002),
        (b"\xc1\x00", 1002),
        (wire.frame(TEXT, b"x", b"mask"), 1002),
        (server_frame(TEXT, b"\xff"), 1007),
    ],
)
def test_what_breaks_the_rules_is_refused_with_its_code(data, code):
    with pytest.raises(Breach) as caught:
        MessageReader(100).feed(data)
    assert caught.value.code == code


def test_the_standards_own_key_is_accepted():
    key = "dGhlIHNhbXBsZSBub25jZQ=="
    head = (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: mcp\r\n\r\n"
    )
    upgrade = handshake.upgrade_in(head)

    assert handshake.objection("x", upgrade, key) is None
    assert handshake.objection("x", upgrade, handshake.new_key()) is not None


@pytest.mark.parametrize(
    ("url", "place", "authority"),
    [
        ("ws://a", (False, "a", 80, "/"), "a"),
        ("wss://a:8443/mcp?x=ü y", (True, "a", 8443, "/mcp?x=%C3%BC%20y"), "a:8443"),
        ("wss://[::1]/", (True, "::1", 443, "/"), "[::1]"),
        ("ws://bücher.example/", (False, "xn--bcher-kva.example", 80, "/"), "xn--bcher-kva.example"),
    ],
)
def test_addresses_are_taken_apart(url, place, authority):
    assert (handshake.place_of(url), handshake.place_of(url).authority) == (place, authority)


def test_a_header_that_would_begin_another_is_not_sent():
    with pytest.raises(ValueError, match="cannot be sent"):
        handshake.request(handshake.place_of("ws://a/"), {"X": "a\r\nY: b"}, "k")
