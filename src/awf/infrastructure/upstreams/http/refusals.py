"""HTTP answers that carry no result, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.infrastructure.upstreams.failures import ServerFault, denied, nonsense, unavailable

if TYPE_CHECKING:
    from awf.domain.ports.http_client import HttpAnswer

__all__ = ["refusal", "says_session_is_gone", "wrong_type"]

_SHOWN = 300


def refusal(name: str, answer: HttpAnswer, body: bytes) -> ServerFault:
    """For a status that says no."""
    status, said = answer.status, _excerpt(answer, body)
    if status == 401:
        hint = "Give its credentials under `headers`, such as Authorization: Bearer …, or under `oauth`."
        return denied(f'MCP server "{name}" wants credentials (HTTP 401).{said}', hint=hint, status=status)
    if status == 403:
        hint = "Check the credentials under `headers` or `oauth`, and what they allow."
        return denied(f'MCP server "{name}" does not allow this (HTTP 403).{said}', hint=hint, status=status)
    if status == 429:
        wait = answer.headers.get("retry-after", "")
        hint = f"Try again in {wait} s." if wait.isdigit() else "Try again later."
        message = f'MCP server "{name}" takes no more requests for now (HTTP 429).{said}'
        return unavailable(message, hint=hint, status=status, tool_code="RATE_LIMITED")
    hint = "Look at its log." if status >= 500 else "Check its `url`."
    return unavailable(f'MCP server "{name}" answered with HTTP {status}.{said}', hint=hint, status=status)


def wrong_type(name: str, answer: HttpAnswer, body: bytes) -> ServerFault:
    kind = answer.content_type or "no content type"
    message = (
        f'MCP server "{name}" answered with {kind}, which is not an MCP message.{_excerpt(answer, body)}'
    )
    return nonsense(message, hint="Check its `url`.", status=answer.status)


def says_session_is_gone(status: int, body: bytes) -> bool:
    # 404 is what the specification says; some servers know no better than 400.
    return status == 404 or (status == 400 and b"session" in body.lower())


def _excerpt(answer: HttpAnswer, body: bytes) -> str:
    text = body[: _SHOWN * 4].decode("utf-8", "replace").strip()
    if not text or "html" in answer.content_type:
        return ""
    return f" It said: {' '.join(text.split())[:_SHOWN]}"
