"""What is taken for a newer version of a fact: which comes first, what is folded, what `remember` proposes to replace.

    python bench/versions.py [--half A|B|...|L] [--encoder builtin|none] [--files] [--failures]
    python bench/versions.py --fit

Notes of several people (bench/data/versions_a.txt to versions_l.txt): facts with two versions said days apart, or
within minutes, beside notes that look like them and are about something else. All notes of a half are stored with
`remember`, in the order of their time and in one space, without `supersedes`. Counted are, of the versions: how often
the newer comes before the older where the fact is asked for, how often the older is folded behind it, how often
`remember` asked whether the newer replaces the older. And of all notes: how often `remember` asked that of a note about
something else; how many pairs of notes about different things were folded in any answer.

With `--files` the notes are put into the folder, as by hand, and are read together behind requests; then `remember`
asks nothing.

`--fit` prints the weights of `holdfast.model.versions`: a logistic regression over all pairs within a domain of half A,
with the first halves of bench/data/currency.json; each domain's pairs are also judged by weights that were fitted
without them. Then the weights where two notes were also read together: over what is not far apart in halves A, C, E and
G, those first halves and the domains of bench/training/pairs and bench/training/things that bench/learn_pairs.py holds
out, where much looks like a version and is none; with the figures of B, D and F.

Of half B only counts were looked at. Halves C and D were written later, before anything was measured on them; their
facts have two questions mostly, which are counted as one each. Of half D only counts were looked at. In E and F,
written later still, the newer note shares few words with the older; of F only counts were looked at. G is there for
fitting which of two notes goes ahead (`holdfast.engine.agent.matters`), as E is. H has beside each fact something else
of the same thing and the like of another thing, as near as could be made; only counts were looked at.
I and J are short corrections that say other things besides, with pairs that look like one and are none; I was in view
while they were learned to be read, of J only counts were looked at. In K and L the newer note says nowhere that it
replaces anything, speaks in other words, and tells other things besides, as the notes beside it do: what users mostly
write, and the hardest of all. Their counts chose one line, the rest was not looked at.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import combinations, pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import numpy as np

from holdfast.app import build_memory
from holdfast.encode.builtin import BACKGROUND_DEVIATION, BACKGROUND_MEAN, PairReader
from holdfast.engine.agent.recall import Recall, recall
from holdfast.engine.agent.remember import NoteStored, Outcome, Remember, remember
from holdfast.engine.maintenance.candidates import read_behind
from holdfast.engine.ports import Caller
from holdfast.engine.runtime import Memory
from holdfast.index.projection import text_to_encode
from holdfast.model.claims import claim
from holdfast.model.maintenance import cosine
from holdfast.model.note import title_of
from holdfast.model.versions import FOLDED, LED, SURELY_APART, Evidence, ReadTogether, evidence, together
from holdfast.running import configure_logs
from holdfast.settings import load_settings

DATA = Path(__file__).parent / "data"
TRAINING = Path(__file__).parent / "training"
HELD_OUT, THINGS_HELD_OUT = 12, 8  # every so many domains one
CALLER = Caller("home", "the bench", "bench")
FIRST_DAY = datetime(2026, 2, 2, 9, 0, tzinfo=UTC)
LATER, MINUTES = timedelta(days=60), timedelta(minutes=4)  # between versions; between a slip and its correction
ASKED = "2026-11-06T12:00:00Z"
FOLDS = 8  # of the domains, for the weights that are fitted without them
L2 = 1.0
AT_ONCE = 8  # pairs that are read together
NEAR_Z = 2.0  # those are fitted on that are as near


@dataclass(frozen=True, slots=True)
class Fact:
    """What was said of one thing, the oldest first; what is asked about it. `at_once`: within minutes."""

    questions: tuple[str, ...]
    versions: tuple[str, ...]
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """Two texts, and whether they are versions of one fact."""

    older: str
    newer: str
    is_one: bool
    domain: int


def facts_of(half: str) -> list[list[Fact]]:
    """The facts of each domain."""
    domains: list[list[Fact]] = []
    for line in (DATA / f"versions_{half.lower()}.txt").read_text("utf-8").splitlines():
        kind, text = line[:1], line[2:].replace("\\n", "\n")
        if kind == "@":
            domains.append([])
        elif kind == "-":
            domains[-1].append(Fact((), (text,)))
        elif kind in ("?", "!"):
            question, *versions = text.split(" | ")
            domains[-1].append(Fact(tuple(question.split(" / ")), tuple(versions), at_once=kind == "!"))
    return domains


def told(domains: Sequence[Sequence[Fact]]) -> list[tuple[datetime, int, str]]:
    """When what was said of which fact, in the order of time."""
    said = []
    facts = [fact for domain in domains for fact in domain]
    for number, fact in enumerate(facts):
        first = FIRST_DAY + timedelta(hours=5 * (number * 37 % len(facts)))
        for place, text in enumerate(fact.versions):
            said.append((first + place * (MINUTES if fact.at_once else LATER), number, text))
    return sorted(said)


@dataclass
class Counts:
    """What was right, and what was not."""

    versions: int = 0
    first: int = 0
    folded: int = 0
    proposed: int = 0
    stores: int = 0
    false_stores: int = 0
    answers_with_false: int = 0
    answers: int = 0
    right: int = 0


async def judged(half: str, encoder: str, *, tell: bool, files: bool) -> None:
    domains = facts_of(half)
    facts = [fact for domain in domains for fact in domain]
    counts, false_folds = Counts(), set[tuple[str, str]]()
    with TemporaryDirectory(prefix="holdfast-bench-") as home:
        given = {"HOLDFAST_HOME": home, "HOLDFAST_ENCODER": encoder, "HOLDFAST_NOW": ASKED}
        memory = build_memory(load_settings(given | {"HOLDFAST_VAULT_ENABLED": "no"}))
        async with memory.running():
            if files:
                fact_of = await _put_as_files(memory, Path(home), domains, counts)
            else:
                fact_of = await _stored(memory, domains, counts, tell=tell)
            texts = {note: text for note, (_, text) in fact_of.items()}
            numbers = {note: number for note, (number, _) in fact_of.items()}
            asked = [(number, each) for number, fact in enumerate(facts) for each in fact.questions]
            for number, question in asked:
                ids = [note for note, each in numbers.items() if each == number]
                found = await memory.attend(lambda ports, question=question: recall(ports, CALLER, Recall(question)))
                shown = [hit.note.id for hit in found.hits]
                behind = {item.note.id: hit.note.id for hit in found.hits for item in hit.earlier}
                counts.answers += 1
                counts.right += bool(shown) and numbers[shown[0]] == number
                wrong = {(old, new) for old, new in behind.items() if numbers[old] != numbers[new]}
                counts.answers_with_false += bool(wrong)
                false_folds |= wrong
                for old, new in pairwise(ids):
                    counts.versions += 1
                    places = [shown.index(note) if note in shown else len(shown) for note in (new, old)]
                    leads = old in behind or places[0] < places[1]
                    counts.first += leads
                    counts.folded += old in behind
                    if tell and not leads:
                        print(f"    older first: {question} {texts[old]!r} {texts[new]!r}")
            if tell:
                for old, new in sorted(false_folds):
                    print(f"    folded: {texts[old]!r} behind {texts[new]!r}")
    pairs = sum(len(domain) * (len(domain) - 1) // 2 for domain in domains)
    print(f"half {half}, encoder {encoder}: {counts.stores} notes, {counts.versions} newer versions")
    print(f"newer first {counts.first}, folded {counts.folded}, proposed {counts.proposed} of {counts.versions}")
    print(f"a version of what is asked for comes first {counts.right} of {counts.answers}")
    print(f"proposed to replace something else: in {counts.false_stores} of {counts.stores} stores")
    print(
        f"folded behind something else: {len(false_folds)} pairs (of {pairs} within the domains), "
        f"in {counts.answers_with_false} of {counts.answers} answers"
    )


async def _stored(
    memory: Memory, domains: Sequence[Sequence[Fact]], counts: Counts, *, tell: bool
) -> dict[str, tuple[int, str]]:
    """Store all notes when they were said; the number of the fact and the text by id."""
    fact_of: dict[str, tuple[int, str]] = {}
    for at, number, text in told(domains):
        stored = await remembered(memory, CALLER, at.replace(tzinfo=UTC), text)
        assert isinstance(stored, NoteStored), text
        counts.stores += 1
        asked = [notice for notice in stored.notices if "supersede" in notice]
        named = {each for notice in asked for each in re.findall(r"mem_\w+", notice)} - {stored.note.id}
        right = {each for each in named if fact_of[each][0] == number}
        counts.proposed += bool(right)
        counts.false_stores += bool(named - right)
        if tell:
            for each in named - right:
                print(f"    proposed: {fact_of[each][1]!r} replaced by {text!r}")
        fact_of[stored.note.id] = (number, text)
    return fact_of


async def _put_as_files(
    memory: Memory, home: Path, domains: Sequence[Sequence[Fact]], counts: Counts
) -> dict[str, tuple[int, str]]:
    """The same notes as files of the folder, encoded and read together."""
    folder = home / "memories" / CALLER.space
    folder.mkdir(parents=True)
    said = told(domains)
    for place, (at, _, text) in enumerate(said):
        (folder / f"{place:04}.md").write_text(f"---\ncreated: {at.isoformat()}\n---\n{text}\n", "utf-8")
    await memory.attend(_nothing)
    await memory.catch_up()
    while await read_behind(memory.ports):
        counts.stores += 1
    numbers = {text: number for _, number, text in said}
    ids = await memory.ports.index.read(lambda view: view.ids_before("", ASKED, len(said)))
    notes = await memory.ports.index.notes(ids)
    ordered = sorted((item.note for item in notes.values()), key=lambda note: note.created)
    return {note.id: (numbers[note.content.strip()], note.content) for note in ordered}


async def remembered(memory: Memory, caller: Caller, at: datetime, text: str) -> Outcome:
    """Store a note at that time."""
    await memory.attend(_nothing)
    return await remember(replace(memory.ports, clock=lambda: at), caller, Remember(text))


async def _nothing(_: object) -> None:
    """Only what every request does first."""


# --- the weights ----------------------------------------------------------------------------------


def samples_of(half: str) -> list[Sample]:
    """All pairs of notes of a domain; those about two things in both orders, for either may be the newer."""
    samples = []
    for number, domain in enumerate(facts_of(half)):
        notes = [(place, text) for place, fact in enumerate(domain) for text in fact.versions]
        for (one, text), (other, second) in combinations(notes, 2):
            samples.append(Sample(text, second, one == other, number))
            if one != other:
                samples.append(Sample(second, text, is_one=False, domain=number))
    return samples


def samples_of_currency() -> list[Sample]:
    """The first halves of the pairs and the look-alikes of bench/currency.py."""
    data = json.loads((DATA / "currency.json").read_text("utf-8"))
    named = (("pairs", True), ("usual pairs", True), ("lookalikes", False), ("usual lookalikes", False))
    rows = [(*row[-2:], is_one) for name, is_one in named for row in data[name][::2]]
    return [Sample(*row, -1 - place % FOLDS) for place, row in enumerate(rows)]


def domains_of_pairs() -> list[list[dict[str, str]]]:
    """The lines of each domain of bench/training/pairs; the last of each `HELD_OUT` is not learned from."""
    return _domains(TRAINING / "pairs")


def domains_of_things() -> list[list[dict[str, Any]]]:
    """The same of bench/training/things, of which the last of each `THINGS_HELD_OUT` is not learned from."""
    return _domains(TRAINING / "things")


def _domains(folder: Path) -> list[list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in map(json.loads, file.read_text("utf-8").strip().split("\n")):
            found.setdefault(f"{file.stem} {line['domain']}", []).append(line)
    return list(found.values())


def samples_held_out() -> list[Sample]:
    """Pairs of the domains that nothing was learned from: versions, and what is beside them, or of the same thing."""
    samples = []
    for number, lines in enumerate(domains_of_pairs()[HELD_OUT - 1 :: HELD_OUT]):
        for line in lines:
            versions = [text for name in ("older", "newer", "newest") if (text := line[name])]
            samples += [Sample(*pair, is_one=True, domain=number) for pair in combinations(versions, 2)]
            for text, name in product(versions[:2], ("also", "other")):
                orders = (text, line[name]), (line[name], text)
                samples += [Sample(*pair, is_one=False, domain=number) for pair in orders]
    for number, lines in enumerate(domains_of_things()[THINGS_HELD_OUT - 1 :: THINGS_HELD_OUT]):
        for line in lines:
            notes = line["notes"]
            samples += [Sample(*pair, is_one=False, domain=number) for pair in combinations(notes, 2)]
            for place, newer in line["newer"].items():
                pairs = ((older, at == int(place)) for at, older in enumerate(notes))
                samples += [Sample(older, newer, is_one, number) for older, is_one in pairs]
    return samples


async def likenesses(texts: Sequence[str]) -> dict[str, bytes]:
    with TemporaryDirectory(prefix="holdfast-bench-") as home:
        memory = build_memory(load_settings({"HOLDFAST_HOME": home, "HOLDFAST_VAULT_ENABLED": "no"}))
        assert memory.ports.encoder is not None
        made = await memory.ports.encoder.encode_documents([text_to_encode(title_of(text), text) for text in texts])
    return {text: chunks[0] for text, chunks in zip(texts, made, strict=True) if chunks}


def seen_of(sample: Sample, vectors: dict[str, bytes]) -> Evidence:
    mine, its = vectors.get(sample.older), vectors.get(sample.newer)
    likeness = cosine(mine, its) if mine and its else None
    return evidence(sample.older, sample.newer, likeness)


def fitted(signs_of: np.ndarray, is_one: np.ndarray) -> np.ndarray:
    """The weights of a logistic regression, by Newton's method; the first sign is the constant and is free."""
    weights = np.zeros(signs_of.shape[1])
    ridge = np.diag([1e-3, *[L2] * (len(weights) - 1)])
    for _ in range(60):
        likely = 1 / (1 + np.exp(-signs_of @ weights))
        slope = signs_of.T @ (likely - is_one) + ridge @ weights
        bend = (signs_of * (likely * (1 - likely))[:, None]).T @ signs_of + ridge
        weights = weights - np.linalg.solve(bend, slope)
    return weights


