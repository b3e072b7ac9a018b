"""Tasks for Gemini CLI, as the shared provider would give them."""

from __future__ import annotations

import pytest

from awf.domain.ports.tools import ToolEndpoint
from awf.infrastructure.agents.cli.options import read_options
from awf.infrastructure.agents.cli.shapes import Task
from awf.infrastructure.agents.gemini.options import GeminiOptions


@pytest.fixture
def gemini_task(tmp_path):
    """`gemini_task(mode, options, **more)`; modes: intercept, additive, native."""

    def make(mode="intercept", options=None, **more):
        folder = tmp_path / "call"
        folder.mkdir(exist_ok=True)
        given = {
            "prompt": "do it",
            "options": read_options(GeminiOptions, options or {}),
            "program": "/bin/gemini",
            "folder": str(folder),
            "state": str(tmp_path / "state"),
            "cwd": str(tmp_path),
            "env": {"HOME": str(tmp_path / "home"), **(options or {}).get("env", {})},
            "new_session": "5e3ee8d4-0000-4000-8000-000000000000",
            "endpoint": None
            if mode == "native"
            else ToolEndpoint(command=("/usr/bin/awf", "mcp-serve", "--config=a b.json")),
            "intercepts": mode == "intercept",
            "version": (0, 61, 0),
        }
        return Task(**{**given, **more})

    return make
