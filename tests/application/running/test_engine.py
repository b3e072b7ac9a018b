"""The engine walks states as the file says."""

from __future__ import annotations

import pytest

from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.events import (
    AgentText,
    LogLine,
    StepCompleted,
    StepFailed,
    StepOutput,
    StepRetrying,
    StepSkipped,
    StepStarted,
    Warned,
    WorkflowCompleted,
    WorkflowFailed,
    WorkflowStarted,
)
from awf.testing.laboratory import Laboratory, ScriptedPerson


def flow(body: str, head: str = "") -> str:
    return f"name: t\n{head}\nstates:\n{body}\n  done: {{type: terminal, message: finished}}\n"


STEP = "{{type: step, command: {0!r}, on_success: {1}}}"


async def test_states_run_in_order_and_see_earlier_output(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "echo one", on_success: b}
  b: {type: step, command: "echo {{ states.a.output }} two", on_success: done}
""")
    )
    assert ran.outcome.status == "completed"
    assert ran.output("b") == "one two"
    assert [e.path for e in ran.of(StepCompleted)] == ["a", "b"]
    assert [s.seq for s in ran.events] == list(range(1, len(ran.events) + 1))
    assert isinstance(ran.events[0].event, WorkflowStarted)
    assert isinstance(ran.events[-1].event, WorkflowCompleted)


async def test_a_failure_without_a_way_on_fails_the_run_with_its_code(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "echo no >&2; exit 4", on_success: done}
""")
    )
    assert (ran.outcome.status, ran.outcome.exit_status) == ("failed", 3)
    assert ran.outcome.error.code == "EXECUTION.COMMAND.FAILED"
    assert ran.outcome.error.state == "a"
    assert "exit code 4: no" in ran.outcome.error.message


async def test_on_failure_routes_and_the_error_can_be_told(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "exit 4", on_success: done, on_failure: b}
  b: {type: step, command: "echo {{ error.state }} {{ error.exit_code }} {{ error.code }}", on_success: done}
""")
    )
    assert ran.output("b") == "a 4 EXECUTION.COMMAND.FAILED"
    assert ran.of(StepFailed)[0].handled


async def test_an_inline_failure_ends_with_its_message_and_status(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "exit 9", on_success: done, on_failure: {message: "lost {{ states.a.exit_code }}", status: 42}}
""")
    )
    assert ran.outcome.exit_status == 42
    assert ran.outcome.error.message == "lost 9"


async def test_transitions_come_first_and_the_first_that_holds_wins(lab):
    ran = await lab.run(
        flow(
            """
  initial: a
  a:
    type: step
    command: "echo {{ inputs.n }}; exit 1"
    transitions:
      - {when: "inputs.n > 10", goto: big}
      - {when: "states.a.exit_code == 1 and inputs.n > 5", goto: middle}
      - {goto: small}
    on_failure: small
  big: {type: step, command: "echo big", on_success: done}
  middle: {type: step, command: "echo middle", on_success: done}
  small: {type: step, command: "echo small", on_success: done}
""",
            "inputs: [{name: n, type: integer}]",
        ),
        {"n": "7"},
    )
    assert "middle" in ran.steps
    assert "big" not in ran.steps
    assert "small" not in ran.steps


async def test_continue_on_error_goes_on_as_if_it_had_succeeded(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "exit 1", continue_on_error: true, on_success: done}
""")
    )
    assert ran.outcome.status == "completed"
    assert ran.steps["a"].result.status == "failed"


async def test_a_visited_state_gets_a_path_of_its_own_each_time(lab):
    lab.write("n", "0")
    ran = await lab.run(
        flow("""
  initial: count
  count: {type: step, command: "n=$(($(cat n)+1)); echo $n | tee n", transitions: [{when: "states.count.output == '3'", goto: done}, {goto: count}]}
""")
    )
    assert list(ran.steps) == ["count", "count#2", "count#3"]


async def test_typed_inputs_stay_typed_in_templates_conditions_and_environment(lab):
    ran = await lab.run(
        flow(
            """
  initial: a
  a:
    type: step
    command: "echo {{ inputs.n + 1 }} {{ inputs.on and 'yes' }} {{ inputs.xs[1] }} $n $word"
    transitions: [{when: "inputs.n == 5 && inputs.on && inputs.xs.size() == 2 && inputs.f > 0.4", goto: done}]
    on_success: never
  never: {type: terminal, status: failure}
