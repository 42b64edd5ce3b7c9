"""Encoders of sets that were made with other settings, made when such a set has to answer."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.encode.provider import Provider
from holdfast.encode.vectorset import VectorSet


class KeptEncoders:
    """One encoder for each set that this process can still encode for.

    Args:
        make: an encoder for a set, or None where the settings or the machine have none.
    """

    def __init__(self, make: Callable[[VectorSet], Provider | None]) -> None:
        self._make = make
        self._made: dict[str, Provider | None] = {}

    def of(self, vector_set: VectorSet) -> Provider | None:
        """The encoder that may make vectors of this set; whether it does is seen when it has made one."""
        if vector_set.key not in self._made:
            self._made[vector_set.key] = self._make(vector_set)
        return self._made[vector_set.key]

    async def aclose(self) -> None:
        made, self._made = self._made, {}
        for encoder in made.values():
            if encoder is not None:
                await encoder.aclose()
