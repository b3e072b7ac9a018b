"""`awf gateway`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.commands.gateway_approvals import approve, deny, list_approvals
from awf.interfaces.cli.commands.gateway_context import context
from awf.interfaces.cli.options import echo_json, echo_lines, listing_options, make_app, not_empty

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["command"]


def _config_option(function: Callable[..., Any]) -> Callable[..., Any]:
    text = "The configuration: .awf/gateway.yaml when left out; also a sidecar_config.json or an mcpServers file."
    return click.option("-c", "--config", default="", callback=not_empty, metavar="FILE", help=text)(function)


def _profile_option(function: Callable[..., Any]) -> Callable[..., Any]:
    text = "Only the tools of this profile."
    return click.option("--profile", default="", callback=not_empty, metavar="NAME", help=text)(function)


@click.group()
def command() -> None:
    """Serve the tools of many MCP servers as one, reshaped as you like."""


@command.command("serve")
@_config_option
@click.option(
    "--host",
    callback=not_empty,
    metavar="HOST",
    help="Where to listen, instead of what the configuration says.",
)
@click.option("--port", type=click.IntRange(0, 65535), metavar="PORT", help="The port; 0 takes a free one.")
@click.option("--stdio", is_flag=True, help="Serve the one client on standard input and output.")
@click.option(
    "--unix",
    default="",
    callback=not_empty,
    metavar="PATH",
    help="Listen on a Unix socket that only you may enter.",
)
@_profile_option
@click.option(
    "--shadow", is_flag=True, help="Let every call pass, and record what would be refused or asked."
)
@click.option(
    "--advertise",
    default="",
    callback=not_empty,
    metavar="URL",
    help="Where other gateways of the same database reach this one [AWF_GATEWAY_ADVERTISE].",
)
def serve_gateway(
    config: str,
    host: str | None,
    port: int | None,
    stdio: bool,
    unix: str,
    profile: str,
    shadow: bool,
    advertise: str,
) -> int:
    """Serve until stopped: MCP at /mcp (and /mcp/PROFILE), the older SSE at /sse, a page for people at /.

    A change of the configuration is taken over while it runs, or on SIGHUP; calls under way are finished.
    """
    import gc

    from awf.bootstrap.gateways import gateway_path
    from awf.interfaces.mcp.gateway.serving import ServeOptions, serve

    ways = [
        name
        for name, given in (("--stdio", stdio), ("--unix", unix), ("--host/--port", host or port))
        if given
    ]
    if len(ways) > 1:
        raise click.UsageError(f"{' and '.join(ways)} exclude each other.")
    if profile and not stdio:
        raise click.UsageError("--profile is for --stdio; over HTTP each profile has its address, /mcp/NAME.")
    if advertise and stdio:
        raise click.UsageError(
            "--advertise is for gateways over HTTP; with --stdio there is one client only."
        )
    gc.enable()
    app = make_app()
    options = ServeOptions(gateway_path(app, config), host, port, stdio, unix, profile, shadow, advertise)
    return serve(app, options)


@command.command("api")
@click.option(
    "-c",
    "--config",
    default="",
    callback=not_empty,
    metavar="FILE",
    help="A gateway's file of which the gate's keys count; none when left out.",
)
@click.option("--stdio", is_flag=True, help="Serve the one program on standard input and output.")
@click.option(
    "--unix",
    default="",
    callback=not_empty,
    metavar="PATH",
    help="Listen on a Unix socket that only you may enter.",
)
@click.option(
    "--workspace", default="", callback=not_empty, metavar="DIR", help="Where servers work, instead of here."
)
@click.option(
    "--storage",
    default="",
    callback=not_empty,
    metavar="DIR",
    help="Keep grants and the audit there; else nothing is kept.",
)
def serve_api(config: str, stdio: bool, unix: str, workspace: str, storage: str) -> int:
    """Serve ToolGateway to programs: JSON-RPC, one message a line (docs/tool-gateway.md).

    Each connection has a gateway of its own, with its own servers, grants and session.
    """
    import gc

    from awf.interfaces.tool_gateway.serving import ApiOptions
    from awf.interfaces.tool_gateway.serving import serve_api as serve

    if stdio == bool(unix):
        raise click.UsageError("Say either --stdio or --unix PATH.")
    gc.enable()
    app = make_app()
    app.set_up_logging("warning")
    return serve(ApiOptions(unix, storage, config, workspace), app.masker)


@command.command("tools")
@_config_option
@_profile_option
@listing_options()
def list_tools(config: str, profile: str, output: str) -> int:
    """List the tools as agents see them."""
    from awf.interfaces.cli.gateway_look import look_at_tools

    seen = look_at_tools(config, profile)
    if output == "json":
        echo_json(seen.document())
    else:
        echo_lines(seen.lines())
    return seen.exit_status


@command.command("drift")
@_config_option
@click.option("--accept", multiple=True, metavar="ID", help="Trust this tool as it is now; '*' means all.")
@listing_options()
def show_drift(config: str, accept: tuple[str, ...], output: str) -> int:
    """Show which tools are defined otherwise than when they were first seen. Exit status 1 when there are any."""
    from awf.interfaces.cli.gateway_look import look_at_drift

    seen = look_at_drift(config, accept)
    if output == "json":
        echo_json(seen.document())
    else:
        echo_lines(seen.lines())
    return seen.exit_status


@command.command("call")
@_config_option
@_profile_option
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
@listing_options()
def call_tool(config: str, profile: str, tool: str, arguments: str, output: str) -> int:
    """Call one tool, as an agent would, and print its result."""
    from awf.interfaces.cli.gateway_look import call_once

    called = call_once(config, profile, tool, arguments)
    if output == "json":
        echo_json(called.result)
    else:
        echo_lines(called.lines())
    return called.exit_status


@command.command("explain-decision")
@_config_option
@click.argument("tool")
@click.argument("arguments", default="{}", metavar="[JSON]")
@click.option(
    "--context",
    "given",
    multiple=True,
    metavar="NAME=VALUE",
    help="Who calls: user=bob, door=step …; label=confidential for one who knows secrets (else what it knows now). Repeat for more.",
)
@click.option("--shadow", is_flag=True, help="As `awf gateway serve --shadow` would decide.")
@listing_options()
def explain_decision(
    config: str, tool: str, arguments: str, given: tuple[str, ...], shadow: bool, output: str
) -> int:
    """Say what the gate decides about a call, and which rules were asked. Nothing is called.

    TOOL is a tool as `awf gateway tools` names it, a built-in one, such as builtin:Bash, or something else that a
    server is asked for, such as files:resources/read.
    """
    from awf.interfaces.cli.gateway_explaining import explain_call

    seen = explain_call(config, tool, arguments, given, shadow=shadow)
    if output == "json":
        echo_json(seen.document())
    else:
        echo_lines(seen.lines())
    return seen.exit_status


for _one in (list_approvals, approve, deny, context):
    command.add_command(_one)
