"""Workflows to draw: small ones with one peculiarity each, and random ones with all of them."""

from __future__ import annotations

import random

import pytest

from awf.domain.workflow import (
    AgentState,
    CallState,
    CommandState,
    ForEachState,
    InlineFailure,
    ParallelState,
    Retry,
    TerminalState,
    Transition,
    WhileState,
    Workflow,
)


def workflow(initial, /, **states):
    return Workflow(name="sample", initial=initial, states=states)


def linear():
    return workflow(
        "build",
        build=CommandState(command="make all", on_success="test", description="Compile everything"),
        test=CommandState(command="make test", on_success="done", retry=Retry(max_attempts=4)),
        done=TerminalState(message="Ready"),
    )


def fixing():
    return workflow(
        "test",
        test=CommandState(command="make test", on_success="review", on_failure="fix"),
        fix=AgentState(
            provider="claude",
            prompt="x",
            on_success="test",
            on_failure=InlineFailure(message="No luck", status=4),
        ),
        review=AgentState(
            provider="gemini",
            prompt="r",
            approval="Go on?",
            transitions=[
                Transition(when="states.review.json.ok", goto="done"),
                Transition(when="states.review.json.again", goto="fix"),
                Transition(goto="failed"),
            ],
            on_failure="failed",
        ),
        done=TerminalState(),
        failed=TerminalState(status="failure", message="Gave up"),
    )


def fanning():
    names = ["lint", "types", "unit", "integration", "docs", "audit"]
    branches = {name: CommandState(command=f"make {name}", on_success="merge") for name in names}
    branches["integration"] = CommandState(command="make integration", depends_on=["unit"])
    return workflow(
        "prepare",
        prepare=CommandState(command="npm ci", on_success="checks", on_failure="failed"),
        checks=ParallelState(
            parallel=names, strategy="best_effort", max_concurrent=3, on_success="merge", on_failure="failed"
        ),
        **branches,
        merge=CallState(workflow="merge-it", on_success="done", on_failure="failed"),
        done=TerminalState(),
        failed=TerminalState(status="failure"),
    )


def looping():
    return workflow(
        "list",
        list=CommandState(command="ls *.py", on_success="each"),
        report=CommandState(command="echo report"),
        each=ForEachState(
            items="{{ states.list.output }}",
            body=["check", "poll", "report"],
            on_complete="done",
            on_failure="failed",
        ),
        check=CommandState(command="ruff check", on_failure="failed"),
        poll=WhileState(condition="states.ask.json.more", body=["ask", "answer"], on_complete="report"),
        ask=AgentState(
            provider="claude", prompt="?", transitions=[Transition(when="states.ask.json.skip", goto="poll")]
        ),
        answer=CommandState(command="echo answer", on_failure="failed"),
        done=TerminalState(),
        failed=TerminalState(status="failure"),
    )


def nasty():
    return Workflow(
        name='na"sty </svg><b> & \x07',
        description="two\nlines <i>",
        initial="end",
        states={
            "end": CommandState(
                command='echo "hi [x] {y} <b>bold</b> #35; `tick` \\n $$x$$ %%{init}%% | ; _a_ *b*"',
                on_success="x-y",
                description='<script>alert(1)</script> & "quoted"\x00',
            ),
            "x-y": CommandState(
                command="1. first",
                on_success="x_y",
                transitions=[Transition(when='states["end"].output == "a|b" && size([1]) > 0', goto="x_y")],
            ),
            "x_y": CommandState(
                command="- list", on_success="日本語", transitions=[Transition(when="again", goto="x_y")]
            ),
            "日本語": CommandState(
                command="echo 漢字 ✓ 🎉",
                on_success="graph",
                on_failure=InlineFailure(message='bad\nnews "q" ]'),
            ),
            "graph": ParallelState(parallel=["style", "class"], on_success="ghost"),
            "style": CommandState(command="a\nb\nc"),
            "class": AgentState(provider="{{ inputs.p }}", prompt=""),
            "done": TerminalState(),
        },
    )


def wild(seed):
    """Anything at all, also what the validator would refuse: circles, shared members, routes across borders."""
    dice = random.Random(seed)
    names = [f"state{number}" for number in range(dice.randint(1, 24))]

    def somewhere():
        return dice.choice([None, None, *names])

    def routes():
        ways = [
            Transition(
                when=dice.choice(
                    [None, "inputs.x == 1", "a.very.long.condition == 'with' && much.to.say > 3"]
                ),
                goto=dice.choice(names),
            )
            for _ in range(dice.choice([0, 0, 0, 1, 2]))
        ]
        failure = dice.choice([somewhere(), somewhere(), InlineFailure(message="It went wrong", status=2)])
        return {"on_success": somewhere(), "on_failure": failure, "transitions": ways}

    def some():
        return dice.sample(names, dice.randint(0, min(5, len(names))))

    def state():
        match dice.randint(0, 9):
            case 0:
                return ParallelState(parallel=some(), **routes())
            case 1:
                return ForEachState(items=[1], body=some(), on_complete=somewhere(), **routes())
            case 2:
                return WhileState(condition="x", body=some(), on_complete=somewhere(), **routes())
            case 3:
                return AgentState(provider="claude", prompt="x", **routes())
            case 4:
                return TerminalState(status=dice.choice(["success", "failure"]))
        return CommandState(command="true " * dice.randint(1, 9), depends_on=some()[:1], **routes())

    return Workflow(name=f"wild {seed}", initial=names[0], states={name: state() for name in names})


def chain(length):
    """A long chain in which every state can fail to the same place, with a way back now and then."""
    states = {
        f"s{number}": CommandState(
            command="true",
            on_success=f"s{number + 1}" if number < length - 1 else "done",
            on_failure="failed",
            transitions=[Transition(when="states.x.exit_code == 3", goto=f"s{number - 5}")]
            if number % 10 == 9
            else [],
        )
        for number in range(length)
    }
    return workflow("s0", **states, done=TerminalState(), failed=TerminalState(status="failure"))


def tangle(length):
    """Every state leads to three others, anywhere."""
    dice = random.Random(1)
    states = {
        f"s{number}": CommandState(
            command="true",
            on_success=f"s{dice.randrange(length)}",
            on_failure=f"s{dice.randrange(length)}",
            transitions=[Transition(when=f"x{number}", goto=f"s{dice.randrange(length)}")],
        )
        for number in range(length)
    }
    return workflow("s0", **states)


_SAMPLES = {"linear": linear, "fixing": fixing, "fanning": fanning, "looping": looping, "nasty": nasty}


@pytest.fixture
def sample():
    return lambda name: _SAMPLES[name]()


@pytest.fixture(params=[*_SAMPLES, *range(12)])
def any_workflow(request):
    return _SAMPLES[request.param]() if request.param in _SAMPLES else wild(request.param)


@pytest.fixture
def long_chain():
    return chain


@pytest.fixture
def tangled():
    return tangle


@pytest.fixture
def made():
    return workflow
