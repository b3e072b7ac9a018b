"""What is found about plugins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.doctor.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.domain.ports.plugins import DeclaredPlugin, PluginFacts
    from awf.domain.problem import Problem

__all__ = ["plugin_findings"]


def plugin_findings(
    declared: Mapping[str, DeclaredPlugin], problems: Sequence[Problem], asked: Mapping[str, PluginFacts]
) -> list[Finding]:
    """`problems` of their declarations; `asked` are those that were started to see whether they come up."""
    if problems:
        return [
            _finding("plugins", "problem", f"{problem.place or ''} {problem.message}".strip(), problem.hint)
            for problem in problems
        ]
    if not declared:
        return [Finding(area="tools", name="plugins", text="none declared")]
    return [_of_one(one, asked.get(name)) for name, one in declared.items()]


def _of_one(declared: DeclaredPlugin, facts: PluginFacts | None) -> Finding:
    name = f"plugin {declared.name}"
    if facts is None:
        return Finding(area="tools", name=name, text=f"declared in {declared.origin}, not started")
    if facts.trouble:
        first = facts.trouble.splitlines()[0]
        return _finding(name, "problem", first, facts.hint or f"awf plugin check {declared.name}")
    refused = [operation for operation, one in facts.operations.items() if one.refusal]
    if refused:
        return _finding(
            name, "warning", f"cannot be used: {', '.join(refused)}", f"awf plugin check {declared.name}"
        )
    count = len(facts.operations)
    offered = f"{count} operation{'s' if count != 1 else ''}" if count else "comes up"
    return Finding(area="tools", name=name, text=f"{facts.version} {offered}".strip())


def _finding(name: str, severity: Severity, text: str, fix: str) -> Finding:
    return Finding(area="tools", name=name, severity=severity, text=text, fix=fix)
