"""What maintenance keeps in the journal of pairs that were judged, without text; `docs/journal.md` has its lines.

The hashes name the texts that were shown (`holdfast.index.projection.NoteRow.encode_hash`).
"""

from __future__ import annotations

from holdfast.model.records import Judged


def judgement(one: tuple[str, str], other: tuple[str, str], verdict: str) -> Judged:
    """What a line says of two judged notes, each (id, hash of its text)."""
    (a, hash_a), (b, hash_b) = sorted((one, other))
    return Judged(a, b, hash_a, hash_b, verdict)
