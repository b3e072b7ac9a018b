"""Conditions: what holds, what does not, and what is an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions import ExpressionLanguage

CONTEXT: dict[str, Any] = {
    "inputs": {
        "name": "prod",
        "count": 5,
        "ratio": 2.5,
        "flag": True,
        "nothing": None,
        "list": [1, "x"],
        "digits": "12\n",
    },
    "states": {
        "my-step": {
            "output": "all done\n",
            "exit_code": 0,
            "json": {"items": [{"name": "n"}], "ok": True, "none": None},
        },
        "test": {"output": "7", "exit_code": 3},
    },
    "vars": {"a-b": "v"},
    "loop": {"index": 2, "first": False, "parent": {"index": 1}},
}


def holds(text: str, context: Mapping[str, Any] = CONTEXT) -> bool:
    return ExpressionLanguage().condition(text).holds(context)


def failure(text: str, context: Mapping[str, Any] = CONTEXT) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        holds(text, context)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "inputs.name == 'prod'",
        'inputs.name == "prod" && inputs.count > 4',
        "inputs.count == 5.0 && inputs.ratio > 2 && inputs.count >= 4.5",
        "inputs.flag",
        "!(!inputs.flag)",
        "inputs.flag == true",
        "inputs.nothing == null",
        "inputs.nothing != 'x'",
        "!(inputs.nothing == 'x')",
        "states.test.output != 7",
        "!(states.test.output == 7)",
        "inputs.flag != 1",
        "int(states.test.output) == 7",
        "int(trim(inputs.digits)) == 12",
        "double('1.5') == 1.5",
        "string(inputs.count) == '5' && string(inputs.flag) == 'true'",
        "size(inputs.list) == 2 && inputs.list.size() == 2",
        "lower('AbC') == 'abc' && 'AbC'.upper() == 'ABC'",
        "lines(states.my-step.output) == ['all done']",
        "states['my-step'].json.items[0].name == 'n'",
        "states.my-step.json.items.0.name == 'n'",
        "'x' in inputs.list && !('y' in inputs.list)",
        "'ok' in states.my-step.json",
        "inputs.list.exists(v, v == 'x') && inputs.list.all(v, v != 9)",
        "states.exists(s, states[s].exit_code == 3)",
        "inputs.count > 3 ? inputs.flag : false",
        "inputs.count > 9 ? false : inputs.count > 8 ? false : true",
        "loop.index == 2 && loop.parent.index == 1 && !loop.first",
        "vars.a-b == 'v'",
        "states.test.exit_code-1 == 2 && states.test.exit_code - 1 == 2",
        "inputs.name.matches('^pr.d$') && inputs.name.startsWith('pr')",
        "[1, 2,] == [1, 2] && {'a': {'b': 1}}.a.b == 1 && {} != {'a': 1, 'b': 2,}",
        "timestamp('2024-01-02T00:00:00Z') < timestamp('2024-01-03T00:00:00Z')",
        "'é🙂' == \"é🙂\" && '\\u00e9' == 'é'",
        "r'\\d' == '\\\\d'",
        "'''a'b''' == \"a'b\"",
        "inputs.count == 5 // as it should be",
        " \n inputs.flag\n  && true \n",
        "-inputs.count == -5 && 0x10 == 16 && 1e3 == 1000.0 && 5u == 5",
        "inputs.missing == 1 || inputs.flag",
        "has(inputs.name) && !has(inputs.missing) && !has(states.gone.json.deep)",
        "!has(states.my-step.json.none.deep) && !has(states.test.output.deep) && has(states['my-step'].json['ok'])",
        "has(states.my-step.json.items.0.name) && !has(states.my-step.json.items.7) && !has(error.message)",
        "inputs.list.exists(v, has(states.test) && v == 1)",
        "has(inputs.list[0]) && !has(inputs.list['0'])",
        "[{'a': 1}].all(v, has(v.a) && !has(v.b) && has(v['a']))",
    ],
)  # fmt: skip
def test_conditions_that_hold(text):
    assert holds(text) is True


def test_only_what_is_used_is_taken_from_the_context():
    class Lazy(Mapping[str, Any]):
        def __init__(self, **values: Any) -> None:
            self.values_, self.asked = values, set()

        def __getitem__(self, key: str) -> Any:
            value = self.values_[key]
            self.asked.add(key)
            return value

        def __iter__(self):
            return iter(self.values_)

        def __len__(self) -> int:
            return len(self.values_)

    step = Lazy(output="x", stderr=object(), json=Lazy(a=1))
    states = Lazy(build=step, other=object())
    context = Lazy(states=states, inputs=object())
    assert holds("states.build.output == 'x' && states.build.json == {'a': 1}", context)
    assert (context.asked, states.asked, step.asked) == ({"states"}, {"build"}, {"output", "json"})


def test_lone_surrogates_in_data_do_no_harm():
    assert holds("inputs.x.size() == 2 && inputs.x.contains('a')", {"inputs": {"x": "a\udc80"}})


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("states.gone.output == 'x'", "states.gone.output is not defined", 0),
        ("inputs.flag && inputs.missing", "inputs.missing is not defined", 15),
        ("inputs.missing == 1", "inputs.missing is not defined", 0),
        ("error.message == 'x'", "error.message is not defined", 0),
        ("who == 1", "who is not defined", 0),
        ("inputs.list[7] == 1", "inputs.list.7 is not defined", 0),
        ("inputs.nothing.deep == 1", "inputs.nothing.deep is not defined", 0),
        ("{{ .states.gone.ExitCode == 0 }}", "states.gone.exit_code is not defined", 4),
    ],
)
def test_a_missing_value_is_named_in_full_and_pointed_at(text, message, offset):
    error = failure(text)
    assert (error.message, error.offset) == (message, offset)
    assert "has(" in error.hint


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("states.test.output < 5", ("states.test.output is text", "int(states.test.output)")),
        ("5 >= states.test.output", ("states.test.output is text", "int(states.test.output)")),
        ("inputs.nothing < 'x'", ("inputs.nothing is null", "!= null")),
        ("inputs.name && true", ("inputs.name is text",)),
        ("inputs.name + 1 == 'x'", ("inputs.name is text",)),
        ("inputs.flag < 2", ("inputs.flag is true or false",)),
        ("size(inputs.count) == 1", ("inputs.count is a number",)),
        ("inputs.list.contains('x')", ("inputs.list is a list",)),
        ("states.my-step.json < 1", ("states.my-step.json is an object",)),
    ],
)
def test_values_of_the_wrong_kind_are_named(text, parts):
    error = failure(text)
    assert all(part in f"{error.message} {error.hint}" for part in parts)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("inputs.count", "a number (5)"),
        ("inputs.name", "text ('prod')"),
        ("inputs.nothing", "null"),
        ("inputs.list", "a list"),
        ("states.my-step.json", "an object"),
        ("'x'.size() > 0 ? 'yes' : 'no'", "text ('yes')"),
    ],
)
def test_a_result_that_is_not_boolean_is_said(text, part):
    assert part in failure(text).message


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("1 / 0 == 1", "division by zero"),
        ("int(states.my-step.output) == 1", "int(…) failed"),
        ("inputs.name.matches('(')", "matches(…) failed"),
        ("inputs.list[inputs.count] == 1", "index out of bounds"),
        ("states[inputs.name].output == 'x'", "There is no key 'prod'"),
        ("9223372036854775807 + 1 == 0", "overflow"),
    ],
)
def test_what_fails_while_evaluating_says_why(text, part):
    assert part in failure(text).message


def test_a_line_break_that_spoils_a_number_is_pointed_out():
    assert "int(trim(inputs.digits))" in failure("int(inputs.digits) == 12").hint


@pytest.mark.parametrize(
    ("text", "offset", "part"),
    [
        ("", 0, "empty"),
        ("   ", 0, "empty"),
        ("inputs.a = 5", 9, "'='"),
        ("inputs.a ==", 11, "missing at the end"),
        ("inputs.a == 1 2", 14, "'2'"),
        ("(inputs.a", 0, "( is not closed"),
        ("inputs.a)", 8, "')'"),
        ("[1, 2", 0, "[ is not closed"),
        ("inputs.a == 'x", 12, "quote"),
        ("inputs.a == 'x\ny'", 12, "quote"),
        ("inputs.a & true", 9, "'&'"),
        ("inputs.a ? 1", 0, "no other side"),
        (r"inputs.a matches '\d'", 17, r"\d"),
        ("12abc == 1", 0, "letters"),
        ("99999999999999999999 == 1", 0, "too large"),
        ("9" * 5000 + " == 1", 0, "too large"),
        ("1e999 == 1", 0, "too large"),
        ("sizee(inputs.a) == 1", 0, "no function sizee"),
        ("size(1, 2) == 1", 0, "2 values"),
        ("inputs.a.exists(1, true)", 16, "new name"),
        ("exists(inputs.a, x, true)", 0, "wrong way"),
        ("inputs.a.int() == 1", 8, "wrong way"),
        ("has(1)", 4, "path"),
        ("f(1,)", 4, "')'"),
        ("{1: 2", 0, "{ is not closed"),
        ("{1 2}", 3, "'2'"),
        ("a @ b", 2, "'@'"),
        ("in == 1", 0, "'in'"),
        ("inputs. == 1", 8, "'=='"),
        ("'{{ inputs.a }}' == 'x'", 0, "not a template"),
        ("{{ inputs.a", 0, "not closed"),
        ("inputs.a not", 12, "missing"),
        ("{% if x %}", 1, "'%'"),
    ],
)
def test_a_syntax_error_is_short_and_points_at_its_place(text, offset, part):
    with pytest.raises(ExpressionError) as caught:
        ExpressionLanguage().condition(text)
    assert (caught.value.offset, part in caught.value.message) == (offset, True)
    assert caught.value.hint
    assert "IDENTIFIER" not in caught.value.message


def test_a_misspelt_function_is_set_right():
    with pytest.raises(ExpressionError) as caught:
        ExpressionLanguage().condition("startWith(inputs.a, 'x')")
    assert caught.value.hint == "Did you mean startsWith?"


def test_braces_in_a_text_are_just_text():
    assert holds("'{{ not a template }}'.contains('{{') && '}}' != '{%'")


def test_a_mapping_that_fails_makes_the_condition_fail():
    class Failing(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise OSError("disk gone")

    assert "disk gone" in failure("inputs.a == 1", {"inputs": Failing(a=1)}).message


def test_an_interruption_passes_through():
    class Interrupting(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        holds("inputs.a == 1", {"inputs": Interrupting(a=1)})
