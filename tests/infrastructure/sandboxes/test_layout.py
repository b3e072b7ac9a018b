"""Which files are shown."""

from __future__ import annotations

import os
import sys
import tempfile

import msgspec
import pytest

from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command
from awf.domain.ports.sandbox import Grounds
from awf.domain.sandbox import BUILT_IN
from awf.infrastructure.sandboxes.layout import check_reach, lay_out
from awf.infrastructure.sandboxes.system_settings import copy_settings, hold_place

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="walls are for Linux")


@pytest.fixture
def shown(tmp_path):
    """The places below the test's folder that a profile shows, and how."""
    opened = []

    def shown(profile: str = "restricted", **said) -> dict[str, str]:
        rules = msgspec.structs.replace(
            BUILT_IN[profile], read=said.pop("read", ()), write=said.pop("write", ())
        )
        grounds = Grounds(root=str(tmp_path / "project"), home=str(tmp_path / "home"), **said)
        layout = lay_out(rules, grounds, "")
        opened.append(layout)
        found = {spot.path: "write" if spot.writable else "read" for spot in layout.spots}
        found |= {spot.path: "kept" for spot in layout.protected}
        return {os.path.relpath(path, tmp_path): how for path, how in found.items()}

    for name in ("project/sub", "project/.awf", "home/.cache", "other"):
        (tmp_path / name).mkdir(parents=True)
    yield shown
    for layout in opened:
        layout.close()


def test_a_project_is_writable_or_not(shown):
    assert shown("restricted") == {"project": "read"}
    assert shown("workspace") == {"project": "write"}


def test_places_are_relative_to_the_project_or_to_home(shown, tmp_path):
    found = shown(read=("~/.cache", str(tmp_path / "other")), write=("sub",))
    assert found == {"project": "read", "home/.cache": "read", "other": "read", "project/sub": "write"}


def test_what_lies_in_a_writable_place_needs_nothing_more(shown):
    """Also because whoever can write there could put a link in its place."""
    assert shown("workspace", read=("sub",), write=("sub",)) == {"project": "write"}


def test_what_does_not_exist_is_left_out(shown):
    assert shown(read=("nothing",), write=("~/nothing",)) == {"project": "read"}


def test_the_files_of_the_gate_are_kept_where_they_could_be_changed(shown, tmp_path):
    gate = (str(tmp_path / "project" / ".awf"), str(tmp_path / "other"))
    assert shown("workspace", protected=gate) == {"project": "write", "project/.awf": "kept"}
    assert shown("restricted", protected=gate) == {"project": "read"}


def test_a_program_is_found_wherever_the_path_shows_one_in_reach(tmp_path):
    for folder in ("project/bin", "hidden"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "tool").write_text("#!/bin/sh\n")
        (tmp_path / folder / "tool").chmod(0o755)
    layout = lay_out(BUILT_IN["restricted"], Grounds(root=str(tmp_path / "project")), "")
    try:
        path = f"{tmp_path}/hidden:{tmp_path}/project/bin"
        check_reach(Command(argv=("tool",), cwd="", env={"PATH": path}), layout, "restricted")
    finally:
        layout.close()


@pytest.mark.parametrize(
    ("program", "named"),
    [
        ("home/.local/share/uv/tools/x/bin/x", "home/.local/share/uv/tools/x"),
        ("elsewhere/x/bin/x", "elsewhere/x"),
        ("home/.local/bin/x", "home/.local/bin"),  # ~/.local holds the storage
        ("home/bin/x", "home/bin"),
        ("home/x", "home/x"),
    ],
)
def test_the_folder_to_add_for_a_program_is_never_one_that_holds_too_much(tmp_path, program, named):
    for folder in ("project", "home/.local/share/awf/audit"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / program).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / program).touch()
    secret = (str(tmp_path / "home/.local/share/awf/audit"),)
    grounds = Grounds(root=str(tmp_path / "project"), home=str(tmp_path / "home"), secret=secret)
    layout = lay_out(BUILT_IN["restricted"], grounds, "")
    try:
        with pytest.raises(AwfError) as caught:
            check_reach(Command(argv=(str(tmp_path / program),), cwd="", env={}), layout, "restricted")
    finally:
        layout.close()
    assert caught.value.hint.endswith(f"such as {tmp_path / named}.")
    rules = msgspec.structs.replace(BUILT_IN["restricted"], read=(str(tmp_path / named),))
    lay_out(rules, grounds, "").close()


def test_the_folder_to_add_for_a_program_is_not_the_whole_machine(tmp_path):
    with tempfile.NamedTemporaryFile(dir="/tmp") as program:
        layout = lay_out(BUILT_IN["restricted"], Grounds(root=str(tmp_path)), "")
        try:
            with pytest.raises(AwfError, match="is hidden") as caught:
                check_reach(Command(argv=(program.name,), cwd="", env={}), layout, "restricted")
        finally:
            layout.close()
    assert caught.value.hint.endswith("such as /tmp.")


def test_settings_of_the_system_are_copied_without_its_secrets(tmp_path):
    copy_settings(str(tmp_path), ["/etc/hosts", "/etc/no-such-file"])
    names = {path.name for path in tmp_path.iterdir()}
    assert {"hosts", "no-such-file"} <= names
    assert not names & {"shadow", "gshadow", "sudoers", "ssh"}
    hold_place(str(tmp_path), "/etc/some/folder", folder=True)
    assert (tmp_path / "some" / "folder").is_dir()
