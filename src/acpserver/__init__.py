"""ACP spoken as the agent. Standard library only; knows nothing of awf."""
