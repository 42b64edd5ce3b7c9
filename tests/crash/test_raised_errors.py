"""Errors that PostgreSQL raises within a change, serializable isolation, purges cut at COMMIT: each is made once."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psycopg
import pytest

import postgres
from conftest import Effort
from holdfast.engine import state
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.notes import Purged, WouldPurge, purge
from holdfast.engine.agent.feedback import MarkOutdated, mark_outdated
from holdfast.engine.agent.recall import LEAST
from holdfast.engine.agent.remember import NoteStored
from holdfast.engine.maintenance.batches import apply_verdict
from holdfast.engine.maintenance.verdicts import MergeVerdict, Work
from holdfast.engine.omi.beliefs import BeliefUpdate, belief_update, evidence_chain
from holdfast.engine.omi.now import NowUpdate, now_read, now_update
from holdfast.engine.runtime import Memory
from holdfast.errors import ConflictError, InvalidArgumentError, MemoryNotFoundError, StorageError
from holdfast.model.access import tenant_key
from holdfast.model.records import PURGE, JournalRecord
from holdfast.store.rows import database
from holdfast.store.rows.notes import RowNotes
from holdfast.store.rows.restoring import Exchange
from holdfast.store.rows.texts import record_of
from network import CuttingProxy, before
from raised import CODES, ENDED, PLACES, Plan, raising, watched
from tables import assert_whole, rows, server, texts_in
from worlds import CALLER, ask, found, keep, purged

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not postgres.is_there(), reason=postgres.MISSING)]

_WRITES = re.compile("INSERT|UPDATE|DELETE|WITH gone")
Make = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Ready:
    """A change that can be made now: how, and what must hold of its answer and of the memory once it was."""

    make: Make
    is_told: Callable[[Any], bool]


async def _remember(memory: Memory, name: str) -> Ready:
    text = f"The jetty {name} is closed."
    return Ready(lambda: keep(memory, text), lambda told: isinstance(told, NoteStored))


async def _outdate(memory: Memory, name: str) -> Ready:
    note = (await keep(memory, f"The jetty {name} is open.")).note.id
    return Ready(
        lambda: memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(note, "it closed"))),
        lambda told: told.change_id is not None,
    )


async def _believe(memory: Memory, name: str) -> Ready:
    belief = (await keep(memory, f"The ferry {name} is late.", type="belief", confidence=0.5)).note.id
    source = (await keep(memory, f"The ferry {name} came an hour late.")).note.id
    request = BeliefUpdate(belief, source, supports=True, strength=0.5)

    async def make() -> object:
        await memory.attend(lambda ports: belief_update(ports, CALLER, request))
        return await memory.attend(lambda ports: evidence_chain(ports, belief))

    return Ready(make, lambda told: len(told.evidence) == 1)


async def _work(memory: Memory, name: str) -> Ready:
    async def make() -> object:
        request = NowUpdate(recent_completions=[f"greased winch {name}"])
        await memory.attend(lambda ports: now_update(ports, CALLER, request))
        return await memory.attend(lambda ports: now_read(ports, CALLER))

    return Ready(make, lambda told: told.now.recent_completions.count(f"greased winch {name}") == 1)


async def _merge(memory: Memory, name: str) -> Ready:
    one = (await keep(memory, f"The pilot {name} lives in Oslo.")).note.id
    other = (await keep(memory, f"The pilot {name} has a house in Oslo.")).note.id

    async def make() -> object:
        return await memory.attend(
            lambda ports: apply_verdict(Work(ports, CALLER, "merges[0]"), MergeVerdict(one, other))
        )

    return Ready(make, lambda told: (told.status, bool(told.change_id)) == ("applied", True))


async def _purge(memory: Memory, name: str) -> Ready:
    note, tokens = (await keep(memory, f"The password {name} is xylophone.")).note.id, Confirmations()
    asked = await memory.attend(lambda ports: purge(ports, CALLER, tokens, note, None))
    assert isinstance(asked, WouldPurge)
    return Ready(
        lambda: memory.attend(lambda ports: purge(ports, CALLER, tokens, note, asked.confirm)),
        lambda told: isinstance(told, Purged),
    )


KINDS = {"remember": _remember, "mark_outdated": _outdate, "belief_update": _believe, "now_update": _work,
         "merge": _merge, PURGE: _purge}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
async def test_an_error_at_any_statement_of_a_change_leaves_it_made_once_and_told_so(
    tmp_path: Path, kind: str, effort: Effort, tally: Counter[str]
) -> None:
    pg, tenant = postgres.shared(), str(tmp_path)
    async with server(tmp_path / "one", pg.url, tenant) as memory:
        await keep(memory, "The first note opens the index.")
        with raising():
            ready = await KINDS[kind](memory, "undisturbed")
            quiet = Plan("", -1)
            with watched(quiet):
                assert ready.is_told(await ready.make())
            for number, plan in enumerate(_plans(quiet.asked, effort)):
                await _met(memory, kind, f"number {number}", plan, Journal(pg.owner, tenant))
                tally["errors raised by PostgreSQL within changes"] += plan.was_met
    assert_whole(pg.owner, tenant)


def _plans(asked: list[str], effort: Effort) -> list[Plan]:
    """In the long form every error at every statement, and behind it. In the short form one of the errors at each text.

    And all of them behind the COMMIT of what writes; behind another statement it is the same as in place of the next.
    """
    if effort.long:
        return [Plan(code, at, place) for at in range(len(asked)) for code in CODES for place in PLACES]
    plans, begun = [], 0
    for at, statement in enumerate(asked):
        begun = at if statement.startswith("BEGIN") else begun
        if not statement.startswith(("BEGIN", "SET LOCAL")) and statement not in asked[:at]:
            plans.append(Plan(CODES[at % len(CODES)], at))
        if statement == "COMMIT" and any(_WRITES.match(text) for text in asked[begun:at]):
            plans += [Plan(code, at, "behind") for code in CODES]
    return plans


@dataclass(frozen=True, slots=True)
class Journal:
    """What the journal of a tenant says, seen past the servers."""

    owner: str
    tenant: str

    def ops(self) -> Counter[str]:
        lines = rows(self.owner, "SELECT line FROM holdfast.journal WHERE tenant = %s", self.tenant)
        return Counter(record_of(line).op for (line,) in lines)


async def _met(memory: Memory, kind: str, name: str, plan: Plan, journal: Journal) -> None:
    """Make a change that meets an error: it is made once, or refused in words where its token was used up unheard."""
    ready = await KINDS[kind](memory, name)
    before, lines = journal.ops(), 1
    try:
        with watched(plan):
            told = await ready.make()
    except InvalidArgumentError:
        assert plan.place == "behind"
        assert any("DELETE FROM holdfast.tokens" in text for text in plan.asked[: plan.at + 1])
        lines = 0
    else:
        assert ready.is_told(told), (told, plan)
    made = journal.ops() - before
    assert sum(made[op] for op in KINDS) == made[kind] == lines, (made, plan)  # others come from the background


async def test_a_change_whose_commit_was_not_heard_is_not_called_another_servers_who_took_over_meanwhile(
    tmp_path: Path,
) -> None:
    pg, tenant = postgres.shared(), str(tmp_path)

    def take_over() -> None:
        rows(pg.owner, "UPDATE holdfast.leases SET holder = 'another', fence = fence + 1 WHERE tenant = %s RETURNING 1",
             tenant)  # fmt: skip

    async with server(tmp_path / "one", pg.url, tenant) as memory:
        await keep(memory, "The first note opens the index.")
        upkeep, store = memory.ports.upkeep, memory.ports.store
        assert upkeep is not None
        quiet = Plan("", -1)
        with raising():
            async with upkeep.turn() as mine:
                assert mine
                with watched(quiet):
                    await store.record(JournalRecord("job", source="heard"))
                with watched(Plan("40003", quiet.asked.index("COMMIT"), "behind", take_over)):
                    await store.record(JournalRecord("job", source="not heard"))
                with pytest.raises(StorageError, match="taken over the jobs"):
                    await store.record(JournalRecord("job", source="too late"))
    assert Journal(pg.owner, tenant).ops()["job"] == 2
    assert_whole(pg.owner, tenant)


@pytest.mark.parametrize("code", CODES)
async def test_a_trash_that_is_purged_and_a_hint_that_is_given_though_the_commit_was_not_heard_count_as_that(
    tmp_path: Path, code: str
) -> None:
    pg, tenant = postgres.shared(), str(tmp_path)
    today, tomorrow = "2026-11-24", "2026-11-25"

    def lay_aside(change: str) -> None:
        rows(pg.owner, f"INSERT INTO holdfast.trash VALUES (%s, 'trash/{change}.note.md', '', 0, '') RETURNING 1",  # noqa: S608 - ours
             tenant)  # fmt: skip

    def take_over() -> None:
        rows(pg.owner, "UPDATE holdfast.leases SET holder = 'another' WHERE tenant = %s AND name = 'jobs' RETURNING 1",
             tenant)  # fmt: skip

    async with server(tmp_path / "one", pg.url, tenant) as memory, server(tmp_path / "two", pg.url, tenant) as other:
        upkeep, fleet, elsewhere = memory.ports.upkeep, memory.ports.fleet, other.ports.fleet
        assert upkeep is not None
        assert fleet is not None
        assert elsewhere is not None

        async def purged() -> int:
            lay_aside("chg_1")
            lay_aside("chg_2")
            return await upkeep.purge_trash({"chg_1": (), "chg_2": (), "chg_3": ()})

        with raising():
            async with upkeep.turn():
                with watched(quiet := Plan("", -1)):
                    assert await purged() == 2
                with watched(unheard := Plan(code, quiet.asked.index("COMMIT"), "behind", take_over)):
                    assert await purged() == 2
                assert unheard.was_met
            assert await upkeep.purge_trash({"chg_2": ()}) == 0
            quiet = Plan("", -1)
            with watched(quiet):
                assert await fleet.reminders.tell_today("a hint", today)
            with watched(Plan(code, quiet.asked.index("COMMIT"), "behind")):
                assert await fleet.reminders.tell_today("a hint", tomorrow)
        for told in (fleet.reminders, elsewhere.reminders):
            for day in (today, tomorrow):
                assert not await told.tell_today("a hint", day)


async def test_a_hint_whose_commit_is_not_heard_of_at_all_is_given_when_it_is_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg, tenant, quiet = postgres.shared(), str(tmp_path), Plan("", -1)
    monkeypatch.setattr(state, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(database.Database.__init__, "__defaults__", (database.CONNECTIONS, 0.0))
    async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "two", pg.url, tenant) as two:
        for number in range(LEAST):
            await keep(one, f"Buoy {number} carries a green light.")
        fleet = one.ports.fleet
        assert fleet is not None
        usual = fleet.reminders.tell_today

        async def is_said(memory: Memory) -> bool:
            return "Maintenance is worthwhile" in " ".join((await ask(memory, "green light")).notices)

        async def unheard(what: str, today: str) -> bool:
            with watched(Plan("40003", quiet.asked.index("COMMIT"), "behind")):
                return await usual(what, today)

        with raising():
            with watched(quiet):
                assert await usual("another hint", "2026-11-24")
            with monkeypatch.context() as patched:
                patched.setattr(fleet.reminders, "tell_today", unheard)
                assert not await is_said(one)
        assert [await is_said(memory) for memory in (two, one, two, one)] == [False, True, False, False]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for a lock of the database gives up soon."""
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", "100ms")
    monkeypatch.setattr(database.Database.__init__, "__defaults__", (database.CONNECTIONS, 0.3))


