"""DevMem (engineering notes), LoCoMo (dialogue) and BEAM (long chats) in one shape; run it to see what they hold.

LoCoMo is CC BY-NC and no part of this project: give its file with `--locomo FILE` or in the variable LOCOMO. BEAM has
no licence and is no part of it either: clone its repository, mohammadtavakoli78/BEAM on GitHub, and give the folder
with `--beam DIR`, or the variable BEAM. Of it the chats of 100,000 tokens are read, eight unless `--chats` says more.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

DEVMEM = Path(__file__).parent / "data" / "devmem.json"
WITHOUT_LOCOMO = "LoCoMo left out: give its file with --locomo FILE or in the environment variable LOCOMO."
WITHOUT_BEAM = "BEAM left out: give the folder of its repository with --beam DIR or in the environment variable BEAM."
BEAM_CHATS, MOST_CHATS = 8, 20
MOST_CHARACTERS = 200_000  # of a message; one has more than a note may, being a drawing of blanks
OF_AN_EXCHANGE, MOST_EVIDENCE = 1_500, 8  # characters of each of its messages; messages that answer a question
LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
OFF_TOPIC = "offtopic"
APART = frozenset({"adversarial"})


@dataclass(frozen=True, slots=True)
class BenchNote:
    """A note as `remember` takes it; `supersedes` are ids of the data set, still to be mapped."""

    id: str
    arguments: dict[str, Any]
    supersedes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BenchQuery:
    """A query as `recall` takes it, and what it should find.

    `space` is the default space of the server that is asked (None: a server without one); `asked` is the
    day from which "last week" counts. Off-topic queries have no evidence. `half` is given where data says which half
    of its queries may be looked at one by one; else the hash of an id decides.
    """

    id: str
    kind: str
    text: str
    evidence: tuple[str, ...]
    stale: tuple[str, ...] = ()
    space: str | None = None
    asked: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    half: str = ""

    @property
    def spaces(self) -> frozenset[str]:
        """The spaces that the query is confined to; none means all."""
        return frozenset(self.arguments.get("spaces", ()))

    @property
    def asked_day(self) -> str | None:
        return self.asked[:10] if self.asked else None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Notes in the order in which they are stored, and queries that are asked after the last of them."""

    name: str
    notes: tuple[BenchNote, ...]
    queries: tuple[BenchQuery, ...]


def read_devmem(path: Path = DEVMEM) -> Dataset:
    raw = json.loads(path.read_text("utf-8"))
    older: dict[str, list[str]] = {}
    for newer, old in raw["supersedes"]:
        older.setdefault(newer, []).append(old)
    superseded = {old for _, old in raw["supersedes"]}
    return Dataset(
        name="devmem" if path == DEVMEM else path.stem,
        notes=tuple(devmem_note(note, tuple(older.get(note["id"], ()))) for note in raw["notes"]),
        queries=tuple(devmem_query(query, superseded) for query in raw["queries"]),
    )


def devmem_note(note: dict[str, Any], supersedes: tuple[str, ...]) -> BenchNote:
    arguments = {
        "content": note["content"],
        "type": note["type"],
        "title": note["title"],
        "tags": note["tags"],
        "space": note["space"] or "global",
        "session": note["session"],
        "event_time": note["created"],
    }
    given = {name: value for name, value in arguments.items() if value is not None}
    return BenchNote(note["id"], given, supersedes)


def devmem_query(query: dict[str, Any], superseded: set[str]) -> BenchQuery:
    wants_old = not superseded.isdisjoint(query["evidence"])
    return BenchQuery(
        id=query["id"],
        kind=query["kind"],
        text=query["query"],
        evidence=tuple(query["evidence"]),
        stale=tuple(query["stale"]),
        space=query["space"],
        asked=query["asked"],
        arguments={"include_outdated": True} if wants_old else {},
        half=query.get("half", ""),
    )


def read_locomo(path: Path, conversations: int | None = None) -> Dataset:
    """One note for each turn; questions without evidence are left out."""
    chosen = json.loads(path.read_text("utf-8"))["conversations"][:conversations]
    return Dataset(
        name="locomo",
        notes=tuple(locomo_note(talk["id"], turn) for talk in chosen for turn in talk["turns"]),
        queries=tuple(
            locomo_query(talk, number, question)
            for talk in chosen
            for number, question in enumerate(talk["questions"])
            if question["evidence"]
        ),
    )


