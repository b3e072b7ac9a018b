"""Conditions of the first AWF."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.infrastructure.expressions import ExpressionLanguage
from awf.infrastructure.expressions.conditions.library import cel
from awf.infrastructure.expressions.conditions.parser import parse
from awf.infrastructure.expressions.conditions.references import findings_in
from awf.infrastructure.expressions.conditions.writer import executable
from awf.infrastructure.expressions.legacy import normalise_condition


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("inputs.a contains 'x'", "inputs.a.contains('x')"),
        ("inputs.a startsWith inputs.b", "inputs.a.startsWith(inputs.b)"),
        ("inputs.a endsWith ('x' + inputs.b)", "inputs.a.endsWith(('x' + inputs.b))"),
        ('"abc" matches "a.c"', '"abc".matches("a.c")'),
        ("string(inputs.a) contains '5'", "string(inputs.a).contains('5')"),
        ("(inputs.a + 'x') contains 'y'", "(inputs.a + 'x').contains('y')"),
        ("inputs.a + 'x' contains 'y'", "(inputs.a + 'x').contains('y')"),
        ("inputs.a not contains 'x'", "!inputs.a.contains('x')"),
        ("inputs.a not in ['x']", "!(inputs.a in ['x'])"),
        ("not inputs.a contains 'x'", "!inputs.a.contains('x')"),
        ("not inputs.a == 1", "!(inputs.a == 1)"),
        ("inputs.a and not inputs.b or inputs.c", "inputs.a && !inputs.b || inputs.c"),
        ("contains(inputs.a, 'x')", "inputs.a.contains('x')"),
        ("has_prefix(inputs.a, 'x') && has_suffix(inputs.a, 'y')", "inputs.a.startsWith('x') && inputs.a.endsWith('y')"),
        ("len(inputs.a) == 1 and inputs.b == nil", "size(inputs.a) == 1 && inputs.b == null"),
        (".states.my-step.Output == 'x'", "states[\"my-step\"].output == 'x'"),
        ("states.x.ExitCode == 0", "states.x.exit_code == 0"),
        ("states.x.TokensUsed > 5", "states.x.usage.tokens > 5"),
        ("states['x'].Status == 'ok'", "states['x'].status == 'ok'"),
        ("loop.Index1 == loop.Length and loop.Parent.First", "loop.index1 == loop.length && loop.parent.first"),
        ("error.Type == 'x' && workflow.Name != context.User", "error.type == 'x' && workflow.name != context.user"),
        ("{{ inputs.a == 1 }}", "inputs.a == 1"),
        ("  {{.inputs.a}}  ", "inputs.a"),
        ("{{.inputs.a}} == {{ inputs.b }}", "inputs.a == inputs.b"),
        ("inputs.a == `raw \\ text`", 'inputs.a == "raw \\\\ text"'),
        ("states.in.output == 'x'", "states[\"in\"].output == 'x'"),
        ("states.étape.output == 'x'", "states[\"étape\"].output == 'x'"),
        ("states.1-build.output == 'x'", "states[\"1-build\"].output == 'x'"),
        ("inputs.a-b - inputs.c == 1", 'inputs["a-b"] - inputs.c == 1'),
        ("loop.index-1 == 1", "loop.index - 1 == 1"),
    ],
)  # fmt: skip
def test_old_forms_are_put_the_new_way(old, new):
    assert normalise_condition(old) == new
    assert normalise_condition(new) == new


@pytest.mark.parametrize(
    "text",
    [
        "inputs.a == ' contains and or not .inputs.x states.my-step.Output '",
        "inputs.a == \"it's {{ fine }}\"",
        "contains == 1",
        "inputs.contains == inputs.and",
        'states.x.output.contains("a contains b")',
    ],
)  # fmt: skip
def test_texts_and_fields_are_left_alone(text):
    assert normalise_condition(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "states.my-step.Output contains 'done' and not (states.my-step.ExitCode != 0)",
        "has_prefix(.states.my-step.Output, 'all') or inputs.nope == 1",
        "inputs.env matches '^pr' && loop.Index == 1",
        "{{ .inputs.env }} == 'prod'",
        "inputs.env startsWith 'p' and inputs.env endsWith 'd' and inputs.env not contains 'x'",
    ],
)
def test_old_conditions_hold_as_they_did(text):
    context = {
        "states": {"my-step": {"output": "all done", "exit_code": 0}},
        "inputs": {"env": "prod"},
        "loop": {"index": 1},
    }
    assert ExpressionLanguage().condition(text).holds(context)


leaves = st.sampled_from(
    ["inputs.a", "inputs.b-c", "states.x.Output", "loop.Index", "true", "null", "1", "2.5", "'t'", '"u"', "r'v'", "[]", "{'k': 1}", "x"]
)  # fmt: skip
binary = st.sampled_from(
    ["==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "and", "or", "+", "-", "*", "/", "%", "contains", "matches", "not in"]
)  # fmt: skip
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds("{} {} {}".format, inner, binary, inner),
        inner.map("({})".format),
        inner.map("!({})".format),
        inner.map("not {}".format),
        inner.map("-{}".format),
        inner.map("size({})".format),
        inner.map("[1].exists(x, {})".format),
        st.builds("({} ? ({}) : {})".format, inner, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
    ),
    max_leaves=8,
)


@given(conditions)
@settings(max_examples=300, deadline=None)
def test_whatever_is_read_is_cel_that_the_library_reads_too(text):
    node = parse(text)
    assert normalise_condition(normalise_condition(text)) == normalise_condition(text)
    questions = {at: f"has_{at}_" for at in findings_in(node).questions}
    cel().compile(executable(node, questions))
