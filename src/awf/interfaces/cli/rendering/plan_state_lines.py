"""What a state would do, as rows under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.interfaces.cli.rendering.figures import counted
from awf.interfaces.cli.rendering.lines import Line, Span, indented
from awf.interfaces.cli.rendering.plan_rows import (
    block,
    hook_rows,
    limits_text,
    one_line,
    row,
    size_text,
    time_text,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.application.running.plan_values import AgentPlan, LoopPlan, Plan, RetryPlan, RoutePlan, StatePlan

__all__ = ["head_line", "state_lines"]

_COMMAND_ROWS = 40
_PROMPT_ROWS = 12
_STRATEGIES = {
    "all_succeed": "all must succeed; the first failure stops the others",
    "any_succeed": "one must succeed; the first success stops the others",
    "best_effort": "none has to succeed",
}
_ON_DENY = {"skip": "a no skips it", "error": "a no fails it", "abort": "a no ends the run"}


def head_line(indent: int, state: StatePlan) -> Line:
    where = f"  in {one_line(state.within)}" if state.within else ""
    return indented(indent, Span(one_line(state.name), "name"), f"  {state.kind}{where}")


def state_lines(indent: int, state: StatePlan, plan: Plan) -> Iterator[Line]:
    """Everything about a state but a workflow that it calls."""
    yield head_line(indent, state)
    inner = indent + 2
    if state.description:
        yield from row(inner, "about", one_line(state.description))
    yield from _work(inner, state)
    yield from _where(inner, state, plan)
    yield from _around(inner, state)
    for number, route in enumerate(state.routes):
        yield from _route(inner, route, first=number == 0)
    for problem in state.problems:
        yield from row(inner, "problem", one_line(problem))


def _work(indent: int, state: StatePlan) -> Iterator[Line]:
    if state.command is not None:
        yield from block(indent, "command", state.command, most=_COMMAND_ROWS)
    if state.script is not None:
        yield from row(indent, "script", one_line(state.script_file))
        script = state.script
        yield from block(indent, "", script.text, most=_COMMAND_ROWS, length=script.length)
    if state.agent is not None:
        yield from _agent(indent, state.agent)
    if state.parallel is not None:
        width = state.parallel.max_concurrent
        yield from row(indent, "strategy", _STRATEGIES.get(state.parallel.strategy, state.parallel.strategy))
        if width:
            yield from row(indent, "at once", str(width))
    if state.loop is not None:
        yield from _loop(indent, state.loop)
    if state.call is not None:
        yield from row(indent, "workflow", one_line(state.call.workflow))
        kept = ", ".join(f"{inner} as outputs.{name}" for inner, name in state.call.outputs.items())
        if kept:
            yield from row(indent, "keeps", one_line(kept))
    if state.plugin is not None:
        yield from row(indent, "plugin", one_line(f"{state.plugin.plugin}.{state.plugin.member}"))
        for name, value in state.plugin.inputs.items():
            yield from row(indent, "input", f"{one_line(name)} = {value_text(value)}")
    if state.ending is not None:
        yield from row(indent, "ends", f"{state.ending.status}, exit status {state.ending.exit_status}")
        if state.ending.message:
            yield from block(indent, "message", state.ending.message, most=_PROMPT_ROWS)


def _agent(indent: int, agent: AgentPlan) -> Iterator[Line]:
    yield from row(indent, "provider", one_line(agent.provider))
    for name, value in agent.options.items():
        yield from row(indent, "option", f"{one_line(name)} = {value_text(value)}")
    facts = {
        "role": agent.role,
        "skills": ", ".join(agent.skills),
        "mode": "conversation with a person" if agent.mode == "conversation" else "",
        "continues": f"the session of {agent.continues}" if agent.continues else "",
        "prompt file": agent.prompt_file,
        "tools": _tools(agent),
    }
    for label, text in facts.items():
        if text:
            yield from row(indent, label, one_line(text))
    if agent.system_prompt is not None:
        text, length = agent.system_prompt.text, agent.system_prompt.length
        yield from block(indent, "system", text, most=_PROMPT_ROWS, length=length)
    yield from block(
        indent, "prompt", agent.prompt.text or "(empty)", most=_PROMPT_ROWS, length=agent.prompt.length
    )
    form = "JSON that meets output_schema" if agent.output_schema else agent.output_format
    if form:
        yield from row(indent, "answer", form)


def _tools(agent: AgentPlan) -> str:
    if agent.tools is None:
        return ""
    kept = f", isolation {agent.tools.isolation.replace('_', ' ')}" if agent.tools.isolation else ""
    beside = kept if agent.tools.only_these else " beside its own"
    asks = f"; asks before {', '.join(agent.tools.approve)}" if agent.tools.approve else ""
    return f"{', '.join(agent.tools.sources)}{beside}{asks}"


def _loop(indent: int, loop: LoopPlan) -> Iterator[Line]:
    if loop.items is not None:
        count = loop.count if loop.count is not None else len(loop.items)
        yield from row(indent, "items", f"{count}: {', '.join(map(value_text, loop.items))}")
    elif loop.written:
        yield from row(indent, "items", one_line(loop.written))
    if loop.condition:
        yield from row(indent, "while", one_line(loop.condition))
    if loop.max_iterations is not None:
        yield from row(indent, "at most", f"{one_line(str(loop.max_iterations))} iterations")
    if loop.break_when:
        yield from row(indent, "stops when", one_line(loop.break_when))


def _where(indent: int, state: StatePlan, plan: Plan) -> Iterator[Line]:
    if state.dir and state.dir != plan.cwd:
        yield from row(indent, "dir", one_line(state.dir))
    if state.shell:
        yield from row(indent, "shell", one_line(state.shell))
    if state.env:
        yield from row(indent, "env", ", ".join(map(one_line, state.env)))
    if state.capture is not None:
        named = {"stdout": state.capture.stdout, "stderr": state.capture.stderr}
        streams = ", ".join(f"{stream} as vars.{name}" for stream, name in named.items() if name)
        most = f"up to {size_text(state.capture.max_size)}"
        yield from row(indent, "capture", one_line(f"{streams}, {most}" if streams else most))


def _around(indent: int, state: StatePlan) -> Iterator[Line]:
    if state.depends_on:
        yield from row(indent, "waits for", ", ".join(map(one_line, state.depends_on)))
    if state.approval is not None:
        asked, wait = state.approval, state.approval.timeout
        yield from block(indent, "asks", asked.message, most=_PROMPT_ROWS)
        until = f"; waits {time_text(wait)}" if wait is not None else ""
        yield from row(indent, "", f"({_ON_DENY.get(asked.on_deny, asked.on_deny)}{until})")
    if state.timeout is not None:
        yield from row(indent, "timeout", time_text(state.timeout))
    if state.retry is not None:
        yield from row(indent, "retry", _retry(state.retry))
    if state.limits is not None:
        yield from row(indent, "limits", limits_text(state.limits))
    for moment, hooks in state.hooks.items():
        yield from hook_rows(indent, f"{moment} hook", hooks)
    if state.continue_on_error:
        yield from row(indent, "on error", "goes on as if it had succeeded")


def _retry(retry: RetryPlan) -> str:
    waits = ", ".join(time_text(delay) for delay in retry.delays)
    more = ", …" if retry.attempts - 1 > len(retry.delays) else ""
    spread = f" ± {retry.jitter:.0%}" if retry.jitter else ""
    codes = ", ".join(map(str, retry.exit_codes))
    only = f"; only after exit code {codes}" if codes else ""
    pauses = f", waiting {waits}{more}{spread}" if waits else ""
    return f"up to {counted(retry.attempts, 'attempt')}{pauses}{only}"


def _route(indent: int, route: RoutePlan, *, first: bool) -> Iterator[Line]:
    if not route.to:
        yield from row(indent, route.on, f"ends the workflow, exit status {route.exit_status}")
        if route.message:
            yield from block(indent, "", route.message, most=_PROMPT_ROWS)
        return
    now = "" if route.holds is None else "  (it does)" if route.holds else "  (it does not)"
    condition = f"  if {one_line(route.when)}{now}" if route.when else ""
    label = "otherwise" if route.on == "always" and not first else route.on
    yield from row(indent, label, f"→ {one_line(route.to)}{condition}")
