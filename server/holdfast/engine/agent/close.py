"""The notes that are close to another one by meaning or by words, and what reading them together with it tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.engine.ports import Ports, ReadsPairs
from holdfast.errors import EncoderError
from holdfast.index.view import IndexView
from holdfast.model import versions
from holdfast.model.claims import claim
from holdfast.model.maintenance import cosine
from holdfast.model.note import GLOBAL_SPACE, SELF_ID, Note, in_time, may_be_versions
from holdfast.model.opposition import ALIGNED, LONG, ToRead, compared, one_fact, restated, to_read
from holdfast.model.ranking import Filter, QueryVector, RankCandidate, relevance
from holdfast.model.statement import statement
from holdfast.model.versions import ReadTogether

CLOSE_POOL, CLOSE_TERMS, MOST_CLOSE = 24, 8, 12
LINK_Z, LINK_COVERAGE = 3.4, 0.5
_RATHER_AGAIN = -1.0  # log odds for saying it again, not anew: in doubt nobody is asked to retire a note
MOST_READ = 2  # of the nearest, that are read together with the new note; 20 to 50 ms each


@dataclass(frozen=True, slots=True)
class Close:
    """A note that the new one is close to: how relevant, and how likely another version of the same fact.

    `likeness` is the cosine of their vectors, None without vectors. `said` is what was read of the two together, None
    where they were not. `is_same`: it says the same in other words.
    """

    candidate: RankCandidate
    note: Note
    relevance: float
    likeness: float | None
    likely: float
    said: versions.ReadTogether | None = None
    is_same: bool = False

    @property
    def is_read(self) -> bool:
        return self.said is not None


def close_notes(view: IndexView, note: Note, vector: QueryVector | None, now: str) -> list[Close]:
    """Current notes of the same space, or of none, that are near a note's text, the nearest first."""
    spaces = tuple(dict.fromkeys((note.space, GLOBAL_SPACE)))
    words = "" if vector else note.content  # meaning says it better, and words cost more
    found = view.search(words, vector, Filter(now=now, spaces=spaces), CLOSE_POOL, CLOSE_TERMS)
    others = (item for item in found.candidates if item.id not in (SELF_ID, note.id))
    scored = [(relevance(item.coverage, item.z), item) for item in others]
    best = sorted(scored, key=lambda pair: (-pair[0], pair[1].id))[:MOST_CLOSE]
    notes = {end: found.note for end, found in view.notes(item.id for _, item in best).items()}
    vectors = view.first_vectors(vector.key, list(notes)) if vector else {}
    close = []
    for score, item in best:
        if (other := notes.get(item.id)) is not None:
            its = vectors.get(item.id)
            likeness = cosine(its, vector.vector) if vector and its else None
            close.append(Close(item, other, score, likeness, one_fact(other, note, likeness)))
    return close


async def read_together(
    ports: Ports, note: Note, close: Sequence[Close], *, either_way: bool = False
) -> tuple[tuple[Close, ...], str]:
    """The same, the nearest judged by reading them together with the note; and a notice where that failed.

    With `either_way` likely versions are read once more the other way round: that tells what says the same again.
    """
    able = [item for item in close if item.likeness is not None and may_be_versions(item.note, note)]
    near = [item for item in able if (item.candidate.z or 0.0) >= LINK_Z or item.likely >= versions.LED][:MOST_READ]
    near += _sharing_a_part(note, [item for item in able if item not in near])[: MOST_READ + 1 - len(near)]
    told = [to_read(*in_time(item.note, note), item.likeness or 0.0) for item in near]
    clauses = [(place, found) for place, pair in enumerate(told) if (found := restated(pair.older, pair.newer))]
    told += [told[place]._replace(newer=found.text) for place, found in clauses]
    if ports.pairs is None or not told:
        return tuple(close), ""
    try:
        said, likely = await read_facts(ports.pairs, told)
        for at, (place, found) in enumerate(clauses, len(near)):  # which of the two is likelier stands for both
            if likely[at] > likely[place]:
                told[place], said[place], likely[place] = told[at], said[at], likely[at]
            if found.names_former:
                likely[place] = versions.succeeded(likely[place])
        pairs = [(pair.older, pair.newer) for pair in told[: len(near)]]
        sure = [place for place, worth in enumerate(likely[: len(near)]) if either_way and worth >= versions.FOLDED]
        back = await ports.pairs.read([pairs[place][::-1] for place in sure]) if sure else []
    except EncoderError as error:
        return tuple(close), f"Close notes were compared by their words alone: {error}"
    same = {place for place, each in zip(sure, back, strict=True) if _says_it_again(pairs[place][1], said[place], each)}
    read = [
        replace(item, likely=likely[place], said=said[place], is_same=place in same) for place, item in enumerate(near)
    ]
    return (*read, *(item for item in close if item not in near)), ""


async def read_facts(reader: ReadsPairs, pairs: Sequence[ToRead]) -> tuple[list[ReadTogether], list[float]]:
    """What reading two notes together tells, and how likely they are two versions of one fact, for each pair.

    Whatever else they tell may blur that: what they claim first is read apart, and counts as much where it tells more.
    It counts alone where the rest is the same in both.

    Raises:
        EncoderError: they cannot be read.
    """
    claims = [(claim(pair.older).text, claim(pair.newer).text) for pair in pairs]
    short = {place: both for place, both in enumerate(claims) if all(both) and both != pairs[place][:2]}
    said = await reader.read([*(pair[:2] for pair in pairs), *short.values()])
    whole, apart = said[: len(pairs)], dict(zip(short, said[len(pairs) :], strict=True))
    alone = {
        place
        for place, both in short.items()
        if _rest(pairs[place].older, both[0]) == _rest(pairs[place].newer, both[1])
    }
    clear = [_clearer(each, apart.get(place, each), alone=place in alone) for place, each in enumerate(whole)]
    return whole, [versions.likelihood_together(*pair, each) for pair, each in zip(pairs, clear, strict=True)]


def _says_it_again(newer: str, read: ReadTogether, back: ReadTogether) -> bool:
    """Whether a text says the same as an older one in other words, by what was read of the two in either order."""
    again = (read.again - read.anew + back.again - back.anew) / 2
    return again > _RATHER_AGAIN and not statement(newer).changed


def _rest(text: str, said: str) -> str:
    """What stands behind the last word of a claim, however its points are written."""
    return text[text.rfind(said.rsplit(maxsplit=1)[-1].rstrip(".")) :].partition(" ")[2]


def _clearer(whole: ReadTogether, claims: ReadTogether, *, alone: bool) -> ReadTogether:
    if claims.anew <= whole.anew:
        return whole
    if alone:
        return claims
    return ReadTogether((whole.anew + claims.anew) / 2, (whole.again + claims.again) / 2)


def _sharing_a_part(note: Note, close: Sequence[Close]) -> list[Close]:
    """Those that a sentence of the note may speak of, where either is long, the likest first."""
    long = [item for item in close if max(len(note.content), len(item.note.content)) > LONG]
    shared = [(compared(item.note, note).shared, -place) for place, item in enumerate(long)]
    return [long[-place] for share, place in sorted(shared, reverse=True) if share >= ALIGNED]


def is_close(candidate: RankCandidate) -> bool:
    """Whether a note that was found is near enough to be tied to the one it was found by."""
    return candidate.coverage >= LINK_COVERAGE if candidate.z is None else candidate.z >= LINK_Z
