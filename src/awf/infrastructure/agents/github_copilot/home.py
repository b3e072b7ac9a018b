"""Where GitHub Copilot CLI keeps its things.

With an API of the step's own it needs no login, and so gets a home in the step's state, one for each session: steps
that run at the same time cannot meet in it. Otherwise it works in the user's home, where the login is.
"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["caches", "own_home", "usage_file"]


def own_home(task: Task) -> str:
    """Empty: the user's."""
    return os.path.join(task.state, _session(task)) if task.options.base_url else ""


def usage_file(task: Task) -> str:
    """Kept with the run: the program counts over the whole session, so the next call must know the counts of this."""
    return os.path.join(task.state, f"{_session(task)}.usage.json")


def caches(task: Task) -> dict[str, str]:
    """It remembers the tools of every server it ever saw, and ours is new each time; only the program is worth keeping."""
    env = task.env
    kept = env.get("COPILOT_PKG_CACHE_HOME") or env.get("COPILOT_CACHE_HOME")
    if not kept:
        users = env.get("XDG_CACHE_HOME") or (os.path.join(env["HOME"], ".cache") if env.get("HOME") else "")
        kept = os.path.join(users, "copilot") if users else ""
    if not kept:
        return {}
    return {"COPILOT_CACHE_HOME": os.path.join(task.folder, "cache"), "COPILOT_PKG_CACHE_HOME": kept}


def _session(task: Task) -> str:
    return task.session or task.new_session
