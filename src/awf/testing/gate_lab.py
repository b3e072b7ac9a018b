"""A gate in memory: every store, the audit and the clock are the test's, and so is what is called."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

from awf.application.gate.approvals import ApprovalDesk
from awf.application.gate.contexts import Contexts
from awf.application.gate.deciding import Decider
from awf.application.gate.gate import Gate, GateParts
from awf.application.gate.grants import Grants
from awf.application.gate.origin import Origin, Said
from awf.application.gate.passage import Gated
from awf.application.gate.recording import Recorder
from awf.application.gate.spooling import Spooler
from awf.domain.gate_file import GateKeys
from awf.domain.policy import Policy
from awf.domain.redaction import Masker
from awf.domain.redaction.redactor import Redactor
from awf.domain.tool import CallContext, ToolFailure, text_result
from awf.testing.gate_shelf import LANGUAGE, Shelf
from awf.testing.memory_artifacts import MemoryArtifacts
from awf.testing.memory_audit import MemoryAudit
from awf.testing.memory_gate import MemoryGateStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.application.gate.origin import Asking
    from awf.application.gate.passage import GatedTool
    from awf.domain.approval import Approval
    from awf.domain.audit import AuditEntry
    from awf.domain.override import ToolOverride
    from awf.domain.tool import ToolResult

__all__ = ["GateLab", "Passing", "ScriptedAsking"]


class Passing:
    """Time that passes when the test says so."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class ScriptedAsking:
    """An `Asking`: says yes, no, nothing, or raises; None waits until the test lets it `say`."""

    def __init__(self, answer: bool | Exception | None = None, *, reachable: bool = True) -> None:
        self.patient = False
        self.asked: list[Approval] = []
        self.was_settled: list[Approval] = []
        self.came = asyncio.Event()  # a question
        self._answer = answer
        self._reachable = reachable
        self._said = asyncio.Event()

    async def ask(self, approval: Approval, arguments: Mapping[str, Any]) -> Said | None:
        del arguments
        self.asked.append(approval)
        self.came.set()
        if not self._reachable:
            return None
        if self._answer is None:
            await self._said.wait()
        if isinstance(self._answer, Exception):
            raise self._answer
        return Said(self._answer is True, "the script")

    def say(self, answer: bool) -> None:
        self._answer = answer
        self._said.set()

    async def settled(self, approval: Approval) -> None:
        self.was_settled.append(approval)


class GateLab:
    """`in_two_steps`: calls go as doors make them that wait for nobody, where the gate lets them."""

    def __init__(
        self,
        keys: GateKeys | None = None,
        overrides: Mapping[str, ToolOverride] | None = None,
        *,
        in_two_steps: bool = False,
        shelf: Shelf | None = None,
    ) -> None:
        self.clock, self.ticks = Passing(1000.0), Passing(0.0)
        self.masker = Masker()
        self.store = MemoryGateStore()
        self.audit = MemoryAudit()
        self.artifacts = MemoryArtifacts()
        self.recorder = Recorder(self.audit, self.clock)
        self.in_two_steps = in_two_steps
        self.reached: list[str] = []  # the tools that were carried out
        self._shelf = shelf or Shelf()
        self._numbers = itertools.count(1)
        note = self.recorder.note
        self.contexts = Contexts(self.store.contexts, self.clock, tell=note, ticks=self.ticks)
        self.grants = Grants(self.store.grants, self.clock, tell=note, ticks=self.ticks)
        self.desk = ApprovalDesk(self.store.approvals, self.clock, tell=note, poll=0.01)
        self.gate = self.built(keys or GateKeys(), overrides or {})

    def built(self, keys: GateKeys, overrides: Mapping[str, ToolOverride]) -> Gate:
        """Another gate over the same stores, as after a change of the file."""
        redactor = Redactor(self.masker, keys=keys.redaction.names, patterns=keys.redaction.patterns)
        self.contexts.apply(keys.levels)
        self.desk.settings = keys.approvals
        return Gate(
            GateParts(
                keys=keys,
                overrides=overrides,
                decider=Decider(keys.policy or Policy(), LANGUAGE, self._shelf),
                contexts=self.contexts,
                grants=self.grants,
                desk=self.desk,
                recorder=self.recorder,
                redactor=redactor,
                spooler=Spooler(self.artifacts, redactor, keys.spool, self.clock),
                artifacts=self.artifacts,
                clock=self.clock,
                monotonic=self.ticks,
                around=lambda _: self._shelf,
                changes=self.store.changes,
            )
        )

    def opened(self, keys: GateKeys, overrides: Mapping[str, ToolOverride]) -> Gate:
        """The same, and it is the one that counts from now on."""
        self.gate = self.built(keys, overrides)
        return self.gate

    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds
        self.ticks.now += seconds

    def tool(self, tool_id: str = "kb:search", **more: Any) -> GatedTool:
        server, _, name = tool_id.partition(":")
        return self.gate.tool(tool_id, name, f"mcp:{server}", **more)

    # Calls

    async def call(
        self,
        tool: GatedTool,
        arguments: Mapping[str, Any] | None = None,
        *,
        context: str = "ctx",
        asking: Asking | None = None,
        answer: ToolResult | Exception | Callable[[], Awaitable[ToolResult]] | str = "done",
        origin: Origin | None = None,
    ) -> ToolResult:
        """`answer`: what the tool says, does wrong, or does. Raises what the gate raises."""
        origin = origin or Origin(context=context, door="gateway", named=True)
        gated = Gated(self.gate, tool, origin, asking)

        async def carry_out(_: CallContext) -> ToolResult:
            self.reached.append(tool.facts.id)
            made = await answer() if callable(answer) else answer
            if isinstance(made, Exception):
                raise made
            return text_result(made) if isinstance(made, str) else made

        given = {} if arguments is None else arguments
        context_of_call = CallContext(call_id=f"call-{next(self._numbers)}")
        if self.in_two_steps:
            return await self._in_two_steps(gated, given, context_of_call, carry_out)
        return await self.gate.through(gated, given, context_of_call, carry_out)

    async def _in_two_steps(
        self,
        gated: Gated,
        arguments: Mapping[str, Any],
        call: CallContext,
        carry_out: Callable[[CallContext], Awaitable[ToolResult]],
    ) -> ToolResult:
        gate, turnstile = gated.gate, gated.gate.turnstile
        passage = turnstile.admit(gated.tool, arguments, gated.origin, call.call_id, again=False)
        if passage is None or not turnstile.depart([passage]):
            return await gate.through(gated, arguments, call, carry_out)
        try:
            result = await carry_out(call)
        except ToolFailure as failure:
            gate.lost(passage, failure.code)
            raise
        return turnstile.arrive(passage, result) or await gate.arrived(passage, result)

    # What was recorded

    @property
    def entries(self) -> list[AuditEntry]:
        return [record.entry for record in self.audit.kept]

    def of_kind(self, *kinds: str) -> list[AuditEntry]:
        return [entry for entry in self.entries if entry.kind in kinds]

    @property
    def kinds(self) -> list[str]:
        return [entry.kind for entry in self.entries]
