"""The gateway's doors: MCP over HTTP in all its forms, over standard streams, and over a Unix socket."""
