"""`awf doctor`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from awf.interfaces.cli.options import echo_json, echo_lines, listing_options, make_app, storage_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from awf.application.doctor.findings import Finding

_SIGNS = {"ok": "✓", "note": "·", "warning": "!", "problem": "✗"}


@click.command()
@click.option("--deep", is_flag=True, help="Start each plugin, too, to see whether it comes up.")
@storage_option
@listing_options()
def command(deep: bool, storage: str | None, output: str) -> int:
    """Look over this machine and this project, and say how to mend what is amiss.

    Agents found or not, signed in or not as far as one can tell without calling them, tools, settings, the run
    store and the machine. Nothing is changed. The exit status is 0 unless something does not work at all.
    """
    from awf.application.doctor.findings import exit_status, summary
    from awf.interfaces.cli.examination import examine

    findings = examine(make_app(storage=storage), deep=deep)
    if output == "json":
        echo_json({"summary": summary(findings), "findings": findings})
    else:
        echo_lines([*_lines(findings), "", summary(findings)])
    return exit_status(findings)


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    from awf.application.doctor.findings import AREAS

    width = max(len(finding.name) for finding in findings)
    for number, (area, found) in enumerate(groupby(findings, key=lambda finding: finding.area)):
        yield from ([""] if number else [])
        yield AREAS[area]
        yield from _of_area(found, width)


def _of_area(findings: Iterable[Finding], width: int) -> Iterator[str]:
    for finding in findings:
        yield f"  {_SIGNS[finding.severity]} {finding.name.ljust(width)}  {finding.text}"
        if finding.fix:
            yield f"    {' ' * width}  → {finding.fix}"
