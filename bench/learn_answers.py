"""Teach the model that reads a question with a note, and write the change: `server/holdfast/encode/answers.npz`.

    pip install torch onnx
    python bench/learn_answers.py [--from FILE] [--whole-from NAME] [--share S] [--most N] [--seed N] [--rate R]
        [--part P] [--out FILE]

Whether a note answers a question or is only about the same thing: two vectors do not tell that. It learns from
`bench/training/pairs`, where each line has a question, notes that answer it ("older", "newer" and so on), a question
that they do not answer ("unanswered"), and near notes that answer neither; and from the memories of `bench/training`,
where each question has its note, and in those from k on each note has questions that no note answers: from q on four,
which differ in nothing else from those that it answers. Beside these stands one of the three other notes that are
nearest to a question by the built-in encoder. One domain in twelve, one memory in twelve, and from k on those whose
names end with 09, are held out: it prints how well answers are told from the rest there (area under the ROC curve). 30
pairs a second on one processor, after some ten minutes to find what is near.

It begins as the model that reads two notes together, or with `--from` as what was learned before. The one in the
package went on: `--most 60000` while the files w to zd of the pairs lay elsewhere, then `--most 72000 --seed 1 --rate
8e-4` with all; of the memories there were the files a to j. Those of k to p came later, and are read whole: `--seed 5
--most 20000 --rate 6e-4`, where the 20,000 were of 150 domains and 25 memories. Then came those from q on:
`--whole-from q --share 0.2 --most 12000 --seed 9 --rate 6e-4 --part 0.6`. By itself what it would have become tells
less of DevMem and of the memories k to p. What `recall` makes of it is fitted apart (docs/measured-history.md).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812 - its name everywhere

from holdfast.encode.builtin import ADAPTER, TOGETHER
from learn import HELD_OUT as STORE_HELD_OUT
from learn import MiniLM as Encoder
from learn import Told, encoded, read
from learn_pairs import (
    ANEW,
    APART,
    BESIDE,
    LEARNED,
    NEAR,
    STEEPEST,
    VERSIONS,
    WARM_UP,
    Pair,
    TogetherModel,
    batched,
    save,
    shortened,
    told_apart,
    window,
)
from learn_pairs import TOGETHER as A_BATCH
from versions import HELD_OUT, domains_of_pairs

OUT = TOGETHER.with_name("answers.npz")
SHARES = {"older": 0.6, "newer": 1.0, "again": 1.0, "newest": 0.6}  # of the notes that answer
NOT_ANSWERED = 2  # of the notes of a line, each beside the question that none of them answers
ASKED = 0.5  # of the questions of a memory, and, where all of them are read, of the notes that do not answer them
LAST = "09"  # of the memories that have questions without an answer, those that are held out
EVERY = 50  # steps between two lines


def of_domain(lines: Sequence[dict[str, str]], encoder: Encoder, chance: np.random.RandomState) -> Iterator[Pair]:
    """Each line's questions beside its notes, and beside one of those of other lines that are nearest."""
    told = [{name: window(line[name]) for name in (*VERSIONS, *BESIDE) if line.get(name)} for line in lines]
    notes = [note for each in told for note in each.values()]
    owner = np.repeat(range(len(told)), [len(each) for each in told])
    asked = [[window(line[name]) for line in lines] for name in ("question", "unanswered")]
    with torch.no_grad():
        vectors = encoded(encoder, notes)
        likeness = [(encoded(encoder, each) @ vectors.T).numpy() for each in asked]
    for place, each in enumerate(told):
        (question, not_answered), own = (texts[place] for texts in asked), [name for name in VERSIONS if name in each]
        yield from (Pair(question, each[name], ANEW) for name in own if chance.rand() < SHARES[name])
        yield from (Pair(question, each[name], APART) for name in BESIDE if name in each)
        away = [name for name in (*own, "also") if name in each]
        yield from (Pair(not_answered, each[away[at]], APART) for at in chance.permutation(len(away))[:NOT_ANSWERED])
        for text, rows in zip((question, not_answered), likeness, strict=True):
            yield Pair(text, notes[drawn(np.where(owner == place, -1.0, rows[place]), chance)], APART)


