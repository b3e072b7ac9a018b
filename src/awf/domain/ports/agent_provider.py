from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.agent import AgentReply, AgentRequest, DisplayEvent

__all__ = ["AgentProvider", "OptionProblem"]


class OptionProblem(Protocol):
    """An option that does not fit: its key, what is wrong, and what to write instead."""

    @property
    def key(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def hint(self) -> str: ...


class AgentProvider(Protocol):
    """Something that takes a task and answers it."""

    @property
    def name(self) -> str: ...

    @property
    def isolation(self) -> Literal["guaranteed", "best_effort", "none"]:
        """Whether it can be kept to the tools of a proxy."""
        ...

    def check_options(self, options: Mapping[str, Any]) -> Sequence[OptionProblem]:
        """Find what is wrong with a step's options without starting anything. Values may be templates."""
        ...

    async def run(self, request: AgentRequest, show: Callable[[DisplayEvent], None]) -> AgentReply:
        """Do the task. Raises `AgentFailure`; ends everything it started when it is cancelled."""
        ...
