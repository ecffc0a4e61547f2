"""Speed-of-light bounds in seconds, each with its assumptions beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..ir.dtypes import kind
from ..ir.program import Program
from .arch import MATRIX_NAME, Arch, matrix_rate, vector_rate
from .constants import show_outputs, with_constants
from .operations import Operation, moved
from .precision import Precision, parse_precision
from .work import Work, analyse

LAUNCH_OVERHEAD_S = 5e-6
MATRIX, VECTOR, SPECIAL, DRAM = "matrix units", "vector units", "special functions", "DRAM bandwidth"


class BoundOrderError(Exception):
    """A bound that must not exceed another one does: a fault of this program, never of the measured one."""


class UnsupportedTypeError(Exception):
    """Arithmetic in a type that the device has no unit for."""


@dataclass(frozen=True, slots=True)
class StatementBound:
    """Time of all operations of one line of the text, each on its own."""

    line: int
    unit: str
    text: str
    unfused_s: float
    compute_s: float
    memory_s: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds; a bound that is not computed is None. `binding` is the resource that `fused_s` comes from."""

    unfused_s: float
    fused_s: float
    cache_aware_s: float | None
    certified_s: float | None
    algebraic_s: float | None
    binding: str
    precision: str
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    per_statement: tuple[StatementBound, ...] = ()


def bounds(
    program: Program, arch: Arch, precision: str | None = None, *, constant: Collection[int] = ()
) -> Bounds:
    """Unfused and fused bound of a program on a device. `constant`: positions of outputs that do not depend on the
    inputs, so that the algebraic bound only writes them. Raises BoundOrderError, PrecisionError."""
    work, chosen = analyse(program), parse_precision(precision)
    model = _Model(arch, chosen)
    fused_by = model.fused_by(work)
    binding = max(fused_by, key=lambda name: fused_by[name])
    fused_s = fused_by[binding]
    unfused_s = sum(model.operation_s(operation) for operation in work.operations)
    if fused_s > unfused_s * (1 + 1e-9):
        raise BoundOrderError(f"fused {fused_s:.6g} s exceeds unfused {unfused_s:.6g} s ({binding})")
    folded = analyse(with_constants(program, constant)) if constant else None
    algebraic_s = None if folded is None else max(_Model(arch, chosen).fused_by(folded).values())
    return Bounds(
        unfused_s=unfused_s,
        fused_s=min(fused_s, unfused_s),
        cache_aware_s=None,
        certified_s=None,
        algebraic_s=algebraic_s,
        binding=binding if fused_s else "nothing to do",
        precision=chosen.label,
        assumptions=(*_assumptions(work, arch, chosen), *model.peaks),
        notes=(*_notes(fused_s), *model.fallbacks, *_constant_notes(program, constant, folded, algebraic_s)),
        per_statement=tuple(_rows(work.operations, model)),
    )


