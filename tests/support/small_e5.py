"""A very small model in the file format of `holdfast.encode.computed`, and the same computation written out plainly."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, LAYERS, HEADS, INNER, PLACES = 64, 2, 2, 96, 512
PIECES = [
    "<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", ":", "▁the", "▁crane", "▁cra", "ne", "▁仓", "库", "仓", "s", "é",
]  # fmt: skip
SCORES = [0.0, 0.0, 0.0, 0.0, -5.0, -6.0, -4.0, -3.0, -9.0, -7.0, -7.5, -8.0, -8.0, -8.5, -4.5, -8.0]
SMALL = 1e-5
Array = Any


def write(path: Path, seed: int = 7) -> dict[str, Array]:
    """Write the file; its weights by name, as they are to be read."""
    random = np.random.default_rng(seed)
    blob = b"".join(piece.encode() for piece in PIECES)
    ends = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    normal = b"".join(struct.pack("<IBI", ord(one), 1, ord(other)) for one, other in (("\u00a0", " "), ("\t", " ")))
    head = struct.pack("<4sI7ifi", b"E5S1", 1, WIDTH, LAYERS, HEADS, INNER, len(PIECES), PLACES, 1, SMALL, 32)
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob))
    head += ends.tobytes() + np.array(SCORES, "<f4").tobytes() + blob + struct.pack("<iI", 2, len(normal)) + normal
    tensors: dict[str, tuple[int, bytes]] = {}
    weights: dict[str, Array] = {}

    def rows(name: str, out: int, width: int) -> None:
        scales = random.uniform(0.01, 0.03, (out, width // 32)).astype("<f2")
        numbers = random.integers(0, 16, (out, width // 32, 32), dtype=np.uint8)
        packed = numbers[..., :16] | (numbers[..., 16:] << 4)
        tensors[name] = (
            1,
            b"".join(
                scale.tobytes() + block.tobytes()
                for scale, block in zip(scales.ravel(), packed.reshape(-1, 16), strict=True)
            ),
        )
        weights[name] = ((numbers.astype(np.float64) - 8) * scales.astype(np.float64)[..., None]).reshape(out, width)

    def floats(name: str, count: int, about: float) -> None:
        numbers = (about + random.normal(size=count) * 0.1).astype("<f4")
        tensors[name], weights[name] = (0, numbers.tobytes()), numbers.astype(np.float64)

    rows("emb.word", len(PIECES), WIDTH)
    floats("emb.pos", PLACES * WIDTH, 0.0)
    floats("emb.type", WIDTH, 0.0)
    for name, about in (("emb.ln.w", 1.0), ("emb.ln.b", 0.0)):
        floats(name, WIDTH, about)
    for layer in range(LAYERS):
        for name, out, width in (("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("v", WIDTH, WIDTH), ("ao", WIDTH, WIDTH),
                                 ("fi", INNER, WIDTH), ("fo", WIDTH, INNER)):  # fmt: skip
            rows(f"l{layer}.{name}.w", out, width)
            floats(f"l{layer}.{name}.b", out, 0.0)
        for name in ("aln", "oln"):
            floats(f"l{layer}.{name}.w", WIDTH, 1.0)
            floats(f"l{layer}.{name}.b", WIDTH, 0.0)
    entries = sum(2 + len(name) + 21 for name in tensors)
    place = len(head) + 4 + entries
    listed = struct.pack("<i", len(tensors))
    for name, (kind, data) in tensors.items():
        listed += struct.pack(f"<H{len(name)}sBIQQ", len(name), name.encode(), kind, 0, place, len(data))
        place += len(data)
    path.write_bytes(head + listed + b"".join(data for _, data in tensors.values()))
    return weights


def plainly(weights: dict[str, Array], tokens: list[int]) -> Array:
    """The vector of a text, token by token and head by head, in double precision."""
    states = [
        weights["emb.word"][token] + weights["emb.pos"].reshape(-1, WIDTH)[place] + weights["emb.type"]
        for place, token in enumerate(tokens)
    ]
    states = [_normed(state, weights, "emb.ln") for state in states]
    size = WIDTH // HEADS
    for layer in range(LAYERS):
        name = f"l{layer}."
        queries, keys, values = (
            [weights[f"{name}{part}.w"] @ state + weights[f"{name}{part}.b"] for state in states] for part in "qkv"
        )
        seen = []
        for query in queries:
            parts = []
            for head in (slice(at, at + size) for at in range(0, WIDTH, size)):
                raw = [math.exp(float(query[head] @ key[head]) / math.sqrt(size)) for key in keys]
                parts.append(sum(each / sum(raw) * value[head] for each, value in zip(raw, values, strict=True)))
            seen.append(np.concatenate(parts))
        states = [
            _normed(state + weights[f"{name}ao.w"] @ each + weights[f"{name}ao.b"], weights, f"{name}aln")
            for state, each in zip(states, seen, strict=True)
        ]
        inner = [weights[f"{name}fi.w"] @ state + weights[f"{name}fi.b"] for state in states]
        inner = [np.array([0.5 * x * (1 + math.erf(x / math.sqrt(2))) for x in each]) for each in inner]
        states = [
            _normed(state + weights[f"{name}fo.w"] @ each + weights[f"{name}fo.b"], weights, f"{name}oln")
            for state, each in zip(states, inner, strict=True)
        ]
    mean = sum(states) / len(states)
    return mean / np.linalg.norm(mean)


def _normed(state: Array, weights: dict[str, Array], name: str) -> Array:
    return (state - state.mean()) / np.sqrt(state.var() + SMALL) * weights[f"{name}.w"] + weights[f"{name}.b"]
