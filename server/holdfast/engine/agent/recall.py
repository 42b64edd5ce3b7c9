"""recall: the notes that answer a question, or the word that there are none; and that maintenance is worthwhile.

Where nothing strong was found and the caller's own filters hide an answer, that is said: silence is not absence.

Maintenance is spoken of with an answer, once a day for a folder, and not for a few notes. It was last seen to when a
verdict was applied or a search for candidates found none: the last journal line with a key `maintenance`. What waits
are the notes that were stored since.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio

from holdfast.encode.provider import UNREAD
from holdfast.engine.agent.answer import Answer, Hit, Neighbour, Tension, answer
from holdfast.engine.agent.doubting import Reading
from holdfast.engine.agent.listing import Listing
from holdfast.engine.agent.question import (
    Asking,
    TimeWindow,
    browsing,
    checked_phrasings,
    in_english,
    kept_out_by,
    narrowed,
    odd_words,
    placed,
    read_phrasing,
    read_question,
    spelt,
    window_of,
)
from holdfast.engine.commit import (
    LARGEST_QUERY,
    check_count,
    check_offset,
    check_range,
    check_text,
    nearest_space,
    space_named,
    until,
    when,
    without_secrets,
)
from holdfast.engine.encoding import Beside, count_beside, count_unencoded, encode_beside, encode_together
from holdfast.engine.omi.beliefs import believed_first, standings
from holdfast.engine.ports import Caller, Ports
from holdfast.engine.state import Stages
from holdfast.errors import EncoderError, InvalidArgumentError, StorageError
from holdfast.index.projection import Update
from holdfast.index.recalls import EVENT_PREFIX
from holdfast.index.view import IndexView
from holdfast.model.identifiers import content_of, shows_another_language, units_of, without_names
from holdfast.model.lifecycle import MemoryRecalledEvent
from holdfast.model.note import GLOBAL_SPACE, NOTE_TYPES, PREFIX, TIERS, Note, moment, note_id
from holdfast.model.passages import Budget, budget_of, most_of_each, passage
from holdfast.model.prompts import is_no_question
from holdfast.model.ranking import WEIGHTS, Filter, QueryVector, Weights
from holdfast.model.records import MAINTENANCE, JournalRecord, Maintained, RecallEvent
from holdfast.model.when.spans import named
from holdfast.model.words import counted, folded, query_terms

LEAST = 20  # notes; fewer are not worth a word
MOST_COUNTED = 1000
_SECOND = 1000  # milliseconds: the journal tells whole seconds, and what was stored in that one was there to see


async def due_notice(ports: Ports) -> str:
    """A sentence, or nothing."""
    today = ports.now[:10]
    if ports.due.rests(today):
        return ""
    ports.due.looked_at = time.monotonic()
    waiting = await ports.index.read(waiting_notes)
    if waiting < LEAST:
        return ""
    ports.due.reminded_on = today
    try:
        if not await _is_first(ports, today):
            return ""
    except StorageError:  # no answer fails for that; nobody else may have said it, so it is asked again
        ports.due.reminded_on = ""
        return ""
    many = f"{waiting:,} or more" if waiting == MOST_COUNTED else str(waiting)
    return (
        f"Maintenance is worthwhile: {many} notes were stored since it was last done; run_maintenance when convenient."
    )


async def _is_first(ports: Ports, today: str) -> bool:
    """Whether no process of this memory said it today."""
    if ports.fleet is not None:
        return await ports.fleet.reminders.tell_today(MAINTENANCE, today)
    return await ports.index.tell_once(f"{MAINTENANCE} {today}")


def waiting_notes(view: IndexView) -> int:
    """How many notes were stored since the last maintenance, counted up to a bound."""
    _, runs = view.job_runs(MAINTENANCE)
    first = note_id(round(moment(runs[0].at).timestamp() * 1000) + _SECOND, 0) if runs else ""
    return view.count_behind(first, MOST_COUNTED)


async def mark_maintained(ports: Ports, caller: Caller, batch_id: str | None) -> None:
    """Tell the journal that maintenance was seen to: a batch was judged, or there was nothing to judge.

    Nothing is told where no note was stored since; the line is not flushed, for it only saves a notice.

    Raises:
        StorageError: the journal cannot be written.
    """
    if not await ports.index.read(waiting_notes):
        return
    said = Maintained(batch_id)
    line = JournalRecord(MAINTENANCE, ports.now, caller.principal, caller.source, maintenance=said)
    line = replace(line, seq=await ports.store.record(line, flush=False))
    await ports.index.apply(Update(records=[line]))


_LIKE, _MUCH_LIKE = 0.6, 0.75  # the least similarity of two names of spaces, as difflib measures it
_LONGEST_TITLE = 80


def hidden_notices(view: IndexView, asking: Asking, found: Answer, space: str | None) -> tuple[list[str], str]:
    """What to tell of an answer without a strong hit: spaces that hold nothing, and the best note that a filter hides.

    Where a hit is strong, only of spaces whose name is nearly another's; nothing where nothing was looked for. With it
    where nothing relevant is, if a filter hides some. `space` is the caller's.
    """
    is_listed = found.listing is not None and found.listing.total > 0
    is_answered = is_listed or any(not hit.ranked.weak for hit in found.hits)
    if asking.idle == "empty" or (is_answered and not asking.wanted.spaces):
        return [], ""
    spaces = view.spaces()
    if is_answered:
        misspelt = [name for name in asking.wanted.spaces if nearest_space(name, spaces, _MUCH_LIKE)]
        return list(filter(None, (_unknown_space(name, spaces) for name in misspelt))), ""
    notices = [_unknown_space(name, spaces) for name in asking.wanted.spaces]
    notices.append(_unknown_place(asking, spaces))
    if (asking.wanted.after or "") > (asking.wanted.before or "~"):
        notices.append("created_after is later than created_before: no note is from then. Swap them.")
    everywhere = Filter(asking.wanted.now, include_outdated=True)
    hidden = None
    if not asking.is_browsing and asking.wanted != everywhere and view.hides(asking.wanted):
        hidden = _hidden(view, asking, space, weak=not found.hits)
        notices.append(_left_out(hidden, asking.wanted) if hidden else "")
    lacking = _lacking(hidden.note, asking.wanted) if hidden else ""
    return [notice for notice in notices if notice], lacking


def _unknown_space(name: str, spaces: Sequence[str]) -> str:
    if name in spaces or name == GLOBAL_SPACE:
        return ""
    near = nearest_space(name, spaces, _LIKE)
    nearest = f' The nearest is "{near}".' if near else ""
    return f'No note is in the space "{name}".{nearest}'


def _unknown_place(asking: Asking, spaces: Sequence[str]) -> str:
    """The same for the space that a list is asked of, as in "decisions in harbuor": only where one is much like it."""
    place = asking.intent.place if asking.intent and asking.intent.kind == "list" else ()
    name = "-".join(place)
    near = nearest_space(name, spaces, _MUCH_LIKE)
    is_whole = near and set(folded(near).split("-")) <= set(map(folded, place))  # "led tollgate" is no slip of it
    return _unknown_space(name, spaces) if near and not is_whole else ""


def _hidden(view: IndexView, asking: Asking, space: str | None, *, weak: bool) -> Hit | None:
    """What would come first without the caller's filter, where that keeps it out; a weak one only where it is wanted.

    What is outdated only where nothing else is hidden.
    """
    question = replace(asking.question, space=space)
    free = replace(asking, question=question, time=None, window=None, open=False)
    for outdated in dict.fromkeys((asking.wanted.include_outdated, True)):
        everywhere = Filter(asking.wanted.now, include_outdated=outdated)
        best = answer(view, replace(free, wanted=everywhere), 1, explain=False, only_strong=not weak).hits
        if best and (weak or not best[0].ranked.weak) and any(kept_out_by(best[0].note, asking.wanted)):
            return best[0]
    return None


def _left_out(hidden: Hit, wanted: Filter) -> str:
    note = hidden.note
    what = f"A weak match ({hidden.ranked.relevance:.2f})" if hidden.ranked.weak else "A relevant note"
    sentence = f"{what} is left out by {' and '.join(kept_out_by(note, wanted))}: {note.id}"
    is_said = note.is_current(wanted.now)  # what is not true is not said again
    return f"{sentence} {title_in_notice(note)}" if is_said else sentence


def _lacking(note: Note, wanted: Filter) -> str:
    """Of what it is true that nothing relevant is in it, where this note is kept out: of a space, or of a filter."""
    names = [reason.split(" ")[0] for reason in kept_out_by(note, wanted)]
    if names == ["spaces"]:
        them = "the space" if len(wanted.spaces) == 1 else "the spaces"
        return f"Nothing relevant is in {them} {' and '.join(wanted.spaces)}."
    if names == ["being"]:
        return "Nothing relevant is current."
    return f"Nothing relevant passes the filter by {' and '.join(name for name in names if name != 'being')}."


def title_in_notice(note: Note) -> str:
    """The title, or what it begins with."""
    return note.title if len(note.title) <= _LONGEST_TITLE else note.title[:_LONGEST_TITLE] + "…"


LARGEST_LIMIT = 50
LONGEST_PATH, CUT = 400, 100  # of a file's name in a notice


@dataclass(frozen=True, slots=True)
class Recall:
    """A question and what may answer it: where it is blank or `*`, all that the filters let through, in order of time.

    Empty filters do not restrict; `offset` is how many hits are left out before the first; `budget` is in tokens of
    each form. `also` is the question in other words, at most three times; alone, the first of these is the question.
    """

    query: str = ""
    limit: int = 10
    types: Sequence[str] = ()
    spaces: Sequence[str] = ()
    tags: Sequence[str] = ()
    tiers: Sequence[str] = ()
    created_after: str | None = None
    created_before: str | None = None
    include_outdated: bool = False
    budget: int | None = None
    explain: bool = False
    also: Sequence[str] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer as it was found; what is told of it fits `budget`.

    `after` and `before` are the time that it was looked for in, None where that was open. `listing` says what the hits
    are some of, where a list was asked for; `passed` is how many were left out before them. With `explained` all that
    is known of each hit is wanted. `given` is the time that the caller's arguments set. `lacking` is a sentence that
    says where nothing relevant is, if not in all of the memory.
    """

    hits: tuple[Hit, ...]
    related: tuple[Neighbour, ...]
    tensions: tuple[Tension, ...]
    budget: Budget
    after: str | None
    before: str | None
    event_id: str
    notices: tuple[str, ...]
    listing: Listing | None = None
    explained: bool = False
    passed: int = 0
    given: tuple[str | None, str | None] = (None, None)
    lacking: str = ""