@pytest.mark.usefixtures("impatient")
async def test_who_waits_behind_a_restore_in_vain_is_told_so_and_that_nothing_was_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg, tenant = postgres.shared(), str(tmp_path)
    begun, go_on, end = threading.Event(), threading.Event(), Exchange.end

    def stand_still(self: Exchange, tag: str) -> None:
        begun.set()
        assert go_on.wait(postgres.PATIENCE)
        end(self, tag)

    async with server(tmp_path / "one", pg.url, tenant) as one, server(tmp_path / "two", pg.url, tenant) as two:
        vault = one.ports.vault
        assert vault is not None
        await keep(one, "The crane lifts forty tonnes.")
        backup = await vault.back_up("a test")
        monkeypatch.setattr(Exchange, "end", stand_still)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(vault.restore, backup.backup_id, JournalRecord())
            await anyio.to_thread.run_sync(begun.wait)
            try:
                with pytest.raises(StorageError, match=r"Another server .* Nothing was stored; repeat"):
                    await keep(two, "The ferry leaves at noon.")
            finally:
                go_on.set()
        await keep(two, "The ferry leaves at noon.")
        assert found(await ask(one, "ferry noon")) == ["The ferry leaves at noon."]
    assert_whole(pg.owner, tenant)


@pytest.mark.usefixtures("impatient")
async def test_a_change_whose_commit_was_not_heard_is_not_called_undone_where_the_next_try_waits_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pg, tenant = postgres.shared(), str(tmp_path)
    with psycopg.connect(pg.owner) as restoring:

        def restore() -> None:
            restoring.execute("SELECT 1 FROM holdfast.tenants WHERE tenant = %s FOR UPDATE", (tenant_key(tenant),))

        async with server(tmp_path / "one", pg.url, tenant) as memory:
            await keep(memory, "The first note opens the index.")
            store, quiet = memory.ports.store, Plan("", -1)
            with raising():
                with watched(quiet):
                    await store.record(JournalRecord("job", source="heard"))
                for code in ("40003", ENDED):
                    unheard = Plan(code, quiet.asked.index("COMMIT"), "behind", restore)
                    with watched(unheard), pytest.raises(StorageError, match=r"not known whether .*; look before"):
                        await store.record(JournalRecord("job", source="not heard"))
                    restoring.rollback()
    assert Journal(pg.owner, tenant).ops()["job"] == 3
    assert_whole(pg.owner, tenant)


