"""What every service of a folder stands on: where it is, what is set, and the plainest tools."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from awf import __version__
from awf.domain.redaction import Masker, secret_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.ports.http_client import HttpClient
    from awf.domain.ports.tracer import Tracer
    from awf.domain.ports.turn import Turn
    from awf.domain.redaction.publishing import Publishing
    from awf.domain.settings import ConfigFile
    from awf.infrastructure.expressions import ExpressionLanguage
    from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
    from awf.infrastructure.processes import ProcessRunner
    from awf.infrastructure.settings.config import Settings
    from awf.infrastructure.settings.places import Places

__all__ = ["Foundation"]


class Foundation:
    def __init__(
        self,
        *,
        cwd: str,
        environment: Mapping[str, str],
        flags: Mapping[str, Any] | None = None,
        lent: bool = False,
    ) -> None:
        """`lent`: what is put into it belongs to another one, and is not closed here."""
        self.cwd = os.path.abspath(cwd)
        self.environment = dict(environment)
        self.flags = flags or {}
        self.masker = Masker()
        for name, value in secret_values(self.environment).items():
            self.masker.add(f"env.{name}", value)
        self.version = __version__
        self._lent = lent

    @functools.cached_property
    def publishing(self) -> Publishing:
        """What may be seen of what servers tell of themselves."""
        from awf.domain.redaction.publishing import Publishing

        return Publishing(self.masker)

    @functools.cached_property
    def places(self) -> Places:
        from awf.infrastructure.settings.places import find_places

        return find_places(self.cwd, self.environment)

    @functools.cached_property
    def settings(self) -> Settings:
        from awf.infrastructure.settings.config import resolve_settings

        found = resolve_settings(self.flags, self.environment, self._config_files(), self.places.data_home)
        if found.database_url.value:
            self._mask_password(found.database_url.value)
        return found

    def _mask_password(self, url: str) -> None:
        from urllib.parse import unquote, urlsplit

        try:
            password = urlsplit(url).password or ""
        except ValueError:  # whoever opens it says what is wrong with it
            return
        for written in (password, unquote(password)):
            self.masker.add("env.AWF_DATABASE_URL", written)

    def _config_files(self) -> list[tuple[str, ConfigFile]]:
        from awf.infrastructure.yaml_files.config_file import read_config

        chosen = self.environment.get("AWF_CONFIG_PATH") or os.path.join(self.places.project, "config.yaml")
        paths = [chosen, os.path.join(self.places.config_home, "config.yaml")]
        return [(path, config) for path in paths if (config := read_config(path)) is not None]

    @functools.cached_property
    def expressions(self) -> ExpressionLanguage:
        from awf.infrastructure.expressions import ExpressionLanguage

        return ExpressionLanguage()

    @staticmethod
    def http(turn: Turn | None = None) -> HttpClient:
        """A client of its own for whoever asks."""
        from awf.infrastructure.http_client import LeanHttpClient

        return LeanHttpClient(turn)

    @functools.cached_property
    def schemas(self) -> RustJsonSchemas:
        from awf.infrastructure.json_schemas.schemas import RustJsonSchemas

        return RustJsonSchemas()

    @functools.cached_property
    def runner(self) -> ProcessRunner:
        from awf.infrastructure.processes import ProcessRunner

        return ProcessRunner()

    @functools.cached_property
    def tracer(self) -> Tracer:
        from awf.infrastructure.telemetry.tracing import open_tracer

        settings = self.settings
        return open_tracer(
            settings.telemetry_endpoint.value,
            settings.telemetry_service_name.value,
            self.version,
            self.environment,
        )
