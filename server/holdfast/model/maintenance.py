"""Maintenance without any I/O: what makes two notes a candidate, and how much of them is shown.

Ormah's composite (its duplicate merger) with a calibrated likeness in the place of the cosine:

    composite = 0.6 likeness + 0.2 (1 - Levenshtein(titles) / longer title) + 0.2 Jaccard(words)
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import mul
from typing import Literal, TypeVar, get_args

from holdfast.model.memory import Note
from holdfast.model.tokens import beginning, most_tokens
from holdfast.model.words import query_terms

Kind = Literal["links", "conflicts", "merges", "consolidations"]
Verdict = Literal["supports", "contradicts", "evolved_from", "part_of", "depends_on", "related_to", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
VERDICTS: tuple[str, ...] = get_args(Verdict)
SYMMETRIC = frozenset({"related_to", "contradicts"})
BELIEF_TYPES = frozenset({"preference", "fact", "observation", "goal", "belief", "decision"})
MERGED, NOT_MERGED, TOGETHER, APART = "merge", "no_merge", "consolidate", "no_consolidation"
SCOPES = dict.fromkeys(VERDICTS, "edge") | {MERGED: "merge", NOT_MERGED: "merge", TOGETHER: "cluster", APART: "cluster"}
CONSOLIDATED = "consolidated"  # the tag of a note that others were consolidated into

LINK, CONFLICT, CLUSTER, MERGE_LIKENESS, MERGE = 0.45, 0.35, 0.55, 0.5, 0.60
SMALLEST_CLUSTER, LARGEST_CLUSTER = 3, 5
LEAST_WEIGHT = 0.5  # of an edge that somebody judged
SHOWN_CHARACTERS = 800  # of a note
BUDGET_TOKENS = 8000  # of all notes of a batch
NOTE_TOKENS = 80  # what a note costs beside its text
SHOWN_TOKENS = 250  # of a note
NEIGHBOURS: dict[Kind, int] = {"links": 8, "conflicts": 15, "merges": 6, "consolidations": 15}  # that are looked at
_LONGEST_TITLE = 80
_SHARES = (0.6, 0.2, 0.2)

Item = TypeVar("Item", bound="Candidate")


@dataclass(frozen=True, slots=True)
class Text:
    """A note as far as it is judged; `hash` names its text."""

    note: Note
    hash: str


@dataclass(frozen=True, slots=True)
class Near:
    """A note near another one: `likeness` in 0..1, and what is known of the two.

    `judged` are the verdicts on these very texts; `edges` are the types of edges between them, `automatic` those that
    no one judged.
    """

    text: Text
    likeness: float
    judged: frozenset[str]
    edges: frozenset[str]
    automatic: frozenset[str]

    @property
    def is_linked(self) -> bool:
        """Whether somebody has said how the two belong together."""
        return bool(self.edges - self.automatic)

    def is_judged(self, kind: Kind) -> bool:
        """Whether a verdict stands that answers what this kind asks."""
        scopes = {SCOPES[verdict] for verdict in self.judged}
        if kind == "consolidations":
            return "none" in self.judged or "cluster" in scopes
        return "edge" in scopes or (kind == "merges" and "merge" in scopes)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something to be judged: a pair, or a cluster with its seed first. `similarity` is in 0..1."""

    kind: Kind
    texts: tuple[Text, ...]
    similarity: float

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(text.note.id for text in self.texts)


def candidates(kind: Kind, seed: Text, near: Sequence[Near]) -> list[Candidate]:
    """What a note and those near it give to judge, the likest first."""
    if kind == "consolidations":
        return _clusters(seed, near)
    nearest = sorted(near, key=lambda item: (-item.likeness, item.text.note.id))[: NEIGHBOURS[kind]]
    open_pairs = (item for item in nearest if not item.is_judged(kind) and not _is_both(seed, item, "archival"))
    found = [(similarity, item) for item in open_pairs if (similarity := _similarity(kind, seed, item))]
    found.sort(key=lambda pair: (-pair[0], pair[1].text.note.id))
    return [Candidate(kind, _in_order(seed, item.text), similarity) for similarity, item in found]


@lru_cache(16)  # one note is compared with many
def _terms(title: str, content: str) -> frozenset[str]:
    return frozenset(query_terms(f"{title} {content}"))


def composite(likeness: float, one: Note, other: Note) -> float:
    """How likely two notes say the same, in 0..1."""
    meaning, titles, words = _SHARES
    said, also = (_terms(note.title, note.content) for note in (one, other))
    shared = len(said & also) / len(said | also) if said | also else 0.0
    head = meaning * likeness + words * shared
    least = (MERGE - head) / titles
    return head if least > 1.0 else head + titles * _title_likeness(one.title, other.title, least)


