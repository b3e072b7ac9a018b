"""What templates say they refer to."""

from __future__ import annotations

import pytest

from awf.infrastructure.expressions import ExpressionLanguage


def references(text: str) -> list[str]:
    """Each as ``path@offset``, with a question mark if it is guarded."""
    found = ExpressionLanguage().template(text).references
    return [f"{'.'.join(r.parts)}@{r.offset}{'?' * r.guarded}" for r in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", []),
        ("{{ inputs.a }}-{{.states.b.Output}}", ["inputs.a@3", "states.b.output@18"]),
        ("{{ inputs.a ~ inputs.b.c }}", ["inputs.a@3", "inputs.b.c@14"]),
        ("{{ states.my-step.json.0.x | upper }}", ["states.my-step.json.0.x@3"]),
        ("{{ states['my-step'][0].x | upper }}", ["states.my-step.0.x@3"]),
        ("{{ states[inputs.which].output }}", ["states@3", "inputs.which@10"]),
        ("{{ states.a.json[-1].x }}", ["states.a.json@3"]),
        ("{{ states.a.json[1:2] }}", ["states.a.json@3"]),
        ("{{ inputs.file.upper() }}", ["inputs.file@3"]),
        ("{{ inputs.a.split(inputs.b) }}", ["inputs.a@3", "inputs.b@18"]),
        ("{{ inputs.a | replace(inputs.b, inputs.c) }}", ["inputs.a@3", "inputs.b@22", "inputs.c@32"]),
        ("{{ range(inputs.n) }}", ["inputs.n@9"]),
        ("{{ unknown }}", ["unknown@3"]),
        ("{{ [inputs.a, {'k': inputs.b}] }}", ["inputs.a@4", "inputs.b@20"]),
        ("{{ (inputs.a or {}).b }}", ["inputs.a@4?"]),
        ("a\r\n{{ inputs.a + 1 }}\r\n{{ inputs.b + 1 }}", ["inputs.a@6", "inputs.b@26"]),
        ("é🙂{{ inputs.a | e }}", ["inputs.a@5"]),
        ("{# {{ inputs.a }} #}{{ inputs.b }}", ["inputs.b@23"]),
        ("{% raw %}{{ inputs.a }}{% endraw %}", []),
        ("{{ 'inputs.a' ~ \"{{ inputs.b }}\" }}", []),
        ("{{ inputs.a is divisibleby inputs.b }}", ["inputs.a@3", "inputs.b@27"]),
    ],
)
def test_paths_from_the_context_are_listed_in_order(text, expected):
    assert references(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% set x = inputs.a %}{{ x.b }}", ["inputs.a@11"]),
        ("{{ x }}{% set x = 1 %}{{ x }}", ["x@3"]),
        ("{% set x %}{{ inputs.a }}{% endset %}{{ x }}", ["inputs.a@14"]),
        (
            "{% for i in inputs.xs %}{{ i }}{{ loop.index }}{% endfor %}{{ loop.index }}",
            ["inputs.xs@12", "loop.index@62"],
        ),
        ("{% for k, v in inputs.xs %}{{ k }}{{ v.w }}{% endfor %}{{ k }}", ["inputs.xs@15", "k@58"]),
        (
            "{% for i in inputs.xs if i.ok and inputs.y %}{% else %}{{ i }}{% endfor %}",
            ["inputs.xs@12", "inputs.y@34", "i@58"],
        ),
        (
            "{% macro m(a, b=inputs.x) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}",
            ["inputs.x@16", "c@45"],
        ),
        ("{% with a = inputs.x %}{{ a }}{% endwith %}{{ a }}", ["inputs.x@12", "a@46"]),
        ("{% call(u) m(inputs.a) %}{{ u }}{% endcall %}", ["m@11", "inputs.a@13"]),
        ("{% filter upper %}{{ inputs.a }}{% endfilter %}", ["inputs.a@21"]),
        ("{% set ns = namespace(n=inputs.a) %}{{ ns.n }}", ["inputs.a@24"]),
        ("{% for i in [1] %}{% set x = 1 %}{% endfor %}{{ x }}", ["x@48"]),
    ],
)
def test_names_the_template_binds_are_not_references(text, expected):
    assert references(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ inputs.a | default('x') }}", ["inputs.a@3?"]),
        ("{{ inputs.a | d(inputs.b) }}", ["inputs.a@3?", "inputs.b@16"]),
        ("{{ inputs.a | upper | default('x') }}", ["inputs.a@3"]),
        ("{{ states[inputs.s].x | default('') }}", ["states@3?", "inputs.s@10"]),
        ("{{ inputs.a is defined }}", ["inputs.a@3?"]),
        ("{{ inputs.a is not defined }}", ["inputs.a@3?"]),
        ("{{ inputs.a is undefined }}", ["inputs.a@3?"]),
        ("{{ inputs.a or inputs.b }}", ["inputs.a@3?", "inputs.b@15"]),
        ("{{ inputs.a or inputs.b or 'c' }}", ["inputs.a@3?", "inputs.b@15?"]),
        ("{{ inputs.a and inputs.b }}", ["inputs.a@3", "inputs.b@16"]),
        ("{{ inputs.a is defined and inputs.a.b == 1 }}", ["inputs.a@3?", "inputs.a.b@27?"]),
        ("{{ inputs.a is not defined or inputs.a == 1 }}", ["inputs.a@3?", "inputs.a@30?"]),
        ("{{ inputs.a if inputs.a is defined else inputs.b }}", ["inputs.a@15?", "inputs.a@3?", "inputs.b@40"]),
        ("{{ 1 if inputs.a is not defined else inputs.a }}", ["inputs.a@8?", "inputs.a@37?"]),
        ("{% if states.x is defined %}{{ states.x.output }}{{ states.y.output }}{% endif %}", ["states.x@6?", "states.x.output@31?", "states.y.output@52"]),
        ("{% if states.x.json.k is defined %}{{ states.x.json }}{% endif %}", ["states.x.json.k@6?", "states.x.json@38?"]),
        ("{% if states.x is not defined %}{{ states.x }}{% else %}{{ states.x }}{% endif %}", ["states.x@6?", "states.x@35", "states.x@59?"]),
        ("{% if not (a is defined) %}{{ a }}{% elif b %}{{ a }}{% else %}{{ a }}{% endif %}", ["a@11?", "a@30", "b@42", "a@49?", "a@66?"]),
        ("{% if 'x' in states %}{{ states.x.output }}{% endif %}{{ states.x.output }}", ["states@13", "states.x.output@25?", "states.x.output@57"]),
        ("{% if inputs.a %}{{ inputs.a }}{% endif %}", ["inputs.a@6", "inputs.a@20"]),
        ("{% if a is undefined %}{% else %}{{ a }}{% endif %}", ["a@6?", "a@36?"]),
        ("{% if a is defined or b is defined %}{{ a }}{% endif %}", ["a@6?", "b@22?", "a@40"]),
    ],
)  # fmt: skip
def test_paths_that_may_be_missing_are_marked(text, expected):
    assert references(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{{ inputs.a | default('x') }}",
        "{{ inputs.a.b.c is defined }}",
        "{{ inputs.a.b or inputs.c.d or 'x' }}",
        "{{ inputs.a is defined and inputs.a.b == 1 }}",
        "{{ inputs.a is not defined or inputs.a == 1 }}",
        "{% if states.x is defined %}{{ states.x.output }}{% endif %}",
        "{% if 'x' in states %}{{ states.x.output }}{% endif %}",
        "{{ 1 if inputs.a is not defined else inputs.a }}",
    ],
)
def test_a_path_marked_as_guarded_really_may_be_missing(text):
    template = ExpressionLanguage().template(text)
    template.render({"inputs": {}, "states": {}})
    assert any(reference.guarded for reference in template.references)
