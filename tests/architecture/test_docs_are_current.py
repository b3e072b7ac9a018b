"""The reference pages say what the sources say, their links lead somewhere, and their examples are valid."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest
import yaml

from awf.application.authoring.file_format import keys_of
from awf.application.authoring.json_schema import config_schema, step_template_schema
from awf.bootstrap import App
from awf.domain.catalogue import CATALOGUE
from awf.domain.events import EVENT_TYPES
from awf.domain.workflow import STATE_CLASSES, STATE_TYPES
from awf.interfaces.cli.app import COMMANDS
from awf.testing import docs
from awf.testing.reference.state_examples import CALLED, PLUGINS, STATE_EXAMPLES, whole_workflow

PROJECT = Path(__file__).parents[2]
REFERENCE = PROJECT / "docs" / "reference"
PAGES = [path for path in docs.pages() if path.endswith(".md")]
_YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_VARIABLE = re.compile(r"""["'\[ ](AWF_[A-Z_]+|OTEL_[A-Z_]+|NO_COLOR|TRACEPARENT)["'\] ]""")


@pytest.mark.parametrize("path", docs.pages())
def test_a_page_is_what_the_sources_make(path):
    assert (PROJECT / path).read_text(encoding="utf-8") == docs.pages()[path](), "run `make docs`"


def test_making_a_page_again_changes_nothing():
    assert {path: make() for path, make in docs.pages().items()} == {
        path: make() for path, make in docs.pages().items()
    }


def test_the_command_writes_what_is_missing_and_the_check_notices(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert docs.main(["--check"]) == 1
    assert docs.main([]) == 0
    assert docs.main(["--check"]) == 0
    (tmp_path / "docs/reference/errors.md").write_text("something else", encoding="utf-8")
    capsys.readouterr()
    assert docs.main(["--check"]) == 1
    assert capsys.readouterr().out == "docs/reference/errors.md is not current; run `make docs`.\n"


def anchors_of(text: str) -> list[str]:
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("path", PAGES)
def test_every_link_leads_to_exactly_one_place(path):
    text = (PROJECT / path).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        file, _, anchor = target.partition("#")
        page = (PROJECT / path).parent / file if file else PROJECT / path
        assert page.is_file(), target
        if anchor:
            assert anchors_of(page.read_text(encoding="utf-8")).count(anchor) == 1, target


def test_everything_has_its_place_in_the_pages():
    workflow = (REFERENCE / "workflow.md").read_text(encoding="utf-8")
    errors = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    events = (REFERENCE / "events.md").read_text(encoding="utf-8")
    for cls in STATE_TYPES.values():
        assert f"\n### {cls.kind}\n" in workflow
        assert all(f"| `{key.key}` |" in workflow and key.description in workflow for key in keys_of(cls))
    assert all(f"\n#### {code}\n" in errors and entry.remedy in errors for code, entry in CATALOGUE.items())
    assert all(f"\n## {cls.__struct_config__.tag}\n" in events for cls in EVENT_TYPES)


def test_every_command_has_its_help_in_eighty_columns():
    text = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        if find_spec(f"awf.interfaces.cli.commands.{name.replace('-', '_')}") is None:
            continue
        assert f"\n## awf {name}\n\n```text\nUsage: awf {name} " in text
    assert (
        max(
            len(line)
            for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL)
            for line in block.splitlines()
        )
        <= 80
    )


def test_every_environment_variable_of_the_sources_is_described():
    sources = [file for file in (PROJECT / "src/awf").rglob("*.py") if "testing" not in file.parts]
    used = {name for file in sources for name in _VARIABLE.findall(file.read_text(encoding="utf-8"))}
    text = (REFERENCE / "config.md").read_text(encoding="utf-8")
    assert used == set(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE))


# -- examples ------------------------------------------------------------------------------------------------------


def problems_of(text: str, folder: Path) -> list:
    (folder / "build.yaml").write_text(CALLED, encoding="utf-8")
    (folder / ".awf").mkdir(exist_ok=True)
    (folder / ".awf" / "plugins.yaml").write_text(PLUGINS, encoding="utf-8")
    (folder / "page.yaml").write_text(text, encoding="utf-8")
    app = App(cwd=str(folder), environment={"HOME": str(folder)})
    return app.validator.problems(app.library.load(str(folder / "page.yaml")))


@pytest.mark.parametrize("kind", STATE_EXAMPLES)
def test_the_example_of_a_state_type_is_valid_and_shown(kind, tmp_path):
    assert problems_of(whole_workflow(STATE_EXAMPLES[kind]), tmp_path) == []
    assert f"```yaml\n{STATE_EXAMPLES[kind]}```" in (REFERENCE / "workflow.md").read_text(encoding="utf-8")
    assert f"type: {'database.query' if kind == 'plugin' else kind}\n" in STATE_EXAMPLES[kind]


def test_every_state_type_has_an_example():
    assert STATE_EXAMPLES.keys() == {cls.kind for cls in STATE_CLASSES}


def test_whole_examples_on_the_workflow_page_are_valid(tmp_path):
    whole = [
        text
        for text in _YAML.findall((REFERENCE / "workflow.md").read_text(encoding="utf-8"))
        if text.startswith("name:")
    ]
    assert whole
    for text in whole:
        assert problems_of(text, tmp_path) == []


def test_other_examples_on_the_pages_have_the_right_form(tmp_path):
    blocks = _YAML.findall((REFERENCE / "workflow.md").read_text(encoding="utf-8"))
    templates = [yaml.safe_load(text) for text in blocks if text.startswith("# .awf/templates")]
    assert len(templates) == 1
    jsonschema.Draft202012Validator(step_template_schema()).validate(templates[0])
    block = next(text for text in blocks if "  agent:\n" in text)
    assert problems_of(whole_workflow(block), tmp_path) == []
    (config,) = _YAML.findall((REFERENCE / "config.md").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(config_schema()).validate(yaml.safe_load(config))
