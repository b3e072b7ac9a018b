"""What conditions say they refer to."""

from __future__ import annotations

import pytest

from awf.infrastructure.expressions import ExpressionLanguage


def references(text: str) -> list[str]:
    """Each as ``path@offset``, with a question mark if it is guarded."""
    found = ExpressionLanguage().condition(text).references
    return [f"{'.'.join(r.parts)}@{r.offset}{'?' * r.guarded}" for r in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true", []),
        ("inputs.a == 1 && states.b.Output == inputs.c", ["inputs.a@0", "states.b.output@17", "inputs.c@36"]),
        ("  .states.my-step.ExitCode == 0", ["states.my-step.exit_code@3"]),
        ("{{ inputs.a }} == 'inputs.b'", ["inputs.a@3"]),
        ("states['my-step'].json[0].x == 1", ["states.my-step.json.0.x@0"]),
        ("states[inputs.s].output == 'x'", ["states@0", "inputs.s@7"]),
        ("inputs.xs.size() == 1 && lower(inputs.a) == 'x'", ["inputs.xs@0", "inputs.a@31"]),
        ("inputs.a contains inputs.b", ["inputs.a@0", "inputs.b@18"]),
        ("contains(inputs.a, inputs.b)", ["inputs.a@9", "inputs.b@19"]),
        ("inputs.xs.exists(x, x.y == inputs.z)", ["inputs.xs@0", "inputs.z@27"]),
        ("x == 1 && [1].all(x, x == 1) && x == 2", ["x@0", "x@32"]),
        ("[1].map(x, x > 0, x * inputs.a) == []", ["inputs.a@22"]),
        ("[inputs.a].exists(v, [v].exists(w, w == v && w == inputs.b))", ["inputs.a@1", "inputs.b@50"]),
        ("type(inputs.a) == string", ["inputs.a@5"]),
        ("inputs.a ? [inputs.b] == {'k': inputs.c} : -inputs.d < 0", ["inputs.a@0", "inputs.b@12", "inputs.c@31", "inputs.d@44"]),
        ("(inputs.a + 'x').contains('y')", ["inputs.a@1"]),
        ("true // inputs.a", []),
        ("'é🙂' == inputs.a", ["inputs.a@8"]),
    ],
)  # fmt: skip
def test_paths_from_the_context_are_listed_in_order(text, expected):
    assert references(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("has(inputs.a)", ["inputs.a@4?"]),
        ("has(states[inputs.s].x)", ["states@4?", "inputs.s@11"]),
        ("has(inputs.a) && inputs.a == 1", ["inputs.a@4?", "inputs.a@17?"]),
        ("has(states.x) && states.x.output == 1", ["states.x@4?", "states.x.output@17?"]),
        ("has(states.x.output) && states.y.output == 1", ["states.x.output@4?", "states.y.output@24"]),
        ("inputs.a == 1 && has(inputs.a)", ["inputs.a@0", "inputs.a@21?"]),
        ("!has(inputs.a) || inputs.a == 1", ["inputs.a@5?", "inputs.a@18?"]),
        ("has(inputs.a) || inputs.a == 1", ["inputs.a@4?", "inputs.a@17"]),
        ("(has(inputs.a) and true) and inputs.a == 1", ["inputs.a@5?", "inputs.a@29?"]),
        ("has(inputs.a) ? inputs.a : inputs.b", ["inputs.a@4?", "inputs.a@16?", "inputs.b@27"]),
        ("not has(inputs.a) ? inputs.b : inputs.a", ["inputs.a@8?", "inputs.b@20", "inputs.a@31?"]),
        ("'x' in states && states.x.output == 1", ["states@7", "states.x.output@17?"]),
        ("!(!has(inputs.a) || false) && inputs.a == 1", ["inputs.a@7?", "inputs.a@30?"]),
    ],
)
def test_paths_that_may_be_missing_are_marked(text, expected):
    assert references(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "has(inputs.a.b.c) && inputs.a.b.c == 1",
        "!(!has(states.x) || states.x.output == 1)",
        "has(inputs.a) ? inputs.a : false",
        "'x' in states && states.x.output == 1",
    ],
)
def test_a_path_marked_as_guarded_really_may_be_missing(text):
    assert ExpressionLanguage().condition(text).holds({"inputs": {}, "states": {}}) is False
