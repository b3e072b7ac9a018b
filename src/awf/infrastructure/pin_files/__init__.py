"""The file beside a gateway's configuration in which trusted definitions of tools are kept."""

from awf.infrastructure.pin_files.files import FilePins

__all__ = ["FilePins"]
