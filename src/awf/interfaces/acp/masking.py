"""The secrets of the environment, for what is told or traced before there is a session that knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.redaction import Masker, secret_values

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["environment_masker"]


def environment_masker(environment: Mapping[str, str]) -> Masker:
    masker = Masker()
    for name, value in secret_values(environment).items():
        masker.add(name, value)
    return masker
