"""Note files as they lie on the disk."""

from __future__ import annotations

from holdfast.store.codec import Surroundings, content_hash, note_of
from holdfast.store.filesystem import NO_SIGNATURE, FileSystem, Signature
from holdfast.store.folder import Folder
from holdfast.store.frontmatter import MalformedError, parse
from holdfast.store.stored import LARGEST_FILE, Stored, Unreadable, time_of


def read_note(folder: Folder, files: FileSystem, path: str, known_id: str | None) -> Stored | Unreadable | None:
    """A note file as it is now; None where there is none.

    Args:
        folder: the layout.
        files: the file system.
        path: relative to `memories/`.
        known_id: the id of a file whose frontmatter has none.
    """
    absolute = folder.file(path)
    try:
        signature = files.signature(absolute)
        return None if signature is None else _read(folder, files, path, signature, known_id)
    except OSError as error:
        return _closed(path, error, NO_SIGNATURE)


def _read(
    folder: Folder, files: FileSystem, path: str, signature: Signature, known_id: str | None
) -> Stored | Unreadable | None:
    if signature.size > LARGEST_FILE:
        return Unreadable(path, f"it is longer than {LARGEST_FILE // 1024} kB", signature)
    try:
        data = files.read(folder.file(path), LARGEST_FILE + 1)
        document = parse(data)
        modified = "" if "created" in document.values else time_of(signature)
        note = note_of(document, Surroundings(folder.space_of(path), modified), known_id)
    except FileNotFoundError:
        return None
    except MalformedError as error:
        return Unreadable(path, str(error), signature)
    except OSError as error:
        return _closed(path, error, signature)
    return Stored(note, path, content_hash(data), signature, document, "id" in document.values)


def _closed(path: str, error: OSError, signature: Signature) -> Unreadable:
    return Unreadable(path, f"it cannot be read: {error.strerror}", signature)
