"""What of our own surroundings is not handed on to agents and their tools.

Whoever has the address of the database can give himself any grant, and whoever has the key of the audit can sign it. A command that a workflow runs was written by a person,
and gets everything; so does whatever a file names in an `env` of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KEPT_BACK", "handed_on"]

KEPT_BACK = frozenset({"AWF_DATABASE_URL", "AWF_DATABASE_URL_FILE", "AWF_AUDIT_KEY"})


def handed_on(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name not in KEPT_BACK}
