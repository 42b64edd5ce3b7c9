"""Vectors for verbs, never in their way: what cannot be had in time is left for later, and the answer says so.

Where the settings want it, a second encoder stands beside theirs and makes a set of its own: questions are compared in
both. It is asked for nothing else, and is never in the other one's place.

A process answers from the vector set of its own settings once that is ready; until then, and while its provider fails,
from another one that is ready and that it can encode a query for. A comparison is always within one set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

import anyio

from holdfast.encode.provider import SharedVectors, VectorSet, content_of, read_set
from holdfast.encode.remote import TextRefusedError
from holdfast.engine.ports import Encoder, Ports
from holdfast.errors import EncoderError
from holdfast.index.projection import MadeVectors, Update, text_to_encode
from holdfast.index.recalls import QuestionVector
from holdfast.index.rows import PendingVector, SetRow
from holdfast.index.view import IndexView
from holdfast.model.lifecycle import WORN_OFF_DAYS
from holdfast.model.note import instant
from holdfast.model.ranking import QueryVector

BRIEF_SECONDS = 1.0  # how long a provider is waited for by what only looks


@dataclass(frozen=True, slots=True)
class Progress:
    """A vector set of the folder: `done` of `notes` are encoded. `wanted` is the set that the settings name."""

    key: str
    provider: str
    model: str
    dimension: int
    done: int
    notes: int
    ready: bool
    wanted: bool
    answering: bool


@dataclass(frozen=True, slots=True)
class EncoderChoice:
    """An encoder that may answer. `key` is the set that it has to make; None where it has not told yet."""

    encoder: Encoder
    key: str | None
    is_wanted: bool
    is_remote: bool


def identity(encoder: Encoder | None) -> VectorSet | None:
    """The set that an encoder makes, as far as that is known without asking anybody."""
    if encoder is None:
        return None
    try:
        return encoder.vector_set
    except EncoderError:
        return None


async def identified(encoder: Encoder) -> VectorSet:
    """The same, asked for where it is not known.

    Raises:
        EncoderError: the provider does not tell.
    """
    return identity(encoder) or await encoder.identify()


def encoders_to_ask(ports: Ports) -> list[EncoderChoice]:
    """Who may encode what is to be compared, in the order in which they are asked."""
    if ports.encoder is None:
        return []
    mine = identity(ports.encoder)
    own = EncoderChoice(
        ports.encoder, mine.key if mine else None, is_wanted=True, is_remote=mine is None or mine.is_remote
    )
    may_answer = is_answering(ports, own.key)
    if may_answer and not own.is_remote:
        return [own]
    others = list(_others(ports, own.key))
    return [own, *others] if may_answer else [*others, own]


def is_answering(ports: Ports, key: str | None) -> bool:
    """Whether vectors of this set may be compared: it is ready, or there is no other that is."""
    second = identity(ports.beside)
    ready = {row.key for row in ports.index.vector_sets if row.ready and (second is None or row.key != second.key)}
    return key is None or key in ready or not ready


def _others(ports: Ports, own: str | None) -> Iterator[EncoderChoice]:
    """Encoders of ready sets that the settings do not name; what runs in this process first."""
    if ports.kept is None:
        return
    second = identity(ports.beside)
    not_these = {own, second.key if second else None}
    sets = [read_set(row.described) for row in ports.index.vector_sets if row.ready and row.key not in not_these]
    for vector_set in sorted((item for item in sets if item), key=lambda item: item.is_remote):
        encoder = ports.kept.of(vector_set)
        if encoder is not None:
            yield EncoderChoice(encoder, vector_set.key, is_wanted=False, is_remote=vector_set.is_remote)


async def open_own(ports: Ports, encoder: Encoder | None, opened: str) -> str:
    """Make a set of the settings known to the folder, so that it is built; returns its key.

    Args:
        ports: storage, index, encoder, clock and ids.
        encoder: that of the settings, or that beside it.
        opened: the key that this process opened before, empty for none.

    Raises:
        EncoderError: the provider cannot be asked.
    """
    if encoder is None:
        return ""
    own = await identified(encoder)

    def is_needed(view: IndexView) -> bool:
        row = next((row for row in ports.index.vector_sets if row.key == own.key), None)
        if row is None or not row.described:
            return True
        if row.ready:
            return own.key != opened and view.is_stale(own.key)
        return view.count_pending(own.key) == 0

    if await ports.index.read(is_needed):
        await ports.index.apply(Update(opened=[SetRow(own.key, own.described)]))
    return own.key


async def count_waiting(ports: Ports) -> int:
    """How many notes wait for a vector of the settings' encoder.

    A remote provider that has not told what it is has a second to do so. Then the remote set that was begun last is
    taken for its own, and where there is none all notes wait.
    """
    if ports.encoder is None:
        return 0
    try:
        with anyio.fail_after(BRIEF_SECONDS):
            key = (await identified(ports.encoder)).key
    except (EncoderError, TimeoutError):
        remote = [row.key for row in ports.index.vector_sets if (known := read_set(row.described)) and known.is_remote]
        key = next(iter(remote), "")  # of no set is known: that counts all
    second = identity(ports.beside)
    return await ports.index.count_pending(key) + (await ports.index.count_pending(second.key) if second else 0)


async def progress(ports: Ports) -> list[Progress]:
    """All vector sets of the folder, the one that was begun last first."""

    def read(view: IndexView) -> list[Progress]:
        mine = [each for each in (identity(ports.encoder), identity(ports.beside)) if each is not None]
        answering = {next((choice.key for choice in encoders_to_ask(ports)), None)}
        answering |= {each.key for each in mine[1:] if _is_ready(ports, each.key)}
        notes = view.count_notes()
        return [_progress(row, view.count_pending(row.key), notes, mine, answering) for row in ports.index.vector_sets]

    return await ports.index.read(read)


def _progress(
    row: SetRow, pending: int, notes: int, own: Sequence[VectorSet], answering: Collection[str | None]
) -> Progress:
    wanted = next((each for each in own if each.key == row.key), None)
    known = wanted or read_set(row.described)
    provider, model, dimension = (known.provider, known.model, known.dimension) if known else ("", "", 0)
    return Progress(
        row.key, provider, model, dimension, notes - pending, notes, row.ready, wanted is not None, row.key in answering
    )


PATIENCE_SECONDS = 8.0  # the first call loads the model
REMOTE_PATIENCE_SECONDS = 1.5  # a loaded model takes a tenth of it, and nobody waits while one is loaded
DEEP_BACKLOG = 12  # texts; behind these a store does not wait for its vector
DRAIN_BATCH = 64
LOOKED_THROUGH = 1024  # of what waits, for what other servers have made
HOPELESS = 3  # texts that fail one after the other, and none before them that did not
_HARMLESS = "This sentence can be encoded."
_ONE_LANGUAGE = "Notes in other languages than the question's are found less well:"

VectorState = Literal[True, False, "pending"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text's vectors, or why there are none.

    `chunks` belong to the set `made_with`. Where they are there and the `state` is pending, a kept set has the text and
    the one that the settings name has it not yet.
    """

    state: VectorState
    chunks: tuple[bytes, ...] = ()
    notice: str = ""
    made_with: VectorSet | None = None

    @property
    def query(self) -> QueryVector | None:
        """The text's beginning, to search with."""
        return _query_vector(self.made_with, self.chunks[0]) if self.made_with and self.chunks else None


