from __future__ import annotations

import logging

import pytest

from awf.application.gate.contexts import Contexts, LabelChange
from awf.domain.errors import AwfError
from awf.domain.gate_file import Levels
from awf.domain.label import PLAIN, Label
from awf.testing.memory_gate import MemoryContexts

CONFIDENTIAL, SECRET, UNTRUSTED = Label("confidential"), Label("secret"), Label("public", "untrusted")
MINTED = Levels(contexts="minted")


@pytest.fixture
def contexts(store, clock, ticks, tell):
    return Contexts(store.contexts, clock, Levels(), ticks=ticks, tell=tell)


@pytest.fixture
def strict(store, clock, ticks):
    return Contexts(store.contexts, clock, MINTED, ticks=ticks)


@pytest.fixture
def heard(contexts):
    changes = []
    contexts.listen(changes.append)
    return changes


async def code_of(doing) -> str:
    with pytest.raises(AwfError) as caught:
        await doing
    assert caught.value.hint
    return caught.value.code


async def test_a_context_that_was_not_looked_at_is_not_known(contexts):
    assert contexts.label("c") is None
    assert await contexts.load("c") == PLAIN
    assert contexts.label("c") == PLAIN
    assert contexts.label("d") is None


async def test_naming_a_context_does_not_make_it(contexts):
    await contexts.load("c")
    assert await contexts.all() == []


async def test_a_raised_label_is_in_the_store_when_it_is_told(contexts, store):
    assert await contexts.raise_("c", SECRET, "kb:read") == SECRET
    found = await store.contexts.find("c")
    assert (found.label, found.raised_by, found.raised_at) == (SECRET, "kb:read", 1000.0)
    assert await contexts.load("c") == contexts.label("c") == SECRET


async def test_labels_are_mixed(contexts):
    await contexts.raise_("c", CONFIDENTIAL, "kb:read")
    assert await contexts.raise_("c", UNTRUSTED, "web:get") == Label("confidential", "untrusted")
    assert await contexts.raise_("c", PLAIN, "clock:now") == Label("confidential", "untrusted")


async def test_calls_in_this_process_see_it_before_the_store_has_it(clock, ticks):
    class Watching(MemoryContexts):
        async def raise_label(self, *details):
            seen.append(contexts.label("c"))
            return await super().raise_label(*details)

    seen = []
    contexts = Contexts(Watching(), clock, ticks=ticks)
    await contexts.load("c")
    await contexts.raise_("c", SECRET, "kb:read")
    assert seen == [SECRET]


async def test_a_label_that_cannot_be_kept_is_an_error_and_stays_raised_here(clock, ticks):
    class Full(MemoryContexts):
        async def raise_label(self, *details):
            raise AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "full")

    contexts = Contexts(Full(), clock, ticks=ticks)
    await contexts.load("c")
    with pytest.raises(AwfError):
        await contexts.raise_("c", SECRET, "kb:read")
    assert contexts.label("c") == SECRET


async def test_what_changes_nothing_is_not_written(contexts, store, record):
    await contexts.raise_("c", SECRET, "kb:read")
    before = store.contexts.version()
    await contexts.raise_("c", CONFIDENTIAL, "kb:other")
    await contexts.raise_("d", PLAIN, "clock:now")
    assert store.contexts.version() == before
    assert [kind for kind, _ in record] == ["level_raised"]


async def test_what_is_said_to_be_there_already_was_there_a_moment_ago(contexts, store):
    """Another process resets it, and this one has not looked since: the label must be written again."""
    await contexts.raise_("c", SECRET, "kb:read")
    await contexts.load("c")
    await store.contexts.reset("c")
    assert contexts.label("c") == SECRET, "within the TTL"
    await contexts.raise_("c", CONFIDENTIAL, "kb:read")
    assert (await store.contexts.find("c")).label == CONFIDENTIAL
    assert await contexts.load("c") == CONFIDENTIAL


async def test_whether_a_label_is_there_can_be_asked_without_waiting(contexts, store):
    assert not contexts.has("c", PLAIN), "nobody has looked"
    await contexts.raise_("c", SECRET, "kb:read")
    await contexts.load("c")
    assert contexts.has("c", CONFIDENTIAL)
    assert not contexts.has("c", UNTRUSTED)
    await store.contexts.reset("c")
    assert not contexts.has("c", CONFIDENTIAL), "also within the TTL"


async def test_a_change_by_others_is_seen_after_the_ttl(contexts, store, ticks, heard):
    await contexts.load("c")
    await store.contexts.raise_label("c", SECRET, "kb:read", 1.0)
    ticks.now = 0.049
    assert contexts.label("c") == PLAIN
    ticks.now = 0.05
    assert contexts.label("c") is None
    assert await contexts.load("c") == SECRET
    assert heard == [LabelChange("c", PLAIN, SECRET, "")]


