"""Enough of what servers and `holdfast store` do that every statement in the source is sent, and finds rows."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path
from unittest.mock import patch

import anyio

from backed_up import backed_up, brought_elsewhere
from holdfast.engine.admin.undo import undo
from holdfast.engine.agent.feedback import Feedback, MarkOutdated, mark_outdated, submit_feedback
from holdfast.engine.maintenance.verdicts import MergeVerdict, Outcome, Work, propose
from holdfast.engine.omi.now import NowUpdate, now_read, now_update
from holdfast.engine.ports import Ports
from holdfast.engine.runtime import Memory
from holdfast.model.access import tenant_key
from holdfast.model.records import CAPSULES, DAILY, PROPOSALS, JournalRecord, RecallEvent, now_page
from holdfast.store.folder import Folder
from holdfast.store.history import Erasure
from holdfast.store.rows import shared
from holdfast.store.rows.commits import Wanted, _write_all
from holdfast.store.rows.database import Database
from holdfast.store.rows.moving import dump, load
from holdfast.store.rows.texts import _erase
from holdfast.store.rows.upkeep import Held, RowUpkeep
from holdfast.store.rows.upkeep import _purge as _purge_trash
from worlds import CALLER, ask, deleted, keep, purged

LONG_AGO, NOW, LATER = "2001-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2999-01-01T00:00:00Z"


async def everything(memory: Memory) -> None:
    """Enough of what a memory does that its statements are sent."""
    note = await _notes(memory)
    await _pages(memory)
    await _past(memory, note)
    await _jobs(memory)
    await backed_up(memory)
    await purged(memory, note)


async def _notes(memory: Memory) -> str:
    first = (await keep(memory, "The pilot boat is moored at berth four.")).note.id
    second = (await keep(memory, "The pilot boat is moored at berth nine.", supersedes=(first,))).note.id
    async with anyio.create_task_group() as many:  # they become one transaction
        for number in range(8):
            many.start_soon(keep, memory, f"Buoy {number} is lit.")
    taken_back = (await keep(memory, "The pilot boat is for sale.")).change_id
    assert taken_back is not None
    await memory.attend(lambda ports: undo(ports, CALLER, taken_back))
    answer = await ask(memory, "pilot boat")
    await memory.attend(lambda ports: submit_feedback(ports, CALLER, Feedback(second, 1, event_id=answer.event_id)))
    await memory.attend(lambda ports: submit_feedback(ports, CALLER, Feedback(second, 1)))
    assert await memory.ports.recalls.recent(CALLER.principal, 3)
    await memory.attend(lambda ports: mark_outdated(ports, CALLER, MarkOutdated(second, "it sank")))
    return second


async def _pages(memory: Memory) -> None:
    """A note that a proposal and a state capsule tell of is purged."""
    one, other = [(await keep(memory, f"The tug {name} is red.")).note.id for name in ("Aud", "Bo")]
    for task in ("raise the boat", "dry the engine"):
        await memory.attend(lambda ports, task=task: now_update(ports, CALLER, NowUpdate(current_task=task)))  # type: ignore[misc]
    await memory.attend(lambda ports: now_read(ports, CALLER))

    async def waiting(ports: Ports) -> Outcome:
        notes = list((await ports.index.notes([one, other])).values())
        return await propose(Work(ports, CALLER, "merges[0]"), MergeVerdict(one, other), notes, [])

    await memory.attend(waiting)
    store = memory.ports.store
    for folder in (CAPSULES, DAILY, PROPOSALS):
        await store.list_pages(folder)
    assert await store.page_marks([now_page(CALLER.space)])
    await store.page_records("")
    await purged(memory, one)
    await store.drop_page((await store.list_pages(CAPSULES))[0])


async def _past(memory: Memory, note: str) -> None:
    store, past = memory.ports.store, memory.ports.store.past
    await past.records()
    replaced = [file for line in await past.records(("remember",)) for file in line.files if file.before]
    await past.replaced(replaced[0])
    await past.lines([1])
    path = (await memory.attend(lambda ports: ports.index.notes([note])))[note].path
    for look in (store.note_hashes, store.marks):
        assert await look([path])
    await store.every()
    await store.load([path], {})
    await store.load_after("", 3)
    for text in ("The dinghy leaks.", "The raft leaks."):
        await _delete(memory, text)
    gone = await _delete(memory, "The dinghy was sold.")
    [deleted] = [
        file for line in await past.records(("admin_delete_memory",)) for file in line.files if file.note == gone
    ]
    await past.replaced(deleted)
    await past.drop(deleted)
    await purged(memory, await _delete(memory, "The dinghy sank."))


async def _delete(memory: Memory, text: str) -> str:
    note = (await keep(memory, text)).note.id
    await deleted(memory, note)
    return note


async def _jobs(memory: Memory) -> None:
    upkeep = memory.ports.upkeep
    assert upkeep is not None
    async with upkeep.turn() as mine:
        assert mine
        await keep(memory, "This is written in the turn of the jobs.")
    await upkeep.sizes()
    undone = [line.change for line in await memory.ports.store.past.records(("undo",)) if line.change]
    assert await upkeep.purge_trash({change: ["0" * 64] for change in undone})


async def beside(url: str, tenant: str, folder: Path) -> None:
    """What else servers and `holdfast store` send."""
    database, key = Database(url), tenant_key(tenant)
    await _vectors(database, key)
    await _tokens(database, key)
    recalls = shared.RowRecalls(database, key)
    await recalls.add(RecallEvent("rec_old", LONG_AGO, "an old question", None, (), "", b"", "local"))
    await recalls.flush()
    assert await recalls.prune()
    said = JournalRecord("purge", at=LONG_AGO)
    twice = partial(_erase, key, "chg_purge", Erasure("mem_none", (), said, ()), said)
    again = partial(
        _write_all, key, [Wanted("chg_use", JournalRecord("use", at=LONG_AGO), Held(None, frozenset(), None))]
    )
    trash = partial(_purge_trash, key, "a tag", {"chg_use": ()}, None)
    for _ in range(2):  # as where its COMMIT was not heard
        await database.run(key, twice)
        await database.run(key, again)
        await database.run(key, trash)
    assert await shared.RowReminders(database, key).tell_today("a hint", NOW[:10])
    assert await shared.RowFeed(database, tenant_key).numbers([tenant])
    await anyio.to_thread.run_sync(_moved, database, tenant, folder / "dumped")
    await brought_elsewhere(database, tenant, f"{tenant} loaded", folder)
    assert await database.answers()
    await database.aclose()


async def _vectors(database: Database, key: str) -> None:
    vectors, upkeep = shared.RowVectors(database, key), RowUpkeep(database, key)
    made = {sha256(text.encode()).hexdigest(): [b"1234"] for text in ("a text", "another", "a third")}
    async with vectors.turn("a set") as mine:
        assert mine
        await vectors.keep("a set", made)
    assert await vectors.made("a set", list(made)) == set(made)
    assert await vectors.known("a set", list(made)) == made
    [first, *_] = await upkeep.encoded(("", ""), 5)
    await vectors.forget(["a text"])
    await upkeep.drop_encoded([("a set", sha256(b"another").hexdigest())])
    await vectors.drop("a set")
    assert first[0] == "a set"


async def _tokens(database: Database, key: str) -> None:
    tokens, about = shared.RowTokens(database, key), ("a principal", "a note")
    with patch.object(shared, "MOST_OPEN", 2):
        for name, until in {"oldest": LONG_AGO, "old": LONG_AGO, "new": LATER}.items():
            await tokens.keep(name, about, until)
    assert await tokens.take("new", about, NOW)


def _moved(database: Database, tenant: str, out: Path) -> None:
    """Out into a folder and into another memory; once more as where that had been interrupted, and files are gone."""
    into = tenant_key(f"{tenant} loaded")
    dump(database, tenant_key(tenant), out)
    load(database, into, Folder(out), {}, _quiet)
    database.transact(into, lambda sent: sent.ask("UPDATE holdfast.tenants SET loading = true WHERE tenant = %s", into))
    for kind in ("memories", "history", "trash", "capsules"):
        next(path for path in sorted((out / kind).rglob("*")) if path.is_file()).unlink()
    journal = max((out / "journal").iterdir())
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    load(database, into, Folder(out), {}, _quiet)


def _quiet(_done: int, _total: int) -> None:
    """Nobody watches."""
