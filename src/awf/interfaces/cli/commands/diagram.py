"""`awf diagram`."""

from __future__ import annotations

import os
import sys
from typing import Literal

import click

from awf.interfaces.cli.options import make_app, workflow_argument

_FORMATS = ("mermaid", "dot", "svg")
_ENDINGS = {".mmd": "mermaid", ".md": "mermaid", ".dot": "dot", ".gv": "dot", ".svg": "svg"}


@click.command()
@workflow_argument
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="Form of the drawing [default: by FILE's ending, else mermaid].",
)
@click.option("-O", "--to", "target", metavar="FILE", help="Write to a file.")
@click.option(
    "--direction",
    type=click.Choice(["TB", "LR"]),
    default="TB",
    show_default=True,
    help="From top to bottom, or left to right.",
)
@click.option("--highlight", metavar="STATE", help="Make one state stand out.")
def command(
    workflow: str, form: str | None, target: str | None, direction: Literal["TB", "LR"], highlight: str | None
) -> int:
    """Draw WORKFLOW. SVG opens in any browser; Mermaid goes into Markdown; DOT is for Graphviz."""
    from awf.application.authoring.diagram import graph_of, to_dot, to_mermaid, to_svg
    from awf.domain.errors import AwfError
    from awf.domain.problem import suggest

    app = make_app()
    program = app.validator.program(app.library.load(workflow))
    if highlight and highlight not in program.main.states:
        close = suggest(highlight, program.main.states)
        hint = f"did you mean '{close}'?" if close else f"States: {', '.join(program.main.states)}."
        raise AwfError("USER.RUN.UNKNOWN_STEP", f"'{highlight}' is no state of {workflow}.", hint=hint)
    chosen = form or _ENDINGS.get(os.path.splitext(target or "")[1], "mermaid")
    draw = {"mermaid": to_mermaid, "dot": to_dot, "svg": to_svg}[chosen]
    marks = {highlight: "running"} if highlight else {}
    text = draw(graph_of(program.main), direction, marks)
    if target is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return 0
    from awf.interfaces.cli.options import write_text

    write_text(target, text)
    print(target)
    return 0
