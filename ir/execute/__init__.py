"""Runs elaborated programs with NumPy: the meaning of the language."""

from .driver import DEFAULT_LIMIT_BYTES, execute
from .values import Execution, Values

__all__ = ["DEFAULT_LIMIT_BYTES", "Execution", "Values", "execute"]
