"""`awf acp-serve` as an editor meets it, beside an agent on the PyPI SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.acp_agents import Agents
from bench.acp_cancel import cancelling
from bench.acp_latency import latency
from bench.acp_load import floods, idle_sessions, many_prompts
from bench.acp_starts import first_answers, many_workflows

if TYPE_CHECKING:
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]


def run(stage: Stage) -> list[Row]:
    agents = Agents(stage)
    parts = (first_answers, many_workflows, latency, cancelling, floods, idle_sessions, many_prompts)
    return [row for part in parts for row in part(stage, agents)]
