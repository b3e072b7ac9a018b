"""Templates of the first AWF, in Go's language."""

from __future__ import annotations

import pytest

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions import ExpressionLanguage
from awf.infrastructure.expressions.legacy import normalise_template


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{{.inputs.x}}", "{{inputs.x}}"),
        ("{{ .inputs.x }}", "{{ inputs.x }}"),
        ("{{- .inputs.x -}}", "{{- inputs.x -}}"),
        ("{{$.inputs.x}}", "{{inputs.x}}"),
        ("{{states.x.Output}}", "{{states.x.output}}"),
        ("{{.states.my-step.Output}}", "{{states['my-step'].output}}"),
        ("{{.states.x.Stderr}}", "{{states.x.stderr}}"),
        ("{{.states.x.ExitCode}}", "{{states.x.exit_code}}"),
        ("{{.states.x.Status}}", "{{states.x.status}}"),
        ("{{.states.x.Response.Key}}", "{{states.x.response.Key}}"),
        ("{{.states.x.JSON.some.Key}}", "{{states.x.json.some.Key}}"),
        ("{{.states.x.TokensUsed}}", "{{states.x.usage.tokens}}"),
        ("{{.states.x.TokensInput}}", "{{states.x.usage.input_tokens}}"),
        ("{{.states.x.TokensOutput}}", "{{states.x.usage.output_tokens}}"),
        ("{{.workflow.ID}} {{.workflow.Name}}", "{{workflow.id}} {{workflow.name}}"),
        ("{{.workflow.CurrentState}}", "{{workflow.current_state}}"),
        ("{{.workflow.StartedAt}}{{workflow.Duration}}", "{{workflow.started_at}}{{workflow.duration}}"),
        ("{{.context.WorkingDir}}", "{{context.working_dir}}"),
        ("{{.context.User}}@{{context.Hostname}}", "{{context.user}}@{{context.hostname}}"),
        ("{{.error.Message}} {{.error.State}}", "{{error.message}} {{error.state}}"),
        ("{{.error.ExitCode}} {{.error.Type}}", "{{error.exit_code}} {{error.type}}"),
        ("{{.loop.Item.Name}}", "{{loop.item.Name}}"),
        ("{{.loop.Index}} {{.loop.Index1}}", "{{loop.index}} {{loop.index1}}"),
        ("{{.loop.First}}{{.loop.Last}}{{.loop.Length}}", "{{loop.first}}{{loop.last}}{{loop.length}}"),
        ("{{.loop.Parent.Parent.Item}}", "{{loop.parent.parent.item}}"),
        ("{{.env.HOME}} {{.awf.scripts_dir}}", "{{env.HOME}} {{awf.scripts_dir}}"),
        ("{{.inputs.Output}}", "{{inputs.Output}}"),
        ("{{.states.Output.Output}}", "{{states.Output.output}}"),
        ("{{escape .inputs.x}}", "{{ inputs.x|shellquote }}"),
        ("{{ json .states.x.JSON }}", "{{ states.x.json|tojson }}"),
        ("{{trimSpace .states.x.Output}}", "{{ states.x.output|trim }}"),
        ('{{split .inputs.x ","}}', '{{ inputs.x|split(",") }}'),
        ("{{split .inputs.x `,`}}", "{{ inputs.x|split(',') }}"),
        ('{{join .inputs.xs ", "}}', '{{ inputs.xs|join(", ") }}'),
        ("{{ .inputs.x | escape }}", "{{ inputs.x | shellquote }}"),
        ("{{ .inputs.x | trimSpace | json }}", "{{ inputs.x | trim | tojson }}"),
        ("{{ escape (trimSpace .inputs.x) }}", "{{ (inputs.x|trim)|shellquote }}"),
        ("{{ trimSpace .inputs.x | escape }}", "{{ inputs.x|trim|shellquote }}"),
        ("{{ len .inputs.xs }}", "{{ inputs.xs|length }}"),
        ("{{ eq .a .b | json }}", "{{ (a == b)|tojson }}"),
        ("{{ `a` }}", "{{ 'a' }}"),
        ("{{ index .inputs.xs 0 }}", "{{ inputs.xs[0] }}"),
        ("{{ .inputs.x | upper }}", "{{ inputs.x | upper }}"),
        ("{{ .inputs.x | default('y') }}", "{{ inputs.x | default('y') }}"),
        ("{{/* it's a note */}}x", "{# #}x"),
        ("a {{- /* note */ -}} b", "a {#- -#} b"),
        ("{% if .states.my-step.ExitCode == 0 %}", "{% if states['my-step'].exit_code == 0 %}"),
    ],
)
def test_old_forms_are_put_the_new_way(old, new):
    assert normalise_template(old) == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{{if .inputs.x}}a{{end}}", "{% if inputs.x %}a{% endif %}"),
        ("{{- if .inputs.x -}}a{{- end -}}", "{%- if inputs.x -%}a{%- endif -%}"),
        ("{{if eq .inputs.x 1}}a{{else}}b{{end}}", "{% if inputs.x == 1 %}a{% else %}b{% endif %}"),
        ("{{if ne .inputs.x `y`}}a{{end}}", "{% if inputs.x != 'y' %}a{% endif %}"),
        (
            "{{if lt .inputs.x 1}}a{{else if ge .inputs.x 5}}b{{end}}",
            "{% if inputs.x < 1 %}a{% elif inputs.x >= 5 %}b{% endif %}",
        ),
        ("{{if le .a 1}}{{end}}{{if gt .a 1}}{{end}}", "{% if a <= 1 %}{% endif %}{% if a > 1 %}{% endif %}"),
        ("{{if and .a .b .c}}x{{end}}", "{% if a and b and c %}x{% endif %}"),
        ("{{if or .a (not .b)}}x{{end}}", "{% if a or (not b) %}x{% endif %}"),
        ("{{if not .a}}x{{end}}", "{% if not a %}x{% endif %}"),
        ("{{if not (eq .a .b)}}x{{end}}", "{% if not (a == b) %}x{% endif %}"),
        ("{{if eq .a 1 2}}x{{end}}", "{% if a == 1 or a == 2 %}x{% endif %}"),
        ("{{if and (eq .a 1) (ne .b nil)}}x{{end}}", "{% if (a == 1) and (b != none) %}x{% endif %}"),
        ("{{if eq (len .a) 2}}x{{end}}", "{% if (a|length) == 2 %}x{% endif %}"),
        ("{{if eq (trimSpace .a) `x`}}y{{end}}", "{% if (a|trim) == 'x' %}y{% endif %}"),
        ("{{if .a}}{{if .b}}x{{end}}{{end}}", "{% if a %}{% if b %}x{% endif %}{% endif %}"),
    ],
)
def test_old_conditionals_are_put_the_new_way(old, new):
    assert normalise_template(old) == new


