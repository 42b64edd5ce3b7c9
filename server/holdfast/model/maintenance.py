"""Maintenance without any I/O: what makes two notes a candidate, of which one kind, and how much of them is shown.

Two notes are about the same matter where likeness (of their vectors) and the share of words are enough together
(`SAME`). Where they differ in what they say of it (`holdfast.model.opposition`) the pair is a conflict, where they do
not a merge. Others are a link if they are near enough for one. Measured by bench/tending.py.

Where a model has read the two together (`holdfast.model.versions.ReadTogether`) that decides: with how alike they are
and how they differ it tells a new value from the same in other words, and both from two things that only look alike.
The weights are those of a multinomial logistic regression (L2 = 3; `python bench/tending.py --fit` prints them anew).

What is in a language that neither the encoder nor that model has learned is compared by the words that name something
(`shared_words`): their cosines and odds say nothing there, and most notes would be about the same matter.

Ormah's composite (its duplicate merger) with a calibrated likeness in the place of the cosine makes a merge as well:

    composite = 0.6 likeness + 0.2 (1 - Levenshtein(titles) / longer title) + 0.2 Jaccard(words)
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import mul
from typing import Literal, get_args

from holdfast.model.claims import Claim, Term, claim
from holdfast.model.identifiers import UNITS, content_of, shows_another_language
from holdfast.model.note import GLOBAL_SPACE, Note, in_time
from holdfast.model.numbers import DAYS, MEASURES, NUMBER_WORDS
from holdfast.model.opposition import (
    ALIGNED,
    LONG,
    Comparison,
    compared,
    differ_in_one_place,
    sentence_of,
    to_read,
)
from holdfast.model.passages import sentence_in
from holdfast.model.statement import stem
from holdfast.model.tokens import most_tokens
from holdfast.model.values import are_turned, in_one_wording, spelled_as
from holdfast.model.versions import (
    FOLDED,
    ReadTogether,
    are_entries,
    are_twins,
    evidence,
    likelihood,
    likelihood_together,
)
from holdfast.model.words import alike_in_letters, languages_of, query_terms, regex

Kind = Literal["links", "conflicts", "merges", "consolidations"]
Verdict = Literal["supports", "contradicts", "evolved_from", "part_of", "depends_on", "related_to", "none"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FIRST_TO_LAST: tuple[Kind, ...] = ("conflicts", "merges", "links", "consolidations")  # as they are offered
VERDICTS: tuple[str, ...] = get_args(Verdict)
SYMMETRIC = frozenset({"related_to", "contradicts"})
STATEMENTS = frozenset({"preference", "fact", "observation", "goal", "belief", "decision", "experience", "concept"})
MERGED, NOT_MERGED, TOGETHER, APART = "merge", "no_merge", "consolidate", "no_consolidation"
SCOPES = dict.fromkeys(VERDICTS, "edge") | {MERGED: "merge", NOT_MERGED: "merge", TOGETHER: "cluster", APART: "cluster"}
CONSOLIDATED = "consolidated"  # the tag of a note that others were consolidated into

LINK, LEAST, CLUSTER, MERGE = 0.75, 0.35, 0.75, 0.60
SAME, SAYS_SAME, CLEAR = 0.85, 1.0, 1.3  # likeness and shared words together: one matter, one statement, surely so
NEAR_SAME = 0.7  # likeness alone that says so where both notes differ in what they say
PERHAPS = 0.65  # likeness and shared words together from which on two are read together, whatever their words show
SMALLEST_CLUSTER, LARGEST_CLUSTER = 3, 5
LEAST_WEIGHT = 0.5  # of an edge that somebody judged
SHOWN: Mapping[Kind, int] = {"conflicts": 130, "merges": 240, "links": 110, "consolidations": 110}  # characters
BUDGET_TOKENS = 3600  # of all notes of a batch, counted as too many rather than too few
NOTE_TOKENS = 12  # what a note costs beside its text
NEIGHBOURS = 15  # that are looked at
LINKS_EACH = 3  # of the nearest that a note is offered to be linked with
LEAST_TOLD, SURELY_TOLD = 0.12, 0.5  # how likely a pair that was read is no two things: to be offered; for no link
LEAST_WHERE_TOLD, SURELY_READ = 0.04, 3.0  # the same where words tell it, or what reading alone says (log odds)
LEAST_IN_PART = 0.2  # the same for another value of one thing of many that a long note tells
BY_WORDS = 0.5  # how sure a pair is of which words alone tell
NAMED = 0.3  # how likely two tell one fact for `remember` to name the one when it is told the other
IN_WORDS, SAME_WORDS = 0.36, 0.6  # of the shorter's words by weight: notes belong together, and say the same
LEAST_WEIGHED, FEWEST_NOTES = 2.5, 30  # rare words that a note is taken to have; notes that a memory is
MOST_HAVING = 100  # notes with a word by which two are found
MOST_SAID = 12.0  # of the logarithms of odds that reading gives
# Of what two notes show: for another value, and for the same once more, as logarithms of odds against two things.
TOLD: Mapping[str, tuple[float, float]] = {
    "always": (-7.82, -13.31),  # the first is 0.6 more than fitted: in doubt somebody is asked which of them holds
    "anew": (0.53, -0.08),
    "again": (0.24, 0.64),
    "likeness": (10.18, 17.39),
    "value": (-0.44, -2.12),
    "denial": (1.10, 0.66),
    "name": (1.85, -0.42),
}
WRITTEN = 0.3  # how sure a pair is at least of which words tell the kind
CLEARLY = 10.0  # times as likely the other kind, where reading says otherwise than what is written
RATHER_AGAIN = 1.7  # times as likely another value as the same once more, to be one where no word tells so
NEARLY_ALL = 0.75  # of its matter is shared
FILLING = frozenset("must should may get ever someth need go com".split())  # noqa: SIM905 - stems that tell nothing
_NOT = regex(r",\s+(?:and |but )?(?:not|no longer)\b([^,.;]*)")
_ENDS = regex(r"(?<=[.!?;])\s+|\n+")
_EVERYDAY = frozenset(  # of German, French and Spanish: what questions have no use for, as "die", or ask for
    """die kein keinen war darf ans ins unter neben unsere unseren ihre ihren sehr mehr jeder jede jeden jedes kommt
    macht liegt bleibt bringt mussen dabei daran zuruck pas plus sera sous sans chez ton son leurs faut peut doit tous
    toute toutes chaque tres deja toujours jamais maintenant desormais jusqu avant prend tient unos unas mas son era
    estan les sus mis sin entre desde siempre nunca todo toda tienen solo ahora despues""".split()  # noqa: SIM905
)
_MEASURES = UNITS.union(DAYS, NUMBER_WORDS, " ".join(MEASURES).split())  # what notes about anything share
_SHARES = (0.6, 0.2, 0.2)


@dataclass(frozen=True, slots=True)
class Text:
    """A note as far as it is judged; `hash` names its text."""

    note: Note
    hash: str


@dataclass(frozen=True, slots=True)
class Near:
    """A note near another one: `likeness` in 0..1, and what is known of the two.

    `judged` are the verdicts on these very texts, `has_changed` says that there are some on earlier ones only; `edges`
    are the types of edges between them, `automatic` those that no one judged. `likely` is how likely they tell one
    fact, where that was found out when the later one was stored. `by_words`: likeness is what `shared_words` tells.
    """

    text: Text
    likeness: float
    judged: frozenset[str]
    edges: frozenset[str]
    automatic: frozenset[str]
    has_changed: bool = False
    likely: float | None = None
    by_words: bool = False

    @property
    def is_linked(self) -> bool:
        """Whether somebody has said how the two belong together."""
        return bool(self.edges - self.automatic)

    @property
    def is_judged(self) -> bool:
        """Whether a verdict on the pair stands, whatever was asked."""
        return any(SCOPES[verdict] in ("edge", "merge") for verdict in self.judged)

    @property
    def is_apart(self) -> bool:
        """Whether a verdict stands that the two are not to be in one cluster."""
        return "none" in self.judged or any(SCOPES[verdict] == "cluster" for verdict in self.judged)


@dataclass(frozen=True, slots=True)
class Seen:
    """What two notes show beside each other, the kinds that nothing forbids them to be of, and those asked for."""

    likeness: float
    comparison: Comparison
    open: frozenset[Kind]
    asked: frozenset[Kind]
    is_apart: bool = False  # a group with both was declined
    likely: float = 0.0  # how likely they tell one fact, where that was found out when the later one was stored


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something to be judged: a pair, or a cluster with its seed first. `similarity` is in 0..1.

    `passages` are what of the texts is shown. `urgent` says that it was judged before and a text has changed since;
    `sure` is how surely the two are about the same matter, in 0..1. `seen` is what a pair shows. Of a `doubtful` one
    words do not show enough: it is one only if reading the two tells so. `contradicts`: both words and reading say so.
    """

    kind: Kind
    texts: tuple[Text, ...]
    similarity: float
    passages: tuple[str, ...] = ()
    urgent: bool = False
    sure: float = 0.0
    seen: Seen | None = None
    doubtful: bool = False
    contradicts: bool = False

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(text.note.id for text in self.texts)

    @property
    def key(self) -> frozenset[tuple[str, str]]:
        """Its notes with the hashes of their texts."""
        return frozenset((text.note.id, text.hash) for text in self.texts)

    @property
    def updated(self) -> str:
        """When the later of its notes was changed."""
        return max(text.note.updated for text in self.texts)


