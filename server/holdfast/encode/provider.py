"""What encodes, and what stands before it: vectors that this server, or another one of the memory, has made already.

Vectors by content are kept beside the index: a deleted index gets them back without encoding anything. Behind that
cache stand those that the servers of a memory share: what any of them has encoded, the others take over. Where these
cannot be asked the provider encodes: they only spare work. When texts are forgotten, no byte of their vectors, nor of
the hashes that name them, stays.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

import anyio
import anyio.to_thread

from holdfast.errors import EncoderError

_HARM: Final = 1e-3  # the square of a unit vector's length is further from 1 only where a bit has flipped
UNREAD: Final = "The embedded model does not read this script."
REMOTE: Final = frozenset({"ollama", "openai", "nim"})


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The identity of a set of comparable vectors, and what to expect of them before any are stored.

    Attributes:
        provider: who encodes: `builtin`, `ollama`, `openai`.
        model: the provider's name of the model.
        digest: the exact weights, as far as the provider tells them; may be empty.
        dimension: how many float32 numbers a vector has.
        prefixes: what is written before a document and before a query.
        background_mean: the cosine that two unrelated texts have on average with this model.
        background_deviation: the standard deviation of that cosine.
    """

    provider: str
    model: str
    digest: str
    dimension: int
    prefixes: tuple[str, str]
    background_mean: float
    background_deviation: float

    @property
    def key(self) -> str:
        """16 hexadecimal digits, the same on every machine; the background is a prior and not part of it."""
        identity = [self.provider, self.model, self.digest, self.dimension, list(self.prefixes)]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]

    @property
    def is_remote(self) -> bool:
        """Whether encoding is a call over the network, be it to this machine."""
        return self.provider in REMOTE

    @property
    def described(self) -> str:
        """All of it as JSON, for `read_set`."""
        return json.dumps(asdict(self))


def read_set(described: str) -> VectorSet | None:
    """A set as it described itself; None where the text is none of ours."""
    try:
        fields = json.loads(described)
        return VectorSet(**fields | {"prefixes": tuple(fields["prefixes"])})
    except (ValueError, TypeError, KeyError):
        return None


class Provider(Protocol):
    """An encoder without a cache."""

    @property
    def vector_set(self) -> VectorSet: ...
    async def identify(self) -> VectorSet: ...
    @property
    def backlog(self) -> int: ...
    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]: ...
    async def encode_query(self, text: str) -> bytes: ...
    async def aclose(self) -> None: ...


class WrappedProvider:
    """An encoder that stands before a provider, and leaves to it whatever it does not do itself."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    @property
    def vector_set(self) -> VectorSet:
        return self._provider.vector_set

    @property
    def backlog(self) -> int:
        return self._provider.backlog

    async def identify(self) -> VectorSet:
        return await self._provider.identify()

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        return await self._provider.encode_documents(texts)

    async def encode_query(self, text: str) -> bytes:
        return await self._provider.encode_query(text)

    async def aclose(self) -> None:
        await self._provider.aclose()

    async def _identified(self) -> VectorSet:
        """The set; the provider is asked where it has not been reached yet."""
        try:
            return self._provider.vector_set
        except EncoderError:
            return await self._provider.identify()


class Lent(WrappedProvider):
    """A provider that others use too: whoever closes this one leaves the provider open for them."""

    async def aclose(self) -> None:
        """Nothing of its own to close."""


class KeptEncoders:
    """One encoder for each set that this process can still encode for.

    Args:
        make: an encoder for a set, or None where the settings or the machine have none.
    """

    def __init__(self, make: Callable[[VectorSet], Provider | None]) -> None:
        self._make = make
        self._made: dict[str, Provider | None] = {}

    def of(self, vector_set: VectorSet) -> Provider | None:
        """The encoder that may make vectors of this set; whether it does is seen when it has made one."""
        if vector_set.key not in self._made:
            self._made[vector_set.key] = self._make(vector_set)
        return self._made[vector_set.key]

    async def aclose(self) -> None:
        made, self._made = self._made, {}
        for encoder in made.values():
            if encoder is not None:
                await encoder.aclose()


def is_whole(rows: Sequence[tuple[int, bytes]], width: int) -> bool:
    """Whether these are all chunks of a text, as they were made: the oldest rows are dropped one by one."""
    if not rows or any(chunk != place or len(vector) != width for place, (chunk, vector) in enumerate(rows)):
        return False
    import numpy as np  # noqa: PLC0415 - start-up stays light

    vectors = np.frombuffer(b"".join(vector for _, vector in rows), "<f4").reshape(len(rows), -1)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((abs(np.einsum("vd,vd->v", vectors, vectors) - 1.0) < _HARM).all())


class SharedVectors(Protocol):
    """Chunks of vectors by the set and the hash of their text; see `holdfast.store.rows.shared.RowVectors`."""

    @property
    def elsewhere(self) -> bool: ...
    def turn(self, vector_set: str) -> AbstractAsyncContextManager[bool]: ...
    async def made(self, vector_set: str, contents: Sequence[str]) -> frozenset[str]: ...
    async def known(self, vector_set: str, contents: Sequence[str]) -> dict[str, list[bytes]]: ...
    async def keep(self, vector_set: str, made: Mapping[str, Sequence[bytes]]) -> None: ...
    async def drop(self, vector_set: str) -> None: ...
    async def forget(self, texts: Sequence[str]) -> None: ...


def content_of(text: str) -> str:
    """What names a text's vectors."""
    return hashlib.sha256(text.encode()).hexdigest()


