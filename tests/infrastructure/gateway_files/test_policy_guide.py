"""The guide to policies says what is so."""

from __future__ import annotations

import re
from pathlib import Path

from awf.domain.decision_fields import FIELDS
from awf.domain.policy import ACTIONS, RISK_TAGS
from awf.infrastructure.expressions import ExpressionLanguage
from awf.infrastructure.gateway_files import read_gateway_file
from awf.infrastructure.yaml_files.config_file import read_record
from awf.infrastructure.yaml_files.nodes import parse_yaml

PAGE = (Path(__file__).parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")


def test_its_example_is_a_sound_file(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "gateway.yaml"
    path.write_text(example, encoding="utf-8")
    file, notes = read_gateway_file(
        str(path), read=read_record, parse=parse_yaml, conditions=ExpressionLanguage()
    )
    assert notes == []
    assert file.policy is not None
    assert len(file.policy.rules) == 4


def test_it_names_everything_that_conditions_see():
    promised = {
        f"{name}.{field}" if field else name for name, fields in FIELDS.items() for field in fields or ("",)
    }
    table = PAGE.split("## What conditions see")[1].split("\n## ")[0]
    named = {
        name
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`([^`]+)`", row)
    }
    assert named == promised


def test_it_names_every_action_and_risk_and_code():
    source = Path(__file__).parents[3] / "src/awf/application/gate/deciding.py"
    codes = set(re.findall(r'"(policy:[a-z_]+)"', source.read_text(encoding="utf-8")))
    assert codes == set(re.findall(r"^\| `(policy:[a-z_]+)` \|", PAGE, re.MULTILINE))
    for word in (*ACTIONS, *RISK_TAGS):
        assert f"`{word}`" in PAGE
