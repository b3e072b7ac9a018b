"""Plugins as programs of their own, spoken to with gRPC. Nothing here imports gRPC before a plugin is started."""