class SharedEncoder(WrappedProvider):
    """An encoder that asks what others have made before it encodes a document.

    Args:
        provider: what encodes.
        vectors: what is shared.
    """

    def __init__(self, provider: Provider, vectors: SharedVectors) -> None:
        super().__init__(provider)
        self._vectors = vectors

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        """Chunks of each text, made by another server or now.

        Raises:
            EncoderError: the provider failed, or its model changed while it encoded.
        """
        made_with = await self._identified()
        keys = [content_of(text) for text in texts]
        found = await self._vectors.known(made_with.key, keys)
        known = {
            key: chunks for key, chunks in found.items() if is_whole(list(enumerate(chunks)), made_with.dimension * 4)
        }
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, await self._provider.encode_documents(list(missing.values())), strict=True))
            if self.vector_set.key != made_with.key:
                raise EncoderError("The embedding model changed while it encoded.")
            await self._vectors.keep(made_with.key, fresh)
            known |= fresh
        return [known[key] for key in keys]

    async def forget(self) -> None:
        """Make anew what is asked for from now on."""
        await self._vectors.drop((await self._identified()).key)


Answer = TypeVar("Answer")

MOST_BYTES = 1 << 30
_TRIMMED = 0.75  # of that is left when it is too much
_TRIM_EVERY = 4096  # texts
MOST_QUERIES = 256
_ANOTHER_STATE = "PRAGMA user_version = {}"
_KEEP = "INSERT OR REPLACE INTO encodings (vector_set, content, chunk, vector) VALUES (?, ?, ?, ?)"


