"""The same runs in every view, word for word. After a change that is meant: AWF_WRITE_GOLDEN=1, then read the diff."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from awf.interfaces.cli.rendering.json_summary import JsonSummary
from awf.interfaces.cli.rendering.model import RunModel
from awf.interfaces.cli.rendering.ndjson_view import NdjsonView
from awf.interfaces.cli.rendering.plain_view import PlainView
from awf.interfaces.cli.rendering.quiet_view import QuietView
from awf.interfaces.cli.rendering.status import status_lines
from awf.interfaces.cli.rendering.tree_view import TreeView

GOLDEN = Path(__file__).parent / "golden"
STORIES = ("success", "failure", "approval", "cancelled", "called", "loop")


def show(view, out, told):
    for stamped in told:
        view.on_event(stamped)
    view.close()
    return out.getvalue()


def plain(told, terminal):
    out = io.StringIO()
    return show(PlainView(out, verbose=0, color=False), out, told)


def verbose(told, terminal):
    out = io.StringIO()
    return show(PlainView(out, verbose=2, color=False), out, told)


def quiet(told, terminal):
    out, err = io.StringIO(), io.StringIO()
    return f"[out]\n{show(QuietView(out, err), out, told)}[err]\n{err.getvalue()}"


def ndjson(told, terminal):
    out = io.StringIO()
    return show(NdjsonView(out), out, told)


def json(told, terminal):
    out = io.StringIO()
    return show(JsonSummary(out), out, told)


def tree(told, terminal):
    view = TreeView(terminal.console, auto_refresh=False, clock=lambda: 1010.0)
    for stamped in told:
        view.on_event(stamped)
        view.refresh()
    view.close()
    return terminal.screen()


def status(told, terminal):
    model = RunModel(tail=20)
    for stamped in told:
        model.apply(stamped)
    return "\n".join(status_lines(model, now=1010.0)) + "\n"


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize(
    "render", [plain, verbose, tree, quiet, ndjson, json, status], ids=lambda f: f.__name__
)
def test_a_run_looks_the_same_every_time(story, render, terminal, tell):
    text = render(tell.STORIES[story](), terminal)
    golden = GOLDEN / f"{story}.{render.__name__}.txt"
    if os.environ.get("AWF_WRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
