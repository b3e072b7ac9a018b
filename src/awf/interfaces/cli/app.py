"""The command line. Each command is a module of its own, imported when it is used."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

__all__ = ["COMMANDS", "cli", "run_cli"]

# name → (group in the help, one line of help). The module is `commands.<name with _>`.
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("start", "Set up this folder with a first workflow"),
    "new": ("start", "Write a new workflow from a pattern"),
    "demo": ("start", "Run an example here and now, offline, and show what happened"),
    "doctor": ("start", "Look over this machine and project, and say what to mend"),
    "validate": ("write", "Check workflows and point at every mistake"),
    "schema": ("write", "Print the JSON Schema of workflow files, for editors"),
    "explain": ("write", "Explain an error code"),
    "diagram": ("write", "Draw a workflow as Mermaid, DOT or SVG"),
    "plan": ("write", "Show what a run would do, without doing it"),
    "tools": ("write", "Show the tools that a workflow's agents get through AWF"),
    "run": ("run", "Run a workflow"),
    "resume": ("run", "Continue a run that was interrupted, cancelled or failed"),
    "rerun": ("run", "Start a run again, from the beginning or from one step"),
    "approve": ("run", "Answer what a run is waiting for"),
    "cancel": ("run", "Stop a run, also one in another process"),
    "list": ("look", "List the workflows that can be run here"),
    "history": ("look", "List runs"),
    "status": ("look", "Show where a run stands, also while it runs elsewhere"),
    "show": ("look", "Show a run's steps and their output"),
    "logs": ("look", "Print a run's events; -f follows them"),
    "report": ("look", "Write a run as one self-contained HTML page"),
    "usage": ("look", "Add up tokens and cost over runs"),
    "gateway": ("gateway", "Serve the tools of many MCP servers as one, reshaped as you like"),
    "grant": ("gateway", "Grant agents what tools require, list it, take it back"),
    "audit": ("gateway", "Look at the record of every call, check it, hand it on"),
    "mcp": ("gateway", "Take over the MCP servers of other clients"),
    "plugin": ("plugins", "List, check and create plugins"),
    "worker": ("plumbing", "Carry out runs that were submitted to a queue, on this machine"),
    "store": ("plumbing", "Copy runs from this machine's store into a database"),
    "config": ("plumbing", "Show the settings and where each comes from"),
    "completion": ("plumbing", "Print the completion script for a shell"),
    "version": ("plumbing", "Print the version"),
}
_GROUPS = {
    "start": "Start",
    "write": "Write",
    "run": "Run",
    "look": "Look",
    "gateway": "Gateway",
    "plugins": "Plugins",
    "plumbing": "Plumbing",
}


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"awf.interfaces.cli.commands.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            from awf.domain.problem import suggest

            close = suggest(name, COMMANDS)
            ctx.fail(f"There is no command '{name}'.{f' Did you mean {close}?' if close else ''}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        width = max(len(name) for name in COMMANDS)
        for group, title in _GROUPS.items():
            rows = [(name.ljust(width), text) for name, (where, text) in COMMANDS.items() if where == group]
            with formatter.section(title):
                formatter.write_dl(rows)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    package_name=None,
    version=importlib.import_module("awf").__version__,
    prog_name="awf",
    message="%(prog)s %(version)s",
)
def cli() -> None:
    """Run workflows of shell commands and coding agents: durable, resumable, observable.

    First steps:  awf demo · awf init · awf run example
    """


def run_cli(arguments: Sequence[str]) -> int:
    """Run one command line; the exit status."""
    _open_missing_streams()
    try:
        result = cli.main(list(arguments), prog_name="awf", standalone_mode=False)
    except click.exceptions.Exit as stop:
        result = stop.exit_code
    except click.ClickException as error:
        result = _usage_error(error, arguments)
    except click.Abort:
        result = 130
    except KeyboardInterrupt:
        result = 130
    except (BrokenPipeError, SystemExit):  # click makes an exit out of a broken pipe
        result = 0
        _abandon(sys.stdout)
    except Exception as error:  # noqa: BLE001  the last line of defence: a person sees no traceback
        from awf.interfaces.cli.failure import report_failure

        result = report_failure(error, arguments)
    status = result if isinstance(result, int) else 0
    return _flushed(status)


def _open_missing_streams() -> None:
    """A stream that was closed before we started must not become the first file that we open."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  it stays


def _usage_error(error: click.ClickException, arguments: Sequence[str]) -> int:
    from awf.domain.errors import AwfError
    from awf.interfaces.cli.failure import report_failure

    context: Any = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "awf"
    message = error.format_message()
    return report_failure(AwfError("USER.INPUT.USAGE", message, hint=f"{command} --help"), arguments)


def _flushed(status: int) -> int:
    """Output that nobody reads any more is no failure."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon(sys.stdout)
    except OSError as error:
        _abandon(sys.stdout)
        status = status or _lost(error)
    try:
        sys.stderr.flush()
    except OSError:
        _abandon(sys.stderr)
    return status


def _lost(error: OSError) -> int:
    from awf.interfaces.cli.failure import report_failure

    return report_failure(error, ())


def _abandon(stream: TextIO) -> None:
    """The interpreter flushes once more at its end, and would complain."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
