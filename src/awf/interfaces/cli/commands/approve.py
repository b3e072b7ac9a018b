"""`awf approve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from awf.interfaces.cli.options import (
    echo_json,
    echo_lines,
    listing_options,
    make_app,
    not_empty,
    person_name,
    run_id_argument,
    storage_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.ports.run_store import OpenQuestion

_SAID = {"reject": "denied", "run": "approved for this run", "once": "approved"}


@click.command()
@run_id_argument
@click.argument("step", required=False, default="", callback=not_empty)
@click.option("--deny", "outcome", flag_value="reject", help="Say no.")
@click.option("--for-run", "outcome", flag_value="run", help="Say yes for the rest of the run.")
@click.option("--once", "outcome", flag_value="once", default=True, help="Say yes this once (default).")
@click.option("--text", help="The next line of a conversation; /end finishes it.")
@storage_option
@listing_options()
def command(run_id: str, step: str, outcome: str, text: str | None, storage: str | None, output: str) -> int:
    """Answer what RUN is waiting for; STEP (or the id of a question) tells which, when there are several."""
    from awf.domain.errors import AwfError
    from awf.domain.plain_sight import spelled_out
    from awf.domain.ports.durability import Message

    store = make_app(storage=storage).store
    run = store.find(run_id)
    question = _choose(store.questions(run.id), step, run.id)
    if question.kind == "input" and text is None:
        raise AwfError(
            "USER.INPUT.USAGE",
            f"'{question.step}' waits for a line of conversation.",
            hint=f'awf approve {run.id} {question.step} --text "…"',
        )
    payload = {"text": text} if question.kind == "input" else {"outcome": outcome}
    if not store.tell(run.id, question.topic, Message(payload, person_name())):
        raise AwfError(
            "USER.RUN.NOTHING_WAITING",
            f"'{question.step}' has been answered already.",
            hint=f"awf status {run.id}",
        )
    if output == "json":
        asked = {"id": question.topic, "message": question.message}
        echo_json(
            {"run_id": run.id, "step": question.step, "path": question.path, **payload, "question": asked}
        )
    else:
        print(f"{question.path}: {text if question.kind == 'input' else _SAID[outcome]}")
        if question.kind == "approval" and question.message:
            echo_lines([f"  {spelled_out(question.message)}"])  # so that nobody takes it for another one
    if not store.goes_on(run.id):
        click.echo(f"The run is not running now; continue it with  awf resume {run.id}", err=True)
    return 0


def _choose(questions: Sequence[OpenQuestion], step: str, run_id: str) -> OpenQuestion:
    from awf.domain.errors import AwfError

    found = [one for one in questions if not step or step in {one.step, one.path, one.topic}]
    if not found:
        raise AwfError(
            "USER.RUN.NOTHING_WAITING",
            f"{run_id} is not waiting for {f'an answer about {step!r}' if step else 'anything'}.",
            hint=f"awf status {run_id}",
        )
    if len(found) > 1:
        names = [_name(one, found) for one in found]
        raise AwfError(
            "USER.INPUT.USAGE",
            f"{run_id} is waiting for several answers: {', '.join(names)}.",
            hint=f"awf approve {run_id} {names[0]}    (awf status {run_id} -o json tells what each is about)",
        )
    return found[0]


def _name(question: OpenQuestion, among: Sequence[OpenQuestion]) -> str:
    """An agent may make several calls at once, all in one step."""
    alone = [one.path for one in among].count(question.path) == 1
    return question.path if alone else question.topic
