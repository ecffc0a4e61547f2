"""Names in the text: one namespace for sizes, tensors, numbers and iterators."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

ITERATORS = tuple("ijklmnpqrsuvabcdefghotwz") + tuple(
    f"{letter}{digit}" for digit in range(1, 9) for letter in "ijklmn"
)
_WORDS = """
    program input param attr draw let tensor shape view require fact output for where sum max min prod any all argmax
    argmin select scan carry next emit reverse repeat in def return if elif else and or not true false inf pi none has
    is_none rank numel int float bool len sqrt exp log abs floor ceil round sign pow erf sin cos tanh state indexes
    along giving topk sort argsort fft ifft rfft x y
"""
RESERVED = frozenset(_WORDS.split())
_BY_RANK = {1: "N", 2: "NC", 3: "BTD", 4: "NCHW", 5: "NCDHW"}


@dataclass(slots=True)
class Names:
    """`used`: taken in this scope; `outer`: of the scope around, seen from here."""

    used: set[str] = field(default_factory=set)
    outer: frozenset[str] = frozenset()

    def has(self, name: str) -> bool:
        return name in self.used or name in self.outer or name in RESERVED - {"x", "y"}

    def fresh(self, hint: str) -> str:
        """A name like `hint` that is not taken; single letters are left to iterators."""
        base = re.sub(r"\W+", "_", hint).strip("_").lower() or "h"
        if base[0].isdigit():
            base = f"h{base}"
        if len(base) > 1 and base not in RESERVED and not self.has(base):
            self.used.add(base)
            return base
        number = next(n for n in range(1, 1_000_000) if not self.has(f"{base}{n}") and f"{base}{n}" not in ITERATORS)
        self.used.add(f"{base}{number}")
        return f"{base}{number}"

    def exact(self, name: str) -> bool:
        """Take this very name, if it is free and no word of the language."""
        if self.has(name) or not name.isidentifier():
            return False
        self.used.add(name)
        return True

    def size(self, axis: int, rank: int) -> str:
        """A capital letter for the extent of an axis, numbered when taken."""
        letters = _BY_RANK.get(rank, "")
        base = letters[axis] if axis < len(letters) else "ABCDEFGHIJKLMNOPQ"[axis % 17]
        name = base
        number = 1
        while self.has(name):
            number += 1
            name = f"{base}{number}"
        self.used.add(name)
        return name
