"""The one place that picks adapters and builds services. Every door of the program comes through here."""

from awf.bootstrap.app import App
from awf.bootstrap.late import LateMapping

__all__ = ["App", "LateMapping"]
