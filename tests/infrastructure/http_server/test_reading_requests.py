"""Bytes become requests or refusals: no sockets here."""

from __future__ import annotations

import contextlib

import pytest

from awf.domain.ports.http_server import ServerLimits
from awf.infrastructure.http_server.answer import refusal_bytes, stream_head, whole
from awf.infrastructure.http_server.reader import Phase, RequestReader
from awf.infrastructure.http_server.refusal import Refusal
from awf.infrastructure.http_server.target import target_of

HEAD = b"POST /a HTTP/1.1\r\nHost: x\r\n"


def read(*pieces, **limits):
    reader = RequestReader(ServerLimits(**limits))
    for piece in pieces:
        reader.feed(piece)
    return reader


def refused(*pieces, **limits):
    reader = read(*pieces, **limits)
    assert reader.refusal is not None, list(reader.ready)
    assert not reader.ready
    return reader.refusal.status


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"Content-Length: 3, 4\r\n\r\nabcd",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: +3\r\n\r\nabc",
        b"Content-Length: 99999999999999999999999999\r\n\r\n",
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"X: a\r\n folded\r\n\r\n",
        b"X: a\nY: b\r\n\r\n",
        b"X: a\rb\r\n\r\n",
        b"X: a\0b\r\n\r\n",
        b": nameless\r\n\r\n",
        b"Host: y\r\n\r\n",
        b"Authorization: a\r\nAuthorization: b\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(rest):
    assert refused(HEAD + rest) in {400, 501}


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 400),
        (b"hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # no Host
        (b"GET /\r\n\r\n", 505),
        (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", 501),
        (b"GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /%ff HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET /?a=%f HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET http://me:secret@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: x\r\nExpect: cake\r\nContent-Length: 1\r\n\r\n", 417),
    ],
)
def test_what_is_not_a_proper_request_is_refused(data, status):
    assert refused(data) == status


def test_a_request_that_comes_byte_by_byte_is_the_same_request():
    data = (
        b"POST /a%20b?q=1&r=x+y HTTP/1.1\r\nHost: x\r\nX-One: 1\r\nx-one: 2\r\nContent-Length: 3\r\n\r\nabc"
    )
    [one] = read(data).ready
    [other] = read(*(data[i : i + 1] for i in range(len(data)))).ready
    assert one[:-1] == other[:-1]
    assert (one.method, one.target.path, dict(one.target.query)) == ("POST", "/a b", {"q": "1", "r": "x y"})
    assert one.headers == {"host": "x", "x-one": "1, 2", "content-length": "3"}
    assert one.body == b"abc"


def test_chunks_are_joined_and_trailers_do_not_become_headers():
    data = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nHost: evil\r\n\r\n"
    [request] = read(data).ready
    assert request.body == b"abcde"
    assert request.headers["host"] == "x"


def test_several_requests_in_one_piece_come_out_in_order_and_garbage_comes_after_them():
    get = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
    reader = read(get % 1 + get % 2 + b"garbage\r\n\r\n")
    assert [request.target.path for request in reader.ready] == ["/1", "/2"]
    assert reader.refusal is not None


def test_nothing_is_read_after_the_last_request():
    reader = read(b"GET /1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\n", b"garbage")
    assert [request.target.path for request in reader.ready] == ["/1"]
    assert (reader.last, reader.refusal) == (True, None)


