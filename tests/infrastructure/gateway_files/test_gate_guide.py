"""The guide to the gate says what is so."""

from __future__ import annotations

import re
from pathlib import Path

from awf.infrastructure.expressions import ExpressionLanguage
from awf.infrastructure.gateway_files import read_gateway_file
from awf.infrastructure.yaml_files.config_file import read_record
from awf.infrastructure.yaml_files.nodes import parse_yaml

PAGE = (Path(__file__).parents[3] / "docs" / "gate.md").read_text(encoding="utf-8")


def test_its_example_is_a_sound_file(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "gateway.yaml"
    path.write_text(example, encoding="utf-8")
    file, notes = read_gateway_file(
        str(path), read=read_record, parse=parse_yaml, conditions=ExpressionLanguage()
    )
    assert notes == []
    assert file.overrides["builtin:Bash"].requires_confirmation
    assert file.servers["files"].sandbox == "workspace"
