"""AWF: run coding agents in workflows, and own the gate between agents and their tools."""

__version__ = "0.1.0"
__all__ = ["__version__"]
