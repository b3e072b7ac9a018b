"""How awf is set up. Precedence: flag, environment, project file, user file, default."""

from typing import Annotated, Any, Literal

from awf.domain.shape import Record

__all__ = ["AuditConfig", "ConfigFile", "DatabaseConfig", "LogConfig", "TelemetryConfig"]


class TelemetryConfig(Record, frozen=True, kw_only=True):
    """Where traces go."""

    endpoint: Annotated[str | None, "The OTLP/HTTP endpoint; none means no tracing."] = None
    service_name: Annotated[str, "The name that traces carry."] = "awf"


class LogConfig(Record, frozen=True, kw_only=True):
    """The structured log."""

    level: Annotated[
        Literal["debug", "info", "warning", "error"] | None,
        "How much is logged of a run; none means nothing.",
    ] = None
    format: Annotated[Literal["console", "json"], "Lines for people, or one JSON object per line."] = (
        "console"
    )
    file: Annotated[str | None, "A file to log to instead of standard error."] = None


class DatabaseConfig(Record, frozen=True, kw_only=True):
    """A PostgreSQL that several machines share."""

    url: Annotated[
        str | None,
        "postgresql://user@host/name; runs are kept there instead of in the run store's directory.",
    ] = None


class AuditConfig(Record, frozen=True, kw_only=True):
    """The record of every call, where several machines share a database."""

    key: Annotated[
        str | None,
        "The file with the key that signs it; the same on every machine. Without it each machine has its own.",
    ] = None


class ConfigFile(Record, frozen=True, kw_only=True):
    """`.awf/config.yaml` of a project, or `config.yaml` in the user's configuration directory."""

    storage: Annotated[str | None, "The directory of the run store."] = None
    database: Annotated[DatabaseConfig, "A PostgreSQL that several machines share."] = DatabaseConfig()
    audit: Annotated[AuditConfig, "The record of every call, where several machines share a database."] = (
        AuditConfig()
    )
    inputs: Annotated[dict[str, Any], "Defaults for inputs, by name."] = {}
    log: Annotated[LogConfig, "The structured log."] = LogConfig()
    telemetry: Annotated[TelemetryConfig, "Where traces go."] = TelemetryConfig()
