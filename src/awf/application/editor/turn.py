"""One prompt, from its arrival to its answer."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.editor.answering import Answering
from awf.application.editor.content import Flattened, flatten
from awf.application.editor.masking import masked_prompt
from awf.application.editor.reply import Reply
from awf.application.running.tasks import end_task, spawn
from awf.domain.editor import TurnRecord
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.editor.live_run import LiveRun
    from awf.application.editor.session import EditorSession
    from awf.domain.ports.durability import RunOutcome

__all__ = ["Turn"]

_PATIENCE = 5.7  # a command has 5 s to take a cancellation; the editor is answered even if it does not
_log = logging.getLogger("awf.editor")


class Turn:
    """Everything a turn shows is shown before its reply is known, and nothing afterwards."""

    def __init__(
        self, session: EditorSession, blocks: Sequence[Mapping[str, Any]], before: Turn | None
    ) -> None:
        self._session = session
        self._before = before
        self._flat = _writable(flatten(blocks))
        self._live: LiveRun | None = None
        self._begun = False
        self._making = False  # a run is being made: it has to be begun before it can be cancelled
        self._stop = asyncio.Event()
        self._reason = ""
        self.said: list[str] = []
        self.gave_up = False  # the conversation that waited is gone
        self.number = session.count()
        self._task = spawn(self._run(), f"turn {self.number} of {session.record.id}", awaited=True)

    @property
    def over(self) -> bool:
        return self._task.done()

    @property
    def cancelled(self) -> bool:
        return self._stop.is_set()

    @property
    def session(self) -> EditorSession:
        return self._session

    def cancel(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._stop.set()
        if self._live is not None:
            self._live.cancel(self._reason)
        elif self._begun and not self._making:
            self._task.cancel()

    async def reply(self) -> Reply:
        """Whoever stops waiting for it cancels the turn, and gets the reply all the same."""
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError:
                self.cancel("cancelled by the editor")
        return self._task.result()

    async def ended(self) -> None:
        await asyncio.wait([self._task])

    async def wound_down(self) -> None:
        """The turn is over, and so is what it had begun and cancelled, and what it had waited for in vain."""
        await self.ended()
        if self._before is not None:
            await self._before.wound_down()
        if self._live is not None and self.cancelled:
            await self._live.wound_down()

    # -- the course of a turn ------------------------------------------------------------------------------------------

    async def _run(self) -> Reply:
        self._begun = True
        if not await self._is_next():
            return Reply("cancelled")
        self._session.screen.open()
        try:
            reply = await self._answer()
        finally:
            self._close()
        return Reply(reply.stop, self._session.project.masker.mask_data(reply.meta))

    async def _is_next(self) -> bool:
        """Wait for the turn before; False when this one is cancelled meanwhile."""
        if self._before is None:
            return True
        if self.cancelled:
            return False
        try:
            await self._before.wound_down()
        except asyncio.CancelledError:
            return False
        self._before = None
        return True

    async def _answer(self) -> Reply:
        answering = Answering(self)
        try:
            return Reply("cancelled") if self.cancelled else await answering.answer(self._flat)
        except asyncio.CancelledError:
            if not self.cancelled:
                raise
            return Reply("cancelled")
        except AwfError as error:
            return Reply("cancelled") if self.cancelled else answering.failed(error)

    def _close(self) -> None:
        """Nothing stays open, and what is remembered is what was shown."""
        session, live = self._session, self._live
        parked = ""
        if live is not None:
            goes_on = not live.task.done() and not self.cancelled
            parked = live.run_id if goes_on else ""
            reason = "cancelled" if self.cancelled else "ended"
            session.screen.show(live.projector.park() if goes_on else live.projector.close(reason))
            if not goes_on:
                live.mute()
                session.live = None
        elif session.record.parked and not self.gave_up:
            parked = session.record.parked
        self._remember(parked)
        session.show_commands()
        session.screen.close()

    def _remember(self, parked: str) -> None:
        live, masker = self._live, self._session.project.masker
        first, last = live.take_span() if live else (0, 0)
        record = TurnRecord(
            prompt=masked_prompt(masker, self._flat.text),
            run_id=live.run_id if live else "",
            first_seq=first,
            last_seq=last,
            said=masker.mask("\n\n".join(self.said)),
        )
        try:
            self._session.remember_turn(record, parked)
        except AwfError as error:  # what was done is done; only the list of turns lacks it
            _log.error("the session %s could not be saved: %s", self._session.record.id, error.message)

    # -- for whoever works out the answer ------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        self.said.append(text)
        self._session.screen.say(text, f"{self._session.record.id}/{self.number}/{len(self.said)}")

    def point_of_no_return(self) -> None:
        """From here on it is the run that is cancelled, not the making of it."""
        self._making = True

    async def follow(self, live: LiveRun) -> Reply:
        """Until the run ends or waits for the next prompt."""
        self._live = live
        if self.cancelled:
            live.cancel(self._reason)
        at_boundary = spawn(live.boundary(), "turn boundary", awaited=True)
        stopping = spawn(self._stop.wait(), "turn cancelled")
        try:
            await asyncio.wait({at_boundary, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self.cancelled:
                await asyncio.wait({live.task}, timeout=_PATIENCE)
        finally:
            await end_task(stopping)
            await end_task(at_boundary)
        if self.cancelled:
            return Reply("cancelled", _meta(live, live.task.result() if live.task.done() else None))
        if live.task.done():
            return Reply("end_turn", _meta(live, live.task.result()))
        return Reply("end_turn", {"runId": live.run_id, "status": "waiting"})


def _writable(prompt: Flattened) -> Flattened:
    """JSON can carry half a character, and nothing else can: not a file, not a program's input."""

    def whole(text: str) -> str:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    return Flattened(whole(prompt.text), tuple(map(whole, prompt.refused)))


def _meta(live: LiveRun, outcome: RunOutcome | None) -> dict[str, Any]:
    if outcome is None:
        return {"runId": live.run_id, "status": "cancelled"}
    facts = {"outputs": outcome.outputs, "usage": outcome.usage, "exitStatus": outcome.exit_status}
    known = {name: msgspec.to_builtins(value, enc_hook=str) for name, value in facts.items() if value}
    error = {"error": {"code": outcome.error.code, "message": outcome.error.message}} if outcome.error else {}
    return {"runId": live.run_id, "status": outcome.status, **known, **error}