async def recall(ports: Ports, caller: Caller, request: Recall, weights: Weights = WEIGHTS) -> Recalled:
    """Find notes by words, meaning and time. Other weights than the measured ones are for benches.

    Raises:
        InvalidArgumentError: an argument is out of its range.
    """
    wanted = _filter(ports, request)
    budget = budget_of(request.budget, request.limit)
    stages = Stages()
    query, also = _question_of(request)
    asking, notice = await asked(ports, query, wanted, caller, stages, also)
    whole = replace(asking, weights=weights)

    def read(view: IndexView) -> tuple[Answer, list[str], str]:
        found = answer(view, whole, request.limit, explain=request.explain, offset=request.offset)
        if found.listing is None and any(hit.note.type == "belief" for hit in found.hits):
            order = believed_first([(hit.note, hit.ranked) for hit in found.hits])
            found = replace(found, hits=tuple(found.hits[place] for place in order))
        hidden, lacking = hidden_notices(view, asking, found, caller.space)
        found = _without_lost(view, replace(found, hits=with_passages(found.hits, _looked_for(asking), budget)))
        return found, [*hidden, *standing_notices(view, ports, asking.vector)], lacking

    found, standing, lacking = await ports.index.read(read)
    stages.ended("search")
    shown = [(hit.note.id, hit.ranked.relevance) for hit in found.hits]
    shown += [(item.note.id, 0.0) for item in found.related]
    event, unrated = await kept_event(ports, caller, asking, shown)
    stages.ended("keep")
    stages.tell("recalled", hits=len(found.hits), related=len(found.related))
    held = [hit.note for hit in found.hits if hit.note.type == "belief"]
    beliefs = await standings(ports, held) if held else {}
    hits = tuple(replace(hit, belief=beliefs.get(hit.note.id, "")) for hit in found.hits)
    tip = await ports.tips.take(ports.index)
    due = await due_notice(ports)
    said = (*reading_of(asking, found), notice, *standing, unrated, tip, due)
    notices = tuple(text for text in said if text)
    after, before = _span(wanted, found.window)
    beside, pairs, listing = found.related, found.tensions, found.listing
    given, explained, passed = (wanted.after, wanted.before), request.explain, found.passed
    outcome = Recalled(hits, beside, pairs, budget, after, before, event, notices, listing, explained, passed, given)
    return replace(outcome, lacking=lacking)


