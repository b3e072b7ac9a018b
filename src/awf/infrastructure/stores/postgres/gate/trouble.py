"""What is said when the database cannot be used for what the gate remembers."""

from __future__ import annotations

from awf.domain.errors import AwfError
from awf.infrastructure.stores.postgres.connecting import describe, why

__all__ = ["unavailable", "unkept"]


def unavailable(url: str, trouble: object) -> AwfError:
    if isinstance(trouble, AwfError):
        trouble = trouble.__cause__ or trouble
    return AwfError(
        "SYSTEM.GATE_STORE.UNAVAILABLE",
        f"The gate's store {describe(url)} cannot be used: {why(trouble)}.",
        hint="Check that it is up, has room, and that AWF_DATABASE_URL is right: awf doctor",
    )


def unkept(error: AwfError) -> AwfError:
    """A long result stays without its whole."""
    return AwfError(
        "SYSTEM.SPOOL.WRITE_FAILED", f"A long result cannot be kept: {error.message}", hint=error.hint
    )
