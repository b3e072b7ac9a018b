"""Hand a run to workers instead of running it here; follow it from here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from awf.domain.errors import AwfError
from awf.interfaces.cli.options import names_in

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.application.running.service import Prepared
    from awf.application.running.services import RunServices
    from awf.bootstrap import App
    from awf.interfaces.cli.running import RunOptions

__all__ = ["Submission", "submission_from", "submit", "submit_options"]


class Submission(NamedTuple):
    wanted: bool
    follow: bool
    queue: str
    tags: tuple[str, ...]


def submit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        [
            click.option(
                "--submit",
                is_flag=True,
                help="Hand the run to a worker, and print its id [AWF_DATABASE_URL].",
            ),
            click.option("--follow", is_flag=True, help="With --submit: show the run until it ends."),
            click.option("--queue", metavar="NAME", help="With --submit: the queue.  [default: default]"),
            click.option(
                "--tag",
                metavar="NAME",
                multiple=True,
                help="With --submit: only a worker that has this tag may take it; several times, or by commas: all of them.",
            ),
        ]
    ):
        function = option(function)
    return function


def submission_from(values: dict[str, Any]) -> Submission:
    """Take these options out of a command's arguments."""
    wanted, follow, queue, tags = (values.pop(name) for name in ("submit", "follow", "queue", "tag"))
    given = [name for name, value in (("follow", follow), ("queue", queue), ("tag", tags)) if value]
    if given and not wanted:
        raise AwfError("USER.INPUT.USAGE", f"--{given[0]} goes with --submit.", hint="Add --submit.")
    return Submission(wanted, follow, queue or "default", tuple(names_in(",".join(tags))))


def submit(
    app: App,
    options: RunOptions,
    submission: Submission,
    prepare: Callable[[RunServices], Awaitable[Prepared]],
) -> int:
    """Prepare a run as if it began here, and give it away."""
    import asyncio

    run_id = asyncio.run(_handed_over(app, options, submission, prepare))
    if submission.follow:
        return _follow(app, options, run_id)
    if options.output in {"json", "ndjson"}:
        from awf.interfaces.cli.rendering.json_text import write_json

        write_json(
            sys.stdout,
            {"run_id": run_id, "status": "queued", "queue": submission.queue, "tags": submission.tags},
        )
    else:
        print(run_id)
        if options.output == "text" and sys.stderr.isatty():
            click.echo(f"Watch it with  awf logs -f {run_id}", err=True)
    return 0


async def _handed_over(
    app: App,
    options: RunOptions,
    submission: Submission,
    prepare: Callable[[RunServices], Awaitable[Prepared]],
) -> str:
    from awf.bootstrap.workers import hand_over, open_queue
    from awf.domain.run_queue import QueueName

    name = QueueName.checked(submission.queue, submission.tags)
    queue = open_queue(app)
    try:
        services = app.run_services(app.nobody(), approve_all=options.yes, unattended=options.no_input)
        prepared = await prepare(services)
        return await hand_over(prepared, queue, name, {"yes": options.yes, "no_input": options.no_input})
    finally:
        queue.close()
        await app.close()


def _follow(app: App, options: RunOptions, run_id: str) -> int:
    """The same view as of a run in this process, and its exit status."""
    from awf.interfaces.cli.running import open_view
    from awf.interfaces.cli.stored import followed_events

    fresh = app.again()
    store = fresh.store
    view, _ = open_view(options)
    try:
        for stamped in followed_events(store, run_id):
            view.on_event(stamped)
    except KeyboardInterrupt:
        click.echo(f"The run goes on. Stop it with  awf cancel {run_id}", err=True)
        return 130
    except AwfError:
        click.echo(f"The run goes on without you. Watch it with  awf logs -f {run_id}", err=True)
        raise
    finally:
        view.close()
        fresh.database.close()
    return fresh.store.find(run_id).exit_status or 0
