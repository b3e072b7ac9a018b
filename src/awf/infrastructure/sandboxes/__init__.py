"""Walls around the programs that AWF starts for tools: bubblewrap where it works, else Landlock."""

from __future__ import annotations

from awf.infrastructure.sandboxes.choosing import MachineFacts, machine_facts, open_sandbox
from awf.infrastructure.sandboxes.confined_runner import ConfinedRunner
from awf.infrastructure.sandboxes.layout import may_change

__all__ = ["ConfinedRunner", "MachineFacts", "machine_facts", "may_change", "open_sandbox"]
