"""`awf report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from awf.interfaces.cli.options import make_app, run_id_argument, storage_option, write_text

if TYPE_CHECKING:
    from awf.bootstrap import App


@click.command()
@run_id_argument
@click.option(
    "-O", "--to", "target", metavar="FILE", help="Where to write; else RUN.html here; - for standard output."
)
@storage_option
def command(run_id: str, target: str | None, storage: str | None) -> int:
    """Write RUN as one self-contained HTML page: what happened, why it stopped, every step's output."""
    app = make_app(storage=storage)
    run = app.store.find(run_id)
    if target == "-":
        click.echo(_page(app, run.id))
        return 0
    print(write_report(app, run.id, target or f"{run.id}.html"))
    return 0


def write_report(app: App, run_id: str, target: str) -> str:
    """Write the page in one go; the path."""
    return write_text(target, _page(app, run_id))


def _page(app: App, run_id: str) -> str:
    from awf.application.history.report import render_report
    from awf.interfaces.cli.stored import stored_events

    run = app.store.find(run_id)
    events = list(stored_events(app.store, run.id))
    return render_report(
        run,
        app.store.steps(run.id),
        events,
        diagram_svg=_diagram(app, run_id),
        questions=app.store.questions(run.id),
    )


def _diagram(app: App, run_id: str) -> str:
    """The workflow as it was when the run started."""
    import asyncio

    from awf.application.authoring.diagram import graph_of, highlight_of, to_svg
    from awf.domain.errors import AwfError

    try:
        definition = asyncio.run(app.journal.definition(run_id))
        program = app.validator.trusted(app.library.reload(definition))
    except AwfError:
        return ""
    graph = graph_of(program.main)
    return to_svg(graph, highlight=highlight_of(graph, app.store.steps(run_id)))
