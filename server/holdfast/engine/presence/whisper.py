"""whisper: what a session is told without having asked. Once with its first prompt, and then only what matters much.

The first prompt brings what is known of the user, where the project stands, and the notes that fit the prompt. Later
prompts bring a note only if it clears a high line and the session has not been shown it. Small talk brings nothing. All
notes come from the one recall; what is shown is logged so that it can be rated, and nothing else is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import anyio

from holdfast.engine.agent.answer import Answer, Hit, answer
from holdfast.engine.agent.question import Asking
from holdfast.engine.agent.recall import asked, kept_event
from holdfast.engine.omi.beliefs import standings
from holdfast.engine.omi.now import now_read
from holdfast.engine.ports import Caller, Ports, Presence
from holdfast.engine.presence.entries import (
    COMPACTIONS,
    FRAME_TOKENS,
    LATER_SHARE,
    MOST_HITS,
    MOST_LATER,
    MOST_STANDING,
    NOW_SHARE,
    STANDING_SHARE,
    Entry,
    Section,
    asked_in,
    clears,
    digest_of,
    entry_of_hit,
    entry_of_note,
    entry_of_now,
    filled,
    fitted,
    now_heading,
    own_words,
)
from holdfast.engine.state import Stages
from holdfast.errors import StorageError
from holdfast.index.current import NOTHING_YET, Shown, session_key, shown_meanwhile
from holdfast.index.view import IndexView
from holdfast.model.note import GLOBAL_SPACE, SELF_ID
from holdfast.model.ranking import Filter

ENCODER_SECONDS: Final = 0.1  # for an encoder that is being loaded
MEANING_SECONDS: Final = 0.2  # for the search with it; then words alone decide
FEWEST_WAITING: Final = 20  # turns; fewer are not worth a word


@dataclass(frozen=True, slots=True)
class Whisper:
    """What a hook tells: the prompt, which session it is of, and which event called the hook.

    Without a session nothing is remembered of what was shown.
    """

    prompt: str
    session: str = ""
    event: str = "UserPromptSubmit"


@dataclass(frozen=True, slots=True)
class Whispered:
    """What the session is to know, in sections that stand in this order; with none, `silent` says why."""

    sections: tuple[Section, ...] = ()
    silent: str = ""
    event_id: str = ""


async def whisper(ports: Ports, caller: Caller, request: Whisper) -> Whispered:
    """What to add to a prompt.

    Raises:
        HoldfastError: as recall does.
    """
    presence = ports.presence
    if presence is None:
        return Whispered(silent="presence is off")
    session, event = filled(request.session), filled(request.event)
    key = session_key(caller.principal, session) if session else ""
    if event in COMPACTIONS:
        if key:
            await presence.sessions.forget(key)
        return Whispered(silent="the session begins anew")
    prompt = asked_in(request.prompt)
    if not prompt:
        return Whispered(silent="the prompt asks for nothing")
    seen = await presence.sessions.shown(key) if key else NOTHING_YET
    said = await (_later if seen.begun else _first)(ports, caller, presence, prompt, seen)
    if key:
        texts = {entry.id: entry.digest for section in said.sections for entry in section.entries if entry.id}
        if shown_meanwhile(seen, await presence.sessions.add(key, texts, ports.now), texts):
            return Whispered(silent="another hook of this session was answered at the same time")
    return said


async def brief(ports: Ports, caller: Caller, tokens: int) -> Whispered:
    """What a session in the caller's space should know before anything is asked."""
    room = tokens - FRAME_TOKENS
    ids, sections = await _standing_sections(ports, caller, room)
    left = room - sum(section.cost for section in sections)

    def recent(view: IndexView) -> list[Entry]:
        found = view.standing("recent", caller.space or GLOBAL_SPACE, ports.now, MOST_STANDING)
        return _entries(view, [note_id for note_id in found if note_id not in ids])

    latest = fitted("The latest notes", await ports.index.read(recent), left)
    return Whispered((*sections, *latest))


async def _first(ports: Ports, caller: Caller, presence: Presence, prompt: str, _seen: Shown) -> Whispered:
    room = presence.tokens - FRAME_TOKENS
    ids, sections = await _standing_sections(ports, caller, room)
    left = room - sum(section.cost for section in sections)
    asking, found = await _searched(ports, caller, prompt, MOST_HITS + len(ids))
    hits = [hit for hit in found.hits if clears(hit.ranked, caller.space, 0.0) and hit.note.id not in ids][:MOST_HITS]
    relevant = await _relevant(ports, asking, hits, left)
    sections = (*sections, *relevant)
    if sections:
        sections = (*sections, *await _waiting(ports, left - sum(section.cost for section in relevant)))
    if not sections:
        return Whispered(silent="nothing is stored that belongs here")
    return Whispered(sections, event_id=await _logged(ports, caller, asking, hits, relevant))


