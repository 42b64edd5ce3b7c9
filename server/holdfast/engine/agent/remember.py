"""remember: a note is on the disk and can be found, or nothing happened."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from holdfast.engine.agent.close import Close, close_notes, is_close, read_together
from holdfast.engine.commit import (
    LARGEST_CONTENT,
    MOST_TAGS,
    SELF_TEXT,
    SELF_TITLE,
    TextGate,
    bearing_self,
    check_choice,
    check_count,
    check_known,
    commit,
    is_selfless,
    load_current,
    lost_notices,
    nearest_space,
    resolve,
    resolve_all,
    self_change,
    still_told,
    superseded,
    told,
    when,
)
from holdfast.engine.encoding import Encoded, VectorState, encode_note
from holdfast.engine.jobs.changes import core_notices
from holdfast.engine.omi.beliefs import keep_contradictions
from holdfast.engine.ports import Caller, Ports
from holdfast.errors import ConflictError, InvalidArgumentError, ProtectedNoteError
from holdfast.index.rows import IndexedNote, content_key, digest, read_pairs
from holdfast.index.view import IndexView
from holdfast.model import versions
from holdfast.model.claims import parts_that_differ, said_besides, say_the_same
from holdfast.model.lifecycle import MemoryStoredEvent
from holdfast.model.maintenance import NAMED
from holdfast.model.note import (
    EDGE_TYPES,
    GLOBAL_SPACE,
    NOTE_TYPES,
    SELF_ID,
    TIERS,
    Joined,
    Link,
    Note,
    in_time,
    joined,
    memory_type,
    said_at,
    successor_of,
    title_of,
)
from holdfast.model.opposition import CLOSE_Z, Contradiction, one_fact, opposition
from holdfast.model.records import JournalRecord
from holdfast.model.statement import is_done
from holdfast.model.tokens import LONGEST_NOTICE, beginning, most_tokens
from holdfast.model.words import regex
from holdfast.store.codec import new_document
from holdfast.store.stored import Change

ATTEMPTS = 8  # others may store, retire or delete the same note meanwhile
SIMILAR_RELEVANCE, MOST_SIMILAR = 0.8, 3
MOST_LINKS, MOST_VERSIONS = 3, 2  # versions of one fact, that are named
_ALIKE_Z = 7.0  # how near is what is asked about, as is what is `NAMED`
QUOTED = (40, 16, 8)  # tokens at most of what is quoted beside a call, which is told whole
LIKELIER = 5  # times the odds of the second, by which the first alone is meant
ASKED_WEIGHT = 0.5
_SLIP = 0.8  # the least similarity of a new space's name to that of another for it to be a slip, as difflib measures it
_MARKS = regex(r"\d|(?<![^\W_])[^\W_](?![^\W_])")  # digits and single letters: what tells "team-a" from "team-b"
THREAD_WEIGHT = 0.1  # the link of a note that is close to none


@dataclass(frozen=True, slots=True)
class Remember:
    """What is to be remembered. `links` are (id or prefix, edge type), `addresses` are by the names of a note's fields.

    None for `space` takes the caller's, but for what is about the user: that is of no project.

    `confidence` is None where nobody said how sure they are: a new note then has the `unsaid` one. Whether it is
    `compared` with what close notes say: not where the caller does that.
    """

    content: str
    type: str = "fact"
    tier: str = "working"
    title: str | None = None
    space: str | None = None
    tags: Sequence[str] = ()
    about_self: bool = False
    confidence: float | None = None
    links: Sequence[tuple[str, str]] = ()
    supersedes: Sequence[str] = ()
    session: str | None = None
    subject: str | None = None
    event_time: str | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    unsaid: float = 1.0
    compared: bool = True


@dataclass(frozen=True, slots=True)
class Linked:
    """An edge that the new note has."""

    id: str
    title: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True)
class Similar:
    """A note that says nearly the same."""

    id: str
    title: str
    relevance: float


@dataclass(frozen=True, slots=True)
class NoteStored:
    """The note is kept."""

    note: Note
    vector: VectorState
    linked: tuple[Linked, ...]
    similar: tuple[Similar, ...]
    change_id: str
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The same note is stored already; what was told of it besides was joined to it, by `change_id` where any was."""

    note: Note
    vector: VectorState
    linked: tuple[Linked, ...]
    change_id: str | None
    notices: tuple[str, ...]


