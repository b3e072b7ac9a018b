"""docs/reference/cli.md"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import click

from awf.interfaces.cli.app import COMMANDS, cli
from awf.testing.reference.markdown import GENERATED

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cli_page"]

_COLUMNS = 80
_INTRO = """\
# Command line

Standard output is the answer, standard error everything else. Listings have `-o json`; runs have `-o json` and
`-o ndjson` ([events](events.md)). Exit statuses are described with the [errors](errors.md).

"""


def cli_page() -> str:
    top = _context(cli, "awf", None)
    parts = [GENERATED, _INTRO, _block(cli.get_help(top))]
    for name in COMMANDS:
        if _exists(name):
            parts += [_section(context) for context in _contexts(name, top)]
    return "".join(parts)


def _exists(name: str) -> bool:
    return importlib.util.find_spec(f"awf.interfaces.cli.commands.{name.replace('-', '_')}") is not None


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(
        command, info_name=name, parent=parent, terminal_width=_COLUMNS, max_content_width=_COLUMNS,
        **({} if parent else command.context_settings),
    )  # fmt: skip


def _contexts(name: str, parent: click.Context) -> Iterator[click.Context]:
    """The command, and those below it."""
    assert isinstance(parent.command, click.Group)
    command = parent.command.get_command(parent, name)
    assert command is not None
    context = _context(command, name, parent)
    yield context
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from _contexts(inner, context)


def _section(context: click.Context) -> str:
    return f"\n## {context.command_path}\n\n{_block(context.get_help())}"


def _block(text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"```text\n{lines}\n```\n"