def all_candidates(seed: Text, near: Sequence[Near], kinds: Collection[Kind] = KINDS) -> list[Candidate]:
    """What a note and those near it give to judge: each pair under the one of these kinds that fits, and a cluster."""
    nearest = sorted(near, key=lambda item: (-item.likeness, item.text.note.id))[:NEIGHBOURS]
    pairs = [
        found
        for rank, item in enumerate(nearest)
        if item.likeness >= LEAST and not item.is_judged and not _are_archival(seed, item)
        if (found := _pair(seed, item, rank, kinds)) is not None
    ]
    return [*pairs, *_clusters(seed, near)] if "consolidations" in kinds else pairs


def _pair(seed: Text, item: Near, rank: int, kinds: Collection[Kind]) -> Candidate | None:
    """The pair as a candidate of the kind that fits; None where it is none of any."""
    later, earlier = _in_order(seed, item.text)
    comparison = compared(later.note, earlier.note)
    if item.by_words:
        return _pair_by_words(Seen(item.likeness, comparison, frozenset(), frozenset(kinds)), later, earlier, item)
    is_near = item.likeness >= LINK and rank < LINKS_EACH
    may = _open(later.note, earlier.note, item, differ=comparison.difference != "none")
    may = may if is_near else may - {"links"}
    seen = Seen(item.likeness, comparison, frozenset(may), frozenset(kinds), item.is_apart, item.likely or 0.0)
    kind = next((kind for kind in _fitting(later.note, earlier.note, seen) if kind in seen.open & seen.asked), None)
    evidence = comparison.shared + item.likeness
    is_far = evidence < PERHAPS and seen.likely < NAMED
    if not seen.open & seen.asked or (kind is None and (item.is_linked or is_far)):
        return None
    pair = Candidate("conflicts", (later, earlier), 0.0, urgent=item.has_changed, seen=seen)
    if kind is None or (kind == "merges" and item.is_apart and evidence < CLEAR):
        return replace(pair, doubtful=True)
    by_words = 1.0 if evidence >= CLEAR else BY_WORDS
    return replace(_of_kind(kind, pair, seen), sure=by_words if item.likely is None else item.likely)


