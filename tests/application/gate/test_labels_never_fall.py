"""Whatever the order in which looks and changes happen and their answers arrive, a label that was seen is not lost."""

from __future__ import annotations

import asyncio
import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gate.contexts import Contexts
from awf.domain.label import PLAIN, Label, joined
from awf.domain.security_context import SecurityContext, later
from awf.testing.memory_gate import MemoryContexts

LABELS = [
    Label(*pair) for pair in itertools.product(("public", "confidential", "secret"), ("trusted", "untrusted"))
]
labels = st.sampled_from(LABELS)


class Held(MemoryContexts):
    """A store far away: what is asked happens when the test lets it, and the answer arrives when it lets that."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[asyncio.Future[None]] = []

    async def _held(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        await turn

    async def find(self, context_id):
        await self._held()
        found = await super().find(context_id)
        await self._held()
        return found

    async def raise_label(self, context_id, label, by, now):
        await self._held()
        raised = await super().raise_label(context_id, label, by, now)
        await self._held()
        return raised

    def let(self, index: int) -> None:
        if self.waiting:
            self.waiting.pop(index % len(self.waiting)).set_result(None)


class World:
    """One process with its service, another one that works on the same store, and what both may rely on."""

    def __init__(self) -> None:
        self.store = Held()
        self.now = 0.0
        self.contexts = Contexts(self.store, lambda: 1.0, ticks=lambda: self.now)
        self.seen = PLAIN  # the worst that this process was told
        self.was_reset = False
        self.tasks: list[asyncio.Task[Label]] = []

    async def do(self, step) -> None:
        kind, value = step
        if kind == "load":
            self._begin(self.contexts.load("c"))
        elif kind == "raise":
            self._begin(self.contexts.raise_("c", value, "tool"))
        elif kind == "elsewhere":
            await MemoryContexts.raise_label(self.store, "c", value, "other", 1.0)
        elif kind == "time":
            self.now += 0.03
        else:
            self.store.let(value)
        await self._settle()

    def _begin(self, work) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

    async def _settle(self) -> None:
        for _ in range(6):
            await asyncio.sleep(0)
        for task in [task for task in self.tasks if task.done()]:
            self.tasks.remove(task)
            self._told(task.result())
        shown = self.contexts.label("c")
        if shown is not None:
            self._told(shown)

    def _told(self, label: Label) -> None:
        assert self.was_reset or label.covers(self.seen), (label, self.seen)
        self.seen = joined(self.seen, label)

    async def end(self) -> None:
        while self.tasks:
            await self.do(("let", 0))


steps = st.lists(
    st.one_of(
        st.just(("load", None)),
        st.tuples(st.just("raise"), labels),
        st.tuples(st.just("elsewhere"), labels),
        st.just(("time", None)),
        st.tuples(st.just("let"), st.integers(0, 9)),
        st.tuples(st.just("let"), st.integers(0, 9)),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=300)
@given(steps)
def test_under_any_interleaving_labels_never_fall(taken):
    async def play():
        world = World()
        for step in taken:
            await world.do(step)
        await world.end()
        wanted = [value for kind, value in taken if kind in {"raise", "elsewhere"}]
        found = await MemoryContexts.find(world.store, "c")
        worst = PLAIN
        for label in wanted:
            worst = joined(worst, label)
        assert (found.label if found else PLAIN) == worst, "everything that was mixed in is kept"
        assert worst.covers(world.seen), "nobody was told more than that"
        world.now += 1.0
        last = asyncio.get_running_loop().create_task(world.contexts.load("c"))
        while not last.done():
            await world.do(("let", 0))
        assert last.result() == worst

    asyncio.run(play())


@settings(deadline=None, max_examples=300)
@given(steps, st.integers(0, 40))
def test_after_a_reset_elsewhere_what_was_so_before_does_not_come_back(taken, when):
    async def play():
        world = World()
        for step in taken[:when]:
            await world.do(step)
        await MemoryContexts.reset(world.store, "c")
        world.was_reset = True
        await world.end()
        world.now += 1.0
        last = asyncio.get_running_loop().create_task(world.contexts.load("c"))
        while not last.done():
            await world.do(("let", 0))
        found = await MemoryContexts.find(world.store, "c")
        assert last.result() == (found.label if found else PLAIN)

    asyncio.run(play())


states = st.builds(SecurityContext, context_id=st.just("c"), label=labels, resets=st.integers(0, 2))


@settings(deadline=None)
@given(states, states, states)
def test_what_is_known_from_several_looks_does_not_depend_on_their_order(one, two, three):
    known = {
        (found.label, found.resets)
        for a, b, c in itertools.permutations((one, two, three))
        for found in (later(later(a, b), c), later(a, later(b, c)))
    }
    assert len(known) == 1
    assert later(one, one) == one
