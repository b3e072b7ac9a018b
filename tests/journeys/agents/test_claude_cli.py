"""Claude Code, the real one."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.journey
OURS = {f"mcp__awf-proxy__{name}" for name in ("Read", "Write", "Edit", "Bash", "Glob", "Grep")}


async def test_its_model_has_our_tools_and_no_other(agent_lab):
    lab = agent_lab("claude")

    seen = await lab.step("read the note")

    assert seen.tools == OURS
    assert "xyzzy" in seen.output
