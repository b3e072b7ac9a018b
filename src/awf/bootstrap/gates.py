"""The gate of one configuration file, whichever door its calls come through."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import time
from typing import TYPE_CHECKING, Any

from awf.domain.audit import AuditUnavailable
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from awf.application.gate.approvals import ApprovalDesk
    from awf.application.gate.contexts import Contexts
    from awf.application.gate.gate import Gate
    from awf.application.gate.grants import Grants
    from awf.application.gate.origin import Origin
    from awf.application.gate.recording import Recorder
    from awf.application.tools.pipeline import StepGate
    from awf.bootstrap.guarded import Guarded
    from awf.domain.audit import AuditKind
    from awf.domain.gateway_file import GatewayFile
    from awf.domain.redaction.redactor import Redactor

__all__ = ["GateRooms", "gate_is_wanted", "place_of", "project_file"]

_LONGEST_NAME = 32
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


def place_of(*paths: str) -> str:
    """What tells a folder (and a file) from all others of this machine, in contexts that nobody has named: many projects keep
    what their gates remember in one storage, and what was approved in one is not for the other.
    """
    real = [
        os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        for path in map(os.path.abspath, paths)
    ]
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", os.path.basename(real[0]))[:_LONGEST_NAME]
    return f"{name}-{hashlib.sha256(os.fsencode(chr(0).join(real))).hexdigest()[:12]}"


def project_file(app: Guarded) -> GatewayFile | None:
    """The project's gateway file, for what it says of the tools of steps. Raises with all that is wrong with it."""
    from awf.bootstrap.gateway_import import GATEWAY_FILE

    path = os.path.join(app.cwd, GATEWAY_FILE)
    if not os.path.exists(path):
        return None
    from awf.infrastructure.gateway_files import read_gateway_file
    from awf.infrastructure.yaml_files.config_file import read_record
    from awf.infrastructure.yaml_files.nodes import parse_yaml

    return read_gateway_file(
        path, read=read_record, parse=parse_yaml, conditions=app.expressions, serving=False
    )[0]


class GateRooms:
    """What all gates of one application share: what is stored, what is remembered of it, and the record."""

    def __init__(self, app: Guarded) -> None:
        self._app = app
        self._configured = ""

    @functools.cached_property
    def recorder(self) -> Recorder:
        from awf.application.gate.recording import Recorder

        return Recorder(None, time.time)

    @functools.cached_property
    def contexts(self) -> Contexts:
        from awf.application.gate.contexts import Contexts

        return Contexts(self._app.gate_store.contexts, self._app.clock, tell=self.recorder.note)

    @functools.cached_property
    def grants(self) -> Grants:
        from awf.application.gate.grants import Grants

        return Grants(self._app.gate_store.grants, self._app.clock, tell=self.recorder.note)

    @functools.cached_property
    def desk(self) -> ApprovalDesk:
        from awf.application.gate.approvals import ApprovalDesk

        return ApprovalDesk(self._app.gate_store.approvals, self._app.clock, tell=self.recorder.note)

    @functools.cached_property
    def operator_key(self) -> str:
        """It never shows in anything that is shown or stored; only whoever started the gateway is told."""
        key = self._app.gate_store.operator_key()
        self._app.masker.add("the operator key", key)
        return key

    def gate(self, file: GatewayFile, *, to_ask: bool = False) -> Gate | None:
        """As a file says; None when it says nothing of one. `to_ask`: what would be decided, with nothing recorded."""
        if not to_ask and not gate_is_wanted(file):
            return None
        from awf.application.gate.deciding import Decider
        from awf.application.gate.gate import Gate, GateParts
        from awf.application.gate.spooling import Spooler
        from awf.domain.policy import Policy
        from awf.domain.sandbox import rules_named
        from awf.infrastructure.real_paths import RealPaths

        app = self._app
        home = app.environment.get("HOME", "")
        redactor = self._redactor(file)
        parts = GateParts(
            keys=file,
            overrides=file.overrides,
            decider=Decider(file.policy or Policy(), app.expressions, RealPaths(app.cwd, home=home)),
            contexts=self.contexts,
            grants=self.grants,
            desk=self.desk,
            recorder=self.recorder,
            redactor=redactor,
            spooler=Spooler(app.artifacts, redactor, file.spool, app.clock),
            artifacts=app.artifacts,
            clock=time.time,
            monotonic=time.monotonic,
            changes=app.gate_store.changes,
            around=lambda folders: RealPaths(*(os.path.join(app.cwd, one) for one in folders), home=home),
            networked=rules_named(file.sandbox, file.sandbox.bash).network,
        )
        gate = Gate(parts)
        if not to_ask:
            self._follow(file)  # as the last of all: a file that is refused changes nothing
        return gate

    def _follow(self, file: GatewayFile) -> None:
        """What is shared goes by the latest file."""
        settings = file.audit
        if settings is None or settings.enabled:
            if settings is not None:
                self._app.audit.follow(settings)
            self.recorder.log = self._app.audit
        else:
            self.recorder.log = None
        self.contexts.apply(file.levels)
        self.desk.settings = file.approvals

    def _redactor(self, file: GatewayFile) -> Redactor:
        from awf.domain.redaction.redactor import Redactor

        return Redactor(self._app.masker, keys=file.redaction.names, patterns=file.redaction.patterns)

    async def configured(self, path: str, digest: str) -> None:
        """That this file counts from now on is part of the record."""
        if digest != self._configured:
            self._configured = digest
            details = {"file": os.path.relpath(path, self._app.cwd), "sha256": digest}
            await self.recorder.note("configuration", details)

    async def tell(self, kind: AuditKind, details: dict[str, Any]) -> None:
        """What a person has changed. Raises where it cannot be recorded."""
        if self.recorder.log is None:
            self.recorder.log = self._app.audit
        try:
            await self.recorder.note(kind, details, needed=True)
        except AuditUnavailable as reason:
            raise AwfError(
                "SYSTEM.AUDIT.UNAVAILABLE",
                f"This cannot be recorded in the audit now: {reason}.",
                hint="Bring it back, then do it again: awf audit verify",
            ) from reason

    def of_standing_server(self) -> StepGate | None:
        """For a tool server that belongs to no run: whoever uses it is one client."""
        gate = self._app.gate
        if gate is None:
            return None
        from awf.application.tools.pipeline import StepGate

        return StepGate(gate, self.standing_origin())

    def standing_origin(self) -> Origin:
        """Of its calls."""
        from awf.application.gate.origin import Origin
        from awf.domain.grant import Holder

        app = self._app
        context = app.environment.get("AWF_CONTEXT") or f"mcp-serve:{place_of(app.cwd)}"
        holder = Holder(app.cwd, app.environment.get("USER", ""), context)
        return Origin(context=context, door="mcp-serve", holder=holder)