class _Model:
    """Rates of one device under one precision; remembers which peaks were used and which types had to fall back."""

    def __init__(self, arch: Arch, precision: Precision) -> None:
        self.arch, self.precision = arch, precision
        self._fallbacks: dict[str, None] = {}
        self._peaks: dict[str, None] = {}

    @property
    def peaks(self) -> tuple[str, ...]:
        return tuple(self._peaks)

    @property
    def fallbacks(self) -> tuple[str, ...]:
        return tuple(self._fallbacks)

    def matrix_s(self, dtype: str, macs: int) -> tuple[str, float]:
        """(resource, seconds) of multiply-adds in a type."""
        computed = self._computed(dtype)
        plain = computed == "f32" and self.precision.ieee
        found = None if plain else matrix_rate(self.arch, computed)
        if found is None:
            if not plain:
                self._note(f"{self.arch.name} has no matrix unit for {computed}: its vector units are charged")
            unit, rate = vector_rate(self.arch, computed)
            self._peak(computed, f"{unit} rate of its vector units", rate)
            return VECTOR, 2 * macs / rate
        unit, rate = found
        self._peak(computed, f"{unit} peak of its matrix units", rate)
        if unit != MATRIX_NAME.get(computed, computed):
            self._note(f"{self.arch.name} has no matrix unit for {computed}: {unit} is charged instead")
        return MATRIX, 2 * macs / rate

    def compute_s(self, operations: Iterable[Operation]) -> dict[str, float]:
        """Seconds of each resource for work that overlaps freely."""
        total = {MATRIX: 0.0, VECTOR: 0.0, SPECIAL: 0.0}
        for operation in operations:
            if operation.macs:
                resource, seconds = self.matrix_s(operation.dtype, operation.macs)
                total[resource] += seconds
            plain = operation.vector + operation.comparisons
            if plain or operation.special:
                rate = self._vector(operation.dtype)
                total[VECTOR] += plain / rate
                total[SPECIAL] += (plain + operation.special) / (rate + self.arch.special_ops_per_s.per_s)
        return total

    def fused_by(self, work: Work) -> dict[str, float]:
        """Seconds of each resource for all work of a program, DRAM among them."""
        found = self.compute_s(work.operations)
        found[DRAM] = self.precision.charged_bytes(work.charges) / self.arch.dram_bytes_per_s.per_s
        return found

    def _vector(self, dtype: str) -> float:
        computed = self._computed(dtype)
        unit, rate = vector_rate(self.arch, computed)
        if unit != computed and kind(computed) == "float" and computed != "f32":
            self._note(f"{self.arch.name} has no vector rate for {computed}: {unit} is charged instead")
        return rate

    def _computed(self, dtype: str) -> str:
        computed = self.precision.computed(dtype)
        if kind(computed) == "complex":
            raise UnsupportedTypeError(f"no device has arithmetic in {computed}; write real and imaginary parts")
        return computed

    def _peak(self, dtype: str, what: str, rate: float) -> None:
        told = f"multiply-adds in {dtype} at {self.arch.name}'s {what}, {rate / 1e12:.4g} TFLOP/s"
        self._peaks[told] = None

    def _note(self, text: str) -> None:
        self._fallbacks[text] = None

    def operation_s(self, operation: Operation) -> float:
        return max(max(self.compute_s([operation]).values()), self.memory_s(operation))

    def memory_s(self, operation: Operation) -> float:
        return self.precision.traffic_bytes(moved([operation])) / self.arch.dram_bytes_per_s.per_s


def _rows(operations: Sequence[Operation], model: _Model) -> Iterable[StatementBound]:
    grouped: dict[tuple[str, int, str], list[Operation]] = {}
    for operation in operations:
        source = operation.source
        grouped.setdefault((source.unit, source.line, source.text), []).append(operation)
    for (unit, line, text), members in grouped.items():
        yield StatementBound(
            line, unit, text,
            sum(model.operation_s(operation) for operation in members),
            sum(max(model.compute_s([operation]).values()) for operation in members),
            sum(model.memory_s(operation) for operation in members),
        )  # fmt: skip


def _notes(fused_s: float) -> tuple[str, ...]:
    if 0 < fused_s < LAUNCH_OVERHEAD_S:
        return (f"below launch overhead: {fused_s * 1e6:.3g} us, and starting a kernel takes about 5 us",)
    return ()


def _constant_notes(
    program: Program, constant: Collection[int], folded: Work | None, algebraic_s: float | None
) -> tuple[str, ...]:
    if folded is None or algebraic_s is None:
        return ()
    outputs = show_outputs([program.outputs[position] for position in constant])
    macs = sum(operation.macs for operation in folded.operations)
    return (
        f"whatever the inputs are, the same comes out of `{outputs}`: written as constants they leave {macs} "
        f"multiply-adds and an algebraic bound of {algebraic_s * 1e6:.3g} us, which a kernel may reach",
    )


def _assumptions(work: Work, arch: Arch, precision: Precision) -> tuple[str, ...]:
    found = [
        "unfused: every operation of the normalised text reads and writes DRAM; sum of max(compute, bytes / bandwidth)",
        "fused: all work of the normalised text at peak rates from cold caches, distinct external bytes once; maximum "
        "over the resources",
        "dense peak rates; a multiply-add is two FLOPs; sums of products may use matrix units",
        "special functions at the rate of special and vector units together",
    ]
    types = {precision.computed(op.dtype) for op in work.operations if op.macs}
    if "f32" in types and not precision.ieee and matrix_rate(arch, "f32") is not None:
        found.append("float32 products run in TF32 on matrix units, as PyTorch's convolutions do; --precision ieee "
                     "charges the float32 vector rate")
    if precision.compute is not None or precision.storage is not None:
        own = "the program's own types"
        found.append(f"floating-point arithmetic in {precision.compute or own}, storage in {precision.storage or own}")
    if any(c.indirect for c in work.charges):
        found.append("rows chosen by data are taken to be distinct")
    return tuple(found)
