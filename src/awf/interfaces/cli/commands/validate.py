"""`awf validate`."""

from __future__ import annotations

import sys

import click

from awf.domain.problem import Place, Problem
from awf.interfaces.cli.options import complete_workflow, echo_json, listing_options, make_app, use_color


@click.command()
@click.argument("workflows", nargs=-1, metavar="[WORKFLOW]...", shell_complete=complete_workflow)
@click.option("--skip-plugins", is_flag=True, help="Do not start plugins to ask what they offer.")
@listing_options("text", "json", "quiet")
def command(workflows: tuple[str, ...], skip_plugins: bool, output: str) -> int:
    """Check workflows: by name, by path, or all that are found here.

    Every mistake is reported at once, with its place and what to do. Nothing is started but the plugins that a
    workflow names, and those that check workflows themselves.
    """
    from awf.domain.errors import AwfError

    app = make_app()
    names = list(workflows) or [file for _, file, _ in app.library.names()]
    if not names:
        raise AwfError(
            "USER.INPUT.MISSING_FILE", "There is no workflow here.", hint="`awf init` writes a first one."
        )
    problems: list[Problem] = []
    for name in names:
        try:
            loaded = app.library.load(name)
            problems += app.validator.problems(loaded, None if skip_plugins else app.plugin_facts(loaded))
        except AwfError as error:
            problems.append(
                Problem(code=error.code, message=error.message, hint=error.hint, place=Place(name))
            )
    return _tell(list(dict.fromkeys(problems)), len(names), output)


def _tell(problems: list[Problem], count: int, output: str) -> int:
    from awf.domain.errors import exit_status

    errors = [problem for problem in problems if problem.severity == "error"]
    if output == "json":
        from awf.interfaces.cli.rendering.problems import problems_document

        echo_json(problems_document(problems))
    elif problems:
        from awf.interfaces.cli.rendering.line_writer import LineWriter
        from awf.interfaces.cli.rendering.problems import problem_lines

        stream = sys.stdout if output == "text" else sys.stderr
        LineWriter(stream).write(problem_lines(problems, color=use_color()))
    elif output == "text":
        print(f"{count} workflow{'s are' if count != 1 else ' is'} valid.")
    if not errors:
        return 0
    return 2 if any(p.code.startswith("WORKFLOW") for p in errors) else exit_status(errors[0].code)
