"""What the engine needs of the world: a store, an index, an encoder, a clock, ids.

A later storage may keep notes and index in a distributed database for fleets of stateless servers: nothing here, and
nothing that is built on it, assumes a local path or a single process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from holdfast.encode.vectorset import VectorSet
from holdfast.index.note_index import Update
from holdfast.index.projection import FileRow
from holdfast.index.recalls import RecallEvent
from holdfast.index.rows import IndexedNote, LinkRow, PendingVector, Place
from holdfast.model.query import Candidate, Filter, QueryVector
from holdfast.model.secrets import Redaction
from holdfast.model.times import instant
from holdfast.store.filesystem import Entry
from holdfast.store.stored import Change, Committed, Stored, Unreadable

SecretsMode = Literal["redact", "refuse", "allow"]


class Store(Protocol):
    """The notes themselves; see `holdfast.store.notes.NoteFiles`."""

    async def open(self) -> None: ...
    async def aclose(self) -> None: ...
    def hold(self, keys: Iterable[str]) -> AbstractAsyncContextManager[None]: ...
    def alone(self) -> AbstractAsyncContextManager[None]: ...
    def commit(
        self, op: str, changes: Sequence[Change], detail: dict[str, Any]
    ) -> AbstractAsyncContextManager[Committed]: ...
    async def load(self, paths: Sequence[str], known_ids: Mapping[str, str]) -> list[Stored | Unreadable]: ...
    async def scan(self) -> dict[str, Entry]: ...
    async def adopt(self, stored: Stored) -> Stored | None: ...
    async def record(self, record: dict[str, Any]) -> int: ...
    async def journal(self) -> list[dict[str, Any]]: ...


class Index(Protocol):
    """What is derived from them; see `holdfast.index.note_index.NoteIndex`."""

    @property
    def lost(self) -> bool: ...
    async def open(self) -> bool: ...
    async def aclose(self) -> None: ...
    def discard(self) -> None: ...
    async def mark_built(self) -> None: ...
    async def apply(self, update: Update) -> None: ...
    async def search(
        self,
        query: str,
        vector: QueryVector | None,
        wanted: Filter,
        pool_size: int = ...,
        most_terms: int = ...,
    ) -> list[Candidate]: ...
    async def subjects(self, words: Sequence[str]) -> list[str]: ...
    async def notes(self, ids: Iterable[str]) -> dict[str, IndexedNote]: ...
    async def matching(self, prefix: str, most: int) -> list[tuple[str, str]]: ...
    async def links(self, ids: Sequence[str]) -> list[LinkRow]: ...
    async def changes(self, note_id: str) -> int: ...
    async def place(self, retry_key: str, since: str, space: str, session: str | None) -> Place: ...
    async def files(self, paths: Collection[str] | None = None) -> dict[str, FileRow]: ...
    async def count_files(self) -> int: ...
    async def files_of(self, ids: Collection[str]) -> dict[str, FileRow]: ...
    async def problems(self) -> list[tuple[str, str]]: ...
    async def unadopted(self) -> list[tuple[str, str, int]]: ...
    async def pending_vectors(self, key: str, most: int) -> list[PendingVector]: ...
    async def count_pending(self, key: str) -> int: ...


class Recalls(Protocol):
    """What was asked lately; see `holdfast.index.recalls.RecallLog`."""

    async def add(self, event: RecallEvent) -> bool: ...
    async def aclose(self) -> None: ...


class Encoder(Protocol):
    """Turns text into vectors of one set; see `holdfast.encode.builtin.BuiltinEncoder`."""

    @property
    def vector_set(self) -> VectorSet: ...
    @property
    def backlog(self) -> int: ...
    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]: ...
    async def encode_query(self, text: str) -> bytes: ...
    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a verb may use.

    `encoder` is None where the settings ask for none. `door` replaces secrets in a text that is to be stored.
    """

    store: Store
    index: Index
    recalls: Recalls
    encoder: Encoder | None
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    door: Callable[[str], Redaction]
    secrets: SecretsMode = "redact"

    @property
    def now(self) -> str:
        """The time now, as canonical text."""
        return instant(self.clock())


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: `space` is where they work (None where that is nowhere), `space_from` says how that is known."""

    space: str | None
    space_from: str
    source: str
    principal: str = "local"
