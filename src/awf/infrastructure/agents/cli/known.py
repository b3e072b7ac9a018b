"""The agents that are programs, by the names that workflows use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.dialect import Dialect

__all__ = ["DIALECTS", "dialect"]

DIALECTS = {
    "claude": "claude.dialect.Claude",
    "gemini": "gemini.dialect.Gemini",
    "codex": "codex.dialect.Codex",
    "opencode": "opencode.dialect.OpenCode",
    "github_copilot": "github_copilot.dialect.Copilot",
}


def dialect(name: str) -> Dialect:
    """Loaded when it is used: a run needs one or two of them."""
    module, _, cls = DIALECTS[name].rpartition(".")
    found: Dialect = getattr(importlib.import_module(f"awf.infrastructure.agents.{module}"), cls)()
    return found