Outcome: TypeAlias = NoteStored | Duplicate


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A request that is ready to be stored: its note, the edges asked for, the notes to replace, the locks' names."""

    request: Remember
    note: Note
    asked: tuple[Link, ...]
    old: tuple[IndexedNote, ...]
    guards: tuple[str, ...]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Other:
    """Which note says the same changed while its lock was waited for: it is `same` now, or none."""

    same: IndexedNote | None


async def remember(ports: Ports, caller: Caller, request: Remember) -> Outcome:
    """Keep a note. Where a current one has the same content, type and space, that is the note.

    Raises:
        InvalidArgumentError, MemoryNotFoundError, AmbiguousIdError, SecretRefusedError: nothing was written.
        ConflictError, StorageError: nothing was written.
    """
    wanted = await _wanted(ports, caller, request)
    same = (await ports.index.place(wanted.note, ports.now)).same
    for _ in range(ATTEMPTS):
        done = await (_store(ports, caller, wanted) if same is None else _join(ports, caller, wanted, same))
        if not isinstance(done, _Other):
            return done
        same = done.same
    raise ConflictError("Others store and retire the same note at this moment.", "Repeat the call.")


async def _wanted(ports: Ports, caller: Caller, request: Remember) -> _Wanted:
    gate = TextGate(ports)
    size = len(request.content)
    note = await ports.computing.run(caller.principal, size, lambda: _note(ports, caller, request, gate))
    asked = await _asked_links(ports, request)
    old = await resolve_all(ports.index, check_count("supersedes", list(request.supersedes)), what="supersedes")
    if any(item.note.id == SELF_ID for item in old):
        raise ProtectedNoteError("The Self note cannot be superseded.")
    guards = [same_guard(note)]
    if note.session:
        guards.append(f"session:{digest(note.space, note.session)}")
    slips = await _slips(ports, caller, note.space) if request.space else []
    return _Wanted(request, note, tuple(asked), tuple(old), tuple(guards), (*gate.notices(), *slips))


async def _slips(ports: Ports, caller: Caller, space: str) -> list[str]:
    """What to say of a space that was named and is new, where it is rather a slip of the pen for one that there is."""
    spaces = {GLOBAL_SPACE, *filter(None, [caller.space]), *await ports.index.read(lambda view: view.spaces())}
    others = [name for name in spaces if _MARKS.findall(name) == _MARKS.findall(space)]
    near = nearest_space(space, others, _SLIP) if space not in spaces else ""
    return [f'"{space}" is a new space. Where "{near}" is meant: undo this, and remember it there.'] if near else []


@dataclass(frozen=True, slots=True)
class Prepared:
    """A note that could be stored now. `same` is a note that says it word for word, `close` those that are near.

    `notice` tells where these could not be read together with it.
    """

    wanted: _Wanted
    encoded: Encoded
    close: tuple[Close, ...]
    same: IndexedNote | None
    notice: str

    @property
    def note(self) -> Note:
        return self.wanted.note

    @property
    def near(self) -> list[tuple[Note, float]]:
        """Current notes that are close, the nearest first, with how relevant they are."""
        return [(item.note, item.relevance) for item in self.close]


async def prepare(ports: Ports, caller: Caller, request: Remember) -> Prepared:
    """Make a note ready and look for what it is close to; nothing is stored.

    Raises:
        InvalidArgumentError, SecretRefusedError: it cannot be stored.
    """
    wanted = await _wanted(ports, caller, request)
    same = (await ports.index.place(wanted.note, ports.now)).same
    encoded = await encode_note(ports, wanted.note.title, wanted.note.content)
    found = await ports.index.read(lambda view: close_notes(view, wanted.note, encoded.query, ports.now))
    close, notice = await read_together(ports, wanted.note, found, either_way=True)
    return Prepared(wanted, encoded, close, same, notice)


def keys_of(prepared: Sequence[Prepared]) -> set[str]:
    """What is to be held while `store_together` stores these."""
    guards = [guard for item in prepared for guard in item.wanted.guards]
    return {SELF_ID, *guards, *(item.note.id for item in prepared)}


