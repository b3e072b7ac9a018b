"""`awf tools`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.options import (
    echo_json,
    echo_lines,
    input_option,
    listing_options,
    make_app,
    parse_inputs,
    workflow_argument,
)

if TYPE_CHECKING:
    from awf.bootstrap import App
    from awf.domain.tool import ToolDefinition

__all__ = ["command"]


@click.command()
@workflow_argument
@click.option("--step", metavar="STATE", help="Only the tools of this agent state.")
@input_option
@listing_options()
def command(workflow: str, step: str | None, given: tuple[str, ...], output: str) -> int:
    """Show the tools that the agents of WORKFLOW get through AWF, exactly as an agent will see them.

    Plugins and MCP servers are started to be asked, and ended again. No tool is called. `-o json` has the schemas.
    """
    import asyncio

    app = make_app()
    listed = asyncio.run(_listed(app, workflow, step or "", parse_inputs(app, given)))
    if output == "json":
        echo_json([_document(state, tool) for state, tools in listed.items() for tool in tools])
        return 0
    from awf.interfaces.cli.rendering.tool_lines import tool_lines

    echo_lines(tool_lines(listed))
    return 0


async def _listed(
    app: App, workflow: str, step: str, given: dict[str, Any]
) -> dict[str, list[ToolDefinition]]:
    from awf.application.tools.preview import preview_tools

    try:
        program = await app.execution.program(workflow)
        services = app.run_services(app.nobody())
        return await preview_tools(program, step, given, services)
    finally:
        await app.close()


def _document(state: str, tool: ToolDefinition) -> dict[str, Any]:
    from awf.application.tools.preview import estimated_tokens

    document: dict[str, Any] = {
        "state": state,
        "name": tool.name,
        "source": tool.source,
        "tokens": estimated_tokens(tool),
        "description": tool.description,
        "input_schema": tool.input_schema,
    }
    if tool.output_schema is not None:
        document["output_schema"] = tool.output_schema
    if tool.annotations:
        document["annotations"] = tool.annotations
    return document
