"""How the person in front of a scripted editor answers.

A policy is a word, or a function of what is asked that gives back one. Beside the words: the id of an option, the filled-in
form as a dictionary, and `Raw` for answers that no sane editor gives.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["NEVER", "FormPolicy", "PermissionPolicy", "Raw", "form_reply", "permission_reply"]


@dataclass(frozen=True)
class Raw:
    """The rest of the answer as it is: `{"result": …}` or `{"error": …}`."""

    body: dict[str, Any]


PermissionAnswer = str | Raw
FormAnswer = str | dict[str, Any] | Raw
PermissionPolicy = (
    PermissionAnswer | Callable[[dict[str, Any]], PermissionAnswer | Awaitable[PermissionAnswer]]
)
FormPolicy = FormAnswer | Callable[[dict[str, Any]], FormAnswer | Awaitable[FormAnswer]]

NEVER = "never"
_KINDS = {
    "allow": "allow_once",
    "allow_always": "allow_always",
    "deny": "reject_once",
    "deny_always": "reject_always",
}


def permission_reply(answer: PermissionAnswer, params: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to `session/request_permission`; none for a person who went home."""
    if isinstance(answer, Raw):
        return answer.body
    if answer == NEVER:
        return None
    if answer == "cancelled":
        return {"result": {"outcome": {"outcome": "cancelled"}}}
    return {"result": {"outcome": {"outcome": "selected", "optionId": _option(answer, params["options"])}}}


def _option(answer: str, options: list[dict[str, Any]]) -> str:
    for option in options:
        if option["kind"] == _KINDS.get(answer) or (answer not in _KINDS and option["optionId"] == answer):
            return str(option["optionId"])
    raise AssertionError(f"nothing to {answer!r} among the options: {options}")


def form_reply(answer: FormAnswer) -> dict[str, Any] | None:
    """The answer to `elicitation/create`."""
    if isinstance(answer, Raw):
        return answer.body
    if isinstance(answer, dict):
        return {"result": {"action": "accept", "content": answer}}
    if answer == NEVER:
        return None
    if answer not in {"decline", "cancel"}:
        raise AssertionError(f"no answer to a form: {answer!r}")
    return {"result": {"action": answer}}
