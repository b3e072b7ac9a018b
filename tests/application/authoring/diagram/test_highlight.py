from __future__ import annotations

from awf.application.authoring.diagram.graph import graph_of
from awf.application.authoring.diagram.highlight import highlight_of
from awf.domain.ports.run_store import StepRow
from awf.domain.run import StepResult


def row(path, status, at):
    return StepRow(path, StepResult(status=status, finished_at=at))


def test_a_state_shows_how_it_came_out_the_last_time(sample):
    rows = [row("test#2", "success", 3.0), row("test", "failed", 1.0), row("fix", "success", 2.0)]
    assert highlight_of(graph_of(sample("fixing")), rows) == {"test": "success", "fix": "success"}


def test_branches_and_iterations_count_for_their_states(sample):
    graph = graph_of(sample("looping"))
    rows = [
        row("each[0]/check", "success", 1.0),
        row("each[1]/poll[0]/ask", "failed", 2.0),
        row("each", "failed", 3.0),
    ]
    assert highlight_of(graph, rows) == {"check": "success", "ask": "failed", "each": "failed"}


def test_steps_of_a_called_workflow_are_not_taken_for_states_of_this_one(sample):
    rows = [
        row("merge/lint", "failed", 1.0),
        row("merge/unknown", "failed", 1.0),
        row("merge", "failed", 2.0),
    ]
    assert highlight_of(graph_of(sample("fanning")), rows) == {"merge": "failed"}


def test_a_later_attempt_counts_for_its_state_and_hooks_do_not_count(sample):
    rows = [
        row("test", "failed", 1.0),
        row("test@2", "success", 2.0),
        row("test/hooks/post/0", "failed", 3.0),
    ]
    assert highlight_of(graph_of(sample("fixing")), rows) == {"test": "success"}
