"""`awf store`."""

from __future__ import annotations

import click
import msgspec

from awf.interfaces.cli.options import echo_json, echo_lines, listing_options, make_app, storage_option


@click.group()
def command() -> None:
    """Look after where runs are kept."""


@command.command()
@click.option("--from", "source", type=click.Choice(["sqlite"]), required=True, help="Where they are.")
@click.option("--to", "target", type=click.Choice(["postgres"]), required=True, help="Where they shall be.")
@storage_option
@listing_options()
def migrate(source: str, target: str, storage: str | None, output: str) -> int:
    """Copy the runs of this machine's store, and its audit, into the database in AWF_DATABASE_URL.

    The store stays as it is. Runs that are under way are left out; do it again when they have ended. The audit is
    copied only into a database that has none: two chains cannot become one.
    """
    del source, target  # there is one way, and it is written out so that there can be more
    import asyncio

    from awf.bootstrap.audits import copy_audit_to_database
    from awf.bootstrap.workers import copy_runs_to_database
    from awf.interfaces.cli.rendering.audit_lines import moved_lines

    app = make_app(storage=storage)
    moved = copy_runs_to_database(app)
    audit = asyncio.run(copy_audit_to_database(app))
    if output == "json":
        echo_json({**msgspec.to_builtins(moved), "audit": audit})
        return 0
    print(f"{moved.copied} runs copied, {moved.known} were there already")
    echo_lines(moved_lines(audit))
    for run_id in moved.running:
        click.echo(f"{run_id} is under way, and was left out", err=True)
    return 0
