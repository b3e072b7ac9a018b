"""Contexts that nobody has named: of one project each, though all of them keep what their gates remember in one storage."""

from __future__ import annotations

import os

import pytest

from awf.bootstrap import App
from awf.bootstrap.gates import place_of
from awf.bootstrap.gateways import GatewayHouse, gateway_path
from awf.domain.security_context import is_context_id

FILE = "mcpServers: {here: {command: 'true'}}\nlevels: {contexts: open}\n"


def project(folder, file="gateway.yaml"):
    (folder / ".awf").mkdir(parents=True, exist_ok=True)
    (folder / ".awf" / file).write_text(FILE)
    return folder


def house(folder, named="", **environment):
    given = {"HOME": str(folder), "AWF_STORAGE": str(folder.parent / "s"), **environment}
    app = App(cwd=str(folder), environment=given)
    return GatewayHouse(app, gateway_path(app, named))


def test_gateways_of_two_projects_are_two_contexts_and_the_same_one_tomorrow(tmp_path):
    one, other = project(tmp_path / "a" / "shop"), project(tmp_path / "b" / "shop")
    assert house(one).context == house(one).context != house(other).context
    assert house(one).context.startswith("gateway:shop-")
    (tmp_path / "way").symlink_to(one.parent)
    assert house(tmp_path / "way" / "shop").context == house(one).context


def test_two_files_of_a_project_are_two_and_one_file_of_two_projects_too(tmp_path):
    one, other = project(tmp_path / "a"), project(tmp_path / "b")
    project(one, "other.yaml")
    shared = str(one / ".awf" / "gateway.yaml")
    contexts = [house(one), house(one, ".awf/other.yaml"), house(other, shared), house(other)]
    assert len({each.context for each in contexts}) == 4


def test_gateways_that_share_a_database_are_one_wherever_their_folders_are(tmp_path):
    url = "postgresql://nobody@127.0.0.1:1/none"
    one, other = (house(project(tmp_path / name), AWF_DATABASE_URL=url) for name in "ab")
    assert one.context == other.context == "gateway:.awf/gateway.yaml"


@pytest.mark.parametrize("name", ["a\nb", "ü ber", "x" * 255, "-", "\udcff"])
def test_whatever_a_folder_is_called_its_context_can_be_one(tmp_path, name):
    folder = os.path.join(str(tmp_path), name)
    assert is_context_id(f"gateway:{place_of(folder, os.path.join(folder, 'gateway.yaml'))}")
    assert place_of(folder) != place_of(folder + "2")
