"""The gateway's page: what it serves, how its servers are, and which calls go through it right now."""

from __future__ import annotations

from awf.interfaces.web.desk import Desk, Gate, Watch
from awf.interfaces.web.page import is_open_to_all, serve_page

__all__ = ["Desk", "Gate", "Watch", "is_open_to_all", "serve_page"]
