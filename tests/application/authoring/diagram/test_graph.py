from __future__ import annotations

from awf.application.authoring.diagram.graph import START, graph_of
from awf.domain.workflow import (
    AgentState,
    Approval,
    CallState,
    CommandState,
    ForEachState,
    InlineFailure,
    ParallelState,
    Retry,
    TerminalState,
    Transition,
    WhileState,
)


def nodes_of(graph):
    return {node.id: node for node in graph.nodes}


def edges_of(graph):
    return {(edge.source, edge.target, edge.style, edge.label) for edge in graph.edges}


def test_each_state_is_a_box_and_the_first_is_marked(sample):
    graph = graph_of(sample("linear"))
    assert [node.id for node in graph.nodes] == [START, "build", "test", "done"]
    assert (START, "build", "success", "") in edges_of(graph)
    assert nodes_of(graph)["build"].description == "Compile everything"


def test_boxes_say_what_runs_and_how(made):
    graph = graph_of(
        made(
            "a",
            a=CommandState(command="\n  make   all\n  make test\n", on_success="b", approval=True),
            b=AgentState(
                provider="claude", prompt="x", options={"model": "opus"}, mode="conversation", on_success="c"
            ),
            c=CallState(workflow="./other.yaml", on_success="d", approval=Approval(message="Really?")),
            d=CommandState(script_file="run.sh", on_success="e", approval=False, continue_on_error=True),
            e=ForEachState(items=["one"], body=[], on_success="f", retry=Retry(max_attempts=2)),
            f=ForEachState(items="{{ inputs.files }}", body=[], on_success="g"),
            g=WhileState(condition="states.a.exit_code != 0", body=[], on_success="h"),
            h=ParallelState(parallel=[], strategy="any_succeed", max_concurrent=2, on_success="i"),
            i=TerminalState(status="failure", message="It is over"),
        )
    )
    said = {node.id: (node.kind, node.detail, node.marks) for node in graph.nodes}
    assert said == {
        START: ("start", "", ()),
        "a": ("step", "$ make all …", ("approval",)),
        "b": ("agent", "claude · opus · conversation", ()),
        "c": ("call_workflow", "workflow ./other.yaml", ("approval",)),
        "d": ("step", "run.sh", ("may fail",)),
        "e": ("for_each", "for each of 1 item", ("2 attempts",)),
        "f": ("for_each", "for each of {{ inputs.files }}", ()),
        "g": ("while", "while states.a.exit_code != 0", ()),
        "h": ("parallel", "first success wins · 2 at a time", ()),
        "i": ("failure", "It is over", ()),
    }


def test_every_way_on_is_an_arrow_of_its_own_style(sample):
    edges = edges_of(graph_of(sample("fixing")))
    assert {
        ("test", "review", "success", ""),
        ("test", "fix", "failure", ""),
        ("review", "done", "transition", "states.review.json.ok"),
        ("review", "failed", "transition", "else"),
        ("review", "failed", "failure", ""),
    } <= edges


def test_an_inline_failure_is_a_box_of_its_own(sample):
    graph = graph_of(sample("fixing"))
    (arrow,) = [edge for edge in graph.edges if edge.source == "fix" and edge.style == "failure"]
    end = nodes_of(graph)[arrow.target]
    assert (end.kind, end.name) == ("failure", "No luck")
    assert "4" in end.description


def test_the_box_of_an_inline_failure_never_takes_a_states_name(made):
    states = {"a": CommandState(command="x", on_success="a (failure)", on_failure=InlineFailure(message="m"))}
    graph = graph_of(made("a", **states, **{"a (failure)": TerminalState()}))
    assert len(nodes_of(graph)) == len(graph.nodes) == 4


def test_branches_lie_inside_their_parallel_state_and_their_own_routes_are_not_drawn(sample):
    graph = graph_of(sample("fanning"))
    assert {node.id for node in graph.nodes if node.group == "checks"} == {
        "lint", "types", "unit", "integration", "docs", "audit",
    }  # fmt: skip
    assert {edge for edge in edges_of(graph) if edge[0] in {"lint", "unit"}} == {
        ("unit", "integration", "depends", "")
    }


def test_a_state_that_is_a_branch_and_also_reached_directly_keeps_its_routes(made):
    graph = graph_of(
        made(
            "fan",
            fan=ParallelState(parallel=["work"], on_success="work"),
            work=CommandState(command="x", on_success="done", on_failure=InlineFailure(message="m")),
            done=TerminalState(),
        )
    )
    assert ("work", "done", "success", "") in edges_of(graph)


def test_a_loops_body_lies_inside_it_in_the_order_in_which_it_runs(sample):
    graph = graph_of(sample("looping"))
    order = [node.id for node in graph.nodes]
    assert (
        order.index("check")
        < order.index("poll")
        < order.index("ask")
        < order.index("answer")
        < order.index("report")
    )
    assert graph.holders()["ask"] == ("each", "poll")
    edges = edges_of(graph)
    assert {("check", "poll", "sequence", ""), ("ask", "answer", "sequence", "")} <= edges
    assert ("each", "done", "complete", "done") in edges
    assert ("poll", "report", "sequence", "") not in edges, "poll says itself where it goes"


def test_a_state_shared_by_two_groups_stands_in_the_first_and_the_other_points_at_it(made):
    graph = graph_of(
        made(
            "one",
            one=ForEachState(items=[1], body=["work"], on_success="two"),
            two=ForEachState(items=[1], body=["work"], on_success="done"),
            work=CommandState(command="x"),
            done=TerminalState(),
        )
    )
    assert nodes_of(graph)["work"].group == "one"
    assert ("two", "work", "contains", "") in edges_of(graph)


def test_loops_that_hold_each_other_do_not_hang(made):
    graph = graph_of(
        made("a", a=ForEachState(items=[1], body=["b", "a"]), b=ForEachState(items=[1], body=["a"]))
    )
    assert graph.holders() == {START: (), "a": (), "b": ("a",)}


def test_a_state_that_does_not_exist_shows_as_missing(made):
    graph = graph_of(made("a", a=CommandState(command="x", transitions=[Transition(goto="nowhere")])))
    assert nodes_of(graph)["nowhere"].kind == "missing"


def test_the_last_resort_among_transitions_reads_else(made):
    ways = [Transition(when="a\n == 1", goto="b"), Transition(goto="b")]
    graph = graph_of(made("a", a=CommandState(command="x", transitions=ways), b=TerminalState()))
    assert [edge.label for edge in graph.edges if edge.style == "transition"] == ["a == 1", "else"]


def test_every_arrow_joins_boxes_that_exist(any_workflow):
    graph = graph_of(any_workflow)
    ids = [node.id for node in graph.nodes]
    assert len(ids) == len(set(ids))
    assert {end for edge in graph.edges for end in (edge.source, edge.target)} <= set(ids)
    assert {node.group for node in graph.nodes} <= {"", *ids}
