"""MiniLM in eight bits computes what the packaged graph does of the same weights, whatever is read beside a text."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from holdfast.encode import builtin

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

TEXTS = (
    "The spare key hangs behind the boiler.",
    "whose approval do large payments need",
    "Cheques are countersigned by Wanda above 400 pounds, and twice above 4,000. " * 14,
    "Bram",
    "Log level in production stays at warning, info fills the disk in two days.",
)


@pytest.fixture(scope="module")
def model() -> builtin._Model:
    return builtin._load(None, builtin.SHA256)


@pytest.fixture(scope="module")
def in_float32(tmp_path_factory: pytest.TempPathFactory) -> builtin._Model:
    """The packaged graph, which computes with float32, with the learned weights in its file."""
    file = bytearray(builtin._packaged().read_bytes())
    with np.load(builtin.ADAPTER) as learned:
        for number, (integers, scales, inputs, outputs) in enumerate(learned["places"].tolist()):
            weights = np.frombuffer(file, np.int8, inputs * outputs, integers).reshape(inputs, outputs)
            change = learned[f"a{number}"].astype("<f4") @ learned[f"b{number}"].astype("<f4")
            weights[:] = np.rint(weights + change / np.frombuffer(file, "<f4", outputs, scales)).clip(-127, 127)
    path: Path = tmp_path_factory.mktemp("model") / "changed.onnx"
    path.write_bytes(file)
    return builtin._load(path, hashlib.sha256(file).hexdigest())


def vectors(model: builtin._Model, *texts: str) -> npt.NDArray[np.float32]:
    windows = [windows[0] for windows in model.chunks(texts)]
    return np.stack([np.frombuffer(vector, "<f4") for vector in model.vectors(windows)])


def test_it_computes_what_float32_computes(model: builtin._Model, in_float32: builtin._Model) -> None:
    one, other = vectors(model, *TEXTS), vectors(in_float32, *TEXTS)
    assert np.einsum("wd,wd->w", one, other).min() > 0.998
    assert np.abs(one @ one.T - other @ other.T).max() < 0.02


def test_a_text_has_the_same_vector_alone_and_beside_others(model: builtin._Model) -> None:
    """States in eight bits have a scale for each token: one for all of a run would differ with what is in it."""
    together = vectors(model, *TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.abs(vectors(model, text)[0] - vector).max() < 1e-6
