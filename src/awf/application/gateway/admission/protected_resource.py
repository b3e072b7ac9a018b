"""Where clients learn who gives out tokens for this door (RFC 9728). Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from awf.domain.gateway_file import ListenOAuth

__all__ = ["WELL_KNOWN", "metadata_address", "protected_resource", "resource_path"]

WELL_KNOWN = "/.well-known/oauth-protected-resource"
_RESOURCE = re.compile(r"/mcp(/[A-Za-z0-9_-]{1,64})?|/sse")


def resource_path(path: str) -> str | None:
    """Of what a metadata document speaks: empty for the door as a whole, None when there is no such document."""
    rest = path.removeprefix(WELL_KNOWN)
    if rest == path:
        return None
    return "" if rest in {"", "/"} else rest if _RESOURCE.fullmatch(rest) else None


def protected_resource(oauth: ListenOAuth, host: str, path: str) -> dict[str, Any]:
    """The document. `host` is the one of the request, which was checked; `path` is one of `resource_path`.

    The resource has to be what the client asked for, else clients do not believe it. What it is called in tokens comes
    first, because a client asks for a token for exactly that.
    """
    document: dict[str, Any] = {
        "resource": _resource(oauth, host, path),
        "authorization_servers": [oauth.issuer],
        "bearer_methods_supported": ["header"],
    }
    if oauth.scopes:  # the RFC wants no empty lists
        document["scopes_supported"] = list(dict.fromkeys(oauth.scopes))
    return document


def metadata_address(oauth: ListenOAuth, host: str, path: str) -> str:
    """The address of the document about this path."""
    named = path if _RESOURCE.fullmatch(path) else ""
    parts = urlsplit(_resource(oauth, host, named))
    # A proxy may have put the whole door under a folder of its own.
    folder = parts.path.removesuffix("/mcp") if parts.path.endswith("/mcp") else ""
    return f"{parts.scheme}://{parts.netloc}{folder}{WELL_KNOWN}{named}"


def _resource(oauth: ListenOAuth, host: str, path: str) -> str:
    if oauth.resource:
        return oauth.resource
    parts = urlsplit(oauth.audience)
    if parts.scheme in {"http", "https"} and parts.netloc.lower() == host.lower():
        return oauth.audience
    return f"http://{host}{path}"