""",
            "inputs: [{name: n, type: integer}, {name: on, type: boolean}, {name: xs, type: array}, {name: f, type: number}, {name: word}]",
        ),
        {"n": "5", "on": "yes", "xs": "p,q", "f": "0.5", "word": "w"},
    )
    assert ran.outcome.status == "completed"
    assert ran.output("a") == "6 yes q 5 w"


async def test_all_wrong_inputs_are_told_at_once(lab):
    with pytest.raises(AwfError) as caught:
        await lab.run(
            flow(
                """
  initial: a
  a: {type: step, command: "true", on_success: done}
""",
                """inputs:
  - {name: n, type: integer, required: true}
  - {name: mode, enum: [fast, slow]}
  - {name: f, validation: {file_exists: true}}
""",
            ),
            {"n": "x", "mode": "fats", "f": "nowhere", "extra": "1"},
        )
    assert caught.value.code == "USER.INPUT.VALIDATION_FAILED"
    for part in ("'n' must be a whole number", "did you mean fast", "nowhere", "'extra' is not an input"):
        assert part in caught.value.message


async def test_retry_tries_again_with_growing_pauses_and_tells_it(lab):
    lab.write("n", "0")
    ran = await lab.run(
        flow("""
  initial: a
  a:
    type: step
    command: "n=$(($(cat n)+1)); echo $n > n; [ $n -ge 3 ]"
    retry: {max_attempts: 4, initial_delay: 1ms, backoff: exponential}
    on_success: done
""")
    )
    assert ran.outcome.status == "completed"
    assert [e.attempt for e in ran.of(StepRetrying)] == [2, 3]
    assert list(ran.steps) == ["a", "a@2", "a@3"]
    assert ran.of(StepCompleted)[0].attempts == 3


async def test_retry_only_on_the_listed_exit_codes(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "exit 3", retry: {max_attempts: 5, initial_delay: 1ms, retryable_exit_codes: [7]}, on_success: done}
""")
    )
    assert list(ran.steps) == ["a"]


async def test_a_sub_second_timeout_ends_the_command(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "echo begun; sleep 60", timeout: 200ms, on_success: done, on_failure: b}
  b: {type: step, command: "echo {{ error.code }}", on_success: done}
""")
    )
    assert ran.output("b") == "EXECUTION.STEP.TIMEOUT"
    assert ran.output("a") == "begun"


async def test_hooks_run_and_their_failure_is_only_a_warning(lab):
    ran = await lab.run(
        flow(
            """
  initial: a
  a:
    type: step
    command: "echo x"
    hooks: {pre: [{log: "before {{ inputs.w }}"}, {command: "exit 5"}], post: [{log: "after {{ states.a.output }}"}]}
    on_success: done
""",
            """inputs: [{name: w, default: me}]
hooks:
  workflow_start: [{command: "echo start >> trail"}]
  workflow_end: [{command: "echo end >> trail"}]
  workflow_error: [{command: "echo error >> trail"}]
""",
        )
    )
    assert [e.message for e in ran.of(LogLine)] == ["before me", "after x"]
    assert "exit code 5" in ran.of(Warned)[0].message
    assert (lab.folder / "trail").read_text().split() == ["start", "end"]


async def test_the_error_hook_knows_the_error(lab):
    await lab.run(
        flow(
            """
  initial: a
  a: {type: step, command: "exit 5", on_success: done}
""",
            """hooks: {workflow_error: [{command: "echo {{ error.code }} in {{ error.state }} > trail"}]}""",
        )
    )
    assert (lab.folder / "trail").read_text().strip() == "EXECUTION.COMMAND.FAILED in a"


async def test_capture_names_output_and_limits_what_is_kept_while_the_file_has_all(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "seq 1 20000; echo oops >&2", capture: {stdout: numbers, stderr: said, max_size: 1KB}, on_success: b}
  b: {type: step, command: "echo {{ vars.said }} {{ vars.numbers | length }}", on_success: done}
""")
    )
    result = ran.steps["a"].result
    assert result.truncated
    with open(result.output_file, encoding="utf-8") as whole:
        assert whole.read().split() == [str(n) for n in range(1, 20001)]
    assert result.output.startswith("1\n2\n")
    assert result.output.rstrip().endswith("20000")
    assert ran.output("b").startswith("oops ")
    assert any("capture.max_size" in e.message for e in ran.of(Warned))


async def test_output_that_is_not_utf8_does_no_harm(lab):
    ran = await lab.run(
        flow(r"""
  initial: a
  a: {type: step, command: "printf 'a\\377b'", on_success: done}
""")
    )
    assert ran.output("a") == "a\ufffdb"


