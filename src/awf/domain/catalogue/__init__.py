"""Every error code: what it means and what to do. `awf explain` prints it, the docs are made from it."""

from __future__ import annotations

from awf.domain.catalogue.entry import Entry
from awf.domain.catalogue.execution_codes import EXECUTION_CODES
from awf.domain.catalogue.system_codes import SYSTEM_CODES
from awf.domain.catalogue.user_codes import USER_CODES
from awf.domain.catalogue.workflow_codes import WORKFLOW_CODES

__all__ = ["CATALOGUE", "Entry"]

CATALOGUE: dict[str, Entry] = {**USER_CODES, **WORKFLOW_CODES, **EXECUTION_CODES, **SYSTEM_CODES}
