"""Options of agents: what is wrong with them is told before anything starts."""

from __future__ import annotations

import pytest

from awf.domain.agent import AgentFailure
from awf.infrastructure.agents.claude.options import ClaudeOptions
from awf.infrastructure.agents.cli.options import CommonOptions, check_options, read_options


def problems(**values):
    return check_options(ClaudeOptions, values, "claude")


def test_an_unknown_option_comes_with_the_one_that_was_meant():
    (problem,) = problems(modle="opus")

    assert problem.key == "modle"
    assert problem.hint == "did you mean 'model'?"


def test_an_option_that_is_like_none_comes_with_the_list_of_all():
    (problem,) = problems(zzzzzz=1)

    assert "extra_args" in problem.hint


@pytest.mark.parametrize(
    "wrong",
    [{"model": 5}, {"extra_args": "--fast"}, {"extra_args": [1]}, {"env": ["A=1"]}, {"env": {"A": 1}},
     {"max_turns": "many"}, {"effort": "heroic"}, {"user_settings": "perhaps"}, {"api_key": ["x"]}],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_told_by_its_option(wrong):
    (problem,) = problems(**wrong)

    assert problem.key == next(iter(wrong))
    assert "does not fit" in problem.message


@pytest.mark.parametrize(
    "right",
    [{"max_turns": "5"}, {"max_turns": "{{ inputs.turns }}"}, {"max_turns": "${env:TURNS}"}, {"effort": "{{ inputs.e }}"},
     {"extra_args": ["--x", "{{ inputs.y }}"]}, {"env": {"A": "{{ inputs.a }}"}}, {"model": None}, {"user_settings": "true"}],
)  # fmt: skip
def test_what_fits_or_is_not_known_yet_is_no_problem(right):
    assert problems(**right) == []


def test_options_are_read_as_their_types():
    options = read_options(ClaudeOptions, {"max_turns": "5", "env": {"A": "b"}})

    assert (options.max_turns, options.env, options.extra_args) == (5, {"A": "b"}, [])


def test_a_placeholder_that_came_to_a_wrong_value_is_a_failure_that_is_not_repeated():
    with pytest.raises(AgentFailure) as failure:
        read_options(ClaudeOptions, {"max_turns": "{{ as it stands }}"})

    assert failure.value.code == "WORKFLOW.VALIDATION.INVALID_OPTIONS"
    assert not failure.value.retryable


def test_a_workflow_with_a_wrong_option_is_invalid(stubs):
    text = """
name: x
states:
  initial: work
  work: {type: agent, provider: stub, prompt: hello, options: {extra_arg: [x], rounds: many}, on_success: done}
  done: {type: terminal}
"""

    found = [
        problem for problem in stubs.problems(text) if problem.code == "WORKFLOW.VALIDATION.INVALID_OPTIONS"
    ]

    assert len(found) == 2
    assert any("did you mean 'extra_args'?" in problem.hint for problem in found)


def test_every_common_option_is_described():
    for name, form in CommonOptions.__annotations__.items():
        assert form.__metadata__[-1], name
