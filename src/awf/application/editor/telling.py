"""What is said to the person in the editor without a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.editor.commands import input_hint
from awf.domain.errors import AwfError, InvalidWorkflowError

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.editor.project import Workflows
    from awf.domain.editor import SessionRecord
    from awf.domain.ports.run_store import RunStore

__all__ = ["status", "trouble", "what_to_type", "workflows"]

_MOST_PROBLEMS = 20


def workflows(known: Workflows) -> str:
    lines = []
    for one in known.offered:
        hint = input_hint(one.inputs)
        command = f"`/{one.name} {hint}`" if hint else f"`/{one.name}`"
        lines.append(f"- {command}" + (f" — {one.description.strip()}" if one.description.strip() else ""))
    if not lines:
        lines = ["There are no workflows here. `awf init` in a terminal writes a first one."]
    if known.broken:
        lines += ["", "These cannot be read:", ""]
        lines += [f"- **{one.name}** — {one.problem}" for one in known.broken]
    return "\n".join(lines)


def what_to_type(known: Workflows) -> str:
    if not known.offered:
        return workflows(known)
    return (
        "Say which workflow to run by its slash command:\n\n"
        + workflows(known)
        + "\n\nTo run one with every plain message, choose it as the workflow for plain messages."
    )


def status(record: SessionRecord, store: Callable[[], RunStore]) -> str:
    last = next((turn.run_id for turn in reversed(record.turns) if turn.run_id), "")
    if not last:
        return "Nothing has run in this session yet. `/workflows` lists what can."
    try:
        run = store().find(last)
        steps = [row for row in store().steps(last) if not row.path.startswith("hooks/")]
    except AwfError as error:
        return f"The last run was {last}; its record cannot be read: {error.message}"
    lines = [
        f"**{run.workflow}** · run `{last}` · {'waiting for you' if record.parked == last else run.status}"
    ]
    lines += [f"- {row.path}: {row.result.status}" for row in steps[-20:]]
    if run.error is not None:
        lines.append(f"\n{run.error.message} {run.error.hint}".rstrip())
    lines.append(f"\n`awf show {last}` has the whole story.")
    return "\n".join(lines)


def trouble(error: AwfError) -> str:
    """Everything that is wrong, with where it is."""
    if not isinstance(error, InvalidWorkflowError):
        return f"{error.code}: {error.message}" + (f"\n\n{error.hint}" if error.hint else "")
    found = [problem for problem in error.problems if problem.severity == "error"]
    lines = [f"The workflow has {len(found)} mistake{'s' if len(found) != 1 else ''}:", ""]
    for problem in found[:_MOST_PROBLEMS]:
        place = f"{problem.place.file}:{problem.place.line}:{problem.place.column}: " if problem.place else ""
        hint = f" ({problem.hint})" if problem.hint else ""
        lines.append(f"- {place}{problem.message}{hint} [{problem.code}]")
    if len(found) > _MOST_PROBLEMS:
        lines.append(f"- and {len(found) - _MOST_PROBLEMS} more")
    return "\n".join(lines)
