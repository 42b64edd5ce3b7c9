"""Pieces of a session: turns that follow each other, few enough to be read and judged at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from holdfast.model.tokens import beginning, most_tokens
from holdfast.model.transcripts.turns import Role

PIECE_TOKENS: Final = 1500  # of a piece as it is shown
_USER_TOKENS, _ASSISTANT_TOKENS = 500, 220  # of one turn that are shown
_TURN_TOKENS: Final = 4  # what a turn costs beside its text
_NAMES: Final[dict[Role, str]] = {"user": "User", "assistant": "Agent"}


@dataclass(frozen=True, slots=True)
class Kept:
    """A turn as it waits in the queue; `number` gives the order, `at` is an instant or empty."""

    number: int
    role: Role
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class Piece:
    """Turns of one session that are judged together.

    `path` is the transcript, `attempt` names a try to store what was made of it that may have been interrupted.
    """

    id: str
    source: str
    session: str
    space: str
    path: str
    turns: tuple[Kept, ...] = field(repr=False)
    attempt: str = ""

    @property
    def at(self) -> str:
        """When the last of it was said; empty where that is not known."""
        return max((turn.at for turn in self.turns), default="")

    @property
    def text(self) -> str:
        """All that was said, whole."""
        return "\n\n".join(turn.text for turn in self.turns)

    @property
    def whole(self) -> str:
        """All that was said, and by whom."""
        return "\n\n".join(f"{_NAMES[turn.role]}: {turn.text}" for turn in self.turns)

    @property
    def shown(self) -> str:
        """As a model reads it: long turns are cut."""
        return "\n".join(_shown(turn) for turn in self.turns)


def first_piece(turns: Sequence[Kept], most: int = PIECE_TOKENS) -> int:
    """How many of these turns make the first piece: as many as fit, at least one; an answer stays with its question."""
    spent, count = 0, 0
    for turn in turns:
        spent += most_tokens(_shown(turn)) + _TURN_TOKENS
        if count and spent > most:
            break
        count += 1
    if count < len(turns) and turns[count].role == "assistant":
        asked = max((place for place in range(count) if turns[place].role == "user"), default=0)
        count = asked or count
    return count


def tokens_of(pieces: Iterable[Piece]) -> int:
    """What some pieces cost as they are shown, at most."""
    return sum(most_tokens(piece.shown) + _TURN_TOKENS for piece in pieces)


def _shown(turn: Kept) -> str:
    most = _USER_TOKENS if turn.role == "user" else _ASSISTANT_TOKENS
    return f"{_NAMES[turn.role]}: {beginning(turn.text, most)}"
