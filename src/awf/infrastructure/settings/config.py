"""Flags, environment and files → one value for each setting, with where it came from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.settings import ConfigFile

__all__ = ["Setting", "Settings", "resolve_settings"]


class Setting(msgspec.Struct, frozen=True):
    value: Any
    origin: str


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    storage: Setting
    database_url: Setting
    audit_key: Setting
    log_level: Setting
    log_format: Setting
    log_file: Setting
    telemetry_endpoint: Setting
    telemetry_service_name: Setting
    inputs: Setting

    def listed(self) -> dict[str, Setting]:
        return {
            name.replace("_", ".", 1) if "_" in name else name: getattr(self, name)
            for name in self.__struct_fields__
        }


def resolve_settings(
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    files: list[tuple[str, ConfigFile]],
    default_storage: str,
) -> Settings:
    """`files` in order of precedence, each with the name to show for it."""

    def setting(
        flag: str, variables: tuple[str, ...], read: Callable[[ConfigFile], Any], default: Any
    ) -> Setting:
        if flags.get(flag) is not None:
            return Setting(flags[flag], f"--{flag.replace('_', '-')}")
        for variable in variables:
            if environment.get(variable):
                return Setting(environment[variable], f"${variable}")
        for name, file in files:
            value = read(file)
            if value is not None and value != default:
                return Setting(value, name)
        return Setting(default, "default")

    inputs: dict[str, Any] = {}
    for _, file in reversed(files):
        inputs.update(file.inputs)
    sources = ", ".join(name for name, file in files if file.inputs)
    return Settings(
        storage=setting(
            "storage",
            ("AWF_STORAGE",),
            lambda f: os.path.expanduser(f.storage) if f.storage else None,
            default_storage,
        ),
        database_url=setting("database_url", ("AWF_DATABASE_URL",), lambda f: f.database.url, None),
        audit_key=setting("audit_key", ("AWF_AUDIT_KEY",), lambda f: f.audit.key, None),
        log_level=setting("log_level", ("AWF_LOG_LEVEL",), lambda f: f.log.level, None),
        log_format=setting("log_format", ("AWF_LOG_FORMAT",), lambda f: f.log.format, "console"),
        log_file=setting("log_file", ("AWF_LOG_FILE",), lambda f: f.log.file, None),
        telemetry_endpoint=setting(
            "otel_endpoint",
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
            lambda f: f.telemetry.endpoint,
            None,
        ),
        telemetry_service_name=setting(
            "otel_service_name", ("OTEL_SERVICE_NAME",), lambda f: f.telemetry.service_name, "awf"
        ),
        inputs=Setting(inputs, sources or "default"),
    )
