"""What another process has done a moment ago counts where a secret could get out, though nobody has heard of it yet."""

from __future__ import annotations

import pytest

from awf.domain.gate_file import GateKeys, Levels
from awf.domain.label import PLAIN, Label
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyDefaults, PolicyRule
from awf.domain.tool import ToolFailure, text_result
from awf.testing.gate_lab import GateLab

SECRET = Label("secret", "trusted")
CLOSED = Levels(unmarked="closed")
RULE = PolicyRule(
    id="nothing secret",
    action="*",
    decision="deny",
    when="labels.confidentiality != 'public'",
    reason="You know too much.",
)
OVERRIDES = {
    "mail:send": ToolOverride(open_world=True, policy_action="connector.read"),
    "kb:read": ToolOverride(classification="secret", policy_action="file.read", open_world=False),
}


@pytest.fixture(params=[True, False], ids=["two steps", "one way"])
def lab(request):
    return GateLab(GateKeys(levels=CLOSED), OVERRIDES, in_two_steps=request.param)


@pytest.fixture
def late(lab):
    """A store whose news come late: the version stays what it was."""
    frozen = lab.store.contexts.version()
    lab.store.contexts.at_once = False
    lab.contexts._fresh._version = lambda: frozen
    return lab


async def elsewhere(lab, label=SECRET):
    """Another process hands a secret out."""
    await lab.store.contexts.raise_label("ctx", label, "kb:read", 1.0)


async def test_a_call_that_reaches_others_sees_what_was_raised_within_the_moment_that_is_remembered(lab):
    await lab.call(lab.tool("mail:send"))
    await elsewhere(lab)
    with pytest.raises(ToolFailure, match="knows something secret"):
        await lab.call(lab.tool("mail:send"))


async def test_a_call_that_reaches_others_is_refused_before_the_news_have_come(late):
    await late.call(late.tool("mail:send"))
    await elsewhere(late)
    with pytest.raises(ToolFailure, match="knows something secret"):
        await late.call(late.tool("mail:send"))
    assert late.reached == ["mail:send"]


async def test_a_rule_about_labels_sees_what_was_raised_before_the_news_have_come(late):
    late.opened(
        GateKeys(levels=CLOSED, policy=Policy(rules=[RULE], defaults=PolicyDefaults(fallback="allow"))),
        {"kb:list": ToolOverride(policy_action="file.read", open_world=False)},
    )
    await late.call(late.tool("kb:list"))
    await elsewhere(late)
    with pytest.raises(ToolFailure, match="You know too much"):
        await late.call(late.tool("kb:list"))
    assert late.reached == ["kb:list"]


async def test_a_label_is_written_again_when_somebody_has_reset_it_unheard(late):
    await late.call(late.tool("kb:read"))
    assert (await late.store.contexts.find("ctx")).label == SECRET
    await late.store.contexts.reset("ctx")
    await late.call(late.tool("kb:read"))
    assert (await late.store.contexts.find("ctx")).label == SECRET


async def test_a_label_that_is_reset_while_the_call_is_under_way_is_written_before_its_result_is_given(late):
    async def answer():
        await late.store.contexts.reset("ctx")
        return text_result("the secret")

    await late.call(late.tool("kb:read"), answer=answer)
    found = await late.store.contexts.find("ctx")
    assert (found.resets, found.label) == (1, SECRET)


async def test_other_calls_need_no_look_into_the_store(late, monkeypatch):
    plain = late.tool("kb:list")
    assert not plain.by_label
    assert (await late.contexts.load("ctx")) == PLAIN

    async def nobody_looks(_context_id):
        raise AssertionError("a look")

    monkeypatch.setattr(late.store.contexts, "find", nobody_looks)
    await late.call(plain)