def _pair_by_words(seen: Seen, later: Text, earlier: Text, item: Near) -> Candidate | None:
    """The pair by the words that the two share; nothing more can be read of it."""
    may = _open(later.note, earlier.note, item, differ=seen.comparison.difference != "none")
    is_one = item.likeness >= IN_WORDS and not _are_two(earlier.note.content, later.note.content)
    fitting = _fitting_by_words(later.note, earlier.note, seen) if is_one else ()
    kind = next((kind for kind in fitting if kind in may & seen.asked), None)
    if kind is None:
        return None
    pair = Candidate("conflicts", (later, earlier), 0.0, urgent=item.has_changed, sure=item.likeness)
    return _of_kind(kind, pair, seen)


def _fitting_by_words(later: Note, earlier: Note, seen: Seen) -> Iterator[Kind]:
    """As `_fitting`. Names are no difference: German nouns are spelled as such."""
    differ = seen.comparison.difference not in ("none", "name") or claim(later.content).changed
    is_same = seen.likeness >= SAME_WORDS
    if is_same and not differ:
        yield "merges"
    if differ or likelihood(earlier.content, later.content, None) >= FOLDED:
        yield "conflicts"
    if is_same:
        yield "merges"
    yield "links"


@lru_cache(4096)
def is_in_another_language(text: str) -> bool:
    """Whether a text is in a language that was not learned from English texts."""
    languages = languages_of(text)
    return 0 not in languages or (len(languages) > 1 and shows_another_language(text))


