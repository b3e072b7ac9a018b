"""Agents knock here: MCP on standard streams."""
