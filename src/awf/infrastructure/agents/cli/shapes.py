"""What a coding agent's program is asked, how it is started, and what it is heard to say. Plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from awf.domain.agent import DisplayEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from awf.domain.ports.tools import ToolEndpoint

__all__ = [
    "Answer",
    "CostSoFar",
    "Heard",
    "Invocation",
    "Reader",
    "ReadsReports",
    "SessionKnown",
    "Task",
    "ToolsOffered",
    "Trouble",
    "is_proven",
    "version_text",
]

Version = tuple[int, ...]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the program, everything filled in."""

    prompt: str
    options: Any  # of the provider's own type
    program: str  # the path of the program
    folder: str  # private, for files of this call; gone afterwards
    state: str  # private, kept with the run: what a session needs to be continued
    cwd: str
    env: Mapping[str, str]  # what the program would inherit
    system_prompt: str = ""
    session: str = ""  # the session to continue
    new_session: str = ""  # a fresh UUID, for programs that let us choose
    endpoint: ToolEndpoint | None = None  # our tools; None: the agent has only its own
    intercepts: bool = False  # ours are to be its only tools
    output_schema: dict[str, Any] | None = None
    version: Version = ()  # of the program; empty where it could not be told


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """How to start the program. Files are written, mode 0600, before it starts."""

    argv: list[str]
    env: dict[str, str] = {}
    without: frozenset[str] = frozenset()  # variables that it must not inherit
    stdin: str = ""
    files: dict[str, str] = {}  # path → text
    report_file: str = (
        ""  # a JSON file that the program writes; its reader gets it when the program has ended
    )
    first_run_lock: str = (
        ""  # a file: programs that share it start one after another until each has said something
    )


# -- what is heard --------------------------------------------------------------------------------------------------------


class SessionKnown(msgspec.Struct, frozen=True):
    id: str


class ToolsOffered(msgspec.Struct, frozen=True, kw_only=True):
    """The program tells which tools its model has, or whether our server is connected."""

    names: tuple[str, ...] | None = None
    connected: bool | None = None


class CostSoFar(msgspec.Struct, frozen=True):
    """What the whole session has cost, earlier calls included; the share of this call is worked out from it."""

    cost: float


class Answer(msgspec.Struct, frozen=True):
    """The final text, where the program tells it apart from what was said on the way."""

    text: str


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """The program reports that it failed."""

    message: str
    code: str = "EXECUTION.AGENT.FAILED"
    retryable: bool = True
    hint: str = ""


Heard = DisplayEvent | SessionKnown | ToolsOffered | CostSoFar | Answer | Trouble


class Reader(Protocol):
    """Understands the lines of one program, one call long. Pure: it remembers, and touches nothing."""

    def read(self, event: dict[str, Any]) -> Iterable[Heard]:
        """One line, decoded. What it does not know it passes over with nothing."""
        ...

    def end(self) -> Iterable[Heard]:
        """The output has ended: what can only be told now, such as sums and an answer put together."""
        ...


@runtime_checkable
class ReadsReports(Protocol):
    """A reader whose program writes a file besides what it prints."""

    def report(self, before: dict[str, Any] | None, after: dict[str, Any]) -> Iterable[Heard]:
        """What the file tells, and what it told before the call, where it was there already. Pure."""
        ...


def is_proven(version: Version, proven: tuple[Version, Version]) -> bool:
    """Whether isolation was proven for it: a newer patch counts as the one that was tried, a newer minor does not."""
    lowest, highest = proven
    return lowest <= version and version[:2] <= highest[:2]


def version_text(version: Version) -> str:
    return ".".join(map(str, version)) or "unknown"
