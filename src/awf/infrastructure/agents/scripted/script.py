"""A script: what the scripted agent says and does, turn by turn. Pure: data in, turns or problems out."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from awf.domain.notation import parse_duration
from awf.domain.problem import suggest
from awf.infrastructure.agents.cli.options import OptionProblem

__all__ = ["Action", "Turn", "check_turns", "choose_turn", "read_turns"]

_ACTIONS = {"say", "think", "tool", "wait", "fail", "usage", "crash"}
_TURN_KEYS = {"match", "expect", "do"}
_TOOL_KEYS = {"name", "input", "output", "error"}
_USAGE_KEYS = {"input_tokens", "output_tokens", "cost"}


class Action(msgspec.Struct, frozen=True):
    kind: str
    value: Any


class Turn(msgspec.Struct, frozen=True):
    actions: tuple[Action, ...]
    match: str = ""  # used for prompts in which this is found
    expect: str = ""  # the prompt must contain this, else the turn fails


def check_turns(written: Any) -> list[OptionProblem]:
    """What is wrong with a list of turns. Texts may still hold templates."""
    if not isinstance(written, list) or not written:
        return [
            OptionProblem(
                "turns",
                "'turns' must be a list with at least one turn.",
                "Write turns: [{do: [{say: Hello.}]}]",
            )
        ]
    problems: list[OptionProblem] = []
    for number, turn in enumerate(written, 1):
        for action in _actions_of(turn, number, problems):
            _check_action(action, number, problems)
    return problems


def _actions_of(turn: Any, number: int, problems: list[OptionProblem]) -> list[Any]:
    if isinstance(turn, str):
        return [turn]
    if isinstance(turn, list):
        return turn
    if not isinstance(turn, dict):
        problems.append(
            OptionProblem("turns", f"Turn {number} must be text, a list of actions, or a mapping with `do`.")
        )
        return []
    for key in turn.keys() - _TURN_KEYS:
        close = suggest(str(key), _TURN_KEYS)
        problems.append(
            OptionProblem(
                "turns",
                f"Turn {number} has the unknown key '{key}'.",
                f"did you mean '{close}'?" if close else "",
            )
        )
    for key in ("match", "expect"):
        if key in turn and "{" not in str(turn[key]):
            try:
                re.compile(str(turn[key]))
            except re.error as error:
                problems.append(
                    OptionProblem("turns", f"Turn {number}: '{key}' is not a regular expression: {error}.")
                )
    found = turn.get("do", [])
    return found if isinstance(found, list) else [found]


def _check_action(action: Any, number: int, problems: list[OptionProblem]) -> None:
    if isinstance(action, str):
        return
    if not isinstance(action, dict) or len(action) != 1:
        problems.append(
            OptionProblem("turns", f"Turn {number}: an action is one of {', '.join(sorted(_ACTIONS))}.")
        )
        return
    kind, value = next(iter(action.items()))
    if kind not in _ACTIONS:
        close = suggest(str(kind), _ACTIONS)
        problems.append(
            OptionProblem(
                "turns",
                f"Turn {number}: no action is named '{kind}'.",
                f"did you mean '{close}'?" if close else "",
            )
        )
    elif kind == "tool" and (not isinstance(value, dict) or "name" not in value or value.keys() - _TOOL_KEYS):
        problems.append(OptionProblem("turns", f"Turn {number}: a tool has name, input, output and error."))
    elif kind == "usage" and (not isinstance(value, dict) or value.keys() - _USAGE_KEYS):
        problems.append(
            OptionProblem("turns", f"Turn {number}: usage has input_tokens, output_tokens and cost.")
        )
    elif kind == "wait" and "{" not in str(value) and parse_duration(value) is None:
        problems.append(OptionProblem("turns", f"Turn {number}: wait must be a duration such as 200ms."))


def read_turns(written: list[Any]) -> list[Turn]:
    return [_read_turn(turn) for turn in written]


def _read_turn(turn: Any) -> Turn:
    if isinstance(turn, dict):
        inside = turn.get("do", [])
        actions = inside if isinstance(inside, list) else [inside]
        return Turn(_read_actions(actions), str(turn.get("match", "")), str(turn.get("expect", "")))
    return Turn(_read_actions(turn if isinstance(turn, list) else [turn]))


def _read_actions(actions: list[Any]) -> tuple[Action, ...]:
    return tuple(
        Action("say", item) if isinstance(item, str) else Action(*next(iter(item.items())))
        for item in actions
    )


def choose_turn(turns: list[Turn], prompt: str, number: int) -> Turn | None:
    """The first turn that matches the prompt; else the next of those without a match."""
    for turn in turns:
        if turn.match and re.search(turn.match, prompt):
            return turn
    plain = [turn for turn in turns if not turn.match]
    return plain[number] if number < len(plain) else None