async def test_environment_of_workflow_and_state_reaches_the_command(lab):
    ran = await lab.run(
        flow(
            """
  initial: a
  a: {type: step, command: "echo $ONE $TWO $AWF_STEP", env: {TWO: "{{ inputs.x }}2"}, on_success: done}
""",
            "inputs: [{name: x, default: t}]\nenv: {ONE: first, TWO: unused}",
        )
    )
    assert ran.output("a") == "first t2 a"


async def test_missing_required_environment_is_told_before_anything_runs(lab):
    with pytest.raises(AwfError) as caught:
        await lab.run(
            flow(
                """
  initial: a
  a: {type: step, command: "true", on_success: done}
""",
                "env: [AWF_TEST_ABSENT]",
            )
        )
    assert caught.value.code == "USER.INPUT.MISSING_ENV"


async def test_a_script_file_runs_with_its_own_interpreter_and_templates(lab):
    lab.write("scripts/x.py", "#!/usr/bin/env python3\nprint('{{ inputs.w }}'.upper())\n")
    lab.write("scripts/plain.sh", "echo plain {{ inputs.w }}\n")
    ran = await lab.run(
        flow(
            """
  initial: a
  a: {type: step, script_file: scripts/x.py, on_success: b}
  b: {type: step, script_file: scripts/plain.sh, on_success: done}
""",
            "inputs: [{name: w, default: hey}]",
        )
    )
    assert (ran.output("a"), ran.output("b")) == ("HEY", "plain hey")


async def test_a_missing_folder_or_program_fails_the_step_with_a_code(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "true", dir: nowhere, on_success: done}
""")
    )
    assert ran.outcome.error.code == "EXECUTION.COMMAND.NOT_FOUND"
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "true", shell: /no/such/shell, on_success: done}
""")
    )
    assert ran.outcome.error.code == "EXECUTION.COMMAND.NOT_FOUND"


# -- parallel ------------------------------------------------------------------------------------------------------


async def test_branches_are_all_kept_and_addressable(lab):
    ran = await lab.run(
        flow("""
  initial: fan
  fan: {type: parallel, parallel: [a, b], on_success: show}
  a: {type: step, command: "echo A"}
  b: {type: step, command: "echo '{\\"k\\": 7}'"}
  show: {type: step, command: "echo {{ states.fan.branches.a.output }} {{ states.b.json.k }} {{ states.fan.branches.b.json.k }}", on_success: done}
""")
    )
    assert ran.outcome.status == "completed", ran.outcome.error
    assert ran.output("show") == "A 7 7"
    assert {"fan/a", "fan/b", "fan"} <= set(ran.steps)


async def test_all_succeed_stops_the_others_at_the_first_failure(lab):
    ran = await lab.run(
        flow("""
  initial: fan
  fan: {type: parallel, parallel: [bad, slow], on_success: done, on_failure: {message: "{{ states.fan.branches.slow.status }}"}}
  bad: {type: step, command: "exit 1"}
  slow: {type: step, command: "sleep 60"}
""")
    )
    assert ran.outcome.error.message == "cancelled"
    assert ran.steps["fan"].result.branches["bad"].status == "failed"


async def test_any_succeed_takes_the_first_success(lab):
    ran = await lab.run(
        flow("""
  initial: fan
  fan: {type: parallel, parallel: [good, slow], strategy: any_succeed, on_success: done}
  good: {type: step, command: "echo yes"}
  slow: {type: step, command: "sleep 60"}
""")
    )
    assert ran.outcome.status == "completed"
    assert {n: r.status for n, r in ran.steps["fan"].result.branches.items()} == {
        "good": "success",
        "slow": "cancelled",
    }


async def test_any_succeed_goes_on_after_a_failure(lab):
    """One at a time: else the good one may be over first, and the bad one be stopped."""
    ran = await lab.run(
        flow("""
  initial: fan
  fan: {type: parallel, parallel: [bad, good], strategy: any_succeed, max_concurrent: 1, on_success: done}
  bad: {type: step, command: "exit 1"}
  good: {type: step, command: "echo yes"}
""")
    )
    assert ran.outcome.status == "completed"
    assert {n: r.status for n, r in ran.steps["fan"].result.branches.items()} == {
        "bad": "failed",
        "good": "success",
    }


async def test_best_effort_never_fails(lab):
    ran = await lab.run(
        flow("""
  initial: fan
  fan: {type: parallel, parallel: [bad, good], strategy: best_effort, on_success: done}
  bad: {type: step, command: "exit 1"}
  good: {type: step, command: "echo yes"}
""")
    )
    assert ran.outcome.status == "completed"
    assert ran.steps["fan"].result.output == "1 of 2 branches succeeded"


