"""What every store of grants must promise."""

from __future__ import annotations

import pytest

from awf.domain.errors import AwfError
from awf.domain.grant import CapabilityGrant, GrantScope

RICH = CapabilityGrant(
    grant_id="id é 😀 \ud800 \0",  # half of a surrogate pair, as JSON can carry it
    capability="file.*",
    issued_at=1234.5,
    expires_at=2345.25,
    scope=GrantScope(workspace="/a b", user="ü", session="ctx"),
    approval_id="approval",
    issued_by="somebody",
)


def plain(grant_id: str, issued_at: float = 1.0, **more) -> CapabilityGrant:
    return CapabilityGrant(grant_id=grant_id, capability="file.read", issued_at=issued_at, **more)


@pytest.fixture
def store(gate_store):
    return gate_store.grants


async def test_a_new_store_has_no_grants(store):
    assert await store.grants() == []


async def test_grants_come_back_as_they_were_added_in_the_order_of_their_issue(store):
    await store.add(RICH)
    await store.add(plain("late", 3000.0))
    await store.add(plain("early", 1.0))
    await store.add(plain("early too", 1.0))
    assert await store.grants() == [plain("early"), plain("early too"), RICH, plain("late", 3000.0)]


async def test_an_id_is_given_once_and_what_was_granted_under_it_stays(store):
    await store.add(plain("a"))
    with pytest.raises(AwfError) as caught:
        await store.add(plain("a", 7.0))
    assert caught.value.code == "USER.GRANT.DUPLICATE"
    assert await store.grants() == [plain("a")]


async def test_an_id_counts_even_when_its_grant_was_revoked(store):
    await store.add(plain("a"))
    await store.revoke("a", 5.0)
    with pytest.raises(AwfError):
        await store.add(plain("a"))


async def test_a_revoked_grant_stays_in_the_list_and_tells_when(store):
    await store.add(plain("a"))
    await store.add(plain("b"))
    revoked = plain("a", revoked_at=5.0)
    assert await store.revoke("a", 5.0) == revoked
    assert await store.grants() == [revoked, plain("b")]


async def test_the_first_revocation_counts(store):
    await store.add(plain("a"))
    await store.revoke("a", 5.0)
    assert (await store.revoke("a", 9.0)).revoked_at == 5.0


async def test_what_is_not_there_cannot_be_revoked(store):
    assert await store.revoke("a", 5.0) is None
    assert await store.grants() == []


async def test_those_that_ended_before_a_time_are_forgotten(store):
    await store.add(plain("endless"))
    await store.add(plain("expired", expires_at=10.0))
    await store.add(plain("later", expires_at=20.0))
    await store.add(plain("revoked"))
    await store.revoke("revoked", 9.0)
    assert await store.forget(15.0) == 2
    assert [grant.grant_id for grant in await store.grants()] == ["endless", "later"]
    assert await store.forget(15.0) == 0


async def test_the_version_is_another_one_after_each_change_and_only_then(store):
    versions = [store.version()]
    await store.add(plain("a", expires_at=2.0))
    versions.append(store.version())
    await store.revoke("a", 5.0)
    versions.append(store.version())
    await store.forget(50.0)
    versions.append(store.version())
    assert len(set(versions)) == 4
    await store.grants()
    await store.revoke("a", 5.0)
    await store.forget(50.0)
    assert store.version() == versions[-1]
