from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gate.coverage import Carried, Coverage, coverage, period
from awf.domain.grant import (
    CapabilityGrant,
    GrantScope,
    Holder,
    capability_covers,
    counts,
    is_capability,
    missing_capabilities,
)

ME = Holder(workspace="/w", user="me", session="ctx")
NOW = 100.0


def grant(name: str, capability: str, **more) -> CapabilityGrant:
    return CapabilityGrant(grant_id=name, capability=capability, **{"issued_at": 1.0, **more})


def by_id(*grants: CapabilityGrant) -> dict[str, CapabilityGrant]:
    return {one.grant_id: one for one in grants}


def test_every_required_capability_needs_a_grant_that_covers_it():
    held = by_id(grant("a", "file.read"), grant("b", "network.request"), grant("c", "mail.send"))
    found = coverage(["file.read", "network.request", "file.write"], ME, None, held, NOW)
    assert found == Coverage(grant_ids=("a", "b"), missing=("file.write",))
    assert not found.whole


def test_one_grant_may_cover_several_and_is_named_once():
    found = coverage(["file.read", "file.write"], ME, None, by_id(grant("a", "file.*")), NOW)
    assert found == Coverage(grant_ids=("a",))
    assert found.whole


def test_a_caller_who_names_grants_has_only_those():
    held = by_id(grant("a", "file.read"), grant("b", "network.request"))
    found = coverage(["file.read", "network.request"], ME, ["b"], held, NOW)
    assert found == Coverage(grant_ids=("b",), missing=("file.read",))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"expires_at": 100.0}, "expired"),
        ({"revoked_at": 50.0}, "revoked"),
        ({"issued_at": 101.0}, "not_yet"),
        ({"scope": GrantScope(workspace="/other")}, "foreign"),
        ({"scope": GrantScope(user="you")}, "foreign"),
        ({"scope": GrantScope(session="ctx2")}, "foreign"),
        ({"scope": GrantScope(workspace="/w", user="me", session="")}, None),
        ({"expires_at": 100.5}, None),
    ],
)
def test_a_named_grant_that_does_not_count_is_told_with_its_reason(more, why):
    found = coverage(["x"], ME, ["a"], by_id(grant("a", "x", **more)), NOW)
    assert found.unusable == ((("a", why),) if why else ())
    assert found.missing == (("x",) if why else ())


def test_an_id_that_nobody_gave_is_unknown():
    assert coverage(["x"], ME, ["forged", "forged"], {}, NOW) == Coverage(
        missing=("x",), unusable=(("forged", "unknown"),)
    )


def test_what_does_not_count_is_no_news_to_someone_who_named_nothing():
    held = by_id(grant("a", "x", revoked_at=5.0))
    assert coverage(["x"], ME, None, held, NOW) == Coverage(missing=("x",))


def test_approvals_come_with_the_grants_that_were_named_or_that_cover_something():
    held = by_id(
        grant("a", "x", approval_id="one"),
        grant("b", "y", approval_id="two"),
        grant("c", "x", approval_id="three", revoked_at=5.0),
    )
    assert coverage(["x"], ME, None, held, NOW).approvals == (Carried("one", "a"),)
    assert coverage([], ME, ["b", "c"], held, NOW).approvals == (Carried("two", "b"),)


def test_an_approval_that_two_grants_carry_is_that_of_the_first():
    held = by_id(grant("a", "x", approval_id="one"), grant("b", "y", approval_id="one"))
    assert coverage([], ME, ["b", "a"], held, NOW).approvals == (Carried("one", "b"),)


def test_a_period_ends_when_the_next_grant_begins_or_ends():
    turns = [10.0, 20.0]
    assert period(turns, 5.0) == (-inf, 10.0)
    assert period(turns, 10.0) == (10.0, 20.0)
    assert period(turns, 25.0) == (20.0, inf)
    assert period([], 0.0) == (-inf, inf)


@pytest.mark.parametrize(
    ("held", "wanted", "covers"),
    [
        ("file.read", "file.read", True),
        ("*", "anything", True),
        ("file.*", "file.read", True),
        ("mcp:*", "mcp:weather", True),
        ("file.*", "file", False),
        ("file.*", "filerx", False),
        ("file.read", "file.readme", False),
        ("file.read", "file.*", False),
    ],
)
def test_a_star_at_the_end_covers_what_begins_so(held, wanted, covers):
    assert capability_covers(held, wanted) is covers


@pytest.mark.parametrize("text", ["file.read", "*", "file.*", "mcp:*", "a:b.c", "é"])
def test_what_can_be_granted(text):
    assert is_capability(text)


@pytest.mark.parametrize(
    "text", ["", "file*", "*.read", "f.*.x", "**", ".**", "a b", "a\n", "x" * 257, "\ud800"]
)
def test_what_cannot_be_granted(text):
    assert not is_capability(text)


names = st.sampled_from(["file.read", "file.write", "file.*", "net.get", "net.*", "*"])
times = st.floats(0, 200)
scopes = st.builds(
    GrantScope, workspace=st.sampled_from(["", "/w", "/v"]), user=st.sampled_from(["", "me", "you"])
)
some = st.lists(
    st.builds(
        grant,
        st.uuids().map(str),
        names,
        issued_at=times,
        expires_at=st.none() | times,
        revoked_at=st.none() | times,
        scope=scopes,
    ),
    max_size=6,
)
wanted = st.lists(st.sampled_from(["file.read", "file.write", "net.get"]), unique=True)


@settings(deadline=None)
@given(some, wanted, times)
def test_nothing_is_covered_but_by_a_grant_that_counts_and_nothing_that_is_covered_is_missing(
    grants, required, now
):
    found = coverage(required, ME, None, by_id(*grants), now)
    alive = [one for one in grants if counts(one, ME, now)]
    assert list(found.missing) == missing_capabilities(required, alive)
    assert set(found.grant_ids) <= {one.grant_id for one in alive}
    named = coverage(required, ME, [one.grant_id for one in grants], by_id(*grants), now)
    assert named.missing == found.missing
    assert {name for name, _ in named.unusable} == {one.grant_id for one in grants} - {
        one.grant_id for one in alive
    }
