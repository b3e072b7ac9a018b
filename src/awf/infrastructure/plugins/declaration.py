"""What the files say of one plugin, put together: enough to start it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from awf.domain.plugin_file import ConfigKey
    from awf.domain.ports.plugins import DeclaredPlugin

__all__ = ["Declaration"]


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    shown: DeclaredPlugin
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str] = {}  # ${env:NAME} not yet filled in, here and in `config`
    config: dict[str, Any] = {}
    config_keys: dict[str, ConfigKey] | None = None  # None: the plugin takes anything
    awf_version: str = ""
    timeout: float = 30.0

    @property
    def name(self) -> str:
        return self.shown.name

    @property
    def origin(self) -> str:
        return self.shown.origin
