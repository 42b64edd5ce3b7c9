"""What of a prompt is looked at, when it is left without an answer, and how relevant a note must be to be shown.

The model alone is imported: a hook that is a command waits for it, where it runs without a server.
"""

from __future__ import annotations

import re
from datetime import datetime
from hashlib import sha256
from typing import Final

from holdfast.model.note import GLOBAL_SPACE, Note
from holdfast.model.private import LEFT_OUT, without_private
from holdfast.model.prompts import idle, is_no_question
from holdfast.model.ranking import Ranked

MOST_HITS: Final = 5
MOST_LATER: Final = 2  # notes with a later prompt
MOST_STANDING: Final = 40
LONGEST_PROMPT: Final = 2400  # characters that are looked at: the beginning and the end
STANDING_SHARE, NOW_SHARE, LATER_SHARE = 0.3, 0.3, 0.5  # of the tokens, at most
ELSEWHERE_LINE: Final = 0.92  # of relevance, for notes of other projects: measured by bench/presence.py
FEWEST_LETTERS: Final = 3
COMPACTIONS: Final = frozenset({"PreCompact", "PostCompact", "SessionStart"})  # what was shown is gone, or may be
_COMMAND: Final = re.compile(r"/[\w:.-]+(\s|\Z)")
_UNFILLED: Final = re.compile(r"\$\{\w+\}")  # a client has no such value
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
