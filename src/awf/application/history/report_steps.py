"""The steps of a report, one inside the other, each with everything that is known about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.history.amounts import cost, duration, tokens
from awf.application.history.markup import Markup, element
from awf.application.history.plain_text import plain
from awf.application.history.report_blocks import anchor, facts, shown_value, sign, text_block, took, when
from awf.application.history.story import Said, StepStory, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.application.history.story import Approval, Story

__all__ = ["ANSWERS", "step_list", "text_limit"]

ANSWERS = {
    "once": "approved, once",
    "run": "approved for this run",
    "reject": "rejected",
    "timeout": "nobody answered in time",
    "": "not answered",
}
_KINDS = {"step": "command", "for_each": "loop", "while": "loop", "call_workflow": "workflow"}
_SPEAKERS = {"agent": "Agent", "person": "You", "question": "Asked"}
_TEXT_TOTAL, _TEXT_LEAST, _TEXT_MOST = 3_000_000, 700, 16_000  # characters
_SIBLINGS, _ENTRIES = 150, 300


def text_limit(story: Story) -> int:
    """How much of each text can be shown so that the whole report stays a file one can send."""
    texts = sum(2 + len(step.transcript) + 2 * len(step.earlier) for step, _ in story.walk())
    return max(_TEXT_LEAST, min(_TEXT_MOST, _TEXT_TOTAL // max(1, texts)))


def step_list(steps: Sequence[StepStory], limit: int, opened: set[str]) -> Markup:
    """`opened` are the paths that are unfolded from the start."""
    shown = _worth_showing(steps)
    items = [element("li", _step(step, limit, opened)) for step in shown]
    if len(shown) < len(steps):
        items.append(
            element("li", f"{len(steps) - len(shown):,} more that did not fail are left out.", class_="cut")
        )
    return element("ol", *items, class_="steps")


def _worth_showing(steps: Sequence[StepStory]) -> Sequence[StepStory]:
    """All of them, or of very many the first, the last and the failed ones."""
    if len(steps) <= _SIBLINGS:
        return steps
    last = len(steps) - _SIBLINGS // 3
    return [step for at, step in enumerate(steps) if at < _SIBLINGS * 2 // 3 or at >= last or step.is_failed][
        : 4 * _SIBLINGS
    ]


def _step(step: StepStory, limit: int, opened: set[str]) -> Markup:
    status = "failed handled" if step.is_failed and step.is_handled else step.status
    body = list(_body(step, limit))
    return element(
        "details",
        element("summary", *_summary(step)),
        element("div", *body, class_="body") if body else None,
        step_list(step.children, limit, opened) if step.children else None,
        id=anchor(step.number),
        class_=f"step {status}",
        open=step.path in opened,
    )


def _summary(step: StepStory) -> Iterator[str]:
    yield sign(step.status)
    yield element("b", plain(_title(step)))
    if step.kind and step.kind != "iteration":
        yield element("span", _KINDS.get(step.kind, step.kind), class_="kind")
    if step.detail:
        yield element("code", plain(step.detail), class_="detail")
    notes = [
        "handled" if step.is_failed and step.is_handled else "",
        f"exit {step.exit_code}" if step.exit_code else "",
        f"{step.attempts} attempts" if step.attempts > 1 else "",
        took(step.seconds),
    ]
    yield element("span", " · ".join(filter(None, notes)), class_="notes")


def _title(step: StepStory) -> str:
    last = step.path.rpartition("/")[2]
    return f"iteration {last[last.rindex('[') :]}" if step.kind == "iteration" else last


def _body(step: StepStory, limit: int) -> Iterator[Markup]:
    if step.description:
        yield element("p", plain(step.description))
    if step.reason:
        yield element("p", f"Skipped: {plain(step.reason)}")
    if step.error:
        yield from _error(step)
    for approval in step.approvals:
        yield element("p", *_approval(approval), class_="approval")
    known = list(_step_facts(step))
    if known:
        yield facts(known)
    yield from _attempts(step, limit)
    yield from _transcript(step, limit)
    yield from _outputs(step, limit)


def _error(step: StepStory) -> Iterator[Markup]:
    assert step.error is not None
    hint = element("span", plain(step.error.hint), class_="hint") if step.error.hint else None
    yield element(
        "p", element("code", step.error.code), " ", plain(step.error.message), " ", hint, class_="error"
    )


def _approval(approval: Approval) -> Iterator[str]:
    yield "Asked: "
    yield element("q", plain(approval.message))
    by = f" by {plain(approval.by)}" if approval.by else ""
    yield f" {ANSWERS.get(approval.outcome, approval.outcome)}{by}."


def _step_facts(step: StepStory) -> Iterator[tuple[str, str]]:
    if step.kind == "iteration":
        return
    yield "Path", element("code", plain(step.path))
    if step.started is not None:
        yield "Started", when(step.started)
    if step.exit_code is not None and step.kind in {"", "step"}:
        yield "Exit code", str(step.exit_code)
    if step.result and step.result.iterations:
        yield "Iterations", str(step.result.iterations)
    if step.usage is not None or step.kind == "agent":
        yield "Tokens", tokens(step.usage)
        yield "Cost", cost(step.usage)
    if step.isolation:
        calls = "1 call" if step.bypasses == 1 else f"{step.bypasses} calls"
        around = f"; {calls} of its own tools past the proxy" if step.bypasses else ""
        yield "Isolation", plain(f"{step.isolation}{around}")
    if step.result and step.result.session:
        yield "Session", element("code", plain(step.result.session.id))


def _attempts(step: StepStory, limit: int) -> Iterator[Markup]:
    if step.retries:
        items = [
            element(
                "li",
                element("code", retry.code),
                f" {plain(retry.message)} Attempt {retry.attempt} of {retry.of} followed after {duration(retry.delay)}.",
            )
            for retry in step.retries[-20:]
        ]
        yield element("ul", *items, class_="retries")
    for number, result in enumerate(step.earlier[-20:], start=max(1, len(step.earlier) - 19)):
        texts = [text_block(text, limit // 2) for text in (result.output, result.stderr) if text.strip()]
        summary = element("summary", f"Attempt {number}: {result.status}, exit {result.exit_code}")
        yield element("details", summary, *texts, class_="attempt")


def _transcript(step: StepStory, limit: int) -> Iterator[Markup]:
    entries = step.transcript
    if not entries:
        return
    left_out = max(0, len(entries) - _ENTRIES)
    head = entries[: _ENTRIES // 5] if left_out else entries
    tail = entries[-(_ENTRIES - len(head)) :] if left_out else []
    note = element("p", f"{left_out:,} entries left out.", class_="cut") if left_out else None
    shown = [[_entry(entry, limit) for entry in part] for part in (head, tail)]
    yield element(
        "div", *shown[0], note, *shown[1], class_="transcript", role="group", aria_label="Transcript"
    )


def _entry(entry: Said | ToolCall, limit: int) -> Markup:
    if isinstance(entry, ToolCall):
        return _tool(entry, limit)
    text = "".join(entry.parts).strip("\n")
    if entry.by == "thought":
        return element("details", element("summary", "Thought"), text_block(text, limit), class_="thought")
    speaker = element("span", _SPEAKERS.get(entry.by, entry.by), class_="speaker")
    return element("div", speaker, text_block(text, limit), class_=f"said {entry.by}")


def _tool(call: ToolCall, limit: int) -> Markup:
    state = ("failed" if call.is_error else "success") if call.is_finished else "unfinished"
    brief = element("code", _brief(call.input), class_="detail") if call.input else None
    summary = element(
        "summary",
        sign(state),
        element("b", plain(call.name)),
        element("span", _kind(call), class_="kind"),
        brief,
    )
    given = [element("p", "Input", class_="caption"), shown_value(call.input)] if call.input else []
    gave = [element("p", "Output", class_="caption"), text_block(call.output, limit)] if call.output else []
    return element("details", summary, *given, *gave, class_=f"tool {state}")


def _kind(call: ToolCall) -> str:
    spent = f", {call.milliseconds} ms" if call.milliseconds is not None else ""
    return f"tool through AWF: {plain(call.through)}{spent}" if call.through else "tool"


def _brief(given: Any) -> str:
    """The first value of a tool's input: the command, the file, the question."""
    first = next(iter(given.values()), "") if isinstance(given, dict) else given
    line = " ".join(plain(str(first)).split())
    return line if len(line) <= 80 else line[:79] + "…"


def _outputs(step: StepStory, limit: int) -> Iterator[Markup]:
    output = step.output if step.result or step.output else "".join(step.live_output)
    told = "".join(
        "".join(entry.parts) for entry in step.transcript if isinstance(entry, Said) and entry.by == "agent"
    )
    whole = f"all of it is in {step.result.output_file}" if step.result and step.result.output_file else ""
    texts = [
        ("Output", output if output.strip() not in told else "", whole),
        ("Error output", step.stderr, ""),
    ]
    for caption, text, where in reversed(texts) if step.is_failed else texts:
        if text.strip():
            yield element("p", caption, class_="caption")
            yield text_block(text, limit, whole=where)
    if step.result and step.result.truncated:
        yield element("p", f"Only a part of the output was kept here{whole and f'; {whole}'}.", class_="cut")
    if step.result and step.result.outputs:
        yield element("p", "Outputs", class_="caption")
        yield facts((name, shown_value(value)) for name, value in step.result.outputs.items())
