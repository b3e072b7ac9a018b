"""Values of a Python program → plain JSON values of our own."""

from __future__ import annotations

import json
from typing import Any

from awf.domain.errors import AwfError

__all__ = ["plain"]


def plain(value: Any, *, any_number: bool = False) -> Any:
    """A copy: what the program changes later changes nothing here. Raises `AwfError` for what has no JSON form.

    `any_number`: also infinities and what is no number, where they are refused, and recorded, later.
    """
    try:
        return json.loads(json.dumps(value, allow_nan=any_number))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"A value has no JSON form: {str(error)[:200]}."
        hint = "Use texts, numbers, true, false, None, lists and dicts with texts as keys."
        raise AwfError("USER.GATEWAY.INVALID_CALL", message, hint=hint) from None
