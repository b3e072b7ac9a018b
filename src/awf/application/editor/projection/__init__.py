"""A run as an editor is shown it: events in, session updates of the protocol out. Pure."""

from __future__ import annotations

from awf.application.editor.projection.projector import Projector

__all__ = ["Projector"]
