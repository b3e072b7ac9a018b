"""Options that many commands share, and the application they set up."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from awf.bootstrap import App

__all__ = [
    "echo_json",
    "echo_lines",
    "input_option",
    "listing_options",
    "make_app",
    "names_in",
    "not_empty",
    "parse_inputs",
    "person_name",
    "require_text",
    "run_id_argument",
    "storage_option",
    "use_color",
]


def not_empty(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """What is left out may mean everything; a variable of a script that is not set must not."""
    from click.core import ParameterSource

    given = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    if given and "" in (value if isinstance(value, tuple) else (value,)):
        what = param.get_error_hint(ctx)
        raise click.UsageError(f"{what} is empty: leave it out, or look whether a variable is not set.")
    return value


def storage_option(function: Callable[..., Any]) -> Callable[..., Any]:
    text = "Directory of the run store [env: AWF_STORAGE]."
    return click.option("--storage", metavar="DIR", callback=not_empty, help=text)(function)


def listing_options(*formats: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """-o with the formats a command has."""
    names = formats or ("text", "json")
    return click.option(
        "-o",
        "--output",
        type=click.Choice(names),
        default="text",
        show_default=True,
        help="Form of the answer.",
    )


def input_option(function: Callable[..., Any]) -> Callable[..., Any]:
    text = "An input; @FILE takes the value from a file. Repeat for more."
    return click.option("-i", "--input", "given", multiple=True, metavar="NAME=VALUE", help=text)(function)


def names_in(written: str) -> list[str]:
    """Names by commas."""
    return [name for part in written.split(",") if (name := part.strip())]


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    del ctx, param
    from awf.domain.errors import AwfError
    from awf.domain.ports.run_store import RunFilter

    try:
        found = make_app().store.runs(RunFilter(limit=50))
    except AwfError:  # nothing is offered then; a message would only disturb the line that is being typed
        return []
    return [run.id for run in found if run.id.startswith(incomplete)]


def complete_workflow(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    del ctx, param
    return [name for name, _, _ in make_app().library.names() if name.startswith(incomplete)]


def run_id_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("run_id", metavar="RUN", shell_complete=complete_run)(function)


def workflow_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    return click.argument("workflow", shell_complete=complete_workflow)(function)


def make_app(**flags: Any) -> App:
    from awf.bootstrap import App
    from awf.domain.errors import AwfError

    try:
        cwd = os.getcwd()
    except OSError as error:
        raise AwfError(
            "USER.INPUT.MISSING_FILE",
            f"The working directory cannot be used: {error.strerror}.",
            hint="Change to a directory that exists: cd",
        ) from error
    return App(cwd=cwd, environment=os.environ, flags=flags)


def use_color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def echo_json(value: Any) -> None:
    import msgspec

    from awf.interfaces.cli.rendering.json_text import write_json

    write_json(sys.stdout, msgspec.to_builtins(value), indent=2)


def write_text(target: str, text: str) -> str:
    """Write a file in one go, or not at all; its absolute path."""
    from awf.domain.errors import AwfError

    part = f"{target}.part"
    try:
        with open(part, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(part, target)
    except OSError as error:
        raise AwfError(
            "SYSTEM.IO.WRITE_FAILED",
            f"{target} cannot be written: {error.strerror}.",
            hint="Choose another file with --to.",
        ) from error
    return os.path.abspath(target)


def echo_lines(lines: Iterable[str], *, styled: bool = False) -> None:
    """Lines for a person, in what the stream can carry; nothing in them can move the cursor, unless we styled them."""
    from awf.interfaces.cli.rendering.line_writer import LineWriter
    from awf.interfaces.cli.rendering.terminal_text import neutral

    LineWriter(sys.stdout).write(lines if styled else map(neutral, lines))


def person_name() -> str:
    """Who gives an answer. Containers run programs for users that have no name."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def parse_inputs(app: App, given: tuple[str, ...]) -> dict[str, Any]:
    """name=value pairs; a value that starts with @ is read from a file (@@ for a plain @)."""
    from awf.domain.errors import AwfError

    values: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise AwfError(
                "USER.INPUT.INVALID_FORMAT", f"'{pair}' is not NAME=VALUE.", hint="Write --input name=value."
            )
        require_text(pair, "Put other data into a file, and give its name as the input.")
        values[name.strip()] = (
            _from_file(app, value[1:])
            if value.startswith("@") and not value.startswith("@@")
            else value.removeprefix("@")
        )
    return values


def require_text(word: str, hint: str) -> None:
    """Bytes of names and command lines that are no text come as surrogates, which cannot be stored."""
    from awf.domain.errors import AwfError

    try:
        word.encode()
    except UnicodeEncodeError as error:
        raise AwfError("USER.INPUT.INVALID_FORMAT", f"'{word}' is not UTF-8 text.", hint=hint) from error


def _from_file(app: App, written: str) -> str:
    from awf.domain.errors import AwfError

    candidates = [os.path.join(app.cwd, written)]
    if written.startswith("prompts/") and ".." not in written.split("/"):
        candidates += [
            os.path.join(folder, written.removeprefix("prompts/")) for folder in app.places.prompt_dirs
        ]
    for path in candidates:
        if os.path.isfile(path):
            return app.files.read(path).strip()
    raise AwfError(
        "USER.INPUT.MISSING_FILE",
        f"There is no file {written}.",
        hint="Write @@ for a value that begins with @.",
    )
