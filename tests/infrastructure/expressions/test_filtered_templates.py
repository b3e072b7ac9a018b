"""Paths with well-known filters are understood without Jinja, and exactly as Jinja understands them."""

from __future__ import annotations

import pytest

from awf.infrastructure.expressions.templates.environment import environment
from awf.infrastructure.expressions.templates.filtered import FILTERS, filtered_template
from awf.infrastructure.expressions.templates.jinja import compile_jinja

UNDERSTOOD = [
    "{{ states.a.output | trim }}",
    "x {{ inputs.who | upper }} y {{ states.b-c.json.k[0] | default('none') | lower }} z",
    "{{ inputs.n|int }}{{ vars.v | replace('a', \"b\") }} {{ env.HOME }}",
    "{{ states['odd name'].output | split(',') | join('; ') | shellquote }}",
    "{{ states.x.Output | trim }}",
    "{{ loop.item | truncate(10) }}",
    "{{ inputs.text | indent(-2) }} {{ states.a.output|lines|length }}",
]
LEFT_TO_JINJA = [
    "{{ states.a.output | nosuchfilter }}",
    "{{ states.a.output | trim | default('') }}",
    "{{ inputs.a + 1 }}",
    "{{ inputs.a | default(inputs.b) }}",
    "{% if inputs.a %}{{ inputs.a | trim }}{% endif %}",
    "{{ .inputs.a | escape }}",
    "{{ 'x' | upper }}",
    "{{ inputs.a | replace('}}', 'x') }}",
    "{{ inputs.a | trim",
    "{{ true | string }}",
]


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_references_are_those_that_jinja_finds(text):
    fast = filtered_template(text)
    assert fast is not None
    assert sorted(fast.references, key=lambda r: r.offset) == sorted(
        compile_jinja(text).references, key=lambda r: r.offset
    )


@pytest.mark.parametrize("text", LEFT_TO_JINJA)
def test_what_is_not_sure_is_left_to_jinja(text):
    assert filtered_template(text) is None


def test_it_renders_what_jinja_renders():
    context = {"inputs": {"who": "ada"}, "states": {"a": {"output": " x "}}}
    assert (
        filtered_template("{{ inputs.who | upper }}:{{ states.a.output | trim }}").render(context) == "ADA:x"
    )
    assert filtered_template("{{ inputs.who | length }}").value(context) == 3


def test_every_filter_it_knows_exists():
    assert set(environment().filters) >= FILTERS
