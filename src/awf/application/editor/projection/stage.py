"""What all parts of the projection share."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from awf.application.editor.projection.floor import Floor
    from awf.application.editor.projection.plan_board import PlanBoard
    from awf.application.editor.projection.step_book import StepBook

__all__ = ["Stage"]


class Stage:
    def __init__(self, book: StepBook, floor: Floor, board: PlanBoard, done: Collection[str]) -> None:
        self.book = book
        self.floor = floor
        self.board = board
        self.done = frozenset(done)
        self.resumed = False  # the run began before this projection did
