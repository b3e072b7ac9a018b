"""`awf logs`."""

from __future__ import annotations

import sys

import click

from awf.interfaces.cli.options import listing_options, make_app, run_id_argument, storage_option, use_color


@click.command()
@run_id_argument
@click.option("-f", "--follow", is_flag=True, help="Go on until the run ends.")
@click.option("-v", "--verbose", count=True, help="More detail.")
@storage_option
@listing_options("text", "ndjson")
def command(run_id: str, follow: bool, verbose: int, storage: str | None, output: str) -> int:
    """Print what happened in RUN, in order; with -f also while it goes on, in whatever process."""
    from awf.domain.events import stamped_from
    from awf.interfaces.cli.rendering.json_text import write_json
    from awf.interfaces.cli.rendering.plain_view import PlainView
    from awf.interfaces.cli.stored import stored_events

    store = make_app(storage=storage).store
    run = store.find(run_id)
    view = PlainView(sys.stdout, verbose=verbose + 1, color=use_color())
    after = 0
    while True:
        going = store.goes_on(run.id)  # looked at first: what it wrote last is then read below
        for stored in stored_events(store, run.id, after):
            after = stored.seq
            if output == "ndjson":
                write_json(sys.stdout, stored.fields)
            elif (stamped := stamped_from(stored.fields)) is not None:
                view.on_event(stamped)
        sys.stdout.flush()
        if not follow or not going:
            view.close()
            return 0
        store.wait_for_news(run.id)
