"""What the worker keeps between requests: the opened file and the programs built from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from ..traced import Traced
from ..types import Array, Assignment, Distribution, Limits, Mode, Precision
from . import pretrained
from .describe import Described, described
from .feeding import Notes
from .load import File, open_file
from .source import local_sources, sources_sha256
from .tensors import dtype_name
from .trial import Finished, Prepared, feeding, own_values, prepare, trial

_KEPT = 3


class Session:
    """Requests on one user file. The file is read when the first request needs it."""

    def __init__(
        self, path: Path, entry: str | None, inputs: Sequence[Sequence[object]], mode: Mode, limits: Limits
    ) -> None:
        self._path = path
        self._entry = entry
        self._inputs: tuple[tuple[str, str, tuple[int, ...]], ...] = tuple(
            (str(name), str(dtype), tuple(shape))  # type: ignore[arg-type]
            for name, dtype, shape in inputs
        )
        self._mode: Mode = mode
        self._limits = limits
        self._file: File | None = None
        self._prepared: dict[str, Prepared] = {}
        self.framework_version = str(torch.__version__)

    @property
    def default_dtype(self) -> str:
        """As the file left it when it was last loaded."""
        return dtype_name(torch.get_default_dtype())

    @property
    def file(self) -> File:
        if self._file is None:
            self._file = open_file(self._path, self._entry, self._inputs)
        return self._file

    @property
    def sources(self) -> dict[str, str]:
        """The files of the program, and the configurations of library models that the last run asked for."""
        named = {f"{name}/config.json": found.text for name, found in pretrained.used().items()}
        return {**local_sources(self._path, self.file.text), **named}

    @property
    def source_sha256(self) -> str:
        return sources_sha256(self.sources)

    def describe(self) -> tuple[Described, File]:
        return described(self.file, self._mode), self.file

    def assignments(self) -> tuple[Assignment, ...]:
        from .sizes import find_assignments

        return find_assignments(self.file, self._mode, self._limits)

    def trial(
        self, changes: Mapping[str, int], seed: int, distribution: Distribution, precision: Precision
    ) -> Finished:
        return trial(self._at(changes), seed, distribution, precision)

    def feeding(self, changes: Mapping[str, int], seed: int, distribution: Distribution) -> Notes:
        return feeding(self._at(changes), seed, distribution)

    def _at(self, changes: Mapping[str, int]) -> Prepared:
        key = repr(sorted(changes.items()))
        if key not in self._prepared:
            while len(self._prepared) >= _KEPT:
                del self._prepared[next(iter(self._prepared))]
            self._prepared[key] = prepare(self.file, self._mode, changes)
        return self._prepared[key]

    def known_state(self, names: Collection[str]) -> dict[str, Array]:
        """At full size. Nothing where the same way of finding values errs at a size that was run."""
        from .constructed import known_values

        for prepared in list(self._prepared.values())[-1:]:
            held = own_values(prepared)
            small = known_values(self.file, self._mode, prepared.changes, names)
            if any(not np.array_equal(held[name], array) for name, array in small.items()):
                return {}
        return known_values(self.file, self._mode, {}, names)

    def trace(self, changes: Mapping[str, int]) -> Traced:
        from .recording import record

        return record(self.file, self._mode, changes)
