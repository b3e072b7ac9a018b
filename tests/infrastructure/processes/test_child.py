from __future__ import annotations

import asyncio

import pytest

TALKER = 'while read -r line; do echo "got $line"; done; echo over >&2'


async def test_a_conversation_over_lines(runner, shell):
    heard, errors = [], []
    async with runner.start(shell(TALKER), with_stdin=True) as child:
        lines = child.lines(errors.append)
        for word in (b"one", b"two"):
            await child.write(word + b"\n")
            heard.append(await anext(lines))
        child.close_stdin()
        heard.extend([line async for line in lines])
        outcome = await child.wait()

    assert heard == [b"got one", b"got two"]
    assert errors == [b"over\n"]
    assert outcome.exit_code == 0


async def test_chunks_name_their_stream(runner, shell):
    async with runner.start(shell("echo a; echo b >&2")) as child:
        chunks = [chunk async for chunk in child.chunks()]

    assert sorted(chunks) == [("stderr", b"b\n"), ("stdout", b"a\n")]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("", []), ("a", [b"a"]), ("a\\n", [b"a"]), ("\\n\\na\\r\\nb", [b"", b"", b"a\r", b"b"])],
)
async def test_lines_are_cut_at_newlines_only(runner, shell, text, lines):
    async with runner.start(shell(f"printf '{text}'")) as child:
        assert [line async for line in child.lines(lambda _: None)] == lines


async def test_a_long_line_arrives_whole(runner, shell):
    async with runner.start(shell("head -c 3000000 /dev/zero; echo; echo end")) as child:
        lines = [line async for line in child.lines(lambda _: None)]

    assert lines == [bytes(3_000_000), b"end"]


async def test_a_line_beyond_the_limit_comes_in_pieces(runner, shell):
    async with runner.start(shell("head -c 3000000 /dev/zero; echo; echo end")) as child:
        pieces = [line async for line in child.lines(lambda _: None, limit=1_000_000)]

    assert max(map(len, pieces)) < 1_100_000
    assert b"".join(pieces) == bytes(3_000_000) + b"end"


async def test_a_reader_that_is_slow_makes_the_child_wait(linux_runner, shell, until, process_state):
    def written():
        with open(f"/proc/{child.pid}/io") as file:
            return int(dict(line.split(": ") for line in file.read().splitlines())["wchar"])

    async with linux_runner.start(shell("exec head -c 50000000 /dev/zero")) as child:
        await until(lambda: written() > 300_000)
        seen = -1
        while seen != (seen := written()) or process_state(child.pid) != "S":
            await asyncio.sleep(0.02)
        assert seen < 1_000_000

        total = 0
        async for _, chunk in child.chunks():
            total += len(chunk)

    assert total == 50_000_000


async def test_writing_waits_until_the_child_reads(runner, shell, tmp_path, in_background, until):
    script = "until [ -e go ]; do sleep 0.01; done; wc -c"
    async with runner.start(shell(script), with_stdin=True) as child:
        writing = in_background(child.write(bytes(1_000_000)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not writing.done()
        (tmp_path / "go").touch()
        await writing
        child.close_stdin()
        assert [line.strip() async for line in child.lines(lambda _: None)] == [b"1000000"]


async def test_writing_to_a_child_that_is_gone_is_no_error(runner, shell):
    async with runner.start(shell("true"), with_stdin=True) as child:
        await child.wait()
        await child.write(b"anyone there?")
        child.close_stdin()


async def test_writing_to_a_child_that_dies_meanwhile_returns(runner, shell):
    async with runner.start(shell("read x; exit 3"), with_stdin=True) as child:
        await child.write(b"x\n" * 1_000_000)
        assert (await child.wait()).exit_code == 3


async def test_the_end_of_the_output_is_told_while_the_child_lives_on(runner, shell, is_alive):
    async with runner.start(shell("exec 1>&-; read line"), lambda *_: None, with_stdin=True) as child:
        await child.silent()
        assert is_alive(child.pid)
        child.close_stdin()
        assert (await child.wait()).exit_code == 1


async def test_a_child_that_ends_is_silent_even_where_others_hold_its_output(runner, shell):
    async with runner.start(shell("sleep 600 & exit 3"), lambda *_: None) as child:
        await child.silent()
        assert (await child.wait()).exit_code == 3


async def test_leaving_the_block_ends_the_child(runner, shell, is_alive):
    async with runner.start(shell("exec sleep 1000")) as child:
        assert is_alive(child.pid)

    assert not is_alive(child.pid)
    assert (await child.wait()).signal == 15


async def test_waiting_can_be_given_up_without_ending_the_child(runner, shell, is_alive):
    async with runner.start(shell("exec sleep 1000")) as child:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await child.wait()
        assert is_alive(child.pid)


@pytest.mark.race
async def test_an_error_in_the_block_ends_the_child(runner, shell, is_alive):
    with pytest.raises(LookupError):
        async with runner.start(shell("exec sleep 1000")) as child:
            raise LookupError

    assert not is_alive(child.pid)


@pytest.mark.race
async def test_a_cancelled_reader_ends_the_child_on_its_way_out(
    runner, shell, is_alive, in_background, until
):
    pids = []

    async def read():
        async with runner.start(shell("echo $$; exec sleep 1000")) as child:
            lines = child.lines(lambda _: None)
            pids.append(int(await anext(lines)))
            await anext(lines)

    task = in_background(read())
    await until(lambda: pids)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not is_alive(pids[0])


async def test_closing_the_runner_ends_a_child_that_nobody_waits_for(runner, shell, is_alive):
    child = runner.start(shell("exec sleep 1000"))

    await runner.close()

    assert not is_alive(child.pid)
    assert (await child.wait()).signal == 15
