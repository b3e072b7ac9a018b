"""Who may come in at the gateway's HTTP door."""

from __future__ import annotations

from awf.application.gateway.admission.admission import Admission
from awf.application.gateway.admission.caller import Caller
from awf.application.gateway.admission.protected_resource import protected_resource

__all__ = ["Admission", "Caller", "protected_resource"]