async def store_together(
    ports: Ports,
    caller: Caller,
    prepared: Sequence[Prepared],
    detail: JournalRecord,
    marks: Mapping[str, object],
) -> str:
    """Store new notes as one change; returns its id. The caller holds their `keys_of`.

    Args:
        ports: storage, index, encoder, clock and ids.
        caller: who asks.
        prepared: the notes, none of which is there.
        detail: what else the journal's line is to say.
        marks: more keys for the frontmatter of each note.

    Raises:
        ConflictError: one of them is there meanwhile; nothing was written.
        StorageError: nothing was written.
    """
    changes = [self_change(ports.now)] if await is_selfless(ports) else []
    seqs: dict[str | None, int] = {}
    for item in prepared:
        place = await ports.index.place(item.note, ports.now)
        if place.same is not None:
            raise ConflictError("A note that says the same was stored meanwhile.", "Repeat the call.")
        session = item.note.session
        seqs[session] = max(seqs.get(session, 0), place.seq) + 1
        note = replace(
            item.note,
            seq=seqs[session] if session else None,
            connections=_links(ports.now, item.note, [], [], item.close, place.before),
        )
        changes.append(Change(None, note, new_document(note).with_values(marks).render()))
    vectors = {item.note.id: item.encoded for item in prepared}
    guards = tuple(guard for item in prepared for guard in item.wanted.guards)
    done = await commit(ports, caller, "remember", changes, vectors, replace(detail, guards=guards))
    for item in prepared:
        stored = item.note
        ports.events.publish(MemoryStoredEvent(stored.id, stored.content, memory_type(stored.type), stored.confidence))
    return done.change_id


async def says_otherwise(ports: Ports, caller: Caller, item: Prepared) -> list[str]:
    """What to say of notes that are close to one that was just stored and say something else."""
    return [*await _otherwise(ports, caller, item.note, item.close, []), *filter(None, [item.notice])]


def same_guard(note: Note) -> str:
    """The lock of all who store a note with this content, type and space."""
    return f"same:{content_key(note.content, note.type, note.space)}"


async def _store(ports: Ports, caller: Caller, wanted: _Wanted) -> NoteStored | _Other:
    """Keep a note that there is none like."""
    note, old = wanted.note, wanted.old
    encoded = await encode_note(ports, note.title, note.content)
    found, selfless = await ports.index.read(
        lambda view: (close_notes(view, note, encoded.query, ports.now), not view.notes([SELF_ID]))
    )
    close, unread = await read_together(ports, note, found, either_way=True)
    keys = {note.id, *wanted.guards, *(item.note.id for item in old)}
    vectors = {note.id: encoded}
    if selfless:
        vectors[SELF_ID] = await encode_note(ports, SELF_TITLE, SELF_TEXT)
    async with bearing_self(ports, selfless=selfless) as own, ports.store.hold(keys | own) as made:
        await check_known(ports, made)
        place = await ports.index.place(note, ports.now)
        if place.same is not None:
            return _Other(place.same)
        if note.session:
            note = replace(note, seq=place.seq + 1)
        note = replace(note, connections=_links(ports.now, note, wanted.asked, old, close, place.before))
        retired, already = await _retired(ports, note, old, note.created)
        born = [self_change(ports.now)] if own and await is_selfless(ports) else []
        changes = [*born, Change(None, note), *retired]
        done = await commit(ports, caller, "remember", changes, vectors, _detail(caller, wanted))
    ports.events.publish(MemoryStoredEvent(note.id, note.content, memory_type(note.type), note.confidence))
    core = await core_notices(ports, note.id) if note.tier == "core" else []
    otherwise = await told(_otherwise(ports, caller, note, close, old), []) if wanted.request.compared else []
    lost = await lost_notices(ports, [item.before.note for item in retired if item.before], note, done.change_id)
    whole = await still_told(ports, [item.note.id for item in old])
    before = (*already, *_said_before(place.retired, old), *lost, *whole)
    notices = (*wanted.notices, *before, *otherwise, encoded.notice, unread, *core)
    shown = tuple(text for text in notices if text)
    linked = await told(_linked(ports, note), ())
    return NoteStored(note, encoded.state, linked, _similar(close, old), done.change_id, shown)