async def encode_note(ports: Ports, title: str, content: str) -> Encoded:
    """Vectors of a note that is about to be stored."""
    if ports.encoder is None:
        return Encoded(state=False)
    deadline = anyio.current_time() + PATIENCE_SECONDS
    notice = ""
    for choice in encoders_to_ask(ports):
        if choice.encoder.backlog > DEEP_BACKLOG:
            continue
        try:
            with anyio.fail_after(_patience(choice, deadline)):
                [chunks] = await choice.encoder.encode_documents([text_to_encode(title, content)])
            made_with = _made_with(ports, choice)
        except TimeoutError:
            notice = notice or "The encoder is busy: this note is found by its words until it has a vector."
        except EncoderError as error:
            notice = notice or f"Found by words only: {error}"
        else:
            state: VectorState = "pending" if notice else bool(chunks)  # none: it is in a script that is not read
            if notice:
                notice = f"The encoder does not answer; meanwhile this note has a vector of {made_with.model}."
            return Encoded(state, tuple(chunks), notice, made_with)
    return Encoded("pending", notice=notice)


async def encode_query(ports: Ports, text: str) -> tuple[QueryVector | None, str]:
    """A query's vector, and a notice where there should be one and is none, or where it is of a kept set."""
    if ports.encoder is None:
        return None, "No encoder is set: notes were found by their words only."
    deadline = anyio.current_time() + PATIENCE_SECONDS
    problems: list[str] = []
    for choice in encoders_to_ask(ports):
        try:
            with anyio.fail_after(_patience(choice, deadline)):
                vector = await choice.encoder.encode_query(text)
            made_with = _made_with(ports, choice)
        except TimeoutError:
            problems.append("")
        except EncoderError as error:
            problems.append(str(error))
        else:
            return _query_vector(made_with, vector), _stood_in(problems, made_with)
    if not problems or not problems[0]:
        return None, "The encoder is not ready yet: notes were found by their words only."
    return None, f"Notes were found by their words only: {problems[0]}"


