"""Arguments as they may come in: checked, without secrets; ids whole or by a prefix. Errors never repeat a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from holdfast.engine.ports import Index, Ports
from holdfast.errors import (
    AmbiguousIdError,
    InvalidArgumentError,
    LimitExceededError,
    MemoryNotFoundError,
    QuarantinedError,
    SecretRefusedError,
)
from holdfast.index.rows import IndexedNote
from holdfast.model.note import id_range, is_note_id, space_name, title_of
from holdfast.model.times import end_of, read_instant

LARGEST_CONTENT = 256 * 1024
LARGEST_QUERY = 64 * 1024
LONGEST_LINE = 500
MOST_TAGS, LONGEST_TAG = 32, 64
MOST_IDS = 50


@dataclass(slots=True)
class TextGate:
    """Texts that are to be stored pass here, once; `labels` says which secrets were taken out."""

    ports: Ports
    labels: list[str] = field(default_factory=list)

    def text(self, name: str, value: str, largest: int) -> str:
        """A text without secrets.

        Raises:
            InvalidArgumentError: it is blank or holds characters that no file can.
            LimitExceededError: it is longer than `largest` bytes.
            SecretRefusedError: it holds a secret and the server refuses those.
        """
        if not value.strip():
            raise InvalidArgumentError(f"{name} is blank.", f"Give {name} some text.")
        check_text(name, value, largest)
        if self.ports.secrets == "allow":
            return value
        redaction = self.ports.redact(value)
        if redaction.labels and self.ports.secrets == "refuse":
            raise SecretRefusedError(
                f"{name} holds a secret ({', '.join(redaction.labels)}).", "Leave it out; nothing was stored."
            )
        self.labels.extend(redaction.labels)
        return redaction.text

    def line(self, name: str, value: str | None) -> str | None:
        """A short text on one line; None where there is none."""
        if value is None or not value.strip():
            return None
        return " ".join(self.text(name, value, LONGEST_LINE).split())

    def space(self, value: str | None) -> str | None:
        """A space's one spelling; None where there is none."""
        named = self.line("space", value)
        return None if named is None else space("space", named)

    def tags(self, values: Iterable[str]) -> tuple[str, ...]:
        tags = list(dict.fromkeys(" ".join(value.split()) for value in values if value.strip()))
        if len(tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in tags):
            raise LimitExceededError(f"tags takes at most {MOST_TAGS} tags of at most {LONGEST_TAG} characters.")
        return tuple(self.line("tags", tag) or "" for tag in tags)

    def notices(self) -> tuple[str, ...]:
        """What the caller is told about secrets."""
        if not self.labels:
            return ()
        kinds = ", ".join(dict.fromkeys(self.labels))
        return (f"Secrets were replaced by placeholders before anything was stored: {kinds}.",)


async def without_secrets(ports: Ports, principal: str, text: str) -> str:
    """A text that is kept but was not given to be stored: what is secret in it is always replaced."""
    if ports.secrets == "allow":
        return text
    return (await ports.computing.run(principal, len(text), lambda: ports.redact(text))).text


def check_text(name: str, value: str, largest: int) -> None:
    """Refuse what cannot be a text of that size."""
    try:
        size = len(value.encode())
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{name} holds half of a surrogate pair.", "Send valid Unicode.") from error
    if size > largest:
        raise LimitExceededError(f"{name} is {size:,} bytes long; the limit is {largest:,}.", "Store it in parts.")
    if "\0" in value:
        raise InvalidArgumentError(f"{name} holds a NUL character.", "Leave it out.")


def check_query(value: str) -> None:
    if not value.strip():
        raise InvalidArgumentError("query is blank.", "Ask for something.")
    check_text("query", value.replace("\0", " "), LARGEST_QUERY)


def check_count(name: str, values: list[str]) -> list[str]:
    if len(values) > MOST_IDS:
        raise LimitExceededError(f"{name} takes at most {MOST_IDS} entries.")
    return values


def space(name: str, value: str) -> str:
    """A space's one spelling."""
    try:
        return space_name(value)
    except ValueError as error:
        raise InvalidArgumentError(f"{name} cannot be used: {error}.", "Use letters, digits, - and _.") from error


def when(name: str, value: str | None) -> str | None:
    """An instant, or None where there is none."""
    return None if value is None else _time(name, value, read_instant)


def until(name: str, value: str | None) -> str | None:
    """The last second that a date or time covers, or None where there is none."""
    return None if value is None else _time(name, value, end_of)


def _time(name: str, value: str, read: Callable[[str], str]) -> str:
    try:
        return read(value)
    except ValueError:  # its words repeat the value
        raise InvalidArgumentError(
            f"{name} is not an ISO-8601 date or time.", "Write 2026-11-20 or 2026-11-20T10:15:00Z."
        ) from None


_SHOWN = 5


async def resolve(index: Index, given: str, *, what: str = "node_id") -> IndexedNote:
    """The one note that `given` means; a merged note leads to the one that it was merged into.

    Raises:
        MemoryNotFoundError: no id is or begins with it.
        AmbiguousIdError: several do.
        QuarantinedError: its file cannot be read as a note.
    """
    if id_range(given) is None:
        raise MemoryNotFoundError(
            f"{what} is not a note id.", "Ids look like mem_ and 16 letters and digits; recall shows them."
        )
    found = await index.matching(given, _SHOWN + 1)
    if not found:
        await _tell_quarantine(index, given)
        raise MemoryNotFoundError(f"{what} names no note.", "Find it with recall.")
    if len(found) > 1:
        shown = "; ".join(f"{note_id} ({title_of(title)})" for note_id, title in found[:_SHOWN])
        more = " and more" if len(found) > _SHOWN else ""
        raise AmbiguousIdError(f"{what} begins several ids: {shown}{more}.", "Give more of the id.")
    note = (await index.notes([found[0][0]])).get(found[0][0])
    if note is None:
        raise MemoryNotFoundError(f"{what} names no note.", "Find it with recall.")
    return note


async def resolve_all(index: Index, given: Sequence[str], *, what: str) -> list[IndexedNote]:
    """Each of several ids, without repetition, in order; one that cannot be found is named by its place."""
    notes = [await resolve(index, item, what=f"{what}[{place}]") for place, item in enumerate(given)]
    return list({note.note.id: note for note in notes}.values())


async def _tell_quarantine(index: Index, given: str) -> None:
    wanted = given.strip().lower()
    if not is_note_id(wanted):
        return
    for row in (await index.files_of([wanted])).values():
        if row.problem:
            raise QuarantinedError(
                f"The file of this note is quarantined: {row.problem}.", "Mend the file in an editor; it is then found."
            )
