"""Configuration decides; a server's word can only make things stricter."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.gate_file import GateKeys, Levels, Limits
from awf.domain.label import Label, joined
from awf.domain.override import ToolOverride
from awf.domain.policy import ACTIONS, Policy
from awf.testing.gate_shelf import facts_of


def test_a_tool_of_which_nobody_says_anything_is_judged_by_the_default_and_counts_as_consequential():
    facts = facts_of()
    assert (facts.actions, facts.action) == (("connector.action",), "")
    assert facts.consequential
    assert not facts.open_world
    assert facts.label == Label()


def test_an_action_from_the_configuration_counts_alone():
    facts = facts_of(
        annotations={"policyAction": "network.request"}, override=ToolOverride(policy_action="file.read")
    )
    assert (facts.actions, facts.action, facts.consequential) == (("file.read",), "file.read", False)


def test_an_action_that_only_the_server_says_is_judged_beside_the_default():
    facts = facts_of(meta={"policy_action": "file.read"})
    assert facts.actions == ("file.read", "connector.action")
    assert facts.action == "file.read"
    assert facts.consequential


def test_every_action_that_a_server_names_is_judged():
    facts = facts_of(annotations={"policyAction": "file.read"}, meta={"policyAction": "network.request"})
    assert facts.actions == ("file.read", "network.request", "connector.action")
    assert facts.open_world


@pytest.mark.parametrize("value", ["file.delete", "", 7, ["file.read"], {"a": 1}, "\ud800", True])
def test_an_action_that_is_none_counts_as_not_said_and_is_noted(value):
    facts = facts_of(annotations={"policyAction": value})
    assert facts.actions == ("connector.action",)
    assert len(facts.notes) == 1
    assert facts.notes[0].isascii()


def test_read_only_hints_make_nothing_harmless():
    assert facts_of(annotations={"readOnlyHint": True, "destructiveHint": False}).consequential


@pytest.mark.parametrize(
    ("hint", "said", "unmarked", "open_world"),
    [
        (True, None, "closed", True),
        (False, None, "closed", False),
        (False, None, "open", True),
        (None, None, "open", True),
        ("yes", None, "closed", True),
        (True, False, "closed", False),
        (False, True, "closed", True),
    ],
)
def test_whether_a_tool_reaches_others(hint, said, unmarked, open_world):
    facts = facts_of(
        annotations={} if hint is None else {"openWorldHint": hint},
        override=ToolOverride(open_world=said),
        keys=GateKeys(levels=Levels(unmarked=unmarked)),
    )
    assert facts.open_world is open_world


def test_network_requests_reach_others():
    assert facts_of(override=ToolOverride(policy_action="network.request")).open_world
    assert facts_of(meta={"policyAction": "network.request"}).open_world


@pytest.mark.parametrize(
    ("said", "meta", "label"),
    [
        ("Confidential", {}, Label("confidential")),
        ("confidential", {"classification": "public"}, Label("confidential")),
        ("confidential", {"classification": "Secret"}, Label("secret")),
        (None, {"confidentiality": "secret"}, Label("secret")),
        (None, {"ifc": {"confidentiality": "private", "integrity": "untrusted"}}, Label("confidential", "untrusted")),
        (None, {"ifc": "private"}, Label()),
        (None, {"classification": "for our eyes"}, Label("confidential")),
        (None, {"classification": 3}, Label("confidential")),
        (None, {"integrity": "so so"}, Label("public", "untrusted")),
    ],
)  # fmt: skip
def test_results_are_as_secret_as_the_higher_of_both_says(said, meta, label):
    assert facts_of(meta=meta, override=ToolOverride(classification=said)).label == label


def test_scopes_of_both_are_required():
    facts = facts_of(
        annotations={"requiredScopes": ["kb.read", "kb.more"]},
        meta={"scopes": "a b", "oauth": {"scopes": ["c"]}},
        override=ToolOverride(required_scopes=["mine", "kb.read"]),
    )
    assert facts.required_scopes == ("mine", "kb.read", "kb.more", "a", "b", "c")


@pytest.mark.parametrize("scopes", [7, [None], [""], ["\x1b[2J"], {"a": 1}, [f"s{n}" for n in range(500)]])
def test_scopes_that_cannot_be_read_keep_the_tool_shut(scopes):
    facts = facts_of(meta={"requiredScopes": scopes})
    assert "unreadable" in facts.required_scopes
    assert facts.notes
    assert len(facts.required_scopes) <= 65


@pytest.mark.parametrize("scope", ["a b", "a*", "*.a", "a*b"])
def test_a_scope_of_a_server_that_no_grant_can_name_stays_required_and_is_told(scope):
    facts = facts_of(annotations={"requiredScopes": ["kb.read", scope]})
    assert facts.required_scopes == ("kb.read", scope)
    assert facts.notes == (f"'{scope}' is no scope that could be granted: only a grant of * covers it.",)


def test_a_person_is_asked_when_the_server_says_so_unless_the_configuration_says_otherwise():
    assert facts_of(annotations={"requiresConfirmation": True}).requires_confirmation
    assert not facts_of(
        annotations={"requiresConfirmation": True}, override=ToolOverride(requires_confirmation=False)
    ).requires_confirmation
    assert facts_of(override=ToolOverride(requires_confirmation=True)).requires_confirmation


def test_limits_of_a_tool_are_laid_over_those_of_all():
    keys = GateKeys(limits=Limits(timeout_ms=1000, max_output_lines=20))
    assert facts_of(override=ToolOverride(limits=Limits(timeout_ms=5)), keys=keys).limits == Limits(
        timeout_ms=5, max_output_lines=20
    )


def test_a_strict_policy_refuses_tools_of_which_nobody_says_an_action():
    keys = GateKeys(policy=Policy(strict=True))
    assert "policy_action" in facts_of(keys=keys).refusal
    assert facts_of(keys=keys, annotations={"policyAction": "nonsense"}).refusal
    assert not facts_of(keys=keys, annotations={"policyAction": "file.read"}).refusal
    assert not facts_of(keys=keys, override=ToolOverride(policy_action="file.read")).refusal
    assert not facts_of("builtin:Read", keys=keys).refusal


@pytest.mark.parametrize(
    ("name", "action", "consequential", "open_world"),
    [
        ("Read", "file.read", False, False),
        ("Glob", "file.read", False, False),
        ("Grep", "file.read", False, False),
        ("Write", "file.write", True, False),
        ("Edit", "file.write", True, False),
        ("Bash", "file.*", True, True),
    ],
)
def test_built_in_tools_are_known(name, action, consequential, open_world):
    facts = facts_of(f"builtin:{name}", keys=GateKeys(levels=Levels(unmarked="open")))
    assert (facts.action, facts.consequential, facts.open_world) == (action, consequential, open_world)


def test_a_sandbox_without_network_closes_bash_and_configuration_can_say_otherwise():
    hints = {"openWorldHint": True}
    assert not facts_of("builtin:Bash", annotations=hints, networked=False).open_world
    assert facts_of("builtin:Bash", override=ToolOverride(open_world=True), networked=False).open_world
    assert facts_of("builtin:Bash", override=ToolOverride(policy_action="file.read")).actions == (
        "file.read",
    )


# -- whatever a server says --------------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.sampled_from([*ACTIONS, "secret", "private", "untrusted"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORDS = st.dictionaries(
    st.sampled_from(
        [
            "policyAction",
            "policy_action",
            "requiredScopes",
            "scopes",
            "requiresConfirmation",
            "openWorldHint",
            "destructiveHint",
            "readOnlyHint",
            "classification",
            "confidentiality",
            "ifc",
            "integrity",
            "oauth",
        ]
    ),
    JUNK,
)
OVERRIDES = st.builds(
    ToolOverride,
    policy_action=st.none() | st.sampled_from(ACTIONS),
    classification=st.none() | st.sampled_from(["public", "confidential", "secret"]),
    integrity=st.none() | st.sampled_from(["trusted", "untrusted"]),
    open_world=st.none() | st.booleans(),
    requires_confirmation=st.none() | st.booleans(),
)


@given(WORDS | JUNK, WORDS | JUNK, OVERRIDES, st.sampled_from(["open", "closed"]))
def test_no_word_of_a_server_loosens_anything(annotations, meta, override, unmarked):
    keys = GateKeys(levels=Levels(unmarked=unmarked))
    silent = facts_of(override=override, keys=keys)
    spoken = facts_of(annotations=annotations, meta=meta, override=override, keys=keys)
    assert set(silent.actions) <= set(spoken.actions)
    assert joined(silent.label, spoken.label) == spoken.label
    assert spoken.open_world >= silent.open_world
    assert spoken.consequential >= silent.consequential
    assert spoken.requires_confirmation >= silent.requires_confirmation
    assert set(silent.required_scopes) <= set(spoken.required_scopes)
    assert msgspec.structs.asdict(spoken)["limits"] == silent.limits
