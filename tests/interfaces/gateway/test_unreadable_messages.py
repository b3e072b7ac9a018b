from __future__ import annotations

import pytest

from awf.interfaces.mcp.gateway.messages import UnreadableError, decoded

CALL = b'{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{"arguments":{"text":%b}}}'


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (rb'"\ud800"', "params.arguments.text: a text has half of a surrogate pair"),
        (b"1e999", "params.arguments.text: inf is no number of JSON"),
        (b"NaN", "params.arguments.text: nan is no number of JSON"),
        (b"1" * 6_000, "Invalid request: "),
        (b"[" * 5_000 + b"]" * 5_000, "nested too deeply"),
        (b'"\xff"', "utf-8"),
        (b"{,}", "Invalid request: "),
    ],
)
def test_whoever_waits_for_an_answer_is_told_what_is_wrong_with_the_request(value, words):
    with pytest.raises(UnreadableError, match=words) as caught:
        decoded(CALL % value)
    assert (caught.value.code, caught.value.request_id) == (-32600, "seven")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b'{"id":1',
        b'{"id":1,"result":{"n":1e999}}',
        b"[1e999]",
        b'{"id":1.5,"method":"x","params":{,}}',
    ],
)
def test_where_nobody_can_tell_who_waits_nobody_is_named(data):
    with pytest.raises(UnreadableError) as caught:
        decoded(data)
    assert (caught.value.code, caught.value.request_id) == (-32700, None)
