from __future__ import annotations

import asyncio
from math import inf, nan

import pytest

from awf.application.gate.coverage import NOTHING_NEEDED
from awf.application.gate.grants import Grants
from awf.domain.errors import AwfError
from awf.domain.grant import CapabilityGrant, GrantScope, Holder
from awf.testing.memory_gate import MemoryGrants

ME = Holder(workspace="/w", user="me", session="ctx")


@pytest.fixture
def grants(store, clock, ticks, tell):
    return Grants(store.grants, clock, ticks=ticks, tell=tell)


def a_grant(name: str = "g", capability: str = "file.read", **more) -> CapabilityGrant:
    return CapabilityGrant(grant_id=name, capability=capability, **{"issued_at": 900.0, **more})


def asked(grants, *required, given=None):
    found = grants.covering(required, ME, given)
    assert found is not None, "a look is due"
    return found


async def test_a_tool_that_requires_nothing_asks_nobody():
    class Broken:
        def version(self):
            raise AssertionError

    assert Grants(Broken()).covering((), ME, None) is NOTHING_NEEDED


async def test_before_the_first_look_nothing_is_known(grants):
    assert grants.covering(("x",), ME, None) is None
    await grants.refresh()
    assert asked(grants, "x").missing == ("x",)


async def test_an_own_change_is_seen_at_once(grants):
    await grants.add(a_grant())
    assert asked(grants, "file.read").grant_ids == ("g",)
    await grants.revoke("g", "me")
    assert asked(grants, "file.read").missing == ("file.read",)
    assert asked(grants, "file.read", given=["g"]).unusable == (("g", "revoked"),)


async def test_a_change_by_others_is_seen_after_the_ttl(grants, store, ticks):
    await grants.refresh()
    await store.grants.add(a_grant())
    ticks.now = 0.049
    assert asked(grants, "file.read").missing == ("file.read",)
    ticks.now = 0.05
    assert grants.covering(("file.read",), ME, None) is None
    await grants.refresh()
    assert asked(grants, "file.read").whole


async def test_after_the_ttl_a_store_that_is_the_same_is_not_read_again(grants, store, ticks, monkeypatch):
    await grants.add(a_grant())

    def never():
        raise AssertionError

    monkeypatch.setattr(store.grants, "grants", never)
    for now in (0.06, 0.2, 9.0):
        ticks.now = now
        assert asked(grants, "file.read").whole
    await grants.refresh()


async def test_a_grant_ends_in_time_though_nothing_was_looked_up(grants, clock):
    await grants.add(a_grant(expires_at=1010.0))
    await grants.add(a_grant("later", "net.get", issued_at=1005.0))
    assert asked(grants, "file.read").whole
    assert not asked(grants, "net.get").whole
    clock.now = 1005.0
    assert asked(grants, "net.get").whole
    clock.now = 1010.0
    assert not asked(grants, "file.read").whole
    clock.now = 1004.0  # somebody set the clock back
    assert asked(grants, "file.read").whole
    assert not asked(grants, "net.get").whole


async def test_answers_are_kept_apart_by_what_was_asked(grants):
    await grants.add(a_grant(scope=GrantScope(user="me")))
    assert asked(grants, "file.read").whole
    assert not grants.covering(("file.read",), Holder(user="you"), None).whole
    assert not asked(grants, "file.read", given=[]).whole
    assert not asked(grants, "file.read", "file.write").whole
    assert grants.covering(["file.read"], ME, ["g"]) == asked(grants, "file.read")


async def test_a_caller_who_names_ever_new_ids_does_not_fill_the_memory(grants):
    await grants.refresh()
    for number in range(9000):
        asked(grants, "x", given=[str(number)])
    assert len(grants._answers) <= 4096


async def test_a_store_that_cannot_be_asked_is_told_by_the_next_look(store, clock, ticks, tmp_path):
    class Failing(MemoryGrants):
        broken = False

        def version(self):
            if self.broken:
                raise AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "gone")
            return super().version()

    inner = Failing()
    grants = Grants(inner, clock, ticks=ticks)
    await grants.add(a_grant())
    inner.broken = True
    ticks.now = 1.0
    assert grants.covering(("file.read",), ME, None) is None
    with pytest.raises(AwfError):
        await grants.refresh()
    assert grants.covering(("file.read",), ME, None) is None


