"""How often a loop would run, and over what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.running.plan_values import LoopPlan
from awf.application.running.steps.loop import _DEFAULT_WHILE, _HARD_LIMIT, items_of
from awf.domain.errors import AwfError
from awf.domain.workflow import ForEachState

if TYPE_CHECKING:
    from awf.application.running.plan_text import Foresight
    from awf.domain.workflow import WhileState

__all__ = ["plan_loop"]

_ITEMS_KEPT = 100


def plan_loop(state: ForEachState | WhileState, sight: Foresight) -> LoopPlan:
    limit = _limit(state.max_iterations, sight)
    if isinstance(state, ForEachState):
        return _for_each(state, limit, sight)
    return LoopPlan(
        condition=state.condition, break_when=state.break_when or "", max_iterations=limit or _DEFAULT_WHILE
    )


def _limit(written: int | str | None, sight: Foresight) -> int | str | None:
    """A number, or what will give one."""
    if not isinstance(written, str):
        return written
    text = sight.render(written)
    if not text.complete:
        return str(text.value)
    number = text.value.strip()
    if number.isascii() and number.isdigit() and 1 <= int(number) <= _HARD_LIMIT:
        return int(number)
    sight.note(f"max_iterations must be a number from 1 to {_HARD_LIMIT}, not '{number}'.")
    return str(number)


def _for_each(state: ForEachState, limit: int | str | None, sight: Foresight) -> LoopPlan:
    items = _items(state, sight)
    break_when = state.break_when or ""
    if items is None:
        written = state.items if isinstance(state.items, str) else ", ".join(map(str, state.items))
        return LoopPlan(written=sight.text(written), break_when=break_when, max_iterations=limit)
    if limit is None and len(items) > _HARD_LIMIT:
        sight.note(f"There are {len(items)} items; a loop takes at most {_HARD_LIMIT}.")
    taken = items[:limit] if isinstance(limit, int) else items
    count = None if isinstance(limit, str) else len(taken)
    return LoopPlan(items=taken[:_ITEMS_KEPT], count=count, break_when=break_when, max_iterations=limit)


def _items(state: ForEachState, sight: Foresight) -> list[Any] | None:
    items = sight.value(state.items)
    if not items.complete and not isinstance(items.value, list):
        return None
    try:
        return items_of(items.value)
    except AwfError as error:
        sight.note(error.message)
        return None
