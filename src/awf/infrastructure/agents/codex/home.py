"""The folder where Codex keeps its login and its sessions, and what it wrote there about a session."""

from __future__ import annotations

import glob
import json
import os.path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["has_own_endpoint", "home_of", "records_of", "spent_before"]

_MARK = b'"token_count"'


def has_own_endpoint(task: Task) -> bool:
    return bool(task.options.base_url or task.options.api_key)


def home_of(task: Task) -> str:
    """The user's own, for their login is in it; a private one where the step brings what is needed."""
    if chosen := task.options.env.get("CODEX_HOME"):
        return str(chosen)
    if has_own_endpoint(task):
        return os.path.join(task.state, "home")
    return task.env.get("CODEX_HOME") or os.path.join(task.env.get("HOME", ""), ".codex")


def records_of(home: str, session: str) -> list[str]:
    """The files in which Codex keeps a session, the newest first."""
    if not session:
        return []
    pattern = os.path.join(glob.escape(home), "sessions", "**", f"*{glob.escape(session)}.jsonl")
    return sorted(glob.glob(pattern, recursive=True), reverse=True)


def spent_before(home: str, session: str) -> dict[str, Any]:
    """The tokens of a session up to now. Codex tells sums over the whole session, also when it is continued."""
    for path in records_of(home, session):
        if total := _last_total(path):
            return total
    return {}


def _last_total(path: str) -> dict[str, Any]:
    last = b""
    try:
        with open(path, "rb") as stream:
            for line in stream:
                if _MARK in line:
                    last = line
        return dict(json.loads(last)["payload"]["info"]["total_token_usage"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
