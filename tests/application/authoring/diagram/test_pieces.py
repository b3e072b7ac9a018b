from __future__ import annotations

from awf.application.authoring.diagram.parts import Edge, Graph, Node
from awf.application.authoring.diagram.pieces import Door, End, pieces


def graph(*edges):
    groups = {"a": "", "outer": "", "inner": "outer", "x": "inner", "y": "outer", "b": ""}
    nodes = tuple(Node(id=name, name=name, kind="step", group=group) for name, group in groups.items())
    return Graph("g", nodes, tuple(Edge(*edge) for edge in edges))


def parts(found):
    return [
        (piece.group, piece.source, piece.target, piece.label, piece.arrives)
        for group in found.values()
        for piece in group
    ]


def test_an_arrow_inside_one_level_is_one_piece():
    assert parts(pieces(graph(("a", "b", "success", "go")))) == [("", End("a"), End("b"), "go", True)]


def test_an_arrow_out_of_two_groups_passes_a_door_in_each():
    door = Door(leads_out=True, target="b", style="failure")
    assert parts(pieces(graph(("x", "b", "failure", "why")))) == [
        ("inner", End("x"), End("", door), "why", False),
        ("outer", End("inner", door), End("", door), "", False),
        ("", End("outer", door), End("b"), "", True),
    ]


def test_an_arrow_into_two_groups_passes_a_door_in_each():
    door = Door(leads_out=False, target="x", style="success")
    assert parts(pieces(graph(("a", "x", "success")))) == [
        ("", End("a"), End("outer", door), "", False),
        ("outer", End("", door), End("inner", door), "", False),
        ("inner", End("", door), End("x"), "", True),
    ]


def test_an_arrow_from_a_member_to_its_own_group_stays_inside():
    door = Door(leads_out=True, target="outer", style="transition")
    assert parts(pieces(graph(("x", "outer", "transition")))) == [
        ("inner", End("x"), End("", door), "", False),
        ("outer", End("inner", door), End("", door), "", True),
    ]


def test_an_arrow_from_a_group_to_its_own_member_stays_inside():
    door = Door(leads_out=False, target="y", style="contains")
    assert parts(pieces(graph(("outer", "y", "contains")))) == [("outer", End("", door), End("y"), "", True)]


def test_arrows_that_share_a_door_share_the_way_after_it():
    found = pieces(graph(("x", "b", "failure"), ("y", "b", "failure")))
    assert len(found["outer"]) == 2
    assert len(found[""]) == 1


def test_a_box_that_leads_to_itself_is_one_piece():
    assert parts(pieces(graph(("y", "y", "success")))) == [("outer", End("y"), End("y"), "", True)]
