"""What a hook is told where no server runs, or where one is still being started: from the index alone, by words.

The whole engine would have to be imported, and to compare the folder with its index, which takes several times as long
as a hook should. So the index is opened to be read, and a note is told only where its file is still the one that the
index knows; where one is not, or where there is no whole index of this version, `NotFromIndexError` says that the whole
engine has to be asked. Neither it, nor the framework, nor numpy is imported here.

What differs from a server's answer: notes are found by words alone, a question about a time is read as words, two
notes about one matter may both be told, and nothing is logged that could be rated.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from holdfast.encode.wordpiece import is_common, is_ordinary
from holdfast.engine.agent.doubting import with_doubts, worth_reading
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
from holdfast.errors import HoldfastError
from holdfast.index.current import (
    NOTHING_YET,
    Shown,
    add_shown,
    forget_shown,
    prepare_shown,
    read_shown,
    session_key,
    short_ids,
    shown_meanwhile,
    standing,
)
from holdfast.index.plain import Indexed, found_by_words, has_notes, indexed, known_files, known_marks, open_index
from holdfast.index.spelling import corrected, respelt
from holdfast.model.doubts import sought
from holdfast.model.identifiers import is_formed, seldom_of
from holdfast.model.lifecycle import standing as belief_standing
from holdfast.model.note import GLOBAL_SPACE, SELF_ID, Note
from holdfast.model.now import read_now
from holdfast.model.prompts import idle
from holdfast.model.ranking import LEVELLED, Question, levelled, rank
from holdfast.model.words import query_terms
from holdfast.settings import Settings, work_space
from holdfast.tools.fitting import hook_answer, new_mark, text_of

LONGEST_PAGE: Final = 1 << 20  # bytes of a NOW page
MOST_COMPARED: Final = 2_000  # files that are compared with the index one by one
LOG_SECONDS: Final = 0.5  # for another process that writes into the sessions' log
PRINCIPAL: Final = "local"  # of whoever is alone in a folder


class NotFromIndexError(Exception):
    """The index alone does not tell what is to be told."""


@dataclass(slots=True)
class _Asking:
    """A prompt on its way: where from, in which session, what that was shown, and what it is shown now.

    `is_blank`: the index holds no note, so that the session is shown its first notes later, when there are some.
    """

    settings: Settings
    space: str | None
    prompt: str
    seen: Shown
    now: str
    shown: dict[str, str] = field(default_factory=dict)
    is_blank: bool = False


def _always() -> bool:
    return True


def answering(settings: Settings) -> Callable[[Mapping[str, str], Callable[[], bool]], str | None]:
    """What answers hooks with these settings, and None to those that the whole engine has to answer."""

    def answer(given: Mapping[str, str], claim: Callable[[], bool]) -> str | None:
        try:
            return by_words(given, settings, claim)
        except (NotFromIndexError, HoldfastError, sqlite3.Error, OSError, ValueError):
            return None

    return answer


def by_words(given: Mapping[str, str], settings: Settings, claim: Callable[[], bool] = _always) -> str:
    """The answer to a hook; empty where there is nothing to say.

    Args:
        given: what the hook tells.
        settings: the memory's.
        claim: asked before what is told counts as shown: whether the answer is still waited for.

    Raises:
        NotFromIndexError: the index is not of this version or not whole, or a note was changed behind it, or nobody
            waits for the answer any more.
        HoldfastError: the package's own files cannot be read.
        sqlite3.Error: the index cannot be read.
    """
    if settings.store:
        raise NotFromIndexError("the memory is in a database")
    if not settings.home.is_dir() or settings.tenancy != "single":
        return ""
    event = filled(given.get("event"))
    with _session(settings.home, given.get("session_id", "")) as session:
        if event in COMPACTIONS:
            session.forget()
            return ""
        prompt = asked_in(given.get("prompt", ""))
        if not prompt:
            return ""
        folder = Path(filled(given.get("cwd")))
        space, _ = work_space(settings.space, folder if folder.is_absolute() else Path.cwd(), Path.home())
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}Z"
        asking = _Asking(settings, space, prompt, session.shown(), now)
        sections = _sections(asking)
        if not claim():
            raise NotFromIndexError("it took too long")
        if not asking.is_blank and shown_meanwhile(asking.seen, session.add(asking.shown, now), asking.shown):
            return ""
    text = text_of(sections, new_mark())
    return hook_answer(text, event or "UserPromptSubmit") if text else ""


def _sections(asking: _Asking) -> tuple[Section, ...]:
    path = asking.settings.home / ".holdfast" / "index.db"
    written = _written(path)  # before it is opened, which makes a log
    connection = open_index(path.absolute().as_uri())
    if connection is None:
        raise NotFromIndexError
    with closing(connection):
        _check_files(connection, asking.settings.home, written)
        asking.is_blank = not has_notes(connection)
        return (_later if asking.seen.begun else _first)(connection, asking)


def _check_files(connection: sqlite3.Connection, home: Path, written: int) -> None:
    """See that no note was put there or changed by hand after the index was written.

    To look at each file takes a hundredth of a second for a thousand, so that of a larger memory only the folders that
    have changed are looked at: see `_check_folders`.

    Raises:
        NotFromIndexError: one was.
    """
    known = known_marks(connection, MOST_COMPARED)
    if known is None:
        _check_folders(connection, home, written)
    elif any(known.get(path) != mark for path, mark in _marks(home / "memories")):
        raise NotFromIndexError


def _marks(memories: Path) -> Iterator[tuple[str, str]]:
    """Each note's file below a folder, as the index names it, and which version of it is there."""
    given, folders = len(str(memories)) + 1, [str(memories)]
    while folders:
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(".md"):
                    yield entry.path[given:].replace(os.sep, "/"), _mark_of(entry.path)


