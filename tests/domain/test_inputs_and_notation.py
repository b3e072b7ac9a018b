"""Inputs keep their types; durations and sizes are read as people write them."""

from __future__ import annotations

import pytest

from awf.domain.inputs import check_value, resolve_inputs
from awf.domain.notation import parse_duration, parse_size
from awf.domain.workflow import Input, InputValidation


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("500ms", 0.5), ("30s", 30), ("5m", 300), ("1h30m", 5400), ("2d", 172800), (10, 10), (0.25, 0.25), ("1.5s", 1.5), ("90", 90), ("1h 5s", 3605),
     ("10x", None), ("", None), ("-5s", None), (-1, None), (True, None), ("5 apples", None)],
)  # fmt: skip
def test_durations(written, seconds):
    assert parse_duration(written) == seconds


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("64KiB", 65536),
        ("10MB", 10_000_000),
        ("1GiB", 2**30),
        (512, 512),
        ("512", 512),
        ("1.5k", 1500),
        ("2kb", 2000),
        ("big", None),
        (-1, None),
        (False, None),
    ],
)
def test_sizes(written, size):
    assert parse_size(written) == size


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [("integer", "5", 5), ("integer", 5.0, 5), ("number", "2", 2), ("number", "2.5", 2.5), ("boolean", "Yes", True), ("boolean", "off", False),
     ("array", "a, b", ["a", "b"]), ("array", "[1, 2]", [1, 2]), ("object", '{"k": 1}', {"k": 1}), ("string", 7, "7"), ("string", True, "true")],
)  # fmt: skip
def test_values_are_given_their_type(kind, given, value):
    values, wrong = resolve_inputs([Input(name="x", type=kind)], {"x": given})
    assert wrong == []
    assert values["x"] == value
    assert type(values["x"]) is type(value)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("integer", "5.5"),
        ("integer", True),
        ("number", "two"),
        ("boolean", "maybe"),
        ("array", {"a": 1}),
        ("object", "[1]"),
        ("string", [1]),
    ],
)
def test_values_that_do_not_fit_are_told(kind, given):
    _, wrong = resolve_inputs([Input(name="x", type=kind)], {"x": given})
    assert len(wrong) == 1
    assert "'x' must be" in wrong[0]


def test_every_rule_is_checked():
    rules = InputValidation(pattern="^a", min=2, max=4, file_exists=True, file_extension=[".txt"])
    _, wrong = resolve_inputs([Input(name="x", validation=rules)], {"x": "b.md"}, is_file=lambda _path: False)
    assert len(wrong) == 3
    _, wrong = resolve_inputs(
        [Input(name="n", type="integer", validation=InputValidation(min=2, max=4))], {"n": "9"}
    )
    assert wrong == ["'n' must be at most 4."]


def test_absent_optional_inputs_are_nothing_and_required_ones_are_told():
    values, wrong = resolve_inputs(
        [Input(name="a"), Input(name="b", default="d"), Input(name="c", required=True, description="why")], {}
    )
    assert values == {"a": None, "b": "d", "c": None}
    assert wrong == ["'c' is required: why."]


def test_of_a_list_every_item_must_be_one_of_those_allowed():
    item = Input(name="where", type="array", enum=["north", "south"])
    assert check_value(item, "north,south") == (["north", "south"], [])
    assert check_value(item, ["north", "suth"])[1] == [
        "'where' must be one of north, south (did you mean south?)."
    ]
