"""The person in the editor, as a run asks for them."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from awf.application.editor.masking import masked_update
from awf.domain.ports.person import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.editor.screen import Screen
    from awf.domain.events import ApprovalRequired, InputRequired

__all__ = ["Consent", "EditorPerson"]

_OPTIONS = (
    {"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "allow_session", "name": "Always allow in this session", "kind": "allow_always"},
    {"optionId": "deny", "name": "Reject", "kind": "reject_once"},
)


class Consent(Protocol):
    """What the session says to approvals by itself."""

    def given(self, key: str) -> str:
        """Who has agreed to this already; nobody: an empty text."""
        ...

    def remember(self, key: str) -> None: ...

    def call_off(self) -> bool:
        """The person answered with neither yes nor no: they want the turn to end. Whether there is one."""
        ...


class EditorPerson:
    """Answers come with the next prompt, consent through the editor's own dialog, one at a time."""

    def __init__(self, screen: Screen, consent: Consent, workflow: str) -> None:
        self._screen = screen
        self._consent = consent
        self._workflow = workflow
        self._lines: deque[str] = deque()
        self._waiting: deque[asyncio.Future[str]] = deque()
        self._asking = asyncio.Lock()
        self.describe: Callable[[ApprovalRequired], Mapping[str, Any]] | None = None
        self.on_wait: Callable[[], object] = lambda: None

    @property
    def waits(self) -> bool:
        """Whether a conversation waits for the next prompt."""
        return bool(self._waiting)

    def answer(self, line: str) -> None:
        while self._waiting:
            asked = self._waiting.popleft()
            if not asked.done():
                asked.set_result(line)
                return
        self._lines.append(line)

    async def read(self, request: InputRequired) -> str | None:
        del request  # the agent's words are on the screen already
        if self._lines:
            return self._lines.popleft()
        asked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting.append(asked)
        self.on_wait()
        try:
            return await asked
        finally:
            if asked in self._waiting:
                self._waiting.remove(asked)

    async def approve(self, request: ApprovalRequired) -> Answer | None:
        key = f"{self._workflow}:{request.consent}"
        async with self._asking:
            by = self._consent.given(key)
            if by:
                return Answer("once", by)
            chosen = await self._choice(request)
        if chosen == "allow_session":
            self._consent.remember(key)
        if chosen in {"allow", "allow_session"}:
            return Answer("run" if chosen == "allow_session" else "once", "editor")
        if not chosen and self._consent.call_off():
            return None  # nobody has said no: when the run is gone on with, the question is asked again
        return Answer("reject", "editor")

    async def _choice(self, request: ApprovalRequired) -> str:
        assert self.describe is not None
        described = masked_update(self._screen.masker, self.describe(request))
        return await self._screen.editor.permit(self._screen.session_id, described, _OPTIONS)
