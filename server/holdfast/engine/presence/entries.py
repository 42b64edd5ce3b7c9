"""Which prompts a whisper answers, what of them it looks at, how relevant a note must be, and how it is shown.

Only `model` is imported: where no server runs, the command of a hook waits for this import.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

from holdfast.model.note import GLOBAL_SPACE, Note
from holdfast.model.now import Now
from holdfast.model.passages import LEFT_OUT, first_sentence, passage, without_private
from holdfast.model.prompts import idle, is_no_question
from holdfast.model.ranking import Ranked
from holdfast.model.tokens import beginning, most_tokens
from holdfast.model.words import counted, own_lines, query_terms, regex

MARK_TOKENS: Final = 9  # what a line's mark costs, and its end
HEAD_TOKENS: Final = 12  # of a section's name beside its words
FRAME_TOKENS: Final = 90  # of what stands around all sections, which their tokens are to hold too
STANDING_TOKENS: Final = 45  # of a note that is there without having been looked for
PASSAGE_TOKENS: Final = 130  # of one that fits a prompt
_LINE: Final = 30  # where there is no more room
_TITLE: Final = 25
_LISTED: Final = 4  # items of a list on the NOW page
_ITEM: Final = 22  # tokens of one
_MOST_TERMS: Final = 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One note, or the NOW page: `head` on the line of its mark, below it `text`, which may be empty.

    `shorter` is the head that stands alone where there is no room for both.
    """

    id: str
    head: str
    text: str = ""
    shorter: str = ""
    digest: str = ""

    @property
    def cost(self) -> int:
        return MARK_TOKENS + most_tokens(self.head) + (most_tokens(self.text) + 1 if self.text else 0)


@dataclass(frozen=True, slots=True)
class Section:
    """Entries under a heading."""

    heading: str
    entries: tuple[Entry, ...]

    @property
    def cost(self) -> int:
        return HEAD_TOKENS + most_tokens(self.heading) + sum(entry.cost for entry in self.entries)


def fitted(heading: str, entries: Iterable[Entry], room: int) -> tuple[Section, ...]:
    """A section of as many of these as there is room for, the first ones first; none where there is room for none."""
    left = room - HEAD_TOKENS - most_tokens(heading)
    kept: list[Entry] = []
    for entry in entries:
        one_line = Entry(entry.id, entry.shorter, digest=entry.digest) if entry.shorter else entry
        fits = next((form for form in (entry, one_line) if form.cost <= left), None)
        if fits is None:
            break  # nothing stands before what it should stand behind
        kept.append(fits)
        left -= fits.cost
    return (Section(heading, tuple(kept)),) if kept else ()


def entry_of_note(note: Note, short_id: str, digest: str) -> Entry:
    """A note on one line."""
    said = " ".join(note.content.split())
    if most_tokens(said) > STANDING_TOKENS:
        own = note.shown_title
        said = beginning(own or first_sentence(note.content, STANDING_TOKENS), STANDING_TOKENS)
    return Entry(note.id, f"{short_id} {said}", digest=digest)


def entry_of_hit(note: Note, belief: str, asked: str, space: str | None, short_id: str, digest: str) -> Entry:
    """A note that fits the prompt: the passage that does.

    Args:
        note: the note.
        belief: how firmly it is held; empty where it is no belief.
        asked: what the prompt asks.
        space: where it is asked from.
        short_id: what the note is called.
        digest: of the note's text.
    """
    where = "" if note.space in (space, GLOBAL_SPACE) else f" of {note.space}"
    held = f" ({belief})" if belief else ""
    retired = " OUTDATED" if note.is_outdated else ""
    own = note.shown_title
    title = f" {beginning(' '.join(own.split()), _TITLE)}" if own else ""
    head = f"{short_id} {note.type}{where} {note.happened[:10]}{retired}{held}"
    found = passage(note.content, query_terms(asked)[:_MOST_TERMS], PASSAGE_TOKENS)
    more = f" (+{found.cut:,} characters)" if found.cut else ""
    line = beginning(own or first_sentence(note.content, _LINE), _LINE)
    return Entry(note.id, f"{head}{title}{more}", found.text.rstrip(), f"{head} {line}", digest)


