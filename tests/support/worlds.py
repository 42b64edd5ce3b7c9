"""Memories to test with: in this process, and in processes of their own."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import numpy as np
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

import holdfast.app
import processes
from holdfast.app import new_change_id, new_note_id, now
from holdfast.encode.provider import KeptEncoders, VectorSet
from holdfast.encode.wordpiece import is_common, is_ordinary
from holdfast.engine.admin.gate import Confirmations
from holdfast.engine.admin.notes import Deleted, Purged, WouldDelete, WouldPurge, delete_note, purge
from holdfast.engine.agent.browse import Node, recall_node
from holdfast.engine.agent.recall import Recall, Recalled, recall
from holdfast.engine.agent.remember import Outcome, Remember, remember
from holdfast.engine.ports import Caller, Encoder, Ports, ReadsPairs
from holdfast.engine.runtime import Memory
from holdfast.engine.sync.files import keeping
from holdfast.index.note_index import NoteIndex
from holdfast.index.recalls import RecallLog
from holdfast.model.secrets import redact
from holdfast.model.words import query_terms
from holdfast.settings import load_settings
from holdfast.store.filesystem import FileSystem
from holdfast.store.folder import Folder
from holdfast.store.notes import NoteFiles

Value = TypeVar("Value")

SERVER = Path(__file__).parents[2] / "server"
_FOLDER_STORAGE = holdfast.app._folder_storage
CALLER = Caller("work", "a test", "pytest")
PATIENCE = 60.0


def memory_on(
    home: Path,
    *,
    encoder: Encoder | None = None,
    kept: KeptEncoders | None = None,
    files: FileSystem | None = None,
    beside: Encoder | None = None,
    pairs: ReadsPairs | None = None,
) -> Memory:
    """A memory that is not running yet; without an encoder unless one is given."""
    folder = Folder(home)
    store = NoteFiles(folder, files or FileSystem(), now, new_change_id)
    kept_in = holdfast.app.Storage(store, keeping(store))
    if files is None and holdfast.app._folder_storage is not _FOLDER_STORAGE:
        kept_in = holdfast.app._folder_storage(load_settings({"HOLDFAST_HOME": str(home)}), folder, alone=True)
    return Memory(
        Ports(
            store=kept_in.store,
            keeper=kept_in.keeper,
            index=NoteIndex(folder.derived / "index.db"),
            recalls=kept_in.recalls or RecallLog(folder.derived / "recalls.db"),
            upkeep=kept_in.upkeep,
            tokens=kept_in.tokens,
            encoder=encoder,
            clock=now,
            new_id=new_note_id,
            redact=redact,
            is_ordinary=is_ordinary,
            is_common=is_common,
            beside=beside,
            pairs=pairs,
            kept=kept,
        )
    )


@asynccontextmanager
async def living(
    home: Path,
    *,
    encoder: Encoder | None = None,
    kept: KeptEncoders | None = None,
    files: FileSystem | None = None,
    beside: Encoder | None = None,
    pairs: ReadsPairs | None = None,
) -> AsyncIterator[Memory]:
    """A memory that runs until the block ends."""
    memory = memory_on(home, encoder=encoder, kept=kept, files=files, beside=beside, pairs=pairs)
    async with memory.running():
        yield memory


async def keep(memory: Memory, content: str, **given: Any) -> Outcome:
    return await memory.attend(lambda ports: remember(ports, CALLER, Remember(content, **given)))


async def ask(memory: Memory, query: str, **given: Any) -> Recalled:
    return await memory.attend(lambda ports: recall(ports, CALLER, Recall(query, **given)))


async def show(memory: Memory, note_id: str) -> Node:
    return await memory.attend(lambda ports: recall_node(ports, note_id))


async def deleted(memory: Memory, note: str) -> Deleted:
    """Delete a note, as somebody who confirms it."""
    tokens = Confirmations()
    asked = await memory.attend(lambda ports: delete_note(ports, CALLER, tokens, note, None))
    assert isinstance(asked, WouldDelete)
    done = await memory.attend(lambda ports: delete_note(ports, CALLER, tokens, note, asked.confirm))
    assert isinstance(done, Deleted)
    return done


async def purged(memory: Memory, note: str) -> Purged:
    """Erase a note, as somebody who confirms it."""
    tokens = Confirmations()
    asked = await memory.attend(lambda ports: purge(ports, CALLER, tokens, note, None))
    assert isinstance(asked, WouldPurge)
    done = await memory.attend(lambda ports: purge(ports, CALLER, tokens, note, asked.confirm))
    assert isinstance(done, Purged)
    return done


def found(answer: Recalled) -> list[str]:
    """The texts of an answer, best first."""
    return [hit.note.content for hit in answer.hits]


class WordBag:
    """An encoder for which texts mean the same as far as they share words; `alike` names words that mean another."""

    vector_set = VectorSet("test", "word bag", "", 256, ("", ""), 0.05, 0.1)
    backlog = 0

    def __init__(self, **alike: str) -> None:
        self._alike = alike

    async def identify(self) -> VectorSet:
        return self.vector_set

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        return [[self._vector(text)] for text in texts]

    async def encode_query(self, text: str) -> bytes:
        return self._vector(text)

    async def aclose(self) -> None:
        """Nothing to close."""

    def _vector(self, text: str) -> bytes:
        words = [self._alike.get(word, word) for word in query_terms(text)] or [text]
        total = sum(_direction(word) for word in words)
        return bytes((total / np.linalg.norm(total)).astype("<f4").tobytes())


def _direction(word: str) -> Any:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    return np.random.default_rng(seed).normal(size=WordBag.vector_set.dimension)


@asynccontextmanager
async def serving(home: Path, encoder: str = "none") -> AsyncIterator[Client]:
    """A client with a server process of its own."""
    environment = {
        **os.environ,
        "HOLDFAST_HOME": str(home),
        "HOLDFAST_ENCODER": encoder,
        "HOLDFAST_SPACE": "work",
        "PYTHONPATH": str(SERVER),
        **processes.stored_at(home),
    }
    transport = StdioTransport(sys.executable, ["-m", "holdfast"], env=environment, keep_alive=False)
    async with Client(transport) as client:
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's structured answer."""
    answer = await client.call_tool(tool, arguments)
    return dict(answer.structured_content or {})


async def results(client: Client, query: str, **arguments: Any) -> list[dict[str, Any]]:
    return list((await call(client, "recall", query=query, **arguments))["results"])


def remove_index(home: Path) -> None:
    """With what SQLite keeps beside it."""
    for path in (home / ".holdfast").glob("index.db*"):
        path.unlink()


def remove_everything(home: Path) -> None:
    """All that is derived."""
    shutil.rmtree(home / ".holdfast")


async def until(condition: Callable[[], Value]) -> Value:
    """Wait until the condition holds; what it said then."""
    with anyio.fail_after(PATIENCE):
        while not (answer := condition()):  # noqa: ASYNC110 - it is about the disk, which tells nobody
            await anyio.sleep(0.02)
    return answer
