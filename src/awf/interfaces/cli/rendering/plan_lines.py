"""A plan as text: calm, indented, one fact to a line."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from awf.interfaces.cli.rendering.figures import counted
from awf.interfaces.cli.rendering.lines import Line, Span, indented, line, line_text
from awf.interfaces.cli.rendering.plan_rows import (
    block,
    hook_rows,
    limits_text,
    one_line,
    row,
    table,
    value_text,
)
from awf.interfaces.cli.rendering.plan_state_lines import state_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.application.running.plan_values import (
        EnvironmentPlan,
        ExpectedApproval,
        InputPlan,
        Plan,
        StatePlan,
        Wave,
    )

__all__ = ["PLAN_ASCII_FORMS", "plan_lines"]

_EMPTY: Line = ()
# What stands in for the signs that only a plan uses, where the stream's encoding has no room for them.
PLAN_ASCII_FORMS = str.maketrans({"\u2039": "<", "\u203a": ">", "→": "->", "±": "+/-"})
_NOTES = {"default": "default", "unset": "not given"}


def plan_lines(plan: Plan, *, color: bool = False) -> list[str]:
    lines = [*_title(plan), *_body(plan, 0), _EMPTY, *_closing(plan)]
    return [line_text(spans, color=color) for spans in lines]


def _title(plan: Plan) -> Iterator[Line]:
    version = f"  {one_line(plan.version)}" if plan.version else ""
    yield line(Span(one_line(plan.workflow), "name"), version)
    if plan.description:
        yield from row(2, "about", one_line(plan.description))
    relative = os.path.relpath(plan.file, plan.cwd)
    yield from row(2, "file", one_line(plan.file if relative.startswith("..") else relative))
    yield from row(2, "runs in", one_line(plan.cwd))


def _body(plan: Plan, indent: int) -> Iterator[Line]:
    """Sections, with an empty line before each."""
    sections: list[tuple[str, list[Line]]] = [
        ("inputs", list(table(indent + 2, {one_line(item.name): _input(item) for item in plan.inputs}))),
        ("environment", list(_environment(indent + 2, plan.environment))),
        ("limits", list(row(indent + 2, "spend", limits_text(plan.limits))) if plan.limits else []),
        ("hooks", [one for moment, some in plan.hooks.items() for one in hook_rows(indent + 2, moment, some)]),
        ("order", list(_order(indent + 2, plan))),
        ("states", list(_states(indent + 2, plan))),
        ("outputs", list(table(indent + 2, {one_line(k): value_text(v) for k, v in plan.outputs.items()}))),
    ]  # fmt: skip
    for title, lines in sections:
        if lines:
            yield from (_EMPTY, indented(indent, Span(title, "name")), *lines)


def _input(item: InputPlan) -> str:
    note = "secret" if item.secret and item.origin in {"given", "default"} else _NOTES.get(item.origin, "")
    value = "-" if item.value is None else value_text(item.value)
    about = f"  {one_line(item.description)}" if item.origin == "missing" and item.description else ""
    return f"{value}{f'  ({note})' if note else ''}{about}"


def _environment(indent: int, environment: EnvironmentPlan) -> Iterator[Line]:
    needed = [name if is_set else f"{name} (not set)" for name, is_set in environment.required.items()]
    for label, names in (("needs", needed), ("sets", environment.sets)):
        if names:
            yield from row(indent, label, ", ".join(map(one_line, names)))


# -- order ---------------------------------------------------------------------------------------------------------


def _order(indent: int, plan: Plan) -> Iterator[Line]:
    failing = False
    for number, wave in enumerate(plan.waves, 1):
        if wave.after == "failure" and not failing:
            failing = True
            yield indented(indent, "after a failure")
        yield from row(indent, str(number), " or ".join(map(one_line, wave.states)))
        yield from _inside(indent, wave, 2)


def _inside(indent: int, wave: Wave, deeper: int) -> Iterator[Line]:
    for name, inner in wave.inside.items():
        owner = f"{one_line(name)}: " if len(wave.states) > 1 else ""
        for part in inner:
            together = "  together" if part.together else ""
            text = f"{owner}{', '.join(map(one_line, part.states))}{together}"
            yield from row(indent, "", " " * deeper + text)
            yield from _inside(indent, part, deeper + 2)


# -- states --------------------------------------------------------------------------------------------------------


def _states(indent: int, plan: Plan) -> Iterator[Line]:
    depth: dict[str, int] = {"": -1}
    for state in plan.states:  # a container comes before what it runs
        depth[state.name] = depth.get(state.within, -1) + 1
        if state is not plan.states[0]:
            yield _EMPTY
        yield from _state(indent, state, plan, depth[state.name])


def _state(indent: int, state: StatePlan, plan: Plan, depth: int) -> Iterator[Line]:
    here = indent + 2 * depth
    yield from state_lines(here, state, plan)
    if state.call is not None:
        called = state.call.plan
        if called is None:
            yield from row(here + 2, "", "(not shown: there are too many calls)")
        else:
            yield from _body(called, here + 2)


# -- what to expect ------------------------------------------------------------------------------------------------


def _closing(plan: Plan) -> Iterator[Line]:
    yield from row(0, "approvals", _approvals(plan.approvals))
    for problem in plan.problems:
        yield from row(0, "problem", one_line(problem))
    if plan.missing_env:
        yield from row(0, "not set", ", ".join(map(one_line, plan.missing_env)))
        yield from row(0, "", f"set them first: export {one_line(plan.missing_env[0])}=VALUE")
    if plan.missing_inputs:
        yield from row(0, "missing", ", ".join(map(one_line, plan.missing_inputs)))
        given = " ".join(f"--input {one_line(name)}=VALUE" for name in plan.missing_inputs)
        yield from block(0, "", f"give them with {given}", most=10)
    yield line("Nothing was run and nothing was written.")


def _approvals(expected: Sequence[ExpectedApproval]) -> str:
    if not expected:
        return "none"
    total = sum(one.times for one in expected if one.times is not None)
    unknown = any(one.times is None for one in expected)
    listed = ", ".join(f"{one_line(one.path)}{_times(one.times)}" for one in expected)
    how_many = f"{total} or more" if unknown else counted(total, "question")
    return f"{how_many}: {listed}"


def _times(times: int | None) -> str:
    return " (once per iteration)" if times is None else f" ({times} times)" if times != 1 else ""
