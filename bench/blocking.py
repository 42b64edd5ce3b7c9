"""How long each tool keeps the event loop from everybody else, with the worst inputs of allowed size.

    python bench/blocking.py [--notes N] [--encoder none|builtin] [--only TOOL]

For each tool and kind of text: the longest callback of the loop in milliseconds of processor time, and where in the
server most of it was spent. Texts are as long as a tool takes them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from fastmcp import Client
from fastmcp.exceptions import ToolError

from holdfast.app import build_memory, build_server
from holdfast.settings import load_settings

CONTENT, QUERY = 256 * 1024, 64 * 1024
SAMPLE_SECONDS = 0.002
WORDS = ["crane", "harbour", "invoice", "lantern", "maple", "orbit", "pepper", "quartz", "river", "saddle"]
PIECES = {
    "names": "api_key=",
    "said": "the password is ",
    "prefixes": "sk-a1B2",
    "equals": "=",
    "one letter": "a",
    "words": " ".join(WORDS) + " ",
    "lines": "- a\n",
    "quotes": "\"'`",
    "han": "漢字仮名",
    "marks": "a\u0301\u0323\u0302",
    "ligatures": "\ufdfa",
    "zero width": "\u200ba\u200d",
    "months": "in may before june ",
    "dates": "2026-02-03 ",
    "before": "before the ",
    "brackets": "[](",
    "yaml": "---\na: [",
    "code": "x = f(a.b[0]);\n",
}


class Loop:
    """Watches what the event loop runs: the longest callback, and where it was when it was looked at."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.places: Counter[str] = Counter()
        self._since = 0.0
        self._main = threading.get_ident()

    @contextmanager
    def watched(self) -> Iterator[None]:
        run = asyncio.Handle._run  # noqa: SLF001 - there is no other place to look from
        stop = threading.Event()

        def timed(handle: asyncio.Handle) -> None:
            began = self._since = time.thread_time()
            try:
                run(handle)
            finally:
                self.longest = max(self.longest, time.thread_time() - began)
                self._since = 0.0

        asyncio.Handle._run = timed  # type: ignore[method-assign] # noqa: SLF001
        sampler = threading.Thread(target=self._sample, args=(stop,), daemon=True)
        sampler.start()
        try:
            yield
        finally:
            asyncio.Handle._run = run  # type: ignore[method-assign] # noqa: SLF001
            stop.set()
            sampler.join()

    def _sample(self, stop: threading.Event) -> None:
        since, seen = 0.0, 0
        while not stop.wait(SAMPLE_SECONDS):
            seen = seen + 1 if self._since == since and since else 0
            since = self._since
            frame = sys._current_frames().get(self._main)  # noqa: SLF001
            if seen > 1 and frame is not None:
                self.places[_place(frame)] += 1

    def take(self) -> tuple[float, str]:
        """The longest so far in milliseconds, and where most of it was; then begin anew."""
        place = ", ".join(f"{name} {count}" for name, count in self.places.most_common(2))
        longest, self.longest = self.longest * 1000, 0.0
        self.places.clear()
        return longest, place


def _place(frame: FrameType) -> str:
    """The innermost function of ours, else the innermost of all."""
    inner: FrameType | None = frame
    while inner is not None:
        path = inner.f_code.co_filename
        if "holdfast" in path and "site-packages" not in path and "bench" not in path:
            return f"{Path(path).stem}.{inner.f_code.co_name}"
        inner = inner.f_back
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"


def sized(piece: str, size: int) -> str:
    """As much of the piece, repeated, as fits into so many bytes."""
    return (piece * (size // len(piece.encode()) + 1)).encode()[:size].decode("utf-8", "ignore")


def calls(piece: str, number: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Each tool, called with as much of the piece as it takes."""
    content, query = sized(piece, CONTENT - 16) + f" {number}", sized(piece, QUERY - 16) + f" {number}"
    items = [sized(piece, 3900) + f" {n}" for n in range(100)]
    return {
        "remember": ("remember", {"content": content}),
        "remember tags": (
            "remember", {"content": f"short {number}", "tags": [f"{sized(piece, 50)}{n}" for n in range(30)]},
        ),
        "recall": ("recall", {"query": query}),
        "memory_store": ("memory_store", {"content": content, "memory_type": "fact"}),
        "memory_recall": ("memory_recall", {"query": query}),
        "now_update": ("now_update", {"current_task": sized(piece, 16_000), "pending_decisions": items}),
        "now_read": ("now_read", {}),
        "integrity_check": ("integrity_check", {}),
        "run_maintenance": ("run_maintenance", {}),
        "run_maintenance results": (
            "run_maintenance",
            {"results": {"edges": [edge(n, items[n % 100][:400]) for n in range(3000)]}},
        ),
    }  # fmt: skip


def edge(number: int, reason: str) -> dict[str, str]:
    note = f"mem_{number:016}"
    return {"node_a_id": note, "node_b_id": note, "edge_type": "supports", "reason": reason}


async def measure(options: argparse.Namespace, home: Path) -> None:
    settings = load_settings(
        {"HOLDFAST_HOME": str(home), "HOLDFAST_ENCODER": options.encoder, "HOLDFAST_VAULT_ENABLED": "no"}
    )
    memory = build_memory(settings)
    server = build_server(settings, memory)
    loop = Loop()
    async with memory.running(), Client(server) as client:
        for number in range(options.notes):
            word = WORDS[number % len(WORDS)]
            await client.call_tool("remember", {"content": f"The {word} of room {number} is kept by Anna."})
        with loop.watched():
            for number, (name, piece) in enumerate(PIECES.items()):
                for label, (tool, arguments) in calls(piece, number).items():
                    if options.only and options.only not in label:
                        continue
                    loop.take()
                    try:
                        await client.call_tool(tool, arguments)
                        ended = ""
                    except ToolError as error:
                        ended = str(error)[:60]
                    longest, place = loop.take()
                    if longest >= options.least:
                        print(f"{label:24}{name:12}{longest:9.1f}  {place}  {ended}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--encoder", choices=["none", "builtin"], default="none")
    parser.add_argument("--only", default="", help="part of a tool's name")
    parser.add_argument("--least", type=float, default=5.0, help="milliseconds that are worth a line")
    options = parser.parse_args()
    print(f"{'tool':24}{'text':12}{'ms':>9}  where")
    with TemporaryDirectory(prefix="holdfast-blocking-") as folder:
        asyncio.run(measure(options, Path(folder) / "memory"))


if __name__ == "__main__":
    main()
