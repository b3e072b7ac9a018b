"""`awf worker`."""

from __future__ import annotations

import math
import signal
from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.options import make_app, names_in, storage_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.bootstrap import App

_REST_SECONDS = 30.0  # from the end of the drain to that of the process, whatever does not answer
_LAST_WORD_SECONDS = 1.0
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


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

    from awf.bootstrap.workers import RunHost

    host = RunHost(app)
    app.masker = host.masker  # the log tells of the runs of all folders
    app.set_up_logging("info")
    try:
        worker = host.worker(**plan)
        stop, hurry = asyncio.Event(), asyncio.Event()

        loop = asyncio.get_running_loop()
        _when_asked_to_stop(drain, lambda first: loop.call_soon_threadsafe((stop if first else hurry).set))
        await worker.start()
        tags = f", also those for {', '.join(worker.tags)}" if worker.tags else ""
        click.echo(f"worker {worker.name} takes runs from {', '.join(worker.queues)}{tags}", err=True)
        await stop.wait()
        await worker.drain(drain, host.leave, hurry)
    finally:
        await app.close()
    return 0


def _when_asked_to_stop(drain: int, tell: Callable[[bool], object]) -> None:
    """At SIGTERM and Ctrl+C, whatever the main thread waits for: the process ends in time in any case."""
    import os
    import threading

    heard, noted = os.pipe()
    os.set_blocking(noted, False)
    threading.Thread(target=_hear, args=(heard, drain, tell), name="signals", daemon=True).start()
    for number in _SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(noted, warn_on_full_buffer=False)


def _hear(signals: int, drain: int, tell: Callable[[bool], object]) -> None:
    """`tell` is told of each that comes, and whether it is the first."""
    import contextlib
    import os
    import select
    import time

    end, is_first = math.inf, True
    while (left := end - time.monotonic()) > 0:
        ready, _, _ = select.select([signals], [], [], None if left == math.inf else left)
        for _ in filter(_SIGNALS.__contains__, os.read(signals, 64) if ready else b""):
            end = min(end, time.monotonic() + _REST_SECONDS + (drain if is_first else 0))
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                tell(is_first)
            is_first = False
    _leave_at_once()


def _leave_at_once() -> None:
    """As if it was killed: guards end the processes of its runs, and others take them over."""
    import logging
    import os
    import threading

    warn = logging.getLogger("awf.worker").warning
    words = "something does not end in time; the worker goes, and others will see to what is left"
    telling = threading.Thread(target=warn, args=(words,), daemon=True)
    telling.start()
    telling.join(_LAST_WORD_SECONDS)  # it may be the log that nobody reads
    os._exit(0)


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
