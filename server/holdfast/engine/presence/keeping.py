"""What waited too long to be distilled goes once a day; with HOLDFAST_RAW_TURNS it stays, as notes in the archive."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from holdfast.engine.agent.remember import Remember, remember
from holdfast.engine.arguments import LARGEST_CONTENT
from holdfast.engine.jobs.changes import HOUSE
from holdfast.engine.jobs.scheduler import Job, JobContext
from holdfast.engine.ports import Ports
from holdfast.engine.presence.distilling import PIECE_PREFIX
from holdfast.model.times import instant
from holdfast.model.transcripts.pieces import Piece

RAW: Final = "raw-turns"  # the tag of such a note
_BEFORE: Final = timedelta(days=2)  # that pieces go: the job may not run each day
_CONFIDENCE: Final = 0.5
_MOST: Final = 200  # pieces of one run


async def tidy(context: JobContext) -> int:
    """Let go of what waited too long; returns how many turns or notes that were."""
    queue = context.ports.transcripts
    if queue is None:
        return 0
    kept = 0
    if context.ports.raw_turns:
        before = instant(context.ports.clock() - timedelta(days=queue.days) + _BEFORE)
        pieces = await queue.old(before, _MOST, lambda: PIECE_PREFIX + context.ports.new_id().partition("_")[2])
        for piece in pieces:
            await context.step(lambda ports, piece=piece: keep_raw(ports, piece))  # type: ignore[misc]
            await queue.finish(piece.id)
        kept = len(pieces)
    return kept + await queue.tidy(context.ports.now)


async def keep_raw(ports: Ports, piece: Piece) -> None:
    """Keep a piece as it was said, as an archival note; the same piece is one note, however often it is tried."""
    whole = piece.whole.encode()[:LARGEST_CONTENT].decode("utf-8", "ignore")
    request = Remember(
        content=whole, type="observation", tier="archival", space=piece.space or "global", tags=(RAW,),
        title=f"What was said in {piece.source} on {piece.at[:10] or 'a day unknown'}", session=piece.session or None,
        event_time=piece.at or None, unsaid=_CONFIDENCE, compared=False,
    )  # fmt: skip
    await remember(ports, HOUSE, request)


TIDY: Final = Job(
    "transcripts", "drops what waited too long to be distilled", tidy, lambda ports: ports.transcripts is not None
)
