"""Whether a file that is to be rewritten has been left alone: what an editor is in the middle of saving is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from holdfast.errors import ConflictError
from holdfast.store.filesystem import FileSystem, Signature

STILL_NS = 1_000_000_000
_REMEMBERED_NS = 2 * STILL_NS
_MANY = 512
_MOST = 1 << 14  # texts; of who wrote one before so many others it is asked that it be a second old


class Stillness:
    """Knows what was written by this program lately, and asks of everything else that it be a second old.

    Args:
        files: the file system, whose clock counts.
    """

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self._own: dict[str, int] = {}  # hashes of texts that were written, and when that was heard of, in this order
        self._ahead: dict[Path, tuple[Signature, int]] = {}  # files dated in the future, and when they were seen first

    def wrote(self, text: str) -> None:
        """A change put a text of this hash in its place."""
        now = self._files.now_ns()
        self._own.pop(text, None)
        self._own[text] = now
        while len(self._own) > _MANY:
            oldest, since = next(iter(self._own.items()))
            if now - since < _REMEMBERED_NS and len(self._own) <= _MOST:
                return
            del self._own[oldest]

    def learn(self, records: Iterable[Mapping[str, Any]]) -> None:
        """What other processes wrote, by their journal records."""
        for record in records:
            for file in record.get("files", ()):
                if file.get("after"):
                    self.wrote(file["after"])

    def check(self, place: Path, text: str) -> None:
        """Make sure that nobody is in the middle of saving a file.

        Args:
            place: the file.
            text: the hash of what was read there.

        Raises:
            ConflictError: it changed within the last second, and not by us.
            OSError: it cannot be looked at.
        """
        found = self._files.signature(place)
        if found is None or text in self._own:
            return
        left = STILL_NS - self._age(place, found)
        if left > 0:
            raise ConflictError(
                "The note or page was saved by another program less than a second ago, and may still be written.",
                "Nothing was written; save and close it there, then repeat the call.",
                settles_in=left / 1e9,
            )
        self._ahead.pop(place, None)

    def _age(self, place: Path, found: Signature) -> int:
        """How long ago, in ns, the file was last written, as far as that is known."""
        now = self._files.now_ns()
        for at in (found.modified_ns, found.changed_ns):  # a person may have set any time of change
            if at <= now:
                return now - at
        seen, since = self._ahead.get(place, (None, 0))
        if seen != found:
            if len(self._ahead) >= _MANY:
                self._ahead.clear()
            self._ahead[place] = found, now
            return 0
        return max(now - since, 0)
