from __future__ import annotations

import pytest

from awf.infrastructure.json_schemas.schemas import RustJsonSchemas

TEXT = {"type": "object", "properties": {"a": {"type": "string"}}}


def nested(levels):
    value = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize("levels", [10, 254, 255, 256, 1_000, 10_000])
def test_what_does_not_fit_is_told_however_deep_it_is(levels):
    (said,) = RustJsonSchemas().misfits(TEXT, nested(levels))
    assert "is not of type" in said or "nested too deeply" in said


@pytest.mark.parametrize("levels", [10, 1_000, 10_000])
def test_what_fits_fits_however_deep_it_is(levels):
    assert RustJsonSchemas().misfits({"type": "object"}, nested(levels)) == []
