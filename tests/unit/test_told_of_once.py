"""What tells only how something was once."""

from __future__ import annotations

import pytest

from holdfast.model.note import tells_of_once


@pytest.mark.parametrize(
    "text",
    [
        "The fee used to be 60 euros a year.",
        "Before 2025 the membership fee was 60 euros.",
        "Until last year we met in the old hall; rent was 40 euros.",
        "Formerly the depot was in Kiel.",
        "Ada told us that in 2019, before the new heating, the hall cost 900 euros a month.",
        "As a student Leo ran ten kilometres in 40 minutes.",
        "Früher betrug der Beitrag 60 Euro.",
        "Avant 2025 la cotisation était de 60 euros.",
        "Antes la cuota era de 60 euros.",
    ],
)
def test_it_is_known_by_its_words(text: str) -> None:
    assert tells_of_once(text)


@pytest.mark.parametrize(
    "text",
    [
        "The fee is 75 euros a year.",
        "The fee used to be 60 euros and is 75 now.",
        "Previously the limit was 100, but we raised it to 300.",
        "We are used to meeting on Mondays.",
        "The press is used to print flyers.",
        "In 2026 the fee was raised to 80 euros.",
        "Ada told us that the fee was raised to 80 euros.",
        "As a student she gets 10 percent off.",
        "Once the deploy was finished, restart the worker.",
        "Before deploying, run the tests.",
        "Since 2025 the fee was never changed.",
        "Früher kostete es 60 Euro, jetzt 75.",
    ],
)
def test_what_holds_now_or_was_changed_is_none(text: str) -> None:
    assert not tells_of_once(text)
