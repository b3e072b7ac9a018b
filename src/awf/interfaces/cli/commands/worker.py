"""`awf worker`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.options import make_app, names_in, storage_option

if TYPE_CHECKING:
    from awf.bootstrap import App


@click.command()
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=4,
    show_default=True,
    help="How many runs at a time; one number for all workers of a queue.",
)
@click.option(
    "--queues", metavar="NAMES", default="default", show_default=True, help="Queues to serve, by commas."
)
@click.option(
    "--tags", metavar="NAMES", default="", help="What this machine has, by commas: runs may ask for it."
)
@click.option(
    "--name", metavar="NAME", default="", help="A name of its own  [default: made of host and process]."
)
@click.option(
    "--drain",
    type=click.IntRange(0, 86400),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long runs may go on after SIGTERM before they go back to the queue.",
)
@storage_option
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="How much is logged of runs.",
)
@click.option("--log-format", type=click.Choice(["console", "json"]), help="Form of the log.")
@click.option("--log-file", metavar="FILE", help="Log to a file instead of stderr.")
def command(concurrency: int, queues: str, tags: str, name: str, drain: int, **flags: Any) -> int:
    """Carry out runs that were submitted with `awf run --submit`, until it is told to stop.

    Workers find each other through the database in AWF_DATABASE_URL. SIGTERM or Ctrl+C: no more runs are taken, those at
    work may end, the rest goes back to the queue; a second one does not wait. When a worker dies, others take over its runs.
    """
    import asyncio

    plan = {"concurrency": concurrency, "queues": names_in(queues), "tags": names_in(tags), "name": name}
    status = asyncio.run(_work(make_app(**flags), plan, drain))
    _leave_stuck_threads(status)
    return status


async def _work(app: App, plan: dict[str, Any], drain: int) -> int:
    import asyncio
    import signal

    from awf.bootstrap.workers import RunHost

    host = RunHost(app)
    app.masker = host.masker  # the log tells of the runs of all folders
    app.set_up_logging("info")
    try:
        worker = host.worker(**plan)
        stop, hurry = asyncio.Event(), asyncio.Event()

        def asked_to_stop() -> None:
            (hurry if stop.is_set() else stop).set()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, asked_to_stop)
        await worker.start()
        tags = f", also those for {', '.join(worker.tags)}" if worker.tags else ""
        click.echo(f"worker {worker.name} takes runs from {', '.join(worker.queues)}{tags}", err=True)
        await stop.wait()
        await worker.drain(drain, host.leave, hurry)
    finally:
        await app.close()
    return 0


def _leave_stuck_threads(status: int) -> None:
    """Threads of the queue's library wait for a database that is gone, for ever; everything is done without them."""
    import logging
    import os
    import sys
    import threading

    if all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate()):
        return
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)
