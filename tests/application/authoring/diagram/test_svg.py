from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from awf.application.authoring.diagram.graph import graph_of
from awf.application.authoring.diagram.svg import to_svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(graph, *arguments):
    return ET.fromstring(to_svg(graph, *arguments))


def texts(root):
    return ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_it_is_well_formed_and_needs_nothing_from_outside(any_workflow, direction):
    text = to_svg(graph_of(any_workflow), direction)
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-label")
    own = re.sub(r">[^<]*<", "><", text.replace('xmlns="http://www.w3.org/2000/svg"', ""))
    assert not re.search(r"href=|src=|@import|https?://|<script|<image|<foreignObject", own)


def test_every_state_is_named_and_its_description_is_a_tooltip(sample):
    root = drawn(graph_of(sample("linear")))
    assert {"build", "test", "done", "$ make all", "4 attempts"} <= set(texts(root))
    tooltips = [title.text for title in root.iter(f"{SVG}title")]
    assert "build\n$ make all\nCompile everything" in tooltips


def test_a_group_is_a_rounded_frame_with_its_title(sample):
    root = drawn(graph_of(sample("fanning")))
    (group,) = [g for g in root.iter(f"{SVG}g") if (g.get("class") or "").startswith("group parallel")]
    assert float(group.find(f"{SVG}rect").get("rx")) > 0
    assert "checks" in texts(root)


def test_every_arrowhead_used_is_defined_once(any_workflow):
    root = drawn(graph_of(any_workflow))
    defined = [marker.get("id") for marker in root.iter(f"{SVG}marker")]
    used = {path.get("marker-end") for path in root.iter(f"{SVG}path")} - {None}
    assert len(defined) == len(set(defined))
    assert used
    assert used <= {f"url(#{name})" for name in defined}


def test_failures_are_dashed(sample):
    text = to_svg(graph_of(sample("fixing")))
    assert 'class="arrow failure"' in text
    assert re.search(r"\.arrow\.failure \{[^}]*stroke-dasharray", text)


def test_a_condition_too_long_for_the_picture_is_whole_in_its_tooltip(made):
    from awf.domain.workflow import CommandState, TerminalState, Transition

    condition = "states.a.exit_code == 0 && " * 8 + "true"
    root = drawn(
        graph_of(
            made(
                "a",
                a=CommandState(command="x", transitions=[Transition(when=condition, goto="b")]),
                b=TerminalState(),
            )
        )
    )
    (label,) = [text for text in root.iter(f"{SVG}text") if (text.get("class") or "").startswith("label")]
    assert label.find(f"{SVG}title").text == condition
    assert label.find(f"{SVG}title").tail.endswith("…")


def test_texts_are_shown_as_written(sample):
    text = to_svg(graph_of(sample("nasty")))
    assert "<script" not in text
    assert "<b>" not in text
    root = ET.fromstring(text)
    assert 'na"sty </svg><b> & �' in root.find(f"{SVG}title").text


def test_how_a_run_went_is_shown_by_sign_and_not_by_colour_alone(sample):
    graph = graph_of(sample("fanning"))
    root = drawn(
        graph, "TB", {"checks": "failed", "lint": "success", "docs": "skipped", "unit": "no such status"}
    )
    signs = {
        g.get("class"): "".join(g.itertext())
        for g in root.iter(f"{SVG}g")
        if "sign" in (g.get("class") or "")
    }
    assert signs == {"sign was-failed": "✕", "sign was-success": "✓", "sign was-skipped": "»"}


def test_it_follows_the_readers_light_or_dark_setting(sample):
    assert "prefers-color-scheme: dark" in to_svg(graph_of(sample("linear")))


def test_every_colour_used_is_defined_for_light_and_for_dark(sample):
    text = to_svg(graph_of(sample("linear")))
    light, dark = re.findall(r"\.awf-diagram \{(.*?)\}", text, re.DOTALL)
    names = set(re.findall(r"var\((--[\w-]+)\)", text))
    assert names <= set(re.findall(r"(--[\w-]+):", light))
    assert names <= set(re.findall(r"(--[\w-]+):", dark))


def test_the_same_workflow_gives_the_same_bytes(any_workflow):
    assert to_svg(graph_of(any_workflow)) == to_svg(graph_of(any_workflow))
