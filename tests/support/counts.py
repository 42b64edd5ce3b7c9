"""How many tokens models of today count, to hold against what is estimated."""

from __future__ import annotations

from rs_bpe import openai

TOKENIZER = openai.o200k_base()
_TOKENIZERS = (TOKENIZER, openai.cl100k_base())


def most_counted(text: str) -> int:
    return max(tokenizer.count(text) for tokenizer in _TOKENIZERS)
