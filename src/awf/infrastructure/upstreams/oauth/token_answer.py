"""What a token server says, as values and in words. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote_plus

import msgspec

from awf.infrastructure.upstreams.failures import ServerFault, denied, nonsense, unavailable

if TYPE_CHECKING:
    from awf.domain.tool import ToolErrorCode

__all__ = ["Token", "is_wrong_client", "refused", "token_in"]

_SHOWN = 300
_TOKEN = re.compile(r"[\x21-\x7e]+")  # it goes into a header
_CLIENT = "Check `oauth.client_id` and `oauth.client_secret`."
_HINTS = {
    "invalid_client": _CLIENT,
    "unauthorized_client": "Allow the client the grant `client_credentials`, where it is registered.",
    "unsupported_grant_type": "Use a token server that knows the grant `client_credentials`.",
    "invalid_scope": "Correct `oauth.scope`.",
    "invalid_target": "Correct `oauth.resource`.",
}


class Token(NamedTuple):
    text: str
    lifetime: float | None  # seconds; None when the server does not say


def token_in(who: str, body: bytes) -> Token:
    """Out of an answer that says yes."""
    fields = _fields(body)
    text, kind = fields.get("access_token"), fields.get("token_type", "Bearer")
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise nonsense(f"{who} gave no usable token.", hint="Correct `oauth.token_url`.")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise nonsense(f"{who} gave a token of the type {kind!r}; only bearer tokens can be used.")
    return Token(text, _lifetime(fields.get("expires_in")))


def is_wrong_client(status: int, body: bytes) -> bool:
    """Whether it does not know us, perhaps only because it looks for the secret elsewhere."""
    return status == 401 or (
        status == 400 and _fields(body).get("error") in {"invalid_client", "invalid_request"}
    )


def refused(who: str, status: int, body: bytes, secret: str) -> ServerFault:
    """An answer that says no."""
    fields = _fields(body)
    error = fields.get("error")
    said = ": ".join(
        _text(fields.get(key), secret) for key in ("error", "error_description") if fields.get(key)
    )
    reason = f"HTTP {status}{f', {said}' if said else ''}"
    if status == 429 or status >= 500:
        code: ToolErrorCode = "RATE_LIMITED" if status == 429 else "EXECUTION_FAILED"
        return unavailable(f"{who} gives no token now ({reason}).", hint="Try again later.", tool_code=code)
    if 300 <= status < 400 or (not error and status not in {400, 401, 403}):
        return nonsense(f"{who} does not answer as one ({reason}).", hint="Correct `oauth.token_url`.")
    return denied(f"{who} refuses ({reason}).", hint=_HINTS.get(str(error), _CLIENT))


def _lifetime(value: Any) -> float | None:
    if isinstance(value, str) and value.isdecimal():
        value = int(value)  # not by the book, but some write it so
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(0.0, float(value))


def _fields(body: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Any, secret: str) -> str:
    """In one line, short, and without the secret, which some servers repeat."""
    text = value if isinstance(value, str) else ""
    for form in (secret, quote_plus(secret)):
        text = text.replace(form, "***") if form else text
    return " ".join(text.split())[:_SHOWN]