@pytest.mark.parametrize("where", ["by default", "in every transaction"])
async def test_two_servers_under_serializable_isolation_lose_and_double_nothing(
    tmp_path: Path, where: str, effort: Effort, tally: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a default of the database, over which the servers say their own; and as on engines that know nothing less."""
    pg, tenant, each = postgres.shared(), str(tmp_path), effort.of(3, 40)
    url = f"{pg.url}?options=-c%20default_transaction_isolation%3Dserializable"
    if where != "by default":
        usual = database._begin.__kwdefaults__
        monkeypatch.setattr(database._begin, "__kwdefaults__", {**(usual or {}), "isolation": "SERIALIZABLE"})
    async with server(tmp_path / "one", url, tenant) as one, server(tmp_path / "two", url, tenant) as two:
        belief = (await keep(one, "The ferry is late.", type="belief", confidence=0.5)).note.id
        source = (await keep(one, "The ferry came an hour late.")).note.id
        evidence = BeliefUpdate(belief, source, supports=True, strength=0.5)

        async def write(memory: Memory, name: str) -> None:
            for number in range(each):
                for text in (f"Writer {name} noted item {number}.", f"All noted item {number}."):
                    await _insisted(lambda text=text: keep(memory, text))  # type: ignore[misc]
                await _insisted(lambda: memory.attend(lambda ports: belief_update(ports, CALLER, evidence)))

        async with anyio.create_task_group() as tasks:
            for number, memory in enumerate((one, two) * 2):
                tasks.start_soon(write, memory, f"w{number}")
        for memory in (one, two):
            chain = await memory.attend(lambda ports: evidence_chain(ports, belief))
            assert len(chain.evidence) == 4 * each
            assert f"Writer w3 noted item {each - 1}." in found(await ask(memory, f"w3 noted item {each - 1}"))
        tally[f"tries again under serializable isolation {where}"] += sum(map(_tries_again, (one, two)))
    wanted = {f"Writer w{number} noted item {item}." for number in range(4) for item in range(each)}
    wanted |= {f"All noted item {item}." for item in range(each)}
    assert texts_in(pg.owner, tenant) == Counter(wanted | {"The ferry is late.", "The ferry came an hour late."})
    assert_whole(pg.owner, tenant)


async def _insisted(make: Make) -> None:
    """Make a change; who lost to others for seconds is told that nothing was written, and calls again."""
    with anyio.fail_after(postgres.PATIENCE):
        while True:
            with suppress(ConflictError):
                await make()
                return


def _tries_again(memory: Memory) -> int:
    store = memory.ports.store
    assert isinstance(store, RowNotes)
    return store._database.pool.tries_again


SPOKEN = "xylophone"


def _left(owner: str, tenant: str) -> list[str]:
    """The tables of a tenant that hold the word."""
    return [
        table
        for table in postgres.schema.TABLES
        for (row,) in rows(owner, f"SELECT t::text FROM holdfast.{table} t WHERE tenant = %s", tenant)  # noqa: S608 - names of ours
        if SPOKEN in row or SPOKEN.encode().hex() in row
    ]


async def test_a_purge_whose_line_is_cut_at_commit_is_whole_and_told_as_done(
    tmp_path: Path, effort: Effort, tally: Counter[str]
) -> None:
    pg, tenant, cuts = postgres.shared(), str(tmp_path), effort.of(4, 60)
    with before(pg, CuttingProxy) as (proxy, far):
        proxy.meant = PURGE.encode()
        async with (  # no daily backup comes between, which a purge leaves as it is
            server(tmp_path / "one", far, tenant, backs_up=False) as one,
            server(tmp_path / "two", pg.url, tenant, backs_up=False) as two,
        ):
            for number in range(cuts):
                text = f"The password of lamp {number} is {SPOKEN}."
                note = (await keep(one, text)).note.id
                assert text in found(await ask(two, f"password of lamp {number}"))
                proxy.cuts.append("before" if number % 2 else "behind")
                await purged(one, note)
                assert not proxy.cuts
                for memory in (one, two):
                    assert text not in found(await ask(memory, f"password of lamp {number}"))
                assert _left(pg.owner, tenant) == []
    assert Journal(pg.owner, tenant).ops()[PURGE] == cuts
    assert_whole(pg.owner, tenant)
    tally["purges cut at COMMIT"] += cuts


@pytest.mark.parametrize("cut", ["before", "behind"])
async def test_a_purge_that_is_not_heard_of_any_more_is_whole_or_not_at_all_and_can_be_asked_for_again(
    tmp_path: Path, cut: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is cut at COMMIT, and the database stays away until the call is given up."""
    pg, tenant, text = postgres.shared(), str(tmp_path), f"The password is {SPOKEN}."
    monkeypatch.setattr(database.Database.__init__, "__defaults__", (database.CONNECTIONS, 0.0))
    with before(pg, CuttingProxy) as (proxy, far):
        proxy.meant = PURGE.encode()
        async with (  # no daily backup comes between, which a purge leaves as it is
            server(tmp_path / "one", far, tenant, backs_up=False) as one,
            server(tmp_path / "two", pg.url, tenant, backs_up=False) as two,
        ):
            note = (await keep(one, text)).note.id
            proxy.cuts, proxy.stays_down = [cut], True
            with pytest.raises(StorageError, match="Nothing is known to be changed"):
                await purged(one, note)
            proxy.stays_down = False
            with anyio.fail_after(postgres.PATIENCE):
                while not proxy.ended:  # noqa: ASYNC110 - it is a thread's
                    await anyio.sleep(0.01)
            assert (text in found(await ask(two, "password"))) == (cut == "before")
            assert bool(_left(pg.owner, tenant)) == (cut == "before")
            if cut == "before":
                await purged(one, note)
            else:
                with pytest.raises(MemoryNotFoundError, match="Nothing is kept"):
                    await purged(one, note)
            for memory in (one, two):
                assert text not in found(await ask(memory, "password"))
    assert _left(pg.owner, tenant) == []
    assert Journal(pg.owner, tenant).ops()[PURGE] == 1
    assert_whole(pg.owner, tenant)
