"""`awf gateway api`: the tool gateway over JSON-RPC lines, for programs in other languages."""
