"""Hosts, origins and browsers: no page gets in that was not let in."""

from __future__ import annotations

import pytest

from awf.application.gateway.admission import Caller
from awf.application.gateway.admission import admission as admission_module
from awf.domain.errors import AwfError

PAGE = "https://app.example.org"


@pytest.mark.parametrize("host", ["127.0.0.1:8931", "localhost:8931", "LOCALHOST:8931", "[::1]:8931"])
async def test_this_machine_is_known_by_its_usual_names(door, asks, host):
    caller = await door().admit(asks(host=host))
    assert caller == Caller("", frozenset(), "127.0.0.1", "local")


@pytest.mark.parametrize(
    "host",
    [
        None, "", "127.0.0.1", "localhost", "127.0.0.1:80", "127.0.0.1:89310", "evil.example.org", "evil.example.org:8931",
        "localhost.evil.example.org:8931", "127.0.0.1.evil.org:8931", "user@127.0.0.1:8931", "127.0.0.1:8931,evil", "[::1",
        "127.0.0.1:8931/x", "127.0.0.2:8931", "localhost.:8931", "10.0.0.1:8931", "0.0.0.0:8931", " ", "127.0.0.1 :8931", "ſocalhost:8931",
    ],
)  # fmt: skip
async def test_any_other_name_is_refused(door, asks, error_in, host):
    status, code, text = error_in(await door().admit(asks(host=host)))
    assert (status, code) == (403, "HOST_REFUSED")
    assert "allowed_hosts" in text


async def test_without_a_port_the_usual_one_is_meant(door, asks):
    usual = door(["127.0.0.1:80"])
    for host in ("127.0.0.1", "localhost", "localhost:80", "[::1]"):
        assert isinstance(await usual.admit(asks(host=host)), Caller)


@pytest.mark.parametrize(
    ("host", "welcome"),
    [
        ("gateway.example.org", True),
        ("GATEWAY.example.org:443", True),
        ("gateway.example.org:1", True),
        ("other.example.org:99", True),
        ("other.example.org", False),
        ("other.example.org:98", False),
        ("sub.gateway.example.org", False),
    ],
)
async def test_names_that_the_file_allows_are_known_with_or_without_their_port(door, asks, host, welcome):
    named = door(allowed_hosts=["Gateway.example.org", "other.example.org:99"])
    assert isinstance(await named.admit(asks(host=host)), Caller) is welcome


@pytest.mark.parametrize("bound", ["0.0.0.0:8931", "[::]:8931", ":8931"])
async def test_a_door_on_every_address_is_known_by_addresses_but_not_by_names(door, asks, bound):
    everywhere = door([bound], tokens=["t-1"])
    sent = {"authorization": "Bearer t-1"}
    for host in ("10.1.2.3:8931", "[fe80::1]:8931", "localhost:8931", "127.0.0.1:8931"):
        assert isinstance(await everywhere.admit(asks(host=host, **sent)), Caller), host
    for host in ("evil.example.org:8931", "10.1.2.3", "10.1.2.3:80", "10.1.2:8931"):
        assert (await everywhere.admit(asks(host=host, **sent))).status == 403, host


async def test_the_bound_host_is_known_as_it_was_written(door, asks):
    named = door(["gw.example.org:8931"], tokens=["t"])
    assert isinstance(await named.admit(asks(host="gw.example.org:8931", authorization="Bearer t")), Caller)
    assert (await named.admit(asks(authorization="Bearer t"))).status == 403


@pytest.mark.parametrize("bound", ["0.0.0.0:1", "[::]:1", "10.0.0.1:1", "gw.example.org:1", ":1"])
def test_a_door_for_others_is_not_built_without_a_token(door, bound):
    with pytest.raises(AwfError) as caught:
        door(["127.0.0.1:1", bound])
    assert caught.value.code == "USER.GATEWAY.OPEN_DOOR"


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8931", "http://localhost:8931", "HTTP://[::1]:8931"])
async def test_a_page_of_the_gateway_itself_comes_in(door, asks, origin):
    assert isinstance(await door().admit(asks(origin=origin)), Caller)