def entry_of_now(page: Now, most: int) -> Entry:
    """The NOW page in a few lines."""
    parts = [
        _list("Open", page.pending_decisions),
        _list("Done", page.recent_completions[::-1]),
        _list("Files", page.key_files),
    ]
    left = most - MARK_TOKENS
    head = beginning(f"Task: {page.current_task or '(none)'}", max(_LINE, left // 2))
    left -= most_tokens(head)
    kept: list[str] = []
    for part in filter(None, parts):
        if (cost := most_tokens(part) + 1) <= left:
            kept.append(part)
            left -= cost
    return Entry("", head, "\n".join(kept))


def _list(name: str, items: Sequence[str]) -> str:
    """The first few items; empty where there are none."""
    if not items:
        return ""
    left = len(items) - _LISTED
    more = f"; {counted(left, 'more item')}" if left > 0 else ""
    return f"{name}: {'; '.join(beginning(item, _ITEM) for item in items[:_LISTED])}{more}"


MOST_HITS: Final = 5
MOST_LATER: Final = 2  # notes with a later prompt
MOST_STANDING: Final = 40
LONGEST_PROMPT: Final = 2400  # characters that are looked at: the beginning and the end
STANDING_SHARE, NOW_SHARE, LATER_SHARE = 0.3, 0.3, 0.5  # of the tokens, at most
ELSEWHERE_LINE: Final = 0.92  # of relevance, for notes of other projects: measured by bench/presence.py
FEWEST_LETTERS: Final = 3
COMPACTIONS: Final = frozenset({"PreCompact", "PostCompact", "SessionStart"})  # what was shown is gone, or may be
_COMMAND: Final = regex(r"/[\w:.-]+(\s|\Z)")
_UNFILLED: Final = regex(r"\$\{\w+\}")  # a client has no such value
_WIDE: Final = 0x2E80  # from here on a letter is a word's worth: scripts of East Asia


def asked_in(prompt: str) -> str:
    """What a hook's prompt says, without what is private; empty where there is nothing to be answered."""
    said = looked_at(without_private(filled(prompt)))
    return "" if says_nothing(said) else said


def says_nothing(prompt: str) -> bool:
    """Whether a prompt is small talk, a command of the client's, or has hardly a letter."""
    if _COMMAND.match(prompt) or is_no_question(prompt):
        return True
    letters = sum(1 + (ord(letter) >= _WIDE) for letter in prompt.replace(LEFT_OUT, "") if letter.isalpha())
    return letters < FEWEST_LETTERS or idle(prompt) == "empty"


def own_words(prompt: str) -> str:
    """What of a paste the asker says, where that is something; empty where the prompt is no paste."""
    own = "\n".join(own_lines(prompt))
    return "" if len(own) >= len(prompt.strip()) or says_nothing(own) else own


def filled(value: str | None) -> str:
    """What a hook gave; empty where the client left the variable's name in its place."""
    text = (value or "").replace("\0", " ")
    return "" if _UNFILLED.fullmatch(text) else text.encode(errors="replace").decode()


def digest_of(note: Note) -> str:
    """Another one when what a note says has changed."""
    return sha256(f"{note.title}\0{note.content}".encode(errors="surrogatepass")).hexdigest()[:12]


def looked_at(prompt: str) -> str:
    """A prompt, of a very long one its beginning and its end, where what is asked stands; no line of it twice."""
    text = "\n".join(dict.fromkeys(prompt.splitlines())) if "\n" in prompt else prompt
    text = text.strip()
    half = LONGEST_PROMPT // 2
    return text if len(text) <= LONGEST_PROMPT else f"{text[:half]}\n{text[-half:]}"


def clears(found: Ranked, space: str | None, line: float) -> bool:
    """Whether a note is relevant enough: never a weak one, and one of another project only if it is very much so."""
    is_elsewhere = space is not None and found.candidate.space not in (space, GLOBAL_SPACE)
    return not found.weak and found.relevance >= (max(line, ELSEWHERE_LINE) if is_elsewhere else line)


def now_heading(written: datetime, space: str | None) -> str:
    """What stands over the NOW page."""
    where = f" in {space}" if space else ""
    return f"Where the work{where} stands (NOW, {written:%Y-%m-%d})"
