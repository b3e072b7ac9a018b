"""Where the other clients keep their files."""

from __future__ import annotations

import os

__all__ = ["usual_files"]

_OF_PROJECT = (".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json")
_OF_HOME = (
    ".claude.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    ".config/Code/User/mcp.json",
    "Library/Application Support/Code/User/mcp.json",
    ".gemini/settings.json",
)


def usual_files(project: str, home: str) -> list[str]:
    """Those that are there; the project's first, for they are nearer."""
    places = [os.path.join(project, name) for name in _OF_PROJECT]
    places += [os.path.join(home, name) for name in _OF_HOME] if home else []
    return [path for path in dict.fromkeys(places) if os.path.isfile(path)]
