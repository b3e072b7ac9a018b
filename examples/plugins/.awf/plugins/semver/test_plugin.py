"""The plugin's own tests: `python -m pytest` in this folder. They need no awf that runs."""

from __future__ import annotations

from awf.plugin.testing import call, send_event, step, validate
from plugin import plugin


def test_bump() -> None:
    assert call(plugin, "bump", version="1.2.3", part="minor").output == "1.3.0"
    assert call(plugin, "bump", version="2.0.0-rc.1", part="major").output == "2.0.0"


def test_a_wrong_version_is_told() -> None:
    told = call(plugin, "bump", version="1.2")
    assert not told.success
    assert told.error == "'1.2' is not a semantic version such as 1.2.3 or 1.2.3-rc.1"


def test_order() -> None:
    assert call(plugin, "compare", first="1.10.0", second="1.9.0").data["newer"] == "1.10.0"
    ordered = call(plugin, "sort", versions=["1.0.0", "1.0.0-rc.2", "1.0.0-rc.10"]).data["result"]
    assert ordered == ["1.0.0-rc.2", "1.0.0-rc.10", "1.0.0"]


def test_notes() -> None:
    came = step(plugin, "notes", {"version": "1.5.0", "changes": ["feat: colours", "fix: a crash"]})
    assert came.output == "## v1.5.0\n\n### Added\n- colours\n\n### Fixed\n- a crash"
    assert came.data["tag"] == "v1.5.0"


def test_an_agent_without_a_timeout_is_noticed() -> None:
    issues = validate(plugin, {"states": {"initial": "ask", "ask": {"type": "agent"}}})
    assert [(issue.severity, issue.step) for issue in issues] == [("warning", "ask")]


def test_a_summary_follows_each_run() -> None:
    (told,) = send_event(plugin, "workflow.completed", workflow="release", duration_ms=12)
    assert told.type == "semver.summary"
    assert told.payload["came_to"] == "completed"
