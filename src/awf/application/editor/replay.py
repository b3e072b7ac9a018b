"""A session told again from the events of its runs, for an editor that has forgotten it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from awf.application.editor.projection import Projector
from awf.application.editor.screen import message
from awf.domain.errors import AwfError
from awf.domain.events import stamped_from

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from awf.application.editor.project import EditorProject
    from awf.domain.editor import SessionRecord, TurnRecord, Update

__all__ = ["replayed"]

_PAGE = 500
_log = logging.getLogger("awf.editor")


async def replayed(record: SessionRecord, project: EditorProject) -> AsyncIterator[Update]:
    """Every turn as it was shown; of a very long session the latest ones."""
    if record.earlier:
        yield message(f"({record.earlier} earlier turns are not shown.)", f"{record.id}/earlier")
    projectors: dict[str, Projector] = {}
    last_turns = {turn.run_id: turn for turn in record.turns if turn.run_id != record.parked}
    for number, turn in enumerate(record.turns, record.earlier + 1):
        yield message(turn.prompt or "(empty)", f"{record.id}/{number}/prompt", who="user")
        if turn.run_id:
            is_last = last_turns.get(turn.run_id) is turn
            async for update in _run_turn(turn, project, projectors, is_last=is_last):
                yield update
        if turn.said:
            said = f"\n\n{turn.said}" if turn.run_id else turn.said
            yield message(said, f"{record.id}/{number}/said")


async def _run_turn(
    turn: TurnRecord, project: EditorProject, projectors: dict[str, Projector], *, is_last: bool
) -> AsyncIterator[Update]:
    """The last turn of a run has ended it, or left it waiting; or it was stopped before its end was known."""
    try:
        projector = projectors.get(turn.run_id) or await _projector(turn.run_id, project)
        projectors[turn.run_id] = projector
        after = turn.first_seq - 1
        while after < turn.last_seq:
            page = project.store().events(turn.run_id, after, min(_PAGE, turn.last_seq - after))
            if not page:
                break
            for stored in page:
                after = stored.seq
                stamped = stamped_from(stored.fields)
                for update in projector.event(stamped) if stamped else ():
                    yield update
        goes_on = projector.ended is None and (projector.waits() or not is_last)
        for update in projector.park() if goes_on else projector.close():
            yield update
    except AwfError as error:
        _log.warning("the run %s cannot be shown again: %s", turn.run_id, error.message)
        yield message(f"(The record of run {turn.run_id} is gone.)", f"{turn.run_id}/gone")


async def _projector(run_id: str, project: EditorProject) -> Projector:
    program = await project.definition(run_id)
    return Projector(run_id=run_id, workflow=program.main, cwd=project.cwd)
