"""The change that makes the packaged model better at notes: low-rank, added to its weights when it is loaded.

all-MiniLM-L6-v2 learned from the public web that a question and its answer lie close. What people keep in a memory, and
how they ask for it when its words are gone, is another text: `bench/learn.py` tells how this change was learned and
from what. A weight matrix W (inputs x outputs) becomes W + A B with A (inputs x rank) and B (rank x outputs), as in
LoRA (Hu and others 2021, arXiv:2106.09685). The model's file keeps W as eight-bit integers with a scale for each
output, and so it does afterwards.

The file is an .npz: `places`, an int64 row for each matrix (where its integers begin in the model's file, where its
scales begin, inputs, outputs), and for the matrix in row k the float16 arrays `a{k}` and `b{k}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_LARGEST: Final = 127


def adapted(model: bytearray, adapter: Path) -> bytearray:
    """The model's file with its weights changed, in place.

    Raises:
        ValueError: the adapter's file is not one, or was made for another model.
        OSError: it cannot be read.
    """
    with np.load(adapter, allow_pickle=False) as arrays:
        for number, (integers, scales, inputs, outputs) in enumerate(arrays["places"].tolist()):
            weights = np.frombuffer(model, np.int8, inputs * outputs, integers).reshape(inputs, outputs)
            scale = np.frombuffer(model, "<f4", outputs, scales)
            change = arrays[f"a{number}"].astype("<f4") @ arrays[f"b{number}"].astype("<f4")
            weights[:] = _in_eight_bits(weights + change / scale)
    return model


def _in_eight_bits(values: npt.NDArray[np.float32]) -> npt.NDArray[np.int8]:
    return np.clip(np.rint(values), -_LARGEST, _LARGEST).astype(np.int8)