def shared_words(notes: Sequence[Note]) -> dict[str, dict[str, float]]:
    """How much of the shorter one each note in another language shares with each other note in its reach, in 0..1.

    Words weigh what they tell: log(notes / notes that have it). Of a long note each sentence counts by itself.
    """
    found: dict[str, dict[str, float]] = {note.id: {} for note in notes if is_in_another_language(note.content)}
    if not found:
        return found
    parts = [(note, words) for note in notes for words in _words_of_parts(note.content)]
    having: dict[str, list[int]] = {}
    for place, (_, words) in enumerate(parts):
        for word in words:
            having.setdefault(word, []).append(place)
    size = max(len(parts), FEWEST_NOTES)
    weights = {word: math.log((size + 1) / len(places)) for word, places in having.items()}
    least = LEAST_WEIGHED * math.log(size / 2)
    whole = [max(least, sum(weights[word] for word in words)) for _, words in parts]
    telling = {word: places for word, places in having.items() if len(places) <= MOST_HAVING}
    for place, (note, words) in enumerate(parts):
        if note.id not in found:
            continue
        for at, much in _shared(words & telling.keys(), telling, weights).items():
            other, share = parts[at][0], min(1.0, much / min(whole[place], whole[at]))
            if other is not note and share >= IN_WORDS and _in_reach(note, other):
                found[note.id][other.id] = max(found[note.id].get(other.id, 0.0), share)
    return found


def _shared(
    words: Collection[str], having: Mapping[str, Sequence[int]], weights: Mapping[str, float]
) -> dict[int, float]:
    """The weight of these words in each place that has any of them."""
    both: dict[int, float] = {}
    for word in words:
        for at in having[word]:
            both[at] = both.get(at, 0.0) + weights[word]
    return both


def _in_reach(one: Note, other: Note) -> bool:
    return one.space == other.space or GLOBAL_SPACE in (one.space, other.space)


@lru_cache(4096)
def _words_of_parts(content: str) -> tuple[frozenset[str], ...]:
    """The words of a text that name something, by their stems; of a long one those of each sentence."""
    parts = _ENDS.split(content) if len(content) > LONG else [content]
    return tuple(frozenset(stem(word) for word in content_of(part) if _names_something(word)) for part in parts)


def _names_something(word: str) -> bool:
    return not (word in _EVERYDAY or word in _MEASURES or word[:1].isdecimal())


def _of_kind(kind: Kind, pair: Candidate, seen: Seen) -> Candidate:
    later, earlier = (text.note for text in pair.texts)
    passages = tuple(
        sentence_in(note.content, of, SHOWN[kind])
        for note, of in zip((later, earlier), seen.comparison.passages, strict=True)
    )
    similarity = composite(seen.likeness, later, earlier) if kind == "merges" else seen.likeness
    return replace(pair, kind=kind, similarity=similarity, passages=passages)