async def encode_together(
    ports: Ports, text: str, others: Sequence[str]
) -> tuple[tuple[QueryVector | None, str], list[QueryVector | None]]:
    """A query's vector and notice as of `encode_query`, and the vectors of other texts that are encoded with it."""
    if not others:
        return await encode_query(ports, text), []
    texts = [text, *others]
    made: list[tuple[QueryVector | None, str]] = [(None, "")] * len(texts)

    async def encode(place: int) -> None:
        made[place] = await encode_query(ports, texts[place])

    async with anyio.create_task_group() as tasks:
        for place in range(len(texts)):
            tasks.start_soon(encode, place)
    return made[0], [vector for vector, _ in made[1:]]


@dataclass(frozen=True, slots=True)
class Beside:
    """Texts in the set that stands beside that of the settings; none where there is none, or not all of it yet."""

    vectors: tuple[QueryVector | None, ...] = ()
    notice: str = ""

    def of(self, place: int) -> QueryVector | None:
        return self.vectors[place] if self.vectors else None


async def encode_beside(ports: Ports, texts: Sequence[str]) -> Beside:
    """The same texts by the encoder that reads more languages, or why that did not read them."""
    encoder = ports.beside
    if encoder is None or ports.encoder is None:
        return Beside()
    known = identity(encoder)
    if known is not None and not _is_ready(ports, known.key):
        return Beside()  # what is lacking is told by what counts it
    vectors: list[bytes] = [b""] * len(texts)
    failed: list[str] = []

    async def encode(place: int) -> None:
        try:
            vectors[place] = await encoder.encode_query(texts[place])
        except EncoderError as error:
            failed.append(str(error))

    seconds = REMOTE_PATIENCE_SECONDS if known is None or known.is_remote else PATIENCE_SECONDS
    with anyio.move_on_after(seconds) as patience:
        async with anyio.create_task_group() as tasks:
            for place in range(len(texts)):
                tasks.start_soon(encode, place)
    if patience.cancelled_caught:
        failed.append("The encoder for them is not ready yet.")
    if failed:
        return Beside(notice=f"{_ONE_LANGUAGE} {failed[0]}")
    made_with = encoder.vector_set
    if not _is_ready(ports, made_with.key):
        return Beside()
    return Beside(tuple(replace(_query_vector(made_with, vector), is_second=True) for vector in vectors))


def _is_ready(ports: Ports, key: str) -> bool:
    return any(row.key == key and row.ready for row in ports.index.vector_sets)


def count_beside(view: IndexView, ports: Ports) -> int:
    """How many notes have no vector in the set beside that of the settings, where these are too many to pass over."""
    second = identity(ports.beside)
    if second is None or ports.encoder is None:
        return 0
    lacking = view.count_lacking(second.key)
    return lacking if lacking > DEEP_BACKLOG or not _is_ready(ports, second.key) else 0


