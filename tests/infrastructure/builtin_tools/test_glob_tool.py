from __future__ import annotations

import os
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.tool import ToolFailure
from awf.infrastructure.builtin_tools.glob_pattern import fitting, split_literal


def dated(bench, *names):
    """The later a name stands, the newer is its file."""
    for age, name in enumerate(names):
        path = bench.write(name, "x")
        os.utime(path, (1_000_000 + age, 1_000_000 + age))


async def found(bench, pattern, **more):
    return (await bench.text("Glob", pattern=pattern, **more)).splitlines()


async def test_the_newest_file_comes_first(bench):
    dated(bench, "b.py", "a.py", "sub/c.py", "d.txt")
    assert await found(bench, "**/*.py") == ["sub/c.py", "a.py", "b.py"]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.py", {"a.py"}),
        ("**", {"a.py", "src/b.py", "src/deep/c.ts", "src/deep/d.tsx", "docs/e.md", ".github/ci.yml"}),
        ("src/**", {"src/b.py", "src/deep/c.ts", "src/deep/d.tsx"}),
        ("src/*", {"src/b.py"}),
        ("src/**/*.{ts,tsx}", {"src/deep/c.ts", "src/deep/d.tsx"}),
        ("{src,docs}/*.{py,md}", {"src/b.py", "docs/e.md"}),
        ("**/[a-c].*", {"a.py", "src/b.py", "src/deep/c.ts"}),
        ("**/[!a-c].??", {"docs/e.md"}),
        ("./src/./b.py", {"src/b.py"}),
        ("**/*.yml", {".github/ci.yml"}),
        ("src/../docs/*", {"docs/e.md"}),
    ],
)
async def test_patterns_choose_files(bench, pattern, names):
    dated(bench, "a.py", "src/b.py", "src/deep/c.ts", "src/deep/d.tsx", "docs/e.md", ".github/ci.yml")
    assert set(await found(bench, pattern)) == names


async def test_path_is_where_it_looks_and_results_can_be_given_to_read(bench):
    dated(bench, "src/deep/a.py", "b.py")
    assert await found(bench, "**/*.py", path="src") == ["src/deep/a.py"]
    assert await found(bench, "*.py", path=str(bench.root / "src" / "deep")) == ["src/deep/a.py"]
    assert await found(bench, f"{bench.root}/src/**/*.py") == ["src/deep/a.py"]
    assert "x" in await bench.text("Read", file_path="src/deep/a.py")


@pytest.mark.parametrize("with_git", [True, False])
async def test_what_gitignore_names_is_not_listed_with_or_without_a_repository(bench, with_git):
    if with_git:
        (bench.root / ".git").mkdir()
        bench.write(".git/config.py", "x")
    dated(bench, "a.py", "build/b.py", "secret.py", "sub/c.py", "sub/d.py")
    bench.write(".gitignore", "build/\nsecret.py\n")
    bench.write("sub/.gitignore", "d.py\n")
    assert await found(bench, "**/*.py") == ["sub/c.py", "a.py"]
    assert await found(bench, "*.py", path="sub") == ["sub/c.py"]
    assert await found(bench, "build/*.py") == ["build/b.py"]  # a folder that is named is meant


async def test_nothing_found_is_no_error_and_says_what_may_help(bench):
    dated(bench, "src/a.py")
    assert "No file fits" in await bench.text("Glob", pattern="**/*.rs")
    assert "1 file fits **/*.py" in await bench.text("Glob", pattern="*.py")
    assert "src/**" in await bench.text("Glob", pattern="src")
    assert "src/**" in await bench.text("Glob", pattern="src/")
    assert "folder does not exist" in await bench.text("Glob", pattern="lib/*.py")
    assert "folder does not exist" in await bench.text("Glob", pattern="src/a.py/*.py")


async def test_places_that_cannot_be_are_told(bench):
    bench.write("file", "")
    await bench.fails("RESOURCE_NOT_FOUND", "Glob", pattern="*", path="missing")
    assert "not a folder" in await bench.fails("INVALID_ARGUMENTS", "Glob", pattern="*", path="file")
    await bench.fails("PERMISSION_DENIED", "Glob", pattern="../*")
    await bench.fails("PERMISSION_DENIED", "Glob", pattern="/etc/*")
    await bench.fails("PERMISSION_DENIED", "Glob", pattern="*", path="..")
    assert "wildcard" in await bench.fails("INVALID_ARGUMENTS", "Glob", pattern="*/../../x")
    assert "not expanded" in await bench.fails("INVALID_ARGUMENTS", "Glob", pattern="~/x/*")
    assert "null" in await bench.fails("INVALID_ARGUMENTS", "Glob", pattern="a\0*")
    assert "choices" in await bench.fails("INVALID_ARGUMENTS", "Glob", pattern="{a,b}" * 12)


