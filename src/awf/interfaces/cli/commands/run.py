"""`awf run`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.options import input_option, make_app, parse_inputs, require_text, workflow_argument
from awf.interfaces.cli.running import RunOptions, options_from, run_options, run_to_the_end
from awf.interfaces.cli.submitting import submission_from, submit, submit_options

if TYPE_CHECKING:
    from awf.application.running.service import Prepared
    from awf.application.running.services import RunServices
    from awf.bootstrap import App
    from awf.domain.workflow import Input, Workflow


@click.command()
@workflow_argument
@input_option
@click.option("--dry-run", is_flag=True, help="Show the plan and stop; the same as `awf plan`.")
@submit_options
@run_options
def command(workflow: str, given: tuple[str, ...], dry_run: bool, **shared: Any) -> int:
    """Run WORKFLOW, by its name or by the path of its file.

    The live view goes to standard error, the workflow's answer to standard output.
    """
    options, submission = options_from(shared), submission_from(shared)
    app = make_app(**options.flags)
    if dry_run:
        from awf.interfaces.cli.commands.plan import show_plan

        return show_plan(app, workflow, given, "json" if options.output in {"json", "ndjson"} else "text")
    program = app.program(workflow)
    for path in (app.cwd, program.definition.root):
        require_text(path, "Rename the file or its folder.")
    values = parse_inputs(app, given)
    _ask_missing(program.main, values, app, options)

    async def prepare(services: RunServices) -> Prepared:
        return await app.execution.start(
            program, app.execution.inputs(program.main, values, services), services
        )

    if submission.wanted:
        return submit(app, options, submission, prepare)
    return run_to_the_end(app, options, prepare).exit_status


def _ask_missing(workflow: Workflow, values: dict[str, Any], app: App, options: RunOptions) -> None:
    """At a terminal, ask for required inputs that were not given."""
    if options.no_input or options.output != "text" or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    known = {**app.settings.inputs.value, **values}
    for item in workflow.inputs:
        if item.required and item.default is None and not known.get(item.name):
            values[item.name] = _ask(item)


def _ask(item: Input) -> Any:
    choices = item.enum or (item.validation.enum if item.validation else None)
    kind = click.Choice([str(choice) for choice in choices]) if choices else None
    text = item.description or item.name
    return click.prompt(text, type=kind, err=True, hide_input=item.secret)
