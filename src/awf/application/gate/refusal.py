"""Why an approval cannot be used or answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from awf.domain.approval import ApprovalTrouble

__all__ = ["ApprovalRefused"]

_WORDS: dict[str, str] = {
    "unknown": "There is no approval '{id}'.",
    "foreign": "The approval '{id}' is about another call.",
    "pending": "Nobody has answered '{id}' yet.",
    "granted": "'{id}' was granted already.",
    "denied": "'{id}' was denied.",
    "used": "The approval '{id}' was used already; each is good for one call.",
    "expired": "The time of '{id}' is over.",
}


class ApprovalRefused(AwfError):  # noqa: N818  an answer, more than a mistake
    def __init__(self, approval_id: str, reason: ApprovalTrouble) -> None:
        code = "USER.APPROVAL.UNKNOWN" if reason == "unknown" else "USER.APPROVAL.REFUSED"
        message = _WORDS[reason].format(id=approval_id)
        super().__init__(code, message, hint="`awf gateway approvals` shows the open ones.")
        self.reason = reason
