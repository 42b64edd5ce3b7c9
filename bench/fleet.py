"""A memory in PostgreSQL beside the same one in a folder: how soon a new server answers, and how fast recalls are.

    python bench/fleet.py [--notes 10000] [--asked 200] [--seed 7]

Notes, questions and vectors are made up from the seed, with a line of the journal for each note as `remember` writes
it; the time of the encoder is left out. A PostgreSQL of its own is started, as the tests do it. Each server that is
begun is a process of its own. Printed are, in seconds and in processor seconds of the server: how long the folder and a
server that never saw the memory need to their first answer by words; how long that server needs to have every vector,
which another server has made; the p50 of recalls of both, asked in turns in the same run; that of the one question that
each of them asks the database; and what a note takes in the tables and in a server's index.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import psycopg

from holdfast.app import build_memory
from holdfast.encode.provider import SharedEncoder
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.runtime import Memory
from holdfast.model.access import tenant_key
from holdfast.model.records import FileChange, JournalRecord
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from holdfast.store.folder import Folder
from holdfast.store.rows.database import Database, Transaction
from holdfast.store.rows.moving import load
from holdfast.store.rows.notes import RowNotes
from holdfast.store.rows.shared import RowVectors
from holdfast.store.rows.texts import add_numbers, make_tenant, take_number, write_line
from scale import CALLER, RandomEncoder, build
from worlds import queries, write_folder

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / "support")]
import postgres  # noqa: E402 - the tests' own

TENANT = "bench"
STORED = 300
SIZES = (
    "SELECT relname, pg_total_relation_size(oid), reltuples::bigint FROM pg_class"
    " WHERE relnamespace = 'holdfast'::regnamespace AND relkind = 'r' ORDER BY 2 DESC"
)


@dataclass(frozen=True, slots=True)
class Run:
    """What is measured with."""

    folder: Path
    url: str
    notes: int
    asked: int
    seed: int


def replica(run: Run, name: str) -> Memory:
    """A server of the memory in the database, with a disk of its own."""
    given = {"HOLDFAST_HOME": str(run.folder / name), "HOLDFAST_STORE": run.url, "HOLDFAST_TENANT": TENANT}
    memory = build_memory(load_settings(given | {"HOLDFAST_ENCODER": "none"}))
    vectors = RowVectors(Database(run.url), tenant_key(TENANT))
    memory.ports = replace(memory.ports, encoder=SharedEncoder(RandomEncoder(run.seed), vectors))
    return memory


class Watch:
    """Time since it was made, on the clock and of this process's processors."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    @property
    def times(self) -> tuple[float, float]:
        return time.perf_counter() - self._began[0], time.process_time() - self._began[1]


async def asked(memory: Memory, query: str) -> tuple[float, float]:
    """The time of one recall."""
    watch = Watch()
    await memory.attend(lambda ports: recall(ports, CALLER, Recall(query)), past=False)  # as the tool does
    return watch.times


async def encoded(memory: Memory) -> tuple[float, float]:
    """The time until every note has its vector."""
    watch, key = Watch(), RandomEncoder.vector_set.key
    while True:
        await memory.catch_up()
        if not await memory.ports.index.count_pending(key):
            return watch.times
        await anyio.sleep(0.05)


async def stored(memory: Memory, count: int) -> tuple[float, float]:
    """The time of so many new notes, one after the other."""
    watch = Watch()
    for number in range(count):
        note = Remember(f"Berth {number} was dredged on the {number}th day, to a depth of {number} feet.")
        await memory.attend(lambda ports, note=note: remember(ports, CALLER, note))
    return watch.times