def _open(one: Note, other: Note, item: Near, *, differ: bool) -> set[Kind]:
    """The kinds that nothing forbids a pair to be of."""
    if "derived_from" in item.edges:
        return set()
    two_truths = one.type == other.type == "event" or bool(item.edges & {"contradicts", "evolved_from"})
    forbidden: dict[Kind, bool] = {
        "conflicts": two_truths,
        "merges": (differ and two_truths) or not _may_merge(one, other),
        "links": item.is_linked,
    }
    return {kind for kind, is_forbidden in forbidden.items() if not is_forbidden}


def _fitting(one: Note, other: Note, seen: Seen) -> Iterator[Kind]:
    """The kinds that a pair may be of by its words, the best first.

    A conflict where they differ about the same matter, a merge where they say the same or nearly so, else a link.
    """
    difference, shared = seen.comparison.difference, seen.comparison.shared
    differ = difference != "none"
    evidence = seen.likeness + shared
    same = evidence >= SAME or (seen.likeness >= NEAR_SAME and shared > 0.0)
    alike = (not differ and evidence >= SAYS_SAME) or composite(seen.likeness, one, other) >= MERGE
    if differ and (same or (alike and difference == "value")):
        yield "conflicts"
    if alike:
        yield "merges"
    yield "links"


def signs(seen: Seen, said: ReadTogether) -> list[float]:
    """What two notes show and what reading them told, in the order of `TOLD`."""
    difference = "denial" if seen.comparison.difference == "opposites" else seen.comparison.difference
    shown = {"always": 1.0, "likeness": seen.likeness, difference: 1.0}
    shown |= {name: max(-MOST_SAID, min(MOST_SAID, value)) for name, value in said._asdict().items()}
    return [shown.get(name, 0.0) for name in TOLD]


def told(seen: Seen, said: ReadTogether) -> tuple[float, float]:
    """How likely the later of two notes tells another value, and how likely the same once more; each in 0..1."""
    shown = list(zip(signs(seen, said), TOLD.values(), strict=True))
    anew, again = (math.exp(sum(weights[side] * sign for sign, weights in shown)) for side in (0, 1))
    return anew / (1.0 + anew + again), again / (1.0 + anew + again)


def _told_in_part(earlier: Note, later: Note, seen: Seen, said: ReadTogether) -> tuple[float, float]:
    """The same where a note is long: of that the likest sentence was read, so what all of it is like says little.

    What is less likely is 0: much else is told there that has nothing to do with the other note.
    """
    anew = likelihood_together(*to_read(earlier, later, seen.likeness), said)
    again = told(seen, said)[1]
    return anew if anew >= LEAST_IN_PART else 0.0, again if again >= SURELY_TOLD else 0.0


def as_read(pair: Candidate, said: ReadTogether) -> Candidate | None:
    """A pair as what reading the two together tells; None where that is two things, or a kind that is not asked for.

    What is near enough for a link, and shows no more by its words, is another kind only if reading says so surely. What
    `remember` named to whoever stored the later one is offered, that nothing is asked once and then never again.
    """
    seen = pair.seen
    if seen is None:
        return pair
    later, earlier = (text.note for text in pair.texts)
    is_long = max(len(later.content), len(earlier.content)) > LONG
    if not is_long and _are_two(earlier.content, later.content):
        return pair if pair.kind == "links" else None
    anew, again = _told_in_part(earlier, later, seen, said) if is_long else told(seen, said)
    written, least = (None, 0.0) if is_long else _as_written(earlier, later, seen)
    is_named = seen.likely >= NAMED and "conflicts" in seen.open
    if anew + again < _enough(pair, seen, said, least) and not is_named:
        return pair if pair.kind == "links" else None
    ordered = _by_reading(anew, again, written, is_clear=seen.comparison.difference != "none" or _tells_change(later))
    kind = next((kind for kind in ordered if kind in seen.open), None)
    is_declined = seen.is_apart and not least and anew + again < (SURELY_TOLD if kind == "merges" else WRITTEN)
    if kind is None or kind not in seen.asked or is_declined:
        return None
    contradicts = kind == "conflicts" and seen.comparison.difference != "none"
    found = replace(_of_kind(kind, pair, seen), sure=max(anew + again, least), doubtful=False)
    return replace(found, contradicts=contradicts)


