"""What every plugin of a project shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.ports.command_runner import CommandRunner

__all__ = ["Patience", "Surroundings"]


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait for what, in seconds."""

    start: float = 30.0  # from the start of the program until it says that it is ready
    connect: float = 10.0  # until somebody listens where it said
    crash: float = 2.0  # for the exit status of one whose connection broke
    shutdown: float = 2.0  # for the answer to Shutdown, and again for its end
    validate: float = 5.0  # for what a validator says of one workflow
    settle: float = 5.0  # for events on their way


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    runner: CommandRunner
    project: str
    environment: Mapping[str, str]  # for references
    inherited: Callable[[], Mapping[str, str]]  # what programs get of it
    version: str  # of awf; empty when plugins need not fit to one
    problem_with: Callable[[dict[str, Any]], str]  # what is wrong with a JSON Schema
    patience: Patience = Patience()
