"""Every failure that a caller can meet, as one tree.

    HoldfastError
    ├── InvalidArgumentError      an argument is blank, unknown, malformed or out of range
    │   └── LimitExceededError    an argument is larger than a configured limit
    ├── QuotaExceededError        the memory is full: it may hold no more notes, or no more bytes
    ├── ScopeError                the token that a request came with may not do this
    ├── SecretRefusedError        a secret was found and HOLDFAST_SECRETS=refuse
    ├── MemoryNotFoundError       no note has this id or prefix
    ├── AmbiguousIdError          a prefix matches several notes
    ├── ChangeNotFoundError       no change has this change_id
    ├── UndoConflictError         a change cannot be undone: its notes have changed since
    ├── UndoRefusedError          a change is not the caller's own, or too old for its maker to take back
    ├── EventNotFoundError        no recall with this event_id is known, or none that showed the note
    ├── BatchNotFoundError        no maintenance batch with this id is open for the caller
    ├── ProposalNotFoundError     no proposal with this id waits
    ├── ProtectedNoteError        the Self note cannot be changed that way
    ├── ConflictError             the note changed on disk meanwhile; nothing was written
    ├── StorageError              the disk refused: full, read-only, no permission, gone
    ├── BackupNotFoundError       no backup in the vault has this id
    ├── IntegrityError            what was kept is not what is there: a backup is harmed, or was changed
    ├── QuarantinedError          the note's file cannot be read as a note
    ├── IndexSchemaError          the index was written by a newer Holdfast
    ├── EncoderError              the embedding model cannot be loaded or failed
    ├── ServerBusyError           more is asked at once than the server is set to serve; nothing was done
    ├── ClientConfigError         a client's own file cannot be read or changed
    └── SettingsError             a setting has a value that cannot be used

Each carries one public sentence (what was wrong) and, where there is one, what the caller can do about it.
Neither ever repeats the text of a note or the value of an argument.
"""

from __future__ import annotations

from typing import Self


class HoldfastError(Exception):
    """Base of all errors that are shown to a caller.

    Args:
        sentence: what was wrong, in plain words.
        remedy: what to do about it; empty where nothing can be done.
    """

    def __init__(self, sentence: str, remedy: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".strip()

    def also(self, *notices: str) -> Self:
        """The same error, with more to say behind the remedy."""
        more = self.__class__.__new__(self.__class__)
        HoldfastError.__init__(more, self.sentence, " ".join(part for part in (self.remedy, *notices) if part))
        return more

    @property
    def public(self) -> str:
        """The error's name and its sentences, as a client sees them."""
        return f"{type(self).__name__}: {self}"


class InvalidArgumentError(HoldfastError):
    """An argument cannot be used; nothing was written."""


class LimitExceededError(InvalidArgumentError):
    """An argument is larger than a configured limit; nothing was written."""


class QuotaExceededError(HoldfastError):
    """The memory holds as much as its settings allow; nothing was written."""


class ScopeError(HoldfastError):
    """The token of the request does not have the scope that this needs; nothing was done."""


class SecretRefusedError(HoldfastError):
    """Text holds a secret and the server is set to refuse it; nothing was written."""


class MemoryNotFoundError(HoldfastError):
    """No note has this id, nor an id with this prefix."""


class AmbiguousIdError(HoldfastError):
    """The prefix matches more than one note; the sentence lists them."""


class ChangeNotFoundError(HoldfastError):
    """The journal knows no change of this id, or it never happened."""


class UndoConflictError(HoldfastError):
    """A note of the change was changed, deleted or brought back since; nothing was undone."""


class UndoRefusedError(HoldfastError):
    """The change was made by somebody else, or too long ago to be taken back without the gate; nothing was undone."""


class EventNotFoundError(HoldfastError):
    """No recall with this event_id is known any more, or it did not show the note; nothing was recorded."""


class BatchNotFoundError(HoldfastError):
    """No maintenance batch with this id is open: it is unknown, has expired, or was handed to somebody else."""


class ProposalNotFoundError(HoldfastError):
    """No proposal with this id waits: it is unknown, or was resolved."""


class ProtectedNoteError(HoldfastError):
    """The Self note cannot be deleted, merged, superseded or marked outdated."""


class ConflictError(HoldfastError):
    """The note was changed on disk between reading and writing, or is being saved; both texts are kept.

    Args:
        settles_in: seconds after which it is worth while to try again, where that is not at once.
    """

    def __init__(self, sentence: str, remedy: str = "", *, settles_in: float = 0.0) -> None:
        super().__init__(sentence, remedy)
        self.settles_in = settles_in


class StorageError(HoldfastError):
    """The file system refused a step of the write; the note is as it was before."""


class BackupNotFoundError(HoldfastError):
    """No backup in the vault has this id."""


class IntegrityError(HoldfastError):
    """A checksum does not fit; nothing was changed."""


class QuarantinedError(HoldfastError):
    """The file or row that holds this id cannot be read as a note."""


class IndexSchemaError(HoldfastError):
    """The index has a schema newer than this version of Holdfast knows."""


class EncoderError(HoldfastError):
    """The embedding model could not be loaded or could not encode."""


class ServerBusyError(HoldfastError):
    """There is no room for this request at the moment; nothing was done."""


class SettingsError(HoldfastError):
    """A setting or command line option has a value that cannot be used."""


class ClientConfigError(HoldfastError):
    """The file in which a client keeps its servers cannot be read, or not be changed safely; it is as it was."""


NAMES = frozenset(name for name in dir() if name.endswith("Error"))  # as a client sees them
