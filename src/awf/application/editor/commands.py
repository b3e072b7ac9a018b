"""Workflows as the slash commands of an editor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.editor.slash import designated_input, is_secret, quoted
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from awf.domain.workflow import Input

__all__ = [
    "HELPER_COMMANDS",
    "FoundWorkflow",
    "Offered",
    "command_list",
    "find_command",
    "input_hint",
    "offered_commands",
    "ready_line",
    "slash_name",
    "unknown_command",
]

HELPER_COMMANDS = {
    "workflows": "List the workflows and their inputs",
    "status": "Show what this session is doing",
    "end": "End the conversation",
}
_LONGEST_DESCRIPTION, _LONGEST_HINT, _MOST_CHOICES = 200, 80, 5


class FoundWorkflow(msgspec.Struct, frozen=True):
    name: str
    description: str = ""
    inputs: tuple[Input, ...] = ()


class Offered(msgspec.Struct, frozen=True):
    """A workflow under the name by which an editor calls it."""

    name: str
    workflow: str
    description: str = ""
    inputs: tuple[Input, ...] = ()


def slash_name(workflow_name: str) -> str:
    """The name as one word that editors accept after a slash: letters, digits and . _ : -"""
    name = re.sub(r"\s", "-", workflow_name.replace("/", ":"))
    name = re.sub(r"[^A-Za-z0-9._:-]", "_", name)
    return name if re.search(r"\w", name) else f"_{name}"


def offered_commands(found: Sequence[FoundWorkflow]) -> list[Offered]:
    """All of them, by name. Where two would have one command, the workflow really called so keeps it."""
    ordered = sorted(found, key=lambda one: (slash_name(one.name) != one.name, one.name))
    taken = set(HELPER_COMMANDS)
    offered: list[Offered] = []
    for one in ordered:
        name = _free_name(slash_name(one.name), taken)
        taken.add(name)
        offered.append(Offered(name, one.name, one.description, one.inputs))
    return sorted(offered, key=lambda one: one.name)


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def input_hint(inputs: Sequence[Input]) -> str:
    """What to write after the name, in a line: `env=dev|prod [force=true|false] <task>`."""
    words = designated_input(inputs)
    named = [item for item in inputs if item is not words]
    parts = [_named_part(item) for item in sorted(named, key=_optional)]
    last = [] if words is None else [_free_part(words)]
    room = _LONGEST_HINT - sum(len(part) + 1 for part in last)
    return " ".join([*_fitting(parts, room), *last])


def _fitting(parts: Sequence[str], room: int) -> list[str]:
    kept = list(parts)
    while len(" ".join(kept)) > room and kept:
        kept.pop()
    return kept if len(kept) == len(parts) else [*kept, "…"]


def _optional(item: Input) -> bool:
    return not item.required or item.default is not None


def _named_part(item: Input) -> str:
    part = f"{item.name}={_choices(item) or '…'}"
    if len(part) > _LONGEST_HINT // 2:
        part = f"{item.name}=…"
    return f"[{part}]" if _optional(item) else part


def _free_part(item: Input) -> str:
    shown = _choices(item) or item.name
    shown = shown if len(shown) <= _LONGEST_HINT // 2 else item.name
    return f"[{shown}]" if _optional(item) else f"<{shown}>"


def _choices(item: Input) -> str:
    allowed = item.enum if item.enum is not None else item.validation.enum if item.validation else None
    if is_secret(item) or item.type in {"array", "object"}:
        return ""
    if item.type == "boolean":
        return "true|false"
    texts = [_one_line(str(choice)) for choice in allowed or ()]
    return "|".join([*texts[:_MOST_CHOICES], *(["…"] if len(texts) > _MOST_CHOICES else [])])


def command_list(offered: Sequence[Offered], *, parked: bool) -> list[dict[str, Any]]:
    """`availableCommands`: the workflows, then the helpers. `/end` only where there is something to end."""
    commands = [_wire(one) for one in offered]
    commands += [
        {"name": name, "description": text}
        for name, text in HELPER_COMMANDS.items()
        if name != "end" or parked
    ]
    return commands


def _wire(one: Offered) -> dict[str, Any]:
    text = _one_line(one.description) or f"Run the workflow {_one_line(one.workflow)}"
    if len(text) > _LONGEST_DESCRIPTION:
        text = f"{text[: _LONGEST_DESCRIPTION - 1].rstrip()}…"
    command: dict[str, Any] = {"name": one.name, "description": text}
    if hint := input_hint(one.inputs):
        command["input"] = {"hint": hint}
    return command


def _one_line(text: str) -> str:
    return " ".join(text.split())


def find_command(name: str, offered: Iterable[Offered]) -> Offered | None:
    """By the command's name, else by the workflow's own."""
    everything = list(offered)
    by_command = next((one for one in everything if one.name == name), None)
    return by_command or next((one for one in everything if one.workflow == name), None)


def unknown_command(name: str, offered: Iterable[Offered]) -> str:
    name = name if len(name) <= _LONGEST_HINT else f"{name[: _LONGEST_HINT - 1]}…"
    close = suggest(name, [*(one.name for one in offered), *HELPER_COMMANDS])
    meant = f" Did you mean /{close}?" if close else ""
    return f"There is no workflow or command /{name}.{meant} /workflows lists them."


def ready_line(offered: Offered, given: Mapping[str, Any], missing: Iterable[Input]) -> str:
    """A line to paste: what was given, as it is read back, and a place for what is missing. Shows no secret."""
    wanted = {item.name for item in missing}
    words = [f"/{offered.name}"]
    for item in offered.inputs:
        if item.name in wanted or (item.name in given and is_secret(item)):
            words.append(f"{item.name}=<{_placeholder(item)}>")
        elif item.name in given:
            words.append(f"{item.name}={quoted(_written(given[item.name]))}")
    return " ".join(words)


def _placeholder(item: Input) -> str:
    choices = _choices(item)
    return choices if choices and not re.search(r"\s", choices) else item.name


def _written(value: Any) -> str:
    """A value as text that `resolve_inputs` takes back."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
