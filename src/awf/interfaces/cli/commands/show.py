"""`awf show`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

import click

from awf.interfaces.cli.options import (
    echo_json,
    echo_lines,
    listing_options,
    make_app,
    run_id_argument,
    storage_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from awf.domain.ports.run_store import RunStore, StepRow
    from awf.domain.run import RunRecord

_CHUNK = 65536


@click.command()
@run_id_argument
@click.option(
    "-s", "--step", default="", metavar="STEP", help="One step, by its path, with all of its output."
)
@click.option("--full", is_flag=True, help="Print the whole output also where it is kept in a file.")
@storage_option
@listing_options()
def command(run_id: str, step: str, full: bool, storage: str | None, output: str) -> int:
    """Show the steps of RUN and what they came to."""
    from awf.domain.errors import AwfError

    store = make_app(storage=storage).store
    run = store.find(run_id)
    rows = [
        row for row in store.steps(run.id) if "/hooks/" not in row.path and not row.path.startswith("hooks/")
    ]
    if step:
        chosen = [row for row in rows if row.path == step] or [row for row in rows if _name(row.path) == step]
        if not chosen:
            known = ", ".join(row.path for row in rows[:20]) or "none"
            raise AwfError(
                "USER.RUN.UNKNOWN_STEP", f"{run.id} has no finished step '{step}'.", hint=f"Steps: {known}"
            )
        rows = chosen
    if output == "json":
        echo_json({"run": run, "steps": [{"path": row.path, **_plain(row)} for row in rows]})
    elif step:
        for row in rows:
            _print_step(row, store, run.id, full=full)
    else:
        echo_lines(_run_lines(run, rows))
    return 0


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].split("#", 1)[0].split("@", 1)[0].split("[", 1)[0]


def _plain(row: StepRow) -> dict[str, object]:
    import msgspec

    fields: dict[str, object] = msgspec.to_builtins(row.result)
    return fields


def _run_lines(run: RunRecord, rows: list[StepRow]) -> Iterator[str]:
    from awf.interfaces.cli.rendering.figures import usage_text

    yield f"{run.id}  {run.workflow}  {run.status}"
    yield f"  file     {run.source}"
    for label, values in (("inputs", run.inputs), ("outputs", run.outputs)):
        for name, value in values.items():
            yield f"  {label:8} {name} = {value}"
    if run.usage:
        yield f"  usage    {usage_text(run.usage)}"
    if run.error:
        yield f"  error    {run.error.code}: {run.error.message}"
    width = max((len(row.path) for row in rows), default=0)
    yield from (_step_line(row, width) for row in rows)


def _step_line(row: StepRow, width: int) -> str:
    from awf.interfaces.cli.rendering.figures import duration_text

    result = row.result
    mark = {"success": "✓", "failed": "✗", "skipped": "○"}.get(result.status, "·")
    took = duration_text(int((result.finished_at - result.started_at) * 1000))
    first = (result.error.message if result.error else result.output).strip().split("\n", 1)[0]
    return f"  {mark} {row.path.ljust(width)}  {took:>7}  {first[:100]}".rstrip()


def _print_step(row: StepRow, store: RunStore, run_id: str, *, full: bool) -> None:
    result = row.result
    sys.stderr.write(f"{row.path}  {result.status}  exit {result.exit_code}\n")
    if result.error:
        sys.stderr.write(f"  {result.error.code}: {result.error.message}\n")
    for stream, text in (("stdout", result.output), ("stderr", result.stderr)):
        if full and result.truncated and _copy_file(store.output_path(run_id, row.path, stream), stream):
            continue
        if text:
            _give(text.rstrip("\n").split("\n"), stream)


def _give(lines: Iterable[str], stream: str) -> None:
    """Into a file or a pipe it goes as it is; on a terminal nothing in it may move the cursor."""
    from awf.interfaces.cli.rendering.line_writer import LineWriter
    from awf.interfaces.cli.rendering.terminal_text import neutral

    out = _stream(stream)
    LineWriter(out).write(map(neutral, lines) if out.isatty() else lines)


def _copy_file(path: str, stream: str) -> bool:
    from awf.interfaces.cli.rendering.terminal_text import neutral

    if not os.path.isfile(path):
        return False
    out = _stream(stream)
    with open(path, encoding="utf-8", errors="replace", newline="\n") as kept:
        while chunk := kept.read(_CHUNK):
            out.write(neutral(chunk) if out.isatty() else chunk)
    return True


def _stream(name: str) -> TextIO:
    return sys.stdout if name == "stdout" else sys.stderr
