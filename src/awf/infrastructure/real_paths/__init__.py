"""What the names of files mean on this machine."""

from awf.infrastructure.real_paths.paths import RealPaths

__all__ = ["RealPaths"]