def shown_text(content: str) -> str:
    """As much of a note's text as is shown, cut at a word."""
    head = beginning(content[:SHOWN_CHARACTERS], SHOWN_TOKENS)
    if head == content:
        return content
    cut = head.rfind(" ")
    return f"{head[:cut] if cut > len(head) // 2 else head.removesuffix('…')} …"


def within_budget(lists: Sequence[Sequence[Item]], budget: int = BUDGET_TOKENS) -> list[int]:
    """How many of each list a token budget holds, taken in turns; a note is paid for once. At least one in all."""
    counts = [0] * len(lists)
    paid: set[str] = set()
    spent = 0
    growing = [place for place, items in enumerate(lists) if items]
    while growing:
        for place in tuple(growing):
            item = lists[place][counts[place]]
            cost = sum(NOTE_TOKENS if text.note.id in paid else _cost(text) for text in item.texts)
            if spent + cost > budget and any(counts):
                growing.remove(place)
                continue
            spent += cost
            paid |= item.ids
            counts[place] += 1
            if counts[place] == len(lists[place]):
                growing.remove(place)
    return counts


def majority_space(notes: Sequence[Note]) -> str:
    """The space that most of the notes have; of equal ones the first."""
    spaces = [note.space for note in notes]
    return max(dict.fromkeys(spaces), key=spaces.count)


def cosine(one: bytes, other: bytes) -> float:
    """Of two unit vectors as float32 bytes."""
    product: float = sum(map(mul, array("f", one), array("f", other)))
    return product


def weight_of(likeness: float) -> float:
    """The weight of an edge that was judged, in 0.5..1."""
    return max(LEAST_WEIGHT, round(min(likeness, 1.0), 2))


def _cost(text: Text) -> int:
    return NOTE_TOKENS + most_tokens(shown_text(text.note.content))


def _similarity(kind: Kind, seed: Text, item: Near) -> float:
    """How alike the pair is as a candidate of this kind; 0 where it is none."""
    one, other = seed.note, item.text.note
    if kind == "merges":
        if one.type != other.type or one.space != other.space or item.likeness < MERGE_LIKENESS:
            return 0.0
        alike = 0.0 if "derived_from" in item.edges else composite(item.likeness, one, other)
        return alike if alike >= MERGE else 0.0
    if kind == "conflicts":
        fits = {one.type, other.type} <= BELIEF_TYPES and not item.edges & {"contradicts", "evolved_from"}
        fits = fits and "derived_from" not in item.edges
        return item.likeness if fits and item.likeness >= CONFLICT else 0.0
    return item.likeness if item.likeness >= LINK and not item.is_linked else 0.0


def _clusters(seed: Text, near: Sequence[Near]) -> list[Candidate]:
    """The seed with the notes of its space that are nearest to it, if they are enough."""
    if not _may_cluster(seed.note):
        return []
    like = [
        item
        for item in near
        if item.likeness >= CLUSTER
        and not item.is_judged("consolidations")
        and _may_cluster(item.text.note)
        and item.text.note.space == seed.note.space
        and "derived_from" not in item.edges
    ]
    like.sort(key=lambda item: (-item.likeness, item.text.note.id))
    members = like[: LARGEST_CLUSTER - 1]
    if len(members) < SMALLEST_CLUSTER - 1:
        return []
    return [Candidate("consolidations", (seed, *(item.text for item in members)), members[-1].likeness)]


def _may_cluster(note: Note) -> bool:
    return note.tier == "working" and CONSOLIDATED not in note.tags


def _is_both(seed: Text, item: Near, tier: str) -> bool:
    return seed.note.tier == item.text.note.tier == tier


def _in_order(one: Text, other: Text) -> tuple[Text, Text]:
    """The pair, what happened later first."""
    later, earlier = sorted((one, other), key=lambda text: (text.note.happened, text.note.id), reverse=True)
    return later, earlier


def _title_likeness(one: str, other: str, least: float) -> float:
    """1 less the share of letters that differ (Levenshtein), without regard to case; 0 where a title is missing.

    Below `least` it may be 0 too: letters are not compared to the end where the answer is clear.
    """
    a, b = one.casefold()[:_LONGEST_TITLE], other.casefold()[:_LONGEST_TITLE]
    if not a or not b:
        return 0.0
    most = (1.0 - least) * max(len(a), len(b))
    row = list(range(len(b) + 1))
    for i, letter in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, its in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (letter != its))
        if min(row) > most:
            return 0.0
    return 1.0 - row[-1] / max(len(a), len(b))


def without(items: Sequence[Candidate], taken: Collection[str]) -> list[Candidate]:
    """Clusters less the notes that are in another one already, where enough are left."""
    kept = []
    for item in items:
        left = tuple(text for text in item.texts if text.note.id not in taken)
        if len(left) >= SMALLEST_CLUSTER:
            kept.append(replace(item, texts=left))
    return kept