def fit() -> None:
    samples = [*samples_of("A"), *samples_of_currency()]
    held_out = samples_of("B")
    vectors = anyio.run(
        likenesses, list(dict.fromkeys(text for s in (*samples, *held_out) for text in (s.older, s.newer)))
    )
    samples = [sample for sample in samples if claim(sample.older).spaced and claim(sample.newer).spaced]
    seen, other = ([seen_of(sample, vectors) for sample in each] for each in (samples, held_out))
    names = list(seen[0].signs)
    table, others = (np.array([[each.signs[name] for name in names] for each in many]) for many in (seen, other))
    is_one = np.array([sample.is_one for sample in samples], dtype=float)
    weights = fitted(table, is_one)
    print("WEIGHTS: Mapping[str, float] = {")
    for name, weight in zip(names, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')
    print("}")
    parts = np.array([sample.domain % FOLDS for sample in samples])
    crossed = np.zeros(len(samples))
    for part in range(FOLDS):
        crossed[parts == part] = table[parts == part] @ fitted(table[parts != part], is_one[parts != part])
    for name, many, found, scores in (
        ("half A, each domain by the weights of the others", samples, seen, crossed),
        ("half B", held_out, other, others @ weights),
    ):
        for line in lines_of(many, found, scores):
            print(f"{name}: {line}")


def fit_together() -> None:
    """The weights of `READ_TOGETHER`, for pairs that are near enough to be read together."""
    halves = (sample for half in "ACEG" for sample in samples_of(half))
    in_view = [*halves, *samples_of_currency(), *samples_held_out()]
    kept = {"in view": in_view, **{half: samples_of(half) for half in "BDF"}}
    texts = dict.fromkeys(text for each in kept.values() for sample in each for text in (sample.older, sample.newer))
    vectors = anyio.run(likenesses, list(texts))
    tables: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    names: list[str] = []
    for name, samples in kept.items():
        near = [sample for sample in samples if is_read_together(sample, vectors)]
        seen = signs_together(near, vectors)
        names = list(seen[0])
        is_one = np.array([sample.is_one for sample in near], dtype=float)
        tables[name] = (np.array([[signs[each] for each in names] for signs in seen]), is_one)
    weights = fitted(*tables["in view"])
    print("READ_TOGETHER: Mapping[str, float] = {")
    for name, weight in zip(names, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')
    print("}")
    for name, (table, is_one) in tables.items():
        likely = 1 / (1 + np.exp(-table @ weights))
        for line in (SURELY_APART, FOLDED):
            right, wrong = ((likely >= line) & (is_one > 0)).sum(), ((likely >= line) & (is_one == 0)).sum()
            print(
                f"{name}, from {line}: {right} of {is_one.sum():.0f} versions, {wrong} of {(is_one == 0).sum()} others"
            )


def is_read_together(sample: Sample, vectors: dict[str, bytes]) -> bool:
    mine, its = vectors.get(sample.older), vectors.get(sample.newer)
    is_near = bool(mine and its) and cosine(mine, its) >= BACKGROUND_MEAN + NEAR_Z * BACKGROUND_DEVIATION
    return is_near and claim(sample.older).spaced and claim(sample.newer).spaced


def signs_together(samples: Sequence[Sample], vectors: dict[str, bytes]) -> list[dict[str, float]]:
    read = anyio.run(read_all, [(sample.older, sample.newer) for sample in samples])
    return [together(seen_of(sample, vectors), each) for sample, each in zip(samples, read, strict=True)]


async def read_all(pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]:
    reader = PairReader()
    return [
        each for start in range(0, len(pairs), AT_ONCE) for each in await reader.read(pairs[start : start + AT_ONCE])
    ]


def lines_of(samples: Sequence[Sample], seen: Sequence[Evidence], scores: np.ndarray) -> Iterator[str]:
    """What would be led, folded and proposed; of what is about two things, pairs in either order."""
    likely = np.where([each.siblings for each in seen], 0.0, 1 / (1 + np.exp(-scores)))
    is_one = np.array([sample.is_one for sample in samples])
    for line in (LED, FOLDED):
        right, wrong = ((likely >= line) & is_one).sum(), ((likely >= line) & ~is_one).sum()
        yield f"from {line}: {right} of {is_one.sum()} versions, {wrong} of {(~is_one).sum()} others"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", default="B", choices=tuple("ABCDEFGHIJKL"))
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--fit", action="store_true", help="print the weights, and how good they are")
    parser.add_argument("--failures", action="store_true", help="print what went wrong (of half A, to learn from)")
    parser.add_argument("--files", action="store_true", help="put the notes into the folder as files")
    configure_logs("error")
    options = parser.parse_args()
    if options.fit:
        fit()
        fit_together()
    else:
        asyncio.run(judged(options.half, options.encoder, tell=options.failures, files=options.files))


if __name__ == "__main__":
    main()
