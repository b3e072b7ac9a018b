"""Read, Write, Edit, Bash, Glob and Grep, under the names and arguments that models already know."""

from __future__ import annotations

from awf.infrastructure.builtin_tools.arguments import normalise
from awf.infrastructure.builtin_tools.provider import BuiltinTools

__all__ = ["BuiltinTools", "normalise"]
