"""docs/plugins.md: its code works, and its tables name every key there is."""

from __future__ import annotations

import re
import subprocess
import sys
import typing
from pathlib import Path

import msgspec
import pytest

from awf.domain.plugin_file import ConfigKey, PluginEntry, PluginManifest, PluginsFile
from awf.infrastructure.yaml_files.config_file import read_record
from awf.plugin import testing

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def rows_of(record: type) -> list[str]:
    hints = typing.get_type_hints(record, include_extras=True)
    rows = []
    for field in msgspec.structs.fields(record):
        text = next(note for note in hints[field.name].__metadata__ if isinstance(note, str))
        rows.append(f"| `{field.encode_name}`{' (required)' if field.required else ''} | {text} |")
    return rows


@pytest.mark.parametrize("record", [PluginManifest, ConfigKey, PluginEntry])
def test_every_key_of_the_files_is_in_a_table_with_its_meaning(record):
    assert "\n".join(["| key | |", "|---|---|", *rows_of(record)]) in TEXT


def test_the_plugin_of_the_page_passes_the_test_of_the_page(tmp_path):
    (plugin,) = [code for code in blocks("python") if "plugin.serve()" in code]
    (test,) = [code for code in blocks("python") if "def test_greet" in code]
    (tmp_path / "plugin.py").write_text(plugin, encoding="utf-8")
    (tmp_path / "test_plugin.py").write_text(test, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_declarations_of_the_page_are_read(tmp_path):
    (declared,) = [text for text in blocks("yaml") if text.startswith("plugins:")]
    (tmp_path / "plugins.yaml").write_text(declared, encoding="utf-8")
    assert list(read_record(str(tmp_path / "plugins.yaml"), PluginsFile).plugins) == [
        "greeting", "kubernetes", "experiment",
    ]  # fmt: skip


def test_every_function_for_tests_is_on_the_page():
    for name in testing.__all__:
        assert f"`{name}" in TEXT or f" {name}" in TEXT, name


def test_every_link_of_the_page_leads_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (PAGE.parent / link).exists(), link
