"""Teach the model that reads two notes together, and write the change: `server/holdfast/encode/together.npz`.

    pip install torch onnx
    python bench/learn_pairs.py [--epochs N] [--from FILE] [--share S] [--things S] [--whole-from NAME] [--out FILE]

It learns from `bench/training/pairs`, which language models wrote for it: in each line a fact as it was first noted,
its next version, that version in other words and sometimes a third one; and, beside it, something else of the same
thing ("also") and the like of another thing ("other"), both as near as could be made. Two notes are read as one text of
two parts. Learned is which of three sorts they are: about two things, another version, or the same said again
(cross-entropy); negatives are "also", "other" and what the built-in encoder finds near in the same domain. One domain
in twelve is held out: at the end it prints how well versions are told from the others there (area under the ROC
curve). It takes 25 to 50 minutes on two processors.

There is more that looks like a version and is none: in each line of `bench/training/things` several notes of one thing,
each about something else of it, some with what was noted when just that had changed; and in the memories of
`bench/training` notes that are near each other. With `--from` it goes on from what was learned before; `--share` and
`--things` are how much of the domains of pairs, and of the pairs of things, it reads again then. Files of pairs from
`--whole-from` on are new and read whole: the last time n.jsonl to v.jsonl, with 0.12, 0.35 and half an epoch.

What the rest of the product makes of it is fitted apart, on other notes and what is held out here:
`python bench/versions.py --fit`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from holdfast.encode.builtin import ADAPTER
from holdfast.encode.wordpiece import WordPiece
from learn import KINDS_OF_TOKENS, LAYERS, WIDTH, MiniLM, encoded, read, write
from scoring import auc
from versions import HELD_OUT, THINGS_HELD_OUT, TRAINING, domains_of_pairs, domains_of_things

OUT = Path(__file__).parents[1] / "server" / "holdfast" / "encode" / "together.npz"
HALF_A_PAIR = 64  # tokens of each note, with its marks
RATE, WARM_UP, TOGETHER, STEEPEST, SORTS = 1e-3, 20, 48, 1.0, 3
APART, ANEW, AGAIN = range(SORTS)
VERSIONS = ("older", "newer", "again", "newest")
BESIDE = ("also", "other")
NEAR, NEAR_SHARE = 3, 0.4  # of the nearest of the domain one is drawn, for this share of the notes
BESIDE_EACH, OTHERS_OF_NEWER = 8, 3  # pairs of notes of one thing; of a newer version with what it leaves as it was

WORD_PIECE = WordPiece()
LEARNED = ("kinds", "dense", "dense_bias", "sorts", "sorts_bias")

Window = list[int]


@dataclass(frozen=True, slots=True)
class Pair:
    """An older and a newer note as token ids, and of which sort they are."""

    older: Window
    newer: Window
    sort: int


class TogetherModel(MiniLM):
    """The same model with factors that begin as those of the encoder, for two parts; and a hidden layer above it."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = Parameter(self._array(KINDS_OF_TOKENS))
        self.dense = Parameter(torch.randn(WIDTH, WIDTH) / math.sqrt(WIDTH))
        self.dense_bias = Parameter(torch.zeros(WIDTH))
        self.sorts = Parameter(torch.zeros(WIDTH, SORTS))
        self.sorts_bias = Parameter(torch.zeros(SORTS))
        with np.load(ADAPTER) as learned:
            self.have(learned, list(self.factors))

    def sorted(self, pairs: Sequence[Pair]) -> Tensor:
        """For each pair a number for each sort, before the softmax."""
        shape = (len(pairs), max(len(pair.older) + len(pair.newer) - 1 for pair in pairs))
        ids, kinds = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
        mask = torch.zeros(shape)
        for row, pair in enumerate(pairs):
            window = pair.older + pair.newer[1:]
            ids[row, : len(window)] = torch.tensor(window)
            mask[row, : len(window)] = 1
            kinds[row, len(pair.older) : len(window)] = 1
        states = self.words[ids] + self.places[: shape[1]] + self.kinds[kinds]
        states = self._normal(states, "inner.embeddings.LayerNorm")
        unseen = ((1 - mask) * -1e9)[:, None, None, :]
        for layer in range(LAYERS):
            states = self._layer(layer, states, unseen)
        mean = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return torch.tanh(mean @ self.dense + self.dense_bias) @ self.sorts + self.sorts_bias


