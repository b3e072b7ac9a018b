"""The gateway's page: what it serves, how its servers are, and which calls go through it right now."""

from __future__ import annotations

from awf.interfaces.web.desk import Desk, Watch
from awf.interfaces.web.page import serve_page

__all__ = ["Desk", "Watch", "serve_page"]