async def _join(ports: Ports, caller: Caller, wanted: _Wanted, same: IndexedNote) -> Duplicate | _Other:
    """Join what is told of a note that there is already, as one change; the notes to replace give way to it."""
    old = [item for item in wanted.old if item.note.id != same.note.id]
    async with ports.store.hold({same.note.id, *wanted.guards, *(item.note.id for item in old)}) as made:
        await check_known(ports, made)
        place = await ports.index.place(wanted.note, ports.now)
        if place.same is None or place.same.note.id != same.note.id:
            return _Other(place.same)
        before = await load_current(ports, place.same)
        join = joined(before.note, wanted.note, wanted.asked, ports.now, MOST_TAGS, wanted.request.confidence)
        note = replace(join.note, seq=place.seq + 1) if "session" in join.added else join.note
        retired, already = await _retired(ports, note, old, ports.now)
        changes = [*([Change(before, note)] if join.added else []), *retired]
        change = None
        if changes:
            change = (await commit(ports, caller, "remember", changes, detail=_detail(caller, wanted))).change_id
    lost = await lost_notices(ports, [item.before.note for item in retired if item.before], note, change or "")
    core = await core_notices(ports, note.id) if "tier core" in join.added else []
    since = await told(_said_since(ports, note, {item.note.id for item in old}), [])
    itself = [] if len(old) == len(wanted.old) else ["It does not replace itself."]
    whole = await still_told(ports, [item.note.id for item in old], note.id)
    notices = (*wanted.notices, *_joined(join), *since, *itself, *already, *lost, *whole, *core)
    return await _duplicate(ports, note, change, notices)


async def _said_since(ports: Ports, note: Note, replaced: Collection[str]) -> list[str]:
    """What is to be done where a note is told again that a newer one speaks against."""
    newer = await ports.index.read(lambda view: _newer_versions(view, note, ports.now))
    return [
        f'{each.id} "{each.title}" says something else since {said_at(each)[:10]}. Where this holds again: '
        f'remember the same with supersedes=["{each.id}"].'
        for each in [each for each in newer if each.id not in replaced][:MOST_VERSIONS]
    ]


def _newer_versions(view: IndexView, note: Note, now: str) -> list[Note]:
    """Current notes that this one would stand behind: newer versions of the same fact, which say something else."""
    links = view.links([note.id])
    notes = view.notes({note.id, *(end for link in links for end in (link.source, link.target))})
    read = read_pairs(links, notes)
    others = (item.note for end, item in notes.items() if end != note.id)
    later = [each for each in others if each.is_current(now) and in_time(note, each)[1] is each]

    def likely(other: Note) -> float:
        pair = frozenset((note.id, other.id))
        return read[pair] if pair in read else one_fact(note, other, None)

    found = [each for each in later if likely(each) >= versions.FOLDED and not say_the_same(note.content, each.content)]
    return sorted(found, key=likely, reverse=True)


def _joined(join: Joined) -> list[str]:
    """What the caller is told of a note that is said again."""
    said = [
        f"The same note is stored already, since {join.note.created[:10]}: this is its id, it was not stored again."
    ]
    if join.added:
        said.append(f"Joined to it: {', '.join(join.added)}.")
    said += [f"{kept[:1].upper()}{kept[1:]}." for kept in join.kept]
    return said


def _note(ports: Ports, caller: Caller, request: Remember, gate: TextGate) -> Note:
    content = gate.text("content", request.content, LARGEST_CONTENT)
    confidence = request.unsaid if request.confidence is None else request.confidence
    if not 0.0 <= confidence <= 1.0:
        raise InvalidArgumentError("confidence is outside 0 to 1.")
    check_choice("type", request.type, NOTE_TYPES)
    check_choice("tier", request.tier, TIERS)
    return Note(
        id=ports.new_id(),
        content=content,
        title=gate.line("title", request.title) or title_of(content),
        created=ports.now,
        updated=ports.now,
        type=request.type,
        tier=request.tier,
        space=gate.space(request.space) or (None if request.about_self else caller.space) or GLOBAL_SPACE,
        tags=gate.tags(request.tags),
        confidence=confidence,
        source=caller.source,
        session=gate.line("session", request.session),
        subject=gate.line("subject", request.subject),
        event_time=when("event_time", request.event_time),
        about_self=request.about_self,
        **{name: gate.line(name, address) for name, address in request.addresses.items()},  # type: ignore[arg-type]
    )


