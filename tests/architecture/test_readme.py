"""What the README shows works."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_workflow_of_the_readme_is_valid(lab):
    (block,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    assert [problem.message for problem in lab.problems(block)] == []


async def test_the_first_workflow_of_the_readme_runs(lab):
    (block,) = re.findall(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    lab.write("price.py", "")
    lab.write("Makefile", "test:\n\t@echo wrong; exit 1\n")
    ran = await lab.run(block, {"file": "price.py"}, approve_all=True)
    assert ran.outcome.status == "completed", ran.outcome.error
    assert ran.outcome.message.startswith("Finished after")


def test_the_readme_is_short_and_its_links_lead_somewhere():
    assert len(README.splitlines()) <= 130
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_commands_of_the_readme_are_targets_of_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^\$ make (\S+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