def _without_lost(view: IndexView, found: Answer) -> Answer:
    """The answer without the ids of successors that are gone: none of its notes leads there."""
    notes = [hit.note for hit in found.hits] + [item.note for item in found.related]
    notes += [item.note for hit in found.hits for item in hit.earlier]
    lost = view.lost_successors(replaced) if (replaced := [note.id for note in notes if note.superseded_by]) else ()
    if not lost:
        return found

    def told(note: Note) -> Note:
        return replace(note, superseded_by="") if note.id in lost else note

    hits = (
        replace(hit, note=told(hit.note), earlier=tuple(replace(item, note=told(item.note)) for item in hit.earlier))
        for hit in found.hits
    )
    related = tuple(replace(item, note=told(item.note)) for item in found.related)
    return replace(found, hits=tuple(hits), related=related)


def _question_of(request: Recall) -> tuple[str, tuple[str, ...]]:
    """The question, and it in other words; where only these are given, the first of them is the question."""
    also = checked_phrasings(request.query, request.also)
    phrasings = [text for text in also if not is_no_question(text)]
    if not phrasings or not is_no_question(request.query):
        return request.query, also
    return phrasings[0], checked_phrasings(phrasings[0], phrasings[1:])


async def asked(
    ports: Ports, query: str, wanted: Filter, caller: Caller, stages: Stages, also: Sequence[str] = ()
) -> tuple[Asking, str]:
    """The question as it was read, with its time and its vector, and a notice where it should have one and has none.

    `also` is the question in other words; they are encoded together with it.
    """
    if is_no_question(query):
        return browsing(query, wanted), ""
    size = len(query) + sum(map(len, also))

    def read() -> Asking:
        asking = read_question(ports, query, wanted, caller.space)
        english = in_english(asking)
        phrasings = tuple(read_phrasing(ports, text) for text in (*also, *english))
        return replace(asking, also=phrasings, by_name=bool(english))

    asking = await ports.computing.run(caller.principal, size, read)

    def look(view: IndexView) -> tuple[Asking, list[list[str]], TimeWindow | None]:
        slips = view.respelt(asking.text, odd_words(asking))
        read = spelt(asking, slips) if slips else asking
        return read, _subjects(view, read), window_of(view, read)

    asking, subjects, window = await ports.index.read(look)

    def place() -> tuple[Asking, list[str]]:
        whole = placed(asking, window)
        return whole, [without_names(text, names) for text, names in zip(_texts(whole), subjects, strict=True)]

    asking, plain = await ports.computing.run(caller.principal, size, place)
    stages.ended("read")
    ((vector, notice), vectors), second = await _encoded(ports, plain)
    stages.ended("encode")
    phrasings = tuple(replace(each, vector=made) for each, made in zip(asking.also, vectors, strict=True))
    asking = replace(asking, vector=vector, also=phrasings)
    if ports.beside is not None:
        asking, notice = _also_beside(asking, notice, second)
    return await _to_be_read(ports, asking, notice)


