"""Fixtures that every suite may use."""

from __future__ import annotations

import pytest
from awf.testing.laboratory import Laboratory


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def lab(tmp_path):
    return Laboratory(tmp_path)
