"""What goes wrong between us and the API, in words for the person who can mend it. Pure."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

from awf.domain.agent import AgentFailure

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LoopGuard", "Refusal", "from_error", "from_status", "retry_after"]

_SHOWN = 500
_NUMBER = re.compile(r"\d{1,9}(\.\d+)?")
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_PASSING_WORDS = ("overloaded", "rate_limit", "server_error", "unavailable", "timeout", "internal_error")
_HINTS = {
    400: "Check the options of the step: the API does not take the request as it is.",
    401: "Check `api_key`.",
    402: "The account has no credit left, or the model is not part of its plan.",
    403: "Check `api_key`, and what it allows.",
    404: "Check `base_url` and `model`.",
    413: "The conversation is too long for this API.",
    422: "Check the options of the step: the API does not take the request as it is.",
    429: "Wait a little, or raise the limits of the account.",
}


class Refusal(AgentFailure):
    """The API did not answer the request. `wait`: how long it asks us to wait."""

    def __init__(self, message: str, *, passing: bool, hint: str = "", wait: float | None = None) -> None:
        super().__init__(message, retryable=passing, hint=hint)
        self.wait = wait


class LoopGuard(AgentFailure):
    def __init__(self, model: str) -> None:
        super().__init__(
            f"{model} ended its turn to call tools, and called none: asking it again would go on for ever.",
            code="USER.MCP_PROXY.INFINITE_LOOP_GUARD",
            retryable=False,
            hint="The server or the model does not handle tools well; try another model.",
        )


def from_status(status: int, headers: Mapping[str, str], body: bytes, url: str) -> Refusal:
    if 300 <= status < 400:
        place = headers.get("location", "another place")
        hint = "If that is right, set `base_url` to it, without /chat/completions."
        return Refusal(f"The API at {url} redirects to {place}.", passing=False, hint=hint)
    said = _said(headers.get("content-type", ""), body)
    message = f"The API answered with HTTP {status}{said or '.'}"
    hint = _HINTS.get(status, "The API has trouble of its own." if status >= 500 else f"Check {url}.")
    return Refusal(message, passing=status in _PASSING, hint=hint, wait=retry_after(headers))


def from_error(error: Mapping[str, Any]) -> Refusal:
    """An error that came instead of an answer, although the status said that all is well."""
    words = _message(error) or "no reason given"
    numbers = (str(error.get(key)) for key in ("code", "status", "status_code"))
    status = next((int(number) for number in numbers if number.isdecimal()), 0)
    kind = f"{error.get('type', '')} {error.get('code', '')}".lower()
    passing = status in _PASSING or any(word in kind for word in _PASSING_WORDS)
    return Refusal(f"The API reports an error: {_cut(words)}", passing=passing, hint=_HINTS.get(status, ""))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from a number or a date. A date is read against the server's own clock, if it tells the time."""
    written = headers.get("retry-after", "").strip()
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    seconds = _number(written)
    if seconds is not None:
        return seconds
    then = _moment(written)
    return None if then is None else max(0.0, then - (_moment(headers.get("date", "")) or time.time()))


def _number(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def _moment(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, TypeError, OverflowError):
        return None


def _said(content_type: str, body: bytes) -> str:
    """`: what it said`, unless that is a page for a browser."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, dict):
        text = _message(value.get("error") or value) or text
    elif "html" in content_type or text.startswith("<"):
        return " and a web page." if text else ""
    return f": {_cut(text)}" if text else ""


def _message(error: Any) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return ""
    told = error.get("message") or error.get("detail") or error.get("msg") or error.get("error")
    return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False) if told else ""


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
