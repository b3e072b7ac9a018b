"""The chain's own rules: one form for an entry, one hash for a record, and what a walk along it finds."""

from __future__ import annotations

import hashlib
import json
import sys

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from awf.domain.audit import AuditEntry, AuditRecord
from awf.domain.audit_chain import GENESIS, ChainWalk, decoded_entry, entry_json, record_hash, record_line

texts = st.text(alphabet=st.characters(exclude_categories=()), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts | st.just("$awf"), inner, max_size=3),
    max_leaves=6,
)
entries = st.builds(
    AuditEntry,
    kind=st.sampled_from(["decision", "effect", "configuration"]),
    created_at=st.floats(),
    tool_id=texts,
    reason=texts,
    grant_ids=st.lists(texts, max_size=2).map(tuple),
    success=st.none() | st.booleans(),
    duration_ms=st.integers(0, 2**60),
    details=st.dictionaries(texts, values, max_size=3),
)


@given(entries)
def test_an_entry_read_and_written_again_is_the_same(entry):
    written = entry_json(entry)
    assert entry_json(decoded_entry(written)) == written


@given(entries)
@example(
    AuditEntry(
        kind="effect", created_at=0.5, duration_ms=2**53, details={"n": [2**53, 2.0**53, 2**53 - 1, -(2**53)]}
    )
)
def test_the_form_of_an_entry_is_canonical_for_others_too(entry):
    written = entry_json(entry)
    assert rfc8785.dumps(json.loads(written)) == written


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (1700000000.0, b"1700000000"), (0.0, b"0"), (-0.0, b"0"), (-5.0, b"-5"), (1e15, b"1000000000000000"),
        (2.0**53 - 2, b"9007199254740990"), (2.0**53 - 1, b"0"), (2.0**53, b"0"), (float("nan"), b"0"), (7, b"7"),
    ],
)  # fmt: skip
def test_a_moment_of_a_whole_second_has_no_point(moment, written):
    entry = AuditEntry(kind="effect", created_at=moment)
    assert entry_json(entry) == b'{"createdAt":%b,"kind":"effect"}' % written
    assert entry.created_at is moment


def functions_for(entry):
    """How many functions it takes to write it; the first time more is made ready."""
    count = 0

    def hear(_frame, event, _what):
        nonlocal count
        count += event in {"call", "c_call"}

    entry_json(entry)
    sys.setprofile(hear)
    try:
        entry_json(entry)
    finally:
        sys.setprofile(None)
    return count


def test_an_entry_of_a_whole_second_costs_hardly_more_than_any_other():
    some, whole = (
        AuditEntry(kind="call", created_at=moment, tool_id="kb:get", details={"n": 1})
        for moment in (1700000000.5, 1700000000.0)
    )
    assert functions_for(whole) <= functions_for(some) + 5


def test_an_entry_that_has_to_be_spelled_out_does_not_ask_for_its_fields_each_time():
    odd = AuditEntry(kind="call", created_at=1.5, details={"n": 2**60})
    assert functions_for(odd) < 500


def chain(*reasons):
    records, previous = [], GENESIS
    for sequence, reason in enumerate(reasons, 1):
        entry = AuditEntry(kind="configuration", created_at=sequence + 0.5, reason=reason)
        said = record_hash(sequence, previous, entry_json(entry))
        records.append(AuditRecord(sequence=sequence, previous=previous, entry=entry, hash=said))
        previous = said
    return records


def walked(records, begin=None):
    walk = ChainWalk()
    if begin is not None:
        walk.begin_at(*begin)
    for one in records:
        walk.step(one.sequence, one.previous, one.hash, entry_json(one.entry))
    return walk


def flaws(walk):
    return [(one.kind, one.sequence) for one in walk.flaws]


def test_anyone_can_compute_the_hash_of_a_line():
    record = chain("a", "é", "c")[1]
    document = json.loads(record_line(record))
    said = document.pop("hash")
    assert hashlib.sha256(rfc8785.dumps(document)).hexdigest() == said == record.hash
    assert document["previous"] == record.previous


def test_a_whole_chain_has_no_flaws():
    walk = walked(chain(*"abcde"))
    assert (flaws(walk), walk.count, walk.last, walk.sound_until) == ([], 5, 5, 5)


def test_a_part_of_a_chain_is_sound_by_itself():
    records = chain(*"abcde")
    walk = walked(records[2:], (3, records[1].hash))
    assert (flaws(walk), walk.count, walk.sound_until) == ([], 3, 5)


def test_records_left_out_are_named_and_the_rest_is_still_looked_at():
    records = chain(*"abcdefgh")
    walk = walked([*records[:2], *records[4:6], records[7]])
    assert flaws(walk) == [("missing", 3), ("missing", 7)]
    assert walk.sound_until == 2


def test_a_record_that_stands_twice_or_backwards_is_named():
    records = chain(*"abc")
    walk = walked([records[0], records[1], records[1], records[0], records[2]])
    assert flaws(walk) == [("order", 3), ("order", 3)]


def test_a_first_record_that_is_none_is_named():
    records = chain(*"ab")
    walk = walked(
        [
            AuditRecord(
                sequence=1,
                previous="1" * 64,
                entry=records[0].entry,
                hash=record_hash(1, "1" * 64, entry_json(records[0].entry)),
            )
        ]
    )
    assert flaws(walk) == [("order", 1)]
    assert walk.sound_until == 0


def test_whatever_lies_in_a_store_is_taken():
    walk = ChainWalk()
    for given_row in (
        (1, 5, None, b"{}"),
        ("x", "", "", b""),
        (2, b"\xff", "0" * 64, b"{}"),
        (3, "é", "0" * 64, 7),
    ):
        walk.step(*given_row)
    assert {one.kind for one in walk.flaws} == {"changed", "order"}
    assert walk.sound_until == 0


@pytest.mark.parametrize("details", [b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}", b'{"x":"\xff"}'])
def test_an_entry_that_is_nested_too_deeply_or_no_text_is_named_like_any_other_that_is_none(details):
    entry = b'{"createdAt":1,"details":%b,"kind":"spooled"}' % details
    walk = ChainWalk()
    walk.step(1, GENESIS, record_hash(1, GENESIS, entry), entry)
    assert walk.read(1, entry) is None
    assert flaws(walk) == [("changed", 1)]
