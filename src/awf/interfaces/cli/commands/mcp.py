"""`awf mcp`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from awf.interfaces.cli.options import echo_json, echo_lines, listing_options, make_app

if TYPE_CHECKING:
    from awf.bootstrap.gateway_import import Import

__all__ = ["command"]


@click.group()
def command() -> None:
    """Take over the MCP servers of other clients."""


@command.command("import")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path())
@click.option("--write", is_flag=True, help="Write .awf/gateway.yaml; without it, only show the change.")
@listing_options()
def import_servers(files: tuple[str, ...], write: bool, output: str) -> int:
    """Add the MCP servers of Claude, Cursor, VS Code and Gemini to .awf/gateway.yaml.

    Without FILE, the usual files of these clients in this folder and in your home folder are read. What
    .awf/gateway.yaml says already is kept. Secrets are not copied: ${env:NAME} takes their place.
    """
    from awf.bootstrap.gateway_import import plan_import

    found = plan_import(make_app(), files)
    written = write and bool(found.plan.diff)
    if written:
        _write(found.plan.text)
    if output == "json":
        _show_json(found, written=written)
    else:
        _show(found, written=written)
    return 0


def _write(text: str) -> None:
    from awf.application.authoring.scaffold import NewFile
    from awf.bootstrap.gateway_import import GATEWAY_FILE
    from awf.interfaces.cli.new_files import write_files

    write_files(os.getcwd(), [NewFile(GATEWAY_FILE, text)])


def _show_json(found: Import, *, written: bool) -> None:
    from awf.bootstrap.gateway_import import GATEWAY_FILE

    echo_json(
        {
            "file": GATEWAY_FILE,
            "read": found.files,
            "added": found.plan.added,
            "notes": found.notes,
            "diff": found.plan.diff,
            "written": written,
        }
    )


def _show(found: Import, *, written: bool) -> None:
    from awf.interfaces.cli.rendering.line_writer import LineWriter
    from awf.interfaces.cli.rendering.terminal_text import neutral

    echo_lines(found.plan.diff.splitlines())
    sys.stdout.flush()  # the change first, then what there is to say about it
    said = [*(f"note: {note}" for note in found.notes), _outcome(found, written=written)]
    LineWriter(sys.stderr).write(map(neutral, said))


def _outcome(found: Import, *, written: bool) -> str:
    if written:
        return "wrote .awf/gateway.yaml"
    if found.plan.diff:
        return "Nothing is written yet: run it again with --write."
    if found.files:
        return "Nothing to add: .awf/gateway.yaml has all of these servers."
    return "No MCP servers of other clients were found. Name a file: awf mcp import FILE"
