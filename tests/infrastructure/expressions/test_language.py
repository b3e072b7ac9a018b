"""The language as a whole: its port, its memory, what it loads."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from awf.domain.ports.expressions import CompiledCondition, CompiledTemplate, ExpressionError, Expressions
from awf.infrastructure.expressions import ExpressionLanguage


def loaded_after(code: str) -> set[str]:
    """The modules a fresh interpreter has loaded after running the code."""
    script = f"import sys\n{code}\nprint(*sorted(sys.modules), sep=chr(10))"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=60
    )
    return set(done.stdout.splitlines())


START = "from awf.infrastructure.expressions import ExpressionLanguage\nlanguage = ExpressionLanguage()\n"


def test_it_is_what_the_port_asks_for():
    language: Expressions = ExpressionLanguage()
    template: CompiledTemplate = language.template("{{ inputs.a }}")
    condition: CompiledCondition = language.condition("inputs.a == 1")
    assert template.value({"inputs": {"a": 1}}) == 1
    assert condition.holds({"inputs": {"a": 1}})


def test_plain_templates_and_reading_conditions_load_neither_jinja_nor_cel():
    modules = loaded_after(
        START
        + "language.template('{{ inputs.a }} {{.states.my-step.Output}}').render({'inputs': {'a': 1}, 'states': {'my-step': {'output': 1}}})\n"
        + "language.condition('inputs.a == 1').references"
    )
    assert not {"jinja2", "cel", "cel.cel", "json", "asyncio"} & modules


def test_evaluating_a_condition_loads_the_library_without_its_command_line():
    modules = loaded_after(START + "assert language.condition('inputs.a == 1').holds({'inputs': {'a': 1}})")
    assert "cel.cel" in modules
    assert not {"cel.cli", "typer", "rich"} & modules


@pytest.mark.parametrize(
    "code",
    [
        "language.condition('true').holds({})\nimport cel\nassert cel.evaluate('1 + 1') == 2",
        "import cel\nassert language.condition('true').holds({})",
    ],
)
def test_the_library_can_be_used_by_others_in_the_same_process(code):
    assert "cel.cel" in loaded_after(START + code)


def test_the_whole_package_is_used_if_its_core_cannot_be_found():
    code = (
        "from awf.infrastructure.expressions.conditions import library\n"
        "library.PathFinder = type('Nothing', (), {'find_spec': staticmethod(lambda *_: None)})\n"
        "assert language.condition('inputs.a == 1').holds({'inputs': {'a': 1}})"
    )
    assert "cel.cli" in loaded_after(START + code)


def test_what_was_compiled_is_remembered_within_bounds():
    language = ExpressionLanguage(remembered=2)
    first = language.template("{{ inputs.a }}")
    assert language.template("{{ inputs.a }}") is first
    language.template("b")
    language.template("c")
    assert language.template("{{ inputs.a }}") is not first
    condition = language.condition("true")
    assert language.condition("true") is condition


def test_few_long_texts_are_remembered():
    language = ExpressionLanguage(remembered=128)
    first = language.template("x" * 20_000)
    assert language.template("x" * 20_000) is first
    language.template("y" * 20_000)
    assert language.template("x" * 20_000) is not first


def test_an_error_is_found_again_when_asked_again():
    language = ExpressionLanguage()
    for _ in range(2):
        with pytest.raises(ExpressionError):
            language.template("{{ oops")
        with pytest.raises(ExpressionError):
            language.condition("oops ==")


def test_compiled_expressions_are_shared_between_threads():
    language = ExpressionLanguage()
    condition = language.condition("lower(inputs.a) == 'x' && inputs.b > 1")
    template = language.template("{% if inputs.b %}{{ inputs.a | upper }}{% endif %}")
    context = {"inputs": {"a": "X", "b": 2}}
    results: list[object] = []

    def work() -> None:
        results.extend((condition.holds(context), template.render(context)) for _ in range(50))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert results == [(True, "X")] * 300
