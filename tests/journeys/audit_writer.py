"""A process that records calls and says on standard output what it was promised to be safe.

FOLDER NAME COUNT [impatient]; ends with 7 when it is refused.
"""

from __future__ import annotations

import logging
import os
import sys
import time

from awf.domain.audit import AuditEntry, AuditUnavailable
from awf.infrastructure.audit_store import SqliteAudit

logging.basicConfig(stream=sys.stderr)


def main(folder: str, name: str, count: str, *more: str) -> int:
    log = SqliteAudit(folder)
    if more:
        log._database.connection.execute("PRAGMA busy_timeout=20")
    try:
        for number in range(int(count)):
            request = f"{name}-{number}"
            for entry in (
                AuditEntry(
                    kind="decision",
                    created_at=time.time(),
                    request_id=request,
                    tool_id="kb:get",
                    decision="allow",
                ),
                AuditEntry(
                    kind="effect", created_at=time.time(), request_id=request, success=True, duration_ms=1
                ),
            ):
                log.record(entry)
                os.write(1, f"{entry.kind} {request}\n".encode())
    except AuditUnavailable:
        os._exit(7)
    log.close_now()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