def _detail(caller: Caller, wanted: _Wanted) -> JournalRecord:
    """`unplaced` tells a note that had to be stored without a space from one that is to be global."""
    given = wanted.request.space
    unplaced = caller.space is None and not (given and given.strip()) and not wanted.request.about_self
    return JournalRecord(guards=tuple(wanted.guards), unplaced=unplaced)


async def _asked_links(ports: Ports, request: Remember) -> list[Link]:
    """The edges that the caller names, each once."""
    check_count("links", [given for given, _ in request.links])
    for place, (_, kind) in enumerate(request.links):
        check_choice(f"The type of links[{place}]", kind, EDGE_TYPES)
    found = [
        ((await resolve(ports.index, given, what=f"links[{place}]")).note.id, kind)
        for place, (given, kind) in enumerate(request.links)
    ]
    return [Link(target, kind, ASKED_WEIGHT, "", ports.now) for target, kind in dict.fromkeys(found)]


def _links(
    now: str,
    note: Note,
    asked: Sequence[Link],
    old: Sequence[IndexedNote],
    close: Sequence[Close],
    before: str | None,
) -> tuple[Link, ...]:
    """The edges asked for, those to what the note tells anew, then to close notes.

    A note that would stand alone is tied to the one before it.
    """
    links = list(asked)
    taken = {*(link.to for link in asked), *(item.note.id for item in old)}
    free = [item for item in close if item.candidate.id not in taken]
    read = [item for item in free if item.is_read and item.likely >= versions.SURELY_APART]
    told = [item for item in read if item.likely >= versions.PERHAPS or is_close(item.candidate)][:MOST_LINKS]
    near = [item for item in free if item not in read and is_close(item.candidate)][: MOST_LINKS - len(told)]
    links += [_edge(item, item.likely, versions.told_as(item.likely), now) for item in told]
    links += [_edge(item, item.relevance, versions.APART if item.is_read else versions.CLOSE, now) for item in near]
    if not links and not old and not note.about_self:
        if before is None or before == SELF_ID:
            links.append(Link(SELF_ID, "related_to", THREAD_WEIGHT, versions.FIRST, now))
        else:
            links.append(Link(before, "preceded_by", THREAD_WEIGHT, versions.BEFORE, now))
    return tuple(links)


def _edge(item: Close, weight: float, reason: str, now: str) -> Link:
    return Link(item.note.id, "related_to", round(weight, 2), reason, now)


async def _retired(ports: Ports, note: Note, old: Sequence[IndexedNote], now: str) -> tuple[list[Change], list[str]]:
    """The notes that give way to this one, and what to tell of those that another has replaced already.

    That one stays their successor, unless it is no note any more.
    """
    replaced = [item.note.id for item in old if item.note.superseded_by]
    gone = await ports.index.read(lambda view: view.lost_successors(replaced)) if replaced else ()
    current = [item for item in old if item.note.superseded_by is None or item.note.id in gone]
    said = [
        f"{item.note.id} was superseded by {successor_of(item.note)}, which is gone: now by this one."
        if item in current
        else f"{item.note.id} was already superseded by {item.note.superseded_by}; that was left as it is."
        for item in old
        if item.note.superseded_by
    ]
    return [superseded(await load_current(ports, item), note, now) for item in current], said


async def _linked(ports: Ports, note: Note) -> tuple[Linked, ...]:
    titles = await ports.index.notes([link.to for link in note.connections])
    return tuple(
        Linked(link.to, titles[link.to].note.title, link.type, link.weight)
        for link in note.connections
        if link.to in titles
    )


def _similar(close: Sequence[Close], old: Sequence[IndexedNote]) -> tuple[Similar, ...]:
    replaced = {item.note.id for item in old}
    alike = [item for item in close if item.relevance >= SIMILAR_RELEVANCE and item.candidate.id not in replaced]
    return tuple(Similar(item.candidate.id, item.note.title, round(item.relevance, 3)) for item in alike[:MOST_SIMILAR])