async def test_depends_on_orders_branches_and_a_failed_one_holds_its_dependants_back(lab):
    ran = await lab.run(
        flow("""
  initial: fan
  fan: {type: parallel, parallel: [c, b, a, x, y], strategy: best_effort, on_success: done}
  a: {type: step, command: "echo a >> order"}
  b: {type: step, command: "echo b >> order", depends_on: [a]}
  c: {type: step, command: "echo c >> order", depends_on: [b]}
  x: {type: step, command: "exit 1"}
  y: {type: step, command: "echo y >> order", depends_on: [x]}
""")
    )
    assert (lab.folder / "order").read_text().split() == ["a", "b", "c"]
    assert [e.step for e in ran.of(StepSkipped)] == ["y"]


@pytest.mark.race
async def test_two_hundred_branches_twenty_at_a_time_complete_and_ordered(lab):
    names = [f"b{n}" for n in range(200)]
    branches = "\n".join(
        f'  {n}: {{type: step, command: "echo $$ >> running; ls running > /dev/null; echo {n}; echo {n} done"}}'
        for n in names
    )
    ran = await lab.run(
        flow(f"""
  initial: fan
  fan: {{type: parallel, parallel: [{", ".join(names)}], max_concurrent: 20, on_success: done}}
{branches}
""")
    )
    assert ran.outcome.status == "completed"
    assert [s.seq for s in ran.events] == list(range(1, len(ran.events) + 1))
    open_now, most = set(), 0
    per_branch: dict[str, list[type]] = {}
    text: dict[str, str] = {}
    for stamped in ran.events:
        event = stamped.event
        if not event.path.startswith("fan/"):
            continue
        per_branch.setdefault(event.path, []).append(type(event))
        if isinstance(event, StepStarted):
            open_now.add(event.path)
            most = max(most, len(open_now))
        elif isinstance(event, StepCompleted):
            open_now.discard(event.path)
        elif isinstance(event, StepOutput):
            text[event.path] = text.get(event.path, "") + event.text
    assert len(per_branch) == 200
    for path, kinds in per_branch.items():
        assert kinds[0] is StepStarted
        assert kinds[-1] is StepCompleted
        assert set(kinds[1:-1]) == {StepOutput}
        assert text[path] == f"{path[4:]}\n{path[4:]} done\n"
        assert ran.output(path) == f"{path[4:]}\n{path[4:]} done"
    assert 1 < most <= 20


# -- loops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ("[1, two, 3]", ["1", "two", "3"]),
        ('"{{ states.list.output }}"', ["p", "q"]),
        ('"a, b ,c"', ["a", "b", "c"]),
        ('\'["j", "k"]\'', ["j", "k"]),
    ],
)
async def test_for_each_takes_lists_lines_commas_and_json(lab, items, wanted):
    ran = await lab.run(
        flow(f"""
  initial: list
  list: {{type: step, command: "printf 'p\\nq\\n'", on_success: each}}
  each: {{type: for_each, items: {items}, body: [one], on_complete: done}}
  one: {{type: step, command: "echo {{{{ loop.item }}}}"}}
""")
    )
    assert ran.outcome.status == "completed", ran.outcome.error
    assert [ran.output(f"each[{n}]/one") for n in range(len(wanted))] == wanted


async def test_iterations_are_all_addressable_and_the_last_is_the_current(lab):
    ran = await lab.run(
        flow("""
  initial: each
  each: {type: for_each, items: [x, y, z], body: [one], on_complete: show}
  one: {type: step, command: "echo {{ loop.index1 }}{{ loop.item }}{{ loop.first }}{{ loop.last }}"}
  show: {type: step, command: "echo {{ states.each.iterations[0].one.output }} {{ states.one.output }} {{ states.each.iterations | length }}", on_success: done}
""")
    )
    assert ran.output("show") == "1xtruefalse 3zfalsetrue 3"


async def test_while_runs_as_long_as_its_condition_holds_and_break_when_stops_it(lab):
    lab.write("n", "0")
    body = """
  initial: w
  w: {{type: while, while: "{0}", break_when: "{1}", body: [inc], on_complete: done}}
  inc: {{type: step, command: "n=$(($(cat n)+1)); echo $n | tee n"}}
"""
    ran = await lab.run(flow(body.format("states.inc.output != '4'", "false")))
    assert ran.steps["w"].result.iterations == 4
    ran = await lab.run(flow(body.format("true", "states.inc.output == '6'")))
    assert ran.steps["w"].result.iterations == 2


