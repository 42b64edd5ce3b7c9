"""Many principals on one process: what each costs in memory, files and threads, and how fast its calls are.

    python bench/tenants.py [--tenants N] [--open M] [--encoder none|builtin]

Every principal stores a few notes and asks; then all are asked again, in turn. With `--open` below `--tenants` each
call of the second round finds its memory closed: it is opened again in the place of another.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import httpx

from serving import PATIENCE, Served, call, served, share

NOTES = 3
SCOPES = ["memory:read", "memory:write"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tenants", type=int, default=200)
    parser.add_argument("--open", type=int, default=0, help="how many are open at a time; default all")
    parser.add_argument("--encoder", choices=["none", "builtin"], default="builtin")
    options = parser.parse_args()
    tokens = [f"tenant {number}" for number in range(options.tenants)]
    known = [{"token": token, "client_id": token, "scopes": SCOPES} for token in tokens]
    most_open = options.open or options.tenants
    with TemporaryDirectory(prefix="holdfast-tenants-") as folder:
        environment = {
            "HOLDFAST_ENCODER": options.encoder,
            "HOLDFAST_TENANCY": "user",
            "HOLDFAST_TENANTS_OPEN": str(most_open),
            "HOLDFAST_AUTH_TOKENS": json.dumps(known),
        }
        print(f"{options.tenants} principals, {most_open} open at a time, encoder {options.encoder}\n")
        with served(Path(folder) / "memory", environment) as server:
            anyio.run(_measure, server, tokens)


async def _measure(server: Served, tokens: Sequence[str]) -> None:
    print(f"{'principals':>10}  {'RSS MiB':>8}  {'files':>6}  {'threads':>7}")
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        _show(0, server)
        first: list[float] = []
        for number, token in enumerate(tokens, 1):
            began = time.perf_counter()
            await call(client, server.url, "remember", token, content=f"The crane of {token} lifts {number} tonnes.")
            first.append(time.perf_counter() - began)
            for note in range(1, NOTES):
                await call(client, server.url, "remember", token, content=f"Note {note} of {token}.")
            if number in (1, len(tokens)) or number % 50 == 0:
                _show(number, server)
        second, warm = await _asked(client, server, tokens)
        _show(len(tokens), server)
    print(f"\n{'ms':28}{'p50':>8}{'p95':>8}{'max':>8}")
    for name, times in (("first call: makes the folder", first), ("second round", second), ("call after it", warm)):
        print(f"{name:28}{share(times, 0.5):8.1f}{share(times, 0.95):8.1f}{share(times, 1.0):8.1f}")


async def _asked(client: httpx.AsyncClient, server: Served, tokens: Sequence[str]) -> tuple[list[float], list[float]]:
    """Two recalls of each principal, one right after the other; each finds its own note and nobody else's."""
    times: tuple[list[float], list[float]] = ([], [])
    for token in tokens:
        for spent in times:
            began = time.perf_counter()
            answer = await call(client, server.url, "recall", token, query="what does the crane lift?", explain=True)
            spent.append(time.perf_counter() - began)
            assert all(token in hit["content"] for hit in answer["results"])
    return times


def _show(principals: int, server: Served) -> None:
    held = server.held()
    print(f"{principals:>10}  {held.memory:>8.0f}  {held.files:>6}  {held.threads:>7}", flush=True)


if __name__ == "__main__":
    main()
