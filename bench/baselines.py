"""What the data gives without Holdfast: BM25 in SQLite, cosines of the built-in encoder, and counted words like grep's.

python bench/baselines.py [--data devmem|none|FILE] [--locomo FILE] [--limit N]
"""

from __future__ import annotations

import argparse
import asyncio
import math
import re
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Protocol

import numpy as np

from datasets import APART, BenchNote, BenchQuery, Dataset, add_arguments, chosen_datasets
from holdfast.encode.builtin import BuiltinEncoder
from holdfast.errors import EncoderError
from holdfast.model.identifiers import without_names
from scoring import Answer, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

ENGLISH = """
    a about above after again against all also am an and any are as at be because been before being
    below between both but by can cannot could did do does doing down during each ever few for from
    further had has have having he her here hers herself him himself his how i if in into is it its
    itself just many me might more most much must my myself no nor not now of off on once only or
    other our ours ourselves out over own same shall she should so some such than that the their
    theirs them themselves then there these they this those through to too under until up us very
    was we were what when where which while who whom whose why will with would you your yours
    yourself yourselves s t d ll m re ve
"""
STOP_WORDS = frozenset(ENGLISH.split())
RANKED_TOGETHER, RANK_CONSTANT = 100, 60


class Ranker(Protocol):
    """Ranks the notes of a data set for a query: their ids, best first."""

    def rank(self, query: BenchQuery, limit: int) -> list[str]: ...


def query_words(text: str) -> list[str]:
    """Distinct words in lower case without stop words; all of them when there would be none."""
    words = list(dict.fromkeys(re.findall(r"\w+", text.lower())))
    return [word for word in words if word not in STOP_WORDS] or words


class Bm25:
    """SQLite's FTS5 with porter stems: title 2, content, tags and subject 1, any of the query's words."""

    def __init__(self, notes: Sequence[BenchNote]) -> None:
        self.ids = [note.id for note in notes]
        self.database = sqlite3.connect(":memory:")
        self.database.execute(
            "CREATE VIRTUAL TABLE notes USING fts5"
            "(title, content, tags, subject, space UNINDEXED, tokenize = 'porter unicode61')"
        )
        self.database.executemany(
            "INSERT INTO notes(rowid, title, content, tags, subject, space) VALUES (?, ?, ?, ?, ?, ?)",
            [(row, *text_columns(note), note.arguments["space"]) for row, note in enumerate(notes)],
        )

    def rank(self, query: BenchQuery, limit: int) -> list[str]:
        match = " OR ".join(f'"{word}"' for word in query_words(query.text))
        if not match:
            return []
        rows = self.database.execute(
            "SELECT rowid, space FROM notes WHERE notes MATCH ? ORDER BY bm25(notes, 2, 1, 1, 1), rowid",
            (match,),
        )
        allowed = query.spaces
        return [self.ids[row] for row, space in rows if not allowed or space in allowed][:limit]

    def coverage(self, query: BenchQuery) -> npt.NDArray[np.float64]:
        """By place of a note, the share that it scores of what the query's words could."""
        words = query_words(query.text)
        scored = np.zeros(len(self.ids))
        if words:
            found = self.database.execute(
                "SELECT rowid, -bm25(notes, 2, 1, 1, 1) FROM notes WHERE notes MATCH ?",
                (" OR ".join(f'"{word}"' for word in words),),
            )
            for row, score in found:
                scored[row] = score
        return scored / (sum(map(self._idf, words)) or 1.0)

    def _idf(self, word: str) -> float:
        (found,) = self.database.execute("SELECT count(*) FROM notes WHERE notes MATCH ?", (f'"{word}"',)).fetchone()
        return max(1e-6, math.log((len(self.ids) - found + 0.5) / (found + 0.5)))

    def close(self) -> None:
        self.database.close()


class Grep:
    """Counts the distinct query words that a note's file holds, as substrings whatever the case."""

    def __init__(self, notes: Sequence[BenchNote]) -> None:
        self.notes = [(note.id, note.arguments["space"], file_text(note)) for note in notes]

    def rank(self, query: BenchQuery, limit: int) -> list[str]:
        words = query_words(query.text)
        allowed = query.spaces
        counts = [
            (sum(word in text for word in words), note)
            for note, space, text in self.notes
            if not allowed or space in allowed
        ]
        found = sorted((entry for entry in counts if entry[0]), key=lambda entry: -entry[0])
        return [note for _, note in found[:limit]]


