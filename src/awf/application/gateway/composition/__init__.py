"""Tools as agents see them: definitions in, published definitions and plans for their calls out. Pure.

Definitions are plain values as a server sent them; what this version of AWF has never heard of passes unharmed.
"""

from __future__ import annotations

from awf.application.gateway.composition.call_plan import CallPlan
from awf.application.gateway.composition.composing import Composed, compose
from awf.application.gateway.composition.problem import CompositionProblem

__all__ = ["CallPlan", "Composed", "CompositionProblem", "compose"]