class CachedEncoder(WrappedProvider):
    """An encoder that never encodes a document twice. Queries are not kept.

    Args:
        provider: what encodes.
        path: the cache's database file; it may be deleted at any time.
    """

    def __init__(self, provider: Provider, path: Path) -> None:
        super().__init__(provider)
        self._path = path
        self._thread = anyio.CapacityLimiter(1)
        self._connection: sqlite3.Connection | None = None
        self._kept = 0  # since it was trimmed
        self._queries: dict[tuple[str, bytes], bytes] = {}  # by set and content, the one used last at the end
        self._identity: tuple[int, int] | None = None

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        """Chunks of each text, from the cache or made now.

        Raises:
            EncoderError: the provider failed, or its model changed while it encoded.
        """
        keys = [content_of(text) for text in texts]
        made_with = await self._identified()
        known, state = await self._on_thread(self._look_up, made_with, keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = await self._provider.encode_documents(list(missing.values()))
            if self.vector_set.key != made_with.key:
                raise EncoderError("The embedding model changed while it encoded.")
            fresh = dict(zip(missing, made, strict=True))
            await self._on_thread(self._keep, made_with, fresh, state)
            known |= fresh
        return [known[key] for key in keys]

    async def encode_query(self, text: str) -> bytes:
        """The query's vector; the last ones are kept in memory, and nowhere else."""
        content = hashlib.sha256(text.encode()).digest()
        key = ((await self._identified()).key, content)
        if key not in self._queries:
            vector = await self._provider.encode_query(text)
            self._queries[self.vector_set.key, content] = vector
            while len(self._queries) > MOST_QUERIES:
                del self._queries[next(iter(self._queries))]
            return vector
        self._queries[key] = vector = self._queries.pop(key)
        return vector

    async def forget(self) -> None:
        """Make anew what is asked for from now on."""
        made_with = await self._identified()
        self._queries.clear()
        await self._on_thread(self._drop, made_with)
        if isinstance(self._provider, SharedEncoder):
            await self._provider.forget()

    async def aclose(self) -> None:
        await self._on_thread(self._close)
        await self._provider.aclose()

    def _look_up(self, made_with: VectorSet, keys: Sequence[str]) -> tuple[dict[str, list[bytes]], int]:
        """What is known, and the number that the cache has until something is forgotten; 0 where it cannot be used."""
        found: dict[str, list[bytes]] = {}
        state = 0

        def work(connection: sqlite3.Connection) -> None:
            nonlocal state
            state = _state(connection)
            for key in keys:
                rows = connection.execute(
                    "SELECT chunk, vector FROM encodings WHERE vector_set = ? AND content = ? ORDER BY chunk",
                    (made_with.key, key),
                ).fetchall()
                if is_whole(rows, made_with.dimension * 4):
                    found[key] = [bytes(vector) for _, vector in rows]

        self._attempt(work)
        return found, state

    def _keep(self, made_with: VectorSet, fresh: dict[str, list[bytes]], state: int) -> None:
        def work(connection: sqlite3.Connection) -> None:
            with connection:  # all chunks of a text, or none
                connection.execute("BEGIN IMMEDIATE")
                if _state(connection) != state:
                    return  # a text was forgotten meanwhile: it may be one of these
                for key, chunks in fresh.items():
                    rows = [(made_with.key, key, number, chunk) for number, chunk in enumerate(chunks)]
                    connection.executemany(_KEEP, rows)

        self._attempt(work)
        self._kept += len(fresh)
        if self._kept >= _TRIM_EVERY:
            self._kept = 0
            self._attempt(_trim)

    def _drop(self, made_with: VectorSet) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM encodings WHERE vector_set = ?", (made_with.key,))

        self._attempt(work)

    def _attempt(self, work: Callable[[sqlite3.Connection], None]) -> None:
        """Use the cache if it can be used. It only spares work: when it fails, nothing else does."""
        for _ in range(2):
            try:
                return work(self._open())
            except (sqlite3.OperationalError, OSError):
                return self._close()  # full, locked or not there
            except (sqlite3.Error, UnicodeDecodeError):  # what SQLite says of harm may itself be no text
                self._close()
                with suppress(OSError):
                    for end in ("", "-wal", "-shm"):  # derived: an unreadable cache is started anew
                        Path(f"{self._path}{end}").unlink(missing_ok=True)
        return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._identity != _identity(self._path):
            self._close()
        if self._connection is None:
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            self._connection = _connect(self._path)
            self._identity = _identity(self._path)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    async def _on_thread(self, call: Callable[..., Answer], *arguments: object) -> Answer:
        return await anyio.to_thread.run_sync(call, *arguments, limiter=self._thread)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        for pragma in ("busy_timeout = 10000", "journal_mode = WAL", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS encodings (vector_set TEXT NOT NULL, content TEXT NOT NULL, "
            "chunk INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (vector_set, content, chunk))"
        )
        if not _state(connection):
            connection.execute(_ANOTHER_STATE.format(_drawn()))
        _trim(connection)
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def _state(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def _drawn() -> int:
    return secrets.randbelow((1 << 31) - 1) + 1


def _trim(connection: sqlite3.Connection) -> None:
    """Drop the oldest rows where there is too much; what is freed is used again."""
    (size,) = connection.execute(
        "SELECT (c.page_count - f.freelist_count) * s.page_size "
        "FROM pragma_page_count c, pragma_freelist_count f, pragma_page_size s"
    ).fetchone()
    if size > MOST_BYTES:
        share = _TRIMMED * MOST_BYTES / size
        connection.execute(
            "DELETE FROM encodings WHERE rowid < (SELECT max(rowid) - (max(rowid) - min(rowid)) * ? FROM encodings)",
            (share,),
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is at the path now: another process may have thrown ours away."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


_STATEMENTS = ("PRAGMA busy_timeout = 5000", "PRAGMA secure_delete = ON")


async def forget(path: Path, texts: Sequence[str] | None = None) -> None:
    """Take the vectors of documents out of a cache file; all of it where that cannot be done, for it is derived.

    What was being encoded meanwhile is not kept either.

    Args:
        path: the cache; it may be missing.
        texts: as they were encoded; all where none are named.

    Raises:
        OSError: the file cannot be removed.
    """
    await anyio.to_thread.run_sync(_forget, path, texts)


def _forget(path: Path, texts: Sequence[str] | None) -> None:
    if not path.exists():
        return
    keys = None if texts is None else [content_of(text) for text in texts]
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            whole = _taken_out(connection, keys)
    except (sqlite3.Error, UnicodeDecodeError):  # what SQLite says of harm may itself be no text
        whole = False
    if not whole:
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)


def _taken_out(connection: sqlite3.Connection, keys: Sequence[str] | None) -> bool:
    """Whether the rows are gone from the file and from the log of its writes, which others may keep from being cut."""
    for statement in _STATEMENTS:
        connection.execute(statement)
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_ANOTHER_STATE.format(_drawn()))
        if keys is None:
            connection.execute("DELETE FROM encodings")
        else:
            named = json.dumps(keys)
            connection.execute("DELETE FROM encodings WHERE content IN (SELECT value FROM json_each(?))", (named,))
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(busy == 0)
