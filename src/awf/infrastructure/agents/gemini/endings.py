"""What the exit status of Gemini CLI adds to what it said.

After an error of the API it is the HTTP status, of which an exit status keeps the last eight bits; otherwise a number
of its own. The lines it prints tell neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Trouble

__all__ = ["explained"]

_PERMANENT = {status % 256: status for status in (400, 401, 403, 404, 413)}
_OWN = {
    41: "Sign in with `gemini`, or set the option api_key or the variable GEMINI_API_KEY.",
    42: "A session can be continued only in the folder that it was begun in.",
    44: "Its sandbox did not start.",
    52: "Its settings are wrong.",
    53: "Raise the option max_turns.",
    54: "One of its tools made it give up.",
    55: "It does not trust this folder.",
}


def explained(trouble: Trouble, exit_code: int) -> Trouble:
    if exit_code in _OWN:
        return msgspec.structs.replace(trouble, retryable=False, hint=trouble.hint or _OWN[exit_code])
    if exit_code not in _PERMANENT:
        return trouble
    hint = trouble.hint
    if _PERMANENT[exit_code] in {401, 403}:
        hint = hint or "The key or the login is not accepted."
    return msgspec.structs.replace(trouble, retryable=False, hint=hint)
