"""The editor at the other end of the wire, as the application knows it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from acpserver import EditorError, EditorGoneError
from awf.domain.editor import EditorAbilities, FormAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from acpserver import Client
    from awf.domain.editor import Update

__all__ = ["ClientEditor"]

_log = logging.getLogger("awf.editor")


class ClientEditor:
    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def abilities(self) -> EditorAbilities:
        said = self._client.capabilities
        return EditorAbilities(
            forms=_part(said, "elicitation").get("form") is not None,
            terminal_output=_part(said, "_meta").get("terminal_output") is True,
            name=str(self._client.info.get("name", "")),
        )

    def show(self, session_id: str, update: Update) -> None:
        self._client.notify("session/update", {"sessionId": session_id, "update": update})

    def unread(self) -> int:
        return self._client.unsent()

    async def permit(
        self, session_id: str, tool_call: Mapping[str, Any], options: Sequence[Mapping[str, str]]
    ) -> str:
        """Whatever is not clearly a choice is none. An editor that cannot be asked has not agreed."""
        params = {"sessionId": session_id, "toolCall": dict(tool_call), "options": [*map(dict, options)]}
        answer = await self._ask("session/request_permission", params)
        if answer is None:
            return "deny"
        outcome = _part(answer, "outcome")
        return str(outcome.get("optionId", "deny")) if outcome.get("outcome") != "cancelled" else ""

    async def fill_in(self, session_id: str, message: str, schema: Mapping[str, Any]) -> FormAnswer:
        params = {
            "sessionId": session_id,
            "mode": "form",
            "message": message,
            "requestedSchema": dict(schema),
        }
        answer = await self._ask("elicitation/create", params) or {}
        content = answer.get("content")
        if answer.get("action") == "accept" and isinstance(content, dict):
            return FormAnswer("accept", content)
        return FormAnswer("decline" if answer.get("action") == "decline" else "cancel")

    async def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        try:
            answer = await self._client.request(method, params)
        except EditorError as error:
            _log.warning("the editor refused %s: %s", method, error)
            return None
        except EditorGoneError:
            await asyncio.Event().wait()  # whoever asked is about to be cancelled; nobody has said no
            raise
        return answer if isinstance(answer, dict) else None


def _part(whole: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}
