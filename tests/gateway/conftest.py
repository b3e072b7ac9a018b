"""What the suites of the tool gateway share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[1] / "contracts" / "tool_gateway" / "tool_server.py"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def tool(name="echo", description="Say it again", schema=TEXT, **annotations):
    made = {"name": name, "description": description, "inputSchema": schema}
    return {**made, "annotations": annotations} if annotations else made


def server(*tools, server_id="kb", **more):
    manifest = {"serverId": server_id, "name": "KB", "version": "1", "tools": list(tools) or [tool()]}
    usual = {"transport": "stdio", "command": sys.executable, "args": [str(SERVER)]}
    return {"serverId": server_id, "manifest": manifest, **usual, **more}


class Making:
    tool = staticmethod(tool)
    server = staticmethod(server)


@pytest.fixture
def make():
    return Making
