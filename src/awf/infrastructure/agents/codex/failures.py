"""Why Codex failed, from what it says about it."""

from __future__ import annotations

import json
import re

from awf.infrastructure.agents.cli.shapes import Trouble

__all__ = ["explained", "trouble"]

_STATUS = re.compile(r"\bstatus:? (\d{3})\b")
_AGAIN = {408, 409, 425, 429}
_PERMANENT = re.compile(
    r"invalid_request|authentication|permission|not_found|context_length|context window"
    r"|usage limit|insufficient_quota|missing environment variable",
    re.IGNORECASE,
)


def trouble(said: str) -> Trouble:
    """A refusal is told as the body of the answer alone, other statuses in words."""
    message, kind = _unwrapped(said)
    found = _STATUS.search(said)
    if found:
        status = int(found.group(1))
        permanent = 400 <= status < 500 and status not in _AGAIN
    else:
        permanent = bool(_PERMANENT.search(f"{kind} {message}"))
    return Trouble(message=message or "Codex failed without a word.", retryable=not permanent)


def explained(found: Trouble) -> Trouble:
    """What it writes only to standard error when it does not even begin."""
    if "required MCP servers failed" in found.message:
        message = f"codex did not begin, for the tools of AWF did not come up in it: {found.message}"
        return Trouble(message=message, code="EXECUTION.AGENT.NO_TOOLS")
    if "no rollout found" in found.message:
        hint = "It was begun in another place or has been deleted; run the step that begins it again."
        return Trouble(
            message=f"The session cannot be continued: {found.message}", retryable=False, hint=hint
        )
    return found


def _unwrapped(said: str) -> tuple[str, str]:
    """Message and kind of an error that is told as JSON."""
    try:
        error = json.loads(said)["error"]
        return str(error["message"]), f"{error.get('type')} {error.get('code')}"
    except (ValueError, TypeError, KeyError, AttributeError):
        return said, ""
