"""Checking a workflow of ten thousand lines: the whole command, and what each part of it takes."""

from __future__ import annotations

import contextlib
import gc
from typing import TYPE_CHECKING, Any
from unittest import mock

from bench import workflows
from bench.in_process import new_app
from bench.measuring import interleaved, timed
from bench.profiling import profile_note
from bench.rows import Limits, Row, compared, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.stage import Stage

__all__ = ["run"]


def run(stage: Stage) -> list[Row]:
    text = workflows.large(101 if not stage.quick else 5)
    file = stage.write("large.yaml", text)
    parts = _parts(stage, file, text)
    measured = {name: _cost(work) for name, work in parts.items()}
    with _as_if_fresh():
        taken = interleaved(stage.rounds(11), {"whole": stage.awf("validate", file), **measured})
    compose = taken["compose"]
    if stage.profile:
        stage.notes.append(profile_note("checking the large file", parts["all"]))
    lines = f"{text.count(chr(10)):,} lines"
    return [
        within(f"awf validate, {lines} / yaml compose", taken["whole"], Limits(0.5, 0.2, " s"), compose),
        compared("  in process, all of it / yaml compose", taken["all"], compose),
        compared("  parse: bytes to nodes / yaml compose", taken["parse"], compose),
        compared("  read: nodes to states / yaml compose", taken["read"], compose),
        compared("  expressions: compile them / yaml compose", taken["expressions"], compose),
        compared("  checks: everything else / yaml compose", taken["checks"], compose),
    ]


@contextlib.contextmanager
def _as_if_fresh() -> Iterator[None]:
    """The garbage collector passes over what the preparations left behind."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _cost(work: Callable[[], object]) -> Callable[[], Any]:
    return lambda: timed(work)


def _parts(stage: Stage, file: str, text: str) -> dict[str, Callable[[], object]]:
    """Each part on its own, the earlier ones done beforehand."""
    import yaml

    from awf.infrastructure.expressions import ExpressionLanguage
    from awf.infrastructure.yaml_files.nodes import parse_yaml
    from awf.infrastructure.yaml_files.workflow_file import read_workflow

    data = text.encode()
    app = new_app(stage)
    loaded = app.library.load(file)
    draft = next(iter(loaded.files.values())).draft
    problems = app.validator.problems(loaded)
    if problems:
        raise RuntimeError(f"The large workflow is not valid: {problems[0]}")

    def whole() -> None:
        fresh = new_app(stage)
        fresh.validator.problems(fresh.library.load(file))

    def expressions() -> None:
        language = ExpressionLanguage()
        for use in draft.uses:
            if use.kind.value == "condition":
                _ = language.condition(use.text).references
            elif use.kind.value == "template" and "{" in use.text:
                _ = language.template(use.text).references

    return {
        "compose": lambda: yaml.compose(text, Loader=yaml.CSafeLoader),
        "all": whole,
        "parse": lambda: parse_yaml(file, data),
        "read": _without_parsing(read_workflow, file, data),
        "expressions": expressions,
        "checks": lambda: app.validator.problems(loaded),  # its expressions are compiled by now
    }


def _without_parsing(read_workflow: Callable[..., object], file: str, data: bytes) -> Callable[[], object]:
    from awf.infrastructure.yaml_files.nodes import parse_yaml

    parsed = parse_yaml(file, data)

    def work() -> None:
        with mock.patch("awf.infrastructure.yaml_files.workflow_file.parse_yaml", return_value=parsed):
            read_workflow(file, data, lambda _name: (None, []))

    return work
