"""Servers of other clients are added to our file: what stands there stays, to the letter where that is possible."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.redaction import Masker
from awf.infrastructure.gateway_files.entry_secrets import literal_secrets, without_secrets
from awf.infrastructure.gateway_files.json_text import shown_path
from awf.infrastructure.gateway_files.yaml_text import parsed, with_servers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.infrastructure.gateway_files.client_file import ClientFile

__all__ = ["ImportPlan", "import_plan"]


class ImportPlan(NamedTuple):
    text: str  # of the new file
    diff: str  # in the unified form; empty when nothing changes
    added: list[str]
    notes: list[str]


class Adding(NamedTuple):
    servers: dict[str, dict[str, Any]]
    notes: list[str]


def import_plan(
    current: str | None, found: Sequence[ClientFile], name: str = ".awf/gateway.yaml"
) -> ImportPlan:
    """`current` is the text of our file, if there is one. Raises when it is no YAML."""
    document = parsed(name, current or "")
    present = document.get("mcpServers") or {}
    notes = [note for file in found for note in file.notes]
    adding = _adding(present, found)
    text = current or ""
    if adding.servers:
        text, lost = with_servers(text, document, adding.servers)
        notes += [f"{name}: {lost}"] if lost else []
    diff = _diff(current, text, name, present)
    return ImportPlan(text, diff, list(adding.servers), [*notes, *adding.notes])


def _adding(present: Mapping[str, Any], found: Sequence[ClientFile]) -> Adding:
    adding = Adding({}, [])
    for file in found:
        for name, entry in file.entries.items():
            _add(adding, present, name, entry, shown_path(file.path))
    return adding


def _add(
    adding: Adding, present: Mapping[str, Any], name: str, entry: Mapping[str, Any], origin: str
) -> None:
    taken = {**present, **adding.servers}
    same = next((other for other in taken if taken[other] == without_secrets(other, entry)[0]), None)
    if same is not None:
        if same not in adding.servers:
            adding.notes.append(f"{origin}: server “{name}” is already there as “{same}”")
        return
    free = _free(name, taken)
    if free != name:
        adding.notes.append(f"{origin}: server “{name}” becomes “{free}”, for there is another “{name}”")
    adding.servers[free], moved = without_secrets(free, entry)
    adding.notes.extend(
        f"{origin}: the secret in {place} of “{free}” is not copied; set {variable} before the gateway starts"
        for place, variable in moved.items()
    )


def _free(wanted: str, taken: Mapping[str, Any]) -> str:
    """Names of tools are compared without regard to case, - and _."""
    folded = {name.lower().replace("-", "_") for name in taken}
    name, number = wanted, 2
    while name.lower().replace("-", "_") in folded:
        name, number = f"{wanted[:37]}_{number}", number + 1
    return name


def _diff(old: str | None, new: str, name: str, present: Mapping[str, Any]) -> str:
    masker = Masker()
    for server, entry in present.items():
        for at, secret in enumerate(literal_secrets(entry)):
            masker.add(f"{server}.{at}", secret)
    before = "/dev/null" if old is None else name
    lines = difflib.unified_diff(_lines(old or ""), _lines(new), before, name, lineterm="")
    return "".join(f"{masker.mask(line)}\n" for line in lines)


def _lines(text: str) -> list[str]:
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
