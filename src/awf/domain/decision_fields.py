"""The names that conditions of policy rules may use. They are a promise: names are only ever added.

docs/policy.md says what each one holds.
"""

__all__ = ["CONTEXT_FIELDS", "DOCUMENT_VERSION", "FIELDS"]

DOCUMENT_VERSION = "1"
CONTEXT_FIELDS = ("id", "door", "client", "profile", "workspace", "user", "session", "workflow", "step")
# What is below each name: its fields, or None where they are anybody's.
FIELDS: dict[str, tuple[str, ...] | None] = {
    "tool": ("id", "name", "server", "source", "action", "readOnly", "openWorld", "annotations"),
    "arguments": None,
    "context": CONTEXT_FIELDS,
    "labels": ("confidentiality", "integrity"),
    "risk": (),
    "paths": (),
    "hosts": (),
    "path": (),
    "host": (),
}
