"""What another process raises is seen while calls to others are under way, and only then."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.gate.contexts import Contexts
from awf.application.gate.level_watch import LevelWatch
from awf.domain.errors import AwfError
from awf.domain.gate_file import GateKeys
from awf.domain.label import Label
from awf.domain.override import ToolOverride
from awf.domain.tool import ToolFailure
from awf.testing.gate_lab import GateLab
from awf.testing.memory_gate import MemoryGateStore

PATIENCE = 60
SECRET = Label("secret")


class Changes:
    """Notes what a listener hears, and lets a test wait for it."""

    def __init__(self, contexts: Contexts) -> None:
        self.seen = []
        self.came = asyncio.Event()
        contexts.listen(self.hear)

    def hear(self, change):
        self.seen.append((change.context_id, change.after))
        self.came.set()

    async def first(self):
        async with asyncio.timeout(PATIENCE):
            await self.came.wait()
        return self.seen[0]


@pytest.fixture
def store():
    return MemoryGateStore().contexts


async def test_a_call_under_way_is_stopped_when_another_process_hands_out_a_secret():
    lab = GateLab(GateKeys(), {"mail:send": ToolOverride(open_world=True)})

    async def never():
        await lab.store.contexts.raise_label("ctx", SECRET, "kb:read", 1.0)  # nobody here is told
        await asyncio.Event().wait()

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ToolFailure, match="has come to know something secret"):
            await lab.call(lab.tool("mail:send"), answer=never)


async def test_a_context_that_is_flying_is_looked_up_when_the_store_has_changed(store):
    contexts = Contexts(store)
    changes, watch = Changes(contexts), LevelWatch(contexts, 0.001)
    watch.begin(lambda: ["a"])
    await store.raise_label("b", SECRET, "kb:read", 1.0)
    await store.raise_label("a", SECRET, "kb:read", 1.0)
    assert await changes.first() == ("a", SECRET)
    watch.end()


async def test_without_a_change_nothing_is_looked_up_again(store, monkeypatch):
    looks = []
    find, version = store.find, store.version
    asked = asyncio.Event()

    async def counted(context_id):
        looks.append(context_id)
        return await find(context_id)

    def look():
        if looks and len(looks) < 100:
            look.times += 1
            if look.times > 5:
                asked.set()
        return version()

    look.times = 0
    monkeypatch.setattr(store, "find", counted)
    monkeypatch.setattr(store, "version", look)
    watch = LevelWatch(Contexts(store), 0.001)
    watch.begin(lambda: ["a"])
    async with asyncio.timeout(PATIENCE):
        await asked.wait()
    watch.end()
    assert looks == ["a"]


async def test_a_store_that_fails_for_a_while_is_looked_at_again(store, monkeypatch):
    contexts = Contexts(store)
    changes, watch = Changes(contexts), LevelWatch(contexts, 0.001)
    find, troubles = store.find, iter([AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "no")] * 2)

    async def failing(context_id):
        for trouble in troubles:
            raise trouble
        return await find(context_id)

    monkeypatch.setattr(store, "find", failing)
    await store.raise_label("a", SECRET, "kb:read", 1.0)
    watch.begin(lambda: ["a"])
    assert await changes.first() == ("a", SECRET)
    watch.end()


async def test_when_nothing_flies_nobody_looks(store):
    watch = LevelWatch(Contexts(store), 0.001)
    watch.begin(lambda: ["a"])
    timer = watch._timer
    watch.end()
    watch.end()
    assert timer.cancelled()
    assert watch._timer is None