async def _to_be_read(ports: Ports, asking: Asking, notice: str) -> tuple[Asking, str]:
    """The question with what reads it with a note, where that can tell something, and the notice."""
    if ports.answers is None or asking.vector is None or not asking.may_be_read:
        return asking, notice
    try:
        questions, answers = tuple(dict.fromkeys((asking.query, *_texts(asking)[1:]))), await ports.answers.loaded()
    except EncoderError as error:
        return asking, " ".join(filter(None, (notice, _unread(error.sentence))))
    return replace(asking, reading=Reading(questions, answers, content_of(asking.text), asking.asks)), notice


async def _encoded(
    ports: Ports, texts: Sequence[str]
) -> tuple[tuple[tuple[QueryVector | None, str], list[QueryVector | None]], Beside]:
    """The texts in the set of the settings, and at the same time in the one beside it."""
    if ports.beside is None:
        return await encode_together(ports, texts[0], texts[1:]), Beside()
    found: list[Beside] = []

    async def encode() -> None:
        found.append(await encode_beside(ports, texts))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(encode)
        first = await encode_together(ports, texts[0], texts[1:])
    return first, found[0]


def _also_beside(asking: Asking, notice: str, second: Beside) -> tuple[Asking, str]:
    """The question with its vector of the second set, which reads what the first one does not."""
    if asking.vector is None and UNREAD not in notice:  # it is beside the other, never in its place
        return asking, notice
    if (vector := second.of(0)) is None:
        return asking, " ".join(filter(None, (notice, second.notice)))
    one_language = asking.question.one_language

    def marked(made: QueryVector | None, text: str) -> QueryVector | None:
        return replace(made, is_read=not (one_language and shows_another_language(text))) if made else None

    also = (
        replace(each, vector=marked(each.vector, each.text), beside=second.of(place))
        for place, each in enumerate(asking.also, 1)
    )
    first, question = marked(asking.vector, asking.query), replace(asking.question, one_language=False)
    return replace(asking, question=question, vector=first, beside=vector, also=tuple(also)), ""


