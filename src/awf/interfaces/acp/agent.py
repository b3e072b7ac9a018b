"""What an editor asks for, handed to the application; and its answers in the words of the protocol."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING, Any

from acpserver import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, NOT_FOUND, RequestError
from awf.bootstrap.editors import Editors
from awf.domain.errors import AwfError
from awf.domain.redaction import JointMasker
from awf.interfaces.acp.client_editor import ClientEditor
from awf.interfaces.acp.masking import environment_masker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from acpserver import Client
    from awf.domain.editor import SessionRecord
    from awf.domain.redaction import Masker
    from awf.interfaces.acp.wire_trace import WireTrace

__all__ = ["EditorAgent", "make_agent"]

_CODES = {
    "USER.ACP.PROMPT_IN_FLIGHT": INVALID_REQUEST,
    "USER.ACP.UNKNOWN_SESSION": NOT_FOUND,
    "USER.ACP.MISSING_FOLDER": INVALID_PARAMS,
    "USER.ACP.INVALID_PARAMS": INVALID_PARAMS,
    "USER.ACP.UNKNOWN_OPTION": INVALID_PARAMS,
}


def make_agent(
    client: Client, environment: Mapping[str, str], flags: Mapping[str, str], trace: WireTrace | None
) -> EditorAgent:
    """What stands in the way is told as the answer to the request that needs the agent."""
    try:
        editors = Editors(cwd=_here(), environment=environment, flags=flags)
        if trace is not None:
            trace.mask_also(editors.masker)
        editors.set_up_logging()
        _log_the_engine()
        return EditorAgent(client, editors, environment_masker(environment))
    except AwfError as error:
        raise _refusal(error, environment_masker(environment)) from error


def _here() -> str:
    """Sessions name their folders themselves, so one that is gone is no obstacle."""
    try:
        return os.getcwd()
    except OSError:
        return os.path.abspath(os.sep)


def _log_the_engine() -> None:
    """What the engine has to say goes where everything goes, not to a standard error that nobody reads."""
    engine = logging.getLogger("acpserver")
    engine.handlers = list(logging.getLogger("awf").handlers)
    engine.propagate = False


class EditorAgent:
    def __init__(self, client: Client, editors: Editors, secrets: Masker) -> None:
        self._editors = editors
        self._masker = JointMasker(lambda: [secrets, editors.masker])
        self._service = self._editors.service(ClientEditor(client))
        self._methods: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
            "session/prompt": self._prompt,
        }

    def request(self, method: str, params: dict[str, Any]) -> Awaitable[Any]:
        try:
            return self._answered(self._methods[method](params))
        except AwfError as error:
            raise _refusal(error, self._masker) from error

    async def _answered(self, work: Awaitable[Any]) -> Any:
        try:
            return await work
        except AwfError as error:
            raise _refusal(error, self._masker) from error

    def notification(self, method: str, params: dict[str, Any]) -> None:
        if method == "session/cancel":
            self._service.cancel(params["sessionId"])

    async def close(self) -> None:
        await self._service.close()
        await self._editors.close()

    # -- methods -------------------------------------------------------------------------------------------------------

    async def _new(self, params: dict[str, Any]) -> dict[str, Any]:
        session_id, settings = await self._service.new(params["cwd"], params.get("mcpServers") or [])
        return {"sessionId": session_id, **settings}

    async def _load(self, params: dict[str, Any]) -> dict[str, Any]:
        return await self._service.load(params["sessionId"], params["cwd"], params.get("mcpServers") or [])

    async def _resume(self, params: dict[str, Any]) -> dict[str, Any]:
        return await self._service.resume(params["sessionId"], params["cwd"], params.get("mcpServers") or [])

    async def _list(self, params: dict[str, Any]) -> dict[str, Any]:
        records, following = self._service.listed(params.get("cwd"), params.get("cursor"))
        shown = {"sessions": [_listed(record) for record in records]}
        return {**shown, "nextCursor": following} if following else shown

    async def _close(self, params: dict[str, Any]) -> dict[str, Any]:
        await self._service.close_session(params["sessionId"])
        return {}

    async def _delete(self, params: dict[str, Any]) -> dict[str, Any]:
        await self._service.delete(params["sessionId"])
        return {}

    async def _set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        self._service.set_mode(params["sessionId"], params["modeId"])
        return {}

    async def _set_option(self, params: dict[str, Any]) -> dict[str, Any]:
        options = self._service.set_option(params["sessionId"], params["configId"], params["value"])
        return {"configOptions": options}

    def _prompt(self, params: dict[str, Any]) -> Awaitable[dict[str, Any]]:
        """The turn begins here and now; only its end is waited for."""
        reply = self._service.prompt(params["sessionId"], params["prompt"])

        async def answer() -> dict[str, Any]:
            ended = await reply
            meta = {"_meta": {"awf": ended.meta}} if ended.meta else {}
            return {"stopReason": ended.stop, **meta}

        return answer()


def _listed(record: SessionRecord) -> dict[str, Any]:
    updated = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.updated_at))
    return {"sessionId": record.id, "cwd": record.cwd, "title": record.title or None, "updatedAt": updated}


def _refusal(error: AwfError, masker: Masker) -> RequestError:
    message = masker.mask(error.message)
    details = masker.mask(f"{error.code}: {error.message} {error.hint}".strip())
    return RequestError(_CODES.get(error.code, INTERNAL_ERROR), message, details)
