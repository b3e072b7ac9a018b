"""What programs hand over → values; and values → what they get. All of it plain JSON values."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from awf.application.gate.manifest_checks import form_problems
from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.gate_file import bad_amount
from awf.domain.grant import CapabilityGrant as StoredGrant
from awf.domain.grant import GrantScope
from awf.domain.json_form import without_json_form
from awf.domain.manifest import (
    CapabilityGrant,
    GrantRequest,
    ToolAuditEvent,
    ToolInvocation,
    moment_of,
    moment_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.audit.events import ToolAuditEvent as CallEvent
    from awf.domain.problem import Problem

__all__ = [
    "LONGEST",
    "called",
    "event_form",
    "grant_form",
    "invalid_call",
    "invocation_of",
    "is_name",
    "require_json",
    "whole_number",
]

_CALL = "USER.GATEWAY.INVALID_CALL"
_GRANT = "USER.GRANT.INVALID"
LONGEST = 256  # characters of a name
_EVENT = frozenset(ToolAuditEvent.__struct_fields__)
F = TypeVar("F", bound=msgspec.Struct)


def invalid_call(message: str, hint: str = "See docs/tool-gateway.md.") -> AwfError:
    return AwfError(_CALL, message, hint=hint)


def called(given: Any, form: type[F], code: str) -> F:
    """Raises with everything that does not have the form."""
    try:
        return msgspec.convert(given, form)
    except (msgspec.ValidationError, RecursionError) as error:
        problems: Sequence[Problem] = list(form_problems(given, form, (), code))
        if not problems:
            raise AwfError(code, f"{error}.", hint="See docs/tool-gateway.md.") from None
    raise InvalidWorkflowError(problems)


def invocation_of(given: Any) -> ToolInvocation:
    require_json(_beside_arguments(given))
    invocation = called(given, ToolInvocation, _CALL)
    for field in ("request_id", "tool_id"):
        text = getattr(invocation, field)
        if text is not None and not is_name(text):
            raise invalid_call(
                f"`{field.replace('_id', 'Id')}` is a printable text of up to {LONGEST} characters."
            )
    if wrong := bad_amount(invocation.timeout_ms):
        raise invalid_call(f"`timeoutMs` {wrong}.", "Write 1 or more, or leave it out.")
    if not all(invocation.redact_keys):
        raise invalid_call("A name under `redactKeys` is empty.", "Remove it.")
    return invocation


def _beside_arguments(given: Any) -> Any:
    """Arguments without a JSON form have a result of their own, which is recorded."""
    if not isinstance(given, dict) or not isinstance(given.get("arguments"), dict):
        return given
    return {name: value for name, value in given.items() if name != "arguments"}


def is_name(given: object) -> bool:
    return isinstance(given, str) and given.isprintable() and 0 < len(given) <= LONGEST


def require_json(given: Any) -> None:
    """Of all but arguments. A program may read an infinity, or half of a surrogate pair, out of a message."""
    if wrong := without_json_form(given):
        raise invalid_call(f"A value has no JSON form: {wrong}.")


def whole_number(given: Any, name: str, least: int, most: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise invalid_call(f"`{name}` is a whole number from {least} to {most}.")
    return given


# -- grants ----------------------------------------------------------------------------------------------------------


def grant_of(given: Any, now: float, by: str) -> StoredGrant:
    """Raises `AwfError`: USER.GRANT.INVALID, USER.GATEWAY.INVALID_CALL."""
    require_json(given)
    asked = called(given, GrantRequest, _GRANT)
    issued = _moment(asked.issued_at, "issuedAt")
    expires = _moment(asked.expires_at, "expiresAt")
    issued_at = min(now, expires) if issued is None and expires is not None else issued
    if issued is not None and expires is not None and expires <= issued:
        raise AwfError(_GRANT, "`expiresAt` is not after `issuedAt`.", hint="Leave one of the two out.")
    _check_scope(asked.scope, given.get("scope") or {})
    if asked.approval_id is not None and not is_name(asked.approval_id):
        message = f"`approvalId` is a printable text of up to {LONGEST} characters."
        raise AwfError(_GRANT, message, hint="Leave it out for none.")
    return StoredGrant(
        grant_id=f"grant_{secrets.token_hex(8)}" if asked.grant_id is None else asked.grant_id,
        capability=asked.capability,
        issued_at=now if issued_at is None else issued_at,
        expires_at=expires,
        scope=asked.scope or GrantScope(),
        approval_id=asked.approval_id or "",
        issued_by=by,
    )


def _check_scope(scope: GrantScope | None, given: dict[str, Any]) -> None:
    if scope is None:
        return
    empty = [name for name, value in given.items() if not value]
    if empty:  # what is left out counts everywhere, and a variable that is not set must not
        message = f"`scope.{empty[0]}` is empty."
        raise AwfError(_GRANT, message, hint="Leave it out where it does not matter.")
    for field in ("user", "session"):
        if field in given and not is_name(given[field]):
            message = f"`scope.{field}` is a printable text of up to {LONGEST} characters."
            raise AwfError(_GRANT, message, hint="Leave it out where it does not matter.")
    folder = scope.workspace
    if "\0" in folder:
        raise AwfError(_GRANT, "`scope.workspace` is no path: a NUL is in it.", hint="Correct the path.")
    if folder and (not os.path.isabs(folder) or os.path.normpath(folder) != folder):
        message = "`scope.workspace` is the whole path of a folder, without `.` and `..` in it."
        raise AwfError(_GRANT, message, hint=f"Write it as {os.path.abspath(folder)}.")


def _moment(given: str | float | None, name: str) -> float | None:
    try:
        return None if given is None else moment_of(given)
    except (ValueError, OverflowError) as error:
        hint = "Write it as 2026-11-16T15:20:01Z, or as milliseconds since 1970."
        raise AwfError(_GRANT, f"`{name}` {error}.", hint=hint) from None


def grant_form(grant: StoredGrant) -> CapabilityGrant:
    return CapabilityGrant(
        grant_id=grant.grant_id,
        capability=grant.capability,
        issued_at=moment_text(grant.issued_at),
        expires_at=None if grant.expires_at is None else moment_text(grant.expires_at),
        scope=grant.scope if grant.scope != GrantScope() else None,
        approval_id=grant.approval_id or None,
    )


# -- events ----------------------------------------------------------------------------------------------------------


def event_form(event: CallEvent) -> ToolAuditEvent:
    told = {name: value for name, value in msgspec.structs.asdict(event).items() if name in _EVENT}
    lists = {name: list(told[name]) for name in ("grant_ids", "risk_tags")}
    return ToolAuditEvent(**{**told, **lists, "created_at": moment_text(event.created_at)})
