"""In which form a client is answered. The one place that decides it.

A server may send an answer twice: as text, which a model reads, and as structured content, which a program reads by its
schema. Some clients give their model the structured content as JSON and drop the text, and with it the fence around
what was stored. These get the text alone, and are shown no output schemas: a client that was shown a schema takes an
answer without structured content for an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Answers = Literal["auto", "text", "structured"]

# By the name in `clientInfo`; each was seen to drop the text. What is not listed here gets both forms.
TEXT_CLIENTS: Final = frozenset({"claude-code", "codex-mcp-client", "mcporter"})


@dataclass(frozen=True, slots=True)
class Form:
    """What one kind of client gets.

    Attributes:
        structured: structured content beside the text, and output schemas in the list of tools.
    """

    structured: bool


BOTH: Final = Form(structured=True)
TEXT: Final = Form(structured=False)


def form_for(client: str, answers: Answers = "auto") -> Form:
    """The form for a client.

    Args:
        client: its name, as it gives it in either era of the protocol; empty where it gives none.
        answers: the setting: `auto` goes by the name, the others hold for every client.
    """
    if answers == "auto":
        return TEXT if client in TEXT_CLIENTS else BOTH
    return TEXT if answers == "text" else BOTH
