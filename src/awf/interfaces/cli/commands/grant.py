"""`awf grant`."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.gate_desk import columns, moment, with_gate
from awf.interfaces.cli.options import (
    echo_json,
    echo_lines,
    listing_options,
    not_empty,
    person_name,
    require_text,
    storage_option,
)

if TYPE_CHECKING:
    from awf.bootstrap import App
    from awf.domain.grant import CapabilityGrant, GrantScope

__all__ = ["command"]


@click.group()
def command() -> None:
    """Grant agents what tools require, list it, take it back."""


@command.command("add")
@click.argument("capability")
@click.option(
    "--expires", metavar="AGE", default="", callback=not_empty, help="How long it counts: 30m, 1h, 7d, …"
)
@click.option(
    "--workspace", metavar="DIR", default="", callback=not_empty, help="Only for work in this folder."
)
@click.option("--user", metavar="USER", default="", callback=not_empty, help="Only for this user.")
@click.option(
    "--session", metavar="CONTEXT", default="", callback=not_empty, help="Only for this security context."
)
@click.option(
    "--approval", metavar="ID", default="", callback=not_empty, help="An approval that comes with it."
)
@storage_option
@listing_options()
def add_grant(
    capability: str,
    expires: str,
    workspace: str,
    user: str,
    session: str,
    approval: str,
    storage: str | None,
    output: str,
) -> int:
    """Grant CAPABILITY: a scope or an action. file.* covers whatever begins with file. and * covers all.

    It counts everywhere, unless options say where, and until it expires or is revoked.
    """
    for word in (capability, workspace, user, session, approval):
        require_text(word, "Capabilities and names are text.")
    scope, seconds = _scope(workspace, user, session), _seconds(expires)

    async def work(app: App) -> CapabilityGrant:
        from awf.bootstrap.gate_stores import grants

        if approval:
            await _require_approval(app, approval)
        return await grants(app).issue(
            capability, by=person_name(), expires_in=seconds, scope=scope, approval_id=approval
        )

    grant = with_gate(storage, work)
    if output == "json":
        echo_json(_document(grant, time.time()))
    else:
        echo_lines([f"{grant.grant_id}  {grant.capability}  {_where(grant)}, {_until(grant)}"])
    return 0


@command.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that no longer count.")
@storage_option
@listing_options()
def list_grants(everything: bool, storage: str | None, output: str) -> int:
    """List grants, in the order in which they were made."""

    async def work(app: App) -> list[CapabilityGrant]:
        from awf.bootstrap.gate_stores import grants

        return await grants(app).all()

    now = time.time()
    found = [one for one in with_gate(storage, work) if everything or _state(one, now) == "live"]
    if output == "json":
        echo_json([_document(grant, now) for grant in found])
    elif not found:
        print("No grants. `awf grant add CAPABILITY` makes one.")
    else:
        echo_lines(columns([_row(grant, now) for grant in found]))
    return 0


@command.command("revoke")
@click.argument("grant_id", metavar="ID")
@storage_option
@listing_options()
def revoke_grant(grant_id: str, storage: str | None, output: str) -> int:
    """Take a grant back. Calls that come later do not get it any more."""
    require_text(grant_id, "`awf grant list` shows them.")

    async def work(app: App) -> CapabilityGrant:
        from awf.bootstrap.gate_stores import grants

        return await grants(app).revoke(grant_id, person_name())

    grant = with_gate(storage, work)
    if output == "json":
        echo_json(_document(grant, time.time()))
    else:
        echo_lines([f"{grant.grant_id}  {grant.capability}  revoked {moment(grant.revoked_at or 0.0)}"])
    return 0


def _scope(workspace: str, user: str, session: str) -> GrantScope:
    from awf.domain.errors import AwfError
    from awf.domain.grant import GrantScope

    folder = os.path.realpath(workspace) if workspace else ""
    if folder and not os.path.isdir(folder):
        raise AwfError(
            "USER.INPUT.MISSING_FILE", f"There is no folder {workspace}.", hint="Check --workspace."
        )
    return GrantScope(workspace=folder, user=user, session=session)


def _seconds(expires: str) -> float | None:
    from awf.domain.errors import AwfError
    from awf.domain.notation import parse_duration

    if not expires:
        return None
    seconds = parse_duration(expires)
    if not seconds:
        raise AwfError(
            "USER.INPUT.USAGE", f"'{expires}' is not a duration.", hint="Write --expires 30m, 1h or 7d."
        )
    return seconds


async def _require_approval(app: App, approval_id: str) -> None:
    from awf.application.gate.refusal import ApprovalRefused
    from awf.bootstrap.gate_stores import approval_desk

    if await approval_desk(app).find(approval_id) is None:
        raise ApprovalRefused(approval_id, "unknown")


def _state(grant: CapabilityGrant, now: float) -> str:
    if grant.revoked_at is not None:
        return "revoked"
    return "expired" if grant.expires_at is not None and now >= grant.expires_at else "live"


def _document(grant: CapabilityGrant, now: float) -> dict[str, Any]:
    import msgspec

    return {**msgspec.to_builtins(grant), "state": _state(grant, now)}


def _row(grant: CapabilityGrant, now: float) -> tuple[str, ...]:
    state = _state(grant, now)
    return grant.grant_id, grant.capability, state if state != "live" else _until(grant), _where(grant)


def _until(grant: CapabilityGrant) -> str:
    return "until revoked" if grant.expires_at is None else f"until {moment(grant.expires_at)}"


def _where(grant: CapabilityGrant) -> str:
    scope = grant.scope
    named = (("in", scope.workspace), ("for", scope.user), ("for context", scope.session))
    return " ".join(f"{word} {value}" for word, value in named if value) or "everywhere"
