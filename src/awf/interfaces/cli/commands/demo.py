"""`awf demo`."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib import resources
from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.running import options_from, run_options, run_to_the_end

if TYPE_CHECKING:
    from awf.application.running.service import Prepared
    from awf.application.running.services import RunServices

_FILES = {
    "review.yaml": ".awf/workflows/demo.yaml",
    "price.txt": "price.py",
    "test_price.txt": "test_price.py",
}


@click.command()
@click.option(
    "--dir", "folder", metavar="DIR", help="Where to put the demo project; else a new temporary folder."
)
@run_options
def command(folder: str | None, **shared: Any) -> int:
    """Run an example offline, without any key, and show what happened.

    A failing test, an agent that proposes a fix, the fix applied, the test passing, two checks side by side, a loop.
    """
    from awf.bootstrap import App
    from awf.interfaces.cli.commands.report import write_report

    options = options_from(shared)
    place = os.path.abspath(folder) if folder else tempfile.mkdtemp(prefix="awf-demo-")
    _lay_out(place)
    flags = {**options.flags, "storage": options.flags["storage"] or os.path.join(place, "runs")}
    app = App(cwd=place, environment=os.environ, flags=flags)
    started: list[str] = []

    async def prepare(services: RunServices) -> Prepared:
        program = await app.execution.program("demo")
        prepared = await app.execution.start(
            program, app.execution.inputs(program.main, {}, services), services
        )
        started.append(prepared.run_id)
        return prepared

    outcome = run_to_the_end(app, options, prepare)
    again = App(cwd=place, environment=os.environ, flags=flags)
    report = write_report(again, started[0], os.path.join(place, "report.html"))
    again.database.close()
    if options.output == "text":
        _tell(place, flags["storage"], report)
    return outcome.exit_status


def _lay_out(place: str) -> None:
    source = resources.files("awf.interfaces.cli") / "demo_project"
    for name, target in _FILES.items():
        path = os.path.join(place, target)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write((source / name).read_text(encoding="utf-8"))


def _tell(place: str, storage: str, report: str) -> None:
    awf = "awf" if shutil.which("awf") else os.path.relpath(sys.argv[0])
    click.echo("", err=True)
    click.echo(f"The project:  {place}", err=True)
    click.echo(f"The report:   {report}", err=True)
    click.echo(f"Look closer:  {awf} show last --storage {storage}", err=True)
    click.echo(f"Your own:     {awf} init && {awf} run example", err=True)
