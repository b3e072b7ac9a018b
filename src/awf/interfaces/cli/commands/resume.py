"""`awf resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.options import make_app, run_id_argument
from awf.interfaces.cli.running import options_from, run_options, run_to_the_end
from awf.interfaces.cli.submitting import submission_from, submit, submit_options

if TYPE_CHECKING:
    from awf.application.running.service import Prepared
    from awf.application.running.services import RunServices


@click.command()
@run_id_argument
@submit_options
@run_options
def command(run_id: str, **shared: Any) -> int:
    """Continue RUN where it stopped: after a crash, Ctrl+C, a failure, or an unanswered question.

    Finished steps are not repeated. The run keeps the definition it was started with.
    RUN is an id, the beginning or the last part of one, or `last`.
    """
    options, submission = options_from(shared), submission_from(shared)
    app = make_app(**options.flags).beside(run_id, elsewhere=submission.wanted)

    async def prepare(services: RunServices) -> Prepared:
        return await app.execution.resume(run_id, services)

    if submission.wanted:
        return submit(app, options, submission, prepare)
    return run_to_the_end(app, options, prepare).exit_status
