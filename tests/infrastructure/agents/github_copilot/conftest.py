"""Tasks for GitHub Copilot CLI, as the shared provider would give them."""

from __future__ import annotations

import pytest

from awf.domain.ports.tools import ToolEndpoint
from awf.infrastructure.agents.cli.options import read_options
from awf.infrastructure.agents.cli.shapes import Task
from awf.infrastructure.agents.github_copilot.options import CopilotOptions


@pytest.fixture
def copilot_task():
    """`copilot_task(mode, options, **more)`; modes: intercept, additive, native."""

    def make(mode="intercept", options=None, **more):
        given = {
            "prompt": "do it",
            "options": read_options(CopilotOptions, options or {}),
            "program": "/bin/copilot",
            "folder": "/call",
            "state": "/state",
            "cwd": "/project",
            "env": {"HOME": "/home/user", **(options or {}).get("env", {})},
            "new_session": "5e3ee8d4-0000-4000-8000-000000000000",
            "endpoint": None
            if mode == "native"
            else ToolEndpoint(command=("/usr/bin/awf", "mcp-serve", "--config=a b.json")),
            "intercepts": mode == "intercept",
            "version": (1, 0, 102),
        }
        return Task(**{**given, **more})

    return make
