"""The errors under the name that OMI's reference gives them."""

from holdfast.errors import HoldfastError, IntegrityError, InvalidArgumentError, MemoryNotFoundError

__all__ = ["HoldfastError", "IntegrityError", "InvalidArgumentError", "MemoryNotFoundError"]
