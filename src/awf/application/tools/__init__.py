"""An agent step gets its tools."""
