"""Where OpenCode keeps a session.

Several that set up the same database at the same time fail with "database is locked". So each session has a database
of its own, in the folder that is kept with the run, and a session's id tells both: `SESSION@DATABASE`. An id without
a database is one of the user's own sessions.
"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from awf.infrastructure.agents.cli.shapes import Task

__all__ = ["database_file", "database_of", "session_id", "session_of"]


def session_of(task: Task) -> str:
    """The id as OpenCode knows it; empty for a new session."""
    return task.session.partition("@")[0]


def database_of(task: Task) -> str:
    return task.session.partition("@")[2] if task.session else task.new_session


def database_file(task: Task) -> str:
    """Empty for the user's own."""
    name = os.path.basename(database_of(task))
    return os.path.join(task.state, f"{name}.db") if name else ""


def session_id(session: str, database: str) -> str:
    return f"{session}@{database}" if database else session
