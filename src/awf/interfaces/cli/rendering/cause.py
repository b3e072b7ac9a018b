from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from awf.interfaces.cli.rendering.paths import is_within

if TYPE_CHECKING:
    from awf.domain.events import StepFailed

__all__ = ["Blamed", "FailureCause"]


class Blamed(NamedTuple):
    path: str = ""
    code: str = ""
    message: str = ""


class FailureCause:
    """Remembers the step that a failed run is to be blamed on.

    Only the last top-level step that failed can have ended the run. Inside it the failure of a branch fails its parent
    too, and often its siblings: the first and innermost is the cause. A failure inside it that the workflow had a way on
    from counts only when nothing else explains the end.
    """

    def __init__(self) -> None:
        self._top = ""
        self._cause = Blamed()
        self._handled = Blamed()

    def heard(self, event: StepFailed) -> None:
        if event.cancelled:
            return
        top = event.path.partition("/")[0].partition("[")[0]
        if top != self._top:
            self._top, self._cause, self._handled = top, Blamed(), Blamed()
        blamed = Blamed(event.path, event.code, event.message)
        if event.handled and event.path != top and not is_within(self._cause.path, event.path):
            self._handled = blamed
        elif not self._explained_already(event.path):
            self._cause = blamed

    def _explained_already(self, path: str) -> bool:
        cause = self._cause.path
        if not cause:
            return False
        parent, slash, _ = path.rpartition("/")
        is_sibling = bool(slash) and cause.rpartition("/")[0] == parent
        return is_sibling or is_within(cause, path)

    def blamed(self, state: str) -> Blamed:
        """The step to look at, given the state in which the run ended."""
        if self._cause.path:
            return self._cause
        return self._handled if self._handled.path else Blamed(state)
