"""What can be set in a session: how approvals are answered, and what a plain message is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.editor import SessionRecord

__all__ = ["config_options", "modes", "with_mode", "with_option"]

_MODES = {
    "ask": ("Ask", "Ask in the editor whenever a workflow wants an approval."),
    "auto": ("Approve all", "Say yes to every approval without asking."),
}
_NONE = "none"


def modes(record: SessionRecord) -> dict[str, Any]:
    return {
        "currentModeId": record.approvals,
        "availableModes": [
            {"id": mode, "name": name, "description": text} for mode, (name, text) in _MODES.items()
        ],
    }


def config_options(record: SessionRecord, workflows: Sequence[str]) -> list[dict[str, Any]]:
    approvals = [{"value": mode, "name": name, "description": text} for mode, (name, text) in _MODES.items()]
    known = list(workflows)
    if record.workflow and record.workflow not in known:
        known.append(record.workflow)  # gone by now; it stays chosen until something else is
    chosen = [{"value": _NONE, "name": "No workflow", "description": "Plain messages start nothing."}]
    chosen += [{"value": name, "name": name} for name in known]
    return [
        {
            "id": "approvals",
            "name": "Approvals",
            "description": "What happens when a workflow wants an approval.",
            "category": "mode",
            "type": "select",
            "currentValue": record.approvals,
            "options": approvals,
        },
        {
            "id": "workflow",
            "name": "Workflow for plain messages",
            "description": "A message without a slash command runs this workflow.",
            "type": "select",
            "currentValue": record.workflow or _NONE,
            "options": chosen,
        },
    ]


def with_mode(record: SessionRecord, mode: str) -> SessionRecord:
    return msgspec.structs.replace(record, approvals=_one_of(mode, list(_MODES), "mode"))


def with_option(record: SessionRecord, option: str, value: object, workflows: Sequence[str]) -> SessionRecord:
    _one_of(option, ["approvals", "workflow"], "option")
    if option == "approvals":
        return with_mode(record, str(value))
    chosen = _one_of(str(value), [_NONE, *workflows], "workflow")
    return msgspec.structs.replace(record, workflow="" if chosen == _NONE else chosen)


def _one_of(value: str, known: list[str], what: str) -> Any:
    if value in known:
        return value
    close = suggest(value, known)
    hint = f"did you mean '{close}'?" if close else f"There is: {', '.join(known[:20])}."
    raise AwfError("USER.ACP.UNKNOWN_OPTION", f"There is no {what} '{value}'.", hint=hint)
