"""Loading the CEL library.

Its package pulls in a command line with all that belongs to one, ten times slower than the extension module that
does the work. So the extension module is loaded by itself. A process can load it only once: a second time it aborts
with a panic. It is therefore left where Python and others look for it, under its full name.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from threading import Lock
from typing import Any

__all__ = ["cel"]

_EXTENSION = "cel.cel"
_loading = Lock()


def cel() -> Any:
    module = sys.modules.get(_EXTENSION)
    if module is not None:
        return module
    with _loading:
        return sys.modules.get(_EXTENSION) or _extension() or _package()


def _extension() -> Any:
    package = PathFinder.find_spec("cel")
    if package is None or package.submodule_search_locations is None:
        return None
    spec = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return None
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError:
        return None
    sys.modules[_EXTENSION] = module
    return module


def _package() -> Any:
    import cel as package

    return package