def of_memory(told: Sequence[Told], encoder: Encoder, chance: np.random.RandomState) -> Iterator[Pair]:
    """Questions of a made-up memory, each beside its note and one of the nearest others.

    Where some have no answer, all are read, and those also beside the note that they are about.
    """
    notes, whole = [shortened(each.note) for each in told], bool(told[0].unanswered)
    asked = [(ANEW, texts) for texts in zip(*(each.questions for each in told), strict=True)]
    asked += [(APART, texts) for texts in zip(*(each.unanswered for each in told), strict=True)]
    with torch.no_grad():
        vectors = encoded(encoder, notes)
        for sort, texts in asked:
            likeness = (encoded(encoder, texts) @ vectors.T).numpy()
            np.fill_diagonal(likeness, -1.0)
            for place, text in enumerate(texts):
                is_read = chance.rand() < ASKED
                if whole or is_read:
                    yield Pair(shortened(text), notes[place], sort)
                if is_read or sort == APART:
                    yield Pair(shortened(text), notes[drawn(likeness[place], chance)], APART)


def drawn(likeness: np.ndarray, chance: np.random.RandomState) -> int:
    """One of the nearest."""
    return int(np.argsort(-likeness)[chance.randint(NEAR)])


def learn(model: TogetherModel, pairs: Sequence[Pair], chance: np.random.RandomState, rate: float) -> None:
    steps = len(pairs) // A_BATCH
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    for step, batch in enumerate(batched(pairs, chance)[:steps]):
        warm = min(1.0, (step + 1) / WARM_UP)
        optimiser.param_groups[0]["lr"] = rate * warm * (1 + math.cos(math.pi * step / steps)) / 2
        loss = F.cross_entropy(model.sorted(batch), torch.tensor([pair.sort for pair in batch]))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), STEEPEST)
        optimiser.step()
        if step % EVERY == 0:
            print(f"step {step} of {steps}: {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", type=Path, dest="before", default=TOGETHER, metavar="FILE", help="what it begins as")
    parser.add_argument("--whole-from", default="m", metavar="NAME", help="memories from this on are read whole (m)")
    parser.add_argument("--share", type=float, default=1.0, help="how much of the rest is looked at (1)")
    parser.add_argument("--most", type=int, default=60_000, help="how many of the other pairs are read (60000)")
    parser.add_argument("--seed", type=int, default=0, help="which they are (0)")
    parser.add_argument("--rate", type=float, default=1e-3, help="how fast it learns (0.001)")
    parser.add_argument("--part", type=float, default=1.0, help="how much of what was learned is kept (1)")
    parser.add_argument("--out", type=Path, default=OUT, help="the file to write")
    options = parser.parse_args()
    torch.manual_seed(1)
    model, encoder, chance = TogetherModel(), Encoder(), np.random.RandomState(options.seed)
    with np.load(options.before) as learned, np.load(ADAPTER) as taught:
        model.have(learned, [*model.factors, *LEARNED])
        encoder.have(taught, list(encoder.factors))
    pairs: list[Pair] = []
    whole: list[Pair] = []
    held_out: dict[str, list[Pair]] = {"pairs": [], "memories": []}
    for place, domain in enumerate(domains_of_pairs(), 1):
        if place % HELD_OUT and chance.rand() >= options.share:
            continue
        (pairs if place % HELD_OUT else held_out["pairs"]).extend(of_domain(domain, encoder, chance))
    memories: dict[str, list[Told]] = {}
    for told in read():
        memories.setdefault(told.store, []).append(told)
    for store, notes in memories.items():
        is_kept = store.endswith(LAST if notes[0].unanswered else STORE_HELD_OUT)
        is_whole = bool(notes[0].unanswered) and store >= options.whole_from
        if not (is_kept or is_whole) and chance.rand() >= options.share:
            continue
        (held_out["memories"] if is_kept else whole if is_whole else pairs).extend(of_memory(notes, encoder, chance))
    whole.extend(pairs[place] for place in chance.permutation(len(pairs))[: options.most])
    before = {name: each.detach().clone() for name, each in model.named_parameters()}
    learn(model, whole, chance, options.rate)
    with torch.no_grad():
        for name, each in model.named_parameters():
            each.lerp_(before[name], 1.0 - options.part)
    for name, each in held_out.items():
        print(f"{name}: {told_apart(model, each)}")
    save(model, options.out)


if __name__ == "__main__":
    main()
