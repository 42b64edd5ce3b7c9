"""What the secrets' door misses, and what it takes out that is no secret.

It is not called `secrets.py`, because Python has a module of that name.

    python bench/credentials.py [--seed N] [--show]

Forms and phrases are counted twice: as they were looked at while the patterns were written, and with another seed in
frames and phrases that nobody tuned on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable

from credential_texts import Text, forms, innocents, phrases
from holdfast.model.secrets import redact

TUNED_SEED, HELD_SEED = 1, 20_261_122


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=HELD_SEED, help="of what is held out")
    parser.add_argument("--show", action="store_true", help="print every text that went wrong")
    options = parser.parse_args()
    print(f"{'texts':28}{'count':>8}{'wrong':>8}{'share':>9}")
    for name, texts, is_wrong in (
        ("forms, tuned", forms(TUNED_SEED), missed),
        ("forms, held out", forms(options.seed, held=True), missed),
        ("phrases, tuned", phrases(TUNED_SEED), missed),
        ("phrases, held out", phrases(options.seed, held=True), missed),
        ("innocent", innocents(TUNED_SEED), taken),
        ("innocent, held-out seed", innocents(options.seed), taken),
    ):
        _show(name, texts, is_wrong, show=options.show)


def missed(item: Text) -> bool:
    """Whether any part of the credential is still there."""
    left, middle = redact(item.text).text, len(item.secret) // 2
    return item.secret[-6:] in left or item.secret[middle : middle + 6] in left


def taken(item: Text) -> bool:
    """Whether something was taken out of a text that holds no credential."""
    return bool(redact(item.text).labels)


def _show(name: str, texts: Iterable[Text], is_wrong: Callable[[Text], bool], *, show: bool) -> None:
    items = list(texts)
    wrong = [item for item in items if is_wrong(item)]
    print(f"{name:28}{len(items):8}{len(wrong):8}{len(wrong) / len(items):9.2%}")
    for item in wrong if show else ():
        print(f"    {item.kind}: {item.text[:160]!r} -> {redact(item.text).text[:160]!r}")


if __name__ == "__main__":
    main()
