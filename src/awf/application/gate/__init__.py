"""The gate: what happens to a call that somebody has to have allowed, whichever door it comes through."""
