"""What is found about gateways that share a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.doctor.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["gateway_findings"]


def gateway_findings(gateways: Mapping[str, str]) -> list[Finding]:
    """Their addresses, each with why it cannot be reached from here; empty when it can."""
    if not gateways:
        return []
    lost = [(url, trouble) for url, trouble in gateways.items() if trouble]
    if not lost:
        return [Finding(area="store", name="gateways", text=f"can be reached: {', '.join(gateways)}")]
    fix = "If another gateway runs here, sessions that began there end. Start that one with --advertise URL."
    return [
        Finding(
            area="store",
            name="gateways",
            severity="warning",
            text=f"{url} cannot be reached: {trouble}",
            fix=fix,
        )
        for url, trouble in lost
    ]
