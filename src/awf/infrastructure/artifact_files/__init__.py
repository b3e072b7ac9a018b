"""Long results of tools, one file each, that only their owner can read."""

from awf.infrastructure.artifact_files.files import FileArtifacts

__all__ = ["FileArtifacts"]
