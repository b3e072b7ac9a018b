"""A person's answer to a question of the gate. Whoever has not the operator key learns nothing here, and changes nothing.

That the page can be reached is no proof: agents are on the same machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from awf.domain.errors import AwfError
from awf.domain.ports.http_server import HttpReply
from awf.interfaces.web.json_bytes import json_bytes
from awf.interfaces.web.replies import JSON, SAFE, refusal

if TYPE_CHECKING:
    from awf.domain.ports.http_server import HttpRequest
    from awf.interfaces.web.desk import Gate

__all__ = ["ANSWERS", "OPERATOR", "answer_question"]

ANSWERS = "/api/approvals/"
OPERATOR = "x-awf-operator"
_STATUS = {"USER.APPROVAL.UNKNOWN": 404, "USER.APPROVAL.REFUSED": 409}


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    granted: bool


async def answer_question(request: HttpRequest, gate: Gate) -> HttpReply:
    if request.method != "POST":
        return refusal(405, "this can only be answered", ("Allow", "POST"))
    if not gate.is_operator(request.headers.get(OPERATOR, "")):
        return refusal(403, "answers need the operator key, which is in the address that the gateway prints")
    media_type = request.headers.get("content-type", "").partition(";")[0]
    if media_type.strip().lower() != JSON:
        return refusal(415, f"an answer is {JSON}", ("Accept", JSON))
    try:
        said = msgspec.json.decode(request.body, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return refusal(400, 'an answer is {"granted": true} or {"granted": false}')
    try:
        found = await gate.answer(request.path.removeprefix(ANSWERS), granted=said.granted)
    except AwfError as error:
        return refusal(_STATUS.get(error.code, 503), error.message)
    head = (*SAFE, ("Content-Type", JSON), ("Cache-Control", "no-store"))
    return HttpReply(200, head, json_bytes(found))
