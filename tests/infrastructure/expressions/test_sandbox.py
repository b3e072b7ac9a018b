"""Templates and conditions that mean no good, or mean too much."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions import ExpressionLanguage

LANGUAGE = ExpressionLanguage()


@pytest.mark.parametrize(
    "text",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ ''['__class__'] }}",
        "{{ '' | attr('__class__') }}",
        "{{ states.__class__ }}",
        "{{ states['__class__'] }}",
        "{{ states | attr('__class__') }}",
        "{{ states.__init__.__globals__ }}",
        "{{ inputs.list.__class__.__base__.__subclasses__() }}",
        "{{ inputs.list.append(1) }}",
        "{{ inputs.list.clear() }}",
        "{{ states.update({'x': 1}) }}",
        "{{ states.pop('x') }}",
        "{{ '{0.__class__}'.format(inputs) }}",
        "{{ '{x.__class__}'.format_map({'x': 1}) }}",
        "{{ [inputs] | map(attribute='__class__') | list }}",
        "{{ self.__init__ }}",
        "{{ range.__class__ }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ namespace.__init__ }}",
        "{% for x in range(10000000) %}{% endfor %}",
        "{{ 'x' * 100000000 }}",
        "{{ 100000000 * [1] }}",
        "{{ 2 ** 100000000 }}",
        "{{ 2 ** 9999 * 2 ** 9999 }}",
        "{{ lipsum() }}",
    ],
)
def test_the_sandbox_holds(text):
    inputs = {"list": [1]}
    with pytest.raises(ExpressionError):
        LANGUAGE.template(text).render({"inputs": inputs, "states": {"x": {}}})
    assert inputs == {"list": [1]}


def test_a_result_has_a_limit():
    line = "x" * 9_000_000
    text = "{% for i in range(90) %}{{ inputs.line }}{% endfor %}"
    with pytest.raises(ExpressionError, match="too long"):
        LANGUAGE.template(text).render({"inputs": {"line": line}})


@pytest.mark.parametrize("count", [50, 300, 5000])
@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("{{ (", "(1", ")"),
        ("{{ [", "[1", "]"),
        ("{{ ", "-", "1 }}"),
        ("{{ 1", " + 1", " }}"),
        ("{{ inputs.x", "|upper", "}}"),
        ("{{ inputs.x | upper", ".a", "}}"),
        ("", "{% if 1 %}", ""),
        ("", "{{if .x}}", ""),
        ("{{ eq 1 ", "(eq 1 ", ""),
        ("", "{{", ""),
        ("", "{% raw %}", ""),
        ("{{ ", "{", ""),
        ("{{ ", "'", " }}"),
        ("{{/*", "{{/*", ""),
    ],
)
def test_depth_and_unfinished_work_end_in_an_answer(before, middle, after, count):
    text = before + middle * count + after
    try:
        LANGUAGE.template(text).render({"inputs": {"x": "x"}})
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text)


@pytest.mark.parametrize("count", [30, 300, 20_000])
@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("", "(", "true"),
        ("", "!", "true"),
        ("", "not ", "true"),
        ("", "-", "1 == 1"),
        ("true", " && true", ""),
        ("1", " + 1", " == 1"),
        ("1", " == 1", ""),
        ("inputs", ".a", " == 1"),
        ("inputs", "[0]", " == 1"),
        ("inputs.x", ' contains "a"', ""),
        ("", "true ? true : ", "true"),
        ("", "[", ""),
        ("", '{"a":', ""),
        ("", "size(", ""),
        ("", "has(", ""),
        ("", "[1].all(x, ", ""),
        ('"', "\\\\", '"'),
    ],
)
def test_a_deep_condition_never_takes_the_process_down(before, middle, after, count):
    text = before + middle * count + after
    try:
        LANGUAGE.condition(text).holds({"inputs": {"x": "x"}})
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text)


def test_deep_data_never_takes_the_process_down():
    data: list[object] = []
    for _ in range(50_000):
        data = [data]
    with pytest.raises(ExpressionError):
        LANGUAGE.condition("inputs.data == []").holds({"inputs": {"data": data}})
    with pytest.raises(ExpressionError):
        LANGUAGE.template("{{ inputs.data }}").render({"inputs": {"data": data}})


def test_a_long_template_is_rendered_whole():
    line = "x" * 40 + "{{ inputs.x }}" + "\n"
    assert LANGUAGE.template(line * 2000).render({"inputs": {"x": "1"}}) == ("x" * 40 + "1\n") * 2000
    line = "x" * 40 + "{{ inputs.x | upper }}" + "\n"
    assert LANGUAGE.template(line * 1600).render({"inputs": {"x": "a"}}) == ("x" * 40 + "A\n") * 1600


WORDS = [
    "{{", "}}", "{%", "%}", "{#", "#}", "-", ".", "|", "(", ")", "[", "]", "{", "}", '"', "'", "`", "\\", "$", " ", "\n", "\r",
    "inputs", "states", "my-step", "Output", "if", "else", "end", "endif", "for", "in", "endfor", "range", "with", "eq", "and",
    "not", "or", "is", "defined", "default", "escape", "json", "raw", "endraw", "set", "=", "==", "1", "0", "é", ",", ":", "~",
    "contains", "matches", "has", "exists", "x", "&&", "||", "!", "?", "<", "//", "r", "u", "_", "macro", "endmacro",
]  # fmt: skip
texts = st.lists(st.sampled_from(WORDS) | st.text(max_size=2), max_size=14).map("".join)


@given(texts)
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_template_or_an_expression_error(text):
    try:
        template = LANGUAGE.template(text)
        assert all(0 <= reference.offset < len(text) for reference in template.references)
        template.render({"inputs": {"x": "1"}, "states": {}})
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text)


@given(texts)
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_condition_or_an_expression_error(text):
    try:
        condition = LANGUAGE.condition(text)
        assert all(0 <= reference.offset < len(text) for reference in condition.references)
        condition.holds({"inputs": {"x": "1"}, "states": {}})
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text)
