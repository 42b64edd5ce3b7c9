"""What is kept of a text that is compared with many: no more than the beginning that is looked at."""

from __future__ import annotations

from holdfast.model.statement import LONGEST, statement


def test_texts_that_begin_alike_are_taken_apart_once() -> None:
    begins = "The crane stands at the north quay. " * 20
    assert len(begins) > LONGEST
    assert statement(f"{begins} One.") is statement(f"{begins} Another.")
