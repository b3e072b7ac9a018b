"""Doors through which agents reach tools over MCP."""