async def test_a_while_at_its_limit_fails_unless_on_complete_takes_it(lab):
    ran = await lab.run(
        flow("""
  initial: w
  w: {type: while, while: "true", max_iterations: 3, body: [x], on_success: done}
  x: {type: step, command: "true"}
""")
    )
    assert ran.outcome.error.code == "EXECUTION.LOOP.LIMIT"
    ran = await lab.run(
        flow("""
  initial: w
  w: {type: while, while: "true", max_iterations: 3, body: [x], on_complete: done}
  x: {type: step, command: "true"}
""")
    )
    assert ran.outcome.status == "completed"
    assert any("limit of 3" in e.message for e in ran.of(Warned))


async def test_body_transitions_jump_inside_go_on_or_leave_the_loop(lab):
    ran = await lab.run(
        flow("""
  initial: each
  each: {type: for_each, items: [skip, jump, leave, never], body: [a, b, c], on_complete: done}
  a:
    type: step
    command: "echo {{ loop.item }}"
    transitions:
      - {when: "loop.item == 'skip'", goto: each}
      - {when: "loop.item == 'jump'", goto: c}
      - {when: "loop.item == 'leave'", goto: out}
  b: {type: step, command: "echo b"}
  c: {type: step, command: "echo c"}
  out: {type: step, command: "echo out", on_success: done}
""")
    )
    assert ran.outcome.status == "completed", ran.outcome.error
    assert set(ran.steps) == {"each[0]/a", "each[1]/a", "each[1]/c", "each[2]/a", "each", "out"}


async def test_nested_loops_know_their_parent(lab):
    ran = await lab.run(
        flow("""
  initial: outer
  outer: {type: for_each, items: [a, b], body: [inner], on_complete: done}
  inner: {type: for_each, items: [1, 2], body: [leaf]}
  leaf: {type: step, command: "echo {{ loop.parent.item }}{{ loop.item }}"}
""")
    )
    assert [row.result.output for path, row in ran.steps.items() if path.endswith("leaf")] == [
        "a1",
        "a2",
        "b1",
        "b2",
    ]


async def test_a_failing_body_fails_the_loop_which_may_handle_it(lab):
    ran = await lab.run(
        flow("""
  initial: each
  each: {type: for_each, items: [1, 2], body: [x], on_complete: done, on_failure: {message: "{{ error.message }}", status: 5}}
  x: {type: step, command: "[ {{ loop.item }} = 1 ]"}
""")
    )
    assert ran.outcome.exit_status == 5
    assert "Iteration 2, 'x'" in ran.outcome.error.message


# -- sub-workflows -------------------------------------------------------------------------------------------------


async def test_a_called_workflow_gets_typed_inputs_and_gives_outputs_back(lab):
    lab.write(
        "child.yaml",
        """
name: child
inputs: [{name: n, type: integer, required: true}]
outputs: {twice: "{{ inputs.n * 2 }}"}
states:
  initial: a
  a: {type: step, command: "echo {{ inputs.n }}", on_success: end}
  end: {type: terminal, message: "child done"}
""",
    )
    ran = await lab.run(
        flow(
            """
  initial: call
  call: {type: call_workflow, workflow: ./child.yaml, inputs: {n: "{{ inputs.m }}"}, on_success: named}
  named: {type: call_workflow, workflow: ./child.yaml, inputs: {n: 4}, outputs: {a: got}, on_success: show}
  show: {type: step, command: "echo {{ states.call.outputs.twice }} {{ states.named.outputs.got }} {{ states.call.output }}", on_success: done}
""",
            "inputs: [{name: m, type: integer, default: 21}]",
        )
    )
    assert ran.outcome.status == "completed", ran.outcome.error
    assert ran.output("show") == "42 4 child done"
    assert "call/a" in ran.steps


async def test_a_failing_called_workflow_fails_its_step_and_says_why(lab):
    lab.write(
        "child.yaml",
        "name: child\nstates:\n  initial: a\n  a: {type: step, command: exit 3, on_success: end}\n  end: {type: terminal}\n",
    )
    ran = await lab.run(
        flow("""
  initial: call
  call: {type: call_workflow, workflow: ./child.yaml, on_success: done}
""")
    )
    assert ran.outcome.error.code == "EXECUTION.SUBWORKFLOW.FAILED"
    assert "'./child.yaml' failed in 'a'" in ran.outcome.error.message


async def test_timeouts_reach_into_composites(lab):
    ran = await lab.run(
        flow("""
  initial: fan
  fan: {type: parallel, parallel: [slow], timeout: 200ms, on_success: done}
  slow: {type: step, command: "sleep 60"}
""")
    )
    assert ran.outcome.error.code == "EXECUTION.STEP.TIMEOUT"


