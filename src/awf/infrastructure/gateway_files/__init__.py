"""The files that tell a gateway what to serve: our own, and those that other MCP clients keep."""

from awf.infrastructure.gateway_files.client_file import ClientFile, read_client_file
from awf.infrastructure.gateway_files.import_plan import ImportPlan, import_plan
from awf.infrastructure.gateway_files.reading import load_gateway, locate, read_gateway_file, read_own_form
from awf.infrastructure.gateway_files.usual_places import usual_files

__all__ = [
    "ClientFile",
    "ImportPlan",
    "import_plan",
    "load_gateway",
    "locate",
    "read_client_file",
    "read_gateway_file",
    "read_own_form",
    "usual_files",
]
