"""What a server is given that must stay secret, as its configuration tells. Every door that opens servers asks here."""

from awf.domain.mcp_server import McpServer
from awf.domain.redaction import looks_secret

__all__ = ["CREDENTIAL_HEADERS", "secrets_of"]

CREDENTIAL_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie"})


def secrets_of(name: str, server: McpServer) -> dict[str, str]:
    """What it is → the value: all that stands under a name that says secret, wherever it came from."""
    found = {f"{name}.env.{key}": value for key, value in server.env.items() if looks_secret(key)}
    for key, value in server.headers.items():
        if key.lower() in CREDENTIAL_HEADERS or looks_secret(key):
            found[f"{name}.headers.{key}"] = value.rpartition(" ")[2]
    if server.oauth is not None:
        found[f"{name}.oauth.client_secret"] = server.oauth.client_secret
    return {about: value for about, value in found.items() if value}
