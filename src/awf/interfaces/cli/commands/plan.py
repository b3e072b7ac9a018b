"""`awf plan`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.options import (
    input_option,
    listing_options,
    make_app,
    parse_inputs,
    use_color,
    workflow_argument,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from awf.application.running.plan_values import Plan
    from awf.bootstrap import App

__all__ = ["command", "show_plan"]


@click.command()
@workflow_argument
@input_option
@listing_options()
def command(workflow: str, given: tuple[str, ...], output: str) -> int:
    """Show what a run of WORKFLOW would do: inputs, order, commands, prompts, approvals.

    Nothing is run and nothing is written. What an earlier step must give first is shown in angle quotation marks.
    """
    return show_plan(make_app(), workflow, given, output)


def show_plan(app: App, workflow: str, given: tuple[str, ...], output: str) -> int:
    """Print the plan to standard output. An invalid workflow or a wrong input raises."""
    plan = _plan(app, workflow, parse_inputs(app, given))
    if output == "json":
        import msgspec

        from awf.interfaces.cli.rendering.json_text import write_json

        write_json(sys.stdout, msgspec.to_builtins(plan), indent=2)
    else:
        from awf.interfaces.cli.rendering.plan_lines import plan_lines

        _write(plan_lines(plan, color=use_color()))
    return 0


def _plan(app: App, workflow: str, given: dict[str, Any]) -> Plan:
    from awf.application.running.plan import PlanServices, make_plan

    # Not through `app.execution`, which would load the engine: a plan runs nothing.
    program = app.program(workflow)
    names = {item.name for item in program.main.inputs}
    defaults = {name: value for name, value in app.settings.inputs.value.items() if name in names}
    services = PlanServices(
        expressions=app.expressions,
        files=app.files,
        providers=app.providers,
        environment=app.environment,
        places=app._template_places(),  # noqa: SLF001
        surroundings=app._surroundings(),  # noqa: SLF001
        cwd=app.cwd,
    )
    return make_plan(program, {**defaults, **given}, services)


def _write(lines: Iterable[str]) -> None:
    from awf.interfaces.cli.rendering.line_writer import LineWriter, can_carry
    from awf.interfaces.cli.rendering.plan_lines import PLAN_ASCII_FORMS

    poor = not can_carry(sys.stdout.encoding)
    LineWriter(sys.stdout).write(one.translate(PLAN_ASCII_FORMS) if poor else one for one in lines)
