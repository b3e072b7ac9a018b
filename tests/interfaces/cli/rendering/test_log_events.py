from __future__ import annotations

import io

import pytest

from awf.domain.events import event_fields, stamped_from
from awf.interfaces.cli.rendering.event_lines import render_log_event
from awf.interfaces.cli.rendering.plain_view import PlainView


@pytest.mark.parametrize("story", ["success", "failure", "approval", "cancelled", "called", "loop"])
def test_a_stored_event_is_read_back_as_it_was(story, tell):
    for stamped in tell.STORIES[story]():
        assert stamped_from(event_fields(stamped)) == stamped


@pytest.mark.parametrize("story", ["approval", "cancelled", "loop"])
def test_logs_look_like_the_run_did_in_a_pipe(story, tell):
    told = tell.STORIES[story]()
    out = io.StringIO()
    view = PlainView(out, verbose=1, color=False)
    for stamped in told:
        view.on_event(stamped)
    logged = [line for stamped in told for line in render_log_event(event_fields(stamped), verbose=1)]
    assert logged == out.getvalue().splitlines()


def test_a_piece_of_text_is_shown_as_far_as_it_goes(tell):
    fields = event_fields(tell.stamp(tell.said("fix", "one\ntwo"))[0])
    assert render_log_event(fields, verbose=1) == ["  fix: one", "  fix: two"]
    assert render_log_event(fields, verbose=0) == []


def test_a_stored_failure_shows_the_output_it_was_stored_with(tell):
    fields = event_fields(tell.stamp(tell.failed("a", output="one\n", stderr="two\n"))[0])
    assert render_log_event(fields, verbose=0)[1:] == ["  | one", "  | two"]
    assert render_log_event(fields, verbose=1)[1:] == ["  | one", "  | two"]


def test_an_event_of_a_later_version_is_named_and_nothing_more():
    fields = {"type": "step.\x1b[1mteleported", "path": "a", "run_id": "r", "seq": 1, "time": 0}
    assert render_log_event(fields, verbose=1) == ["· step.teleported  a"]
    assert render_log_event(fields, verbose=0) == []


def test_a_log_can_be_coloured(tell):
    fields = event_fields(tell.stamp(tell.completed("a"))[0])
    assert render_log_event(fields, verbose=0, color=True) == ["\x1b[32m✓\x1b[0m a     1.2s"]