@pytest.mark.parametrize(
    "text",
    [
        "plain {text} with .inputs.x and states.x.Output outside",
        "{{ inputs.x }}",
        "{{ inputs.x | join(',') }} {{ x is eq 3 }} {{ x is not eq 3 }}",
        "{{ '.inputs.x states.my-step.Output' }}",
        '{{ "{{.inputs.x}}" }}',
        "{% raw %}{{.inputs.x}}{{range .x}}{% endraw %}",
        "{# {{.inputs.x}} #}",
        "{{ range(3) }} {{ dict(a=1) }}",
        "{{ not inputs.a and inputs.b }}",
        "{{ foo(x).Output }}",
        "{{ loop.index-1 }}",
        "{{ end }}",
        "{% set index = 1 %}{{ index + 1 }}",
        "{{ a if b else c }}",
        "{{ x.json['Output'].y }}",
    ],
)
def test_what_is_jinja_already_stays_as_it_is(text):
    assert normalise_template(text) == text


@pytest.mark.parametrize(
    ("text", "offset", "hint"),
    [
        ("a {{range .inputs.xs}}{{.}}{{end}}", 4, "{% for item in inputs.xs %}"),
        ("{{ range $i, $x := .inputs.xs }}", 3, "{% for item in"),
        ("{{with .inputs.x}}{{end}}", 2, "{% if inputs.x %}"),
        ('{{define "x"}}', 2, "{% macro"),
        ('{{template "x" .}}', 2, "{% macro"),
        ('{{block "x" .}}', 2, "{% macro"),
        ('{{ readFile "x" }}', 3, "prompt_file"),
        ("{{ readFile .inputs.path | json }}", 3, "prompt_file"),
        ('{{ printf "%d" .inputs.x }}', 3, "format("),
        ("{{ html .x }}", 3, "| e"),
        ("{{ $x := .inputs.y }}", 3, "{% set"),
        ("{{ . }}", 3, "loop.item"),
        ('{{ .inputs.x | default "y" }}', 15, "default('x')"),
        ('{{ .inputs.x | split "," }}', 15, ""),
        ("{{ .inputs.x | frobnicate 1 }}", 15, "brackets"),
        ("{{ eq .a }}", 3, ""),
        ("{{ eq .a . }}", 9, ""),
        ("{{ eq .a 1) }}", 10, ""),
        ("{{ eq .a 1 | }}", 11, ""),
        ("{{ frobnicate .a | escape .b }}", 3, "brackets"),
        ("{{ eq 1 (.a] }}", 11, ""),
        ("{{ lt 1 2 3 }}", 3, ""),
        ("{{ escape .a .b }}", 3, ""),
        ("{{ eq (.a .b }}", 0, ""),
        ("{{if .a}}", 0, "{{end}}"),
        ("{{else}}", 0, ""),
        ("x{{else if .a}}", 1, ""),
    ],
)
def test_what_cannot_be_put_another_way_says_how_to_write_it(text, offset, hint):
    with pytest.raises(ExpressionError) as caught:
        ExpressionLanguage().template(text)
    assert caught.value.offset == offset
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{if eq .states.my-step.Status `success`}}ok{{else}}bad{{end}}", "ok"),
        ("{{if and .inputs.flag (gt .states.my-step.ExitCode 0)}}a{{else if .inputs.flag}}b{{end}}", "b"),
        ("cat {{escape .inputs.file}}", "cat 'a b'"),
        ('{{join (split .inputs.list ",") "-"}}', "a-b"),
        ("{{json .states.my-step.JSON}}", '{"k":[1]}'),
        ("x {{- if .inputs.flag }} yes {{ end -}} y", "x yes y"),
        ("{{if .inputs.empty}}a{{else}}b{{end}}", "b"),
    ],
)
def test_old_templates_come_to_what_they_came_to(text, expected):
    context = {
        "inputs": {"flag": True, "file": "a b", "list": " a ,b", "empty": ""},
        "states": {"my-step": {"status": "success", "exit_code": 0, "json": {"k": [1]}}},
    }
    assert ExpressionLanguage().template(text).render(context) == expected


def test_errors_in_old_forms_point_into_the_original():
    template = ExpressionLanguage().template("{{if eq .inputs.a 1}}{{end}}{{escape .states.x.Output}}")
    assert [(r.parts, r.offset) for r in template.references] == [
        (("inputs", "a"), 9),
        (("states", "x", "output"), 38),
    ]
    with pytest.raises(ExpressionError) as caught:
        template.render({"inputs": {"a": 1}, "states": {}})
    assert (caught.value.message, caught.value.offset) == ("states.x.output is not defined", 38)
