"""Whatever is done to them in whatever order, the stores answer the same, in memory, in SQLite and in PostgreSQL."""

from __future__ import annotations

import asyncio
import tempfile

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from awf.domain.approval import Approval
from awf.domain.errors import AwfError
from awf.domain.grant import CapabilityGrant
from awf.domain.label import Label
from awf.domain.security_context import SecurityContext
from awf.infrastructure.gate_store import SqliteGateStore
from awf.infrastructure.stores.postgres.database import PostgresDatabase
from awf.testing.memory_gate import MemoryGateStore

names = st.sampled_from(["a", "b", "c"])
times = st.integers(1, 12).map(float)
labels = st.builds(
    Label, st.sampled_from(["public", "confidential", "secret"]), st.sampled_from(["trusted", "untrusted"])
)
questions = st.builds(
    Approval,
    approval_id=st.uuids().map(str) | names,
    tool_id=names,
    arguments_hash=st.just("h"),
    context=st.just("c"),
    asked_at=times,
    expires_at=times,
)
grants = st.builds(
    CapabilityGrant, grant_id=names, capability=names, issued_at=times, expires_at=st.none() | times
)
contexts = st.builds(
    SecurityContext, context_id=names, label=labels, parent=st.just("") | names, created_at=times
)


def doing(part, method, *arguments, **named):
    return st.tuples(st.just(part), st.just(method), st.tuples(*arguments), st.fixed_dictionaries(named))


steps = st.lists(
    st.one_of(
        doing("grants", "add", grants),
        doing("grants", "revoke", names, times),
        doing("grants", "forget", times),
        doing("approvals", "ask", questions),
        doing("approvals", "claim", questions),
        doing("approvals", "decide", names, granted=st.booleans(), by=names, now=times),
        doing("approvals", "use", names, times),
        doing("approvals", "use", names, times),
        doing("approvals", "matching", names, st.just("h"), st.just("c"), times),
        doing("approvals", "expire", times),
        doing("approvals", "forget", times),
        doing("contexts", "add", contexts),
        doing("contexts", "raise_label", names, labels, names, times),
        doing("contexts", "reset", names),
    ),
    max_size=25,
)


async def outcome(store, step):
    part, method, arguments, named = step
    try:
        return await getattr(getattr(store, part), method)(*arguments, **named)
    except AwfError as error:
        return error.code


async def everything(store):
    approvals = [await store.approvals.find(name) for name in "abc"]
    return (
        await store.grants.grants(),
        approvals,
        await store.approvals.open_ones(3.0),
        await store.contexts.contexts(),
    )


def is_new(step, seen: set[str]) -> bool:
    """An id is asked under once; the desk makes sure of that."""
    if step[1] not in {"ask", "claim"}:
        return True
    (question,) = step[2]
    fresh = question.approval_id not in seen
    seen.add(question.approval_id)
    return fresh or step[1] == "claim"


async def agree(taken, memory, other):
    seen: set[str] = set()
    for step in taken:
        if not is_new(step, seen):
            continue
        versions = [[getattr(one, step[0]).version() for one in (memory, other)]]
        assert await outcome(memory, step) == await outcome(other, step)
        versions.append([getattr(one, step[0]).version() for one in (memory, other)])
        assert (versions[0][0] == versions[1][0]) == (versions[0][1] == versions[1][1]), step
    assert await everything(memory) == await everything(other)


@settings(deadline=None, max_examples=60)
@given(steps)
def test_memory_and_sqlite_answer_the_same(taken):
    async def play(folder):
        sqlite = SqliteGateStore(folder)
        try:
            await agree(taken, MemoryGateStore(), sqlite)
        finally:
            sqlite.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play(folder))


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_memory_and_postgres_answer_the_same(database_url, taken):
    async def play():
        database = PostgresDatabase(database_url, "")
        database.write_now([("TRUNCATE awf.grants, awf.approvals, awf.contexts RESTART IDENTITY", ())])
        try:
            await hears(database.gate)
            await agree(taken, MemoryGateStore(), database.gate)
        finally:
            await database.leave()

    asyncio.run(play())


async def hears(store):
    """A store hears of others' changes once two looks at it agree."""
    async with asyncio.timeout(60):
        while store.grants.version() != store.grants.version():
            await asyncio.sleep(0.001)
