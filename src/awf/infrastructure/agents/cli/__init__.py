"""What all agents that are programs of their own share."""
