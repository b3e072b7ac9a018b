"""The fake desk is loaded by its path: test folders are no packages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def _load():
    known = "web_fake_desk"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name("fake_desk.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


@pytest.fixture
def desks():
    return _load()


@pytest.fixture
def desk(desks):
    return desks.FakeDesk()
