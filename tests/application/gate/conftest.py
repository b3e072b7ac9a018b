from __future__ import annotations

import pytest

from awf.infrastructure.gate_store import SqliteGateStore
from awf.testing.memory_gate import MemoryGateStore


class Clock:
    """Time that passes when the test says so."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ticks():
    return Clock(0.0)


@pytest.fixture
def record():
    """What was told to the audit, in order."""
    return []


@pytest.fixture
def tell(record):
    def tell(kind, details):
        record.append((kind, details))

    return tell


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    opened = MemoryGateStore() if request.param == "memory" else SqliteGateStore(str(tmp_path / "gate"))
    yield opened
    opened.close()
