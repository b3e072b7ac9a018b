"""The gateway's file, and the folder that confined programs are kept from."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys

import pytest

from awf.bootstrap import App
from awf.bootstrap.footing import FirmPins, Footing
from awf.bootstrap.gateways import GatewayHouse, gateway_path
from awf.domain.errors import AwfError
from awf.domain.pinning import Pin
from awf.domain.sandbox import Abilities

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="walls are for Linux")


class Able:
    def abilities(self) -> Abilities:
        return Abilities(wall="bubblewrap")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project" / ".awf").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def house(project):
    def house(named="", **file) -> GatewayHouse:
        (project / (named or ".awf/gateway.yaml")).write_text(written(**file))
        app = App(cwd=str(project), environment={"HOME": str(project.parent / "home"), "PATH": os.defpath})
        app.__dict__["sandbox"] = Able()  # as on a machine that can build one; nothing is started
        return GatewayHouse(app, gateway_path(app, named))

    return house


def written(**file) -> str:
    return json.dumps({"mcpServers": {"one": {"command": "true"}}, **file})


def replace_folder(project, **file) -> None:
    """As `mv` and `cp -r` do, or a change of branches."""
    os.rename(project / ".awf", project / "old")
    shutil.copytree(project / "old", project / ".awf")
    (project / ".awf" / "gateway.yaml").write_text(written(mcpServers={"other": {"command": "true"}}, **file))


WRITERS = [
    {"default": "workspace"},
    {"bash": "workspace"},
    {"default": "mine", "profiles": {"mine": {"write": [".."]}}},
]


@pytest.mark.parametrize("sandbox", WRITERS)
def test_a_file_in_a_folder_that_confined_programs_may_have_written_is_not_taken_over(
    house, project, sandbox
):
    here = house(sandbox=sandbox)
    assert here.look_at_footing() is None
    replace_folder(project)
    with pytest.raises(AwfError) as caught:
        here.read_again()
    assert caught.value.code == "USER.SANDBOX.FOLDER_REPLACED"
    assert str(project / ".awf") in caught.value.message
    assert here.seen == here.fingerprint(), "or it would be told every second"


@pytest.mark.parametrize(
    "sandbox", [{}, {"default": "restricted"}, {"default": "all", "profiles": {"all": {"files": "all"}}}]
)
def test_where_no_confined_program_could_write_a_new_folder_is_followed(house, project, sandbox):
    here = house(sandbox=sandbox)
    replace_folder(project)
    assert [*here.read_again().servers] == ["other"]
    assert here.look_at_footing() is None


def test_a_file_that_is_saved_anew_in_its_folder_is_followed(house, project):
    here = house(sandbox={"default": "workspace"})
    (project / ".awf" / "new").write_text(written(mcpServers={"other": {"command": "true"}}))
    os.replace(project / ".awf" / "new", project / ".awf" / "gateway.yaml")
    assert [*here.read_again().servers] == ["other"]


def test_a_replaced_folder_is_told_once_and_never_trusted_again(house, project):
    here = house(sandbox={"default": "workspace"})
    replace_folder(project)
    assert here.look_at_footing() is not None
    assert here.look_at_footing() is None
    shutil.rmtree(project / ".awf")
    os.rename(project / "old", project / ".awf")
    with pytest.raises(AwfError, match="nothing is read from there"):
        here.read_again()


def test_programs_of_an_earlier_file_are_remembered(house, project):
    """They may still be there: calls that are under way are not cut off."""
    here = house(sandbox={"default": "workspace"})
    (project / ".awf" / "gateway.yaml").write_text(written())
    here.read_again()
    replace_folder(project)
    with pytest.raises(AwfError):
        here.read_again()


def test_a_new_place_for_pins_that_nobody_was_kept_from_is_refused(house, project):
    here = house(sandbox={"default": "workspace"})
    (project / "pins").mkdir()
    sandbox = {"default": "workspace"}
    (project / ".awf" / "gateway.yaml").write_text(
        written(sandbox=sandbox, pinning={"file": "../pins/p.json"})
    )
    with pytest.raises(AwfError, match=r"project/pins was not kept from") as caught:
        here.read_again()
    assert caught.value.code == "USER.SANDBOX.GATE_IN_REACH"
    (project / ".awf" / "gateway.yaml").write_text(written(sandbox=sandbox))
    assert [*here.read_again().servers] == ["one"]  # nobody has replaced anything


@pytest.mark.parametrize("name", ["pins/deep/p.json", "../pins/p.json"])
def test_pins_that_are_kept_in_a_folder_of_their_own_are_read_again(house, name):
    here = house(sandbox={"default": "workspace"}, pinning={"file": name})
    here.open()
    pin = Pin(id="one:tool", fingerprint="f", first_seen=1.0, definition={"name": "tool", "inputSchema": {}})
    here.pins.save({pin.id: pin})
    assert here.look_at_footing() is None
    assert [*here.pins.load()] == [pin.id]
    assert [*here.read_again().servers] == ["one"]


def test_pins_of_a_replaced_folder_are_not_believed(house, project):
    here = house(sandbox={"default": "workspace"})
    pin = Pin(id="one:tool", fingerprint="f", first_seen=1.0, definition={"name": "tool", "inputSchema": {}})
    assert here.pins.load() == {}
    here.pins.save({pin.id: pin})
    assert [*here.pins.load()] == [pin.id]
    replace_folder(project)
    (project / ".awf" / "gateway.pins.json").unlink()
    assert [*here.pins.load()] == [pin.id]


def test_pins_that_cannot_be_believed_from_the_start_are_an_error():
    def fail() -> None:
        raise AwfError("USER.SANDBOX.FOLDER_REPLACED", "no", hint="no")

    class Store:
        def load(self):
            return {}

        def save(self, pins):
            return None

    with pytest.raises(AwfError):
        FirmPins(Store(), fail).load()


def test_nothing_is_held_open_when_it_is_gone(tmp_path):
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    footing = Footing()
    footing.hold(str(tmp_path / "file"))
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del footing
    assert len(os.listdir("/proc/self/fd")) == before
