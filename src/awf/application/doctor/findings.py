"""What `awf doctor` finds: values, in the order in which people want to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["AREAS", "Finding", "Severity", "exit_status", "in_order", "summary"]

Severity = Literal["ok", "note", "warning", "problem"]
AREAS = {
    "awf": "AWF",
    "agents": "Agents",
    "tools": "Tools and plugins",
    "project": "Settings",
    "store": "Run store",
    "machine": "This machine",
}
_BAD = 4  # of the system's kind: the machine is not as awf needs it


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at. `note`: good to know; `warning`: works, with less; `problem`: does not work."""

    area: str  # a key of AREAS
    name: str
    severity: Severity = "ok"
    text: str
    fix: str = ""  # what to do or to type


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    areas = list(AREAS)
    return sorted(findings, key=lambda finding: areas.index(finding.area))


def exit_status(findings: Iterable[Finding]) -> int:
    return _BAD if any(finding.severity == "problem" for finding in findings) else 0


def summary(findings: Iterable[Finding]) -> str:
    severities = [finding.severity for finding in findings]
    counted = [
        f"{count} {kind}{'s' if count != 1 else ''}"
        for kind in ("problem", "warning", "note")
        if (count := severities.count(kind))
    ]
    return f"{', '.join(counted)}." if counted else "Everything is fine."
