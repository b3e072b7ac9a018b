"""Ask a person before a state runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from awf.application.running.asking import first_answer
from awf.domain.events import ApprovalRequired, ApprovalResolved
from awf.domain.plain_sight import shown_arguments, spelled_out
from awf.domain.ports.durability import Message
from awf.domain.run import ErrorInfo
from awf.domain.workflow import Approval, approval_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.running.context import StepContext
    from awf.domain.workflow import Runnable

__all__ = ["ask_approval", "ask_tool_approval", "tool_topic"]

Verdict = Literal["once", "run", "skip"] | ErrorInfo


async def ask_approval(step: StepContext, state: Runnable) -> Verdict:
    """The answer may come from the person beside the run or from elsewhere; the first one counts."""
    approval = approval_of(state)
    assert approval is not None
    topic = f"approval:{step.path}"
    message = step.render(approval.message) or f"Run '{step.name}'?"
    request = ApprovalRequired(
        path=step.path, step=step.name, approval_id=topic, message=message, on_deny=approval.on_deny
    )
    answer = await (
        step.durable.wait(topic, None)
        if step.durable.answered(topic)
        else _asked(step, request, approval.timeout)
    )
    outcome = _outcome(answer)
    by = answer.sender if answer else ""
    resolved = ApprovalResolved(path=step.path, step=step.name, approval_id=topic, outcome=outcome, by=by)
    step.emit(resolved, once=f"{topic}:resolved")
    if outcome == "once" or outcome == "run":  # noqa: PLR1714  narrows the type
        return outcome
    return _refused(
        step,
        approval,
        timed_out=outcome == "timeout",
        why=str(answer.payload.get("reason", "")) if answer else "",
    )


async def ask_tool_approval(
    step: StepContext,
    tool: str,
    arguments: Mapping[str, Any],
    call_id: str,
    timeout: float | None,
    *,
    why: str = "",
    rule: str = "",
    shown: str = "",
) -> str:
    """Why the call may not happen, or nothing. A yes holds for this call alone, or in this run for the tool and the rule.

    `shown`: the arguments as they may be shown, where somebody has made them fit for it.
    """
    topic = tool_topic(step, call_id)
    shown = shown or shown_arguments(arguments)
    message = f"Let '{step.name}' call {spelled_out(tool)} {shown}?" + (f" {why}" if why else "")
    request = ApprovalRequired(
        path=step.path,
        step=step.name,
        approval_id=topic,
        message=message,
        on_deny="error",
        tool=tool,
        input=dict(arguments),
        rule=rule,
    )
    approved = step.walk.run_context.approved
    if request.consent in approved:
        return ""
    answer = await _asked(step, request, timeout)
    outcome = _outcome(answer)
    step.emit(
        ApprovalResolved(
            path=step.path,
            step=step.name,
            approval_id=topic,
            outcome=outcome,
            by=answer.sender if answer else "",
        )
    )
    if outcome == "run":
        approved.add(request.consent)
    if outcome == "timeout":
        return f"Nobody answered within {timeout or 0:g} s whether {tool} may be called. It was not called."
    if outcome == "reject":
        unattended = answer is not None and answer.payload.get("reason") == "unattended"
        why = "nobody can be asked" if unattended else "the person said no"
        return f"{tool} needs a person's approval, and {why}. It was not called."
    return ""


def tool_topic(step: StepContext, call_id: str) -> str:
    return f"approval:{step.path}/{call_id}"


def _outcome(answer: Message | None) -> Literal["once", "run", "reject", "timeout"]:
    """Whatever is not clearly a yes is a no."""
    if answer is None:
        return "timeout"
    said = answer.payload.get("outcome")
    return said if said in {"once", "run"} else "reject"


async def _asked(step: StepContext, request: ApprovalRequired, timeout: float | None) -> Message | None:
    step.emit(request)
    return await first_answer(step.durable, request.approval_id, timeout, _ask(step, request))


def _refused(step: StepContext, approval: Approval, *, timed_out: bool, why: str) -> Verdict:
    if why == "unattended":
        hint = "Answer with `awf approve`, or pass --yes."
        return ErrorInfo(
            "EXECUTION.INPUT.UNAVAILABLE",
            f"'{step.name}' needs an approval, and nobody can be asked.",
            hint,
            abort=True,
        )
    if timed_out:
        message = f"Nobody answered the approval of '{step.name}' within {approval.timeout or 0:g} s."
        return ErrorInfo("EXECUTION.APPROVAL.TIMEOUT", message, "Resume the run and answer.", abort=True)
    if approval.on_deny == "skip":
        return "skip"
    return ErrorInfo(
        "EXECUTION.APPROVAL.DENIED", f"'{step.name}' was not approved.", abort=approval.on_deny == "abort"
    )


async def _ask(step: StepContext, request: ApprovalRequired) -> None:
    services = step.services
    if services.approve_all:
        await step.durable.deliver(request.approval_id, Message({"outcome": "once"}, "--yes"))
    elif services.unattended:
        await step.durable.deliver(
            request.approval_id, Message({"outcome": "reject", "reason": "unattended"}, "--no-input")
        )
    else:
        answer = await services.person.approve(request)
        if answer is not None:
            await step.durable.deliver(request.approval_id, Message({"outcome": answer.outcome}, answer.by))
