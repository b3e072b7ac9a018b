"""Rendering: what templates come to."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from typing import Any

import pytest

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions import ExpressionLanguage

CONTEXT: dict[str, Any] = {
    "inputs": {
        "file": "a b.txt",
        "count": 5,
        "whole": 5.0,
        "flag": True,
        "nothing": None,
        "list": [1, "two", {"three": 3}],
        "text": " one, two ,three ",
        "json": '{"a": [1, 2]}',
        "path": "/srv/data/report.txt",
        "quote": "it's",
    },
    "states": {
        "my-step": {"output": "line 1\n\nline 2\n", "exit_code": 0, "json": {"items": [{"name": "first"}]}},
        "build": {"output": "built", "json": None},
    },
    "vars": {"long-name": "v"},
    "loop": {"index": 3, "item": "it", "parent": {"index": 1}},
}


def render(text: str, context: Mapping[str, Any] = CONTEXT) -> str:
    return ExpressionLanguage().template(text).render(context)


def value(text: str, context: Mapping[str, Any] = CONTEXT) -> Any:
    return ExpressionLanguage().template(text).value(context)


def failure(text: str, context: Mapping[str, Any] = CONTEXT) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        ExpressionLanguage().template(text).render(context)
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no placeholders, {braces} or }} ends", "no placeholders, {braces} or }} ends"),
        ("", ""),
        ("{{ inputs.file }}", "a b.txt"),
        ("<{{inputs.file}}|{{ inputs.count }}>", "<a b.txt|5>"),
        ("{{ states.my-step.exit_code }}", "0"),
        ("{{ states.my-step.json.items.0.name }}", "first"),
        ("{{ states['my-step'].json['items'][0].name }}", "first"),
        ("{{ vars.long-name }}", "v"),
        ("{{ loop.parent.index }}", "1"),
        ("ends with a line feed {{ inputs.count }}\n", "ends with a line feed 5\n"),
        ("ends with a line feed {{ inputs.count + 1 }}\n", "ends with a line feed 6\n"),
        ("\r\n{{ inputs.count + 1 }}\r\n\n\r", "\r\n6\r\n\n\r"),
        ("ünïcödé {{ inputs.file }} 🙂", "ünïcödé a b.txt 🙂"),
        ("{{ '🙂' ~ inputs.count }}", "🙂5"),
    ],
)
def test_placeholders_are_filled_in(text, expected):
    assert render(text) == expected


@pytest.mark.parametrize(
    "form", ["{{{{ {} }}}}", "{{{{ ({}) }}}}", "{{% if true %}}{{{{ {} }}}}{{% endif %}}"]
)
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("inputs.nothing", ""),
        ("inputs.flag", "true"),
        ("inputs.count", "5"),
        ("inputs.whole", "5.0"),
        ("inputs.list", '[1,"two",{"three":3}]'),
        ("states.my-step.json", '{"items":[{"name":"first"}]}'),
    ],
)
def test_every_kind_of_value_has_one_text(form, path, expected):
    assert render(form.format(path)) == expected


def test_text_inside_json_is_not_escaped_beyond_need():
    assert render("{{ inputs }}", {"inputs": {"é": "<&>"}}) == '{"é":"<&>"}'


def test_bytes_are_refused_rather_than_guessed_at():
    assert "bytes" in failure("{{ inputs.raw }}", {"inputs": {"raw": b"x"}}).message
    assert "bytes" in failure("{{ [inputs.raw] }}", {"inputs": {"raw": b"x"}}).message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ inputs.file | shellquote }}", "'a b.txt'"),
        ("{{ inputs.quote | shellquote }}", "'it'\"'\"'s'"),
        ("{{ inputs.flag | shellquote }}", "true"),
        ("{{ inputs.nothing | shellquote }}", "''"),
        ("{{ inputs.list | shellquote }}", """'[1,"two",{"three":3}]'"""),
        ("{{ inputs.list | tojson }}", '[1,"two",{"three":3}]'),
        ("{{ {'a': '<b>'} | tojson }}", '{"a":"<b>"}'),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{{ (inputs.json | fromjson).a.1 }}", "2"),
        ("{{ inputs.text | trim }}", "one, two ,three"),
        ("{{ states.my-step.output | lines | length }}", "2"),
        ("{{ states.my-step.output | lines | join('+') }}", "line 1+line 2"),
        ("{{ inputs.text | split(',') | join('|') }}", "one|two|three"),
        ("{{ '' | split(',') | length }}", "0"),
        ("{{ inputs.file | regex_replace('[ab]', 'x') }}", "x x.txt"),
        (r"{{ inputs.file | regex_replace('(\\w) (\\w)', '\\2 \\1') }}", "b a.txt"),
        ("{{ inputs.path | basename }} {{ inputs.path | dirname }}", "report.txt /srv/data"),
        ("{{ '/srv/data/' | basename }}", "data"),
        ("{{ [true, none, 'x'] | join(',') }}", "true,,x"),
        ("{{ inputs.list | map('string') | join(' ') }}", '1 two {"three":3}'),
        ("{{ inputs.missing | default('d') }}", "d"),
        ("{{ states.absent.json.deep | default('d') }}", "d"),
        ("{{ states.build.json.deep | default('d') }}", "d"),
        ("{{ inputs.count | default('d') }}", "5"),
        ("{{ inputs.missing or 'd' }}", "d"),
        ("{{ inputs.missing or inputs.gone or 'd' }}", "d"),
        ("{{ 'a' ~ true ~ none ~ [1] }}", "atrue[1]"),
        ("{{ inputs.file.upper() }}", "A B.TXT"),
        ("{{ range(3) }}", "[0,1,2]"),
        ("{{ 3 * 4 }} {{ 'ab' * 2 }} {{ 2 ** 8 }} {{ 1.5 * 2 }}", "12 abab 256 3.0"),
        ("{{ [{'k': 1}, {'k': true}] | join('+', attribute='k') }}", "1+true"),
        ("{% block b %}{{ inputs.count }}{% endblock %}", "5"),
        ("{% set x | upper %}a{{ inputs.count }}{% endset %}{{ x }}", "A5"),
        ("{{ `raw text` }}", "raw text"),
        ("{{ inputs.list | map('string') }}", '["1","two","{\\"three\\":3}"]'),
    ],
)
def test_filters_and_operators(text, expected):
    assert render(text) == expected


def test_an_input_that_was_not_given_takes_the_default():
    assert render("git checkout {{ inputs.nothing | default('main') }}") == "git checkout main"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ states.my-step.output | length }}", "15"),
        ("{{ states.my-step.exit_code - 1 }}", "-1"),
        ("{{ states.my-step.exit_code-1 }}", "-1"),
        ("{{ inputs.count - 1 }}", "4"),
        ("{{ loop.index-1 }}", "2"),
        ("{% if states.my-step.exit_code == 0 %}ok{% endif %}", "ok"),
        ("{{ 'states.my-step' ~ '' }}", "states.my-step"),
        ("{{ \"a }} b\" ~ 'states.my-step.Output {{' }}", "a }} b" + "states.my-step.Output {{"),
        ("{{ {'states.my-step': {'x': 1}} }}", '{"states.my-step":{"x":1}}'),
        ("{{ states.my-step.json.items | map(attribute='name') | join }}", "first"),
    ],
)
def test_hyphens_join_names_and_subtract_elsewhere(text, expected):
    assert render(text) == expected


def test_a_key_wins_over_a_method_of_the_mapping():
    context = {"states": {"x": {"items": "mine", "keys": "too"}}}
    assert render("{{ states.x.items }} {{ states.x.keys | upper }}", context) == "mine TOO"


def test_methods_of_mappings_are_not_reached():
    error = failure("{% for k, v in inputs.items() %}{% endfor %}")
    assert error.message == "inputs.items is not defined"
    assert "| items" in error.hint
    assert render("{% for k, v in inputs | items %}{{ k }},{% endfor %}", {"inputs": {"a": 1}}) == "a,"


class Lazy(Mapping[str, Any]):
    """A mapping that makes its values when asked, and remembers what it was asked for."""

    def __init__(self, **makers: Any) -> None:
        self.makers, self.asked = makers, []

    def __getitem__(self, key: str) -> Any:
        if key not in self.makers:
            raise KeyError(key)
        self.asked.append(key)
        return self.makers[key]()

    def __iter__(self):
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


@pytest.mark.parametrize(
    "text", ["{{ states.build.output }}", "{{ states.build.output | trim }}", "{{ states['build'].output }}"]
)
def test_lazy_mappings_are_asked_only_for_what_is_used(text):
    step = Lazy(output=lambda: "out", stderr=lambda: pytest.fail("not asked for"))
    states = Lazy(build=lambda: step, other=lambda: pytest.fail("not asked for"))
    assert render(text, Lazy(states=lambda: states, env=lambda: pytest.fail("not asked for"))) == "out"
    assert set(step.asked) == {"output"}


def test_a_lazy_mapping_is_shown_as_json():
    context = Lazy(inputs=lambda: UserDict(a=Lazy(b=lambda: 1)))
    assert render("{{ inputs }}", context) == '{"a":{"b":1}}'
    assert render("{{ inputs | tojson }}", context) == '{"a":{"b":1}}'


@pytest.mark.parametrize("text", ["{{ inputs.a }}", "{{ inputs.a | upper }}"])
def test_a_mapping_that_fails_makes_the_template_fail(text):
    def fail() -> Any:
        raise OSError("disk gone")

    assert "disk gone" in failure(text, {"inputs": Lazy(a=fail)}).message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ inputs.list }}", CONTEXT["inputs"]["list"]),
        ("  {{ inputs.count }}\n", 5),
        ("{{ inputs.nothing }}", None),
        ("{{ inputs.flag }}", True),
        ("{{ inputs.count + 1 }}", 6),
        ("\n{{ inputs.text | split(',') }}  ", ["one", "two", "three"]),
        ("{{ inputs.list | map('string') }}", ["1", "two", '{"three":3}']),
        ("{{ range(2) }}", [0, 1]),
        ("{{ inputs.json | fromjson }}", {"a": [1, 2]}),
        ("{{json .inputs.list}}", '[1,"two",{"three":3}]'),
        ("n={{ inputs.count }}", "n=5"),
        ("{{ inputs.count }}{{ inputs.count }}", "55"),
        ("{% if true %}{{ inputs.count }}{% endif %}", "5"),
        ("plain", "plain"),
    ],
)
def test_one_placeholder_alone_keeps_the_type_of_its_value(text, expected):
    found = value(text)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("text", [" {{ inputs.count }}\n", " {{ inputs.count + 0 }}\n"])
def test_rendering_keeps_the_white_space_that_the_value_drops(text):
    assert render(text) == " 5\n"
    assert value(text) == 5


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("run {{ states.test.output }}", "states.test.output is not defined", 7),
        ("run {{ states.test.output | upper }}", "states.test.output is not defined", 7),
        ("run {{.states.test.Output}}", "states.test.output is not defined", 7),
        ("{{ inputs.a }}{{ inputs.count }}", "inputs.a is not defined", 3),
        ("{{ inputs.count }} {{ inputs.a ~ '' }}", "inputs.a is not defined", 22),
        ("{{ nothing_at_all }}", "nothing_at_all is not defined", 3),
        ("{{ inputs.list.7 }}", "inputs.list.7 is not defined", 3),
        ("{{ inputs.list[7] | upper }}", "inputs.list.7 is not defined", 3),
        ("{{ states.build.json.key }}", "states.build.json.key is not defined", 3),
        ("{{ inputs.file.upper }}", "inputs.file.upper is not defined", 3),
        ("{{ (inputs.file.upper) }}", "inputs.file.upper is not defined", 4),
        ("{% set x = inputs.a %}.{{ x }}", "inputs.a is not defined", 11),
        ("{% for i in inputs.list %}{{ i.name }}{% endfor %}", "i.name is not defined", 29),
        ("{% if inputs.a %}x{% endif %}", "inputs.a is not defined", 6),
        ("{{ inputs.gone.split(',') }}", "inputs.gone.split is not defined", 3),
        ("{{ 1 + inputs.a }}", "inputs.a is not defined", 7),
        ("{{ inputs.a == 1 }}", "inputs.a is not defined", 3),
        ("{% macro m(x) %}{{ x }}{% endmacro %}{{ m(inputs.a) }}", "inputs.a is not defined", 42),
    ],
)
def test_a_missing_value_is_named_in_full_and_pointed_at(text, message, offset):
    error = failure(text)
    assert (error.message, error.offset) == (message, offset)
    assert "default(" in error.hint


def test_a_misspelt_name_is_set_right():
    assert "Did you mean inputs.file?" in failure("{{ inputs.fiel }}").hint
    assert "Did you mean states.build.output?" in failure("{{ states.biuld.output | trim }}").hint


def test_a_path_that_ends_early_says_where():
    assert "There is no states.test." in failure("{{ states.test.output }}").hint


def test_a_minus_that_was_read_as_a_hyphen_is_explained():
    assert "spaces around the minus" in failure("{{ inputs.count-1 }}").hint


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{{ inputs.count / 0 }}", "division by zero"),
        ("{{ inputs.count + 'x' }}", "unsupported operand"),
        ("{{ inputs.file | fromjson }}", "Expecting value"),
        ("{{ inputs.file | regex_replace('(') }}", "unterminated"),
        ("{{ inputs.file | split('') }}", "separator"),
        ("{{ [] | first }}", "empty"),
        ("{{ inputs.file() }}", "not callable"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "too deeply"),
        ("{% for i in inputs.count %}{% endfor %}", "not iterable"),
    ],
)
def test_whatever_goes_wrong_is_an_expression_error(text, part):
    assert part in failure(text).message


@pytest.mark.parametrize(
    ("text", "offset", "part"),
    [
        ("a {{ inputs.file", 2, "not closed"),
        ("a {% if true ", 2, "not closed"),
        ("a {# note", 2, "not closed"),
        ("{% raw %}{{ x }}", 0, "not closed"),
        ("ok {{ 1 }} {{ inputs..file }}", 21, ""),
        ("ok\nline {{ inputs.count + }}", 26, ""),
        ("{{ 'abc }}", 3, "quote"),
        ("{{ inputs.file | uper }}", 17, "no filter named 'uper'"),
        ("{{ inputs.file is defind }}", 15, "no test named 'defind'"),
        ("a{% if 1 %}{% if 2 %}{% endif %}x", 1, "{% if %} is not closed"),
        ("{{ 1 }}{% endif %}", 10, "endif"),
        ("{% include 'x' %}", 3, "cannot load other templates"),
        ("{{ foo( }}", 0, "not closed"),
        ("{{ a) }}", 4, "')'"),
        ("{{ }}", 3, ""),
        ("{{ inputs.a inputs.b }}", 12, "'inputs' was not expected here"),
        ("{% set x %}", 0, "{% set %} is not closed"),
        ("{% for x in %}{% endfor %}", 12, ""),
        ("{{ (1, 2 }}", 0, "not closed"),
        ("{{ inputs.a ? 1 }}", 12, "'?' was not expected here"),
        ("{{ x[1 2] }}", 7, "was not expected here"),
        ("{{ " + "9" * 5000 + " }}", 0, "cannot be read"),
        ("{% frobnicate %}", 3, "frobnicate"),
    ],
)
def test_a_syntax_error_points_at_its_place(text, offset, part):
    with pytest.raises(ExpressionError) as caught:
        ExpressionLanguage().template(text)
    assert caught.value.offset == offset
    assert part in caught.value.message


class Vanishing(dict[str, Any]):
    """Says once that a key is missing, and then fails altogether."""

    def __getitem__(self, key: str) -> Any:
        if self:
            raise OSError("disk gone")
        self["asked"] = True
        raise KeyError(key)


@pytest.mark.parametrize("text", ["{{ inputs.a }}", "{{ inputs.a | upper }}"])
def test_an_explanation_that_fails_is_still_an_expression_error(text):
    assert "worked out" in failure(text, {"inputs": Vanishing()}).message


def test_every_stand_in_for_carriage_returns_may_be_taken():
    assert render("\x1c\x1d\x1e\x1f\x0b\x0c\r\n{{ 1 + 1 }}") == "\x1c\x1d\x1e\x1f\x0b\x0c\n2"


def test_shell_lengths_are_not_comments():
    assert render("${#array[@]} {# gone #}{{ inputs.count }}") == "${#array[@]} 5"
    assert render("echo ${#x}") == "echo ${#x}"
    assert render("echo ${#x} {{ inputs.count }}") == "echo ${#x} 5"


def test_raw_text_is_left_alone():
    assert render("{% raw %}{{ .x }} {% if %}{% endraw %} {{ inputs.count }}") == "{{ .x }} {% if %} 5"


def test_white_space_marks_work():
    assert render("a  {{- inputs.count -}}  b") == "a5b"
    assert render("a\r\n{%- if true -%}\r\nb{% endif %}") == "ab"
