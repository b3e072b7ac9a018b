"""A mistake under `redaction` is told with its place before anything is served."""

from __future__ import annotations

import pytest

from awf.domain.gate_file import GateKeys, Redaction, problems_of_gate
from awf.domain.redaction.custom_patterns import problem_with


@pytest.mark.parametrize(
    "pattern",
    ["", "(", "a{2,1}", "[z-a]", "x*", "", "a|", "(a+)+b", "(?:a*)*x", "(\\w+\\s?)+$", "(?:(?:ab)*c?)+d", "x" * 501,
     "(?=(a+)+)b"],
)  # fmt: skip
def test_an_expression_that_is_broken_fits_nothing_or_may_take_forever_is_refused(pattern):
    assert problem_with(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bEMP-\d{6}\b",
        r"[A-Z]{2}[0-9]+",
        r"(?:ab){3}",
        r"a.*b",
        r"(?>a+)+b",
        r"(?i)order-\w+",
        r"(?:\d{4}-)+x",
    ],
)
def test_a_usual_expression_is_taken(pattern):
    assert problem_with(pattern) == ""


def test_the_place_of_a_mistake_is_told():
    keys = GateKeys(redaction=Redaction(names=["ok", " - "], patterns=["fine-[0-9]+", "("]))
    found = list(problems_of_gate(keys))
    assert [(one.code, one.path) for one in found] == [
        ("USER.GATEWAY.INVALID_FILE", ("redaction", "keys", 1)),
        ("USER.GATEWAY.INVALID_FILE", ("redaction", "patterns", 1)),
    ]
    assert "re" in found[1].hint