def _texts(asking: Asking) -> list[str]:
    return [asking.text, *(each.text for each in asking.also)]


WEAK_PASSAGE: Final = 40
FRAME_TOKENS: Final = 120  # of an answer's text beside its hits
ENTRY_TOKENS: Final = 45  # what a hit's own line costs
MOST_TERMS: Final = 64  # of a question, that a passage is looked for by


def with_passages(hits: Sequence[Hit], terms: Sequence[str], budget: Budget) -> tuple[Hit, ...]:
    """The hits with what is shown of each: short notes whole, of long ones what answers, of weak ones a line."""
    strong = [hit.note.content for hit in hits if not hit.ranked.weak]
    most = most_of_each(strong, budget.passage, budget.text - FRAME_TOKENS - ENTRY_TOKENS * len(strong))
    rooms = (min(WEAK_PASSAGE, most) if hit.ranked.weak else most for hit in hits)
    asked = tuple(terms[:MOST_TERMS])
    return tuple(
        replace(hit, shown=passage(hit.note.content, asked, room), terms=asked)
        for hit, room in zip(hits, rooms, strict=True)
    )


def _looked_for(asking: Asking) -> list[str]:
    """The words that a passage is looked for by; of an identifier those of every spelling that a note may have."""
    texts = _texts(asking)
    spelt = [sorted(unit.terms) for text in texts for unit in units_of(text) if unit.kind == "identifier"]
    words = query_terms(" ".join((*texts, asking.time.words if asking.time else "")))
    return list(dict.fromkeys((*itertools.chain.from_iterable(spelt), *words)))


def _subjects(view: IndexView, asking: Asking) -> list[list[str]]:
    """For the question and each other phrasing of it the subjects that it names."""
    return [view.subjects(query_terms(text)) for text in _texts(asking)]


def _span(wanted: Filter, window: TimeWindow | None) -> tuple[str | None, str | None]:
    """The time that the arguments and the question leave together; where they leave none, that of the arguments."""
    both = narrowed(wanted, window.after, window.before) if window else wanted
    if both.after and both.before and both.after > both.before:
        both = wanted
    return both.after, both.before


async def kept_event(
    ports: Ports, caller: Caller, asking: Asking, shown: Sequence[tuple[str, float]]
) -> tuple[str, str]:
    """Keep a recall for feedback; its query passes the same gate as a note. Its id, and a notice where that failed."""
    query = await without_secrets(ports, caller.principal, asking.query)
    event_id = EVENT_PREFIX + ports.new_id().removeprefix(PREFIX)
    event = RecallEvent(event_id, ports.now, query, caller.space, tuple(shown), principal=caller.principal)
    if asking.vector is not None:
        event = replace(event, vector_set=asking.vector.key, vector=asking.vector.vector)
    ports.events.publish(as_event(event))
    is_kept = await ports.recalls.add(event) or ports.reading_notice
    return event_id, "" if is_kept else "This recall was not kept, so it cannot be rated later."


def as_event(event: RecallEvent) -> MemoryRecalledEvent:
    """For those who listen: what answered, without the neighbours, which have no relevance of their own."""
    best = tuple({"memory_id": note_id, "score": round(worth, 4)} for note_id, worth in event.shown if worth > 0)
    return MemoryRecalledEvent(event.query, len(best), best, timestamp=event.at)


def _filter(ports: Ports, request: Recall) -> Filter:
    check_text("query", request.query.replace("\0", " "), LARGEST_QUERY)
    check_range("limit", request.limit, LARGEST_LIMIT)
    check_offset(request.offset)
    if request.budget is not None and request.budget < 1:
        raise InvalidArgumentError("budget is below 1 token.")
    for name, values in (("spaces", request.spaces), ("tags", request.tags)):
        check_count(name, values)
    _known("types", request.types, NOTE_TYPES)
    _known("tiers", request.tiers, TIERS)
    return Filter(
        now=ports.asked,
        spaces=tuple(space_named("spaces", name) for name in request.spaces),
        types=tuple(request.types),
        tiers=tuple(request.tiers),
        tags=tuple(" ".join(tag.split()) for tag in request.tags),  # as they are stored
        after=when("created_after", request.created_after),
        before=until("created_before", request.created_before),
        include_outdated=request.include_outdated,
    )