async def _otherwise(
    ports: Ports, caller: Caller, note: Note, close: Sequence[Close], old: Sequence[IndexedNote]
) -> list[str]:
    """What to say of close notes that say something else: versions of the same fact, then opposites."""
    replaced = {item.note.id for item in old}
    others = [item for item in close if item.candidate.id not in replaced]
    likely = [item for item in others if _may_be_told_anew(item)]
    anew = _likeliest([item for item in likely if not _says_no_more(item, note)])[:MOST_VERSIONS]
    opposed = {
        item.candidate.id: pattern
        for item in others
        if (pattern := opposition(note.content, item.note.content, close=(item.candidate.z or 0.0) >= CLOSE_Z))
    }
    if opposed:
        await keep_contradictions(ports, caller, [Contradiction(note.id, *pair) for pair in opposed.items()])
    different = [*anew, *(item for item in others if item.candidate.id in opposed and item not in anew)]
    return [_otherwise_than(item.note, note, opposed.get(item.candidate.id)) for item in different]


def _may_be_told_anew(item: Close) -> bool:
    """Whether to ask: more often than one goes behind the other unasked, and never about what surely is another."""
    is_alike = item.likely > 0.0 and (item.candidate.z or 0.0) >= _ALIKE_Z
    return item.likely >= NAMED or is_alike


def _says_no_more(item: Close, note: Note) -> bool:
    """Whether a new note says the same again; of what was to be done, that it was is more."""
    is_same = item.is_same or say_the_same(item.note.content, note.content)
    return is_same and not is_done(item.note.content, note.content)


def _likeliest(close: Sequence[Close]) -> list[Close]:
    """The likeliest versions first, without what is far less likely one than the first: its sibling, say."""
    ordered = sorted(close, key=lambda item: -item.likely)
    best = ordered[0].likely if ordered else 0.0
    return [item for item in ordered if LIKELIER * item.likely * (1.0 - best) >= best * (1.0 - item.likely)]


def _otherwise_than(other: Note, note: Note, pattern: str | None) -> str:
    """Which note says something else, what of it, and the call that mends it."""
    verb = f"Contradicts ({pattern})" if pattern else "Says something else than"
    parts = parts_that_differ(other.content, note.content)
    call = _replacing(*in_time(other, note))

    def told(most: int) -> str:
        title = beginning(other.title, most)
        there, here = (text and f'"{beginning(text, most)}"' for text in parts) if parts else ("", "")
        apart = ", ".join(filter(None, (there and f"{there} there", here and f"{here} here")))
        return f'{verb} {other.id} "{title}"{f": {apart}" if apart else ""}. {call}'

    return next((text for text in map(told, QUOTED) if most_tokens(text) <= LONGEST_NOTICE), told(QUOTED[-1]))


def _replacing(older: Note, newer: Note) -> str:
    """The call by which one note replaces another, or by which a note that says more loses nothing of the rest."""
    if said_besides(older.content, newer.content):
        rest = f'remember(content="<what else of it still holds>", supersedes=["{older.id}"])'
        return f"{older.id} says more than that, which replacing it would lose. Where this one is right: {rest}"
    call = f'mark_outdated(node_id="{older.id}", superseded_by="{newer.id}")'
    return f"Replaces {older.id}? Only where both tell one fact: {call}"


def _said_before(retired: str | None, old: Sequence[IndexedNote]) -> list[str]:
    if retired is None or retired in [item.note.id for item in old]:
        return []
    return [f"{retired} said the same and was retired: this is a new note."]


async def _duplicate(ports: Ports, note: Note, change: str | None, notices: Sequence[str]) -> Duplicate:
    def read(view: IndexView) -> tuple[IndexedNote | None, list[Linked]]:
        links = [link for link in view.links([note.id]) if link.source == note.id]
        there = view.notes([note.id, *(link.target for link in links)])
        linked = [
            Linked(link.target, there[link.target].note.title, link.type, link.weight)
            for link in links
            if link.target in there
        ]
        return there.get(note.id), linked

    found, linked = await told(ports.index.read(read), (None, []))
    is_encoded = found is not None and found.encoded_by is not None
    vector: VectorState = ports.encoder is not None and (is_encoded or "pending")
    return Duplicate(note, vector, tuple(linked), change, tuple(notices))