def _tells_change(note: Note) -> bool:
    return claim(note.content).changed


def _enough(pair: Candidate, seen: Seen, said: ReadTogether, least: float) -> float:
    """How likely a pair that was read is to be no two things, to be offered; words make it so likely at `least`.

    Most of what is unlikely is noise, but where a note says that something has changed, or is about it in a part only.
    """
    notes, difference, shared = [text.note for text in pair.texts], seen.comparison.difference, seen.comparison.shared
    if not least and (pair.kind == "links" or (pair.doubtful and seen.likeness >= LINK)):
        return SURELY_TOLD
    is_part = any(map(_is_part, seen.comparison.passages, notes))
    if is_part and difference == "value" and shared >= NEARLY_ALL:
        return 0.0
    differs = is_part and difference != "none" and shared >= ALIGNED
    is_told = differs or bool(least) or said.anew >= SURELY_READ or _tells_change(notes[0])
    return LEAST_WHERE_TOLD if is_told else LEAST_TOLD


def _is_part(passage: str, note: Note) -> bool:
    return len(passage) < len(note.content.strip())


def _by_reading(anew: float, again: float, written: Kind | None, *, is_clear: bool) -> tuple[Kind, ...]:
    """The kinds that a pair may be of, the best first: what is written tells it, unless reading clearly says otherwise.

    Without a word that tells a change or a difference it is the same in other words where that is nearly as likely.
    """
    is_new = anew >= again * (1.0 if is_clear else RATHER_AGAIN)
    if written is not None:
        is_new = anew > CLEARLY * again if written == "merges" else again <= CLEARLY * anew
    return ("conflicts", "merges", "links") if is_new else ("merges", "conflicts", "links")


def _as_written(earlier: Note, later: Note, seen: Seen) -> tuple[Kind | None, float]:
    """What the words alone tell of two texts that are written nearly alike, and how surely; None where they do not.

    Where the one has all words of the other a value or a denial contradicts. Without these the longer tells more:
    "Owners pay by card", "Owners pay by card; invoices are due within 14 days". So where they differ in one place.
    """
    new, old = seen.comparison.passages
    one, other = (sentence_of(in_one_wording(text)) for text in (spelled_as(old, new), old))
    less, more = sorted((one, other), key=lambda each: len(each.telling - FILLING))
    difference, is_within = seen.comparison.difference, less.telling - FILLING <= more.telling
    parts = [_is_part(new, later), _is_part(old, earlier)]
    if difference in ("value", "denial", "opposites"):
        denying, denied = (one, other) if one.denies else (other, one)
        is_sure = is_within and (difference != "denial" or denying.telling - FILLING <= denied.telling)
        is_alike = difference == "value" and seen.comparison.shared >= NEARLY_ALL
        is_found = is_sure or is_alike or _is_corrected(new, old)
        return ("conflicts", WRITTEN * (is_sure or (is_alike and any(parts)))) if is_found else (None, 0.0)
    if difference == "none" and is_within and not (are_turned(one.words, other.words) or _tells_change(later)):
        is_told = less.values <= more.values and less.denies == more.denies
        tells_more = bool(more.telling - less.telling - FILLING) or one.values == other.values
        return (
            ("merges", WRITTEN) if not all(parts) and is_told and tells_more and len(less.telling) > 1 else (None, 0.0)
        )
    is_one_place = difference == "none" and seen.comparison.shared >= NEARLY_ALL
    return ("conflicts" if is_one_place and differ_in_one_place(earlier.content, later.content) else None), 0.0


def _is_corrected(new: str, old: str) -> bool:
    """Whether one denies behind a comma what the other says: "delivered by Hofer, no longer by the mill"."""
    pairs = ((new, old), (old, new))
    denied = (
        (sentence_of(found[1]).telling, sentence_of(its).telling)
        for text, its in pairs
        for found in _NOT.finditer(text)
    )
    return any(said and said <= its for said, its in denied)


