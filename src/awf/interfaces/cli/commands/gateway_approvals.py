"""`awf gateway approvals`, `approve` and `deny`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from awf.interfaces.cli.gate_desk import moment, with_gate
from awf.interfaces.cli.options import (
    echo_json,
    echo_lines,
    listing_options,
    person_name,
    require_text,
    storage_option,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from awf.bootstrap import App
    from awf.domain.approval import Approval

__all__ = ["approve", "deny", "list_approvals"]


@click.command("approvals")
@storage_option
@listing_options()
def list_approvals(storage: str | None, output: str) -> int:
    """List the calls that wait for a person."""

    async def work(app: App) -> list[Approval]:
        from awf.bootstrap.gate_stores import approval_desk

        return await approval_desk(app).open_ones()

    found = with_gate(storage, work)
    if output == "json":
        echo_json(list(map(_document, found)))
    elif not found:
        print("Nothing waits for an answer.")
    else:
        echo_lines(_plain(line for approval in found for line in _lines(approval)))
    return 0


@click.command("approve")
@click.argument("approval_id", metavar="ID")
@storage_option
@listing_options()
def approve(approval_id: str, storage: str | None, output: str) -> int:
    """Let one call through: this tool, with these arguments, in this context, once."""
    return _decide(approval_id, storage, output, granted=True)


@click.command("deny")
@click.argument("approval_id", metavar="ID")
@storage_option
@listing_options()
def deny(approval_id: str, storage: str | None, output: str) -> int:
    """Refuse one call."""
    return _decide(approval_id, storage, output, granted=False)


def _decide(approval_id: str, storage: str | None, output: str, *, granted: bool) -> int:
    require_text(approval_id, "`awf gateway approvals` shows the open ones.")

    async def work(app: App) -> Approval:
        from awf.bootstrap.gate_stores import approval_desk

        return await approval_desk(app).decide(approval_id, granted=granted, by=person_name())

    approval = with_gate(storage, work)
    if output == "json":
        echo_json(_document(approval))
    else:
        echo_lines(_plain([f"{approval.approval_id}  {approval.tool_id}: {approval.status}"]))
    return 0


def _document(approval: Approval) -> dict[str, Any]:
    import msgspec

    return {**msgspec.to_builtins(approval), "status": approval.status}


def _plain(lines: Iterable[str]) -> Iterator[str]:
    """What an agent or a server wrote is seen as it is, and stays on its line."""
    from awf.domain.plain_sight import spelled_out

    return map(spelled_out, lines)


def _lines(approval: Approval) -> Iterator[str]:
    asked = f"asked {moment(approval.asked_at)}" + (f" by {approval.client}" if approval.client else "")
    yield f"{approval.approval_id}  {approval.tool_id}"
    if approval.summary:
        yield f"  {approval.summary}"
    if approval.reason or approval.rule:
        yield f"  {approval.reason}{f' (rule {approval.rule})' if approval.rule else ''}".rstrip()
    yield f"  {asked}, context {approval.context or '-'}, until {moment(approval.expires_at)}"
