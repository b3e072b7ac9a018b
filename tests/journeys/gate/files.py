"""The files that gateways of these journeys are started with."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
OFFICE = {"command": sys.executable, "args": ["-S", "-E", str(HERE / "office.py")]}
OVERRIDES = {
    "office:read": {"policy_action": "file.read", "classification": "confidential"},
    "office:look": {"policy_action": "file.read"},
    "office:write": {"policy_action": "file.write"},
    "office:mail": {"requires_confirmation": True},
    "office:fetch": {"policy_action": "network.request"},
}


def office_file(**keys):
    """A gateway's file: one server, whose tools are known."""
    return {
        "mcpServers": {"office": OFFICE},
        "overrides": OVERRIDES,
        "pinning": {"mode": "off"},
        "audit": {},
        **keys,
    }
