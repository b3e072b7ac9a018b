"""Plays the shared cases of the tool gateway: the same steps against every class that has its nine methods.

A step does one method and says what is expected: a value of which everything named must be so (`expect`), or a code that is
raised (`raises`) with the places of all problems (`problems`). `save` keeps the result, or the part `at` a path, for later
steps as `$name`. In an expected value `$contains`, `$hash`, `$number`, `$absent` and `$save` stand for what they say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

__all__ = ["filled", "play"]

_HASH = re.compile(r"[0-9a-f]{64}")


async def play(
    case: Mapping[str, Any], do: Callable[[str, list[Any]], Awaitable[Any]], names: dict[str, Any]
) -> None:
    """`do` carries out a method with its arguments. `names`: what `$…` stands for, to begin with."""
    known = dict(names)
    for number, step in enumerate(case["steps"], 1):
        where = f"{case['name']}, step {number} ({step['do']})"
        arguments = filled(step["args"], known)
        if "raises" in step:
            await _refused(step, do, arguments, where)
            continue
        result = await do(step["do"], arguments)
        if step.get("expect") is not None:
            _hold(result, filled(step["expect"], known), where, known)
        _compare(step, result, where)
        if "save" in step:
            for key in step.get("at", []):
                result = result[key]
            known[step["save"]] = result


async def _refused(
    step: Mapping[str, Any], do: Callable[[str, list[Any]], Awaitable[Any]], arguments: list[Any], where: str
) -> None:
    try:
        result = await do(step["do"], arguments)
    except AwfError as error:
        problems = getattr(error, "problems", ())
        codes = [error.code, *(one.code for one in problems)]
        assert step["raises"] in codes, f"{where}: {codes}"
        if "problems" in step:
            places = sorted(".".join(map(str, one.path)) for one in problems)
            assert places == sorted(step["problems"]), f"{where}: {places}"
    else:
        raise AssertionError(f"{where}: nothing was refused, but came {result}")


def filled(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith("$"):
        return known.get(value[1:], value)
    if isinstance(value, dict):
        return {key: filled(item, known) for key, item in value.items()}
    return [filled(item, known) for item in value] if isinstance(value, list) else value


def _hold(found: Any, wanted: Any, where: str, known: dict[str, Any]) -> None:
    """Everything that is named is so; what is not named does not matter. Lists are as long as said."""
    if isinstance(wanted, dict) and any(key.startswith("$") for key in wanted):
        _hold_mark(found, wanted, where, known)
    elif isinstance(wanted, dict):
        assert isinstance(found, dict), f"{where}: {found} is no object"
        for key, item in wanted.items():
            _hold(found.get(key), item, f"{where}.{key}", known)
    elif isinstance(wanted, list):
        assert isinstance(found, list), f"{where}: {found} is no list"
        assert len(found) == len(wanted), f"{where}: {len(found)} instead of {len(wanted)}: {found}"
        for at, item in enumerate(wanted):
            _hold(found[at], item, f"{where}[{at}]", known)
    else:
        assert found == wanted, f"{where}: {found!r} instead of {wanted!r}"


def _hold_mark(found: Any, wanted: dict[str, Any], where: str, known: dict[str, Any]) -> None:
    ((mark, said),) = wanted.items()
    fits = {
        "$contains": lambda: isinstance(found, str) and said in found,
        "$hash": lambda: isinstance(found, str) and _HASH.fullmatch(found) is not None,
        "$number": lambda: isinstance(found, int) and found >= 0,
        "$absent": lambda: found is None,
        "$save": lambda: known.update({said: found}) is None,
    }
    assert fits[mark](), f"{where}: {found!r} does not fit {wanted}"


def _compare(step: Mapping[str, Any], result: Any, where: str) -> None:
    for key, one, other in step.get("same", []):
        assert result[one][key] == result[other][key], f"{where}: {key} of {one} and {other}"
    for key, one, other in step.get("differ", []):
        assert result[one][key] != result[other][key], f"{where}: {key} of {one} and {other}"
