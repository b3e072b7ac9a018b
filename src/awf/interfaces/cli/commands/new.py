"""`awf new`."""

from __future__ import annotations

import os

import click

from awf.interfaces.cli.new_files import show_files, wanted_files, write_files, writing_options

_PATTERNS = ("steps", "agent", "parallel", "loop", "approval", "conversation")

_HELP = """Write the workflow NAME to .awf/workflows; a slash in NAME makes a folder.

\b
steps         commands one after the other, with retry and failure
agent         an agent that answers in a form, and a decision by its answer
parallel      several states at the same time
loop          once for every item, and as long as a condition holds
approval      a person is asked first
conversation  a talk with an agent
"""


@click.command(help=_HELP)
@click.argument("name")
@click.option(
    "--pattern", type=click.Choice(_PATTERNS), default="steps", show_default=True, help="What to start from."
)
@writing_options
def command(name: str, pattern: str, force: bool, dry_run: bool) -> int:
    from awf.application.authoring.scaffold import new_workflow

    files = wanted_files(os.getcwd(), new_workflow(name, pattern), force=force)
    if dry_run:
        show_files(files)
        return 0
    write_files(os.getcwd(), files)
    for file in files:
        print(f"wrote {file.path}")
    started = files[0].path.removeprefix(".awf/workflows/").removesuffix(".yaml")
    print(f"\nNext:\n  awf run {started}\n  awf plan {started}")
    return 0
