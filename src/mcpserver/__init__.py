"""MCP spoken as a server. Standard library only; knows nothing of awf."""
