"""Loading the CEL library.

Its package pulls in a command line with all that belongs to one, ten times slower than the extension module that
does the work. So the extension module is loaded by itself.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

__all__ = ["cel"]


@lru_cache(maxsize=1)
def cel() -> Any:
    module = sys.modules.get("cel") or _extension()
    if module is None:
        import cel as module
    return module


def _extension() -> Any:
    package = PathFinder.find_spec("cel")
    if package is None or package.submodule_search_locations is None:
        return None
    spec = PathFinder.find_spec("cel.cel", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
