"""What the gateway adds to a direct connection: in time, in processor time and in memory, and whether it loses a call."""
