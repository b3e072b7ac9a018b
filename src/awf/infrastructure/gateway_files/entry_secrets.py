"""Secrets that stand in the file of a client do not go into ours: a reference to a variable takes their place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from awf.domain.redaction import looks_secret
from awf.domain.server_secrets import CREDENTIAL_HEADERS
from awf.domain.value_source import is_reference

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["literal_secrets", "without_secrets"]

_ASSIGNED = re.compile(r"(-{0,2}([A-Za-z][A-Za-z0-9_-]*)=)(.+)", re.DOTALL)
_OPTION = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]*)")
_IN_ADDRESS = re.compile(r"([?&]([^=&#]+)=)([^&#]+)")
_KNOWN_FORM = re.compile(r"(sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA)[A-Za-z0-9_-]{8,}")
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|ApiKey) +", re.IGNORECASE)


class _Taking:
    """Takes the secrets of one server out, and remembers which variables hold them now."""

    def __init__(self, server: str) -> None:
        self._server = re.sub(r"[^A-Za-z0-9]+", "_", server).strip("_").upper()
        self.moved: dict[str, str] = {}  # where it stood → variable

    def reference(self, place: str, name: str) -> str:
        """Variables carry the name of the server, so that one server's key is never sent to another."""
        word = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").upper()
        variable = word if self._server in word or not self._server else f"{self._server}_{word}"
        variable = variable if variable[0].isalpha() else f"MCP_{variable}"
        self.moved[place] = variable
        return f"${{env:{variable}}}"

    def variable(self, name: str, value: str, group: str = "env") -> str:
        secret = looks_secret(name) or _KNOWN_FORM.match(value)
        return self.reference(f"{group}.{name}", name) if secret and _literal(value) else value

    def header(self, name: str, value: str) -> str:
        secret = name.lower() in CREDENTIAL_HEADERS or looks_secret(name) or _KNOWN_FORM.match(value)
        if not secret or not _literal(value):
            return value
        scheme = _SCHEME.match(value)
        return (scheme[0] if scheme else "") + self.reference(f"headers.{name}", name)

    def arguments(self, arguments: list[str]) -> list[str]:
        made: list[str] = []
        for at, text in enumerate(arguments):
            before = _OPTION.fullmatch(arguments[at - 1]) if at else None
            made.append(self._argument(f"args.{at}", text, before[1] if before else ""))
        return made

    def _argument(self, place: str, text: str, option: str) -> str:
        if not _literal(text):
            return text
        assigned = _ASSIGNED.fullmatch(text)
        if assigned and (looks_secret(assigned[2]) or _KNOWN_FORM.match(assigned[3])):
            return assigned[1] + self.reference(place, assigned[2])
        if (option and looks_secret(option) and not text.startswith("-")) or _KNOWN_FORM.match(text):
            return self.reference(place, option or "secret")
        return text

    def address(self, url: str) -> str:
        def moved(found: re.Match[str]) -> str:
            if not looks_secret(found[2]) or not _literal(found[3]):
                return found[0]
            return found[1] + self.reference(f"url ({found[2]})", found[2])

        return _IN_ADDRESS.sub(moved, url)


def without_secrets(name: str, entry: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The entry with references in the place of secrets, and which variables have to be set: place → variable."""
    taking = _Taking(name)
    made = dict(entry)
    if "env" in made:
        made["env"] = {key: taking.variable(key, value) for key, value in made["env"].items()}
    if "headers" in made:
        made["headers"] = {key: taking.header(key, value) for key, value in made["headers"].items()}
    if "args" in made:
        made["args"] = taking.arguments(made["args"])
    if "url" in made:
        made["url"] = taking.address(made["url"])
    if "client_secret" in made.get("oauth", {}):
        secret = taking.variable("client_secret", made["oauth"]["client_secret"], "oauth")
        made["oauth"] = {**made["oauth"], "client_secret": secret}
    return made, taking.moved


def literal_secrets(entry: Any) -> list[str]:
    """The secrets that stand in an entry of our own file, so that nothing shows them."""
    if not isinstance(entry, dict):
        return []
    found: list[str] = []
    for key, is_secret in (("env", looks_secret), ("headers", _is_credential), ("oauth", looks_secret)):
        pairs = entry.get(key)
        if isinstance(pairs, dict):
            found += [
                str(value)
                for name, value in pairs.items()
                if value and is_secret(str(name)) and _literal(str(value))
            ]
    return found


def _is_credential(header: str) -> bool:
    return header.lower() in CREDENTIAL_HEADERS or looks_secret(header)


def _literal(value: str) -> bool:
    return bool(value.strip()) and not is_reference(value)
