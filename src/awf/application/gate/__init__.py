"""Whatever an agent does passes one gate: what it was granted, what was approved, and what it has read decide."""
