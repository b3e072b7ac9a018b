"""`awf plugin new`."""

from __future__ import annotations

import os

import click

from awf.interfaces.cli.new_files import show_files, wanted_files, write_files, writing_options

__all__ = ["new_plugin"]

_LANGUAGES = ("python", "node")
_KINDS = ("operation", "step_type", "validator", "events", "all")

_HELP = """Write the plugin NAME to .awf/plugins/NAME, ready to be used.

\b
operation   a tool for agents, and a state for workflows
step_type   a kind of step of its own
validator   a check of every workflow before it runs
events      a function that is told what happens in runs
all         one of each
"""


@click.command("new", help=_HELP)
@click.argument("name")
@click.option(
    "--language",
    type=click.Choice(_LANGUAGES),
    default="python",
    show_default=True,
    help="What it is written in.",
)
@click.option(
    "--kind", type=click.Choice(_KINDS), default="operation", show_default=True, help="What it offers."
)
@writing_options
def new_plugin(name: str, language: str, kind: str, force: bool, dry_run: bool) -> int:
    from awf.application.authoring.plugin_scaffold import new_plugin as files_of

    files = wanted_files(os.getcwd(), files_of(name, language, kind), force=force)
    if dry_run:
        show_files(files)
        return 0
    write_files(os.getcwd(), files)
    for file in files:
        print(f"wrote {file.path}")
    print(f"\nNext:\n  awf plugin check {name}")
    return 0