def window(text: str) -> Window:
    return shortened(WORD_PIECE.readable(WORD_PIECE.encode(text)))


def shortened(words: Window) -> Window:
    return words if len(words) <= HALF_A_PAIR else [*words[: HALF_A_PAIR - 1], words[-1]]


def in_either_order(one: Window, other: Window, chance: np.random.RandomState) -> Pair:
    return Pair(*((one, other) if chance.rand() < 0.5 else (other, one)), APART)


def pairs_of(domain: Sequence[dict[str, str]], model: MiniLM, chance: np.random.RandomState) -> Iterator[Pair]:
    """All pairs of each line, and some of notes of two lines that are near each other."""
    lines = [{name: window(line[name]) for name in (*VERSIONS, *BESIDE) if line.get(name)} for line in domain]
    for line in lines:
        told = [name for name in VERSIONS if name in line]
        for first, second in combinations(told, 2):
            yield Pair(line[first], line[second], AGAIN if (first, second) == ("newer", "again") else ANEW)
        for name in ("older", "newer"):
            yield from (in_either_order(line[name], line[each], chance) for each in BESIDE)
    yield from near_each_other(
        [(number, note) for number, line in enumerate(lines) for note in line.values()], model, chance
    )


def near_each_other(
    notes: Sequence[tuple[int, Window]], model: MiniLM, chance: np.random.RandomState
) -> Iterator[Pair]:
    """Some of the notes, each with one of those that are nearest to it and have another number."""
    with torch.no_grad():
        vectors = encoded(model, [note for _, note in notes])
    for (number, note), row in zip(notes, (vectors @ vectors.T).tolist(), strict=True):
        nearest = sorted(range(len(notes)), key=lambda place: -row[place])
        others = [notes[place][1] for place in nearest if notes[place][0] != number][:NEAR]
        if chance.rand() < NEAR_SHARE:
            yield in_either_order(note, others[chance.randint(len(others))], chance)


def pairs_of_things(lines: Sequence[dict[str, Any]], chance: np.random.RandomState) -> Iterator[Pair]:
    """What is another version of a note, and some pairs of notes of one thing that are about something else of it."""
    for line in lines:
        notes = list(map(window, line["notes"]))
        both = list(combinations(range(len(notes)), 2))
        for place in chance.permutation(len(both))[:BESIDE_EACH]:
            yield in_either_order(notes[both[place][0]], notes[both[place][1]], chance)
        for place, text in ((int(place), text) for place, text in line["newer"].items()):
            newer = window(text)
            yield Pair(notes[place], newer, ANEW)
            others = [note for each, note in enumerate(notes) if each != place]
            for other in chance.permutation(len(others))[:OTHERS_OF_NEWER]:
                yield Pair(others[other], newer, APART)


def pairs_of_memories(model: MiniLM, chance: np.random.RandomState) -> Iterator[Pair]:
    """Notes of one made-up memory that are near each other: each says something else."""
    memories: dict[str, list[Window]] = {}
    for told in read():
        memories.setdefault(told.store, []).append(told.note)
    for notes in memories.values():
        yield from near_each_other(list(enumerate(map(shortened, notes))), model, chance)


def learn(model: TogetherModel, pairs: Sequence[Pair], epochs: float) -> None:
    steps = int(epochs * len(pairs) / TOGETHER)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    chance = np.random.RandomState(0)
    batches: list[list[Pair]] = []
    for step in range(steps):
        batches = batches or batched(pairs, chance)
        batch = batches.pop()
        optimiser.param_groups[0]["lr"] = (
            RATE * min(1, (step + 1) / WARM_UP) * (1 + math.cos(math.pi * step / steps)) / 2
        )
        loss = F.cross_entropy(model.sorted(batch), torch.tensor([pair.sort for pair in batch]))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), STEEPEST)
        optimiser.step()
        if step % 50 == 0:
            print(f"step {step} of {steps}: {loss.item():.3f}", flush=True)


