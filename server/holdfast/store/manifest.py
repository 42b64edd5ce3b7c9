"""What a backup holds: its manifest, a JSON file beside the archive, with a hash of every file and of the archive."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import PurePath
from typing import Any

from holdfast.errors import IntegrityError
from holdfast.model.pages import PROPOSALS
from holdfast.store.folder import LONGEST_NAME

REPLACED_FOLDERS = ("memories", "now", "daily", "capsules", PROPOSALS)
REPLACED_FILES = ("NOW.md", "MEMORY.md")
REPLACED = (*REPLACED_FOLDERS, *REPLACED_FILES)  # a restore puts them back as they were
ADDED_FOLDERS = ("journal", "history", "trash")  # of these it puts back what is missing
CONFIG = "config.yaml"
PAGES = frozenset({"now", "daily", *REPLACED_FILES})  # files that are watched for foreign changes

BACKUP_ID = re.compile(r"omi_backup_full_\d{8}_\d{6}_\d{6}_[0-9a-f]{8}")
_HASH = re.compile(r"[0-9a-f]{64}")
_FILES = b',\n"files": '
HEAD = 64 * 1024  # bytes that hold everything of a manifest but its files


@dataclass(frozen=True, slots=True)
class Packed:
    """One file of a backup; `path` is its key in the manifest, relative to the folder."""

    sha256: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Backup:
    """One backup. Sizes are bytes: `size` of the files, `file_size` of the archive, whose SHA-256 is `checksum`.

    `left_out` are files that could not be read and are not in it; `masked` says that values in config.yaml that look
    like keys were left out.
    """

    backup_id: str
    backup_type: str
    reason: str
    created_at: str
    file_count: int
    size: int
    file_size: int
    checksum: str
    retention_days: int
    left_out: tuple[str, ...] = ()
    masked: bool = False

    def as_record(self) -> dict[str, Any]:
        return {**asdict(self), "left_out": list(self.left_out)}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A backup and its files by path."""

    backup: Backup
    files: Mapping[str, Packed]

    def render(self) -> bytes:
        """The manifest file: the head, sealed together with the files, then the files."""
        listed = json.dumps({path: [f.sha256, f.size, f.modified_ns] for path, f in sorted(self.files.items())})
        head = self.backup.as_record()
        return _head({**head, "seal": _seal(head, listed)}) + _FILES + listed.encode() + b"}\n"

    @property
    def pages(self) -> dict[str, str]:
        """SHA-256 by path of the files that are watched for foreign changes."""
        return {path: file.sha256 for path, file in self.files.items() if path.partition("/")[0] in PAGES}


def read_manifest(data: bytes) -> Manifest:
    """Read and check a manifest.

    Raises:
        IntegrityError: it is not as it was written, or names what no backup of ours holds.
    """
    head, found, rest = data.partition(_FILES)
    try:
        listed = rest.rstrip(b"\n")[:-1].decode()
        files = {path: Packed(*entry) for path, entry in json.loads(listed).items()}
        said = json.loads(head + b"}")
        sealed = found and said.pop("seal") == _seal(said, listed)
        backup = _backup(said)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _harmed() from error
    if not sealed or len(files) != backup.file_count:
        raise _harmed()
    for path, file in files.items():
        if not is_ours(path) or not _is_sound(file):
            raise IntegrityError("The backup's manifest names a file that no backup holds.", "Nothing was changed.")
    return Manifest(backup, files)


def read_head(data: bytes) -> Backup | None:
    """The backup that the beginning of a manifest tells of; None where it is none."""
    head, found, _ = data.partition(_FILES)
    try:
        said = json.loads(head + b"}")
        said.pop("seal")
        return _backup(said) if found else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def is_ours(path: str) -> bool:
    """Whether a backup may hold a file of this name: inside a known folder, or one of the known files."""
    names = path.split("/")
    try:
        longest = max(len(os.fsencode(name)) for name in names)
    except UnicodeEncodeError:
        return False
    if longest > LONGEST_NAME or any(name in {"", ".", ".."} for name in names):
        return False
    if "\0" in path or (os.sep != "/" and (os.sep in path or PurePath(path).drive)):
        return False
    if len(names) == 1:
        return path in (*REPLACED_FILES, CONFIG)
    return names[0] in (*REPLACED_FOLDERS, *ADDED_FOLDERS)


def _backup(said: dict[str, Any]) -> Backup:
    backup = Backup(**{**said, "left_out": tuple(said["left_out"])})
    kinds = {field.name: field.type for field in fields(Backup)}
    if not all(_fits(getattr(backup, name), str(kind)) for name, kind in kinds.items()):
        raise ValueError("a value is of another kind")
    return backup


def _fits(value: object, kind: str) -> bool:
    wanted = {"str": str, "int": int, "bool": bool}.get(kind, tuple)
    return type(value) is wanted


def _is_sound(file: Packed) -> bool:
    if not (_fits(file.sha256, "str") and _fits(file.size, "int") and _fits(file.modified_ns, "int")):
        return False
    return _HASH.fullmatch(file.sha256) is not None and file.size >= 0


def _head(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said).encode()[:-1]


def _seal(head: Mapping[str, Any], listed: str) -> str:
    return hashlib.sha256(json.dumps(head, sort_keys=True).encode() + listed.encode()).hexdigest()


def _harmed() -> IntegrityError:
    return IntegrityError("The backup's manifest is not as it was written.", "Nothing was changed. Take another one.")
