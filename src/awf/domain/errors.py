"""Errors say whose fault it is, carry a stable code, and end with something the reader can do.

A code is ``CATEGORY.AREA.NAME``. The category decides the exit status. `catalogue` explains each one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.problem import Problem

__all__ = ["EXIT_CANCELLED", "EXIT_STATUS", "AwfError", "InvalidWorkflowError", "exit_status"]

EXIT_STATUS = {"USER": 1, "WORKFLOW": 2, "EXECUTION": 3, "SYSTEM": 4}
EXIT_CANCELLED = 130


def exit_status(code: str) -> int:
    return EXIT_STATUS.get(code.split(".", 1)[0], 4)


class AwfError(Exception):
    """One thing that went wrong, told once, in words for the person who can mend it."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def exit_status(self) -> int:
        return exit_status(self.code)


class InvalidWorkflowError(AwfError):
    """A workflow that cannot run, with everything that is wrong with it."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = next((problem for problem in problems if problem.severity == "error"), problems[0])
        super().__init__(first.code, first.message, hint=first.hint)
        self.problems = tuple(problems)
