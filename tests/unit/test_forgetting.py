"""Forgetting: no byte of a text's vectors stays in the cache of encodings, and those of others do."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from holdfast.encode.provider import CachedEncoder, forget
from worlds import WordBag

pytestmark = pytest.mark.anyio


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


async def test_vectors_and_hashes_are_gone_from_every_file_while_others_have_it_open(tmp_path: Path) -> None:
    path = tmp_path / "encodings.db"
    encoder = CachedEncoder(WordBag(), path)
    [[gone], [kept]] = await encoder.encode_documents(["the crane", "the ferry"])
    name = hashlib.sha256(b"the crane").hexdigest().encode()
    assert gone in bytes_of(path)
    assert name in bytes_of(path)
    await forget(path, ["the crane", "never encoded"])
    assert gone not in bytes_of(path)
    assert name not in bytes_of(path)
    assert kept in bytes_of(path)
    assert await encoder.encode_documents(["the crane"]) == [[gone]]
    await encoder.aclose()


async def test_a_cache_that_cannot_be_read_goes_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "encodings.db"
    await forget(path, ["the crane"])
    assert not path.exists()
    path.write_bytes(b"the crane" * 1000)
    await forget(path, ["the crane"])
    assert not path.exists()