def batched(pairs: Sequence[Pair], chance: np.random.RandomState) -> list[list[Pair]]:
    """All pairs once, in batches of like length in an order of chance."""
    order = sorted(pairs, key=lambda pair: (len(pair.older) + len(pair.newer)) // 8 + chance.rand())
    batches = [order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)]
    chance.shuffle(batches)
    return batches


def told_apart(model: TogetherModel, pairs: Sequence[Pair]) -> str:
    with torch.no_grad():
        made = torch.cat([model.sorted(pairs[start : start + TOGETHER]) for start in range(0, len(pairs), TOGETHER)])
    anew = (made[:, ANEW] - made[:, APART]).tolist()
    right, wrong = (
        [odds for odds, pair in zip(anew, pairs, strict=True) if pair.sort == sort] for sort in (ANEW, APART)
    )
    same = made.argmax(1) == torch.tensor([pair.sort for pair in pairs])
    return f"{len(pairs)} pairs held out: AUC {auc(right, wrong):.3f}, of the right sort {same.float().mean():.3f}"


def save(model: TogetherModel, out: Path) -> None:
    """What `holdfast.encode.computed.PairModel` reads."""
    head = {name: getattr(model, name).detach().numpy().astype("<f2") for name in LEARNED[1:]}
    write(model, out, kinds=model.kinds.detach().numpy().astype("<f4"), **head)


def domains_before(name: str) -> int:
    """How many domains the files of pairs have that come before this one."""
    files = [file for file in (TRAINING / "pairs").glob("*.jsonl") if file.stem < name]
    lines = ((file.stem, line) for file in files for line in file.read_text("utf-8").strip().split("\n"))
    return len({(stem, json.loads(line)["domain"]) for stem, line in lines})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=float, default=2.0, help="how often each pair is read (2)")
    parser.add_argument("--from", type=Path, dest="before", metavar="FILE", help="go on from what was learned before")
    parser.add_argument("--share", type=float, default=1.0, help="how much of the domains of pairs is read (1)")
    parser.add_argument("--things", type=float, default=1.0, help="how much of the pairs of things is read (1)")
    parser.add_argument("--whole-from", default="~", metavar="NAME", help="files of pairs from this on are read whole")
    parser.add_argument("--out", type=Path, default=OUT, help="the file to write")
    options = parser.parse_args()
    torch.manual_seed(1)
    model, chance = TogetherModel(), np.random.RandomState(0)
    known = domains_before(options.whole_from)
    domains = domains_of_pairs()
    again = [
        place >= known or not (place + 1) % HELD_OUT or chance.rand() < options.share for place in range(len(domains))
    ]
    told = [list(pairs_of(domain, model, chance)) if read else [] for domain, read in zip(domains, again, strict=True)]
    of_things = [list(pairs_of_things(lines, chance)) for lines in domains_of_things()]
    pairs = [pair for place, each in enumerate(told) if (place + 1) % HELD_OUT for pair in each]
    things = [pair for place, each in enumerate(of_things) if (place + 1) % THINGS_HELD_OUT for pair in each]
    pairs += [pair for pair in things if chance.rand() < options.things]
    pairs += pairs_of_memories(model, chance)
    if options.before:
        with np.load(options.before) as learned:
            model.have(learned, [*model.factors, *LEARNED])
    held_out = {
        "pairs": [pair for place, each in enumerate(told) if not (place + 1) % HELD_OUT for pair in each],
        "things": [pair for place, each in enumerate(of_things) if not (place + 1) % THINGS_HELD_OUT for pair in each],
    }
    for name, each in held_out.items() if options.before else ():
        print(f"before, {name}: {told_apart(model, each)}", flush=True)
    learn(model, pairs, options.epochs)
    for name, each in held_out.items():
        print(f"{name}: {told_apart(model, each)}")
    save(model, options.out)


if __name__ == "__main__":
    main()
