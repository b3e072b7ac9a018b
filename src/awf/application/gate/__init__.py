"""What every call passes: who may do it, what is kept of it, and how much of its result comes back."""
