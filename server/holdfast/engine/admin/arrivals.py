"""What arrives from another memory, made ready to be stored: without secrets, within limits, in our form.

Where a text has changed at its source, and nobody has changed its note, the note takes the new text over; what it said
stays in the history. A long text becomes one note of the whole and one for each section, stored and brought up to date
as one change. A section keeps its note for as long as its headings keep their words. The note of the whole knows the
sections that came with it, so that one that is gone can be retired.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from holdfast.engine.agent.remember import THREAD_WEIGHT
from holdfast.engine.commit import (
    LARGEST_CONTENT,
    LONGEST_LINE,
    LONGEST_TAG,
    MOST_TAGS,
    TextGate,
    check_known,
    commit,
    is_selfless,
    load_current,
    self_change,
)
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.sync.replay import look_back
from holdfast.engine.sync.replay import whole as whole_lines
from holdfast.errors import (
    HoldfastError,
    IntegrityError,
    InvalidArgumentError,
    LimitExceededError,
    SecretRefusedError,
)
from holdfast.index.journal import LinesWanted
from holdfast.index.rows import IndexedNote, digest
from holdfast.model.moving import (
    IMPORTED_FROM,
    IMPORTED_KEYS,
    IMPORTED_SECTIONS,
    IMPORTED_TEXT,
    Arrival,
    ArrivedFile,
    imported_id,
)
from holdfast.model.note import GLOBAL_SPACE, SELF_ID, Link, Note, same_text, space_name, title_of
from holdfast.model.records import FileChange, JournalRecord
from holdfast.model.versions import AUTO_REASONS, BEFORE, FIRST
from holdfast.store.codec import (
    MalformedError,
    Surroundings,
    changed_document,
    frontmatter_keys,
    new_document,
    note_of,
    parse,
    with_id,
)
from holdfast.store.stored import LARGEST_FILE, LARGEST_PAGE, Change, Stored


@dataclass(frozen=True, slots=True)
class Ready:
    """A note that can be stored as `raw`; `labels` are the secrets that were taken out of it."""

    note: Note
    raw: bytes
    where: str
    labels: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()
    is_foreign: bool = False  # it has frontmatter that is not ours


@dataclass(slots=True)
class LastInSpace:
    """The last note of each space: a note that would have no link is linked to it, as `remember` does."""

    last: dict[str, str] = field(default_factory=dict)

    def link(self, note: Note) -> Link:
        before = self.last.get(note.space)
        if before is None:
            return Link(SELF_ID, "related_to", THREAD_WEIGHT, FIRST)
        return Link(before, "preceded_by", THREAD_WEIGHT, BEFORE)


def made_ready(ports: Ports, item: Arrival | ArrivedFile, threads: LastInSpace) -> Ready:
    """A note of another memory in our form.

    Raises:
        HoldfastError: it cannot be stored as it is; the others can.
    """
    try:
        ready = _of_file(ports, item) if isinstance(item, ArrivedFile) else _of_arrival(ports, item, threads)
        again = note_of(parse(ready.raw), Surroundings(ready.note.space))
    except (MalformedError, ValueError, TypeError, RecursionError) as error:
        said = str(error) if isinstance(error, MalformedError) else "it has a value that cannot be written"
        raise InvalidArgumentError(f"It cannot be stored: {said}.") from error
    if again != ready.note or len(ready.raw) > LARGEST_FILE:
        raise LimitExceededError("It is too long, or would not be read back as it is.")
    threads.last[ready.note.space] = ready.note.id
    return ready


def clean_page(ports: Ports, data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A text beside the notes without its secrets, and their kinds.

    Raises:
        SecretRefusedError, LimitExceededError: it cannot be stored.
    """
    if len(data) > LARGEST_PAGE:
        raise LimitExceededError(f"It is longer than {LARGEST_PAGE >> 20} MiB.")
    text, labels = _redacted(ports, data.decode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape"), labels


def _of_file(ports: Ports, item: ArrivedFile) -> Ready:
    text, labels = _redacted(ports, item.data.decode())
    data = text.encode()
    document = parse(data)
    own = document.values.get("id")
    if own is None:
        given = imported_id(item.key)
        data = with_id(data, document, given)
        document = parse(data)
    if "created" not in document.values:
        data = document.with_values({"created": item.modified}).render()
    note = note_of(parse(data), Surroundings(_space_of(item.where)))
    foreign = document.values.keys() - frontmatter_keys() - {IMPORTED_FROM, IMPORTED_TEXT, IMPORTED_SECTIONS}
    return Ready(note, data, item.where, labels, is_foreign=bool(foreign))


def _space_of(where: str) -> str:
    """The space of a note that names none: its folder's."""
    parts = where.split("/")[1:-1]
    try:
        return space_name(parts[0]) if parts else GLOBAL_SPACE
    except ValueError:
        return GLOBAL_SPACE


def _of_arrival(ports: Ports, item: Arrival, threads: LastInSpace) -> Ready:
    gate = TextGate(ports)
    unmapped = list(item.unmapped)
    extra = dict(item.extra)
    content = gate.text("content", item.content, LARGEST_CONTENT)
    is_retired = item.outdated_reason is not None or bool(item.superseded_by)
    note = Note(
        id=imported_id(item.key),
        content=content,
        title=_line(gate, item.title) or title_of(content),
        created=item.created,
        updated=max(item.created, item.updated),
        type=item.type,
        tier=item.tier,
        space=_space(item.space, unmapped),
        tags=_tags(gate, item.tags, extra, unmapped),
        confidence=item.confidence,
        source=_line(gate, item.source) or item.key.partition(":")[0],
        subject=_line(gate, item.subject) or None,
        event_time=item.event_time or None,
        valid_from=item.valid_from or None,
        valid_until=item.valid_until or (max(item.created, item.updated) if is_retired else None),
        outdated=item.outdated_reason is not None,
        outdated_reason=_line(gate, item.outdated_reason or "") or None,
        superseded_by=imported_id(item.superseded_by) if item.superseded_by else None,
        session=_line(gate, item.session) or None,
        about_self=item.about_self,
        **{name: _line(gate, address) for name, address in item.addresses.items()},  # type: ignore[arg-type]
        connections=tuple(
            Link(imported_id(tie.to), tie.type, tie.weight, _line(gate, tie.reason)) for tie in item.ties
        ),
    )
    if not note.connections and not note.about_self:
        note = replace(note, connections=(threads.link(note),))
    keys = _extra_keys(ports, extra, gate)
    came = {IMPORTED_FROM: _line(gate, item.key), IMPORTED_TEXT: digest(content)}
    raw = new_document(note).with_values({**came, **keys}).render()
    return Ready(note, raw, item.where, tuple(gate.labels), tuple(unmapped), bool(keys))


def _line(gate: TextGate, text: str) -> str:
    """A short text on one line, cut where it is too long for one."""
    line = " ".join(text.split()).encode()[:LONGEST_LINE].decode("utf-8", "ignore")
    return gate.line("line", line) or ""


def _space(given: str, unmapped: list[str]) -> str:
    try:
        return space_name(given) if given.strip() else GLOBAL_SPACE
    except ValueError:
        unmapped.append("its space cannot be one here: global is taken")
        return GLOBAL_SPACE


def _tags(gate: TextGate, given: tuple[str, ...], extra: dict[str, Any], unmapped: list[str]) -> tuple[str, ...]:
    tags = [" ".join(tag.split()) for tag in given]
    fit = [tag for tag in dict.fromkeys(tags) if tag and len(tag) <= LONGEST_TAG and "," not in tag][:MOST_TAGS]
    if len(fit) < len(set(tags)):
        unmapped.append(f"some of its {len(tags)} tags are too long or too many: they are kept in its frontmatter")
        kept = extra.get(IMPORTED_KEYS)
        extra[IMPORTED_KEYS] = {**(kept if isinstance(kept, dict) else {}), "tags": list(given)}
    return tuple(dict.fromkeys(_line(gate, tag).removeprefix("#") for tag in fit))


def _extra_keys(ports: Ports, extra: Mapping[str, Any], gate: TextGate) -> dict[str, Any]:
    """Foreign frontmatter without secrets; what has a name of ours goes below one key."""
    ours = frontmatter_keys() | {IMPORTED_FROM, IMPORTED_KEYS, IMPORTED_TEXT, IMPORTED_SECTIONS}
    kept = extra.get(IMPORTED_KEYS)
    below = dict(kept) if isinstance(kept, dict) else {}
    below |= {key: value for key, value in extra.items() if key in ours and key != IMPORTED_KEYS}
    keys = {key: value for key, value in extra.items() if key not in ours}
    clean = _clean({**keys, **({IMPORTED_KEYS: below} if below else {})}, ports, gate)
    return dict(clean)


def _clean(value: Any, ports: Ports, gate: TextGate) -> Any:
    match value:
        case dict():
            return {str(_clean(str(key), ports, gate)): _clean(inner, ports, gate) for key, inner in value.items()}
        case list() | tuple():
            return [_clean(item, ports, gate) for item in value]
        case str():
            text, labels = _redacted(ports, value)
            gate.labels.extend(labels)
            return text
        case _:
            return value


def _redacted(ports: Ports, text: str) -> tuple[str, tuple[str, ...]]:
    if ports.secrets == "allow":
        return text, ()
    redaction = ports.redact(text)
    if redaction.labels and ports.secrets == "refuse":
        raise SecretRefusedError(f"It holds a secret ({', '.join(redaction.labels)}).", "Leave it out.")
    return redaction.text, redaction.labels


def why(error: HoldfastError) -> str:
    """An error as the reason that one of many things was left out."""
    return f"{type(error).__name__}: {error.sentence}"


IMPORT, IMPORT_OP = "admin_import", "import"  # the tool, and the verb of its changes
STRUCTURE = ("part_of", "preceded_by")  # edges between the notes of one text
MOST_IMPORTS = 100  # of one note, the latest, that are looked through

_Said: TypeAlias = tuple[str, frozenset[tuple[str, str]]]


@dataclass(slots=True)
class Taken:
    """What became of the notes of a text, by id.

    `fresh` are new, `updated` took a change of the text over. `edited` differ from it and were left as they are, for
    somebody has edited them here or took the change back; `both` are those edited here whose text has changed, too.
    `gone` were removed here before, `known` counts all others that were there. `missing` are notes of sections that the
    text has no more. `apart` are ids of texts that said the same as a note that is updated, and were joined to it when
    they came.
    """

    fresh: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    edited: list[str] = field(default_factory=list)
    both: list[str] = field(default_factory=list)
    apart: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    known: int = 0
    change_id: str | None = None


async def came_in_sections(ports: Ports, ids: Sequence[str]) -> set[str]:
    """Which of these notes are those of a whole whose sections came with it."""
    links = await ports.index.links(ids)
    wholes = {link.target for link in links if link.type == STRUCTURE[0]} & set(ids)
    there = await ports.index.notes(wholes)
    return {each for each, known in there.items() if _sections_of(await load_current(ports, known))}


async def take_document(ports: Ports, caller: Caller, parts: Sequence[Ready], whole: str, *, writes: bool) -> Taken:
    """Store what is new of a text and bring up to date what has changed, all of it or nothing.

    Args:
        ports: storage, index, encoder, clock and ids.
        caller: who asks.
        parts: the note of the whole, then those of its sections.
        whole: all of the text, as a note that came before had it.
        writes: whether anything is to be stored; else it is only said what would be.

    Raises:
        ConflictError, StorageError: nothing was written.
    """
    joined = await joined_to(ports, [part.note.id for part in parts])
    async with ports.store.hold({SELF_ID, *(part.note.id for part in parts), *joined.values()}) as made:
        await check_known(ports, made)
        there = await ports.index.notes([*(part.note.id for part in parts), *joined.values()])
        plan = await _plan(ports, parts, whole, there, joined)
        changes = plan.changes
        if changes and writes:
            if await is_selfless(ports):
                changes = [self_change(ports.now), *changes]
            plan.taken.change_id = (
                await commit(ports, caller, IMPORT_OP, changes, None, JournalRecord(admin=IMPORT))
            ).change_id
    return plan.taken


@dataclass(slots=True)
class _Plan:
    """The changes to make for a text: `own` are its notes, those of former sections too, `before` the latter alone."""

    whole: str
    sections: list[str]
    before: list[str]
    own: set[str]
    taken: Taken
    changes: list[Change] = field(default_factory=list)


async def _plan(
    ports: Ports, parts: Sequence[Ready], whole: str, there: Mapping[str, IndexedNote], joined: Mapping[str, str]
) -> _Plan:
    ids = [part.note.id for part in parts]
    past = await ports.index.read(lambda view: view.with_history(ids))
    before = _sections_of(await load_current(ports, there[ids[0]])) if ids[0] in there else []
    still = await ports.index.notes(each for each in before if each not in ids)
    taken = Taken(known=len(there.keys() & set(ids)))
    taken.missing = [each for each in before if each in still and not still[each].note.is_outdated]
    plan = _Plan(whole, ids[1:], before, {*ids, *before}, taken)
    for part in parts:
        known = there.get(part.note.id)
        if known is not None and _is_to_be_looked_at(plan, part, known):
            await _bring_up_to_date(ports, plan, part, await load_current(ports, known))
        elif known is None and (other := there.get(joined.get(part.note.id, ""))) is not None:
            await _set_apart(ports, plan, part, other)
        elif known is None and part.note.id in past:
            taken.gone.append(part.note.id)
        elif known is None:
            _add(plan, part)
    taken.known -= len(taken.updated)
    return plan


def _is_to_be_looked_at(plan: _Plan, part: Ready, known: IndexedNote) -> bool:
    """Whether a note may have to be changed: its text has changed, or the section before it or around it has."""
    is_anew = plan.before != plan.sections
    return known.note.content != part.note.content or bool(plan.changes) or is_anew


async def _bring_up_to_date(ports: Ports, plan: _Plan, part: Ready, stored: Stored) -> None:
    note, taken = stored.note, plan.taken
    came = await _text_that_came(ports, stored)
    is_other = note.content != part.note.content
    if not _is_as_it_came(note, came, plan.whole):
        taken.edited += [note.id] if is_other else []
        taken.both += [note.id] if is_other and came not in (None, digest(part.note.content)) else []
        return
    joined = [each for each in note.merged if is_other and not await ports.index.changes(each)]
    after = replace(
        note,
        content=part.note.content,
        connections=_links(note, part.note, plan.own),
        merged=tuple(each for each in note.merged if each not in joined),
    )
    data = _marked(plan, changed_document(stored.document, note, after).render(), after)
    if after == note and parse(data).values == stored.document.values:
        return
    if await _is_taken_back(ports, note, after, plan.own):
        taken.edited += [note.id] if is_other else []
        return
    after = replace(after, updated=max(ports.now, note.created))
    data = _marked(plan, changed_document(stored.document, note, after).render(), after)
    plan.changes.append(Change(stored, after, data))
    taken.updated.append(note.id)
    taken.apart += joined


def _is_as_it_came(note: Note, came: str | None, whole: str = "") -> bool:
    """Whether a note is current and has the text that came, or all of it where it came before as one note."""
    return (came == digest(note.content) or note.content == whole) and not note.is_outdated


async def joined_to(ports: Ports, ids: Sequence[str]) -> dict[str, str]:
    """By id the notes to which texts were joined when they came, since these said the same."""
    past = await ports.index.read(lambda view: view.with_history(ids) - view.notes(ids).keys())
    there = {each: await ports.index.matching(each, 1) for each in past if not await ports.index.changes(each)}
    return {each: found[0][0] for each, found in there.items() if found}


async def _set_apart(ports: Ports, plan: _Plan, part: Ready, other: IndexedNote) -> None:
    """Give a text that was joined to another note one of its own, where it is the text that has changed since."""
    stored, taken, note_id = await load_current(ports, other), plan.taken, part.note.id
    kept = tuple(each for each in stored.note.merged if each != note_id)
    if same_text(stored.note.content) == same_text(part.note.content) or len(kept) == len(stored.note.merged):
        taken.gone.append(note_id)
    elif not _is_as_it_came(stored.note, await _text_that_came(ports, stored)):
        taken.edited.append(note_id)
        taken.both.append(note_id)
        taken.known += 1
    else:
        plan.changes.append(Change(stored, replace(stored.note, merged=kept)))
        _add(plan, part)


def _add(plan: _Plan, part: Ready) -> None:
    plan.taken.fresh.append(part.note.id)
    plan.changes.append(Change(None, part.note, _marked(plan, part.raw, part.note)))


def _links(note: Note, arrived: Note, own: set[str]) -> tuple[Link, ...]:
    """The edges of a section as its text has them now, and those that it came to have here."""
    given = {(link.to, link.type): link for link in arrived.connections if link.reason not in AUTO_REASONS}
    kept = [
        link
        for link in note.connections
        if link.to not in own or link.type not in STRUCTURE or (link.to, link.type) in given
    ]
    there = {(link.to, link.type) for link in kept}
    return (*kept, *(link for key, link in given.items() if key not in there))


def _marked(plan: _Plan, data: bytes, note: Note) -> bytes:
    """A note's file with what a later import needs to know: the text that came; in that of the whole the sections."""
    values: dict[str, object] = {IMPORTED_TEXT: digest(note.content)}
    if note.id not in plan.sections:
        values[IMPORTED_SECTIONS] = plan.sections or None
    return parse(data).with_values(values).render()


def _sections_of(whole: Stored) -> list[str]:
    """The sections that came with the note of a whole; none where it came without."""
    sections = whole.document.values.get(IMPORTED_SECTIONS)
    return [each for each in sections if isinstance(each, str)] if isinstance(sections, list) else []


async def _text_that_came(ports: Ports, stored: Stored) -> str | None:
    """A hash of a note's text as it came; None where it is not known.

    An earlier build did not keep it in the note: it is that of the file that the import made, as long as that is kept.
    """
    came = stored.document.values.get(IMPORTED_TEXT)
    if came is not None:
        return str(came)
    made = [file for file in await _imports(ports, stored.note.id) if file.before is None]
    if not made:
        return None
    first = stored.note if made[0].after == stored.hash else await _version(ports, made[0], made[0].after)
    return digest(first.content) if first is not None else None


async def _is_taken_back(ports: Ports, note: Note, after: Note, own: Collection[str]) -> bool:
    """Whether an import would make of a note again what an earlier one made of it, and what was taken back since.

    Args:
        ports: storage and index.
        note: as it is.
        after: as it would be.
        own: the notes of the same text: edges to them are part of what it says.
    """
    back = {_said(note, own)}
    for file in reversed(await _imports(ports, note.id, undone=True)):
        before, made = await _version(ports, file, file.before), await _version(ports, file, file.after)
        if before is not None and made is not None and _said(before, own) in back:
            back.add(_said(made, own))
    return _said(after, own) in back - {_said(note, own)}


def _said(note: Note, own: Collection[str]) -> _Said:
    """What a note says, and how it is tied to the others of its text."""
    ties = ((link.to, link.type) for link in note.connections if link.to in own and link.type in STRUCTURE)
    return note.content, frozenset(ties)


async def _imports(ports: Ports, note_id: str, *, undone: bool = False) -> list[FileChange]:
    """What imports did to the file of a note, the last first; or only what of that is undone."""
    wanted = LinesWanted(MOST_IMPORTS, ops=[IMPORT_OP], notes=(note_id, note_id))
    rows = await look_back(ports, lambda view: view.lines(wanted))
    lines = await whole_lines(ports, [row for row in rows if row.undone_by or not undone])
    return [file for line in lines for file in line.record.files if file.note == note_id]


async def _version(ports: Ports, file: FileChange, version: str | None) -> Note | None:
    """A note as it was with this hash, which a later change has replaced; None where it is not kept."""
    try:
        past = await ports.store.past.replaced(replace(file, before=version, after=version)) if version else None
    except IntegrityError:
        return None
    return past.note if past else None
