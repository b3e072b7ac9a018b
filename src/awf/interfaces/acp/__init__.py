"""Editors knock here: ACP on standard streams."""
