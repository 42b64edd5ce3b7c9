"""Encoders that are asked over the network: nothing that they send is believed unseen, and none is waited for long.

A circuit breaker leaves a provider that failed alone for a while, then lets one caller ask before all do. Long notes
are cut for models whose tokenizer is somewhere else: by an estimate of tokens, at blanks, overlapping. What known
models want written before a document and before a query is a table, as their makers give it.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic, time
from typing import Final, Literal, Protocol, TypeVar

import anyio

from holdfast.encode.provider import VectorSet
from holdfast.errors import EncoderError

FIRST_REST: Final = 1.0  # seconds; doubled with every failed probe
LONGEST_REST: Final = 30.0
LONGEST_ASKED_REST: Final = 60.0  # what a provider may ask for: its queue is drained within two minutes of its return
TOLERANCE: Final = 2  # quick failures in a row; what cost somebody time opens it at once

State = Literal["closed", "open", "probing"]


class Breaker:
    """Whether a provider is asked at all.

    Every `enter` that returns True is followed by one of `succeed`, `fail` and `leave`.

    Args:
        clock: seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._rest = 0.0
        self._until = 0.0
        self._probing = False

    @property
    def state(self) -> State:
        if not self._rest:
            return "closed"
        return "probing" if self._probing else "open"

    @property
    def remaining(self) -> float:
        """Seconds until somebody may ask again."""
        return max(0.0, self._until - self._clock()) if self._rest else 0.0

    def enter(self) -> bool:
        """Whether to ask now. While it is open one caller at a time may, when the rest is over."""
        if not self._rest:
            return True
        if self._probing or self.remaining:
            return False
        self._probing = True
        return True

    def succeed(self) -> None:
        self._failures, self._rest, self._probing = 0, 0.0, False

    def fail(self, *, at_once: bool = False, asked: float | None = None) -> None:
        """Count a failure.

        Args:
            at_once: it took somebody's time, or the provider is gone: do not wait for a second one.
            asked: how many seconds the provider wants to be left alone.
        """
        self._failures += 1
        probed, self._probing = self._probing, False
        if not (probed or at_once or asked is not None or self._failures >= TOLERANCE):
            return
        if probed or not self._rest:  # of many calls that fail together one counts
            self._rest = min(max(FIRST_REST, self._rest * 2), LONGEST_REST)
        wanted = min(asked or 0.0, LONGEST_ASKED_REST)
        self._until = max(self._until, self._clock() + max(self._rest, wanted))

    def leave(self) -> None:
        """Nothing was learnt."""
        self._probing = False


WINDOW_TOKENS: Final = 400
OVERLAP_TOKENS: Final = 50
MOST_WINDOWS: Final = 16

_ASCII_TOKENS: Final = 0.3  # a letter of English; of other scripts one token each, which is the most they take
_BLANK_WITHIN: Final = 60  # characters before the end of a window in which a blank is looked for