def _stood_in(problems: Sequence[str], made_with: VectorSet) -> str:
    """The notice that a kept set answered, after the encoders asked before it failed with these problems."""
    if not problems:
        return ""
    return f"{problems[0] or 'The encoder does not answer.'} Notes were found by the kept vectors of {made_with.model}."


def _patience(choice: EncoderChoice, deadline: float) -> float:
    left = max(0.0, deadline - anyio.current_time())
    return min(left, REMOTE_PATIENCE_SECONDS) if choice.is_remote else left


def _made_with(ports: Ports, choice: EncoderChoice) -> VectorSet:
    """The set of what an encoder has just made.

    Raises:
        EncoderError: it is none that may be compared now.
    """
    made_with = choice.encoder.vector_set
    if choice.key is not None and choice.key != made_with.key:
        raise EncoderError("The embedding model has changed; its vectors are made anew.")
    if choice.key is None and not is_answering(ports, made_with.key):
        raise EncoderError("The vectors of this model are still being made.")
    return made_with


def _query_vector(made_with: VectorSet, vector: bytes) -> QueryVector:
    """A vector with the set that it belongs to and that set's background."""
    return QueryVector(made_with.key, vector, made_with.background_mean, made_with.background_deviation)


def count_unencoded(view: IndexView, ports: Ports, vector: QueryVector | None) -> int:
    """How many notes have no vector to be compared with, in the set that answered or that should have."""
    if ports.encoder is None:
        return 0
    own = identity(ports.encoder)
    ready = next((row.key for row in ports.index.vector_sets if row.ready), "")
    return view.count_lacking(vector.key if vector else own.key if own else ready)


def vector_in(ports: Ports, key: str, vector: bytes) -> QueryVector | None:
    """A vector of an earlier question with its set's background; None where that set is not known here."""
    own = identity(ports.encoder)
    described = (read_set(row.described) for row in ports.index.vector_sets if row.key == key)
    made_with = own if own is not None and own.key == key else next(described, None)
    return _query_vector(made_with, vector) if made_with else None


async def drain(ports: Ports) -> int:
    """Encode one batch of what waits for a vector, notes before rated questions; returns how many were dealt with.

    While the provider that the settings name fails, a kept set that can be encoded in this process is brought up to
    date, so that it can stand in.

    Raises:
        EncoderError: the encoder cannot encode.
    """
    if ports.encoder is None:
        return 0
    try:
        made = await _drain_own(ports, ports.encoder)
    except EncoderError:
        made = await _drain_kept(ports)
        if not made:
            raise
    if not made and ports.beside is not None:
        return await _drain_set(ports, ports.beside)
    return made


async def _drain_own(ports: Ports, encoder: Encoder) -> int:
    return await _drain_set(ports, encoder) or await _drain_questions(ports, encoder)


async def _drain_set(ports: Ports, encoder: Encoder) -> int:
    own = await identified(encoder)
    queue = await ports.index.pending_vectors(own.key, DRAIN_BATCH + len(ports.refusals))
    waiting = ports.refusals.without(queue, anyio.current_time())[:DRAIN_BATCH]
    if not waiting:
        if queue:
            await _give_up(ports, encoder, own)
        return 0
    is_rest = len(waiting) < DRAIN_BATCH
    if ports.fleet is None:
        return await _drain_batch(ports, encoder, own, waiting, is_rest=is_rest)
    if others := await _made_elsewhere(ports.fleet.vectors, ports, own, waiting):
        return await _drain_batch(ports, encoder, own, others, is_rest=False)
    async with ports.fleet.vectors.turn(own.key) as mine:
        return await _drain_batch(ports, encoder, own, waiting, is_rest=is_rest) if mine else 0


async def _made_elsewhere(
    shared: SharedVectors, ports: Ports, own: VectorSet, waiting: Sequence[PendingVector]
) -> Sequence[PendingVector]:
    """Of what waits a batch that others have encoded; one that stands behind much that nobody has is found too."""
    found = await _made(shared, own, waiting)
    if len(found) < len(waiting):
        found = await _made(shared, own, await ports.index.pending_vectors(own.key, LOOKED_THROUGH))
    return found[:DRAIN_BATCH]


