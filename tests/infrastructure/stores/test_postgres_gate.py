"""The gate's stores in PostgreSQL: several replicas at once, and a database in trouble."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.gate.grants import Grants
from awf.domain.approval import Approval
from awf.domain.errors import AwfError
from awf.domain.grant import CapabilityGrant, Holder
from awf.domain.label import PLAIN, Label
from awf.domain.ports.artifact_store import Artifact
from awf.domain.security_context import SecurityContext
from awf.infrastructure.stores.postgres import migrating
from awf.infrastructure.stores.postgres.database import PostgresDatabase, look_at
from awf.infrastructure.stores.postgres.gate import lines
from awf.infrastructure.stores.postgres.gate.texts import kept, taken

PATIENCE = 60
NOW = 20.0
SECRET, UNTRUSTED = Label("secret", "trusted"), Label("public", "untrusted")


def question(approval_id="a", **more) -> Approval:
    usual = {
        "tool_id": "mail:send",
        "arguments_hash": "h",
        "context": "c",
        "asked_at": 10.0,
        "expires_at": 100.0,
    }
    return Approval(approval_id=approval_id, **{**usual, **more})


def grant(grant_id="g", **more) -> CapabilityGrant:
    return CapabilityGrant(grant_id=grant_id, capability="file.read", issued_at=1.0, **more)


async def until(condition, what="it"):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        await asyncio.sleep(0.005)


def hears(store) -> bool:
    return store.grants.version() == store.grants.version()


@pytest.fixture
async def replica(database_url, tmp_path):
    """Makes stores of the gate, as processes of their own have them; or over another way to the database."""
    made = []

    async def another(url=database_url):
        made.append(PostgresDatabase(database_url, str(tmp_path)))
        made[-1].url = url
        store = made[-1].gate
        await until(lambda: hears(store), "hearing")
        return store

    yield another
    for database in made:
        await database.leave()


class Between:
    """A way to the database that loses answers, or goes silent."""

    def __init__(self, url: str, folder: Path) -> None:
        (server,) = parse_qs(urlsplit(url).query)["host"]
        self.url = url.replace(server, str(folder))
        self._server = f"{server}/.s.PGSQL.5432"
        self._mine = f"{folder}/.s.PGSQL.5432"
        self.lose = b""  # the answer to what holds these words does not arrive, and the connection breaks
        self.lost = 0
        self.open = asyncio.Event()
        self.open.set()
        self._ways: set[asyncio.Task] = set()

    async def __aenter__(self):
        self._listening = await asyncio.start_unix_server(self._came, self._mine)
        return self

    async def __aexit__(self, *_):
        self._listening.close()
        self.open.set()
        for way in self._ways:
            way.cancel()
        await asyncio.gather(*self._ways, return_exceptions=True)

    async def _came(self, reader, writer):
        self._ways.add(asyncio.current_task())
        there, answers = await asyncio.open_unix_connection(self._server)
        losing = asyncio.Event()
        forth = asyncio.get_running_loop().create_task(self._ask(reader, answers, losing))
        back = asyncio.get_running_loop().create_task(self._answer(there, writer, losing))
        try:
            await asyncio.wait([forth, back], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (forth, back):
                task.cancel()
            await asyncio.gather(forth, back, return_exceptions=True)
            for end in (answers, writer):
                end.close()
                with contextlib.suppress(OSError):
                    await end.wait_closed()

    async def _ask(self, reader, answers, losing):
        while data := await reader.read(1 << 20):
            await self.open.wait()
            if self.lose and self.lose in data:
                self.lose = b""
                losing.set()
            answers.write(data)

    async def _answer(self, there, writer, losing):
        while data := await there.read(1 << 20):
            await self.open.wait()
            if losing.is_set():  # it was answered, so it is committed
                self.lost += 1
                return
            writer.write(data)


@pytest.fixture
async def between(database_url, tmp_path):
    async with Between(database_url, tmp_path) as made:
        yield made


# -- what others do --------------------------------------------------------------------------------------------------


async def test_a_change_is_heard_by_others_and_counted_once_by_its_maker(replica):
    one, other = await replica(), await replica()
    for part, change in (
        ("grants", one.grants.add(grant())),
        ("approvals", one.approvals.ask(question())),
        ("contexts", one.contexts.raise_label("c", SECRET, "kb:read", 1.0)),
    ):
        mine, theirs = getattr(one, part), getattr(other, part)
        before = mine.version(), theirs.version()
        await change
        after = mine.version()
        assert after == before[0] + 1
        await until(lambda theirs=theirs, before=before: theirs.version() != before[1], "hearing of it")
        await other.grants.add(grant(f"for {part}")) if part != "grants" else None
        assert mine.version() == after, "what we did ourselves is not news"


async def test_what_somebody_does_by_hand_is_heard_too(replica, database_url):
    store = await replica()
    await store.grants.add(grant())
    before = store.grants.version()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DELETE FROM awf.grants")
    await until(lambda: store.grants.version() != before, "hearing of it")
    assert await store.grants.grants() == []


@pytest.mark.race
async def test_of_all_replicas_one_uses_an_approval_and_one_closes_a_question(replica):
    stores = [await replica() for _ in range(3)]
    await stores[0].approvals.ask(question())
    await stores[0].approvals.decide("a", granted=True, by="me", now=NOW)
    used = await asyncio.gather(*(store.approvals.use("a", NOW) for store in stores * 5))
    assert sorted(used) == [False] * 14 + [True]
    for number in range(5):
        await stores[0].approvals.ask(question(f"q{number}", context=str(number)))
    closed = await asyncio.gather(*(store.approvals.expire(200.0) for store in stores * 3))
    assert sorted(one.approval_id for found in closed for one in found) == [
        f"q{number}" for number in range(5)
    ]


@pytest.mark.race
async def test_replicas_that_ask_the_same_at_once_ask_one_question(replica):
    stores = [await replica() for _ in range(3)]
    asked = await asyncio.gather(
        *(
            store.approvals.ask(question(f"{at}-{turn}"))
            for at, store in enumerate(stores)
            for turn in range(5)
        )
    )
    assert len({one.approval_id for one in asked}) == 1
    assert len(await stores[0].approvals.open_ones(NOW)) == 1


@pytest.mark.race
async def test_replicas_that_answer_at_once_give_one_answer(replica):
    stores = [await replica() for _ in range(3)]
    await stores[0].approvals.ask(question())
    said = await asyncio.gather(
        *(
            store.approvals.decide("a", granted=at % 2 == 0, by=str(at), now=NOW)
            for at, store in enumerate(stores * 3)
        )
    )
    (answer,) = [one for one in said if one is not None]
    assert await stores[0].approvals.find("a") == answer


@pytest.mark.race
async def test_whichever_replica_raises_it_the_label_is_the_worst_of_all(replica):
    stores = [await replica() for _ in range(3)]
    wanted = [Label("confidential", "trusted"), SECRET, UNTRUSTED, PLAIN]
    child = SecurityContext(context_id="child", parent="c", created_at=2.0)
    await asyncio.gather(
        *(store.contexts.raise_label("c", label, "t", 1.0) for store in stores for label in wanted * 3),
        *(store.contexts.add(child) for store in stores),
    )
    assert (await stores[0].contexts.find("c")).label == Label("secret", "untrusted")
    assert (await stores[0].contexts.add(child)).label == Label("secret", "untrusted")


async def test_the_key_of_the_page_is_one_for_all(replica):
    one, other = await replica(), await replica()
    assert one.operator_key() == other.operator_key() == one.operator_key()
    assert len(one.operator_key()) == 43


async def test_a_long_result_is_read_by_another_replica_whole(replica):
    body = bytes(range(256)) * 12_345  # some pieces, and a bit
    one, other = await replica(), await replica()
    artifact = Artifact(
        artifact_id="a" * 40,
        tool_id="kb:\ud800",
        request_id="r",
        context="c",
        label=SECRET,
        created_at=1.0,
        byte_size=len(body),
        line_count=1,
        content_hash=hashlib.sha256(body).hexdigest(),
    )
    await one.artifacts.keep(artifact, body)
    assert await other.artifacts.find("a" * 40) == artifact
    assert await other.artifacts.read("a" * 40) == body


async def test_a_long_result_that_was_tampered_with_is_not_given(replica, database_url):
    store = await replica()
    artifact = Artifact(
        artifact_id="b" * 40, tool_id="t", request_id="r", context="c", label=PLAIN, created_at=1.0,
        byte_size=4, line_count=1, content_hash=hashlib.sha256(b"true").hexdigest(),
    )  # fmt: skip
    await store.artifacts.keep(artifact, b"true")
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE awf.result_pieces SET data = 'fals'")
    assert await store.artifacts.read("b" * 40) is None


# -- a database in trouble -------------------------------------------------------------------------------------------


async def test_while_nothing_is_heard_no_version_comes_twice_and_afterwards_it_is_another_one(
    replica, between
):
    store = await replica(between.url)
    before = store.grants.version()
    between.open.clear()  # nothing is said any more, and nobody hangs up
    await until(lambda: not hears(store), "noticing the silence")
    seen = [store.grants.version() for _ in range(50)]
    assert len({before, *seen}) == 51
    between.open.set()
    await until(lambda: hears(store), "hearing again")
    assert store.grants.version() not in {before, *seen}


async def test_a_fail_over_changes_every_version(replica, postgres, database_url):
    store = await replica()
    before = [part.version() for part in (store.grants, store.approvals, store.contexts)]
    postgres.cut(database_url)
    await until(lambda: not hears(store) or store.grants.version() != before[0], "noticing it")
    await until(lambda: hears(store), "hearing again")
    after = [part.version() for part in (store.grants, store.approvals, store.contexts)]
    assert all(one != other for one, other in zip(before, after, strict=True))


async def test_questions_go_on_when_connections_break(replica, postgres, database_url):
    store = await replica()
    for number in range(5):
        await store.grants.add(grant(str(number)))
        postgres.cut(database_url)
    assert len(await store.grants.grants()) == 5


LOST = {
    "grant": (b"INSERT INTO awf.grants", lambda store: store.grants.add(grant()), lambda said: said is None),
    "claim": (
        b"INSERT INTO awf.approvals",
        lambda store: store.approvals.claim(question("new", status="used")),
        lambda said: said is True,
    ),
    "answer": (
        b"UPDATE awf.approvals",
        lambda store: store.approvals.decide("open", granted=True, by="me", now=NOW),
        lambda said: said.status == "granted",
    ),
    "use": (
        b"UPDATE awf.approvals",
        lambda store: store.approvals.use("granted", NOW),
        lambda said: said is True,
    ),
    "expiry": (
        b"UPDATE awf.approvals",
        lambda store: store.approvals.expire(200.0),
        lambda said: [one.approval_id for one in said] == ["open"],
    ),
    "reset": (b"UPDATE awf.contexts", lambda store: store.contexts.reset("c"), lambda said: said.resets == 1),
    "raise": (
        b"awf.raise_label",
        lambda store: store.contexts.raise_label("c", UNTRUSTED, "t", 2.0),
        lambda said: said.label == Label("secret", "untrusted"),
    ),
}


@pytest.mark.parametrize("what", LOST)
async def test_what_was_done_though_its_answer_was_lost_is_done_once_and_told(replica, between, what):
    words, work, is_right = LOST[what]
    store = await replica(between.url)
    await store.approvals.ask(question("open", context="open"))
    await store.approvals.claim(question("granted", status="granted", context="granted"))
    await store.contexts.raise_label("c", SECRET, "t", 1.0)
    between.lose = words
    said = await work(store)
    assert between.lost == 1
    assert is_right(said), said


@pytest.mark.race
async def test_each_approval_is_used_by_one_however_often_connections_break(replica, postgres, database_url):
    stores = [await replica() for _ in range(3)]
    names = [f"q{number}" for number in range(20)]
    for name in names:
        await stores[0].approvals.claim(question(name, status="granted", context=name))
    for store in stores:
        store._keeping.lines.patience = PATIENCE
    using = asyncio.gather(*(store.approvals.use(name, NOW) for name in names for store in stores))
    for _ in range(10):
        await asyncio.to_thread(postgres.cut, database_url)
    used = await using
    assert [sum(used[at : at + 3]) for at in range(0, len(used), 3)] == [1] * len(names)


async def test_a_reset_whose_answer_was_lost_does_not_undo_what_was_read_since(replica, between):
    store, other = await replica(between.url), await replica()
    await other.contexts.raise_label("c", SECRET, "t", 1.0)
    between.lose = b"UPDATE awf.contexts"
    resetting = asyncio.get_running_loop().create_task(store.contexts.reset("c"))
    await until(lambda: between.lost, "the loss")
    await other.contexts.raise_label("c", UNTRUSTED, "t", 2.0)
    await resetting
    found = await other.contexts.find("c")
    assert (found.resets, found.label) == (1, UNTRUSTED)


async def test_a_change_that_nobody_waits_for_any_more_is_made_and_counted(replica, database_url):
    store = await replica()
    before = store.grants.version()
    with psycopg.connect(database_url) as connection:
        connection.execute("LOCK TABLE awf.grants IN SHARE MODE")
        adding = asyncio.get_running_loop().create_task(store.grants.add(grant()))
        await until(lambda: store._keeping.lines._at_work, "being at it")
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        connection.rollback()
    await until(lambda: store.grants.version() == before + 1, "counting it")
    assert await store.grants.grants() == [grant()]


async def test_a_database_that_does_not_answer_is_told_and_holds_nobody_up_for_long(replica, between, caplog):
    store = await replica(between.url)
    await store.grants.grants()
    store._keeping.lines.patience = 0.3
    between.open.clear()
    for _ in range(2):
        with pytest.raises(AwfError) as caught:
            await store.grants.grants()
        assert caught.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"
    assert "within 0.3 s" in caught.value.message
    between.open.set()
    store._keeping.lines.patience = PATIENCE
    for _ in range(2):
        assert await store.grants.grants() == []
    told = [(one.levelname, one.getMessage()) for one in caplog.records if one.name == "awf.gate"]
    assert [level for level, _ in told] == ["ERROR", "WARNING"]
    assert told[0][1] == f"calls are refused: {caught.value.message}"
    assert "can be used again" in told[1][1]


async def test_a_database_that_is_gone_is_told_without_its_password(replica, postgres, database_url):
    store = await replica()
    name = urlsplit(database_url).path[1:]
    store._keeping.lines.patience = 0.3
    postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    postgres.cut(database_url)
    with pytest.raises(AwfError) as caught:
        await store.contexts.find("c")
    assert caught.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"
    assert "not currently accepting connections" in caught.value.message
    assert "awf doctor" in caught.value.hint
    await until(lambda: not hears(store), "noticing it")
    postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    store._keeping.lines.patience = PATIENCE
    assert await store.contexts.find("c") is None
    await until(lambda: hears(store), "hearing again")


async def test_a_statement_that_takes_too_long_is_stopped_and_told(replica, database_url, monkeypatch):
    monkeypatch.setattr(lines, "_STATEMENT", "200ms")
    store = await replica()
    with psycopg.connect(database_url) as connection:
        connection.execute("LOCK TABLE awf.grants")
        with pytest.raises(AwfError) as caught:
            await store.grants.add(grant())
    assert caught.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"
    assert "statement timeout" in caught.value.message
    assert await store.grants.grants() == []


@pytest.mark.parametrize(
    ("table", "code"), [("grants", "SYSTEM.GATE_STORE.UNAVAILABLE"), ("results", "SYSTEM.SPOOL.WRITE_FAILED")]
)
async def test_a_full_database_is_told(replica, database_url, table, code):
    store = await replica()
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION full_up() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = '53100'; END $$"
        )
        connection.execute(
            f"CREATE TRIGGER full_up BEFORE INSERT ON awf.{table} FOR EACH ROW EXECUTE FUNCTION full_up()"
        )
    artifact = Artifact(
        artifact_id="c" * 40, tool_id="t", request_id="r", context="c", label=PLAIN, created_at=1.0,
        byte_size=1, line_count=1, content_hash="",
    )  # fmt: skip
    with pytest.raises(AwfError) as caught:
        await (store.grants.add(grant()) if table == "grants" else store.artifacts.keep(artifact, b"x"))
    assert caught.value.code == code
    assert "No space left" in caught.value.message
    assert await store.artifacts.artifacts() == []


async def test_a_store_that_was_closed_says_so(database_url, tmp_path):
    database = PostgresDatabase(database_url, str(tmp_path))
    store = database.gate
    await store.grants.grants()
    await database.leave()
    with pytest.raises(AwfError) as caught:
        await store.grants.grants()
    assert caught.value.code == "SYSTEM.GATE_STORE.UNAVAILABLE"


async def test_grants_are_answered_about_however_long_a_look_takes_that_nobody_hears_of(replica, monkeypatch):
    store = await replica()
    await store.grants.add(grant())
    numbers = itertools.count(-1_000_000)
    monkeypatch.setattr(store.grants, "version", lambda: next(numbers))  # as while nothing is heard
    grants = Grants(store.grants, lambda: NOW, ttl=0.0)  # a look takes longer than this
    async with asyncio.timeout(PATIENCE):
        while (found := grants.covering(("file.read",), Holder())) is None:
            await grants.refresh()
    assert found.whole


# -- texts and layout ------------------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_every_text_comes_back_and_none_is_taken_for_another(one, other):
    assert taken(kept(one)) == one
    assert (kept(one) == kept(other)) == (one == other)
    assert "\0" not in kept(one)
    kept(one).encode()


def test_a_text_that_looks_like_one_that_was_kept_specially_is_itself():
    marked = kept("\0")
    assert taken(kept(marked)) == marked


def test_each_step_of_the_layout_has_a_number_of_its_own():
    folder = Path(migrating.__file__).with_name("migrations")
    numbers = [int(file.name[:4]) for file in folder.glob("*.sql")]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


async def test_the_doctors_look_hears(database_url):
    assert look_at(database_url).hears