def locomo_note(conversation: str, turn: dict[str, Any]) -> BenchNote:
    caption = f" [{turn['caption']}]" if turn.get("caption") else ""
    return BenchNote(
        id=f"{conversation}/{turn['id']}",
        arguments={
            "content": turn["text"] + caption,
            "space": conversation,
            "session": f"{conversation}-{turn['session']}",
            "subject": turn["speaker"],
            "event_time": turn["date"],
        },
    )


def locomo_query(talk: dict[str, Any], number: int, question: dict[str, Any]) -> BenchQuery:
    return BenchQuery(
        id=f"{talk['id']}/q{number}",
        kind=LOCOMO_CATEGORIES[question["cat"]],
        text=question["q"],
        evidence=tuple(f"{talk['id']}/{turn}" for turn in question["evidence"]),
        arguments={"spaces": [talk["id"]]},
    )


def read_beam(folder: Path, chats: int = BEAM_CHATS, *, exchanges: bool = False) -> Dataset:
    """One note for each message; a question whose messages are not named has no evidence, and nothing answers it."""
    places = [folder / "chats" / "100K" / str(number) for number in range(1, chats + 1)]
    missing = next((place for place in places if not (place / "chat.json").is_file()), None)
    if missing is not None:
        raise SystemExit(f"BEAM's repository has {missing / 'chat.json'}, which is not there.")
    beam = Dataset(
        name="beam",
        notes=tuple(note for place in places for note in beam_notes(place)),
        queries=tuple(query for place in places for query in beam_queries(place)),
    )
    if not exchanges:
        return beam
    return in_exchanges(beam, dict(each for place in places for each in first_of_exchanges(place)))


def beam_notes(place: Path) -> Iterator[BenchNote]:
    chat = f"beam-{place.name}"
    for part, message in beam_messages(place):
        content = message["content"][:MOST_CHARACTERS].strip()
        given = {"content": content, "space": chat, "session": f"{chat}-{part}"}
        if content:
            yield BenchNote(f"{chat}/{message['id']}", given)