async def _waiting(ports: Ports, room: int) -> tuple[Section, ...]:
    """Once a day for a folder: that turns of earlier sessions wait for an agent to distil them."""
    with suppress(StorageError):  # no prompt goes without an answer for that
        waiting = await ports.transcripts.waiting() if ports.transcripts is not None else 0
        said = f"run_maintenance: {waiting:,} turns of earlier sessions wait to be distilled"
        section = fitted("When convenient", [Entry("", said)], room) if waiting >= FEWEST_WAITING else ()
        if section and await ports.index.tell_once(f"distil {ports.now[:10]}"):
            return section
    return ()


async def _later(ports: Ports, caller: Caller, presence: Presence, prompt: str, seen: Shown) -> Whispered:
    asking, found = await _searched(ports, caller, prompt, MOST_HITS)
    if asking.question.is_order or found.listing is not None:
        return Whispered(silent="the prompt names nothing in particular")
    hits = [hit for hit in found.hits if clears(hit.ranked, caller.space, presence.line) and _is_new(hit, seen.texts)]
    if not hits:
        return Whispered(silent="nothing new is relevant enough")
    hits = hits[:MOST_LATER]
    relevant = await _relevant(ports, asking, hits, round(presence.tokens * LATER_SHARE) - FRAME_TOKENS)
    return Whispered(relevant, event_id=await _logged(ports, caller, asking, hits, relevant))


def _is_new(hit: Hit, shown: Mapping[str, str]) -> bool:
    return shown.get(hit.note.id) != digest_of(hit.note)


async def _searched(ports: Ports, caller: Caller, prompt: str, limit: int) -> tuple[Asking, Answer]:
    """The recall of a prompt: by meaning too where that takes no time, else by words."""
    if ports.presence is not None and await ports.presence.warmth.is_ready(ENCODER_SECONDS):
        with anyio.move_on_after(MEANING_SECONDS):
            return await _answered(ports, caller, prompt, limit)
    return await _answered(replace(ports, encoder=None), caller, prompt, limit)


async def _answered(ports: Ports, caller: Caller, prompt: str, limit: int) -> tuple[Asking, Answer]:
    """The answer to a prompt; where nothing in it is strong, and it is a paste, to what the asker says beside that."""
    found = await _answer(ports, caller, prompt, limit)
    own = own_words(prompt) if all(hit.ranked.weak for hit in found[1].hits) else ""
    return await _answer(ports, caller, own, limit) if own else found


async def _answer(ports: Ports, caller: Caller, prompt: str, limit: int) -> tuple[Asking, Answer]:
    asking, _ = await asked(ports, prompt, Filter(now=ports.now), caller, Stages())
    return asking, await ports.index.read(lambda view: answer(view, asking, limit, explain=False))


async def _relevant(ports: Ports, asking: Asking, hits: Sequence[Hit], room: int) -> tuple[Section, ...]:
    if not hits:
        return ()
    short = await ports.index.read(lambda view: view.short_ids([hit.note.id for hit in hits]))
    held = await standings(ports, [hit.note for hit in hits])
    where = asking.question.space
    entries = [
        entry_of_hit(hit.note, held.get(hit.note.id, ""), asking.text, where, short[hit.note.id], digest_of(hit.note))
        for hit in hits
    ]
    return fitted("For this prompt", entries, room)


async def _logged(
    ports: Ports, caller: Caller, asking: Asking, hits: Sequence[Hit], sections: Sequence[Section]
) -> str:
    """Log what was shown, as a recall that can be rated; the event's id, empty where nothing was."""
    shown = {entry.id for section in sections for entry in section.entries}
    rated = [(hit.note.id, hit.ranked.relevance) for hit in hits if hit.note.id in shown]
    return (await kept_event(ports, caller, asking, rated))[0] if rated else ""


async def _standing_sections(ports: Ports, caller: Caller, tokens: int) -> tuple[set[str], tuple[Section, ...]]:
    """What is known of the user, with the core notes, and the NOW page; and the ids of those notes that are shown."""

    def read(view: IndexView) -> list[Entry]:
        own = view.standing("self", GLOBAL_SPACE, ports.now, MOST_STANDING)
        core = view.standing("core", caller.space or GLOBAL_SPACE, ports.now, MOST_STANDING)
        return _entries(view, [note_id for note_id in dict.fromkeys([*own, *core]) if note_id != SELF_ID])

    standing = fitted(
        "About the user, and what always holds", await ports.index.read(read), int(tokens * STANDING_SHARE)
    )
    now = await now_read(ports, caller)
    page = (
        fitted(now_heading(now.timestamp, caller.space), [entry_of_now(now.now, int(tokens * NOW_SHARE))], tokens)
        if now
        else ()
    )
    return {entry.id for section in standing for entry in section.entries}, (*standing, *page)


def _entries(view: IndexView, ids: Sequence[str]) -> list[Entry]:
    notes, short = view.notes(ids), view.short_ids(list(ids))
    return [
        entry_of_note(notes[note_id].note, short[note_id], digest_of(notes[note_id].note))
        for note_id in ids
        if note_id in notes
    ]