# -- agents, approvals, limits -------------------------------------------------------------------------------------

AGENT = """
  initial: ask
  ask: {{type: agent, provider: scripted, prompt: "go", options: {{turns: {0}}}, {1} on_success: done}}
"""


async def test_an_agent_answers_and_its_usage_is_counted(lab):
    ran = await lab.run(
        flow(
            AGENT.format(
                "[[{think: hm}, {say: 'Hi '}, {say: there}, {usage: {input_tokens: 3, output_tokens: 4, cost: 0.5}}]]",
                "",
            )
        )
    )
    assert ran.output("ask") == "Hi there"
    assert ran.outcome.usage.tokens == 7
    assert ran.outcome.usage.cost_source == "reported"
    assert "".join(e.text for e in ran.of(AgentText)) == "Hi there"


async def test_roles_skills_and_system_prompt_reach_the_agent_in_single_mode(lab):
    lab.write(".awf/roles/critic/AGENTS.md", "---\nname: critic\n---\nBe strict.\n")
    lab.write(".awf/skills/lint/SKILL.md", "---\nname: lint\n---\nRun the linter.\n")
    lab.write(".awf/skills/lint/rules.txt", "r")
    app = lab.app()
    seen = []

    class Listening:
        name = "listening"

        def check_options(self, options):
            return []

        async def run(self, request, show):
            from awf.domain.agent import AgentReply

            seen.append(request)
            return AgentReply(text="ok")

    app.providers["listening"] = Listening()
    lab.app = lambda: app
    await lab.run(
        flow(
            """
  initial: ask
  ask: {type: agent, provider: listening, role: critic, system_prompt: "In {{ inputs.lang }}.", skills: [lint], prompt: "Do {{ inputs.lang }}", on_success: done}
""",
            "inputs: [{name: lang, default: French}]",
        )
    )
    assert seen[0].system_prompt == "Be strict.\n\nIn French."
    assert seen[0].prompt.endswith("Do French")
    assert "Run the linter." in seen[0].prompt
    assert "rules.txt" in seen[0].prompt


async def test_an_answer_that_breaks_the_schema_gets_one_repair_turn(lab):
    schema = "output_schema: {type: object, required: [n], properties: {n: {type: integer}}},"
    ran = await lab.run(flow(AGENT.format('["no json", "```json\\n{\\"n\\": 4}\\n```"]', schema)))
    assert ran.steps["ask"].result.json == {"n": 4}
    ran = await lab.run(flow(AGENT.format('[\'{"n": "x"}\', \'{"n": "y"}\']', schema)))
    assert ran.outcome.error.code == "EXECUTION.AGENT.OUTPUT_INVALID"


async def test_a_conversation_goes_on_until_the_person_ends_it_and_can_be_continued(lab):
    person = ScriptedPerson(lines=["more", "/end"])
    ran = await lab.run(
        flow("""
  initial: talk
  talk: {type: agent, provider: scripted, mode: conversation, conversation: {}, prompt: hi, options: {turns: [one, {expect: more, do: two}, three]}, on_success: again}
  again: {type: agent, provider: scripted, prompt: last, conversation: {continue_from: talk}, options: {turns: [one, two, "three {{ states.talk.output }}"]}, on_success: done}
"""),
        person=person,
    )
    assert ran.outcome.status == "completed", ran.outcome.error
    assert ran.output("talk") == "two"
    assert ran.output("again") == "three two"
    assert len(person.asked) == 2


@pytest.mark.parametrize(
    ("answer", "on_deny", "status", "code"),
    [
        ("once", "abort", "completed", ""),
        ("reject", "abort", "failed", "EXECUTION.APPROVAL.DENIED"),
        ("reject", "skip", "completed", ""),
        ("reject", "error", "completed", ""),
    ],
)
async def test_an_approval_is_asked_before_the_state_and_a_no_means_what_on_deny_says(
    lab, answer, on_deny, status, code
):
    person = ScriptedPerson(approvals=[answer])
    ran = await lab.run(
        flow(
            f"""
  initial: a
  a: {{type: step, command: "touch ran", approval: {{message: "Go {{{{ inputs.x }}}}?", on_deny: {on_deny}}}, on_success: done, on_failure: b}}
  b: {{type: step, command: "echo handled", on_success: done}}
""",
            "inputs: [{name: x, default: now}]",
        ),
        person=person,
    )
    assert person.asked == ["Go now?"]
    assert ran.outcome.status == status
    assert (lab.folder / "ran").exists() == (answer == "once")
    assert ("b" in ran.steps) == (on_deny == "error")
    if code:
        assert ran.outcome.error.code == code


