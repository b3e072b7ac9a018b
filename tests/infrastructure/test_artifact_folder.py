"""The application keeps long results in its storage."""

from __future__ import annotations

import hashlib

from awf.domain.label import Label
from awf.domain.ports.artifact_store import Artifact


async def test_long_results_lie_in_the_storage_of_the_application(lab, tmp_path):
    app = lab.app()
    one = Artifact(
        artifact_id="a" * 40,
        tool_id="t",
        request_id="r",
        context="c",
        label=Label(),
        created_at=1.0,
        byte_size=1,
        line_count=1,
        content_hash=hashlib.sha256(b"x").hexdigest(),
    )
    await app.artifacts.keep(one, b"x")
    assert app.artifacts is app.artifacts
    found = list((tmp_path / app.settings.storage.value).glob("artifacts/*"))
    assert [file.name for file in found] == ["a" * 40 + ".artifact"]