async def test_many_files_are_cut_with_a_note(bench):
    dated(bench, *(f"file{n:04}.txt" for n in range(1200)))
    lines = await bench.again(max_output=1_000_000).text("Glob", pattern="**")
    assert lines.splitlines()[0] == "file1199.txt"
    assert lines.splitlines()[-1] == "[The newest 1000 of 1,200 files. Narrow the pattern to see others.]"
    short = (await bench.again(max_output=100).text("Glob", pattern="**")).splitlines()
    assert len(short) < 10
    assert "of 1,200 files" in short[-1]


async def test_odd_names_come_through(bench):
    dated(bench, "with space.py", "app/[id]/page.tsx", "\u00fcml\u00e4ut.py", "-dash.py")
    (bench.root / os.fsdecode(b"bad\xff.py")).write_text("x")
    assert {"with space.py", "\u00fcml\u00e4ut.py", "-dash.py", "bad\ufffd.py"} == set(
        await found(bench, "*.py")
    )
    assert await found(bench, "app/[id]/page.tsx") == ["app/[id]/page.tsx"]
    assert await found(bench, "?ml?ut.py") == ["\u00fcml\u00e4ut.py"]


async def test_links_are_not_followed(bench, outside):
    dated(bench, "a.txt")
    (bench.root / "out").symlink_to(outside)
    (bench.root / "loop").symlink_to(".")
    assert await found(bench, "**/*.txt") == ["a.txt"]


@pytest.mark.parametrize(
    "pattern", ["*a" * 30 + "b", "**/" * 20 + "x", "**/a*/" * 15 + "b", "*" * 200 + "b", "{*a,*b}" * 7 + "c"]
)
def test_no_pattern_runs_away(pattern):
    names = ["a" * 250, "/".join(["aa"] * 60), "a/" * 100 + "a"]
    began = time.process_time()
    fitting(names, pattern)
    assert time.process_time() - began < 30  # such patterns take ages where every way is tried


def slow_fit(pattern, name):
    """What the pattern means, by the book: try everything."""
    if not pattern:
        return not name
    first, *rest = pattern
    if first == "**":
        return any(slow_fit(rest, name[n:]) for n in range(len(name) + (1 if rest else 0))) or (
            not rest and bool(name)
        )
    if not name:
        return False
    expression = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in first)
    return re.fullmatch(expression, name[0]) is not None and slow_fit(rest, name[1:])


parts = st.sampled_from(["**", "*", "a", "b", "a*", "*b", "a*b", "?", "*a*b", "**b"])
names = st.lists(st.text(alphabet="ab", min_size=1, max_size=4), min_size=1, max_size=4)


@given(st.lists(parts, min_size=1, max_size=4), names)
def test_a_name_fits_exactly_when_trying_everything_says_so(pattern, name):
    path = "/".join(name)
    assert fitting([path], "/".join(pattern)) == ([path] if slow_fit(pattern, name) else [])


@given(st.text(alphabet="ab*?[]{},!\\-/.^", max_size=14))
def test_any_pattern_is_understood_or_refused(pattern):
    try:
        split = split_literal(pattern)
        fitting(["a", "a/b", "b.a", pattern], split.rest)
    except ToolFailure as failure:
        assert failure.code == "INVALID_ARGUMENTS"


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("[]a]", "]", True),
        ("[!]]", "]", False),
        ("[z-a]", "[z-a]", True),
        ("[", "[", True),
        ("{a}", "{a}", True),
        ("{a", "{a", True),
        ("a\\*", "a*", True),
        ("a\\*", "ab", False),
        ("{a,{b,c}}", "c", True),
        ("{,a}b", "b", True),
        ("[a-]", "-", True),
        ("[^a]", "b", True),
        ("[+--]", ",", True),
        ("a[/]b", "a/b", False),
    ],
)
def test_special_characters_mean_what_they_mean_elsewhere(pattern, name, fits):
    assert bool(fitting([name], pattern)) == fits
