"""What was found out once counts until something changes: then not one call more passes on the strength of it."""

from __future__ import annotations

import asyncio

import pytest

from awf.application.gate.origin import Origin
from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.domain.gate_file import GateKeys
from awf.domain.grant import GrantScope
from awf.domain.label import Label
from awf.domain.override import ToolOverride
from awf.testing.gate_lab import GateLab

SECRET = Label("secret")
CALLER = Origin(context="ctx", door="gateway", named=True)


@pytest.fixture
def lab():
    overrides = {
        "kb:read": ToolOverride(classification="confidential", open_world=False),
        "kb:note": ToolOverride(required_scopes=("kb.note",), open_world=False),
        "kb:look": ToolOverride(open_world=False),
    }
    return GateLab(GateKeys(), overrides, in_two_steps=True)


def admitted(lab, tool):
    return lab.gate.turnstile.admit(tool, {"a": 1}, CALLER, "call", again=False)


def at_once(lab, tool):
    """Whether a call may be made now without asking anyone."""
    return admitted(lab, tool) is not None


async def test_a_second_call_needs_no_look(lab):
    tool = lab.tool("kb:read")
    assert not at_once(lab, tool)  # its context has to learn of what comes, first
    await lab.call(tool, origin=CALLER)
    assert at_once(lab, tool)
    assert at_once(lab, tool)


async def test_a_label_that_another_process_has_reset_is_written_again(lab):
    tool = lab.tool("kb:read")
    await lab.call(tool, origin=CALLER)
    await lab.store.contexts.reset("ctx")
    assert not at_once(lab, tool)
    await lab.call(tool, origin=CALLER)
    assert (await lab.store.contexts.find("ctx")).label.confidentiality == "confidential"


async def test_a_label_that_rises_here_counts_from_the_first_moment(lab):
    tool = lab.tool("kb:look")
    await lab.call(tool, origin=CALLER)
    passage = admitted(lab, tool)
    await lab.contexts.raise_("ctx", SECRET, "kb:other")
    again = admitted(lab, tool)
    assert passage is not None
    assert again is None or again.label == SECRET


async def test_a_grant_that_another_process_revokes_covers_nothing_more(lab):
    tool = lab.tool("kb:note")
    grant = await lab.grants.issue("kb.*", by="me")
    await lab.call(tool, origin=CALLER)
    assert at_once(lab, tool)
    await lab.store.grants.revoke(grant.grant_id, lab.clock())
    assert not at_once(lab, tool)


async def test_a_grant_that_ends_covers_nothing_more(lab):
    tool = lab.tool("kb:note")
    await lab.grants.issue("kb.note", by="me", expires_in=10.0, scope=GrantScope())
    await lab.call(tool, origin=CALLER)
    assert at_once(lab, tool)
    lab.clock.now += 11
    assert not at_once(lab, tool)


async def test_where_nobody_can_say_whether_anything_has_changed_nothing_passes(lab, monkeypatch):
    tool = lab.tool("kb:look")
    await lab.call(tool, origin=CALLER)
    assert at_once(lab, tool)

    def broken():
        raise AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "It is gone.")

    monkeypatch.setattr(lab.gate.turnstile, "_changes", broken)
    assert not at_once(lab, tool)


async def test_a_tool_that_is_confirmed_each_time_is_never_called_at_once():
    lab = GateLab(GateKeys(), {"kb:drop": ToolOverride(requires_confirmation=True, open_world=False)})
    tool = lab.tool("kb:drop")
    await lab.contexts.load("ctx")
    assert not at_once(lab, tool)


async def test_a_label_that_could_not_be_kept_is_owed_until_it_is(lab, monkeypatch):
    """Who has it in memory only must not hand anything out on the strength of it."""
    tool = lab.tool("kb:read")
    keep = lab.store.contexts.raise_label

    async def full(*_):
        raise AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(lab.store.contexts, "raise_label", full)
        for _ in range(3):
            with pytest.raises(AwfError):
                await lab.call(tool, origin=CALLER)
            assert not lab.contexts.has("ctx", Label("confidential"))
            assert not at_once(lab, tool)
    assert await lab.store.contexts.find("ctx") is None
    await lab.call(tool, origin=CALLER)
    assert lab.store.contexts.raise_label == keep
    assert (await lab.store.contexts.find("ctx")).label.confidentiality == "confidential"
    assert at_once(lab, tool)


async def test_while_a_label_is_being_kept_nobody_else_is_let_through_on_it(lab, monkeypatch):
    keep, go_on, asked = lab.store.contexts.raise_label, asyncio.Event(), []

    async def slow(*given):
        asked.append(given)
        await go_on.wait()
        return await keep(*given)

    monkeypatch.setattr(lab.store.contexts, "raise_label", slow)
    calls = [spawn(lab.call(lab.tool("kb:read"), origin=CALLER), "a call") for _ in range(2)]
    while len(asked) < 2:
        await asyncio.sleep(0)
    assert lab.reached == []
    go_on.set()
    await asyncio.gather(*calls)
    assert lab.reached == ["kb:read"] * 2
