"""A player of cases that never complains would prove nothing."""

from __future__ import annotations

import pytest

from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.problem import Problem
from awf.testing.gateway_cases import play


async def do(method, arguments):
    if method == "refuse":
        raise AwfError("USER.X.Y", "no")
    if method == "refuse_all":
        raise InvalidWorkflowError([Problem(code="USER.X.Y", message="no", path=("a", 0))])
    return arguments[0]


def case(*steps):
    return {"name": "a case", "steps": list(steps)}


def step(value, **more):
    return {"do": "give", "args": [value], **more}


GOOD = [
    step({"a": 1, "b": [1, {"c": "text"}]}, expect={"b": [1, {"c": {"$contains": "ex"}}]}),
    step({"a": "0" * 64}, expect={"a": {"$hash": True}, "b": {"$absent": True}}),
    step([{"k": 1}, {"k": 1}, {"k": 2}], same=[["k", 0, 1]], differ=[["k", 0, 2]]),
    {"do": "refuse", "args": [], "raises": "USER.X.Y"},
    {"do": "refuse_all", "args": [], "raises": "USER.X.Y", "problems": ["a.0"]},
]
BAD = [
    step({"a": 1}, expect={"a": 2}),
    step({"a": 1}, expect={"b": 1}),
    step({"a": 1}, expect=[]),
    step([1, 2], expect=[1]),
    step([1], expect={}),
    step({"a": "x"}, expect={"a": {"$contains": "y"}}),
    step({"a": "x"}, expect={"a": {"$hash": True}}),
    step({"a": "x"}, expect={"a": {"$absent": True}}),
    step({"a": -1}, expect={"a": {"$number": True}}),
    step([{"k": 1}, {"k": 2}], same=[["k", 0, 1]]),
    step([{"k": 1}, {"k": 1}], differ=[["k", 0, 1]]),
    step(1, raises="USER.X.Y"),
    {"do": "refuse", "args": [], "raises": "USER.X.Z"},
    {"do": "refuse_all", "args": [], "raises": "USER.X.Y", "problems": ["a.1"]},
]


async def test_what_holds_is_held():
    await play(case(*GOOD), do, {})


@pytest.mark.parametrize("wrong", BAD)
async def test_what_does_not_hold_is_told_with_its_place(wrong):
    with pytest.raises(AssertionError, match="a case, step 1"):
        await play(case(wrong), do, {})


async def test_what_was_saved_can_be_named_later():
    await play(
        case(
            step({"a": {"b": 5}}, save="five", at=["a", "b"]),
            step({"x": ["$five", "$known"]}, expect={"x": [5, "k"]}),
            step({"n": 7}, expect={"n": {"$save": "seven"}}),
            step("$seven", expect=7),
        ),
        do,
        {"known": "k"},
    )
