"""The reader of the multilingual model: its file, its tokenizer, what it computes, and what is taken out of that."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

import small_e5
from holdfast.encode.computed import DIMENSION, E5, LANGUAGES, read_languages
from small_e5 import PIECES, SCORES

TEXTS = ["the crane", "仓库 the crane", "the the the crane s s s", "the"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[E5, dict[str, small_e5.Array]]:
    path = tmp_path_factory.mktemp("model") / "small.bin"
    weights = small_e5.write(path)
    return E5(path, None), weights


def spoken(model: E5, text: str) -> list[str]:
    return [PIECES[token] for token in model.pieces.tokens(text)]


def test_vectors_are_those_of_the_same_computation_written_out_plainly(
    made: tuple[E5, dict[str, small_e5.Array]],
) -> None:
    model, weights = made
    for text in TEXTS:
        [[window]] = model.chunks([text])
        [vector] = model.vectors([window])
        plain = small_e5.plainly(weights, window)
        assert np.frombuffer(vector, "<f4") @ plain == pytest.approx(1.0, abs=1e-4), text


def test_a_text_has_the_same_vector_alone_and_beside_longer_ones(made: tuple[E5, dict[str, small_e5.Array]]) -> None:
    model, _ = made
    windows = [window for chunks in model.chunks(TEXTS) for window in chunks]
    together = model.vectors(windows)
    for window, vector in zip(windows, together, strict=True):
        alone = np.frombuffer(model.vectors([window])[0], "<f4")
        assert alone @ np.frombuffer(vector, "<f4") == pytest.approx(1.0, abs=1e-5)


def test_a_word_is_cut_where_its_pieces_score_best(made: tuple[E5, dict[str, small_e5.Array]]) -> None:
    model, _ = made
    assert spoken(model, "the crane") == ["▁the", "▁crane"], "one piece of -9 is better than two of -14.5"
    assert spoken(model, "仓库") == ["▁仓", "库"]
    assert spoken(model, "the\t crane\u00a0s") == ["▁the", "▁crane", "▁", "s"], "blanks of any kind are one"
    assert spoken(model, "e\u0301") == ["▁", "é"], "letters are composed first"


def test_the_best_cut_is_the_one_that_trying_all_of_them_finds(made: tuple[E5, dict[str, small_e5.Array]]) -> None:
    model, _ = made
    known = dict(zip(PIECES, SCORES, strict=True))

    def best(word: str) -> float:
        cuts = itertools.product((False, True), repeat=len(word) - 1)
        found = []
        for cut in cuts:
            ends = [0, *(place for place, here in enumerate(cut, 1) if here), len(word)]
            parts = [word[start:end] for start, end in itertools.pairwise(ends)]
            if all(part in known for part in parts):
                found.append(sum(known[part] for part in parts))
        return max(found)

    for word in ("▁crane", "▁cranes", "▁thes", "▁仓库", "▁craness"):
        pieces = [PIECES[token] for token in model.pieces.tokens(word[1:])]
        assert "".join(pieces) == word
        assert sum(known[piece] for piece in pieces) == pytest.approx(best(word))


def test_what_has_no_piece_is_unknown_and_a_text_of_nothing_else_has_no_vector(
    made: tuple[E5, dict[str, small_e5.Array]],
) -> None:
    model, _ = made
    assert spoken(model, "theð") == ["▁the", "<unk>"]
    assert model.chunks(["   ", ""]) == [[], []]
    assert model.query_vectors([" "]) == [b""]


def test_a_long_text_is_read_in_overlapping_windows_and_no_further_than_is_used(
    made: tuple[E5, dict[str, small_e5.Array]],
) -> None:
    model, _ = made
    [windows] = model.chunks(["the crane " * 20_000])
    assert len(windows) == 16
    assert {len(window) for window in windows} == {256}
    assert len(model.chunks(["x" * 3_000_000])[0]) <= 16


def test_what_tells_the_language_is_taken_out_of_every_vector(tmp_path: Path) -> None:
    mean, spoken_in = read_languages(LANGUAGES)
    assert mean.shape == (DIMENSION,)
    assert spoken_in.shape == (12, DIMENSION)
    assert np.allclose(spoken_in @ spoken_in.T, np.eye(len(spoken_in)), atol=1e-4), "directions at right angles"


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.bin"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ValueError, match="no model of this kind"):
        E5(path)
