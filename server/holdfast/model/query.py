"""What is asked of the index, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Filter:
    """Which notes may be found. Empty tuples do not restrict; times are instants, `before` inclusive.

    `include_superseded` lets notes through that a newer one replaced, whatever else retired them: they lead to it.
    """

    now: str
    spaces: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    include_outdated: bool = False
    include_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """Some of the notes that a filter lets through, by id and in order of time; `total` is how many there are."""

    ids: tuple[str, ...]
    total: int


class Candidate(NamedTuple):  # many are made for each recall, and a tuple is made five times as fast
    """A note that some leg found, with what ranking needs to know of it.

    `coverage` is the lexical leg in 0..1; `z` the cosine in deviations above the store's background, None where the
    note has no vector or the query none; `session_z` the mean of the three best of its session, itself included;
    `matched` the query's words that were found in it; `held` the rare ones, and the identifiers, that stand in its
    own text.
    """

    rowid: int
    id: str
    space: str
    session: str | None
    subject: str | None
    tier: str
    confidence: float
    outdated: bool
    superseded_by: str | None
    created: str
    happened: str
    coverage: float
    z: float | None
    session_z: float | None
    matched: tuple[str, ...] = ()
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What the legs found, unordered.

    `unknown` are the query's terms that no note of the whole store has. `rare` tells for each rare word or identifier
    of the query that some note holds how many notes do, of `notes` in all.
    """

    candidates: tuple[Candidate, ...]
    unknown: frozenset[str] = frozenset()
    rare: Mapping[str, int] = field(default_factory=dict)
    notes: int = 0


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A query's embedding: `vector` is float32 bytes of unit length, made with the vector set `key`.

    `mean` and `deviation` are the encoder's own background, used while the store is too small to have one.
    """

    key: str
    vector: bytes
    mean: float
    deviation: float
