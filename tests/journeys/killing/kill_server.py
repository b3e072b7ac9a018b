"""Runs workflows in forked children that kill themselves (SIGKILL) at a chosen point.

One warm process per test session instead of hundreds of cold starts. Reads one JSON request per line and answers with one
line when the child and every process it started have gone. Points are counted around everything that makes a difference:
handing rows to the store, committing them, starting and finishing a command.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys

import awf.application.authoring.validation
import awf.application.running.conversation
import awf.application.running.engine
import awf.application.running.service
import awf.application.running.steps.agent
import awf.application.running.steps.command
import awf.application.running.steps.loop
import awf.application.running.steps.parallel
import awf.application.running.steps.subworkflow
import awf.infrastructure.expressions
import awf.infrastructure.stores.journal
import awf.infrastructure.stores.postgres.journal
import awf.infrastructure.stores.postgres.runs
import awf.infrastructure.stores.runs  # noqa: F401  warm
from awf.bootstrap import App
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.stores import writing
from awf.infrastructure.stores.postgres import link
from awf.infrastructure.stores.postgres.link import Link
from awf.infrastructure.stores.writing import GroupWriter

PR_SET_CHILD_SUBREAPER = 36


class Points:
    def __init__(self, kill_at: int | None) -> None:
        self.count = 0
        self.kill_at = kill_at

    def pass_one(self) -> None:
        self.count += 1
        if self.count == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


def instrument(points: Points) -> None:
    write, commit, transaction, run = (
        GroupWriter.write,
        GroupWriter.commit,
        writing._transaction,
        ProcessRunner.run,
    )

    def counted_write(self, statements, owner=""):
        points.pass_one()
        write(self, statements, owner)
        points.pass_one()

    def counted_commit(self, statements, owner=""):
        points.pass_one()
        done = commit(self, statements, owner)
        points.pass_one()
        return done

    def counted_transaction(connection, statements):
        points.pass_one()
        counts = transaction(connection, statements)
        points.pass_one()
        return counts

    async def counted_run(self, command, on_output):
        points.pass_one()
        outcome = await run(self, command, on_output)
        points.pass_one()
        return outcome

    instrument_link(points)
    GroupWriter.write = counted_write
    GroupWriter.commit = counted_commit
    writing._transaction = counted_transaction
    ProcessRunner.run = counted_run


def instrument_link(points: Points) -> None:
    """The same points on the way to PostgreSQL."""
    write, commit, transaction = Link.write, Link.commit, link._transaction

    def counted_write(self, claim, writing):
        points.pass_one()
        write(self, claim, writing)
        points.pass_one()

    def counted_commit(self, claim, writing):
        points.pass_one()
        done = commit(self, claim, writing)
        points.pass_one()
        return done

    async def counted_transaction(connection, claims, batch):
        points.pass_one()
        counts = await transaction(connection, claims, batch)
        points.pass_one()
        return counts

    Link.write, Link.commit, link._transaction = counted_write, counted_commit, counted_transaction


async def execute(request: dict, points: Points) -> dict:
    app = App(cwd=request["cwd"], environment=request["environment"])
    try:
        services = app.run_services(app.nobody(), approve_all=True)
        if request.get("run_id"):
            prepared = await app.execution.resume(request["run_id"], services)
        else:
            program = await app.execution.program(request["file"])
            prepared = await app.execution.start(
                program, app.execution.inputs(program.main, {}, services), services
            )
        outcome = await prepared.execute(lambda _stamped: None)
        error = f"{outcome.error.code}: {outcome.error.message}" if outcome.error else ""
        return {
            "status": outcome.status,
            "outputs": outcome.outputs,
            "message": outcome.message,
            "error": error,
            "points": points.count,
        }
    finally:
        await app.close()


def child(request: dict) -> None:
    points = Points(request.get("kill_at"))
    instrument(points)
    result = asyncio.run(execute(request, points))
    with open(request["result"], "w", encoding="utf-8") as stream:
        json.dump(result, stream)


def main() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for line in sys.stdin:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                child(request)
                code = 0
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        status = None
        while True:
            try:
                ended, raw = os.waitpid(-1, 0)
            except ChildProcessError:
                break
            if ended == pid:
                status = raw
        sys.stdout.write(
            json.dumps({"killed": os.WIFSIGNALED(status), "code": os.waitstatus_to_exitcode(status)}) + "\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
