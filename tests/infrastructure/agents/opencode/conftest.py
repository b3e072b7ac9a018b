"""Tasks for OpenCode, as the shared provider would give them."""

from __future__ import annotations

import pytest

from awf.domain.ports.tools import ToolEndpoint
from awf.infrastructure.agents.cli.options import read_options
from awf.infrastructure.agents.cli.shapes import Task
from awf.infrastructure.agents.opencode.options import OpenCodeOptions


@pytest.fixture
def opencode_task(tmp_path):
    """`opencode_task(mode, options, **more)`; modes: intercept, additive, native."""

    def make(mode="intercept", options=None, **more):
        endpoint = ToolEndpoint(command=("/usr/bin/awf", "mcp-serve", "--config=a b.json"))
        given = {
            "prompt": "do it",
            "options": read_options(OpenCodeOptions, options or {}),
            "program": "/bin/opencode",
            "folder": str(tmp_path / "call"),
            "state": str(tmp_path / "state"),
            "cwd": str(tmp_path),
            "env": {"HOME": "/home/user", **(options or {}).get("env", {})},
            "new_session": "5e3ee8d4-0000-4000-8000-000000000000",
            "endpoint": None if mode == "native" else endpoint,
            "intercepts": mode == "intercept",
            "version": (1, 18, 33),
        }
        return Task(**{**given, **more})

    return make
