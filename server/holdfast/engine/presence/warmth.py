"""Whether the encoder is loaded, so that nobody who has little time waits for that; it is loaded behind the answers."""

from __future__ import annotations

from typing import Final, Protocol

import anyio
import structlog

from holdfast.errors import EncoderError

AGAIN_SECONDS: Final = 60.0  # after a failure
_TRIED: Final = "Is it ready?"

log = structlog.get_logger()


class _Encoder(Protocol):
    async def encode_query(self, text: str) -> bytes: ...


class Warmth:
    """Knows when an encoder has made its first vector in this process.

    Args:
        encoder: None where there is none; then it is never ready.
        beside: one that is loaded too; where that fails the other is ready all the same.
    """

    def __init__(self, encoder: _Encoder | None, beside: _Encoder | None = None) -> None:
        self._encoder = encoder
        self._beside = beside
        self._wanted = anyio.Event()
        self._ready = anyio.Event()

    async def is_ready(self, seconds: float) -> bool:
        """Whether the encoder answers, or does within so many seconds; from now on it is being loaded."""
        if self._encoder is None:
            return False
        self._wanted.set()
        with anyio.move_on_after(seconds):
            await self._ready.wait()
        return self._ready.is_set()

    async def run(self) -> None:
        """Load the encoder when it is first wanted, and again a while after a failure; until that has worked."""
        while self._encoder is not None and not self._ready.is_set():
            await self._wanted.wait()
            try:
                await self._encoder.encode_query(_TRIED)
            except EncoderError as error:
                log.warning("encoder_not_loaded", reason=error.sentence)
                await anyio.sleep(AGAIN_SECONDS)
            else:
                await self._load_beside()
                self._ready.set()

    async def _load_beside(self) -> None:
        if self._beside is not None:
            try:
                await self._beside.encode_query(_TRIED)
            except EncoderError as error:
                log.warning("encoder_not_loaded", reason=error.sentence)
