"""A tool call crosses the border between an agent and the servers behind the gateway."""
