"""The gate of one configuration file, whichever door its calls come through."""

from __future__ import annotations

import functools
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.application.gate.approvals import ApprovalDesk
    from awf.application.gate.contexts import Contexts
    from awf.application.gate.gate import Gate
    from awf.application.gate.grants import Grants
    from awf.application.gate.recording import Recorder
    from awf.bootstrap.app import App
    from awf.domain.gate_file import GateKeys
    from awf.domain.gateway_file import GatewayFile
    from awf.domain.ports.audit_log import AuditLog

__all__ = ["GateRooms", "project_gate"]

_FACTS = ("classification", "integrity", "open_world", "policy_action", "requires_confirmation", "limits")


def gate_is_wanted(file: GatewayFile) -> bool:
    """Whether the file says anything that a gate would have to do."""
    from awf.domain.gate_file import GateKeys

    nothing = GateKeys()
    if any(getattr(file, name) != getattr(nothing, name) for name in GateKeys.__struct_fields__):
        return True
    return any(
        one.required_scopes or any(getattr(one, name) is not None for name in _FACTS)
        for one in file.overrides.values()
    )


class GateRooms:
    """What all gates of one application share: what is stored, what is remembered of it, and the record."""

    def __init__(self, app: App, keys: GateKeys) -> None:
        self._app = app
        self._keys = keys

    @functools.cached_property
    def recorder(self) -> Recorder:
        from awf.application.gate.recording import Recorder

        return Recorder(self._log(), time.time)

    def _log(self) -> AuditLog | None:
        settings = self._keys.audit
        return self._app.audit_log(settings) if settings is None or settings.enabled else None

    @functools.cached_property
    def contexts(self) -> Contexts:
        from awf.application.gate.contexts import Contexts

        return Contexts(self._app.gate_store, time.time, self._keys.levels, tell=self.recorder.note)

    @functools.cached_property
    def grants(self) -> Grants:
        from awf.application.gate.grants import Grants

        return Grants(self._app.gate_store, time.time, tell=self.recorder.note)

    @functools.cached_property
    def desk(self) -> ApprovalDesk:
        from awf.application.gate.approvals import ApprovalDesk

        return ApprovalDesk(self._app.gate_store, time.time, self._keys.approvals, tell=self.recorder.note)

    def gate(self, file: GatewayFile) -> Gate | None:
        """As a file says; None when it says nothing of one."""
        if not gate_is_wanted(file):
            return None
        from awf.application.gate.deciding import Decider
        from awf.application.gate.gate import Gate, GateParts
        from awf.application.gate.spooling import Spooler
        from awf.domain.policy import Policy

        app = self._app
        self.contexts.apply(file.levels)
        self.desk.settings = file.approvals
        redactor = app.redactor(file.redaction)
        parts = GateParts(
            keys=file,
            overrides=file.overrides,
            decider=Decider(file.policy or Policy(), app.expressions),
            contexts=self.contexts,
            grants=self.grants,
            desk=self.desk,
            recorder=self.recorder,
            redactor=redactor,
            spooler=Spooler(app.artifacts, redactor, file.spool, time.time),
            clock=time.time,
            monotonic=time.monotonic,
        )
        return Gate(parts)


def project_gate(app: App) -> Gate | None:
    """The gate for the tools of workflow steps, as the project's gateway file says; None when there is none."""
    from awf.bootstrap.gateway_import import GATEWAY_FILE

    path = os.path.join(app.cwd, GATEWAY_FILE)
    if not os.path.exists(path):
        return None
    from awf.bootstrap.gateways import read_project_file

    file = read_project_file(app, path)
    return GateRooms(app, file).gate(file)
