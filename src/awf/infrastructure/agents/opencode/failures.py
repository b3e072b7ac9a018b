"""Why OpenCode failed, from what it says about it."""

from __future__ import annotations

from typing import Any

from awf.infrastructure.agents.cli.shapes import Trouble

__all__ = ["explained", "trouble"]

_AGAIN = {408, 409, 425, 429}
_PERMANENT = {
    "ProviderAuthError",
    "ProviderModelNotFoundError",
    "ContextOverflowError",
    "MessageOutputLengthError",
}
_UNTOLD = "Unexpected server error"


def trouble(error: dict[str, Any]) -> Trouble:
    name = str(error.get("name") or "error")
    data = error.get("data") or {}
    message = str(data.get("message") or error.get("message") or name)
    status = data.get("statusCode")
    if isinstance(status, int):
        permanent = 400 <= status < 500 and status not in _AGAIN
        return Trouble(message=f"{message} (HTTP {status})", retryable=not permanent)
    permanent = name in _PERMANENT or data.get("isRetryable") is False
    # It keeps the reason to itself; mostly the model is not known to it.
    hint = "See with `opencode models` whether the model's name is right." if _UNTOLD in message else ""
    return Trouble(message=message, retryable=not permanent, hint=hint)


def explained(found: Trouble) -> Trouble:
    """What it writes only to standard error when it does not even begin."""
    if "Session not found" in found.message:
        hint = "It was begun in another place or has been deleted; run the step that begins it again."
        return Trouble(
            message=f"The session cannot be continued: {found.message}", retryable=False, hint=hint
        )
    return found