def beam_messages(place: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The messages of a chat in order, each with the number of its part."""
    for part, batch in enumerate(json.loads((place / "chat.json").read_text("utf-8"))):
        for turn in batch["turns"]:
            yield from ((part, message) for message in turn)


def beam_queries(place: Path) -> Iterator[BenchQuery]:
    chat = f"beam-{place.name}"
    asked = json.loads((place / "probing_questions" / "probing_questions.json").read_text("utf-8"))
    for kind, questions in asked.items():
        for number, question in enumerate(questions):
            messages = tuple(dict.fromkeys(f"{chat}/{each}" for each in numbers_in(question.get("source_chat_ids"))))
            given = {"spaces": [chat]}
            yield BenchQuery(f"{chat}/{kind}{number}", kind, question["question"], messages, arguments=given)


def in_exchanges(beam: Dataset, first_of: Mapping[str, str]) -> Dataset:
    """BEAM with one note for what somebody said and what was answered, both shortened, by the id of the former.

    Questions whose evidence is spread over more than eight messages are left out: ten hits hardly hold it.
    """
    exchanges: dict[str, list[BenchNote]] = {}
    for note in beam.notes:
        exchanges.setdefault(first_of[note.id], []).append(note)
    notes = (
        BenchNote(first, messages[0].arguments | {"content": _said(messages)}) for first, messages in exchanges.items()
    )
    queries = (
        replace(query, evidence=tuple(dict.fromkeys(first_of[message] for message in query.evidence)))
        for query in beam.queries
        if len(query.evidence) <= MOST_EVIDENCE
    )
    return Dataset("beam, in exchanges", tuple(notes), tuple(queries))


def first_of_exchanges(place: Path) -> Iterator[tuple[str, str]]:
    """For each message of a chat the last one before it that is not an answer."""
    first = ""
    for _, message in beam_messages(place):
        first = first if first and message["role"] == "assistant" else f"beam-{place.name}/{message['id']}"
        yield f"beam-{place.name}/{message['id']}", first


def _said(messages: Sequence[BenchNote]) -> str:
    return "\n\n".join(message.arguments["content"][:OF_AN_EXCHANGE].strip() for message in messages)


def numbers_in(given: Any) -> Iterator[int]:
    """The numbers of a list, or of lists by name, however deep."""
    for each in given.values() if isinstance(given, dict) else given or ():
        if isinstance(each, int):
            yield each
        else:
            yield from numbers_in(each)


def in_messages(dataset: Dataset, least: int) -> Dataset:
    """The same data as long chat messages: notes of one space and session, in order, until one has `least` characters.

    A stand-in for chats whose messages are long: none of those is at hand that may be used here. Nothing supersedes
    anything in it.
    """
    groups: dict[tuple[object, object], list[list[BenchNote]]] = {}
    for note in dataset.notes:
        place = (note.arguments["space"], note.arguments.get("session") if dataset.name == "locomo" else None)
        messages = groups.setdefault(place, [[]])
        if sum(len(part.arguments["content"]) for part in messages[-1]) >= least:
            messages.append([])
        messages[-1].append(note)
    whole = [(place[0], message) for place, messages in groups.items() for message in messages if message]
    became = {note.id: message[0].id for _, message in whole for note in message}
    notes = (
        BenchNote(message[0].id, {"content": "\n\n".join(map(_told, message)), "space": space})
        for space, message in whole
    )
    queries = (
        replace(query, evidence=tuple(dict.fromkeys(became[note] for note in query.evidence)), stale=(), asked=None)
        for query in dataset.queries
    )
    return Dataset(f"{dataset.name} in messages of {least} characters and more", tuple(notes), tuple(queries))


def plainly(dataset: Dataset) -> Dataset:
    """The same notes by their content alone, as agents mostly store them, asked from nowhere and now.

    Nothing is superseded then, so an older version is not stale but another note.
    """
    alone = ({"content": note.arguments["content"], "space": "global"} for note in dataset.notes)
    notes = tuple(BenchNote(note.id, content) for note, content in zip(dataset.notes, alone, strict=True))
    queries = (replace(query, stale=(), space=None, asked=None, arguments={}) for query in dataset.queries)
    return Dataset(f"{dataset.name}, plainly stored", notes, tuple(queries))


def _told(note: BenchNote) -> str:
    speaker = note.arguments.get("subject")
    return f"{speaker}: {note.arguments['content']}" if speaker else str(note.arguments["content"])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", default="devmem", help="devmem, none, or a file in DevMem's format")
    parser.add_argument("--locomo", type=Path, help="LoCoMo's file (default: the variable LOCOMO)")
    parser.add_argument("--beam", type=Path, metavar="DIR", help="the folder of BEAM's repository (default: BEAM)")
    parser.add_argument("--chats", type=int, default=BEAM_CHATS, metavar="N", help=f"of BEAM; {MOST_CHATS} at most")
    parser.add_argument("--exchanges", action="store_true", help="BEAM with one note for a message and its answer")
    parser.add_argument("--messages", type=int, metavar="N", help="put notes together to messages of N characters")
    parser.add_argument("--plain", action="store_true", help="store the content alone: no title, tag, space or time")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N conversations of LoCoMo")


def chosen_datasets(options: argparse.Namespace) -> list[Dataset]:
    """The data sets that the command line asks for; says so when one is not among them."""
    found: list[Dataset] = []
    if options.data != "none":
        found.append(read_devmem(DEVMEM if options.data == "devmem" else Path(options.data)))
    locomo = options.locomo or (Path(os.environ["LOCOMO"]) if os.environ.get("LOCOMO") else None)
    if locomo is None:
        print(WITHOUT_LOCOMO)
    else:
        found.append(read_locomo(locomo, options.limit))
    beam = options.beam or (Path(os.environ["BEAM"]) if os.environ.get("BEAM") else None)
    if beam is None:
        print(WITHOUT_BEAM)
    else:
        found.append(read_beam(beam, min(options.chats, MOST_CHATS), exchanges=options.exchanges))
    if options.plain:
        found = [plainly(dataset) for dataset in found]
    return [in_messages(dataset, options.messages) for dataset in found] if options.messages else found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    for dataset in chosen_datasets(parser.parse_args()):
        print(f"\n{dataset.name}: {len(dataset.notes)} notes, {len(dataset.queries)} queries")
        kinds = Counter(query.kind for query in dataset.queries)
        for kind, count in kinds.items():
            evidence = sum(len(query.evidence) for query in dataset.queries if query.kind == kind)
            print(f"  {kind:14}{count:5} queries{evidence:6} evidence notes")


if __name__ == "__main__":
    main()
