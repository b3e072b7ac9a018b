"""Sessions of editors in files."""

from __future__ import annotations

from awf.infrastructure.editor_sessions.files import FileEditorSessions

__all__ = ["FileEditorSessions"]
