"""What every store of security contexts must promise."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from awf.domain.label import PLAIN, Label, joined
from awf.domain.security_context import SecurityContext

SECRET, UNTRUSTED = Label("secret", "trusted"), Label("public", "untrusted")
LABELS = [
    Label(*pair) for pair in itertools.product(("public", "confidential", "secret"), ("trusted", "untrusted"))
]


@pytest.fixture
def store(gate_store):
    return gate_store.contexts


def made(context_id: str = "c", **more) -> SecurityContext:
    return SecurityContext(context_id=context_id, created_at=5.0, **more)


async def test_a_context_comes_back_as_it_was_added(store):
    rich = made("é \ud800", label=SECRET, minted=True, raised_at=7.0, raised_by="kb:read", parent="none")
    assert await store.add(rich) == rich
    assert await store.find("é \ud800") == rich
    assert await store.find("other") is None
    assert await store.contexts() == [rich]


async def test_an_earlier_one_of_the_same_id_stays(store):
    await store.add(made(minted=True))
    assert await store.add(made()) == made(minted=True)
    assert await store.contexts() == [made(minted=True)]


async def test_a_child_begins_with_the_label_of_its_parent(store):
    await store.raise_label("p", SECRET, "kb:read", 6.0)
    child = await store.add(made(parent="p", label=UNTRUSTED))
    assert child.label == Label("secret", "untrusted")
    assert (await store.find("c")).label == child.label
    assert (await store.find("p")).label == SECRET


async def test_one_that_is_there_takes_in_the_label_of_the_parent_it_is_added_with(store):
    await store.raise_label("p", SECRET, "kb:read", 6.0)
    await store.raise_label("c", UNTRUSTED, "web:get", 7.0)
    assert (await store.add(made(parent="p"))).label == Label("secret", "untrusted")


async def test_a_parent_that_nobody_knows_has_no_label(store):
    assert (await store.add(made(parent="p"))).label == PLAIN


@pytest.mark.parametrize(("first", "second"), list(itertools.product(LABELS, LABELS)))
async def test_labels_are_mixed_and_never_get_better(store, first, second):
    await store.raise_label("c", first, "one", 6.0)
    after = await store.raise_label("c", second, "two", 7.0)
    assert after.label == joined(first, second)
    assert await store.find("c") == after


async def test_raising_makes_the_context_and_says_what_raised_it(store):
    raised = await store.raise_label("c", SECRET, "kb:read", 6.0)
    expected = SecurityContext(
        context_id="c", label=SECRET, created_at=6.0, raised_at=6.0, raised_by="kb:read"
    )
    assert raised == expected
    assert await store.raise_label("c", SECRET, "kb:again", 9.0) == expected, "that changed nothing"


async def test_whoever_races_the_worst_of_all_labels_stays(store):
    wanted = [Label("confidential", "trusted"), SECRET, UNTRUSTED, PLAIN] * 5
    await asyncio.gather(*(store.raise_label("c", label, "tool", 6.0) for label in wanted))
    assert (await store.find("c")).label == Label("secret", "untrusted")


async def test_a_reset_makes_it_plain_again_and_is_counted(store):
    await store.add(made(minted=True))
    await store.raise_label("c", SECRET, "kb:read", 6.0)
    assert await store.reset("c") == made(minted=True, resets=1)
    await store.reset("c")
    assert await store.find("c") == made(minted=True, resets=2)
    assert (await store.raise_label("c", UNTRUSTED, "web:get", 8.0)).resets == 2


async def test_what_is_not_there_cannot_be_reset(store):
    assert await store.reset("c") is None
    assert await store.contexts() == []


async def test_they_are_listed_in_the_order_of_their_making(store):
    await store.raise_label("second", SECRET, "kb:read", 6.0)
    await store.raise_label("third", SECRET, "kb:read", 6.0)
    await store.add(made("first"))
    assert [one.context_id for one in await store.contexts()] == ["first", "second", "third"]


async def test_the_version_is_another_one_after_each_change_and_only_then(store):
    versions = [store.version()]
    for change in (store.add(made()), store.raise_label("c", SECRET, "t", 6.0), store.reset("c")):
        await change
        versions.append(store.version())
    assert len(set(versions)) == 4
    for look in (
        store.find("c"),
        store.contexts(),
        store.raise_label("c", PLAIN, "t", 6.0),
        store.add(made()),
    ):
        await look
    assert store.version() == versions[-1]
