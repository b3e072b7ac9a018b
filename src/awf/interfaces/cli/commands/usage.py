"""`awf usage`."""

from __future__ import annotations

import click

from awf.interfaces.cli.options import echo_json, listing_options, make_app, storage_option


@click.command()
@click.option("--since", metavar="AGE", default="30d", show_default=True, help="Runs of the last 12h, 7d, …")
@click.option("-w", "--workflow", default="", help="Only runs of this workflow.")
@storage_option
@listing_options()
def command(since: str, workflow: str, storage: str | None, output: str) -> int:
    """Add up tokens and cost of runs, by workflow. What is unknown stays unknown."""
    from awf.domain.errors import AwfError
    from awf.domain.notation import parse_duration
    from awf.domain.ports.run_store import RunFilter
    from awf.domain.run import Usage, add_usage
    from awf.interfaces.cli.rendering.figures import usage_text

    age = parse_duration(since)
    if age is None:
        raise AwfError("USER.INPUT.USAGE", f"'{since}' is not a duration.", hint="Write --since 12h or 7d.")
    app = make_app(storage=storage)
    runs = app.store.runs(RunFilter(workflow=workflow, since=app.clock() - age, limit=1_000_000))
    totals: dict[str, tuple[int, Usage | None]] = {}
    for run in runs:
        count, usage = totals.get(run.workflow, (0, None))
        totals[run.workflow] = (count + 1, add_usage(usage, run.usage))
    if output == "json":
        echo_json(
            [{"workflow": name, "runs": count, "usage": usage} for name, (count, usage) in totals.items()]
        )
    for name, (count, usage) in totals.items() if output == "text" else ():
        print(
            f"{name}  {count} run{'s' if count != 1 else ''}  {usage_text(usage) if usage else 'no agent used'}"
        )
    if not totals and output == "text":
        print("No runs.")
    return 0
