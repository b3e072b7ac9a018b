"""The first screen of a report: what happened, why it stopped, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.history.amounts import cost, duration, tokens
from awf.application.history.markup import Markup, element, joined
from awf.application.history.plain_text import plain
from awf.application.history.report_blocks import Command, anchor, command_list, facts, sign, text_block, when
from awf.application.history.step_path import name_of
from awf.domain.catalogue import CATALOGUE
from awf.domain.run import add_usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.application.history.story import StepStory, Story
    from awf.domain.ports.run_store import OpenQuestion
    from awf.domain.run import ErrorInfo, RunRecord, Usage

__all__ = ["verdict"]

_WORDS = {
    "completed": "Completed",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "interrupted": "Interrupted",
    "waiting": "Waiting for you",
    "running": "Still running",
    "queued": "Waiting for a worker",
}
_LAST_WORDS = 1_800  # characters of a failed step's output


def verdict(run: RunRecord, story: Story, questions: Sequence[OpenQuestion]) -> Markup:
    return element(
        "header",
        element(
            "p",
            sign(run.status, spoken=False),
            element("strong", _WORDS.get(run.status, run.status)),
            class_="badge",
        ),
        element("h1", plain(run.workflow)),
        *_reason(run, story, questions),
        element("h2", "What to type next"),
        command_list(_next(run, story, questions)),
        facts(_facts(run, story)),
        class_=f"verdict {run.status}",
        id="top",
    )


def _reason(run: RunRecord, story: Story, questions: Sequence[OpenQuestion]) -> Iterator[Markup]:
    error = run.error
    if error is not None and run.status != "completed":
        yield from _failure(error, story.blamed())
    elif run.status == "completed":
        yield element(
            "p",
            plain(str(story.ending.get("message") or "")) or "Every step it took is done.",
            class_="reason",
        )
    elif run.status == "cancelled":
        reason = plain(str(story.ending.get("reason") or ""))
        yield element("p", f"It was cancelled{f': {reason}' if reason else '.'}", class_="reason")
    elif run.status == "interrupted":
        yield element("p", "The process that ran it is gone. Finished steps are safe.", class_="reason")
    for question in questions:
        yield element(
            "p",
            f"{question.path} asks: ",
            element("q", plain(question.message)),
            " (since ",
            when(question.asked_at),
            ")",
            class_="reason question",
        )
    if run.status in {"queued", "running", "waiting", "interrupted"}:
        yield from _where(story)


def _failure(error: ErrorInfo, blamed: StepStory | None) -> Iterator[Markup]:
    yield element("p", plain(error.message), class_="reason")
    parts: list[str] = [element("code", error.code)]
    entry = CATALOGUE.get(error.code)
    parts += [f" {entry.title}. "] if entry else [" "]
    if error.hint:
        parts.append(element("span", plain(error.hint), class_="hint"))
    yield element("p", *parts, class_="code")
    if blamed is None:
        if error.state:
            yield element("p", "In ", element("b", plain(error.state)))
        return
    own = blamed.error.message if blamed.error and blamed.error.message != error.message else ""
    yield element("p", "It began in ", _link(blamed), f": {plain(own)}" if own else "", class_="where")
    last_words = blamed.stderr.strip() or blamed.output.strip()
    if last_words:
        yield text_block(last_words[-_LAST_WORDS:].lstrip(), _LAST_WORDS)


def _where(story: Story) -> Iterator[Markup]:
    open_steps = [
        step for step, _ in story.walk() if step.status in {"running", "unfinished"} and not step.children
    ]
    if open_steps:
        links: list[str] = []
        for step in open_steps[:8]:
            links += [", " if links else "", _link(step)]
        yield element(
            "p", "It was at " if open_steps[0].status == "unfinished" else "It is at ", *links, class_="where"
        )


def _link(step: StepStory) -> Markup:
    return element("a", plain(step.path), href=f"#{anchor(step.number)}")


def _next(run: RunRecord, story: Story, questions: Sequence[OpenQuestion]) -> Iterator[Command]:
    for question in questions:
        asked = ("awf", "approve", run.id, question.path)
        if question.kind == "input":
            yield Command((*asked, "--text", "…"), "answer it")
        else:
            yield Command(asked, "say yes, once")
            yield Command((*asked, "--deny"), "say no")
    blamed = story.blamed() if run.status == "failed" else None
    if blamed is not None:
        yield Command(("awf", "show", run.id, "--step", blamed.path), "see all that the step printed")
    if run.error is not None and run.error.code in CATALOGUE:
        yield Command(("awf", "explain", run.error.code), "read what the error means")
    if run.status in {"failed", "cancelled", "interrupted"}:
        yield Command(("awf", "resume", run.id), "go on from where it stopped")
    if blamed is not None:
        start = name_of(blamed.path.split("/", maxsplit=1)[0])
        yield Command(("awf", "rerun", run.id, "--from", start), "start a new run from this state")
    if run.status in {"queued", "running", "waiting"}:
        yield Command(("awf", "logs", "-f", run.id), "watch it")
        yield Command(("awf", "cancel", run.id), "stop it")
    if run.status == "completed":
        yield Command(("awf", "show", run.id), "see its steps in the terminal")
        yield Command(("awf", "rerun", run.id), "do it all again in a new run")


def _facts(run: RunRecord, story: Story) -> Iterator[tuple[str, str]]:
    yield "Run", element("code", run.id)
    yield "Started", when(run.started_at)
    yield "Took", _duration(run, story)
    steps = [step for step, _ in story.walk() if step.kind != "iteration"]
    failed = sum(step.is_failed for step in steps)
    yield "Steps", f"{len(steps)}" + (f", {failed} failed" if failed else "")
    yield from _spent(run, steps)
    if run.exit_status is not None:
        yield "Exit status", str(run.exit_status)
    if story.resumed:
        yield "Resumed", f"{story.resumed} time{'s' if story.resumed > 1 else ''}"
    if run.parent:
        yield "Started again from", element("code", run.parent)
    yield "Workflow file", element("code", plain(run.source) or "unknown")


def _duration(run: RunRecord, story: Story) -> str:
    if run.finished_at is not None:
        return duration(run.finished_at - run.started_at)
    return "unknown" if story.last_event is None else f"{duration(story.last_event - run.started_at)} so far"


def _spent(run: RunRecord, steps: Sequence[StepStory]) -> Iterator[tuple[str, str]]:
    """What agents used. A run without agents has nothing to tell."""
    usage: Usage | None = run.usage
    for step in steps if usage is None else ():
        usage = add_usage(usage, step.usage)
    if usage is None and not any(step.kind == "agent" or step.transcript for step in steps):
        yield "Agents", "none"
        return
    yield "Tokens", joined(tokens(usage))
    yield "Cost", joined(cost(usage))
