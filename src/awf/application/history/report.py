"""One run as one HTML file: it opens anywhere, needs nothing from outside, and its first screen says why it stopped."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

from awf.application.history.markup import Markup, element, joined
from awf.application.history.plain_text import plain
from awf.application.history.report_blocks import anchor, facts, shown_value, sign, took, when
from awf.application.history.report_steps import ANSWERS, step_list, text_limit
from awf.application.history.report_style import SCRIPT, STYLE
from awf.application.history.report_timeline import timeline
from awf.application.history.report_verdict import verdict
from awf.application.history.telling import tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from awf.application.history.story import Approval, Note, StepStory, Story
    from awf.domain.ports.run_store import OpenQuestion, StepRow, StoredEvent
    from awf.domain.run import RunRecord

__all__ = ["render_report"]

_NOTES = 200


def render_report(
    run: RunRecord,
    steps: Sequence[StepRow],
    events: Sequence[StoredEvent],
    *,
    diagram_svg: str = "",
    questions: Sequence[OpenQuestion] = (),
) -> str:
    """`diagram_svg` must be markup that we drew ourselves; everything else is treated as plain text."""
    story = tell(steps, events, is_running=run.status in {"running", "waiting"})
    sections = dict(_sections(run, story, diagram_svg))
    title = f"{plain(run.workflow)} {run.status}: run {run.id}"
    page = element(
        "html",
        element("head", *_head(title)),
        element(
            "body",
            element("a", "Skip to the steps", href="#steps", class_="skip"),
            verdict(run, story, questions),
            _contents(sections),
            element("main", *(_section(name, content) for name, content in sections.items())),
            _footer(run, story, len(events)),
            element("script", Markup(SCRIPT)),
        ),
        lang="en",
    )
    return f"<!DOCTYPE html>\n{page}\n"


def _head(title: str) -> Iterator[Markup]:
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    yield element("meta", charset="utf-8")
    yield element("meta", http_equiv="Content-Security-Policy", content=policy)
    yield element("meta", name="viewport", content="width=device-width, initial-scale=1")
    yield element("meta", name="color-scheme", content="light dark")
    yield element("title", title)
    yield element("style", Markup(STYLE))


def _sections(run: RunRecord, story: Story, diagram_svg: str) -> Iterator[tuple[str, Markup]]:
    bars = timeline(story, run.started_at, run.finished_at)
    if bars is not None:
        yield "Timeline", bars
    if story.steps:
        yield "Steps", step_list(story.steps, text_limit(story), _opened(story))
    if story.approvals:
        yield "Approvals", _approvals(story)
    if run.inputs or run.outputs:
        yield "Inputs and outputs", joined(_values("Inputs", run.inputs), _values("Outputs", run.outputs))
    if story.notes:
        yield "Messages", _notes(story.notes)
    if diagram_svg:
        drawn = diagram_svg[max(0, diagram_svg.find("<svg")) :]
        yield "Diagram", element("div", Markup(drawn), class_="diagram", tabindex="0")


def _opened(story: Story) -> set[str]:
    """Failures unfold by themselves, with everything around them."""
    opened: set[str] = set()
    blamed = story.blamed()

    def visit(step: StepStory) -> bool:
        inside = [visit(child) for child in step.children]
        wanted = (
            any(inside) or step is blamed or (step.is_failed and not step.is_handled and not step.children)
        )
        if wanted:
            opened.add(step.path)
        return wanted

    for step in story.steps:
        visit(step)
    return opened


def _section(name: str, content: Markup) -> Markup:
    return element("section", element("h2", name), content, id=_id(name))


def _contents(sections: Mapping[str, Markup]) -> Markup:
    links = [element("a", name, href=f"#{_id(name)}") for name in sections]
    return element("nav", *links, aria_label="Contents")


def _id(name: str) -> str:
    return name.lower().replace(" ", "-")


def _values(name: str, values: Mapping[str, Any]) -> Markup | None:
    if not values:
        return None
    pairs = ((plain(key), shown_value(value)) for key, value in values.items())
    return joined(element("h3", name), facts(pairs))


def _approvals(story: Story) -> Markup:
    numbers = {step.path: step.number for step, _ in story.walk()}
    heads = element(
        "tr",
        *(element("th", name, scope="col") for name in ("Step", "Question", "Answer", "By", "Asked", "Took")),
    )
    rows = [_approval_row(approval, numbers) for approval in story.approvals]
    table = element("table", element("thead", heads), element("tbody", *rows))
    return element("div", table, class_="wide", tabindex="0")


def _approval_row(approval: Approval, numbers: Mapping[str, int]) -> Markup:
    asked, answered = approval.asked_at, approval.answered_at
    given = {"once": "success", "run": "success", "reject": "failed", "timeout": "cancelled"}
    cells = (
        element("a", plain(approval.path), href=f"#{anchor(numbers[approval.path])}"),
        plain(approval.message),
        joined(
            sign(given.get(approval.outcome, "waiting"), spoken=False),
            " ",
            ANSWERS.get(approval.outcome, approval.outcome),
        ),
        plain(approval.by),
        when(asked),
        took(answered - asked if asked is not None and answered is not None else None),
    )
    return element("tr", *(element("td", cell) for cell in cells))


def _notes(notes: Sequence[Note]) -> Markup:
    items = [
        element("li", *_note(note), class_="warning" if note.is_warning else None) for note in notes[:_NOTES]
    ]
    if len(notes) > _NOTES:
        items.append(element("li", f"{len(notes) - _NOTES:,} more are left out.", class_="cut"))
    return element("ul", *items, class_="notes")


def _note(note: Note) -> Iterator[str]:
    yield when(note.at)
    if note.is_warning:
        yield element("strong", " warning")
    if note.path:
        yield joined(" ", element("code", plain(note.path)))
    yield f" {plain(note.message)}"
    if note.code:
        yield joined(" ", element("code", note.code))


def _footer(run: RunRecord, story: Story, count: int) -> Markup:
    kinds = ", ".join(f"{kind} {number:,}" for kind, number in sorted(story.counts.items()))
    told = (
        element("details", element("summary", f"{count:,} events"), element("p", kinds))
        if kinds
        else element("p", "No events.")
    )
    raw = element("p", "All of them: ", element("code", f"awf logs {run.id} -o ndjson"))
    return element(
        "footer", told, raw, element("p", "Written by awf. This file needs no connection to anything.")
    )
