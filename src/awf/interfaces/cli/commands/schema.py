"""`awf schema`."""

from __future__ import annotations

import click

from awf.interfaces.cli.options import echo_json

_HELP = """Print the JSON Schema of a kind of FILE: workflow (the default), config or template.

Editors complete and check files with it; the first line of a YAML file tells them where it is:

\b
awf schema > .awf/workflow.schema.json
# yaml-language-server: $schema=../workflow.schema.json
"""


@click.command(help=_HELP)
@click.argument("file", type=click.Choice(["workflow", "config", "template"]), default="workflow")
def command(file: str) -> int:
    from awf.application.authoring.json_schema import config_schema, step_template_schema, workflow_schema

    schemas = {"workflow": workflow_schema, "config": config_schema, "template": step_template_schema}
    echo_json(schemas[file]())
    return 0