@pytest.mark.parametrize(
    "origin",
    [
        "null", "", "*", "https://evil.example.org", "http://localhost:3000", "http://localhost", "http://127.0.0.1:8931.evil.org",
        "http://evil@127.0.0.1:8931", "127.0.0.1:8931", "file://127.0.0.1:8931", "http://127.0.0.1:8931, http://evil", "http://",
        "https://app.example.org.evil.org", "https://app.example.org:444", "http://app.example.org", "https://app.example.org/",
    ],
)  # fmt: skip
async def test_pages_from_elsewhere_are_refused(door, asks, error_in, origin):
    status, code, text = error_in(await door(allowed_origins=[PAGE]).admit(asks(origin=origin)))
    assert (status, code) == (403, "ORIGIN_REFUSED")
    assert "allowed_origins" in text


async def test_the_page_of_a_name_behind_a_proxy_is_our_own(door, asks):
    proxied = door(allowed_hosts=["gw.example.org"])
    assert isinstance(
        await proxied.admit(asks(host="gw.example.org", origin="https://gw.example.org")), Caller
    )
    # The same name at another port is another program.
    assert (await proxied.admit(asks(host="gw.example.org", origin="https://gw.example.org:9"))).status == 403


async def test_an_allowed_page_comes_in_and_its_browser_is_told_so(door, asks):
    cross = door(allowed_origins=["https://APP.example.org:443"])
    request = asks(origin=PAGE)
    assert isinstance(await cross.admit(request), Caller)
    headers = dict(cross.headers_for(request))
    assert headers["Access-Control-Allow-Origin"] == PAGE
    assert "Mcp-Session-Id" in headers["Access-Control-Expose-Headers"]
    assert headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in headers


async def test_answers_to_others_say_nothing_to_browsers(door, asks):
    cross = door(allowed_origins=[PAGE])
    assert cross.headers_for(asks()) == ()
    assert cross.headers_for(asks(origin="https://evil.example.org")) == ()
    assert cross.headers_for(asks(host="evil.example.org", origin=PAGE)) == ()
    assert cross.headers_for(asks(client="unix", host="x", origin=PAGE)) == ()


async def test_what_a_browser_asks_in_advance_needs_no_token(door, asks):
    cross = door(allowed_origins=[PAGE], tokens=["t"])
    asked = {
        "access_control_request_method": "POST",
        "access_control_request_headers": "authorization, mcp-param-x",
    }
    reply = await cross.admit(asks("OPTIONS", origin=PAGE, **asked))
    headers = dict(reply.headers)
    assert (reply.status, reply.body) == (204, b"")
    assert headers["Access-Control-Allow-Origin"] == PAGE
    assert headers["Access-Control-Allow-Headers"] == "authorization, mcp-param-x"
    assert "DELETE" in headers["Access-Control-Allow-Methods"]
    assert (await cross.admit(asks("OPTIONS", origin="https://evil.example.org", **asked))).status == 403
    assert (await cross.admit(asks("OPTIONS", origin=PAGE))).status == 401, "this one asks nothing in advance"


@pytest.mark.parametrize("names", ["a\r\nSet-Cookie: x", "a,,b", "x" * 3000, "ä", "a b"])
async def test_names_of_headers_that_are_none_are_not_repeated(door, asks, names):
    asked = {"access_control_request_method": "POST", "access_control_request_headers": names}
    reply = await door(allowed_origins=[PAGE]).admit(asks("OPTIONS", origin=PAGE, **asked))
    assert "Mcp-Protocol-Version" in dict(reply.headers)["Access-Control-Allow-Headers"]
    assert names not in str(reply.headers)


async def test_a_page_can_read_why_it_was_refused(door, asks):
    reply = await door(allowed_origins=[PAGE], tokens=["t"]).admit(asks(origin=PAGE))
    assert reply.status == 401
    assert ("Access-Control-Allow-Origin", PAGE) in reply.headers


async def test_made_up_names_do_not_fill_the_memory(door, asks):
    narrow = door()
    for number in range(1000):
        await narrow.admit(asks(host=f"h{number}"))
        await narrow.admit(asks(host="x" * 5000 + str(number)))
        await narrow.admit(asks(client=f"10.0.0.{number}"))
    assert len(narrow._verdicts) <= admission_module.NAMES_KEPT
    assert all(len(host) < 1000 for host, _ in narrow._verdicts)
    assert len(narrow._locals) <= admission_module.NAMES_KEPT
    assert isinstance(await narrow.admit(asks()), Caller)


async def test_a_unix_socket_is_guarded_by_its_file(door, asks):
    guarded = door(tokens=["t"])
    for host in (None, "whatever"):
        assert await guarded.admit(asks(client="unix", host=host, origin="null")) == Caller(
            "", frozenset(), "unix", "unix"
        )
