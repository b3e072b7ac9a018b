"""What `awf init` and `awf new` write must be valid, as it stands and for every name."""

from __future__ import annotations

import re

import jsonschema
import pytest
import yaml

from awf.application.authoring.json_schema import workflow_schema
from awf.application.authoring.scaffold import PATTERN_NAMES, first_project, new_workflow
from awf.bootstrap import App
from awf.domain.errors import AwfError
from awf.domain.settings import ConfigFile
from awf.infrastructure.yaml_files.config_file import read_config
from awf.interfaces.cli.commands.new import command as new_command

NAMES = ["review", "team/review", "a/b/c-d_e.f", "null", "true", "42", "no"]


def app_with(folder, files) -> App:
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    return App(cwd=str(folder), environment={"HOME": str(folder / "home")})


@pytest.mark.parametrize("pattern", PATTERN_NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_is_valid_under_every_name(pattern, name, tmp_path):
    app = app_with(tmp_path, new_workflow(name, pattern))
    assert app.validator.problems(app.library.load(name)) == []
    assert app.program(name).main.name == name


@pytest.mark.parametrize("pattern", PATTERN_NAMES)
def test_every_pattern_has_the_form_that_its_own_schema_asks_for(pattern):
    written = new_workflow("review", pattern)[0].text
    jsonschema.Draft202012Validator(workflow_schema()).validate(yaml.safe_load(written))


@pytest.mark.parametrize("name", ["review", "team/review", "a/b/c/d"])
def test_the_first_line_leads_an_editor_to_the_schema(name, tmp_path):
    workflow, schema = new_workflow(name, "steps")
    app_with(tmp_path, [workflow, schema])
    found = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", workflow.text.splitlines()[0])
    assert found is not None
    pointed_at = (tmp_path / workflow.path).parent / found.group(1)
    assert pointed_at.resolve() == (tmp_path / schema.path).resolve()


def test_an_ending_is_not_part_of_the_name():
    assert new_workflow("review.yaml", "steps") == new_workflow("review", "steps")
    assert new_workflow("review.yml", "steps") == new_workflow("review", "steps")


@pytest.mark.parametrize(
    "name", ["", "/etc/passwd", "../up", "a/../b", "a//b", "a/", ".hidden", "two words", "a\nb", "x:y"]
)
def test_a_name_that_would_leave_the_folder_or_cannot_be_run_is_refused(name):
    with pytest.raises(AwfError) as caught:
        new_workflow(name, "steps")
    assert caught.value.code == "USER.INPUT.USAGE"


def test_an_unknown_pattern_is_refused_with_a_suggestion():
    with pytest.raises(AwfError) as caught:
        new_workflow("review", "paralel")
    assert "parallel" in caught.value.hint


def test_the_command_offers_exactly_the_patterns_that_exist():
    option = next(parameter for parameter in new_command.params if parameter.name == "pattern")
    assert tuple(option.type.choices) == PATTERN_NAMES


def test_the_first_project_is_valid(tmp_path):
    app = app_with(tmp_path, first_project())
    assert app.validator.problems(app.library.load("example")) == []
    assert app.settings.inputs.value == {}


def uncommented(text: str) -> str:
    """The configuration file with every setting switched on."""
    settings = [re.sub(r"^# ( *[a-z_]+:)", r"\1", line) for line in text.splitlines()]
    return "\n".join(line for line in settings if re.match(r" *[a-z_]+:", line))


def test_the_configuration_file_shows_every_setting_and_each_can_be_switched_on(tmp_path):
    text = next(file.text for file in first_project() if file.path.endswith("config.yaml"))
    (tmp_path / "config.yaml").write_text(uncommented(text), encoding="utf-8")
    config = read_config(str(tmp_path / "config.yaml"))
    assert config is not None
    everything = yaml.safe_load(uncommented(text))
    assert everything.keys() == set(ConfigFile.__struct_fields__)
    assert everything["log"].keys() == set(type(config.log).__struct_fields__)
    assert everything["telemetry"].keys() == set(type(config.telemetry).__struct_fields__)