async def test_listeners_hear_what_rises_and_what_is_reset(contexts, heard):
    await contexts.raise_("c", CONFIDENTIAL, "kb:read")
    await contexts.raise_("c", CONFIDENTIAL, "kb:read")
    await contexts.raise_("c", SECRET, "kb:deep")
    await contexts.reset("c", "me")
    assert heard == [
        LabelChange("c", PLAIN, CONFIDENTIAL, "kb:read"),
        LabelChange("c", CONFIDENTIAL, SECRET, "kb:deep"),
        LabelChange("c", SECRET, PLAIN, ""),
    ]
    assert [one.rose for one in heard] == [True, True, False]


async def test_a_look_at_all_tells_what_others_have_changed(contexts, store, heard):
    await contexts.load("c")
    await contexts.refresh()
    await store.contexts.raise_label("c", SECRET, "kb:read", 1.0)
    await store.contexts.raise_label("stranger", SECRET, "kb:read", 1.0)
    await contexts.load("d")  # what others look at meanwhile must not hide it
    await contexts.refresh()
    await contexts.refresh()
    assert heard == [LabelChange("c", PLAIN, SECRET, "")]


async def test_a_listener_that_fails_or_left_disturbs_nobody(contexts, heard, caplog):
    def failing(_change):
        raise ValueError

    contexts.listen(failing)
    gone = []
    leave = contexts.listen(gone.append)
    leave()
    leave()
    with caplog.at_level(logging.ERROR, "awf"):
        await contexts.raise_("c", SECRET, "kb:read")
    assert len(heard) == 1
    assert gone == []
    assert len(caplog.records) == 1


async def test_only_a_reset_makes_a_label_better_and_it_is_recorded(contexts, record):
    await contexts.raise_("c", SECRET, "kb:read")
    assert (await contexts.reset("c", "me")).label == PLAIN
    assert await contexts.load("c") == PLAIN
    assert record == [
        (
            "level_raised",
            {
                "context": "c",
                "tool_id": "kb:read",
                "label_before": "public/trusted",
                "label_after": "secret/trusted",
            },
        ),
        (
            "context_reset",
            {"context": "c", "by": "me", "label_before": "secret/trusted", "label_after": "public/trusted"},
        ),
    ]


async def test_what_is_not_there_cannot_be_reset_or_shown(contexts):
    assert await code_of(contexts.reset("c", "me")) == "USER.CONTEXT.UNKNOWN"
    assert await code_of(contexts.find("c")) == "USER.CONTEXT.UNKNOWN"


async def test_a_minted_context_has_a_name_that_nobody_can_guess(contexts, record):
    one, other = await contexts.mint(by="me"), await contexts.mint(by="me")
    assert one.context_id != other.context_id
    assert len(one.context_id) >= 32
    assert one.minted
    assert await contexts.find(one.context_id) == one
    assert [kind for kind, _ in record] == ["context_minted"] * 2
    assert record[0][1]["context"] == one.context_id


async def test_where_only_minted_ones_count_others_are_refused(strict, contexts, store):
    minted = (await contexts.mint()).context_id
    await contexts.raise_("used", SECRET, "kb:read")
    assert await strict.load(minted) == PLAIN
    for name in ("unknown", "used"):
        assert await code_of(strict.load(name)) == "USER.CONTEXT.UNKNOWN"
        assert await code_of(strict.raise_(name, SECRET, "kb:read")) == "USER.CONTEXT.UNKNOWN"
        assert await code_of(strict.child_of(name)) == "USER.CONTEXT.UNKNOWN"
        assert strict.label(name) is None
    assert (await store.contexts.find("used")).label == SECRET
    assert await store.contexts.find("unknown") is None
    assert await code_of(strict.mint("used")) == "USER.CONTEXT.UNKNOWN"


async def test_a_file_that_becomes_strict_counts_at_once(contexts):
    await contexts.load("c")
    contexts.apply(MINTED)
    assert contexts.label("c") is None
    assert await code_of(contexts.load("c")) == "USER.CONTEXT.UNKNOWN"
    contexts.apply(Levels())
    assert await contexts.load("c") == PLAIN


@pytest.mark.parametrize("bad", ["", "a\nb", "x" * 257, "\ud800"])
async def test_what_cannot_be_an_id_is_refused(contexts, bad):
    for doing in (contexts.load(bad), contexts.raise_(bad, SECRET, "t")):
        assert await code_of(doing) == "USER.CONTEXT.INVALID"


async def test_a_sub_agent_begins_with_what_its_parent_has_read(contexts, strict):
    parent = (await contexts.mint()).context_id
    await contexts.raise_(parent, SECRET, "kb:read")
    child = await contexts.child_of(parent)
    assert (child.label, child.parent, child.minted) == (SECRET, parent, True)
    assert await strict.load(child.context_id) == SECRET
    named = await contexts.child_of(child.context_id, "run-1/step")
    assert (named.context_id, named.label) == ("run-1/step", SECRET)
    await contexts.raise_(child.context_id, UNTRUSTED, "web:get")
    assert await contexts.load(parent) == SECRET


async def test_clients_that_name_ever_new_contexts_do_not_fill_the_memory(clock, ticks):
    contexts = Contexts(MemoryContexts(), clock, ticks=ticks)
    await contexts.raise_("c", SECRET, "kb:read")
    for number in range(25_000):
        await contexts.load(str(number))
    assert len(contexts._known) <= 10_001
    assert contexts._known["c"].label == SECRET
