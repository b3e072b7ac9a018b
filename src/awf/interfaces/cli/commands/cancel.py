"""`awf cancel`."""

from __future__ import annotations

import time

import click

from awf.interfaces.cli.options import make_app, person_name, run_id_argument, storage_option


@click.command()
@run_id_argument
@click.option("--wait/--no-wait", default=True, help="Wait until the run has stopped.", show_default=True)
@storage_option
def command(run_id: str, wait: bool, storage: str | None) -> int:
    """Stop RUN, wherever it runs. Its processes are ended; it can be resumed later."""
    from awf.domain.errors import AwfError
    from awf.domain.ports.durability import Message

    store = make_app(storage=storage).store
    run = store.find(run_id)
    if run.status in {"completed", "failed", "cancelled"}:
        raise AwfError(
            "USER.RUN.NOTHING_WAITING", f"{run.id} has ended: {run.status}.", hint=f"awf show {run.id}"
        )
    by = person_name()
    if not store.cancel(run.id, Message({"reason": f"cancelled by {by}"}, by)):
        while wait and store.is_alive(run.id):
            time.sleep(0.05)
    print(f"{run.id} {'cancelled' if wait else 'asked to stop'}")
    return 0
