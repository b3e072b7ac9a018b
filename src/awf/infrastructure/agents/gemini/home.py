"""A home of its own for each call.

Gemini CLI takes its MCP servers from the settings file in its home and from nowhere else that a call could have for
itself. So each call gets a home in its own folder. What must outlive the call, the sessions, is linked to the step's
state, one folder for each session; what belongs to the user, the login, is linked to the user's own files and so
stays theirs: nothing of it is copied.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["furnish", "own_folder", "user_folder", "user_settings", "without_comments"]

LOGIN = ("oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id", ".env")
CUSTOM = ("GEMINI.md", "commands", "skills", "agents", "extensions", "policies", "trustedFolders.json")


def own_folder(task: Task) -> str:
    return os.path.join(task.folder, "home", ".gemini")


def user_folder(env: Mapping[str, str]) -> str:
    home = env.get("GEMINI_CLI_HOME") or env.get("HOME") or os.path.expanduser("~")
    return os.path.join(home, ".gemini")


def furnish(task: Task, *, login: bool) -> None:
    """Make the home of this call, all but the files that the invocation writes."""
    own, user = own_folder(task), user_folder(task.env)
    sessions = os.path.join(task.state, task.session or task.new_session)
    os.makedirs(own, mode=0o700, exist_ok=True)
    os.makedirs(sessions, mode=0o700, exist_ok=True)
    os.symlink(os.path.abspath(sessions), os.path.join(own, "tmp"))
    names = [*(LOGIN if login else ()), *(() if task.intercepts else CUSTOM)]
    for name in names:
        if os.path.exists(os.path.join(user, name)):
            os.symlink(os.path.abspath(os.path.join(user, name)), os.path.join(own, name))


def user_settings(env: Mapping[str, str]) -> dict[str, Any]:
    """The user's own settings; none where they cannot be read."""
    try:
        with open(os.path.join(user_folder(env), "settings.json"), encoding="utf-8") as stream:
            found = json.loads(without_comments(stream.read()))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def without_comments(text: str) -> str:
    """The settings file may have comments, which JSON has not."""
    return _COMMENT.sub(lambda found: found.group(1) or " ", text)
