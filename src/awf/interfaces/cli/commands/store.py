"""`awf store`."""

from __future__ import annotations

import click

from awf.interfaces.cli.options import echo_json, listing_options, make_app, storage_option


@click.group()
def command() -> None:
    """Look after where runs are kept."""


@command.command()
@click.option("--from", "source", type=click.Choice(["sqlite"]), required=True, help="Where they are.")
@click.option("--to", "target", type=click.Choice(["postgres"]), required=True, help="Where they shall be.")
@storage_option
@listing_options()
def migrate(source: str, target: str, storage: str | None, output: str) -> int:
    """Copy the runs of this machine's store into the database in AWF_DATABASE_URL.

    The store stays as it is. Runs that are under way are left out; do it again when they have ended.
    """
    del source, target  # there is one way, and it is written out so that there can be more
    from awf.bootstrap.workers import copy_runs_to_database

    moved = copy_runs_to_database(make_app(storage=storage))
    if output == "json":
        echo_json(moved)
        return 0
    print(f"{moved.copied} runs copied, {moved.known} were there already")
    for run_id in moved.running:
        click.echo(f"{run_id} is under way, and was left out", err=True)
    return 0
