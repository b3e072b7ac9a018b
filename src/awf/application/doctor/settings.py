"""What is found about settings: variables that nobody reads, files that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.doctor.findings import Finding
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from awf.domain.problem import Problem

__all__ = ["OWN_VARIABLES", "SET_BY_AWF", "config_findings", "variable_findings"]

OWN_VARIABLES = frozenset({
    "AWF_STORAGE", "AWF_DATABASE_URL", "AWF_AUDIT_KEY", "AWF_LOG_LEVEL", "AWF_LOG_FORMAT", "AWF_LOG_FILE", "AWF_CONFIG_PATH", "AWF_CONFIG_HOME",
    "AWF_WORKFLOWS_PATH", "AWF_ROLES_PATH", "AWF_SKILLS_PATH", "AWF_PROMPTS_PATH", "AWF_PLUGINS_PATH",
})  # fmt: skip
# A command of a run may call awf again; then it inherits these.
SET_BY_AWF = frozenset({
    "AWF_RUN_ID", "AWF_STEP", "AWF_CONTEXT", "AWF_ATTEMPT", "AWF_PROCESS_TOKEN", "AWF_PLUGIN", "AWF_PLUGIN_DIR", "AWF_PROJECT_DIR",
    "AWF_CODEX_API_KEY",
})  # fmt: skip


def variable_findings(names: Iterable[str]) -> list[Finding]:
    """One for each variable that looks like ours and is not."""
    ours = sorted(name for name in names if name.startswith("AWF_") or name in _SLIPS)
    known = OWN_VARIABLES | SET_BY_AWF
    unknown = [name for name in ours if name not in known]
    if not unknown:
        used = [name for name in ours if name in OWN_VARIABLES]
        return [Finding(area="project", name="variables", text=f"in use: {', '.join(used) or 'none'}")]
    return [_unknown(name) for name in unknown]


_SLIPS = frozenset(f"AWF{name.removeprefix('AWF_')}" for name in OWN_VARIABLES)  # such as AWFSTORAGE


def _unknown(name: str) -> Finding:
    close = suggest(name, OWN_VARIABLES)
    fix = f"Did you mean {close}?" if close else f"Unset it: unset {name}"
    text = "is set, and awf does not know it"
    return Finding(area="project", name=name, severity="warning", text=text, fix=fix)


def config_findings(files: Sequence[str], problems: Sequence[Problem]) -> list[Finding]:
    """`files` are those that were read."""
    if problems:
        return [
            Finding(
                area="project",
                name="configuration",
                severity="problem" if problem.severity == "error" else "warning",
                text=f"{problem.place or ''} {problem.message}".strip(),
                fix=problem.hint or "`awf schema config` prints what may be there.",
            )
            for problem in problems
        ]
    return [Finding(area="project", name="configuration", text=", ".join(files) or "no file, all defaults")]
