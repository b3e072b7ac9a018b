"""`awf history`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from awf.interfaces.cli.options import echo_json, echo_lines, listing_options, make_app, storage_option

if TYPE_CHECKING:
    from awf.domain.run import RunRecord


@click.command()
@click.option("-w", "--workflow", default="", help="Only runs of this workflow.")
@click.option(
    "-s",
    "--status",
    type=click.Choice(["queued", "running", "waiting", "completed", "failed", "cancelled", "interrupted"]),
    default=None,
)
@click.option("--since", metavar="AGE", default="", help="Only runs of the last 30m, 12h, 7d, …")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True)
@storage_option
@listing_options()
def command(
    workflow: str, status: str | None, since: str, limit: int, storage: str | None, output: str
) -> int:
    """List runs, newest first."""
    from awf.domain.errors import AwfError
    from awf.domain.notation import parse_duration
    from awf.domain.ports.run_store import RunFilter

    age = parse_duration(since) if since else None
    if since and age is None:
        raise AwfError(
            "USER.INPUT.USAGE", f"'{since}' is not a duration.", hint="Write --since 30m, 12h or 7d."
        )
    app = make_app(storage=storage)
    runs = app.store.runs(
        RunFilter(
            workflow=workflow, status=status or "", since=app.clock() - age if age else 0.0, limit=limit
        )
    )
    if output == "json":
        echo_json(runs)
    elif not runs:
        print("No runs.")
    else:
        width = max(len(run.workflow) for run in runs)
        echo_lines(_line(run, width) for run in runs)
    return 0


def _line(run: RunRecord, width: int) -> str:
    began = _when(run.started_at)
    return f"{run.id}  {run.workflow.ljust(width)}  {run.status:11}  {began}  {_took(run)}".rstrip()


def _when(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


def _took(run: RunRecord) -> str:
    from awf.interfaces.cli.rendering.figures import duration_text

    if run.finished_at is None:
        whom = "" if run.status == "queued" else "you: "
        return run.waiting_for and f"waiting for {whom}{run.waiting_for}"
    reason = f"  {run.error.code}" if run.error else ""
    return duration_text(int((run.finished_at - run.started_at) * 1000)) + reason
