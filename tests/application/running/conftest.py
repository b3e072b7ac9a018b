"""The engine over every store: it must not be able to tell them apart."""

from __future__ import annotations

import pytest

from awf.testing.laboratory import Laboratory


@pytest.fixture(scope="module")
def shared_database(postgres):
    url = postgres.new_database()
    yield url
    postgres.drop(url)


@pytest.fixture(params=["sqlite", "postgres"])
def lab(request, tmp_path):
    if request.param == "sqlite":
        return Laboratory(tmp_path)
    return Laboratory(tmp_path, {"AWF_DATABASE_URL": request.getfixturevalue("shared_database")})
