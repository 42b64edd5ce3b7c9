"""What one tenant can do to another: the other's recall while one sends its worst, as a ratio to being alone.

    python bench/worst.py [--seconds N] [--attackers N] [--encoder none|builtin]

The attacker stores notes of 256 kB and asks questions of 64 kB that are slow to look at, from several connections; the
other asks a short question again and again.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import httpx

from blocking import CONTENT, QUERY, sized
from serving import PATIENCE, Served, call, served, share

SCOPES = ["memory:read", "memory:write"]
WORST = {
    "names": "api_key=",
    "said": "the password is ",
    "equals": "=",
    "ligatures": "\ufdfa",
    "words": "crane harbour invoice lantern maple orbit pepper quartz river saddle ",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each kind of attack")
    parser.add_argument("--attackers", type=int, default=8, help="calls at once")
    parser.add_argument("--encoder", choices=["none", "builtin"], default="none")
    options = parser.parse_args()
    known = [{"token": name, "client_id": name, "scopes": SCOPES} for name in ("attacker", "other")]
    environment = {
        "HOLDFAST_ENCODER": options.encoder,
        "HOLDFAST_TENANCY": "user",
        "HOLDFAST_AUTH_TOKENS": json.dumps(known),
        "HOLDFAST_JOBS": "false",
    }
    with (
        TemporaryDirectory(prefix="holdfast-worst-") as folder,
        served(Path(folder) / "memory", environment) as server,
    ):
        anyio.run(_measure, server, options)


async def _measure(server: Served, options: argparse.Namespace) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        for number in range(20):
            await call(client, server.url, "remember", "other", content=f"The crane of hall {number} lifts tonnes.")
        alone = await _asked(client, server, options.seconds)
        print(f"{'the other, ms':20}{'p50':>8}{'p95':>8}{'max':>8}{'p95 ratio':>11}{'attacks':>9}")
        _show("alone", alone, alone, 0)
        for name, piece in WORST.items():
            done = [0]
            async with anyio.create_task_group() as tasks:
                for attacker in range(options.attackers):
                    tasks.start_soon(_attack, server, piece, attacker, done)
                await anyio.sleep(0.5)
                times = await _asked(client, server, options.seconds)
                tasks.cancel_scope.cancel()
            _show(name, times, alone, done[0])


async def _asked(client: httpx.AsyncClient, server: Served, seconds: float) -> list[float]:
    times = []
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        await call(client, server.url, "recall", "other", query="what does the crane of hall 7 lift?")
        times.append(time.perf_counter() - began)
    return times


async def _attack(server: Served, piece: str, attacker: int, done: list[int]) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        number = 0
        while True:
            number += 1
            text = f"{attacker} {number} "
            if (attacker + number) % 2:
                await call(client, server.url, "recall", "attacker", query=text + sized(piece, QUERY - 32))
            else:
                await call(client, server.url, "remember", "attacker", content=text + sized(piece, CONTENT - 32))
            done[0] += 1


def _show(name: str, times: list[float], alone: list[float], attacks: int) -> None:
    ratio = share(times, 0.95) / share(alone, 0.95)
    columns = "".join(f"{share(times, of):8.1f}" for of in (0.5, 0.95, 1.0))
    print(f"{name:20}{columns}{ratio:11.1f}{attacks:9}", flush=True)


if __name__ == "__main__":
    main()
