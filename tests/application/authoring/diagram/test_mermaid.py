from __future__ import annotations

import re

import pytest

from awf.application.authoring.diagram.graph import graph_of
from awf.application.authoring.diagram.mermaid import to_mermaid


def test_a_small_workflow_reads_like_this(sample):
    assert to_mermaid(graph_of(sample("linear"))) == (
        "flowchart TB\n"
        '  s_start((" ")):::start\n'
        '  s_build["build<br/>#36; make all"]:::step\n'
        '  s_test["test<br/>#36; make test<br/>4 attempts"]:::step\n'
        '  s_done(["done<br/>Ready"]):::success\n'
        "  s_start --> s_build\n"
        "  s_build --> s_test\n"
        "  s_test --> s_done\n"
        "  classDef start fill:#57606a,stroke:#57606a,color:#57606a\n"
        "  classDef step fill:#f4f5f7,stroke:#6b7280,color:#1f2430\n"
        "  classDef success fill:#e2f5e6,stroke:#2b8a45,color:#0e3a1c\n"
    )


def test_failures_are_dashed_and_red_and_conditions_are_on_their_arrows(sample):
    text = to_mermaid(graph_of(sample("fixing")))
    assert "s_test -.-> s_fix" in text
    assert 's_review -->|"states.review.json.ok"| s_done' in text
    arrows = [line for line in text.splitlines() if re.search(r" -->| -\.->", line)]
    dashed = ",".join(str(number) for number, line in enumerate(arrows) if "-.->" in line)
    assert f"linkStyle {dashed} stroke:" in text


def test_groups_are_subgraphs_inside_each_other(sample):
    lines = [line.strip() for line in to_mermaid(graph_of(sample("looping"))).splitlines()]
    each, poll = (
        next(at for at, line in enumerate(lines) if line.startswith(f"subgraph s_{name} "))
        for name in ("each", "poll")
    )
    ask, report = (
        next(at for at, line in enumerate(lines) if line.startswith(f"s_{name}"))
        for name in ("ask", "report")
    )
    ends = [at for at, line in enumerate(lines) if line == "end"]
    assert each < poll < ask < ends[0] < report < ends[1]


def test_an_arrow_between_a_group_and_its_own_member_gets_a_box_to_end_in(sample):
    text = to_mermaid(graph_of(sample("looping")))
    assert 's_poll__again(["poll"])' in text
    assert 's_ask -->|"states.ask.json.skip"| s_poll__again' in text


def test_names_are_safe_and_never_the_same(any_workflow):
    graph = graph_of(any_workflow)
    text = to_mermaid(graph)
    names = re.findall(r"^ *(?:subgraph )?(s_\w*)(?= \[|\(|\[|\{|>)", text, re.MULTILINE)
    assert len(set(names)) == len(names) >= len(graph.nodes)
    assert all(re.fullmatch(r"s_[A-Za-z0-9_]*", name) for name in names)


def test_no_text_of_a_workflow_can_leave_its_label(any_workflow):
    for line in to_mermaid(graph_of(any_workflow)).splitlines():
        assert line.count('"') in (0, 2)
        for label in re.findall('"([^"]*)"', line):
            bare = re.sub(r"#\d+;", "", label.replace("<br/>", ""))
            assert not set(bare) & set('"<>&`#$%{}|;\\\n\x00'), label


def test_labels_that_look_like_lists_are_not_taken_for_markdown(made):
    from awf.domain.workflow import TerminalState

    text = to_mermaid(graph_of(made("1. one", **{"1. one": TerminalState(), "- two": TerminalState()})))
    assert '"#49;. one"' in text
    assert '"#45; two"' in text


def test_the_direction_and_how_a_run_went_can_be_given(sample):
    text = to_mermaid(
        graph_of(sample("linear")), "LR", {"build": "success", "test": "failed", "other": "success"}
    )
    assert text.startswith("flowchart LR\n")
    assert "class s_build was_success" in text
    assert "class s_test was_failed" in text


@pytest.mark.parametrize("status", ["success", "failed", "skipped", "cancelled", "running", "waiting"])
def test_every_status_has_its_look(sample, status):
    assert f"classDef was_{status} " in to_mermaid(graph_of(sample("linear")), highlight={"build": status})
