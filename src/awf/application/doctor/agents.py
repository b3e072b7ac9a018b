"""What is found about one agent's program."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

import msgspec

from awf.application.doctor.findings import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["SIGN_IN", "AgentFacts", "SignIn", "agent_findings", "signed_in_by"]


class SignIn(msgspec.Struct, frozen=True):
    """By what one can tell that somebody is signed in. Only whether it is there is looked at, never what it holds."""

    variables: tuple[str, ...]
    files: tuple[tuple[str, str, str], ...]  # variable of the folder, the folder without it, the file in it
    how: str


SIGN_IN = {
    "claude": SignIn(
        (
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_USE_VERTEX",
        ),
        (("CLAUDE_CONFIG_DIR", "~/.claude", ".credentials.json"),),
        "Run `claude` once and sign in, or export ANTHROPIC_API_KEY.",
    ),
    "gemini": SignIn(
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        (("", "~/.gemini", "oauth_creds.json"),),
        "Run `gemini` once and sign in, or export GEMINI_API_KEY.",
    ),
    "codex": SignIn(
        ("CODEX_API_KEY",),
        (("CODEX_HOME", "~/.codex", "auth.json"),),
        "Run `codex login`, or export CODEX_API_KEY.",
    ),
    "opencode": SignIn(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"),
        (("XDG_DATA_HOME", "~/.local/share", "opencode/auth.json"),),
        "Run `opencode auth login`.",
    ),
    "github_copilot": SignIn(
        ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"),
        (("GH_CONFIG_DIR", "~/.config/gh", "hosts.yml"),),
        "Run `copilot login`, or export COPILOT_GITHUB_TOKEN.",
    ),
}


class AgentFacts(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    path: str  # empty: the program is not here
    trouble: str = ""
    hint: str = ""
    version: str = ""
    proven: bool = False
    proven_from: str = ""
    proven_to: str = ""
    signed_in_by: str = ""


def signed_in_by(agent: str, environment: Mapping[str, str], exists: Callable[[str], bool]) -> str:
    """The variable or the file that speaks for a login; empty where nothing does."""
    known = SIGN_IN.get(agent)
    if known is None:
        return ""
    for variable in known.variables:
        if environment.get(variable):
            return variable
    home = environment.get("HOME", "")
    for variable, folder, name in known.files:
        chosen = environment.get(variable) if variable else ""
        place = chosen or folder.replace("~", home, 1)
        if exists(os.path.join(place, name)):
            return os.path.join(folder if not chosen else f"${variable}", name)
    return ""


def agent_findings(agents: Sequence[AgentFacts]) -> list[Finding]:
    found = [_finding(agent) for agent in agents]
    in_process = Finding(
        area="agents", name="openai_compatible", text="part of awf; tools are kept to those of AWF"
    )
    return [*found, in_process]


def _finding(agent: AgentFacts) -> Finding:
    if not agent.path:
        missing = agent.trouble.endswith("is not on the PATH.")
        text = "not installed" if missing else agent.trouble
        severity: Severity = "note" if missing else "warning"
        return Finding(area="agents", name=agent.name, severity=severity, text=text, fix=agent.hint)
    login = f"signed in by {agent.signed_in_by}" if agent.signed_in_by else "no key or login seen"
    if not agent.proven:
        return Finding(
            area="agents",
            name=agent.name,
            severity="warning",
            text=f"{agent.version}, {login}; not tried with this version: isolation is best_effort",
            fix=f"Versions {agent.proven_from} to {agent.proven_to} are proven to keep to the tools of AWF.",
        )
    text = f"{agent.version}, {login}; isolation is guaranteed"
    if agent.signed_in_by:
        return Finding(area="agents", name=agent.name, text=text)
    known = SIGN_IN.get(agent.name)
    fix = known.how if known else "A step can bring its own `api_key`."
    return Finding(area="agents", name=agent.name, severity="note", text=text, fix=fix)
