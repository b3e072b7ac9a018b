"""Values of a Python program → plain JSON values of our own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.json_form import why_no_json

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["plain"]


def plain(value: Any, *, any_number: bool = False) -> Any:
    """A copy: what the program changes later changes nothing here. Raises `AwfError` for what has no JSON form.

    `any_number`: also infinities and what is no number, where they are refused, and recorded, later.
    """
    try:
        written = json.dumps(value, allow_nan=any_number)
        if wrong := next(_odd_keys(value), ""):
            raise _refused(wrong)
        return json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(why_no_json(value, error)) from None


def _odd_keys(value: Any) -> Iterator[str]:
    """JSON would make texts of them, perhaps one that is there already. What was written does not hold itself."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from (f"{key!r} is a key, and no text" for key in one if not isinstance(key, str))
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one


def _refused(why: str) -> AwfError:
    hint = "Use texts, numbers, true, false, None, lists and dicts with texts as keys."
    return AwfError("USER.GATEWAY.INVALID_CALL", f"A value has no JSON form: {why}.", hint=hint)
