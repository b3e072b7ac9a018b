"""`awf rerun`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.options import input_option, make_app, parse_inputs, run_id_argument
from awf.interfaces.cli.running import options_from, run_options, run_to_the_end
from awf.interfaces.cli.submitting import submission_from, submit, submit_options

if TYPE_CHECKING:
    from awf.application.running.service import Prepared
    from awf.application.running.services import RunServices


@click.command()
@run_id_argument
@click.option(
    "--from",
    "start_at",
    metavar="STEP",
    default="",
    help="Keep what came before this step, and run from it on.",
)
@click.option("--current", is_flag=True, help="Use the workflow file as it is now, not as it was.")
@input_option
@submit_options
@run_options
def command(run_id: str, start_at: str, current: bool, given: tuple[str, ...], **shared: Any) -> int:
    """Start a new run from an old one, with the same inputs unless new ones are given.

    The old run is left as it is; the new one names it as its parent.
    """
    options, submission = options_from(shared), submission_from(shared)
    app = make_app(**options.flags).beside(run_id, elsewhere=submission.wanted)
    values = parse_inputs(app, given)

    async def prepare(services: RunServices) -> Prepared:
        return await app.execution.rerun(run_id, services, start_at=start_at, given=values, current=current)

    if submission.wanted:
        return submit(app, options, submission, prepare)
    return run_to_the_end(app, options, prepare).exit_status
