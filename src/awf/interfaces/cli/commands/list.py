"""`awf list`."""

from __future__ import annotations

import re

import click

from awf.domain.program import WorkflowEntry
from awf.interfaces.cli.options import echo_json, echo_lines, listing_options, make_app

_HEAD = re.compile(r"^(name|description|version):[ \t]*(.*?)[ \t]*$", re.MULTILINE)


@click.command()
@listing_options()
def command(output: str) -> int:
    """List the workflows that can be run from this folder."""
    rows = [_entry(*found) for found in make_app().library.names()]
    if output == "json":
        echo_json(rows)
    elif not rows:
        print("No workflows here. `awf init` writes a first one.")
    else:
        width = max(len(row.name) for row in rows)
        echo_lines(
            f"{row.name.ljust(width)}  {row.source:8}  {row.description or row.problem}".rstrip()
            for row in rows
        )
    return 0


def _entry(name: str, file: str, source: str) -> WorkflowEntry:
    """Only the head of the file is looked at: a listing of hundreds must be quick and survive broken files."""
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            head = stream.read(8192)
    except OSError as error:
        return WorkflowEntry(name=name, file=file, source=source, problem=f"cannot be read: {error.strerror}")
    found = {key: value.strip("\"'") for key, value in _HEAD.findall(head.split("\nstates:", 1)[0])}
    return WorkflowEntry(
        name=name,
        file=file,
        source=source,
        description=found.get("description", ""),
        version=found.get("version", ""),
    )
