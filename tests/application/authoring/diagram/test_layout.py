from __future__ import annotations

import itertools

import pytest

from awf.application.authoring.diagram.graph import graph_of
from awf.application.authoring.diagram.layout import layout

DIRECTIONS = ["TB", "LR"]
NEAR = 0.2  # pixels


def points(path, steps=12):
    """Points along a path, close to each other."""
    at = path.start
    yield at
    for piece in path.pieces:
        for step in range(1, steps + 1):
            t = step / steps
            if len(piece) == 1:
                yield (at[0] + (piece[0].x - at[0]) * t, at[1] + (piece[0].y - at[1]) * t)
                continue
            a, b, c = (1 - t) ** 2 * 3 * t, (1 - t) * 3 * t * t, t**3
            first, second, end = piece
            yield tuple((1 - t) ** 3 * at[i] + a * first[i] + b * second[i] + c * end[i] for i in (0, 1))
        at = piece[-1]


def overlap(a, b):
    return (
        a.x < b.x + b.width - NEAR
        and b.x < a.x + a.width - NEAR
        and a.y < b.y + b.height - NEAR
        and b.y < a.y + a.height - NEAR
    )


def is_inside(point, box, margin=0.0):
    return (
        box.x + margin < point[0] < box.x + box.width - margin
        and box.y + margin < point[1] < box.y + box.height - margin
    )


def is_on_border(point, box):
    x, y = point
    within = is_inside(point, box, -NEAR)
    on_side = (
        min(abs(x - box.x), abs(x - box.x - box.width), abs(y - box.y), abs(y - box.y - box.height)) < NEAR
    )
    return within and on_side


def is_on_path(point, path):
    return any(abs(point[0] - x) < NEAR and abs(point[1] - y) < NEAR for x, y in points(path))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_boxes_stand_apart_from_each_other_and_inside_what_holds_them(any_workflow, direction):
    graph = graph_of(any_workflow)
    drawing = layout(graph, direction)
    boxes = {box.node.id: box for box in drawing.boxes}
    holders = graph.holders()
    for a, b in itertools.combinations(drawing.boxes, 2):
        if a.node.id in holders.get(b.node.id, ()):
            assert is_inside((b.x, b.y), a) and is_inside((b.x + b.width, b.y + b.height), a)
        elif b.node.id not in holders.get(a.node.id, ()):
            assert not overlap(a, b), (a.node.id, b.node.id)
    assert boxes.keys() >= {node.id for node in graph.nodes}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_everything_lies_inside_the_picture(any_workflow, direction):
    drawing = layout(graph_of(any_workflow), direction)
    for box in drawing.boxes:
        assert box.x >= 0 and box.y >= 0
        assert box.x + box.width <= drawing.width and box.y + box.height <= drawing.height
    for arrow in drawing.arrows:
        assert all(
            -1 <= x <= drawing.width + 1 and -1 <= y <= drawing.height + 1 for x, y in points(arrow.path)
        )


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_arrows_leave_and_reach_the_borders_of_their_boxes(any_workflow, direction):
    drawing = layout(graph_of(any_workflow), direction)
    boxes = {box.node.id: box for box in drawing.boxes}
    ends = 0
    for arrow in drawing.arrows:
        if arrow.source:
            assert is_on_border(arrow.path.start, boxes[arrow.source]), arrow
            ends += 1
        if arrow.target:
            assert is_on_border(arrow.path.end, boxes[arrow.target]), arrow
            ends += 1
    assert ends


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_no_arrow_runs_through_a_box(any_workflow, direction):
    drawing = layout(graph_of(any_workflow), direction)
    plain = [box for box in drawing.boxes if not box.holds]
    for arrow in drawing.arrows:
        for point in points(arrow.path):
            hit = [box.node.id for box in plain if is_inside(point, box, 1.0)]
            assert not hit, (arrow.source, arrow.target, hit)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_an_arrow_that_joins_another_ends_on_a_line_of_its_own_style(any_workflow, direction):
    drawing = layout(graph_of(any_workflow), direction)
    for arrow in drawing.arrows:
        if arrow.head or arrow.target:
            continue
        others = [other for other in drawing.arrows if other is not arrow and other.style == arrow.style]
        assert any(is_on_path(arrow.path.end, other.path) for other in others), arrow


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_labels_lie_on_no_box(any_workflow, direction):
    drawing = layout(graph_of(any_workflow), direction)
    plain = [box for box in drawing.boxes if not box.holds]
    for label in drawing.labels:
        x, y = label.centre
        corners = [
            (x + label.line.width / 2 * a, y + label.line.size / 2 * b) for a in (-1, 0, 1) for b in (-1, 1)
        ]
        assert not [box.node.id for box in plain for corner in corners if is_inside(corner, box, 1.0)]


def test_a_chain_of_states_stands_in_one_straight_line(sample):
    drawing = layout(graph_of(sample("linear")))
    assert len({round(box.x + box.width / 2, 3) for box in drawing.boxes}) == 1
    tops = [box.y for box in drawing.boxes]
    assert tops == sorted(tops)


def test_from_left_to_right_the_chain_lies_on_its_side(sample):
    drawing = layout(graph_of(sample("linear")), "LR")
    assert len({round(box.y + box.height / 2, 3) for box in drawing.boxes}) == 1
    assert drawing.width > drawing.height


def test_a_way_back_runs_beside_the_boxes_and_enters_at_the_side(sample):
    drawing = layout(graph_of(sample("fixing")))
    boxes = {box.node.id: box for box in drawing.boxes}
    (back,) = [arrow for arrow in drawing.arrows if (arrow.source, arrow.target) == ("fix", "test")]
    test = boxes["test"]
    assert back.path.end.x in (pytest.approx(test.x), pytest.approx(test.x + test.width))
    assert test.y < back.path.end.y < test.y + test.height


def test_a_branch_that_waits_for_another_stands_below_it(sample):
    boxes = {box.node.id: box for box in layout(graph_of(sample("fanning"))).boxes}
    assert boxes["integration"].y > boxes["unit"].y + boxes["unit"].height
    assert boxes["lint"].y == boxes["unit"].y


def test_many_branches_are_wrapped_into_rows(made):
    from awf.domain.workflow import CommandState, ParallelState, TerminalState

    names = [f"b{number}" for number in range(40)]
    states = {name: CommandState(command="true") for name in names}
    drawing = layout(
        graph_of(
            made("all", all=ParallelState(parallel=names, on_success="done"), **states, done=TerminalState())
        )
    )
    rows = {round(box.y) for box in drawing.boxes if box.node.id in names}
    assert 4 < len(rows) < 10


def test_states_that_all_fail_to_one_place_share_one_line(long_chain):
    drawing = layout(graph_of(long_chain(60)))
    arrived = [arrow for arrow in drawing.arrows if arrow.target == "failed"]
    assert len(arrived) <= 3
    assert drawing.width < 1000


def test_five_hundred_states_are_laid_out(long_chain):
    drawing = layout(graph_of(long_chain(500)))
    assert len(drawing.boxes) == 503
    assert len({round(box.x + box.width / 2) for box in drawing.boxes if box.node.kind == "step"}) == 1


def test_in_a_tangle_the_longest_arrows_only_name_where_they_lead(tangled):
    drawing = layout(graph_of(tangled(300)))
    signs = [box for box in drawing.boxes if box.node.kind == "jump"]
    assert signs
    assert all(sign.node.name.startswith("→ s") for sign in signs)


def test_the_same_workflow_is_always_drawn_the_same(any_workflow):
    assert layout(graph_of(any_workflow)) == layout(graph_of(any_workflow))
