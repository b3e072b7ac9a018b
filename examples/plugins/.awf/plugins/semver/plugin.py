"""Semantic Versioning for workflows: operations, a step type, a validator and an ear for events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict

from changes import notes, weight
from versions import Part, Version

from awf.plugin import Event, Issue, OperationError, Plugin, StepOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator

plugin = Plugin("semver", version="1.0.0", description="Versions by the rules of Semantic Versioning")

AVersion = Annotated[str, "A version such as 1.2.3 or v1.2.3-rc.1"]
Changes = Annotated[list[str], "Commit messages such as 'fix: …' or 'feat!: …'"]


class Config(TypedDict):
    prefix: NotRequired[str]
    summary: NotRequired[str]


class Notes(TypedDict):
    version: str
    changes: list[str]


config: Config = {}
failed_steps: dict[str, int] = {}  # run → how many


@plugin.configure
def remember(given: Config) -> None:
    config.update(given)


def read(text: str) -> Version:
    try:
        return Version.read(text)
    except ValueError as error:
        raise OperationError(str(error)) from error


@plugin.operation(read_only=True)
def bump(
    version: AVersion, part: Part = "patch", label: Annotated[str, "Of the first prerelease"] = "rc"
) -> str:
    """Raise one part of a version."""
    return str(read(version).raised(part, label))


@plugin.operation(read_only=True)
def compare(first: AVersion, second: AVersion) -> dict[str, Any]:
    """Which of two versions is newer: order is -1, 0 or 1."""
    a, b = read(first), read(second)
    return {"order": (a > b) - (a < b), "newer": str(max(a, b)), "equal": a == b}


@plugin.operation(read_only=True)
def sort(versions: Annotated[list[str], "The versions"], newest_first: bool = False) -> list[str]:
    """Put versions in order."""
    return sorted(versions, key=read, reverse=newest_first)


@plugin.operation(read_only=True)
def next_version(version: AVersion, changes: Changes) -> str:
    """The version that comes after these changes."""
    part = weight(changes)
    if part is None:
        raise OperationError("Nothing in these changes asks for a new version.", {"version": version})
    return str(read(version).raised(part))


@plugin.step_type("notes")
def write_notes(config: Notes) -> StepOutcome:
    """Release notes in Markdown from `config: {version, changes}`."""
    tag = f"{prefix()}{read(config['version'])}"
    parts = notes(config["changes"])
    lines = [f"## {tag}"]
    for heading, texts in parts.items():
        lines += ["", f"### {heading}", *(f"- {text}" for text in texts)]
    return StepOutcome("\n".join(lines), {"tag": tag, "changes": parts}, exit_code=0 if parts else 1)


def prefix() -> str:
    return config.get("prefix", "v")


@plugin.validator
def agents_have_a_timeout(workflow: dict[str, Any]) -> Iterator[Issue]:
    """An agent that waits for ever is a run that never ends."""
    states = workflow.get("states", {})
    for name, state in states.items():
        if isinstance(state, dict) and state.get("type") == "agent" and not state.get("timeout"):
            yield Issue(
                "This agent has no timeout; give it one, such as 10m.",
                severity="warning",
                step=name,
                field="timeout",
            )


@plugin.on("step.failed")
def count(event: Event) -> None:
    run = event.metadata.get("run_id", event.source)
    failed_steps[run] = failed_steps.get(run, 0) + 1


@plugin.on("workflow.completed", "workflow.failed", "workflow.cancelled")
def summarise(event: Event) -> list[Event]:
    run = event.metadata.get("run_id", event.source)
    payload = {
        "workflow": event.payload.get("workflow", ""),
        "came_to": event.type.removeprefix("workflow."),
        "failed_steps": failed_steps.pop(run, 0),
        "duration_ms": event.payload.get("duration_ms", 0),
    }
    if config.get("summary"):
        place = os.path.join(os.environ.get("AWF_PROJECT_DIR", ""), config["summary"])
        with open(place, "a", encoding="utf-8") as file:
            file.write("{workflow} {came_to}, {failed_steps} failed steps\n".format(**payload))
    return [Event("semver.summary", payload)]


if __name__ == "__main__":
    plugin.serve()