class Vectors:
    """Cosine alone: the whole text of a note, in chunks of which the best counts where it is long.

    Args:
        notes: what is ranked.
        chunks: for each note the unit vectors of its chunks.
        queries: the unit vector of each text that is asked. What the encoder cannot read has none and finds nothing.
        asked: the text that is encoded for a query.
    """

    def __init__(
        self,
        notes: Sequence[BenchNote],
        chunks: Sequence[Sequence[bytes]],
        queries: Mapping[str, bytes],
        asked: Callable[[BenchQuery], str] = lambda query: query.text,
    ) -> None:
        self.ids = [note.id for note in notes]
        self.spaces = [note.arguments["space"] for note in notes]
        self.queries = queries
        self.asked = asked
        self.matrix = as_matrix([vector for note in chunks for vector in note])
        self.starts = np.cumsum([0, *(len(note) for note in chunks)])[:-1]

    def rank(self, query: BenchQuery, limit: int) -> list[str]:
        return self.best(self.cosines(query), query, limit) if self.asked(query) in self.queries else []

    def cosines(self, query: BenchQuery) -> npt.NDArray[np.float64]:
        text = self.asked(query)
        if text not in self.queries:
            return np.zeros(len(self.ids))
        asked = as_matrix([self.queries[text]])[0]
        return np.maximum.reduceat(self.matrix @ asked, self.starts).astype(np.float64)

    def best(self, scores: npt.NDArray[np.float64], query: BenchQuery, limit: int) -> list[str]:
        allowed = query.spaces
        places = [int(place) for place in np.argsort(-scores, kind="stable")]
        return [self.ids[place] for place in places if not allowed or self.spaces[place] in allowed][:limit]


class Fusion:
    """The simple fusion of both: the share of the words' weight that a note scores, and twice the cosine."""

    def __init__(self, bm25: Bm25, vectors: Vectors) -> None:
        self.bm25 = bm25
        self.vectors = vectors

    def rank(self, query: BenchQuery, limit: int) -> list[str]:
        return self.vectors.best(self.bm25.coverage(query) + 2 * self.vectors.cosines(query), query, limit)


class Ranks:
    """Reciprocal rank fusion: 1 / (60 + rank) from each leg, of the first hundred (Cormack and others 2009)."""

    def __init__(self, legs: Sequence[Ranker]) -> None:
        self.legs = legs

    def rank(self, query: BenchQuery, limit: int) -> list[str]:
        scores: dict[str, float] = {}
        for leg in self.legs:
            for place, note in enumerate(leg.rank(query, RANKED_TOGETHER), start=1):
                scores[note] = scores.get(note, 0.0) + 1 / (RANK_CONSTANT + place)
        return sorted(scores, key=lambda note: -scores[note])[:limit]


def cleaned(dataset: Dataset) -> dict[str, str]:
    """By its id each query as Holdfast embeds it: without names of subjects, which match all that is about them."""
    subjects = sorted({note.arguments["subject"] for note in dataset.notes if note.arguments.get("subject")})
    return {query.id: without_names(query.text, subjects) for query in dataset.queries}


def as_matrix(vectors: Sequence[bytes]) -> npt.NDArray[np.float32]:
    return np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)


async def encoded(dataset: Dataset, asked: Iterable[str]) -> tuple[list[Sequence[bytes]], dict[str, bytes]]:
    """Vectors of all notes and of the texts that are asked, of the built-in encoder, in this process."""
    encoder = BuiltinEncoder()
    chunks = await encoder.encode_documents([whole_text(note) for note in dataset.notes])
    queries: dict[str, bytes] = {}
    for text in dict.fromkeys(asked):
        with suppress(EncoderError):
            queries[text] = await encoder.encode_query(text)
    await encoder.aclose()
    nowhere = [bytes(4 * encoder.vector_set.dimension)]
    return [vectors or nowhere for vectors in chunks], queries


def whole_text(note: BenchNote) -> str:
    """Title and content."""
    title = note.arguments.get("title")
    content: str = note.arguments["content"]
    return f"{title}\n{content}" if title else content


def text_columns(note: BenchNote) -> tuple[str, str, str, str]:
    """Title, content, tags and subject."""
    known = note.arguments
    return known.get("title", ""), known["content"], " ".join(known.get("tags", ())), known.get("subject", "")


def file_text(note: BenchNote) -> str:
    return "\n".join(text_columns(note)).lower()


def ranked_answers(ranker: Ranker, queries: Sequence[BenchQuery], limit: int = 10) -> list[Answer]:
    """A baseline knows no doubt: whatever it returns counts as strong."""
    answers = []
    for query in queries:
        ranked = tuple(ranker.rank(query, limit))
        answers.append(Answer(query.kind, ranked, query.evidence, query.stale, strong=len(ranked), query=query.id))
    return answers


def baseline_answers(dataset: Dataset) -> dict[str, list[Answer]]:
    """Answers of each baseline; encoding takes a minute for some thousands of notes.

    `vectors` embeds the question as it is, `cleaned` as Holdfast does; `both` and `by ranks` are made of the latter.
    """
    plain = cleaned(dataset)
    with closing(Bm25(dataset.notes)) as bm25:
        asked = [*(query.text for query in dataset.queries), *plain.values()]
        chunks, queries = asyncio.run(encoded(dataset, asked))
        vectors = Vectors(dataset.notes, chunks, queries, lambda query: plain[query.id])
        rankers: dict[str, Ranker] = {
            "BM25": bm25,
            "vectors": Vectors(dataset.notes, chunks, queries),
            "cleaned": vectors,
            "both": Fusion(bm25, vectors),
            "by ranks": Ranks([bm25, vectors]),
            "grep": Grep(dataset.notes),
        }
        return {name: ranked_answers(ranker, dataset.queries) for name, ranker in rankers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    for dataset in chosen_datasets(parser.parse_args()):
        print(f"\n{dataset.name}: {len(dataset.notes)} notes\n{table(baseline_answers(dataset), APART)}")


if __name__ == "__main__":
    main()
