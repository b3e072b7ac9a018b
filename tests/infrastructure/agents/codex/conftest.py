"""Tasks for Codex, as the shared provider would give them."""

from __future__ import annotations

import pytest

from awf.domain.ports.tools import ToolEndpoint
from awf.infrastructure.agents.cli.options import read_options
from awf.infrastructure.agents.cli.shapes import Task
from awf.infrastructure.agents.codex.options import CodexOptions


@pytest.fixture
def codex_task(tmp_path):
    """`codex_task(mode, options, **more)`; modes: intercept, additive, native."""

    def make(mode="intercept", options=None, **more):
        folder, state = tmp_path / "call", tmp_path / "state"
        folder.mkdir(exist_ok=True)
        state.mkdir(exist_ok=True)
        endpoint = ToolEndpoint(command=("/usr/bin/awf", "mcp-serve", '--config=a "b".json'))
        given = {
            "prompt": "do it",
            "options": read_options(CodexOptions, options or {}),
            "program": "/bin/codex",
            "folder": str(folder),
            "state": str(state),
            "cwd": str(tmp_path),
            "env": {"HOME": str(tmp_path / "home"), **(options or {}).get("env", {})},
            "new_session": "5e3ee8d4-0000-4000-8000-000000000000",
            "endpoint": None if mode == "native" else endpoint,
            "intercepts": mode == "intercept",
            "version": (0, 166, 0),
        }
        return Task(**{**given, **more})

    return make
