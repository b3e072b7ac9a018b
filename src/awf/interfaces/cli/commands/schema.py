"""`awf schema`."""

from __future__ import annotations

import click

from awf.interfaces.cli.options import echo_json


@click.command()
@click.argument("file", type=click.Choice(["workflow", "config", "template"]), default="workflow")
def command(file: str) -> int:
    """Print the JSON Schema of a kind of FILE: workflow (the default), config or template.

    Editors complete and check files with it. For YAML files the first line names it:

    \b
    awf schema > .awf/workflow.schema.json
    # yaml-language-server: $schema=../workflow.schema.json
    """
    from awf.application.authoring.json_schema import config_schema, step_template_schema, workflow_schema

    schemas = {"workflow": workflow_schema, "config": config_schema, "template": step_template_schema}
    echo_json(schemas[file]())
    return 0