async def test_many_looks_at_once_read_once(grants, store, monkeypatch):
    reads = []
    read = store.grants.grants

    async def counted():
        reads.append(1)
        return await read()

    monkeypatch.setattr(store.grants, "grants", counted)
    await asyncio.gather(*(grants.refresh() for _ in range(10)))
    assert len(reads) == 1


async def test_a_change_during_a_look_is_not_lost(clock, ticks):
    class Slow(MemoryGrants):
        hook = None

        async def grants(self):
            found = await super().grants()
            if self.hook:
                hook, self.hook = self.hook, None
                await hook()
            return found

    inner = Slow()
    grants = Grants(inner, clock, ticks=ticks)
    inner.hook = lambda: inner.add(a_grant())
    await grants.refresh()
    assert not asked(grants, "file.read").whole, "it was read before"
    ticks.now = 0.05
    assert grants.covering(("file.read",), ME, None) is None
    await grants.refresh()
    assert asked(grants, "file.read").whole


async def test_an_issued_grant_has_an_id_of_ours_and_what_was_said(grants, clock, record):
    grant = await grants.issue(
        "file.*", by="me", expires_in=60.0, scope=GrantScope(session="ctx"), approval_id="yes"
    )
    other = await grants.issue("file.*", by="me")
    assert grant.grant_id != other.grant_id
    assert (grant.issued_at, grant.expires_at, grant.issued_by, grant.approval_id) == (
        1000.0,
        1060.0,
        "me",
        "yes",
    )
    assert other.expires_at is None
    assert await grants.all() == [grant, other]
    kind, details = record[0]
    assert kind == "grant_added"
    assert details["grant_ids"] == (grant.grant_id,)
    assert details["context"] == "ctx"
    assert details["grant"]["capability"] == "file.*"


async def test_a_revocation_is_told_once(grants, clock, record):
    await grants.add(a_grant())
    await grants.revoke("g", "me")
    clock.now += 1
    assert (await grants.revoke("g", "me")).revoked_at == 1000.0
    assert [kind for kind, _ in record] == ["grant_added", "grant_revoked"]
    assert record[1][1] == {"grant_ids": ("g",), "by": "me"}


async def test_what_is_not_there_cannot_be_revoked(grants):
    with pytest.raises(AwfError) as caught:
        await grants.revoke("g", "me")
    assert caught.value.code == "USER.GRANT.UNKNOWN"


@pytest.mark.parametrize(
    "bad",
    [
        a_grant(capability=""),
        a_grant(capability="fi*"),
        a_grant(""),
        a_grant("a\nb"),
        a_grant("x" * 300),
        a_grant(expires_at=nan),
        a_grant(expires_at=inf),
        a_grant(issued_at=nan),
    ],
)
async def test_what_makes_no_sense_is_not_kept(grants, bad, record):
    with pytest.raises(AwfError) as caught:
        await grants.add(bad)
    assert caught.value.code == "USER.GRANT.INVALID"
    assert await grants.all() == []
    assert record == []


async def test_grants_that_were_over_long_ago_are_forgotten(grants, clock):
    await grants.add(a_grant("old", expires_at=1000.0))
    clock.now += 29 * 86400
    await grants.add(a_grant("one"))
    assert [one.grant_id for one in await grants.all()] == ["old", "one"]
    clock.now += 2 * 86400
    await grants.add(a_grant("two"))
    assert [one.grant_id for one in await grants.all()] == ["one", "two"]


async def test_the_audit_may_take_its_time(store, clock):
    done = []

    async def write(kind):
        await asyncio.sleep(0)
        done.append(kind)

    grants = Grants(store.grants, clock, tell=lambda kind, _: write(kind))
    await grants.add(a_grant())
    assert done == ["grant_added"]