async def test_an_approval_for_the_run_is_not_asked_again(lab):
    person = ScriptedPerson(approvals=["run"])
    ran = await lab.run(
        flow("""
  initial: each
  each: {type: for_each, items: [1, 2, 3], body: [a], on_complete: done}
  a: {type: step, command: "true", approval: true}
"""),
        person=person,
    )
    assert ran.outcome.status == "completed"
    assert len(person.asked) == 1


async def test_an_approval_for_the_run_is_not_one_of_a_step_with_the_same_name_elsewhere(lab):
    asked = '{type: step, command: "true", approval: true, on_success: done}'
    lab.write(
        "child.yaml",
        flow(f"""
  initial: a
  a: {asked}
"""),
    )
    person = ScriptedPerson(approvals=["run", "once"])
    ran = await lab.run(
        flow(f"""
  initial: a
  a: {asked.replace("done", "call")}
  call: {{type: call_workflow, workflow: ./child.yaml, on_success: done}}
"""),
        person=person,
    )
    assert ran.outcome.status == "completed"
    assert len(person.asked) == 2


async def test_an_unanswered_approval_is_its_own_outcome_and_is_asked_again_on_resume(lab):
    text = flow("""
  initial: a
  a: {type: step, command: "echo ran", approval: {message: ok?, timeout: 50ms, on_deny: skip}, on_success: done}
""")
    ran = await lab.run(text)
    assert ran.outcome.error.code == "EXECUTION.APPROVAL.TIMEOUT"
    again = await lab.resume(ran.run_id, person=ScriptedPerson(approvals=["once"]))
    assert again.outcome.status == "completed"
    assert again.output("a") == "ran"


async def test_without_anybody_to_ask_no_input_fails_with_its_code(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "true", approval: true, on_success: done}
"""),
        unattended=True,
    )
    assert ran.outcome.error.code == "EXECUTION.INPUT.UNAVAILABLE"


@pytest.mark.parametrize("limits", ["{tokens: 5}", "{cost: 0.1}", "{tool_calls: 0}"])
async def test_limits_stop_the_run_before_the_next_step(lab, limits):
    ran = await lab.run(
        flow(
            """
  initial: ask
  ask: {type: agent, provider: scripted, prompt: go, options: {turns: [[{tool: {name: Read}}, {say: x}, {usage: {input_tokens: 9, output_tokens: 1, cost: 0.2}}]]}, on_success: b}
  b: {type: step, command: "touch ran", on_success: done, on_failure: done}
""",
            f"limits: {limits}",
        )
    )
    assert ran.outcome.error.code == "EXECUTION.LIMIT.EXCEEDED"
    assert not (lab.folder / "ran").exists()


async def test_a_step_limit_stops_the_run_too(lab):
    ran = await lab.run(
        flow("""
  initial: ask
  ask: {type: agent, provider: scripted, prompt: go, limits: {tokens: 3}, options: {turns: [[{say: x}, {usage: {input_tokens: 9}}]]}, on_success: b}
  b: {type: step, command: "touch ran", on_success: done}
""")
    )
    assert ran.outcome.error.code == "EXECUTION.LIMIT.EXCEEDED"
    assert not (lab.folder / "ran").exists()


# -- secrets -------------------------------------------------------------------------------------------------------


async def test_a_secret_reaches_commands_but_no_sink(tmp_path):
    lab = Laboratory(tmp_path, {"MY_API_KEY": "hunter2-hunter2"})
    ran = await lab.run(
        flow(
            """
  initial: a
  a: {type: step, command: "echo {{ env.MY_API_KEY }} {{ inputs.password }}; echo $MY_API_KEY >&2", on_success: b}
  b: {type: step, command: "[ $(printf %s '{{ states.a.output }}' | wc -c) = 26 ] && seq 1 9000 && echo $MY_API_KEY", capture: {max_size: 1KB}, on_success: c}
  c: {type: agent, provider: scripted, prompt: x, options: {turns: ["the key is {{ env.MY_API_KEY }}"]}, on_success: done}
""",
            "inputs: [{name: password, required: true}]\noutputs: {leak: '{{ states.a.output }}'}",
        ),
        {"password": "opensesame"},
    )
    assert ran.outcome.status == "completed", ran.outcome.error
    for stamped in ran.events:
        assert "hunter2" not in str(stamped)
        assert "opensesame" not in str(stamped)
    leaked = [
        p
        for p in (tmp_path / "storage").rglob("*")
        if p.is_file() and any(s in p.read_bytes() for s in (b"hunter2", b"opensesame"))
    ]
    assert leaked == []


async def test_a_resumed_run_still_has_its_secrets(lab):
    text = flow(
        """
  initial: a
  a: {type: step, command: "echo {{ inputs.token }}", on_success: b}
  b: {type: step, command: "[ -e go ] && echo got {{ states.a.output }} | tr a-z A-Z", on_success: done}
