"""Secrets are kept out of what an editor is shown and of what is remembered of its prompts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from awf.domain.redaction import MASK, looks_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.editor import Update
    from awf.domain.redaction import Masker

__all__ = ["masked_prompt", "masked_update"]

# Words of the protocol, and names by which an editor refers to things. A password that happens to be `text` must not
# make an update unreadable.
_FIXED = {
    "sessionUpdate", "type", "status", "kind", "priority", "category", "id", "name", "value", "currentValue",
    "currentModeId", "toolCallId", "parentToolCallId", "messageId", "runId", "terminalId", "terminal_id",
}  # fmt: skip
_FREE = {"rawInput", "rawOutput"}  # whatever is in there is nobody's protocol
# A name is looked for where a word begins and never taken back, so that a long word costs no more than its length.
_NAMED = re.compile(r"""(?<![\w-])((?:--input=)?)([\w-]++)=("(?:[^"\\]|\\.)*"|'[^']*'|\S+)""", re.DOTALL)


def masked_update(masker: Masker, update: Mapping[str, Any]) -> Update:
    return {key: _masked(masker, key, value) for key, value in update.items()}


def _masked(masker: Masker, key: str, value: Any) -> Any:
    if key in _FREE:
        return masker.mask_data(value)
    if isinstance(value, dict):
        return {name: _masked(masker, name, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_masked(masker, key, item) for item in value]
    return value if key in _FIXED else masker.mask_data(value, key)


def masked_prompt(masker: Masker, text: str) -> str:
    """Also what was given to an input that looks secret, whether or not a workflow has come to know of it."""

    def hide(found: re.Match[str]) -> str:
        option, name, _ = found.groups()
        return f"{option}{name}={MASK}" if looks_secret(name) else found.group()

    return _NAMED.sub(hide, masker.mask(text))
