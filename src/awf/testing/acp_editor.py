"""An editor for tests: it starts an agent as editors do, speaks ACP with it, and lets no frame pass unchecked.

Every wait is bounded, and what fails says which frames went before. Use it as `async with await ScriptedEditor.start(…)`:
leaving the block closes the agent's standard input and waits for its end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from awf.testing.acp_connection import EditorConnection, RequestRefused
from awf.testing.acp_heard import Heard, Question, TurnHeard
from awf.testing.acp_policies import NEVER
from awf.testing.acp_process import AgentProcess

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from awf.testing.acp_policies import FormPolicy, PermissionPolicy
    from awf.testing.acp_wire import WireChecker

__all__ = ["ZED", "RequestRefused", "ScriptedEditor", "Turn"]

ZED: dict[str, Any] = {  # what that editor says of itself
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "session": {"configOptions": {"boolean": {}}},
    "elicitation": {"form": {}, "url": {}},
    "_meta": {"terminal_output": True, "terminal-auth": True},
}


class Turn:
    """A prompt that was sent and is not yet answered."""

    def __init__(
        self, editor: ScriptedEditor, session: str, answer: asyncio.Future[tuple[dict[str, Any], int]]
    ) -> None:
        self._editor = editor
        self._answer = answer
        self._first_update = len(editor.updates)
        self._first_question = len(editor.questions)
        self.session = session

    @property
    def updates(self) -> list[dict[str, Any]]:
        """Those of this session since the prompt."""
        return self._editor.updates_of(self.session, self._first_update)

    async def wait_for(self, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first update since the prompt for which this is true."""
        return await self._editor.wait_for(fits, session=self.session, since=self._first_update)

    async def wait_for_question(self, method: str = "session/request_permission") -> Question:
        return await self._editor.wait_for_question(method, since=self._first_question)

    async def end(self) -> TurnHeard:
        result, last = await self._editor.answered(self._answer, "the end of the turn")
        asked = self._editor.questions[self._first_question :]
        return TurnHeard(
            updates=self._editor.updates_of(self.session, self._first_update, last),
            response=result,
            stop_reason=result["stopReason"],
            questions=tuple(question for question in asked if question.session == self.session),
        )


class ScriptedEditor(EditorConnection):
    """`request`, `notify`, `send`, `wait_for…`, `close` and what was heard are those of the connection."""

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str | Path,
        env: Mapping[str, str],
        checker: WireChecker,
        permissions: PermissionPolicy = "allow",
        forms: FormPolicy = "cancel",
        patience: float = 60.0,
    ) -> ScriptedEditor:
        """`env` is all that the agent gets."""
        editor = cls(permissions, forms, patience)
        editor.agent = await AgentProcess.start(argv, cwd=cwd, env=env, checker=checker, heard=editor._hear)
        return editor

    # -- the protocol --------------------------------------------------------------------------------------------

    async def initialize(
        self, capabilities: Mapping[str, Any] | None = None, *, version: int = 1, name: str = "scripted"
    ) -> dict[str, Any]:
        """Without capabilities none are sent, as some clients do."""
        given = {} if capabilities is None else {"clientCapabilities": dict(capabilities)}
        client = {"name": name, "version": "1"}
        return await self.request("initialize", {"protocolVersion": version, **given, "clientInfo": client})

    async def new_session(
        self, cwd: str | Path, servers: Sequence[Mapping[str, Any]] = (), **more: Any
    ) -> str:
        """Its id; `opened` has the whole answer."""
        result = await self.request("session/new", {"cwd": str(cwd), "mcpServers": list(servers), **more})
        self.opened[result["sessionId"]] = result
        return str(result["sessionId"])

    async def load_session(
        self, session: str, cwd: str | Path, servers: Sequence[Mapping[str, Any]] = (), **more: Any
    ) -> Heard:
        """What was replayed."""
        first = len(self.updates)
        params = {"sessionId": session, "cwd": str(cwd), "mcpServers": list(servers), **more}
        result, last = await self.asked("session/load", params)
        self.opened[session] = result
        return Heard(self.updates_of(session, first, last), result)

    async def resume_session(self, session: str, cwd: str | Path, **more: Any) -> dict[str, Any]:
        result = await self.request("session/resume", {"sessionId": session, "cwd": str(cwd), **more})
        self.opened[session] = result
        return result

    async def list_sessions(self, cwd: str | Path | None = None, **more: Any) -> list[dict[str, Any]]:
        """All of them, page by page."""
        asked = {**({} if cwd is None else {"cwd": str(cwd)}), **more}
        page = await self.request("session/list", asked)
        found = list(page["sessions"])
        while cursor := page.get("nextCursor"):
            page = await self.request("session/list", {**asked, "cursor": cursor})
            found += page["sessions"]
        return found

    async def close_session(self, session: str) -> dict[str, Any]:
        return await self.request("session/close", {"sessionId": session})

    async def delete_session(self, session: str) -> dict[str, Any]:
        return await self.request("session/delete", {"sessionId": session})

    async def set_mode(self, session: str, mode: str) -> dict[str, Any]:
        return await self.request("session/set_mode", {"sessionId": session, "modeId": mode})

    async def set_config_option(self, session: str, option: str, value: Any) -> list[dict[str, Any]]:
        """All the options as they are now."""
        params = {"sessionId": session, "configId": option, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        return list((await self.request("session/set_config_option", params))["configOptions"])

    async def prompt(self, session: str, prompt: str | Sequence[Mapping[str, Any]], **more: Any) -> TurnHeard:
        """A whole turn."""
        return await (await self.begin(session, prompt, **more)).end()

    async def begin(self, session: str, prompt: str | Sequence[Mapping[str, Any]], **more: Any) -> Turn:
        """Send a prompt and go on, to do something while it is worked on."""
        blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
        turn = Turn(self, session, self.expect(request_id := self.next_id()))
        params = {"sessionId": session, "prompt": blocks, **more}
        await self.send_message({"id": request_id, "method": "session/prompt", "params": params})
        return turn

    async def cancel(self, session: str) -> None:
        """As the protocol asks: questions that are open in this session are answered at once."""
        await self.notify("session/cancel", {"sessionId": session})
        for question in list(self._open_questions.values()):
            policy = self.permissions if question.method == "session/request_permission" else self.forms
            if question.session == session and policy != NEVER:
                cancelled = {"outcome": {"outcome": "cancelled"}}
                body = cancelled if question.method == "session/request_permission" else {"action": "cancel"}
                await self.answer(question.id, result=body)

    async def commands(self, session: str) -> list[dict[str, Any]]:
        """The commands that are offered; waits for the first list."""
        await self.wait_for(lambda update: "availableCommands" in update, session=session)
        return Heard(self.updates_of(session)).commands

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            await self.close()
        else:
            await self.abandon()
