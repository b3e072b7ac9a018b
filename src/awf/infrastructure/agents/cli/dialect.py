"""What is different from one agent program to the next. Everything else is in `provider`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from awf.domain.shape import Record
    from awf.infrastructure.agents.cli.shapes import Invocation, Reader, Task, Trouble, Version

__all__ = ["Ask", "Dialect", "ExplainsEndings", "WritesAtHome"]

# Run the program with these arguments and give back what it prints; for what must be asked of it beforehand.
Ask = "Callable[[Sequence[str]], Awaitable[bytes]]"


class Dialect(Protocol):
    @property
    def name(self) -> str:
        """The provider's name in workflows."""
        ...

    @property
    def program(self) -> str:
        """The program's name on the PATH."""
        ...

    @property
    def install_hint(self) -> str: ...

    @property
    def options(self) -> type[Record]: ...

    @property
    def proven(self) -> tuple[Version, Version]:
        """From which to which version (both included, the second by its first two numbers) isolation was proven."""
        ...

    async def prepare(
        self, task: Task, ask: Callable[[Sequence[str]], Awaitable[bytes]], cache: str
    ) -> dict[str, Any]:
        """What must be found out before the program can be started; empty for most. `cache` is a folder to keep it in."""
        ...

    def invocation(self, task: Task, prepared: dict[str, Any]) -> Invocation:
        """How to start the program for this task. Pure."""
        ...

    def reader(self, task: Task) -> Reader: ...

    def own_tool(self, name: str) -> str | None:
        """The name that we gave the tool, where it is one of ours; None for the agent's own."""
        ...


@runtime_checkable
class ExplainsEndings(Protocol):
    """A dialect whose program says more by its exit status than by what it prints."""

    def explain(self, trouble: Trouble, exit_code: int) -> Trouble:
        """The trouble of a program that ended by itself, with what its exit status tells. Pure."""
        ...


@runtime_checkable
class WritesAtHome(Protocol):
    """A dialect whose program writes into its home even when it is only asked for its version."""

    @property
    def home_variable(self) -> str:
        """The variable that gives it another home."""
        ...
