"""One tool call as the editor sees it: a row that is begun, changed and ended.

A row whose turn has ended is closed. When the work goes on in a later turn it is begun again under a fresh id, because
a closed row stands further up in the thread, among what was said then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from awf.domain.editor import Update

__all__ = ["Row"]


class Row:
    def __init__(self, base: str, showings: int = 0) -> None:
        self.base = base
        self.showings = showings
        self.is_open = False
        self.title = base
        self.kind = "other"
        self.status = "in_progress"
        self.raw_input: dict[str, Any] = {}
        self.locations: list[dict[str, Any]] = []
        self.content: list[dict[str, Any]] = []
        self.about: dict[str, Any] = {}  # goes into _meta.awf
        self.terminal: dict[str, Any] = {}  # the terminal that shows its output, where the editor has them
        self.told_time = False  # the title shows how long it has been going on

    @property
    def is_settled(self) -> bool:
        """Open no more, or as good as: a row that has failed may be told why, but cannot go on."""
        return not self.is_open or self.status in {"completed", "failed"}

    @property
    def id(self) -> str:
        """Of the row that is open, or else of the next one."""
        number = self.showings if self.is_open else self.showings + 1
        return self.base if number <= 1 else f"{self.base}~{number}"

    @property
    def last_id(self) -> str:
        """Of the row that was shown last, so that others can refer to it."""
        return self.base if self.showings <= 1 else f"{self.base}~{self.showings}"

    def begin(self, status: str = "in_progress") -> Update:
        self.showings += 1
        self.is_open, self.status = True, status
        update: Update = {
            "sessionUpdate": "tool_call",
            "toolCallId": self.id,
            "title": self.title,
            "kind": self.kind,
            "status": status,
            "rawInput": self.raw_input,
            "content": self._shown_content(),
        }
        if self.locations:
            update["locations"] = self.locations
        return {**update, "_meta": self._first_meta()}

    def _shown_content(self) -> list[dict[str, Any]]:
        terminal = [{"type": "terminal", "terminalId": self.id}] if self.terminal else []
        return [*terminal, *self.content]

    def _first_meta(self) -> dict[str, Any]:
        info = {"terminal_info": {"terminal_id": self.id, **self.terminal}} if self.terminal else {}
        return {"awf": self.about, **info}

    def change(self, **fields: Any) -> Update:
        """`content` is what there is beside the terminal; `meta` is put beside `_meta.awf`, `about` into it."""
        about, meta = fields.pop("about", None), fields.pop("meta", None)
        if self.told_time and "title" not in fields:
            fields["title"], self.told_time = self.title, False
        if "content" in fields and self.terminal:
            fields["content"] = [{"type": "terminal", "terminalId": self.id}, *fields["content"]]
        self.status = fields.get("status", self.status)
        update: Update = {"sessionUpdate": "tool_call_update", "toolCallId": self.id, **fields}
        noted = {**({"awf": about} if about else {}), **(meta or {})}
        return {**update, "_meta": noted} if noted else update

    def end(self, status: str, **fields: Any) -> Update:
        update = self.change(status=status, **fields)
        self.is_open = False
        return update

    def cut_off(self, status: str, **fields: Any) -> list[Update]:
        """End it if it is open. One that has failed already keeps what it said."""
        if self.is_settled:
            self.is_open = False
            return []
        return [self.end(status, **fields)]

    def tool_call(self) -> Update:
        """The object that a permission request carries."""
        return {
            "toolCallId": self.id,
            "title": self.title,
            "kind": self.kind,
            "status": "pending",
            "content": self._shown_content() if self.is_open else list(self.content),
            "rawInput": self.raw_input,
            "locations": self.locations,
        }