@pytest.mark.parametrize(
    "body",
    [
        b"Content-Length: 5\r\n\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    ],
)
def test_a_wish_for_another_protocol_is_ignored_and_the_body_still_read(body):
    first = HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n" + body
    data = first + b"GET /b HTTP/1.1\r\nHost: y\r\n\r\n"
    for pieces in ([data], [data[i : i + 1] for i in range(len(data))]):
        one, two = read(*pieces).ready
        assert (one.method, one.target.path, one.body, one.keep) == ("POST", "/a", b"hello", True)
        assert (two.method, two.target.path, two.headers["host"]) == ("GET", "/b", "y")


def test_many_wishes_for_another_protocol_in_one_piece_are_all_ignored():
    wish = b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert len(read(wish * 3000).ready) == 3000


def test_a_head_that_comes_again_gives_the_same_request_whatever_comes_between():
    one = HEAD + b"X: 1\r\nContent-Length: 3\r\n\r\n"
    other = b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n"
    chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n"
    upgrade = HEAD + b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nup!"
    pieces = [
        *(one + b"abc", one + b"def", one + b"gh", b"i", one, b"jkl", other, other, chunked, chunked),
        *(upgrade, upgrade, one + b"mno" + one + b"pqr", one + b"stu" + other, b"\r\n", other, one + b"vwx"),
    ]
    expected = [b"abc", b"def", b"ghi", b"jkl", b"", b"", b"xyz", b"xyz"]
    expected += [b"up!", b"up!", b"mno", b"pqr", b"stu", b"", b"", b"vwx"]
    reader = read()
    seen = []
    for piece in pieces:
        reader.feed(piece)
        seen.extend(reader.ready)
        reader.ready.clear()
    assert reader.refusal is None
    assert len(reader._known) == 2
    assert [request.body for request in seen] == expected
    fresh = [read(piece).ready[0] for piece in (one + b"abc", other)]
    same = [request[:-1] for request in seen if request.body in {b"abc", b""}]
    assert same == [fresh[0][:-1], *[fresh[1][:-1]] * 4]


def test_empty_lines_between_requests_are_not_taken_for_a_request():
    reader = read(b"GET /b HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n\r\n", b"\r\n\r\n")
    assert len(reader.ready) == 1
    reader.ready.clear()
    reader.feed(b"\r\n\r\n")
    assert (len(reader.ready), reader.refusal) == (0, None)


def test_a_head_is_remembered_without_the_changes_that_a_handler_made():
    data = HEAD + b"Content-Length: 1\r\n\r\na"
    reader = read()
    for _ in range(3):
        reader.feed(data)
        request = reader.ready.popleft()
        assert request.headers == {"host": "x", "content-length": "1"}
        with contextlib.suppress(TypeError):  # what was remembered cannot be changed at all
            request.headers["evil"] = "yes"


def test_requests_with_the_same_head_share_a_memo():
    data, other = HEAD + b"Content-Length: 1\r\n\r\na", HEAD + b"Content-Length: 2\r\n\r\nbb"
    reader = read()
    memos = []
    for piece in (data, data, other, data, other, other):
        reader.feed(piece)
        memos.append(reader.ready.popleft().memo)
    assert memos[1] is memos[3]
    assert memos[4] is memos[5]
    assert memos[1] is not memos[4]


def test_only_a_few_heads_are_remembered_and_only_short_ones():
    reader = read()
    for number in range(100):
        reader.feed(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
        reader.feed(b"GET /%d HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n" % (number, b"x" * 3000))
        reader.ready.clear()
    assert 0 < len(reader._known) <= 8
    assert all(len(head) < 3000 for head in reader._known)


def test_the_last_request_of_a_connection_is_the_last_also_when_its_head_is_known():
    close = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    reader = read(close, close)
    assert (len(reader.ready), reader.last) == (1, True)


def test_the_host_of_a_whole_address_is_the_one_that_counts():
    [request] = read(b"GET http://real:80/p?q=1 HTTP/1.1\r\nHost: other\r\n\r\n").ready
    assert request.headers["host"] == "real:80"
    assert (request.target.path, dict(request.target.query)) == ("/p", {"q": "1"})
    assert target_of(b"http://real?q=2").path == "/"


def test_the_length_of_a_body_is_judged_before_it_comes_and_chunks_as_they_come():
    assert refused(HEAD + b"Content-Length: 11\r\n\r\n", max_body=10) == 413
    assert (
        refused(HEAD + b"Transfer-Encoding: chunked\r\n\r\n8\r\nabcdefgh\r\n8\r\nabcdefgh", max_body=10)
        == 413
    )
    [request] = read(HEAD + b"Content-Length: 10\r\n\r\n0123456789", max_body=10).ready
    assert request.body == b"0123456789"


def test_heads_that_are_too_long_are_refused_before_they_end():
    assert refused(b"GET /" + b"a" * 9000, max_target=8192) == 414
    assert refused(HEAD, b"X: ", *[b"a" * 1000] * 70) == 431
    assert refused(HEAD + b"".join(b"X-%d: %s\r\n" % (i, b"a" * 90) for i in range(800)) + b"\r\n") == 431
    assert refused(HEAD + b"X: yes\r\n" * 20_000) == 431
    assert refused(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nT: ", *[b"a" * 1000] * 70) == 431
    assert refused(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", *[b"a" * 1000] * 70) == 431


def test_a_body_longer_than_the_headers_may_be_can_come_with_the_head():
    [request] = read(HEAD + b"Content-Length: 200000\r\n\r\n" + b"b" * 200_000).ready
    assert len(request.body) == 200_000


def test_the_reader_says_where_it_stands():
    reader = read()
    assert reader.phase is Phase.IDLE
    reader.feed(HEAD)
    assert reader.phase is Phase.HEAD
    reader.feed(b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\n")
    assert (reader.phase, reader.wants_continue) == (Phase.BODY, True)
    reader.feed(b"a")
    assert (reader.phase, reader.wants_continue) == (Phase.IDLE, False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "a\r\nSet-Cookie: b"),
        ("X", "a\nb"),
        ("X", "a\0"),
        ("X\r\nY", "a"),
        ("X ", "a"),
        ("", "a"),
        ("X", "\u20ac"),
        ("Content-Length", "1"),
        ("transfer-encoding", "chunked"),
        ("Connection", "close"),
        ("Date", "today"),
    ],
)
def test_a_header_that_would_break_an_answer_is_a_value_error(name, value):
    with pytest.raises(ValueError):
        whole(200, [(name, value)], b"", b"", head_only=False)
    with pytest.raises(ValueError):
        stream_head(200, [(name, value)])


@pytest.mark.parametrize("status", [0, 100, 199, 600])
def test_a_status_that_ends_no_answer_is_a_value_error(status):
    with pytest.raises(ValueError):
        whole(status, (), b"", b"", head_only=False)


def test_each_answer_has_its_own_head_also_where_the_one_before_looked_alike():
    fixed, grown = (("X-A", "1"),), [("X-A", "1")]
    first = whole(200, fixed, b"ab", b"", head_only=True)
    assert b"200 OK\r\nX-A: 1\r\n" in first
    assert b"Content-Length: 2\r\n" in first
    assert b"Content-Length: 3\r\n" in whole(200, fixed, b"abc", b"", head_only=True)
    assert b"404 Not Found\r\nX-A: 1\r\n" in whole(404, fixed, b"", b"", head_only=True)
    assert b"X-B" not in whole(200, grown, b"", b"", head_only=True)
    grown.append(("X-B", "2"))
    assert b"X-A: 1\r\nX-B: 2\r\n" in whole(200, grown, b"", b"", head_only=True)


def test_answers_without_a_body_have_no_length():
    assert b"Content-Length" not in whole(204, (), b"ignored", b"", head_only=False)
    assert whole(202, (), b"", b"", head_only=False).count(b"Content-Length: 0\r\n") == 1
    assert b"Retry-After" in refusal_bytes(503, "full")


def test_a_refusal_carries_its_text():
    assert str(Refusal(400, "why")) == "why"
