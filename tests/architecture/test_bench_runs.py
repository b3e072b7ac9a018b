"""The benchmarks keep working. Their figures are for people; no test judges a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
HEADINGS = ["what", "ours", "reference", "ratio", "must", "aim", "verdict"]


def run_bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
        check=False,
    )


def test_the_quick_benchmarks_print_a_table_and_write_json(tmp_path):
    names = ["help", "validate", "engine", "large", "events", "processes"]
    result = run_bench(
        *names, "--quick", "--strict", "--work", str(tmp_path), "--json", str(tmp_path / "result.json")
    )
    assert result.returncode == 0, result.stderr
    head, line, *rows = [text.split("|") for text in result.stdout.split("\n\n")[0].splitlines()]
    assert [cell.strip() for cell in head] == HEADINGS
    assert set("".join(line)) == {"-"}
    assert {len(row) for row in rows} == {len(HEADINGS)}
    written = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert [row["what"].strip() for row in written["rows"]] == [row[0].strip() for row in rows]
    assert any("awf validate small.yaml" in row["what"] for row in written["rows"])
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_an_unknown_benchmark_is_refused_with_the_names_there_are():
    result = run_bench("speed")
    assert result.returncode == 2
    assert "speed" in result.stderr
    assert "engine" in result.stderr


@pytest.mark.parametrize(
    ("value", "verdict"), [(1.2, "aim met"), (1.7, "must met"), (1.9, "MISSED"), (None, "reported")]
)
def test_a_row_is_judged_by_its_limits(monkeypatch, value, verdict):
    monkeypatch.syspath_prepend(str(PROJECT))
    from bench.rows import Limits, Row

    assert Row("what", "ours", "reference", value, Limits(1.8, 1.5)).verdict == verdict
