"""Reading two notes together, to tell whether the second says another value of the fact that the first tells.

Two vectors cannot: "express in town is 12.90" lies nearer to "express to the airport is 12.90" than to "city express is
14.50 now". It is the packaged MiniLM with a change of its weights of its own (bench/learn_pairs.py), and a hidden layer
above it. numpy alone computes it: another session of onnxruntime would hold all words a second time (100 MB, not 60).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.encode.e5 import Floats, normed, through
from holdfast.encode.wordpiece import WordPiece
from holdfast.model.versions import ReadTogether

HALF_A_PAIR: Final = 48  # tokens of each note, with its marks: as good as the 64 that were learned with
_LAYERS, _WIDTH, _HEADS, _WORDS = 6, 384, 12, 30_522
_SMALL: Final = 1e-12
_MATRICES: Final = ("query", "key", "value", "mixed", "up", "down")  # of each layer, in the order of the file


class PairModel:
    """The model, for one thread at a time.

    Args:
        file: the packaged model's; whoever calls has checked what it hashes to.
        change: an .npz: `places`, an int64 row for each matrix (where its integers begin in the file, where its scales
            begin, inputs, outputs); for the matrix in row k the float16 factors `a{k}` (inputs x rank) and `b{k}` (rank
            x outputs) of its change and its `bias{k}`; `words_at`, where the integers and the scales of the words
            begin; `positions`, `kinds`, `norms` as float32; and the layer above: `dense`, `sorts` and their biases.
    """

    def __init__(self, file: Path, change: Path) -> None:
        self._data = memoryview(np.memmap(file, np.uint8, "r").data)
        self._wordpiece = WordPiece()
        with np.load(change, allow_pickle=False) as arrays:
            integers, scales = arrays["words_at"].tolist()
            self._words = np.frombuffer(self._data, np.int8, _WORDS * _WIDTH, integers).reshape(_WORDS, _WIDTH)
            self._scales = np.frombuffer(self._data, "<f4", _WORDS, scales)
            self._kinds, self._positions, norms = arrays["kinds"], arrays["positions"].astype("<f4"), arrays["norms"]
            self._first = norms[0]
            self._layers = [self._layer(arrays, norms, number) for number in range(_LAYERS)]
            self._head = [arrays[name].astype("<f4") for name in ("dense", "dense_bias", "sorts", "sorts_bias")]

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]:
        """What each pair says, one after the other: together they would take the memory of the longest for each."""
        return [self._read(self._window(older), self._window(newer)[1:]) for older, newer in pairs]

    def _read(self, older: list[int], newer: list[int]) -> ReadTogether:
        tokens = np.array([*older, *newer])
        kinds = np.repeat((0, 1), (len(older), len(newer)))
        states = self._words[tokens] * self._scales[tokens, None] + self._positions[: len(tokens)] + self._kinds[kinds]
        states = normed(states, self._first[0], self._first[1], _SMALL)
        hidden = np.zeros((1, 1, 1, len(tokens)), np.float32)
        for layer in self._layers:
            states = through(layer, states, hidden, _HEADS, _SMALL)
        dense, dense_bias, sorts, sorts_bias = self._head
        apart, anew, again = (np.tanh(states.mean(axis=0) @ dense + dense_bias) @ sorts + sorts_bias).tolist()
        return ReadTogether(anew - apart, again - apart)

    def _window(self, text: str) -> list[int]:
        window = self._wordpiece.readable(self._wordpiece.encode(text)) or self._wordpiece.encode("")
        return window if len(window) <= HALF_A_PAIR else [*window[: HALF_A_PAIR - 1], window[-1]]

    def _layer(self, arrays: Any, norms: Floats, number: int) -> dict[str, Floats]:
        first = number * len(_MATRICES)
        made = {name: self._matrix(arrays, first + place) for place, name in enumerate(_MATRICES)}
        biases = {name: arrays[f"bias{first + place}"] for place, name in enumerate(_MATRICES)}
        share = np.float32(1.0 / math.sqrt(_WIDTH / _HEADS))
        (mixed_norm, mixed_shift), (norm, shift) = norms[1 + 2 * number : 3 + 2 * number]
        return {
            "qkv.w": np.concatenate((made["query"] * share, made["key"], made["value"]), axis=1),
            "qkv.b": np.concatenate((biases["query"] * share, biases["key"], biases["value"])),
            "ao.w": made["mixed"], "ao.b": biases["mixed"], "aln.w": mixed_norm, "aln.b": mixed_shift,
            "fi.w": made["up"], "fi.b": biases["up"],
            "fo.w": made["down"], "fo.b": biases["down"], "oln.w": norm, "oln.b": shift,
        }  # fmt: skip

    def _matrix(self, arrays: Any, number: int) -> Floats:
        """Weights as floats: the file's integers with their scales, and the change."""
        integers, scales, inputs, outputs = arrays["places"][number].tolist()
        weights = np.frombuffer(self._data, np.int8, inputs * outputs, integers).reshape(inputs, outputs)
        change = arrays[f"a{number}"].astype("<f4") @ arrays[f"b{number}"].astype("<f4")
        changed: Floats = weights * np.frombuffer(self._data, "<f4", outputs, scales) + change
        return changed
