"""What known models want written before a document and before a query, as their makers give it."""

from __future__ import annotations

from typing import Final

_RETRIEVE: Final = "Represent this sentence for searching relevant passages: "
_INSTRUCT: Final = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# By a part of the model's name; the first that fits counts.
_KNOWN: Final = (
    ("nomic-embed-text", ("search_document: ", "search_query: ")),
    ("embeddinggemma", ("title: none | text: ", "task: search result | query: ")),
    ("qwen3-embedding", ("", _INSTRUCT)),
    ("mxbai-embed", ("", _RETRIEVE)),
    ("arctic-embed2", ("", "query: ")),
    ("arctic-embed-l-v2", ("", "query: ")),
    ("arctic-embed-m-v2", ("", "query: ")),
    ("arctic-embed", ("", _RETRIEVE)),
    ("bge-m3", ("", "")),
    ("bge-large-en", ("", _RETRIEVE)),
    ("bge-base-en", ("", _RETRIEVE)),
    ("bge-small-en", ("", _RETRIEVE)),
    ("bge-large", ("", _RETRIEVE)),
    ("e5-mistral", ("", _INSTRUCT + " ")),
    ("e5-large-instruct", ("", _INSTRUCT + " ")),
    ("e5-", ("passage: ", "query: ")),
)

# Names of models that embed, for a look at what is there.
_FAMILIES: Final = ("embed", "minilm", "bge-", "e5-", "gte-")


def prefixes_of(model: str) -> tuple[str, str]:
    """What stands before a document and before a query; nothing for a model that is not known."""
    name = model.lower().replace("_", "-")
    return next((prefixes for part, prefixes in _KNOWN if part in name), ("", ""))


def is_embedding_model(model: str) -> bool:
    """Whether a model's name says that it embeds."""
    name = model.lower().rpartition("/")[2]
    return any(part in name for part in _FAMILIES)
