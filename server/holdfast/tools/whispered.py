"""A whisper as a model reads it: sections between the marks of one fence, with the rule what to make of them.

The same text answers a hook, the prompt `whisper`, the resource of a space's context and the command line: nothing of
the framework is imported here. It stands where a client's own instructions do, so that the fence is what keeps a note
from being taken for one of them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from holdfast.tools.fitting import fenced, on_one_line, trust_rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from holdfast.engine.presence.entries import Section

LEAD: Final = "From the user's long-term memory."
DEEPER: Final = "recall finds more, recall_node shows a note whole."
SILENCE: Final = "{}"


def text_of(sections: Sequence[Section], mark: str) -> str:
    """The text; empty where there is nothing to say. A line with the mark begins each section and each note."""
    if not sections:
        return ""
    body = "\n".join(line for section in sections for line in _lines(section, mark))
    return f"{LEAD} {trust_rule(mark, each=True)}\n{fenced(body, mark)}\n{DEEPER}"


def hook_answer(text: str, event: str) -> str:
    """What a hook of Claude Code and of Codex answers."""
    if not text:
        return SILENCE
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}, ensure_ascii=False)


def _lines(section: Section, mark: str) -> Iterator[str]:
    yield f"{mark} {section.heading}:"
    for entry in section.entries:
        yield f"{mark} {on_one_line(entry.head, len(entry.head) + 1)}"
        if entry.text:
            yield entry.text
