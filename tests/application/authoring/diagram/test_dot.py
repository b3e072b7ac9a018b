from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from awf.application.authoring.diagram.dot import to_dot
from awf.application.authoring.diagram.graph import graph_of

STRING = r'"(?:[^"\\\n]|\\.)*"'


def test_boxes_and_arrows_carry_their_style(sample):
    text = to_dot(graph_of(sample("fixing")))
    assert text.startswith('digraph "sample" {\n  rankdir=TB;\n')
    assert '"test" -> "fix" [style=dashed, ' in text
    assert '"fix" [label="fix\\nclaude", shape=hexagon' in text
    assert '"review" -> "done" [label="states.review.json.ok"];' in text
    assert "\n  rankdir=LR;" in to_dot(graph_of(sample("fixing")), "LR")


def test_groups_are_clusters_and_arrows_stop_at_their_border(sample):
    text = to_dot(graph_of(sample("looping")))
    assert text.index('subgraph "cluster_each"') < text.index('subgraph "cluster_poll"')
    assert '"list" -> "check" [lhead="cluster_each"];' in text
    assert 'ltail="cluster_each"' in text


def test_an_arrow_inside_a_group_is_not_clipped_at_that_groups_border(sample):
    (line,) = [
        line for line in to_dot(graph_of(sample("looping"))).splitlines() if "states.ask.json.skip" in line
    ]
    assert "lhead" not in line


def test_statuses_are_marked_on_boxes_and_groups(sample):
    text = to_dot(graph_of(sample("fanning")), highlight={"checks": "failed", "lint": "success"})
    assert text.count("penwidth=3") == 1
    assert text.count("penwidth=2.5") == 1


def test_texts_stay_inside_their_strings(any_workflow):
    text = to_dot(graph_of(any_workflow))
    bare = re.sub(STRING, "S", text)
    assert '"' not in bare
    assert bare.count("{") == bare.count("}")
    assert all(re.fullmatch(r"[\w\s={}\[\],;.>-]*", line) for line in bare.splitlines())


def test_labels_show_markup_as_it_was_written(sample):
    text = to_dot(graph_of(sample("nasty")))
    assert "&lt;b&gt;bold&lt;/b&gt;" in text
    assert "<b>bold" not in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_accepts_it(any_workflow):
    found = subprocess.run(
        ["dot", "-Tplain"],
        check=False,
        input=to_dot(graph_of(any_workflow)),
        capture_output=True,
        text=True,
        timeout=60,
        encoding="utf-8",
    )
    assert found.returncode == 0, found.stderr
    assert "syntax error" not in found.stderr
