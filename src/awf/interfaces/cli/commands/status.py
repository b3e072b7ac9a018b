"""`awf status`."""

from __future__ import annotations

import click

from awf.interfaces.cli.options import (
    echo_json,
    echo_lines,
    listing_options,
    make_app,
    run_id_argument,
    storage_option,
    use_color,
)


@click.command()
@run_id_argument
@storage_option
@listing_options()
def command(run_id: str, storage: str | None, output: str) -> int:
    """Show where RUN stands: finished steps, what it is doing now, what it waits for."""
    from awf.interfaces.cli.rendering.model import RunModel
    from awf.interfaces.cli.rendering.status import status_lines
    from awf.interfaces.cli.stored import all_events

    app = make_app(storage=storage)
    store = app.store
    run = store.find(run_id)
    questions = store.questions(run.id) if run.status in {"waiting", "running"} else []
    if output == "json":
        echo_json({"run": run, "questions": questions, "alive": store.is_alive(run.id)})
        return 0
    model = RunModel()
    for stamped in all_events(store, run.id):
        model.apply(stamped)
    lines = status_lines(model, now=app.clock(), status=run.status, color=use_color())
    if run.status == "queued" and run.waiting_for:
        lines.append(f"waiting for {run.waiting_for}")
    echo_lines(lines, styled=True)
    return 0
