"""What others have written to check an agent's audit trail finds nothing wrong with ours, and what we broke it does find."""

from __future__ import annotations

import json
import subprocess

import pytest

from awf.application.audit.exporting import exported
from awf.domain.audit import AuditEntry
from awf.infrastructure.audit_store import SqliteAudit
from awf.testing import peers

pytestmark = [pytest.mark.journey, pytest.mark.anyio]

CHECK = """
import json, sys
from aat import core
records = [json.loads(line) for line in sys.stdin]
ok, issues = core.verify_chain(records)
for number, one in enumerate(records):
    issues += [f"{number}: no {name}" for name in core.MANDATORY if name not in one]
    issues += [f"{number}: {one['action_type']}"] if one["action_type"] not in core.ACTION_TYPES else []
    issues += [f"{number}: {one['outcome']}"] if one["outcome"] not in core.OUTCOMES else []
    issues += [f"{number}: {one['trust_level']}"] if one["trust_level"] not in core.TRUST_LEVELS else []
    issues += [f"{number}: {one['record_phase']}"] if one["record_phase"] not in core.PHASES else []
print(json.dumps({"records": len(records), "issues": issues}))
"""


def checked(lines):
    python = peers.requested(lambda: peers.python_peer("aat-mcp==0.1.0"))
    done = subprocess.run(
        [python, "-c", CHECK], input=b"".join(lines), capture_output=True, timeout=120, check=True
    )
    return json.loads(done.stdout)


async def test_the_checker_of_the_draft_agrees_with_our_trail(tmp_path):
    log = SqliteAudit(str(tmp_path / "audit"))
    for number in range(20):
        decision = "deny" if number % 5 == 0 else "allow"
        log.record(
            AuditEntry(
                kind="decision",
                created_at=number + 0.5,
                request_id=f"r{number}",
                tool_id="größe:😀",
                decision=decision,
            )
        )
        if decision == "allow":
            log.record(
                AuditEntry(
                    kind="effect", created_at=number + 0.5, request_id=f"r{number}", success=number % 2 == 0
                )
            )
    log.record(AuditEntry(kind="grant_added", created_at=30.5, details={"n": [1.5, 1e-7, 2**70, "\u2028"]}))
    lines = [line async for line in exported(log, "agent-trail", "1.0")]
    await log.close()
    assert checked(lines) == {"records": len(lines), "issues": []}
    broken = [*lines[:7], lines[7].replace(b'"timestamp":"1970', b'"timestamp":"1971'), *lines[8:]]
    assert any("record 8" in issue for issue in checked(broken)["issues"])
