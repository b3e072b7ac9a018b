"""Asking the person beside a run whether a tool may be called."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from awf.application.gate.origin import Said
from awf.application.running.approval import ask_tool_approval, tool_topic
from awf.domain.ports.durability import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from awf.application.running.context import StepContext
    from awf.domain.approval import Approval

__all__ = ["StepAsking"]


class StepAsking:
    """An `Asking`: at the terminal, in the editor, or by `awf approve`."""

    patient = True

    def __init__(self, step: StepContext) -> None:
        self._step = step
        self._open: dict[str, set[asyncio.Event]] = {}

    async def ask(self, approval: Approval, arguments: Mapping[str, Any]) -> Said | None:
        with self._noted(approval.approval_id):
            refusal = await ask_tool_approval(
                self._step,
                approval.tool_id,
                arguments,
                approval.approval_id,
                None,
                why=approval.reason,
                rule=approval.rule or "requires_confirmation",
                shown=approval.summary,
            )
        return Said(not refusal, f"run {self._step.durable.run_id}")

    @contextlib.contextmanager
    def _noted(self, approval_id: str) -> Iterator[None]:
        over = asyncio.Event()
        asking = self._open.setdefault(approval_id, set())
        asking.add(over)
        try:
            yield
        finally:
            over.set()
            asking.discard(over)
            if not asking:
                self._open.pop(approval_id, None)

    async def settled(self, approval: Approval) -> None:
        outcome = "once" if approval.status == "granted" else "reject"
        topic = tool_topic(self._step, approval.approval_id)
        await self._step.durable.deliver(topic, Message({"outcome": outcome}, approval.decided_by))
        for over in list(self._open.get(approval.approval_id, ())):  # the run tells of it before it goes on
            await over.wait()
