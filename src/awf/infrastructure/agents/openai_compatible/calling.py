"""Carry out the tool calls of one turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from awf.domain.agent import ToolFinished, ToolStarted
from awf.domain.tool import UnknownTool, text_result
from awf.infrastructure.agents.openai_compatible.tool_content import tool_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.domain.agent import DisplayEvent
    from awf.domain.ports.tools import Toolbox
    from awf.domain.tool import ToolResult
    from awf.infrastructure.agents.openai_compatible.arguments import ReadCall

__all__ = ["carry_out"]

AT_A_TIME = 8


async def carry_out(
    calls: Sequence[ReadCall],
    toolbox: Toolbox | None,
    show: Callable[[DisplayEvent], None],
    *,
    at_a_time: int = AT_A_TIME,
) -> list[ToolResult]:
    """Side by side, and the results in the order of the calls. When it is cancelled, so are all of them."""
    places = asyncio.Semaphore(at_a_time)

    async def one(call: ReadCall) -> ToolResult:
        async with places:
            show(ToolStarted(call.id, call.name, call.arguments))
            result = await _result(call, toolbox)
            show(ToolFinished(call.id, call.name, tool_text(result, images=False), result.is_error))
            return result

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(call)) for call in calls]
    return [task.result() for task in tasks]


async def _result(call: ReadCall, toolbox: Toolbox | None) -> ToolResult:
    if call.problem:
        return text_result(call.problem, is_error=True)
    if toolbox is None:
        return text_result(f"There is no tool '{call.name}': you have no tools.", is_error=True)
    try:
        return await toolbox.call(call.name, call.arguments)
    except UnknownTool as error:
        known = ", ".join(tool.name for tool in toolbox.definitions())
        return text_result(f"{error} Your tools: {known}.", is_error=True)