def windows(text: str, tokens: int = WINDOW_TOKENS, most: int = MOST_WINDOWS) -> list[str]:
    """The text in pieces of at most `tokens` by estimate, the beginning first; at least one, at most `most`."""
    if len(text) <= tokens:
        return [text]
    pieces: list[str] = []
    start = 0
    while start < len(text) and len(pieces) < most:
        end = _end(text, start, tokens)
        pieces.append(text[start:end])
        if end == len(text):
            break
        start = max(start + 1, _back(text, end, min(OVERLAP_TOKENS, tokens // 4)))
    return pieces


def _end(text: str, start: int, tokens: int) -> int:
    """Where a window that begins at `start` ends."""
    spent = 0.0
    end = start
    while end < len(text):
        spent += _ASCII_TOKENS if text[end].isascii() else 1.0
        if spent > tokens:
            break
        end += 1
    if end < len(text):
        blank = text.rfind(" ", max(start + 1, end - _BLANK_WITHIN), end)
        end = blank if blank > start else max(end, start + 1)
    return end


def _back(text: str, end: int, tokens: int) -> int:
    """Where the next window begins so that it repeats some of the last."""
    spent = 0.0
    start = end
    while start and spent < tokens:
        start -= 1
        spent += _ASCII_TOKENS if text[start].isascii() else 1.0
    blank = text.find(" ", start, end)
    return blank + 1 if blank >= 0 else start


_RETRIEVE: Final = "Represent this sentence for searching relevant passages: "
_INSTRUCT: Final = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# By a part of the model's name; the first that fits counts.
_KNOWN: Final = (
    ("nomic-embed-text", ("search_document: ", "search_query: ")),
    ("embeddinggemma", ("title: none | text: ", "task: search result | query: ")),
    ("qwen3-embedding", ("", _INSTRUCT)),
    ("mxbai-embed", ("", _RETRIEVE)),
    ("arctic-embed2", ("", "query: ")),
    ("arctic-embed-l-v2", ("", "query: ")),
    ("arctic-embed-m-v2", ("", "query: ")),
    ("arctic-embed", ("", _RETRIEVE)),
    ("bge-m3", ("", "")),
    ("bge-large-en", ("", _RETRIEVE)),
    ("bge-base-en", ("", _RETRIEVE)),
    ("bge-small-en", ("", _RETRIEVE)),
    ("bge-large", ("", _RETRIEVE)),
    ("e5-mistral", ("", _INSTRUCT + " ")),
    ("e5-large-instruct", ("", _INSTRUCT + " ")),
    ("e5-", ("passage: ", "query: ")),
)

# Names of models that embed, for a look at what is there.
_FAMILIES: Final = ("embed", "minilm", "bge-", "e5-", "gte-")


def prefixes_of(model: str) -> tuple[str, str]:
    """What stands before a document and before a query; nothing for a model that is not known."""
    name = model.lower().replace("_", "-")
    return next((prefixes for part, prefixes in _KNOWN if part in name), ("", ""))


def is_embedding_model(model: str) -> bool:
    """Whether a model's name says that it embeds."""
    name = model.lower().rpartition("/")[2]
    return any(part in name for part in _FAMILIES)


Answer = TypeVar("Answer")
Numbers = Sequence[Sequence[float]]

QUERY_SECONDS: Final = 10.0
BATCH_SECONDS: Final = 60.0  # the first one may load a model
SLOW_SECONDS: Final = 1.0  # whoever gives up after that has learnt that the provider is slow
BATCH_TEXTS: Final = 16
LARGEST_ANSWER: Final = 16 << 20  # bytes
LARGEST_DIMENSION: Final = 16_384

# Sentences that have nothing to do with each other: their cosines are what a model gives to unrelated texts.
PROBES: Final = (
    "The ferry leaves the harbour at six in the morning.",
    "We use PostgreSQL 16 with logical replication for the billing service.",
    "Anna is allergic to peanuts and carries an injector.",
    "The build fails on Windows because the path is too long.",
    "Water the tomatoes twice a week in summer.",
    "He prefers short answers without bullet points.",
    "The contract with the supplier ends in March.",
    "Retry the request with exponential backoff and jitter.",
    "Her sister plays the cello in an orchestra in Vienna.",
    "The invoice number is printed in the upper right corner.",
    "Always run the migrations before the tests.",
    "The cat was born in a barn near the river.",
)
# Mean and deviation that the built-in model has for them, and in a real store of notes: the one tells the other.
_PROBED: Final = (0.049, 0.075)
_STORED: Final = (0.11, 0.10)
_NARROWEST: Final = 0.01


class BusyError(EncoderError):
    """The provider is there and cannot answer now; `rest` is for how many seconds it wants to be left alone."""

    def __init__(self, sentence: str, rest: float | None = None) -> None:
        super().__init__(sentence)
        self.rest = rest


class UnreachableError(EncoderError):
    """Nobody answers there."""


class TextRefusedError(EncoderError):
    """The provider does not take this text; another one it may."""


class Endpoint(Protocol):
    """How one provider is asked; every failure is an `EncoderError`."""

    @property
    def name(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def model(self) -> str: ...
    async def examine(self) -> int:
        """See that the model is there and embeds; how many tokens it reads at once, 0 where that is not told."""

    async def digest(self) -> str:
        """The exact weights that it answers with now; empty where the provider does not tell."""

    async def embed(self, texts: Sequence[str], *, query: bool) -> Numbers: ...
    async def aclose(self) -> None: ...


class RemoteEncoder:
    """An encoder behind an endpoint: batches, limits, checks and a breaker.

    Args:
        endpoint: the provider.
        clock: seconds that never go back, for the breaker.
    """

    def __init__(self, endpoint: Endpoint, clock: Callable[[], float] = monotonic) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._breaker = Breaker(clock)
        self._prefixes = prefixes_of(endpoint.model)
        self._known: VectorSet | None = None
        self._window = WINDOW_TOKENS
        self._turn = anyio.Lock()
        self._remedy = ""  # of the last failure, while the provider is left alone
        self.backlog = 0

    @property
    def vector_set(self) -> VectorSet:
        """The set, as it was found out last.

        Raises:
            EncoderError: the provider has not been reached yet.
        """
        if self._known is None:
            raise EncoderError(f"{self._endpoint.name} has not answered yet.")
        return self._known

    async def identify(self) -> VectorSet:
        """The set, found out now if need be.

        Raises:
            EncoderError: the provider cannot be reached, or cannot encode.
        """
        known = self._known
        return known if known is not None else await self._attempt(self._identified, BATCH_SECONDS)

    async def encode_documents(self, texts: Sequence[str]) -> list[list[bytes]]:
        """Unit vectors (float32, little endian) for each text: one for each chunk, the beginning first.

        Raises:
            EncoderError: the provider failed, or is left alone because it did.
        """
        self.backlog += len(texts)
        try:
            await self.identify()
            pieces = [windows(text, self._window) for text in texts]
            flat = [self._prefixes[0] + piece for each in pieces for piece in each]
            order = sorted(range(len(flat)), key=lambda place: len(flat[place]))
            vectors = [b""] * len(flat)
            for start in range(0, len(order), BATCH_TEXTS):
                places = order[start : start + BATCH_TEXTS]
                made = await self._encode([flat[place] for place in places], BATCH_SECONDS, query=False)
                for place, vector in zip(places, made, strict=True):
                    vectors[place] = vector
        finally:
            self.backlog -= len(texts)
        rest = iter(vectors)
        return [[next(rest) for _ in each] for each in pieces]

    async def encode_query(self, text: str) -> bytes:
        """Unit vector (float32, little endian) of the beginning of `text`.

        Raises:
            EncoderError: as above.
        """
        piece = windows(text, self._window, most=1)[0]
        return (await self._encode([self._prefixes[1] + piece], QUERY_SECONDS, query=True))[0]

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._endpoint.aclose()

    async def _encode(self, texts: Sequence[str], seconds: float, *, query: bool) -> list[bytes]:
        async def call() -> list[bytes]:
            known = await self._identified()
            numbers = await self._endpoint.embed(texts, query=query)
            # Asked afterwards: what a model of another digest made is thrown away, whenever it was changed.
            if await self._endpoint.digest() != known.digest:
                self._known = None
                raise EncoderError(f"{self._endpoint.name} has another version of its model now.")
            return self._checked(numbers, len(texts), known.dimension)

        return await self._attempt(call, seconds)

    async def _identified(self) -> VectorSet:
        async with self._turn:
            known = self._known
            if known is None:
                limit = await self._endpoint.examine()
                self._window = min(WINDOW_TOKENS, limit * 3 // 4) if limit else WINDOW_TOKENS
                digest = await self._endpoint.digest()
                numbers = await self._endpoint.embed([self._prefixes[0] + text for text in PROBES], query=False)
                dimension = len(numbers[0]) if numbers else 0
                if not 1 <= dimension <= LARGEST_DIMENSION:
                    raise EncoderError(f"{self._endpoint.name} answered with vectors of no usable length.")
                vectors = self._checked(numbers, len(PROBES), dimension)
                if await self._endpoint.digest() != digest:
                    raise EncoderError(f"{self._endpoint.name} changed its model while it was asked.")
                mean, deviation = _background(vectors)
                known = self._known = VectorSet(
                    self._endpoint.provider, self._endpoint.model, digest, dimension, self._prefixes, mean, deviation
                )
            return known

    def _checked(self, numbers: Numbers, count: int, dimension: int) -> list[bytes]:
        """Unit vectors, if these are as many as were asked for, of one length, and finite."""
        import numpy as np  # noqa: PLC0415 - start-up stays light

        name = self._endpoint.name
        if len(numbers) != count:
            raise EncoderError(f"{name} answered with {len(numbers)} vectors for {count} texts.")
        if any(len(vector) != dimension for vector in numbers):
            self._known = None  # perhaps it is another model now: find out before it is asked again
            raise EncoderError(f"{name} answered with a vector of another length.")
        matrix = np.array(numbers, np.float64)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise EncoderError(f"{name} answered with numbers that are none.")
        return [vector.tobytes() for vector in (matrix / lengths).astype("<f4")]

    async def _attempt(self, call: Callable[[], Awaitable[Answer]], seconds: float) -> Answer:
        """Ask, unless the provider is left alone, and tell the breaker how it went."""
        name, breaker = self._endpoint.name, self._breaker
        if not breaker.enter():
            seconds = math.ceil(breaker.remaining)
            what = f"left alone for {seconds} s" if seconds else "being asked again at this moment"
            raise EncoderError(f"{name} failed and is {what}.", self._remedy)
        began = self._clock()
        verdict = breaker.leave
        try:
            with anyio.fail_after(seconds):
                answer = await call()
            verdict = breaker.succeed
        except TimeoutError as error:
            raise EncoderError(f"{name} did not answer within {seconds:.0f} s.") from error
        except TextRefusedError:
            verdict = breaker.succeed
            raise
        except BusyError as error:
            verdict = partial(breaker.fail, asked=error.rest)
            raise
        except EncoderError as error:
            self._remedy = error.remedy
            verdict = partial(breaker.fail, at_once=isinstance(error, UnreachableError))
            raise
        finally:  # also where whoever asked gave up
            if verdict == breaker.leave and self._clock() - began >= SLOW_SECONDS:
                verdict = partial(breaker.fail, at_once=True)
            verdict()
        return answer


def _background(vectors: Sequence[bytes]) -> tuple[float, float]:
    """Mean and deviation to expect between unrelated notes of a store, from those between the probes."""
    import numpy as np  # noqa: PLC0415 - start-up stays light

    matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(len(vectors), -1)
    cosines = (matrix @ matrix.T)[np.triu_indices(len(vectors), 1)]
    spread = max(float(cosines.std()), _NARROWEST) / _PROBED[1]
    return float(cosines.mean()) + (_STORED[0] - _PROBED[0]) * spread, _STORED[1] * spread


def failure(name: str, status: int, retry_after: str | None) -> EncoderError:
    """What an HTTP status that is no success means."""
    if status in {400, 413, 422}:
        return TextRefusedError(f"{name} does not take this text (status {status}).")
    if status == 429 or status >= 500:  # noqa: PLR2004 - HTTP's own numbers
        return BusyError(f"{name} cannot answer now (status {status}).", rest_asked(retry_after))
    if status in {401, 403}:
        return EncoderError(f"{name} does not accept the key, or needs one (status {status}).")
    return EncoderError(f"{name} answered with status {status}.")


def rest_asked(retry_after: str | None) -> float | None:
    """The seconds that a `Retry-After` header asks for, which are a number or a date; None where it says neither."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(int(retry_after)))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - seldom

    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    except ValueError:
        return None
