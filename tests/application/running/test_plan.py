"""What a plan says about a run that has not begun."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import msgspec
import pytest

from awf.application.running.plan import PlanServices, make_plan
from awf.application.running.plan_values import Plan
from awf.bootstrap import App
from awf.domain.errors import AwfError

DONE = "done: {type: terminal}"


@pytest.fixture
def plan_of(tmp_path):
    """Write a workflow (and others it calls) and plan it."""

    def plan(text, inputs=None, *, environment=None, **others):
        for name, content in {"main": text, **others}.items():
            (tmp_path / f"{name}.yaml").write_text(textwrap.dedent(content), encoding="utf-8")
        variables = {"HOME": str(tmp_path), **(environment or {})}
        app = App(cwd=str(tmp_path), environment=variables)
        services = PlanServices(
            expressions=app.expressions,
            files=app.files,
            providers=app.providers,
            environment=variables,
            places={"prompts_dir": "/prompts", "version": "9"},
            surroundings={"working_dir": str(tmp_path), "user": "ada", "hostname": "desk"},
            cwd=str(tmp_path),
        )
        program = app.validator.program(app.library.load(str(tmp_path / "main.yaml")))
        return make_plan(program, inputs or {}, services)

    return plan


def state(plan, name):
    return next(one for one in plan.states if one.name == name)


def steps(first, *more, inputs="[]"):
    """A workflow of one step (and other states) whose command is the first argument."""
    return textwrap.dedent("""\
        name: main
        inputs: {inputs}
        states:
          initial: earlier
          earlier: {{type: step, command: "true", capture: {{stdout: kept}}, on_success: work}}
          work:
            type: step
            command: {first}
            on_success: done
          done: {{type: terminal}}
        """).format(first=msgspec.json.encode(first).decode(), inputs=inputs) + "".join(more)


def command_of(plan):
    return state(plan, "work").command


# -- templates -----------------------------------------------------------------------------------------------------

INPUTS = (
    "[{name: who, default: Ada}, {name: many, type: array, default: [a, b]}, {name: need, required: true}]"
)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("hello {{ inputs.who }}", "hello Ada"),
        ("hello {{.inputs.who}}", "hello Ada"),
        ("{{ inputs.who | upper | shellquote }} {{ env.COLOUR }}", "ADA blue"),
        ("{{ context.user }}@{{ context.hostname }} {{ awf.prompts_dir }} {{ awf.version }}", "ada@desk /prompts 9"),
        ("{{ workflow.name }} {{ workflow.current_state }}", "main work"),
        ("{{ workflow.id }}", "‹workflow.id›"),
        ("cat {{ states.earlier.output }}", "cat ‹states.earlier.output›"),
        ("cat {{ .states.earlier.Output }}", "cat ‹states.earlier.output›"),
        ("cat {{ states.earlier.output | trim }} {{ inputs.who }}", "cat ‹states.earlier.output | trim› Ada"),
        ("{{ vars.kept }} for {{ inputs.need }}", "‹vars.kept› for ‹inputs.need›"),
        ("{{ '}}' }} {{ {'a': {'b': inputs.who}}['a']['b'] }} {{ vars.kept }}", "}} Ada ‹vars.kept›"),
        ("{# gone #}{% raw %}{{ kept }}{% endraw %} {{ vars.kept }}", "{{ kept }} ‹vars.kept›"),
        ("{% for x in inputs.many %}[{{ x }}]{% endfor %} {{ vars.kept }}", "[a][b] ‹vars.kept›"),
        (
            "{% if states.earlier.exit_code == 0 %}{{ inputs.who }}{% else %}{{ vars.kept }}{% endif %}",
            "‹if states.earlier.exit_code == 0›Ada‹else›‹vars.kept›‹endif›",
        ),
        (
            "{% for line in states.earlier.output | lines %}{{ line }}/{{ inputs.who }}{% endfor %}",
            "‹for line in states.earlier.output | lines›‹line›/Ada‹endfor›",
        ),
        ("{{ states.earlier.json.items.0 }} ${#VARIABLE}", "‹states.earlier.json.items.0› ${#VARIABLE}"),
        ("{{ env.COLOUR | default('red') }}{{ env.NONE | default('red') }}{{ vars.kept }}", "bluered‹vars.kept›"),
    ],
)  # fmt: skip
def test_what_is_known_is_filled_in_and_the_rest_stays_readable(plan_of, written, shown):
    plan = plan_of(steps(written, inputs=INPUTS), environment={"COLOUR": "blue"})

    assert command_of(plan) == shown
    assert plan.problems == []


def test_a_name_that_a_template_sets_for_itself_is_not_taken_for_the_namespace(plan_of):
    plan = plan_of(steps("{% set env = vars.kept %}{{ env }}"), environment={"PLAIN": "must not show"})

    assert command_of(plan) == "‹set env = vars.kept›‹env›"


def test_a_condition_on_something_unknown_is_never_decided(plan_of):
    plan = plan_of(steps("{{ 'yes' if states.earlier.output else 'no' }}"))

    assert command_of(plan) == "‹'yes' if states.earlier.output else 'no'›"


def test_a_variable_that_is_not_set_is_a_problem_unless_the_template_guards_it(plan_of):
    written = "{{ env.NO_WHERE }} {% if env.OTHER is defined and vars.kept %}{{ env.OTHER }}{% endif %}"

    plan = plan_of(steps(written))

    assert plan.problems == ["work: env.NO_WHERE is not defined"]
    assert command_of(plan).startswith("‹env.NO_WHERE› ")


def test_a_template_that_cannot_be_filled_in_is_a_problem_of_its_state(plan_of):
    plan = plan_of(steps("{{ inputs.who | fromjson }}", inputs=INPUTS))

    assert command_of(plan) == "‹inputs.who | fromjson›"
    assert [one.split(":")[0] for one in plan.problems] == ["work"]


# -- inputs and secrets --------------------------------------------------------------------------------------------


def test_missing_inputs_are_shown_and_listed(plan_of):
    plan = plan_of(steps("true", inputs=INPUTS))

    assert plan.missing_inputs == ["need"]
    assert [(one.name, one.value, one.origin) for one in plan.inputs] == [
        ("who", "Ada", "default"),
        ("many", ["a", "b"], "default"),
        ("need", "‹required›", "missing"),
    ]


def test_an_empty_text_does_not_count_as_a_required_input(plan_of):
    assert plan_of(steps("true", inputs=INPUTS), {"need": ""}).missing_inputs == ["need"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"count": "many"}, "'count' must be a whole number"),
        ({"cuont": "1"}, "'cuont' is not an input of this workflow (did you mean count?)"),
    ],
)
def test_wrong_inputs_are_errors_as_in_a_run(plan_of, given, said):
    with pytest.raises(AwfError) as caught:
        plan_of(steps("true", inputs="[{name: count, type: integer}]"), given)

    assert caught.value.code == "USER.INPUT.VALIDATION_FAILED"
    assert said in caught.value.message


SECRET_INPUTS = "[{name: password}, {name: quiet, secret: true}, {name: open}]"


def test_secrets_appear_in_no_form_anywhere(plan_of):
    written = (
        "login {{ inputs.password }} {{ inputs.quiet | upper }} {{ env.API_KEY | replace('k', 'K') }} "
        "{{ inputs.open }} {{ inputs }} {{ env }}"
    )

    plan = plan_of(
        steps(written, inputs=SECRET_INPUTS),
        {"password": "hunter22", "quiet": "whisper", "open": "echo hunter22 kkey-77"},
        environment={"API_KEY": "kkey-77"},
    )

    text = msgspec.json.encode(plan).decode()
    assert command_of(plan) == (
        "login ‹inputs.password› ‹inputs.quiet | upper› ‹env.API_KEY | replace('k', 'K')› "
        "echo *** *** ‹inputs› ‹env›"
    )
    for secret in ("hunter22", "whisper", "WHISPER", "kkey-77", "KKey-77"):
        assert secret not in text


def test_a_wrong_secret_is_not_told_in_the_error(plan_of):
    inputs = "[{name: pin_token, type: integer}]"

    with pytest.raises(AwfError) as caught:
        plan_of(steps("true", inputs=inputs), {"pin_token": "sesame-open"})

    assert "sesame" not in caught.value.message


def test_a_secret_at_the_cut_of_a_long_prompt_is_not_half_shown(plan_of):
    plan = plan_of(
        """
        name: main
        inputs: [{name: text}]
        states:
          initial: ask
          ask: {type: agent, provider: scripted, prompt: "{{ inputs.text }}", options: {turns: [{do: [{say: x}]}]}, on_success: done}
          done: {type: terminal}
        """,
        {"text": "x" * 3996 + "supersecretvalue"},
        environment={"MY_SECRET": "supersecretvalue"},
    )

    prompt = state(plan, "ask").agent.prompt
    assert prompt.length == 3996 + len("supersecretvalue")
    assert prompt.text == "x" * 3996 + "***"


# -- order ---------------------------------------------------------------------------------------------------------


def names(waves):
    return [wave.states for wave in waves]


def test_waves_follow_success_first_and_failures_after(plan_of):
    plan = plan_of(
        """
        name: main
        states:
          initial: a
          a: {type: step, command: "true", on_success: b, on_failure: rescue}
          b:
            type: step
            command: "true"
            transitions: [{when: "states.b.exit_code == 0", goto: c}, {goto: d}]
            on_failure: mend
          c: {type: step, command: "true", on_success: done, continue_on_error: true, on_failure: broken}
          d: {type: step, command: "true", on_success: a}
          mend: {type: step, command: "true", on_success: b, on_failure: broken}
          rescue: {type: step, command: "true", on_success: broken}
          broken: {type: terminal, status: failure}
          done: {type: terminal}
        """
    )

    good = [wave for wave in plan.waves if wave.after == "success"]
    bad = [wave for wave in plan.waves if wave.after == "failure"]
    assert names(good) == [["a"], ["b"], ["c", "d"], ["done"]]
    assert names(bad) == [["rescue", "mend"], ["broken"]]
    assert [one.on for one in state(plan, "c").routes] == ["success"]


def test_branches_are_one_wave_and_depends_on_makes_more(plan_of):
    plan = plan_of(
        """
        name: main
        states:
          initial: all
          all: {type: parallel, parallel: [a, b, c, d], on_success: done}
          a: {type: step, command: "true", on_failure: done}
          b: {type: step, command: "true"}
          c: {type: step, command: "true", depends_on: [a]}
          d: {type: step, command: "true", depends_on: [c, b]}
          done: {type: terminal}
        """
    )

    inside = plan.waves[0].inside["all"]
    assert names(inside) == [["a", "b"], ["c"], ["d"]]
    assert [wave.together for wave in inside] == [True, False, False]
    assert state(plan, "a").routes == [], "the routes of branches are not followed"
    assert state(plan, "a").within == "all"


def test_a_loop_shows_its_body_and_where_the_body_may_leave_to(plan_of):
    plan = plan_of(
        """
        name: main
        states:
          initial: outer
          outer: {type: for_each, items: [1, 2], body: [inner, last], on_complete: done}
          inner: {type: for_each, items: [x, y, z], body: [deep], max_iterations: 2}
          deep: {type: step, command: "true", approval: true, on_failure: gone, on_success: early}
          last: {type: step, command: "true", on_success: outer}
          early: {type: terminal}
          gone: {type: terminal, status: failure}
          done: {type: terminal}
        """
    )

    outer = plan.waves[0].inside["outer"]
    assert names(outer) == [["inner"], ["last"]]
    assert names(outer[0].inside["inner"]) == [["deep"]]
    assert names(plan.waves) == [["outer"], ["done", "early"], ["gone"]]
    assert state(plan, "inner").loop.items == ["x", "y"]
    assert [(one.path, one.times) for one in plan.approvals] == [("outer/inner/deep", 4)]


# -- loops ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "known", "count"),
    [
        ("[a, '{{ inputs.who }}']", ["a", "Ada"], 2),
        ("'{{ inputs.many }}'", ["a", "b"], 2),
        ("'one, two'", ["one", "two"], 2),
        ("[a, '{{ states.first.output }}']", ["a", "‹states.first.output›"], 2),
        ("'{{ states.first.json }}'", None, None),
    ],
)
def test_items_are_known_where_they_can_be(plan_of, items, known, count):
    loop = state(plan_of(looping(items)), "each").loop

    assert (loop.items, loop.count) == (known, count)


def looping(items, more=""):
    return textwrap.dedent(f"""\
        name: main
        inputs: {INPUTS}
        states:
          initial: first
          first: {{type: step, command: "true", on_success: each}}
          each: {{type: for_each, items: {items}, body: [one], on_complete: done{more}}}
          one: {{type: step, command: "echo {{{{ loop.item }}}}", approval: true}}
          done: {{type: terminal}}
        """)


def test_a_loop_of_unknown_length_asks_an_unknown_number_of_times(plan_of):
    plan = plan_of(looping("'{{ states.first.output }}'"))

    assert [(one.path, one.times) for one in plan.approvals] == [("each/one", None)]


@pytest.mark.parametrize(
    ("limit", "shown", "count"),
    [
        ("1", 1, 1),
        ("'{{ 1 + 1 }}'", 2, 2),
        ("'{{ inputs.who }}'", "Ada", None),
        ("'{{ states.first.output }}'", "‹states.first.output›", None),
    ],
)
def test_a_limit_cuts_the_items(plan_of, limit, shown, count):
    plan = plan_of(looping("[a, b, c]", f", max_iterations: {limit}"))

    loop = state(plan, "each").loop
    assert (loop.max_iterations, loop.count) == (shown, count)
    assert bool(plan.problems) == (shown == "Ada")


def test_more_items_than_a_loop_takes_are_a_problem(plan_of):
    plan = plan_of(looping("'{{ range(10001) | list }}'"))

    assert plan.problems == ["each: There are 10001 items; a loop takes at most 10000."]
    assert len(state(plan, "each").loop.items) == 100


def test_items_that_are_no_list_are_a_problem(plan_of):
    plan = plan_of(looping("'{{ inputs.need }}{{ none }}'"), {"need": "[1, 2"})

    assert plan.problems == [
        "each: The items are not a JSON array: Expecting ',' delimiter: line 1 column 6 (char 5)."
    ]


# -- called workflows ----------------------------------------------------------------------------------------------

CALLED = """
    name: inner
    inputs: [{name: text}, {name: count, type: integer, default: 3}]
    states:
      initial: show
      show: {type: step, command: "echo {{ inputs.text }} {{ inputs.count }} {{ workflow.name }}", approval: true, on_success: done}
      done: {type: terminal}
    """


def calling(text):
    return textwrap.dedent(f"""\
        name: main
        inputs: {INPUTS}
        states:
          initial: first
          first: {{type: step, command: "true", on_success: call}}
          call: {{type: call_workflow, workflow: ./inner, inputs: {{text: "{text}"}}, on_success: done}}
          done: {{type: terminal}}
        """)


def test_a_called_workflow_is_a_plan_within_the_plan(plan_of):
    plan = plan_of(calling("hi {{ inputs.who }}"), inner=CALLED)

    inner = state(plan, "call").call.plan
    assert state(inner, "show").command == "echo hi Ada 3 inner"
    assert [one.path for one in plan.approvals] == ["call/show"]


def test_an_input_that_is_not_known_yet_keeps_its_name_inside(plan_of):
    inner = state(plan_of(calling("{{ states.first.output }}"), inner=CALLED), "call").call.plan

    assert [(one.value, one.origin) for one in inner.inputs] == [
        ("‹states.first.output›", "later"),
        (3, "default"),
    ]
    assert state(inner, "show").command == "echo ‹inputs.text› 3 inner"


def test_an_input_that_does_not_fit_the_called_workflow_is_a_problem(plan_of):
    inner = CALLED.replace("{name: text}", "{name: text, type: integer}")

    plan = plan_of(calling("{{ inputs.who }}"), inner=inner)

    assert plan.problems == ["call: Inputs of './inner': 'text' must be a whole number, not 'Ada'."]


def test_workflows_that_call_many_others_do_not_make_a_plan_without_end(plan_of):
    def level(number):
        calls = "".join(
            f"  c{n}: {{type: call_workflow, workflow: ./w{number + 1}, on_success: c{n + 1}}}\n"
            for n in range(5)
        )
        return f"name: w{number}\nstates:\n  initial: c0\n{calls}  c5: {{type: terminal}}\n"

    files = {f"w{number}": level(number) for number in range(1, 6)}
    files["w6"] = f"name: w6\nstates:\n  initial: done\n  {DONE}\n"

    plan = plan_of(level(0), **files)

    assert count_of_plans(plan) == 101


def count_of_plans(plan):
    return 1 + sum(count_of_plans(one.call.plan) for one in plan.states if one.call and one.call.plan)


# -- agents --------------------------------------------------------------------------------------------------------


def asking(more):
    return f"""
        name: main
        inputs: {INPUTS}
        states:
          initial: ask
          ask:
            type: agent
            options: {{turns: [{{do: [{{say: x}}]}}], model: "m-{{{{ inputs.who }}}}"}}
            on_success: done
            {more}
          done: {{type: terminal}}
        """


def test_an_agent_shows_its_provider_options_and_prompt_file(plan_of, tmp_path):
    (tmp_path / "task.md").write_text("Help {{ inputs.who }} with {{ inputs.need }}.", encoding="utf-8")

    agent = state(plan_of(asking("provider: scripted\n            prompt_file: task.md")), "ask").agent

    assert agent.provider == "scripted"
    assert agent.options["model"] == "m-Ada"
    assert (agent.prompt_file, agent.prompt.text) == ("task.md", "Help Ada with ‹inputs.need›.")


def test_what_an_agent_lacks_is_told_before_it_is_asked(plan_of):
    plan = plan_of(
        asking(
            "provider: '{{ inputs.who }}'\n            prompt: x\n            role: nobody\n            skills: [none]"
        )
    )

    assert plan.problems == [
        "ask: No agent provider is named 'Ada'.",
        "ask: There is no role 'nobody'.",
        "ask: There is no skill 'none'.",
    ]


def test_a_prompt_file_that_is_no_template_is_a_problem(plan_of, tmp_path):
    (tmp_path / "task.md").write_text("Broken {{ inputs.who", encoding="utf-8")

    plan = plan_of(asking("provider: scripted\n            prompt_file: task.md"))

    assert state(plan, "ask").agent.prompt.text == "Broken ‹{{ inputs.who›"
    assert [one.split(":")[0] for one in plan.problems] == ["ask"]


def scripted(key, value):
    return steps("true").replace('command: "true"\n', f"{key}: {value}\n    dir: sub/{{{{ vars.kept }}}}\n")


@pytest.mark.parametrize(
    ("value", "shown", "problem"),
    [
        ("'{{ vars.kept }}.sh'", "‹the text of ‹vars.kept›.sh›", []),
        ("'{{ context.user }}.sh'", "‹the text of ada.sh›", ["work: There is no file ada.sh."]),
        ("big.sh", "‹the text of big.sh›", ["work: {big} is not UTF-8 text."]),
        ("good.sh", "echo ‹vars.kept›\n", []),
    ],
)
def test_a_script_is_read_as_far_as_it_is_known(plan_of, tmp_path, value, shown, problem):
    (tmp_path / "big.sh").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "good.sh").write_text("echo {{ vars.kept }}\n", encoding="utf-8")

    plan = plan_of(scripted("script_file", value))

    assert state(plan, "work").script.text == shown
    assert state(plan, "work").dir == "sub/‹vars.kept›"
    assert plan.problems == [text.format(big=tmp_path / "big.sh") for text in problem]


def test_skills_and_roles_that_are_there_are_no_problem(plan_of, tmp_path):
    for kind, name, file in (("roles", "careful", "AGENTS.md"), ("skills", "git", "SKILL.md")):
        folder = tmp_path / ".awf" / kind / name
        folder.mkdir(parents=True)
        (folder / file).write_text("Text.", encoding="utf-8")

    plan = plan_of(
        asking(
            "provider: scripted\n            prompt: x\n            role: careful\n"
            "            skills: [git, {path: '.awf/skills/{{ inputs.need }}'}]"
        )
    )

    assert state(plan, "ask").agent.skills == ["git", ".awf/skills/‹inputs.need›"]
    assert state(plan, "ask").agent.role == "careful"
    assert plan.problems == []


def test_options_of_a_provider_that_was_named_by_a_template_are_checked(plan_of):
    text = asking("provider: '{{ env.AGENT }}'\n            prompt: x")

    plan = plan_of(text.replace("turns: [{do: [{say: x}]}], ", ""), environment={"AGENT": "scripted"})

    assert plan.problems == ["ask: The scripted agent needs either 'turns' or 'script'."]


# -- routes --------------------------------------------------------------------------------------------------------


def test_a_condition_is_decided_where_everything_in_it_is_known(plan_of):
    plan = plan_of(
        """
        name: main
        inputs: [{name: channel, default: beta}, {name: my_password, default: beta}]
        states:
          initial: work
          work:
            type: step
            command: "true"
            transitions:
              - {when: "inputs.channel == 'beta'", goto: a}
              - {when: "inputs.channel == 'stable'", goto: b}
              - {when: "states.work.exit_code == 0", goto: c}
              - {when: "inputs.my_password == 'beta'", goto: d}
            on_success: a
            on_failure: {message: "Failed on {{ env.COLOUR }}: {{ states.work.stderr }}", status: 9}
          a: {type: terminal}
          b: {type: terminal}
          c: {type: terminal}
          d: {type: terminal, status: failure}
        """,
        environment={"COLOUR": "blue"},
    )

    *conditions, success, failure = state(plan, "work").routes
    assert [one.holds for one in conditions] == [True, False, None, None]
    assert (success.on, success.to) == ("success", "a")
    assert failure.to == ""
    assert (failure.message, failure.exit_status) == ("Failed on blue: ‹states.work.stderr›", 9)
    assert state(plan, "d").ending.exit_status == 3
    assert state(plan, "a").ending.exit_status == 0


def test_a_condition_that_cannot_be_decided_is_a_problem(plan_of):
    text = steps("true", inputs=INPUTS).replace(
        "    on_success: done", "    transitions: [{when: inputs.who, goto: done}]\n    on_success: done"
    )

    plan = plan_of(text)

    assert state(plan, "work").routes[0].holds is None
    assert [one.split(":")[0] for one in plan.problems] == ["work"]


def test_variables_that_must_be_set_do_not_stop_a_plan(plan_of):
    text = steps("true").replace("inputs: []", "inputs: []\nenv: [HERE, GONE]")

    plan = plan_of(text, environment={"HERE": "1"})

    assert plan.environment.required == {"HERE": True, "GONE": False}
    assert plan.missing_env == ["GONE"]


# -- form ----------------------------------------------------------------------------------------------------------


def test_a_plan_survives_json(plan_of):
    plan = plan_of(calling("hi"), inner=CALLED)

    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_importing_the_plan_loads_nothing_heavy():
    heavy = "asyncio sqlite3 jinja2 rich cel yaml click jsonschema_rs"
    code = (
        f"import sys, awf.application.running.plan; print([m for m in '{heavy}'.split() if m in sys.modules])"
    )

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert result.stdout.strip() == "[]"
