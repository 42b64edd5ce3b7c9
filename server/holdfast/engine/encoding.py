"""Vectors for verbs: never in the way. What cannot be had in time is left for later, and the answer says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import anyio

from holdfast.engine.ports import Encoder, Ports
from holdfast.errors import EncoderError
from holdfast.index.projection import MadeVectors, text_to_encode
from holdfast.index.questions import QuestionVector
from holdfast.index.rows import PendingVector
from holdfast.index.update import Update
from holdfast.model.affinity import FORGOTTEN_DAYS
from holdfast.model.query import QueryVector
from holdfast.model.times import instant

PATIENCE_SECONDS = 8.0  # the first call loads the model
DEEP_BACKLOG = 12  # texts; behind these a store does not wait for its vector
DRAIN_BATCH = 64
HOPELESS = 3  # texts that fail one after the other, and none before them that did not

VectorState = Literal[True, False, "pending"]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text's vectors, or why there are none. `chunks` is empty unless `state` is True."""

    state: VectorState
    chunks: tuple[bytes, ...] = ()
    notice: str = ""


async def encode_note(ports: Ports, title: str, content: str) -> Encoded:
    """Vectors of a note that is about to be stored."""
    encoder = ports.encoder
    if encoder is None:
        return Encoded(state=False)
    if encoder.backlog > DEEP_BACKLOG:
        return Encoded(state="pending")
    try:
        with anyio.fail_after(PATIENCE_SECONDS):
            chunks = (await encoder.encode_documents([text_to_encode(title, content)]))[0]
    except TimeoutError:
        return Encoded(
            state="pending", notice="The encoder is busy: this note is found by its words until it has a vector."
        )
    except EncoderError as error:
        return Encoded(state="pending", notice=f"Found by words only: {error}")
    return Encoded(state=bool(chunks), chunks=tuple(chunks))  # none: it is written in a script that is not read


async def encode_query(ports: Ports, text: str) -> tuple[QueryVector | None, str]:
    """A query's vector, and a notice where there should be one and is none."""
    encoder = ports.encoder
    if encoder is None:
        return None, "No encoder is set: notes were found by their words only."
    try:
        with anyio.fail_after(PATIENCE_SECONDS):
            vector = await encoder.encode_query(text)
    except TimeoutError:
        return None, "The encoder is not ready yet: notes were found by their words only."
    except EncoderError as error:
        return None, f"Notes were found by their words only: {error}"
    return query_vector(ports, vector), ""


def query_vector(ports: Ports, vector: bytes) -> QueryVector | None:
    """A vector with the set that it belongs to and that set's background."""
    if ports.encoder is None:
        return None
    made_with = ports.encoder.vector_set
    return QueryVector(made_with.key, vector, made_with.background_mean, made_with.background_deviation)


async def drain(ports: Ports) -> int:
    """Encode one batch of what waits for a vector, notes before rated questions; returns how many got theirs.

    Raises:
        EncoderError: the encoder cannot encode.
    """
    if ports.encoder is None:
        return 0
    key = ports.encoder.vector_set.key
    waiting = await ports.index.pending_vectors(key, DRAIN_BATCH)
    if not waiting:
        return await _drain_questions(ports, ports.encoder)
    made = await _encode_each(ports.encoder, waiting)
    await ports.index.apply(Update(vectors=made))
    return len(made)


async def _drain_questions(ports: Ports, encoder: Encoder) -> int:
    """Encode a batch of rated questions; one that cannot be encoded is compared by its words and holds up no other."""
    key = encoder.vector_set.key
    since = instant(ports.clock() - timedelta(days=FORGOTTEN_DAYS))
    made: list[QuestionVector] = []
    failures = 0
    waiting = await ports.index.read(lambda view: view.pending_questions(key, since, DRAIN_BATCH))
    for question in waiting:
        try:
            made.append(QuestionVector(question.key, key, await encoder.encode_query(question.embedded)))
        except EncoderError:
            failures += 1
            if failures == HOPELESS and not made:  # it is the encoder, not the text
                raise
    if made:
        await ports.index.apply(Update(question_vectors=made))
    return len(made)


async def _encode_each(encoder: Encoder, waiting: Sequence[PendingVector]) -> list[MadeVectors]:
    """Vectors of notes; a text that the encoder cannot take holds up no other."""
    try:
        return await _encode(encoder, waiting)
    except EncoderError:
        if len(waiting) == 1:
            raise
    made: list[MadeVectors] = []
    failures = 0
    for item in waiting:
        try:
            made += await _encode(encoder, [item])
        except EncoderError:
            failures += 1
            if failures == HOPELESS and not made:  # it is the encoder, not the text
                raise
    return made


async def _encode(encoder: Encoder, waiting: Sequence[PendingVector]) -> list[MadeVectors]:
    vectors = await encoder.encode_documents([text_to_encode(item.title, item.content) for item in waiting])
    key = encoder.vector_set.key
    return [MadeVectors(item.id, item.encode_hash, key, chunks) for item, chunks in zip(waiting, vectors, strict=True)]
