"""A plugin's configuration and environment: `${env:NAME}` filled in, then held against what it declares."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.plugin_file import ConfigKey
    from awf.infrastructure.plugins.declaration import Declaration

__all__ = ["configuration", "extra_environment", "misfit"]

_PLACEHOLDER = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_TYPES: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def extra_environment(declaration: Declaration, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that the declaration adds."""
    return {
        name: _fill(declaration, f"env.{name}", text, environment) for name, text in declaration.env.items()
    }


def configuration(declaration: Declaration, environment: Mapping[str, str]) -> dict[str, Any]:
    """What Init is given. Raises USER.PLUGIN.CONFIG for what is missing, wrong or unknown."""
    given = {
        name: _filled(declaration, f"config.{name}", value, environment)
        for name, value in declaration.config.items()
    }
    keys = declaration.config_keys
    if keys is None:
        return given
    _refuse_unknown(declaration, given, keys)
    values = {}
    for name, key in keys.items():
        value = given.get(name, key.default)
        if name in given and declaration.config[name] != value:
            value = _typed(key, value)  # it came out of the environment, where everything is text
        if value is not None:
            values[name] = _fitting(declaration, name, key, value)
        elif key.required:
            raise _wrong(
                declaration, f"needs the config key '{name}'{_about(key)}", f"Add {name}: … to its config."
            )
    return values


def misfit(key: ConfigKey, value: Any) -> str:
    """Why the value cannot be used, or an empty string."""
    if not _TYPES[key.type](value):
        return f"{_shown(value)} is not of type {key.type}"
    if key.enum is not None and not any(
        value == allowed and type(value) is type(allowed) for allowed in key.enum
    ):
        return f"{_shown(value)} is not one of {', '.join(_shown(allowed) for allowed in key.enum)}"
    return ""


def _refuse_unknown(
    declaration: Declaration, given: Mapping[str, Any], keys: Mapping[str, ConfigKey]
) -> None:
    for name in given:
        if name not in keys:
            close = suggest(name, keys)
            known = f"It takes: {', '.join(sorted(keys))}." if keys else "It takes no configuration."
            raise _wrong(
                declaration, f"has no config key '{name}'", f"did you mean '{close}'?" if close else known
            )


def _fitting(declaration: Declaration, name: str, key: ConfigKey, value: Any) -> Any:
    reason = misfit(key, value)
    if reason:
        raise _wrong(
            declaration, f"cannot use its config key '{name}': {reason}", f"Correct it{_about(key)}."
        )
    return value


def _filled(declaration: Declaration, where: str, value: Any, environment: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _fill(declaration, where, value, environment)
    if isinstance(value, list):
        return [_filled(declaration, where, item, environment) for item in value]
    if isinstance(value, dict):
        return {key: _filled(declaration, where, item, environment) for key, item in value.items()}
    return value


def _fill(declaration: Declaration, where: str, text: str, environment: Mapping[str, str]) -> str:
    def found(match: re.Match[str]) -> str:
        if match[1] not in environment:
            raise _wrong(
                declaration,
                f"needs the environment variable {match[1]}, which is not set ({where})",
                f"Set {match[1]}.",
            )
        return environment[match[1]]

    return _PLACEHOLDER.sub(found, text)


def _typed(key: ConfigKey, value: Any) -> Any:
    if key.type == "string" or not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, ValueError):
        return value


def _about(key: ConfigKey) -> str:
    return f" ({key.type}: {key.description})" if key.description else f" ({key.type})"


def _shown(value: Any) -> str:
    """Never the value of a secret in full: a long text is only named."""
    text = str(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
    return f"'{text}'" if len(text) <= 20 else "a long value"


def _wrong(declaration: Declaration, message: str, hint: str) -> AwfError:
    return AwfError(
        "USER.PLUGIN.CONFIG",
        f"The plugin '{declaration.name}' {message}.",
        hint=f"{hint} Its declaration is {declaration.origin}.",
    )
