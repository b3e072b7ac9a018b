"""`awf init`."""

from __future__ import annotations

import os

import click

from awf.interfaces.cli.new_files import show_files, wanted_files, write_files, writing_options


@click.command()
@writing_options
def command(force: bool, dry_run: bool) -> int:
    """Set up this folder: a first workflow, a configuration file, and the schema for editors.

    Everything goes into .awf. The workflow runs offline and needs no account.
    """
    from awf.application.authoring.scaffold import first_project

    files = wanted_files(os.getcwd(), first_project(), force=force)
    if dry_run:
        show_files(files)
        return 0
    write_files(os.getcwd(), files)
    for file in files:
        print(f"wrote {file.path}")
    print("\nNext:")
    print("  awf run example          run the workflow")
    print("  awf plan example         see what it would do")
    print("  awf new review --pattern agent")
    print("                           write another one; awf new --help lists the patterns")
    return 0