async def begun(run: Run, place: str, name: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """What a server needs that has just begun: to its first answer, and then to every vector."""
    memory = build(run.folder / name, run.seed) if place == "folder" else replica(run, name)
    query = queries(1, run.seed)[0]
    gc.freeze()  # as a server does before it serves
    async with memory.running():
        return await asked(memory, query), await encoded(memory)


def begin(run: Run, place: str, name: str, what: str, *, vectors: str = "") -> None:
    """The same in a process of its own, which has nothing in memory from before."""
    told = json.dumps([str(run.folder), run.url, run.notes, run.asked, run.seed, place, name])
    done = subprocess.run([sys.executable, __file__, "--server", told], check=True, stdout=subprocess.PIPE, text=True)
    answer, all_vectors = json.loads(done.stdout)
    say(f"{what}: first answer", answer)
    if vectors:
        say(f"{what}: {vectors}", all_vectors)


def give_history(tenant: str, transaction: Transaction) -> None:
    """A line for each note, as `remember` writes it."""
    notes = transaction.ask("SELECT note, path, hash FROM holdfast.notes WHERE tenant = %s ORDER BY note", tenant)
    make_tenant(transaction, tenant)
    row = take_number(transaction, tenant).fetchone()
    seq, rows = int(row[0]) if row else 1, notes.fetchall()
    for number, (note, path, hash_) in enumerate(rows):
        change = f"chg_{note.partition('_')[2]}"
        file = FileChange(note, path, None, hash_, f"trash/{change}.{note}.md")
        said = JournalRecord("remember", "2026-10-01T00:00:00Z", "local", "bench", seq + number, change, (file,))
        write_line(transaction, tenant, change, replace(said, guards=(f"same:{hash_[:32]}",)))
    add_numbers(transaction, tenant, len(rows) - 1)


async def measure(run: Run) -> None:
    words = queries(run.asked, run.seed)
    home = run.folder / "folder"
    write_folder(home, run.notes, run.seed)
    watch, database, tenant = Watch(), Database(run.url), tenant_key(TENANT)
    moved = await anyio.to_thread.run_sync(load, database, tenant, Folder(home), {}, lambda _done, _total: None)
    say(f"loaded into the database ({moved.files:,} files)", watch.times)
    await database.run(tenant, partial(give_history, tenant))
    every = "every vector"
    begin(run, "folder", "folder", "folder without an index", vectors=f"{every} (made at once, not by a model)")
    begin(run, "rows", "first", "first server, never saw it", vectors=f"{every} (made at once, and shared)")
    begin(run, "rows", "second", "second server, never saw it", vectors=f"{every}, as the first made them")
    begin(run, "rows", "second", "second server, started again")
    begin(run, "folder", "folder", "folder, opened again")
    second, in_folder = replica(run, "second"), build(home, run.seed)
    async with second.running(), in_folder.running():
        await compare(in_folder, second, words)
        await look(second, run.asked)
        say(f"{STORED} notes stored one after the other", await stored(second, STORED))
    index = sum(path.stat().st_size for path in (run.folder / "second").rglob("index*.db*"))
    print(f"index of a server: {index / 1e6:.1f} MB, {index / run.notes:,.0f} bytes a note")


async def compare(in_folder: Memory, in_rows: Memory, words: list[str]) -> None:
    """Recalls of both in turns, so that whatever else the machine does meets both alike."""
    times: dict[str, list[tuple[float, float]]] = {"folder": [], "database": []}
    for query in words[:20]:
        await asked(in_folder, query)
        await asked(in_rows, query)
    for query in words:
        times["folder"].append(await asked(in_folder, query))
        times["database"].append(await asked(in_rows, query))
    for place, what in enumerate(("on the clock", "of the processors")):
        p50 = {name: statistics.median(each[place] for each in found) * 1e3 for name, found in times.items()}
        ratio = p50["database"] / p50["folder"]
        print(f"recall p50 {what}: folder {p50['folder']:.1f} ms, database {p50['database']:.1f} ms, {ratio:.2f} times")


async def look(memory: Memory, count: int) -> None:
    """The time of the one question that each answer waits for, where there is nothing new."""
    store = memory.ports.store
    assert isinstance(store, RowNotes)
    place, times = await store.journal_end(), []
    for _ in range(count):
        watch = Watch()
        assert not await store.journal_since(place, 1000)
        times.append(watch.times)
    wall, cpu = (statistics.median(each[place] for each in times) * 1e3 for place in (0, 1))
    print(f"the question whether there is news, p50: {wall:.2f} ms, {cpu:.2f} ms CPU of the server")


def sizes(owner: str) -> None:
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("ANALYZE")
        for name, size, rows in connection.execute(SIZES).fetchall():
            if rows > 1:
                print(f"  {name:12}{rows:>10,} rows {size / 1e6:8.1f} MB {size / rows:8.0f} bytes a row")


def say(what: str, times: tuple[float, float]) -> None:
    print(f"{what:72}{times[0]:8.2f} s {times[1]:8.2f} s CPU", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--asked", type=int, default=200, help="how many questions")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--server", help=argparse.SUPPRESS)
    options = parser.parse_args()
    configure_logs("warning")
    if options.server:
        folder, url, notes, asked_, seed, place, name = json.loads(options.server)
        print(json.dumps(anyio.run(begun, Run(Path(folder), url, notes, asked_, seed), place, name)))
        return
    load1 = os.getloadavg()[0]
    print(f"{datetime.now(UTC):%Y-%m-%d}, {platform.processor() or platform.machine()}, {os.cpu_count()} processors,")
    print(f"Python {platform.python_version()}, {options.notes:,} notes, load {load1:.1f} when it began\n")
    with TemporaryDirectory(prefix="holdfast-fleet-") as folder, postgres.postgres() as server:
        run = Run(Path(folder), server.url, options.notes, options.asked, options.seed)
        anyio.run(measure, run)
        print("in the tables:")
        sizes(server.owner)


if __name__ == "__main__":
    main()
