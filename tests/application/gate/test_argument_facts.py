"""Which files and hosts a call is about, and how risky it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.gate.argument_facts import ArgumentReader
from awf.domain.override import ToolOverride
from awf.testing.gate_shelf import Shelf, facts_of

ROOT = "/home/ada/project"
FILES = ToolOverride(policy_action="file.write")


def read(arguments, tool_id="fs:save", *, override=FILES, around=None):
    return ArgumentReader(facts_of(tool_id, override=override), around or Shelf()).read(arguments)


@pytest.mark.parametrize(
    "name",
    ["path", "file_path", "filePath", "filename", "file", "cwd", "dir", "root", "srcPath", "sourcePath", "destPath", "targetPath", "from", "to", "imagePath", "output_file", "notebook_path", "source", "dest", "paths", "new-path", "pathname", "path1", "file2", "file_path_3", "uris", "source_dirs", "parent_folders", "directories"],
)  # fmt: skip
def test_many_names_mean_a_path(name):
    assert read({name: "a.txt"}).paths == (f"{ROOT}/a.txt",)


def test_paths_are_found_in_lists_objects_and_keys():
    found = read(
        {
            "edits": [{"path": "a"}, {"path": "b"}],
            "files": {"src/c": "text", "plain": "text"},
            "paths": ["/d"],
        }
    )
    assert set(found.paths) == {f"{ROOT}/a", f"{ROOT}/b", f"{ROOT}/src/c", "/d"}
    assert "batch" in found.risk


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": [{"name": "/etc/passwd", "content": "x"}]},
        {"files": {"name": "/etc/passwd"}},
        {"files": {"items": ["/etc/passwd"]}},
        {"files": {"a.txt": {"name": "b", "entry": "/etc/passwd"}}},
        {"path": {"value": "/etc/passwd"}},
        {"path": {"deep": {"er": ["/etc/passwd"]}}},
        {"edits": [{"file": {"name": "/etc/passwd"}}]},
        {"files": [{"path": "a", "name": "/etc/passwd"}]},
        {"files": [{"entry": "/etc/passwd", "path": "a"}]},
        {"source_path": {"value": "/etc/passwd"}},
        {"uris": ["/etc/passwd"]},
    ],
)
def test_what_has_no_name_of_its_own_below_a_path_is_one(arguments):
    assert "/etc/passwd" in read(arguments, around=Shelf()).paths


def test_names_of_files_are_seen_in_maps_from_them():
    found = read({"files": {"key.pem": "x", "Makefile": "all: things", ".env": "A=/b", "words": "x"}})
    assert set(found.paths) == {f"{ROOT}/key.pem", f"{ROOT}/Makefile", f"{ROOT}/.env"}


CODE = "#!/bin/sh\n/usr/bin/true ./x\n"
IMAGE = "iVBORw0KGgo/AAA+" * 1000


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"path": "a", "content": "/etc/passwd"}, "a"),
        ({"path": "a", "edits": [{"oldText": "./x", "newText": "/y"}], "dryRun": True}, "a"),
        ({"owner": "me", "files": [{"path": "a", "content": "#!/bin/sh"}], "message": "./x", "branch": "f/x"}, "a"),
        ({"files": [{"path": "a", "content": CODE, "mode": "100644", "type": "text/plain"}]}, "a"),
        ({"files": [{"path": "a", "sha": "x/y", "encoding": "base64", "content": IMAGE}]}, "a"),
        ({"files": [{"path": "a", "unheard_of": IMAGE}]}, "a"),
        ({"files": [{"path": "a", "unheard_of": CODE}]}, "a"),
        ({"files": [{"path": "a", "why": "adds and/or removes"}]}, "a"),
        ({"files": [{"path": "a", "name": "A title"}]}, "a"),
        ({"file": {"path": "a", "metadata": {"name": "A title", "value": "5"}}}, "a"),
        ({"files": [{"path": "a", "edits": [{"oldText": "./x", "newText": "/y"}]}]}, "a"),
        ({"files": {"a.txt": "/etc/passwd"}}, "a.txt"),
        ({"files": {"a.txt": {"content": "/etc/passwd"}}, "description": "./x", "public": False}, "a.txt"),
        ({"files": {"Dockerfile": "FROM x\n" * 1000}}, "Dockerfile"),
        ({"repo_path": "a", "files": [], "message": "/x", "max_count": 5}, "a"),
        ({"file": {"name": "a", "size": 5}}, "a"),
    ],
)  # fmt: skip
def test_what_is_in_a_file_and_what_is_said_of_it_is_no_path(arguments, paths):
    found = read(arguments, around=Shelf("/etc/passwd"))
    assert found.paths == (f"{ROOT}/{paths}",)
    assert found.complete
    assert found.risk == ()


def test_links_are_followed():
    around = Shelf(links={f"{ROOT}/notes": "/etc/passwd"})
    assert read({"path": "notes"}, around=around).paths == ("/etc/passwd",)


def test_a_file_url_is_a_path_whatever_it_is_called():
    assert read({"anything": "file:///etc/shadow"}).paths == ("/etc/shadow",)


@pytest.mark.parametrize("path", ["x://../secret/key", "file:/../secret/key", "https://../secret/key"])
def test_where_a_path_is_expected_an_address_is_a_path_too(path):
    assert f"{ROOT}/{path}" in read({"path": path}).paths
    assert f"{ROOT}/{path}" in read({"to": path}).paths
    assert "batch" not in read({"path": path}).risk


@pytest.mark.parametrize("name", ["url", "text"])
def test_spaces_and_ends_of_lines_disguise_nothing(name):
    assert read({name: " " * 5000 + "http://evil.org/"}).hosts == ("evil.org",)
    assert read({name: "h" + "\n" * 5000 + "ttp:evil.org/"}).hosts == ("evil.org",)
    assert "/etc/shadow" in read({name: " " * 5000 + "file:///etc/shadow"}).paths


def test_a_host_that_is_too_long_to_be_judged_is_told():
    assert not read({"url": "http://good.org:" + "0" * 3000 + "@evil.org/"}).complete


def test_an_address_of_which_nobody_can_tell_the_host_is_told():
    assert not read({"text": "http://{127.0.0.1,good.org}/"}).complete
    assert read({"text": "<https://evil.org> is a good place: see there"}).complete


def test_for_tools_that_have_nothing_to_do_with_files_a_person_is_no_path():
    mail = ToolOverride(policy_action="connector.action")
    assert read({"to": "bob@example.org", "from": "ada"}, "mail:send", override=mail).paths == ()
    assert read({"to": "/etc/passwd"}, "mail:send", override=mail).paths == ("/etc/passwd",)


@pytest.mark.parametrize(
    "arguments",
    [
        {"url": "https://Evil.org:8443/x"},
        {"host": "evil.org"},
        {"endpoint": "evil.org/path"},
        {"deep": [{"very": {"webhook_url": "http://u@evil.org"}}]},
        {"whatever": "wss://evil.org/socket"},
        {"repo": "git@evil.org:foo/bar.git"},
        {"urls": {"http://evil.org/": 1}},
        {"hosts": {"evil.org": {"port": 80}}},
        {"host": {"name": "evil.org"}},
        {"endpoint": {"server": "evil.org", "port": 80}},
        {"urls": [{"value": "evil.org"}]},
        {"links": [{"name": "A page.", "href": "https://evil.org/"}]},
        {"links": [{"title": "good.org", "rel": "next.page", "url": "https://evil.org/"}]},
        {"url": "https://evil.org/", "max_length": 5000, "start_index": 0, "raw": False},
        {"url": "https://evil.org/", "headers": {"Accept": "text/html"}, "body": "a.b"},
        {"path": "x.git", "remote": "<URL:http://evil.org:+80/>"},
    ],
)
def test_hosts_are_found_and_are_a_risk(arguments):
    found = read(arguments)
    assert found.hosts == ("evil.org",)
    assert "network" in found.risk


@pytest.mark.parametrize(
    ("tool_id", "arguments", "tag"),
    [
        ("fs:delete_file", {"path": "a"}, "delete"),
        ("fs:removeAll", {}, "delete"),
        ("fs:rm", {}, "delete"),
        ("fs:edit", {"operation": "delete"}, "delete"),
        ("api:call", {"method": "DELETE"}, "delete"),
        ("fs:save", {"path": "there"}, "overwrite"),
        ("fs:save", {"name": "x", "overwrite": True}, "overwrite"),
        ("fs:save", {"ids": [1, 2]}, "batch"),
        ("fs:save", {"uris": ["urn:a", "urn:b"]}, "batch"),
        ("fs:save", {"files": [{"name": "a"}, {"name": "b"}]}, "batch"),
        ("fs:save", {"files": {"a.txt": "x", "b.txt": "y"}}, "batch"),
        ("fs:save", {"file": {"name": "there"}}, "overwrite"),
        ("fs:save", {"urls": ["https://a.org", "https://b.org"]}, "batch"),
    ],
)
def test_risks_have_tags(tool_id, arguments, tag):
    assert tag in read(arguments, tool_id, around=Shelf(f"{ROOT}/there")).risk


@pytest.mark.parametrize(
    ("tool_id", "arguments", "tag"),
    [
        ("fs:form", {"path": "a"}, "delete"),
        ("fs:undeletable", {}, "delete"),
        ("fs:save", {"path": "new"}, "overwrite"),
        ("fs:save", {"source_path": "there", "path": "new"}, "overwrite"),
        ("fs:move", {"source_path": "a", "path": "b"}, "batch"),
        ("fs:save", {"ids": [1]}, "batch"),
    ],
)
def test_and_what_is_no_risk_has_none(tool_id, arguments, tag):
    assert tag not in read(arguments, tool_id, around=Shelf(f"{ROOT}/there")).risk


def test_a_street_and_a_branch_are_no_hosts():
    assert read({"address": "12 Main Street", "remote": "origin"}).hosts == ()


def test_reading_overwrites_nothing():
    reads = ToolOverride(policy_action="file.read")
    assert read({"path": "there"}, override=reads, around=Shelf(f"{ROOT}/there")).risk == ()


def test_our_own_tools_work_in_the_root_when_they_are_given_no_folder():
    assert read({"pattern": "x"}, "builtin:Grep", override=None).paths == (ROOT,)
    assert read({}, "builtin:Bash", override=None).paths == (ROOT,)
    assert read({"path": "src"}, "builtin:Glob", override=None).paths == (f"{ROOT}/src",)


def test_of_a_path_of_which_nobody_can_tell_what_it_means_the_reading_is_not_complete():
    class Dark(Shelf):
        def meanings(self, path):
            return () if "dark" in path else super().meanings(path)

    found = read({"path": "dark", "from": "dark/too", "to": "light"}, around=Dark())
    assert found.paths == (f"{ROOT}/light",)
    assert not found.complete
    assert not read({"source": "dark"}, around=Dark()).complete


@pytest.mark.parametrize("naming", ["name", "key"])
def test_a_name_may_stand_beside_its_value(naming):
    pairs = [
        {naming: "path", "value": "/etc"},
        {"value": "evil.com", naming: "host"},
        {naming: 5, "value": "x"},
    ]
    found = read({"argument": pairs})
    assert (found.paths, found.hosts) == (("/etc",), ("evil.com",))


def test_an_address_may_be_one_number():
    assert read({"host": 2130706433}).hosts == ("127.0.0.1",)
    assert read({"hosts": [True, 1]}).hosts == ("0.0.0.1",)


def test_where_a_host_leads_to_is_one_as_well():
    found = read(
        {"hosts": {"a.b": "evil.com", "c.d": ["x.com", {"note": "y.com"}], "e.f": {"note": "z.com"}}}
    )
    assert found.hosts == ("a.b", "evil.com", "c.d", "e.f", "x.com")


def nested(levels: int, inner: object) -> object:
    for _ in range(levels):
        inner = {"a": [inner]}
    return inner


def test_ten_thousand_levels_are_looked_at_as_far_as_the_bound_and_told_as_incomplete():
    found = read({"path": "first", "more": nested(10_000, {"path": "/etc/passwd"})})
    assert f"{ROOT}/first" in found.paths
    assert not found.complete


@pytest.mark.parametrize(
    "arguments",
    [{"paths": [f"p{n}" for n in range(2000)]}, {"path": "x" * 5000}, {"urls": [f"http://h{n}" for n in range(2000)]}, {"list": list(range(50000))}],
)  # fmt: skip
def test_more_than_can_be_judged_is_told(arguments):
    assert not read(arguments).complete


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["path", "url", "files", "name", "to", "force", "method", "ids"]), inner
        )
        | st.dictionaries(st.text(st.characters(exclude_categories=())), inner)
    ),
)


@given(ODD)
def test_no_argument_is_too_odd(arguments):
    found = read(arguments)
    assert all(path.startswith("/") for path in found.paths)
    assert len(set(found.paths)) == len(found.paths)
