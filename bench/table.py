"""The result as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.rows import TIMES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.rows import Row

__all__ = ["HEADINGS", "document", "noise_lines", "table_lines"]

HEADINGS = ("what", "ours", "reference", "ratio", "must", "aim", "verdict")


def _cells(row: Row) -> tuple[str, ...]:
    multiple = "-" if row.ratio is None else f"{row.ratio:.2f}{TIMES}"
    limits = row.limits
    return (
        row.what,
        row.ours,
        row.reference,
        multiple,
        limits.shown(limits.must),
        limits.shown(limits.aim),
        row.verdict,
    )


def table_lines(rows: Sequence[Row]) -> Iterator[str]:
    cells = [HEADINGS, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, line in enumerate(cells):
        yield " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        if number == 0:
            yield "-|-".join("-" * width for width in widths)


def noise_lines(rows: Sequence[Row]) -> Iterator[str]:
    noisy = [row for row in rows if row.noise]
    if noisy:
        yield "Noise: least / median / 90th percentile of the rounds"
        yield from (f"  {row.what}: {row.noise}" for row in noisy)


def document(rows: Sequence[Row], machine: dict[str, Any], notes: Sequence[str]) -> dict[str, Any]:
    shown = [
        {**dict(zip(HEADINGS, _cells(row), strict=True)), "ratio": row.ratio, "noise": row.noise}
        for row in rows
    ]
    return {"machine": machine, "rows": shown, "notes": list(notes)}
