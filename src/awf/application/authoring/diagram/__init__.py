"""A workflow drawn: as Mermaid, as DOT, as SVG."""

from __future__ import annotations

from awf.application.authoring.diagram.dot import to_dot
from awf.application.authoring.diagram.graph import graph_of
from awf.application.authoring.diagram.highlight import highlight_of
from awf.application.authoring.diagram.mermaid import to_mermaid
from awf.application.authoring.diagram.svg import to_svg

__all__ = ["graph_of", "highlight_of", "to_dot", "to_mermaid", "to_svg"]