def _check_folders(connection: sqlite3.Connection, home: Path, written: int) -> None:
    """See that no note was put by hand into `memories/` or a folder directly below it after the index was written.

    Only folders that have changed since are listed. A note that was changed in place changes no folder: that is seen
    where it is told.

    Raises:
        NotFromIndexError: one was.
    """
    memories = home / "memories"
    with os.scandir(memories) as entries:
        folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    for name in ("", *folders):
        if _changed(memories / name) > written and _names(memories / name) - known_files(connection, name):
            raise NotFromIndexError


def _written(index: Path) -> int:
    """When an index was last written, in nanoseconds: it or its log; an empty log was made by one who reads."""
    log = Path(f"{index}-wal")
    with suppress(OSError):
        if log.stat().st_size:
            return max(_changed(index), _changed(log))
    return _changed(index)


def _changed(path: Path) -> int:
    """When it was changed, in nanoseconds; never where it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _names(folder: Path) -> set[str]:
    """The note files in a folder."""
    with os.scandir(folder) as entries:
        return {entry.name for entry in entries if entry.name.endswith(".md") and not entry.name.startswith(".")}


def _first(connection: sqlite3.Connection, asking: _Asking) -> tuple[Section, ...]:
    room = asking.settings.presence_tokens - FRAME_TOKENS
    where = asking.space or GLOBAL_SPACE
    own = standing(connection, "self", GLOBAL_SPACE, asking.now, MOST_STANDING)
    core = standing(connection, "core", where, asking.now, MOST_STANDING)
    ids = [note_id for note_id in dict.fromkeys([*own, *core]) if note_id != SELF_ID]
    short = short_ids(connection, ids)
    notes = indexed(connection, ids)
    kept = [entry_of_note(notes[each].note, short[each], digest_of(notes[each].note)) for each in ids if each in notes]
    sections = fitted("About the user, and what always holds", kept, int(room * STANDING_SHARE))
    _keep(asking, sections, notes)
    sections = (*sections, *_now_page(asking, room))
    left = room - sum(section.cost for section in sections)
    return (*sections, *_relevant(connection, asking, 0.0, MOST_HITS, left))


def _later(connection: sqlite3.Connection, asking: _Asking) -> tuple[Section, ...]:
    room = round(asking.settings.presence_tokens * LATER_SHARE) - FRAME_TOKENS
    return _relevant(connection, asking, asking.settings.presence_line, MOST_LATER, room)


def _relevant(
    connection: sqlite3.Connection, asking: _Asking, line: float, most: int, room: int
) -> tuple[Section, ...]:
    """The notes that fit the prompt, or of a paste what the asker says, but those that the session was shown."""
    if idle(asking.prompt) == "order":
        return ()
    sections = _fitting(connection, asking, line, most, room)
    own = "" if sections else own_words(asking.prompt)
    return _fitting(connection, replace(asking, prompt=own), line, most, room) if own else sections


def _fitting(connection: sqlite3.Connection, asking: _Asking, line: float, most: int, room: int) -> tuple[Section, ...]:
    strange = frozenset(term for term in query_terms(asking.prompt) if not is_ordinary(term))
    formed = frozenset(term for term in strange if is_formed(term, is_ordinary))
    slips = respelt(connection, asking.prompt, strange - formed)
    prompt, strange = corrected(asking.prompt, slips), strange - slips.keys()
    seldom = seldom_of(query_terms(prompt), is_common)
    found = found_by_words(connection, prompt, asking.now, strange | seldom)
    question = Question(prompt, asking.space, extraordinary=strange, formed=formed, seldom=seldom)
    ranked = [item for item in rank(found, question) if item.candidate.id != SELF_ID][:LEVELLED]
    notes = indexed(connection, [item.candidate.id for item in ranked])
    there, asked = [item for item in ranked if item.candidate.id in notes], sought(prompt)
    told = {end: notes[end].note for end in worth_reading(there, asked)}
    fitting = levelled(with_doubts(there, LEVELLED, told, asked, question))
    ids = [item.candidate.id for item in fitting if clears(item, asking.space, line)]
    known = {**asking.seen.texts, **asking.shown}
    fresh = [note_id for note_id in ids if known.get(note_id) != digest_of(notes[note_id].note)][:most]
    short = short_ids(connection, fresh)
    entries = [_entry(notes[note_id].note, asking, short[note_id]) for note_id in fresh]
    sections = fitted("For this prompt", entries, room)
    _keep(asking, sections, notes)
    return sections


def _entry(note: Note, asking: _Asking, short_id: str) -> Entry:
    belief = belief_standing(note.confidence, 0) if note.type == "belief" else ""
    return entry_of_hit(note, belief, asking.prompt, asking.space, short_id, digest_of(note))


def _keep(asking: _Asking, sections: tuple[Section, ...], notes: Mapping[str, Indexed]) -> None:
    """Count these as shown.

    Raises:
        NotFromIndexError: the file of one is not there, or is another than the index knows.
    """
    for entry in (entry for section in sections for entry in section.entries):
        item = notes[entry.id]
        if not item.mark or _mark_of(asking.settings.home / "memories" / item.path) != item.mark:
            raise NotFromIndexError
        asking.shown[entry.id] = entry.digest


def _mark_of(path: Path | str) -> str:
    """As `holdfast.store.filesystem.Signature.mark` has it; empty where there is no such file."""
    try:
        seen = os.lstat(path)
    except OSError:
        return ""
    return f"{seen.st_mtime_ns}.{seen.st_ctime_ns}.{seen.st_size}.{seen.st_ino}"


def _now_page(asking: _Asking, room: int) -> tuple[Section, ...]:
    """Where the project stands; nothing where nobody has written that down."""
    space = None if asking.space == GLOBAL_SPACE else asking.space
    path = asking.settings.home / (f"now/{space}.md" if space else "NOW.md")
    try:
        place = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(place, "rb") as file:  # noqa: PTH123 - a file that is open already
            text, changed = file.read(LONGEST_PAGE), os.fstat(place).st_mtime
    except OSError:
        return ()
    page = read_now(text.decode("utf-8", "surrogateescape"))
    if page.is_blank:
        return ()
    written = page.written or datetime.fromtimestamp(changed, UTC)
    return fitted(now_heading(written, space), [entry_of_now(page.now, int(room * NOW_SHARE))], room)


class _Session:
    """What the session was shown, in the log that servers keep too; without a log or a name nothing is known of it."""

    def __init__(self, connection: sqlite3.Connection | None, key: str) -> None:
        self._connection, self._key = connection, key

    def shown(self) -> Shown:
        found = read_shown(self._connection, self._key) if self._connection is not None else None
        return NOTHING_YET if found is None else Shown(begun=True, texts=found)

    def add(self, texts: Mapping[str, str], at: str) -> Mapping[str, str] | None:
        """What was known of the session before; None where it had not begun, or that cannot be said."""
        known = None
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("BEGIN IMMEDIATE")
                known = add_shown(self._connection, self._key, texts, at)
                self._connection.execute("COMMIT")
        return known

    def forget(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                forget_shown(self._connection, self._key)


@contextmanager
def _session(home: Path, name: str) -> Iterator[_Session]:
    path = home / ".holdfast" / "sessions.db"
    if not filled(name) or not path.parent.is_dir():
        yield _Session(None, "")
        return
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
    with closing(sqlite3.connect(path, timeout=LOG_SECONDS, isolation_level=None)) as connection:
        try:
            prepare_shown(connection)
        except sqlite3.Error:  # it is in use, or harmed: then a server makes it anew
            yield _Session(None, "")
            return
        yield _Session(connection, session_key(PRINCIPAL, filled(name)))
