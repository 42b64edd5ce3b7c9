"""Many clients at once over HTTP: errors, latency and throughput, and whether the server stays as it was.

    python bench/load.py [--clients 64] [--calls 200] [--notes 10000] [--encoder none|builtin] [--short]

Of ten calls seven recall, two show a note and one stores one. Clients and server share the machine, so what is
measured is both.
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import httpx

from serving import PATIENCE, Served, call, served, share
from worlds import notes, queries, write_folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--encoder", choices=["none", "builtin"], default="none")
    parser.add_argument("--short", action="store_true", help="16 clients, 25 calls each, 1,000 notes")
    options = parser.parse_args()
    clients, calls, count = (16, 25, 1000) if options.short else (options.clients, options.calls, options.notes)
    with TemporaryDirectory(prefix="holdfast-load-") as folder:
        home = Path(folder) / "memory"
        write_folder(home, count)
        print(f"{clients} clients, {calls} calls each, {count:,} notes, encoder {options.encoder}\n")
        with served(home, {"HOLDFAST_ENCODER": options.encoder, "HOLDFAST_RATE_LIMIT": "0"}) as server:
            anyio.run(_measure, server, clients, calls, count)


async def _measure(server: Served, clients: int, calls: int, count: int) -> None:
    times: dict[str, list[float]] = {"recall": [], "recall_node": [], "remember": []}
    errors: list[str] = []
    known = [note.id for note in notes(count)]
    asked = queries(clients * calls)

    async def work(number: int) -> None:
        generator = random.Random(number)  # noqa: S311 - the same again
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
            for turn in range(calls):
                chance = generator.random()
                tool = "recall" if chance < 0.7 else "recall_node" if chance < 0.9 else "remember"
                given = {
                    "recall": {"query": asked[number * calls + turn]},
                    "recall_node": {"node_id": generator.choice(known)},
                    "remember": {"content": f"Client {number} was here at turn {turn}."},
                }[tool]
                began = time.perf_counter()
                try:
                    await call(client, server.url, tool, **given)
                except (RuntimeError, httpx.HTTPError) as error:
                    errors.append(f"{tool}: {error!r}"[:300])
                times[tool].append(time.perf_counter() - began)

    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        began = time.perf_counter()
        await call(client, server.url, "recall", query=asked[0])
        print(f"first recall, which finds the index built or builds it: {time.perf_counter() - began:.1f} s")
    await _round(server, "before", times, errors)
    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for number in range(clients):
            tasks.start_soon(work, number)
    seconds = time.perf_counter() - began
    await _round(server, "after", times, errors)
    print(f"\n{'ms':14}{'calls':>8}{'p50':>8}{'p95':>8}{'max':>8}")
    together = {"all": [spent for each in times.values() for spent in each]}
    for name, each in (times | together).items():
        print(f"{name:14}{len(each):>8,}{share(each, 0.5):>8.1f}{share(each, 0.95):>8.1f}{share(each, 1.0):>8.1f}")
    print(f"\n{len(together['all']) / seconds:,.0f} requests/s, {len(errors)} errors {errors[:3] or ''}")


async def _round(server: Served, when: str, times: dict[str, list[float]], errors: list[str]) -> None:
    held = server.held()
    made = sum(map(len, times.values()))
    print(
        f"{when:8}{held.memory:6.0f} MiB, {held.files} files, {held.threads} threads, "
        f"{made:,} calls, {len(errors)} errors"
    )


if __name__ == "__main__":
    main()