""",
        "inputs: [{name: token, required: true}]",
    )
    ran = await lab.run(text, {"token": "abc-secret-xyz"})
    assert ran.outcome.status == "failed"
    lab.write("go", "")
    again = await lab.resume(ran.run_id)
    assert again.output("b") == "GOT ABC-SECRET-XYZ"


async def test_an_invalid_workflow_never_starts(lab):
    with pytest.raises(InvalidWorkflowError) as caught:
        await lab.run("name: x\nstates:\n  initial: a\n  a: {type: step, comand: ls}\n")
    assert {p.code for p in caught.value.problems} >= {"WORKFLOW.PARSE.UNKNOWN_FIELD"}
    assert not (lab.folder / "storage").exists()


async def test_a_terminal_failure_state_fails_the_run(lab):
    ran = await lab.run(
        flow("""
  initial: a
  a: {type: step, command: "true", on_success: bad}
  bad: {type: terminal, status: failure, message: "no luck", exit_code: 9}
""").replace("  done: {type: terminal, message: finished}\n", "")
    )
    assert ran.outcome.exit_status == 9
    assert ran.of(WorkflowFailed)[0].message == "no luck"


# -- retries, timeouts and files on every kind of state ------------------------------------------------------------


async def test_a_prompt_file_is_filled_in_and_found_beside_the_workflow(lab):
    lab.write("prompts/ask.md", "Say {{ inputs.word }}")
    ran = await lab.run(
        flow(
            """
  initial: ask
  ask: {type: agent, provider: scripted, prompt_file: prompts/ask.md, output_format: text, options: {turns: [{expect: "^Say please$", do: "```\\nfenced\\n```"}]}, on_success: done}
""",
            "inputs: [{name: word, default: please}]",
        )
    )
    assert ran.output("ask") == "fenced", ran.outcome.error


async def test_an_agent_is_retried_and_timed_like_a_command(lab):
    ran = await lab.run(
        flow("""
  initial: ask
  ask: {type: agent, provider: scripted, prompt: x, options: {turns: [[{fail: busy}]]}, retry: {max_attempts: 3, initial_delay: 1ms}, on_success: done}
""")
    )
    assert [e.attempt for e in ran.of(StepRetrying)] == [2, 3]
    assert ran.outcome.error.code == "EXECUTION.AGENT.FAILED"
    ran = await lab.run(
        flow("""
  initial: ask
  ask: {type: agent, provider: scripted, prompt: x, options: {turns: [[{wait: 60s}]]}, timeout: 50ms, on_success: done}
""")
    )
    assert ran.outcome.error.code == "EXECUTION.STEP.TIMEOUT"


@pytest.mark.parametrize(
    "kind",
    [
        "{type: parallel, parallel: [x],",
        "{type: for_each, items: [1], body: [x],",
        "{type: call_workflow, workflow: ./child.yaml,",
    ],
)
async def test_composites_are_retried_as_a_whole(lab, kind):
    step = 'type: step, command: "echo try >> tries; [ $(wc -l < tries) -ge 3 ]"'
    lab.write(
        "child.yaml",
        f"name: c\nstates:\n  initial: x\n  x: {{{step}, on_success: d}}\n  d: {{type: terminal}}\n",
    )
    own = "" if "call" in kind else f"  x: {{{step}}}\n"
    ran = await lab.run(
        flow(
            f"\n  initial: all\n  all: {kind} retry: {{max_attempts: 5, initial_delay: 1ms}}, on_success: done}}\n{own}"
        )
    )
    assert ran.outcome.status == "completed", ran.outcome.error
    assert (lab.folder / "tries").read_text().count("try") == 3
    assert [e.attempt for e in ran.of(StepRetrying) if e.step == "all"] == [2, 3]


async def test_a_limit_on_time_stops_before_the_next_step(lab):
    ran = await lab.run(
        flow(
            """
  initial: a
  a: {type: step, command: "sleep 0.2", on_success: b}
  b: {type: step, command: "touch ran", on_success: done}
""",
            "limits: {duration: 50ms}",
        )
    )
    assert ran.outcome.error.code == "EXECUTION.LIMIT.EXCEEDED"
    assert not (lab.folder / "ran").exists()