def _known(name: str, values: Sequence[str], allowed: Sequence[str]) -> None:
    if any(value not in allowed for value in values):
        raise InvalidArgumentError(f"{name} has an unknown entry.", f"Use {', '.join(allowed)}.")


def reading_of(asking: Asking, found: Answer) -> list[str]:
    """How the question was taken, where that is not plain from the answer."""
    if found.passed and not found.hits:
        return [f"This offset is behind the last: {counted(found.passed, 'note')} fitted."]
    if found.listing is not None:
        return [*_anchored(asking.window), *_more_elsewhere(found.listing)]
    if asking.idle == "empty":
        return ["The question names nothing that a note could be about, so nothing was looked for."]
    vacant = [found.vacant] if found.vacant else []
    unread = [_unread(failure) for failure in asking.reading.failures[:1]] if asking.reading else []
    return [*_spelling(asking), *vacant, *time_read(asking, found), *unread]


def _unread(why: str) -> str:
    return f"Answers were not read with the question: {why}"


def _spelling(asking: Asking) -> list[str]:
    """How a question was read in which words were corrected: a short one whole."""
    if not asking.slips:
        return []
    if len(asking.query) <= _LONGEST_TITLE:
        return [f'Read as: "{" ".join(asking.query.split())}".']
    return [f"Read {', '.join(f'{slip} as {word}' for slip, word in asking.slips.items())}."]


def _more_elsewhere(listing: Listing) -> list[str]:
    """How many notes more there would be on a list, were it not of the current project alone."""
    others = listing.elsewhere
    if others is None:
        return []
    more = "or more" if others.capped else "more"
    return [f'{others.total:,} {more} in other projects; ask "in all projects" for them.']


def time_read(asking: Asking, found: Answer) -> list[str]:
    """How the question's time was taken, where that is not plain from the window; and that nothing is planned then."""
    window = asking.window
    if window is None:
        return []
    if asking.intent is not None and asking.intent.planned and not any(not hit.ranked.weak for hit in found.hits):
        return [f"No note says that anything is planned for {named(window.days)}."]
    notices = _anchored(window)
    if asking.of_now and found.hits and found.hits[0].note.event_time is None:  # what holds now holds then, too
        return notices
    if found.elsewhen and any(window.holds(hit.note.happened) for hit in found.hits):
        notices.append(f'What is from "{window.words}" fits less; the best of these notes are from other times.')
    elif found.elsewhen:
        notices.append(f'Nothing that fits is from "{window.words}"; these notes are from other times.')
    elif not found.hits:
        notices.append(f'Nothing that fits is from "{window.words}".')
    return notices


def _anchored(window: TimeWindow | None) -> list[str]:
    """Which note tells when it was that the question speaks of."""
    return [f'"{window.words}" was read by the time of {window.event}.'] if window and window.event else []


def standing_notices(view: IndexView, ports: Ports, vector: QueryVector | None) -> list[str]:
    """Warnings that make this answer incomplete: unread notes, unencoded notes, quarantined files."""
    notices = [ports.reading_notice] if ports.reading_notice else []
    pending = count_unencoded(view, ports, vector)
    if pending:
        these = "1 note has" if pending == 1 else f"{pending} notes have"
        notices.append(f"{these} no vector yet (pending): found by words until then.")
    if lacking := count_beside(view, ports):
        these = "1 note has" if lacking == 1 else f"{lacking:,} notes have"
        notices.append(f"{these} no multilingual vector yet (pending): less is found across languages.")
    problems = view.problems()
    if problems:
        path, reason = problems[0]
        more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
        notices.append(f"Quarantined, not searched: {_shown(path)} ({reason}){more}.")
    return notices


def _shown(path: str) -> str:
    """A file's name on one line, the middle of a very long one left out."""
    name = path if path.isprintable() else path.encode("unicode_escape").decode()
    return f"memories/{name}" if len(name) <= LONGEST_PATH else f"memories/{name[:CUT]}...{name[-CUT:]}"
