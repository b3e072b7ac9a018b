"""Credentials that a server at an address wants to see, fetched from whoever gives them out."""

from __future__ import annotations

from awf.infrastructure.upstreams.oauth.client_credentials import ClientCredentials

__all__ = ["ClientCredentials"]