def _are_two(earlier: str, later: str) -> bool:
    """Whether what is written tells that two texts are about two things of one kind, whatever reading them says."""
    one, other = claim(earlier), claim(later)
    return are_twins(one, other) or are_entries(earlier, later) or _have_two_subjects(earlier, later)


def _have_two_subjects(earlier: str, later: str) -> bool:
    """As "the pressure of the car is 2.4 bar" and "of the bike 4.5", or "Emil's teacher is ..." and "Lotte's ..."."""
    one, other = claim(earlier), claim(later)
    mine, its = _subject(one), _subject(other)
    left, fresh = [term for term in mine if not other.holds(term)], [term for term in its if not one.holds(term)]
    if not left or not fresh or len(left) == len(mine):
        return False
    is_written_alike = 4 * len(one.words & other.words) >= len(one.words) + len(other.words)
    is_of_two = is_written_alike and not other.changed and bool(evidence(earlier, later, None).signs["other values"])
    return is_of_two or (left[0].owner and fresh[0].owner)


def _subject(said: Claim) -> list[Term]:
    return [term for term in said.head if term.subject and term.kind != "value" and not term.generic]


def _may_merge(one: Note, other: Note) -> bool:
    return one.space == other.space and (one.type == other.type or {one.type, other.type} <= STATEMENTS)


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
    return head if least > 1.0 else head + titles * alike_in_letters(one.title, other.title, least)


def within_budget(lists: Sequence[Sequence[Candidate]]) -> list[int]:
    """How many of each list the token budget holds, the first list before the second; at least one in all."""
    counts = [0] * len(lists)
    spent = 0
    for place, items in enumerate(lists):
        for item in items:
            spent += sum(NOTE_TOKENS + most_tokens(shown) for shown in item.passages)
            if spent > BUDGET_TOKENS and any(counts):
                return counts
            counts[place] += 1
    return counts


def cosine(one: bytes, other: bytes) -> float:
    """Of two unit vectors as float32 bytes."""
    product: float = sum(map(mul, array("f", one), array("f", other)))
    return product


def weight_of(likeness: float) -> float:
    """The weight of an edge that was judged, in 0.5..1."""
    return max(LEAST_WEIGHT, round(min(likeness, 1.0), 2))


def _clusters(seed: Text, near: Sequence[Near]) -> list[Candidate]:
    """The seed with the notes of its space that are nearest to it, if they are enough."""
    if not _may_cluster(seed.note):
        return []
    like = [
        item
        for item in near
        if item.likeness >= CLUSTER
        and not item.is_apart
        and _may_cluster(item.text.note)
        and item.text.note.space == seed.note.space
        and "derived_from" not in item.edges
        and not are_entries(*(text.note.content for text in reversed(_in_order(seed, item.text))))
    ]
    like.sort(key=lambda item: (-item.likeness, item.text.note.id))
    members = like[: LARGEST_CLUSTER - 1]
    if len(members) < SMALLEST_CLUSTER - 1:
        return []
    texts = (seed, *(item.text for item in members))
    passages = tuple(sentence_in(text.note.content, "", SHOWN["consolidations"]) for text in texts)
    return [Candidate("consolidations", texts, members[-1].likeness, passages)]


def _may_cluster(note: Note) -> bool:
    return note.tier == "working" and CONSOLIDATED not in note.tags


def _are_archival(seed: Text, item: Near) -> bool:
    return seed.note.tier == item.text.note.tier == "archival"


def _in_order(one: Text, other: Text) -> tuple[Text, Text]:
    """The pair, the newer one first."""
    older, _ = in_time(one.note, other.note)
    return (other, one) if older is one.note else (one, other)


def without(items: Sequence[Candidate], taken: Collection[str]) -> list[Candidate]:
    """Clusters less the notes that are in another one already, where enough are left."""
    kept = []
    for item in items:
        left = [pair for pair in zip(item.texts, item.passages, strict=True) if pair[0].note.id not in taken]
        if len(left) >= SMALLEST_CLUSTER:
            texts, passages = zip(*left, strict=True)
            kept.append(replace(item, texts=texts, passages=passages))
    return kept
