"""The fast path and Jinja must be the same language: whatever the one reads, the other reads alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions.templates.jinja import compile_jinja
from awf.infrastructure.expressions.templates.plain import PlainTemplate, plain_template

NAMES = [
    "file",
    "my-step",
    "step-1",
    "Output",
    "output",
    "TokensUsed",
    "items",
    "json",
    "0",
    "7",
    "_x",
    "upper",
    "é",
    "get",
]
ROOTS = ["inputs", "states", "vars", "env", "workflow", "loop", "error", "context", "awf", "thing"]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=8,
)
contexts = st.dictionaries(
    st.sampled_from(ROOTS), st.dictionaries(st.sampled_from(NAMES), values, max_size=4) | values
)

steps = st.one_of(
    st.sampled_from(NAMES).map(lambda name: f".{name}"),
    st.sampled_from(NAMES).map(lambda name: f"['{name}']"),
    st.sampled_from(NAMES).map(lambda name: f'["{name}"]'),
    st.integers(0, 3).map(lambda index: f"[{index}]"),
)
paths = st.builds(
    lambda dot, root, rest: dot + root + "".join(rest),
    st.sampled_from(["", "."]),
    st.sampled_from(ROOTS),
    st.lists(steps, max_size=4),
)
spaces = st.sampled_from(["", " ", "  ", "\n", "\t"])
placeholders = st.builds(lambda a, path, b: f"{{{{{a}{path}{b}}}}}", spaces, paths, spaces)
literals = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["{", "}", "}}", "$", "${#x}", "\r\n", "\r", "\n", "%}", "\x1c", "'", '"']),
)
templates = st.lists(literals | placeholders, max_size=5).map("".join)


def outcome(action: Any, context: Any) -> Any:
    try:
        result = action(context)
    except ExpressionError as error:
        return ("error", error.message, error.offset)
    return (type(result), result)


@given(templates, contexts)
@settings(max_examples=200, deadline=None)
@example("{{ inputs.file.upper }}", {"inputs": {"file": "x"}})
@example("{{ loop.index-1 }}", {"loop": {"index": 4}})
@example("{{ inputs.file }}\n", {"inputs": {"file": "x"}})
@example("{{{ inputs.file }}}", {"inputs": {"file": "x"}})
@example("{ {{ inputs.file }} }", {"inputs": {"file": "x"}})
@example("\x1c\r\n{{ inputs.file }}\r", {"inputs": {"file": None}})
@example("{{ inputs.7 }}", {"inputs": {"7": "text key"}})
@example("{{ inputs[7] }}", {"inputs": {"7": "text key"}})
@example("{{ inputs.x.0 }}", {"inputs": {"x": "text"}})
@example("{{ inputs.x['0'] }}", {"inputs": {"x": [1]}})
def test_a_template_of_plain_paths_means_the_same_on_both_ways(text, context):
    plain = plain_template(text)
    if plain is None:
        return
    jinja = compile_jinja(text)
    assert outcome(plain.render, context) == outcome(jinja.render, context)
    assert outcome(plain.value, context) == outcome(jinja.value, context)
    assert plain.references == jinja.references


@pytest.mark.parametrize(
    "text",
    [
        "{{ inputs.file }}",
        "{{.inputs.file}}",
        "{{ states.my-step.output }}",
        "{{states.my-step.Output}}",
        "{{ loop.index }}",
        "{{ states.x.json.items.0.name }}",
        "{{ states['my step'].output }}",
        '{{ states["x"].json[0] }}',
        "a {{ inputs.a }} b {{ inputs.b }} ${#c}",
    ],
)
def test_plain_paths_take_the_fast_path(text):
    assert isinstance(plain_template(text), PlainTemplate)


@pytest.mark.parametrize(
    "text",
    [
        "{{ inputs.file | upper }}",
        "{{- inputs.file }}",
        "{{ inputs.file }}{% if true %}{% endif %}",
        "{{ inputs.file }}{# note #}",
        "{{ loop.index-1 }}",
        "{{ true }}",
        "{{ range }}",
        "{{ inputs.__class__ }}",
        "{{{ inputs.file }}}",
        "{{ inputs.file",
    ],
)
def test_anything_else_is_left_to_jinja(text):
    assert plain_template(text) is None