async def _made(shared: SharedVectors, own: VectorSet, waiting: Sequence[PendingVector]) -> list[PendingVector]:
    contents = {item.id: content_of(text_to_encode(item.title, item.content)) for item in waiting}
    made = await shared.made(own.key, sorted(contents.values()))
    return [item for item in waiting if contents[item.id] in made]


async def _drain_batch(
    ports: Ports, encoder: Encoder, own: VectorSet, waiting: Sequence[PendingVector], *, is_rest: bool
) -> int:
    """Encode these; `is_rest` is whether nothing else waits."""
    made: list[MadeVectors] = []
    refused: list[PendingVector] = []
    try:
        made = await _encode_each(encoder, waiting, refused)
    finally:
        if not made and is_rest:
            await _give_up(ports, encoder, own)
    await ports.index.apply(Update(vectors=made))
    if not refused or not (made or await _works(encoder)):
        return len(made)
    ports.refusals.add(refused, anyio.current_time())
    return len(made) + len(refused)


async def _give_up(ports: Ports, encoder: Encoder, own: VectorSet) -> None:
    """Where the encoder works and refuses all that still waits, call the set ready: it will not have more than now."""
    building = any(row.key == own.key and not row.ready for row in ports.index.vector_sets)
    if building and await _works(encoder):
        await ports.index.apply(Update(opened=[SetRow(own.key, own.described, ready=True)]))


async def _works(encoder: Encoder) -> bool:
    try:
        return bool(await encoder.encode_documents([_HARMLESS]))
    except EncoderError:
        return False


async def _drain_kept(ports: Ports) -> int:
    for choice in encoders_to_ask(ports):
        if not choice.is_wanted and not choice.is_remote and choice.key is not None:
            waiting = await ports.index.pending_vectors(choice.key, DRAIN_BATCH)
            made = await _encode_each(choice.encoder, waiting, []) if waiting else []
            if made:
                await ports.index.apply(Update(vectors=[item for item in made if item.vector_set == choice.key]))
                return len(made)
    return 0


async def _drain_questions(ports: Ports, encoder: Encoder) -> int:
    """Encode a batch of rated questions; one that cannot be encoded is compared by its words and holds up no other."""
    key = encoder.vector_set.key
    since = instant(ports.clock() - timedelta(days=WORN_OFF_DAYS))
    made: list[QuestionVector] = []
    failures = 0
    waiting = await ports.index.read(lambda view: view.pending_questions(key, since, DRAIN_BATCH))
    for question in waiting:
        try:
            vector = await encoder.encode_query(question.embedded)
            if encoder.vector_set.key == key:
                made.append(QuestionVector(question.key, key, vector))
        except EncoderError:
            failures += 1
            if failures == HOPELESS and not made:  # it is the encoder, not the text
                raise
    if made:
        await ports.index.apply(Update(question_vectors=made))
    return len(made)


async def _encode_each(
    encoder: Encoder, waiting: Sequence[PendingVector], refused: list[PendingVector]
) -> list[MadeVectors]:
    """Vectors of notes; a text that the encoder cannot take holds up no other, and one that is `refused` is told."""
    try:
        return await _encode(encoder, waiting)
    except EncoderError as error:
        if len(waiting) == 1 and not isinstance(error, TextRefusedError):
            raise
    made: list[MadeVectors] = []
    failures = 0
    for item in waiting:
        try:
            made += await _encode(encoder, [item])
        except TextRefusedError:  # by a provider that works
            refused.append(item)
        except EncoderError:
            failures += 1
            if failures == HOPELESS and not made:  # it is the encoder, not the text
                raise
    return made


async def _encode(encoder: Encoder, waiting: Sequence[PendingVector]) -> list[MadeVectors]:
    before = await identified(encoder)
    vectors = await encoder.encode_documents([text_to_encode(item.title, item.content) for item in waiting])
    key = encoder.vector_set.key
    if key != before.key:
        raise EncoderError("The embedding model changed while it encoded.")
    return [MadeVectors(item.id, item.encode_hash, key, chunks) for item, chunks in zip(waiting, vectors, strict=True)]
