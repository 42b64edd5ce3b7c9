"""Every encoder that can be reached, on the same notes and questions: quality, milliseconds, texts a second, megabytes.

    python bench/encoders.py [--data devmem|none|FILE] [--locomo FILE] [--limit N] [--onnx FILE ...]

Words alone and the built-in encoder are always there; each model for embeddings of the Ollama that OLLAMA_HOST names;
NIM and OpenAI where their keys are in the environment (their notes leave this machine); with --onnx other files for
the built-in one's vocabulary. Each runs in a process of its own. recall@5, recall@10 and MRR are of `recall` as a
whole; ms are the median of a question's encoding, texts are whole notes, one batch after the other, and MB are what the
process holds more than before its encoder and numpy were loaded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from ablation import ask, store
from baselines import whole_text
from datasets import APART, Dataset, add_arguments, chosen_datasets
from holdfast.app import build_memory
from holdfast.encode.remote import is_embedding_model
from holdfast.encode.services import OllamaEndpoint
from holdfast.errors import EncoderError
from holdfast.model.ranking import WEIGHTS
from holdfast.running import configure_logs
from holdfast.settings import load_settings
from scale import resident_megabytes
from scoring import Answer, figures

QUESTIONS_TIMED = 50
WORDS = "words alone"
ONE = "--one"


@dataclass(frozen=True, slots=True)
class Row:
    """What one encoder does on one data set."""

    recall5: float
    recall10: float
    mrr: float
    ms: float
    texts: float
    megabytes: float


def candidates(files: list[Path]) -> Iterator[tuple[str, dict[str, str]]]:
    """Names of encoders, and the settings that choose them."""
    yield WORDS, {"HOLDFAST_ENCODER": "none"}
    yield "builtin", {"HOLDFAST_ENCODER": "builtin"}
    for file in files:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        chosen = {"HOLDFAST_BUILTIN_MODEL": str(file), "HOLDFAST_BUILTIN_MODEL_SHA256": digest}
        yield "/".join(file.parts[-3:]), {"HOLDFAST_ENCODER": "builtin", **chosen}
    for model in anyio.run(ollama_models):
        yield f"ollama {model}", {"HOLDFAST_ENCODER": "ollama", "HOLDFAST_ENCODER_MODEL": model}
    for provider, key in (("nim", "NIM_API_KEY"), ("openai", "OPENAI_API_KEY")):
        if os.environ.get(key):
            yield provider, {"HOLDFAST_ENCODER": provider}


async def ollama_models() -> list[str]:
    endpoint = OllamaEndpoint(os.environ.get("OLLAMA_HOST", ""))
    try:
        return sorted(name for name in await endpoint.models() if is_embedding_model(name))
    except EncoderError:
        return []
    finally:
        await endpoint.aclose()


async def measure(dataset: Dataset, home: Path, before: float) -> Row:
    configure_logs("warning")
    memory = build_memory(load_settings(os.environ | {"HOLDFAST_HOME": str(home)}))
    queries = [query for query in dataset.queries if query.evidence and query.kind not in APART]
    encoder = memory.ports.encoder
    ms = texts = megabytes = 0.0
    async with memory.running():
        if encoder is not None:
            await encoder.identify()
            await encoder.encode_query("The first one loads the model.")
            timed = []
            for query in queries[:QUESTIONS_TIMED]:
                began = time.perf_counter()
                await encoder.encode_query(query.text)
                timed.append(time.perf_counter() - began)
            began = time.perf_counter()
            await encoder.encode_documents([whole_text(note) for note in dataset.notes])
            texts = len(dataset.notes) / (time.perf_counter() - began)
            ms, megabytes = statistics.median(timed) * 1000, resident_megabytes() - before
        ids = await store(memory, dataset)
        answers = [
            Answer(query.kind, await ask(memory, query, WEIGHTS), tuple(ids[note] for note in query.evidence))
            for query in queries
        ]
    found = figures(answers)
    return Row(found.recall5, found.recall10, found.mrr, ms, texts, megabytes)


def measured_apart(name: str, environment: Mapping[str, str]) -> dict[str, Row]:
    """The rows of one encoder, by data set, from a process of its own."""
    foreign = ("HOLDFAST_",)
    own = {key: value for key, value in os.environ.items() if not key.startswith(foreign)} | environment
    done = subprocess.run([sys.executable, __file__, ONE, *sys.argv[1:]], env=own, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        print(f"{name}: failed")
        return {}
    return {dataset: Row(**row) for dataset, row in json.loads(done.stdout.splitlines()[-1]).items()}


def in_this_process(datasets: list[Dataset]) -> None:
    rows = {}
    before = resident_megabytes()
    for dataset in datasets:
        with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
            rows[dataset.name] = asdict(anyio.run(measure, dataset, Path(folder), before))
    print(json.dumps(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--onnx", type=Path, nargs="*", default=[], help="other files for the built-in encoder")
    parser.add_argument(ONE, action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        in_this_process(chosen_datasets(options))
        return
    print(f"{'encoder':30} {'data':8} {'R@5':>6} {'R@10':>6} {'MRR':>6} {'ms':>6} {'texts/s':>8} {'MB':>5}")
    for name, environment in candidates(options.onnx):
        for dataset, row in measured_apart(name, environment).items():
            quality = f"{row.recall5:6.3f} {row.recall10:6.3f} {row.mrr:6.3f}"
            print(f"{name:30} {dataset:8} {quality} {row.ms:6.1f} {row.texts:8.0f} {row.megabytes:5.0f}")


if __name__ == "__main__":
    main()
