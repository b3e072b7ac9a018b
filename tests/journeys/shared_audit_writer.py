"""A process that records calls in a database and says on standard output what it was promised to be safe.

URL FOLDER NAME COUNT AT_ONCE; ends with 7 when it is refused.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import sys
import time

from awf.bootstrap.audits import AuditServer
from awf.domain.audit import AuditEntry, AuditUnavailable
from awf.infrastructure.audit_store.postgres import PostgresAudit

logging.basicConfig(stream=sys.stderr)


async def main(url: str, folder: str, name: str, count: str, at_once: str) -> int:
    log = PostgresAudit(AuditServer(url), folder, key_file=f"{folder}/signing.key", patience=30.0)
    chosen = random.Random(name)

    async def told(kind: str, request: str, **more: object) -> None:
        await log.record(AuditEntry(kind=kind, created_at=time.time(), request_id=request, **more))
        os.write(1, f"{kind} {request}\n".encode())

    async def calls(lane: int) -> None:
        for number in range(int(count)):
            request = f"{name}-{lane}-{number}"
            await told(
                "decision", request, tool_id="kb:get", decision="allow", reason="x" * chosen.randint(0, 200)
            )
            if chosen.random() < 0.3:
                await asyncio.sleep(0)
            await told("effect", request, success=True, duration_ms=1)

    try:
        await asyncio.gather(*(calls(lane) for lane in range(int(at_once))))
    except AuditUnavailable:
        os._exit(7)
    await log.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
