"""Labels only get worse where things are mixed, and are told on the wire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.gate.labels import LABEL_KEY, labelled, stated_label
from awf.domain.label import CLASSIFICATIONS, PLAIN, Label, joined, level_of
from awf.domain.tool import ToolResult, text_result

LABELS = st.builds(Label, st.sampled_from(CLASSIFICATIONS), st.sampled_from(["trusted", "untrusted"]))


@given(LABELS, LABELS)
def test_what_is_made_of_two_is_no_better_than_either(one: Label, other: Label):
    both = joined(one, other)
    assert both.covers(one)
    assert both.covers(other)
    assert both == joined(other, one)


@given(LABELS, LABELS, LABELS)
def test_the_order_of_mixing_does_not_matter(one: Label, two: Label, three: Label):
    assert joined(joined(one, two), three) == joined(one, joined(two, three))


@given(LABELS)
def test_mixing_with_itself_or_with_nothing_changes_nothing(label: Label):
    assert joined(label, label) == label
    assert joined(label, PLAIN) == label


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ("Confidential", "confidential"),
        ("SECRET", "secret"),
        ("public", "public"),
        ("top", None),
        (3, None),
        (None, None),
    ],
)
def test_a_level_is_known_in_any_case_of_letters(said: object, level: str | None):
    assert level_of(said) == level


@pytest.mark.parametrize(
    ("meta", "label"),
    [
        ({}, PLAIN),
        (
            {"ifc": {"confidentiality": "private", "integrity": "untrusted"}},
            Label("confidential", "untrusted"),
        ),
        ({"ifc": {"confidentiality": "public", "integrity": "untrusted"}}, Label("public", "untrusted")),
        ({LABEL_KEY: {"confidentiality": "secret"}}, Label("secret")),
        ({"ifc": "private"}, Label("confidential")),
        ({"ifc": "public"}, PLAIN),
        ({"ifc": ["secret"]}, Label("confidential")),
        ({"ifc": {"classification": "secret"}}, Label("secret")),
        ({"ifc": {"classification": "secret", "confidentiality": "public"}}, Label("secret")),
        ({"ifc": None}, PLAIN),
        ({"ifc": {"confidentiality": None, "integrity": "trusted"}}, PLAIN),
        ({"ifc": {"confidentiality": ["x"], "integrity": 5}}, Label("confidential", "untrusted")),
        ({"ifc": {"confidentiality": "restricted"}}, Label("confidential")),
        ({"ifc": {"confidentiality": "PRIVATE"}}, Label("confidential")),
        ({"ifc": {"confidentiality": ["alice"]}}, Label("confidential")),
        ({"ifc": {"confidentiality": "Secret"}}, Label("secret")),
        ({"ifc": {"integrity": "low"}}, Label("public", "untrusted")),
        (
            {"ifc": {"integrity": "untrusted"}, LABEL_KEY: {"confidentiality": "secret"}},
            Label("secret", "untrusted"),
        ),
    ],
)
def test_a_result_may_say_how_secret_it_is(meta: dict, label: Label):
    assert stated_label(meta) == label


def test_the_label_of_a_result_goes_with_it_in_both_its_forms():
    raw = {"content": [], "_meta": {"own": 1}}
    result = labelled(ToolResult(meta={"own": 1}, raw=raw), Label("secret", "untrusted"))
    told = {"own": 1, LABEL_KEY: {"confidentiality": "secret", "integrity": "untrusted"}}
    assert result.meta == told
    assert result.raw == {"content": [], "_meta": told}
    assert raw == {"content": [], "_meta": {"own": 1}}
    assert labelled(text_result("x"), Label("secret")).raw is None
