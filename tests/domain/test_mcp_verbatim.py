"""What a server said, to the letter: only where its letters say nothing that nobody has looked at."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.canonical import plainly
from awf.domain.mcp import Verbatim

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

# The numbers make up for the length, and the escapes for the quotation marks.
HIDDEN = b'{"a":"","n":[1e9,1e9,1e5],"a":"\\u0022\\u0022\\u0022\\u0022"}'


def read(written):
    return Verbatim(msgspec.json.decode(written), written)


@pytest.mark.parametrize(
    "written",
    [
        b"{}",
        b'{"content":[{"type":"text","text":"a \\"b\\" \\\\ \\n \xc3\xa4"}]}',
        b'{"content":[],"structuredContent":{"count":12,"share":0.5,"ok":true,"none":null}}',
    ],
)
def test_what_every_server_writes_may_be_passed_on(written):
    assert read(written).is_exact()


@pytest.mark.parametrize(
    "written",
    [
        b'{"a":"secret","a":"x"}',
        b'{"a":"secret","n":[1e9,1e4],"a":"x"}',  # the numbers make up for the length
        HIDDEN,
        b'{"n":[1e9,1e9,1e9],"n":[1e9,1e9,1e9]}',
    ],
)
def test_a_key_that_is_there_twice_is_never_passed_on(written):
    assert not read(written).is_exact()


def test_such_numbers_do_make_up_for_the_length():
    """Else the above would show nothing."""
    for written in (b'{"a":"secret","n":[1e9,1e4],"a":"x"}', HIDDEN):
        assert len(written) == len(plainly(read(written)))


def test_what_is_written_in_another_way_is_not_passed_on_to_the_letter():
    assert not read(b'{"a": 1}').is_exact()


class Twice(Exception):
    pass


def unique(pairs):
    if len(dict(pairs)) != len(pairs):
        raise Twice
    return dict(pairs)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), VALUES), max_size=4), st.booleans(), st.sampled_from([0, 1, 8])
)
def test_whatever_is_passed_on_has_each_key_once(pairs, in_ascii, zeros):
    members = [json.dumps(key) + ":" + json.dumps(value, ensure_ascii=in_ascii) for key, value in pairs]
    members += [f'"n":[{",".join(["1e9"] * zeros)}]']
    try:
        written = ("{" + ",".join(members) + "}").encode()
        exact = read(written).is_exact()
    except (UnicodeEncodeError, msgspec.DecodeError):  # half characters, or numbers that nobody can read
        return
    if exact:
        json.loads(written, object_pairs_hook=unique)
