# ruff: noqa: ANN401
"""The other counters, each asked for the cost of one program on the meta device at its full size.

An answer: {"macs": int, "parts": {its own name for an operator: MACs}}, and what else it tells; of ptflops, instead of
parts, "counted": {name of a layer or function: {product of sizes: how often}}."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
from accounts import account
from solar_agent.verifier.worker.describe import shaped
from solar_agent.verifier.worker.known import Known
from solar_agent.verifier.worker.load import open_file
from solar_agent.verifier.worker.modes import Placed
from solar_agent.verifier.worker.recording import record
from torch.utils._python_dispatch import TorchDispatchMode

Counted = dict[str, Any]
RECORDING_S = 120.0
NOT_INSTALLED = {"fails": "not installed"}
_kept: list[Any] = []
ATEN = torch.ops.aten
SAME_SHAPE = (ATEN.sigmoid.default, ATEN.tanh.default, ATEN.add.Tensor, ATEN.mul.Tensor, ATEN.sub.Tensor)
IN_PLACE = (ATEN.sigmoid_.default, ATEN.tanh_.default, ATEN.add_.Tensor, ATEN.mul_.Tensor, ATEN.sub_.Tensor)


class Kernels(TorchDispatchMode):
    """Below a counter: `running` while a kernel of the meta device does, as some call torch's own functions in Python.
    A few that are slow are answered by shape."""

    running = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in SAME_SHAPE and _are_alike(args):
            return torch.empty_like(args[0])
        if func in IN_PLACE and _are_alike(args):
            return args[0]
        if func is ATEN.addmm.default and args[0].is_meta:
            return args[1].new_empty((args[1].shape[0], args[2].shape[1]))
        Kernels.running += 1
        try:
            return func(*args, **(kwargs or {}))
        finally:
            Kernels.running -= 1


def _are_alike(args: Any) -> bool:
    """Operands that need no broadcasting and no promotion."""
    first = args[0]
    return first.is_meta and all(
        isinstance(item, torch.Tensor) and item.shape == first.shape and item.dtype == first.dtype for item in args[1:]
    )


def _traceable() -> None:
    """On the meta device a convolution is a kernel in Python, which torch.jit's tracer cannot go through (sizes are
    tensors while it traces) and which lacks the operator below that is traced on other devices. From now on a
    convolution calls that operator, whose shape is found in a thread of its own, where nothing is traced."""
    thread = ThreadPoolExecutor(1)
    library = torch.library.Library("aten", "IMPL", "Meta")
    _kept.append(library)

    def convolution(*args: Any) -> Any:
        return torch.ops.aten._convolution.default(*args, False, False, True, True)

    def shape(*args: Any) -> Any:
        return thread.submit(torch._meta_registrations.meta_conv, *args[:9]).result()

    library.impl("convolution", convolution, allow_override=True)
    library.impl("_convolution", shape, allow_override=True)


class Program:
    """Model and arguments without memory. `inputs` by position; `named` by the names of forward()'s parameters."""

    def __init__(self, path: Path) -> None:
        self._file = open_file(path, None, ())
        made = shaped(self._file, "eval", {})
        if not isinstance(made.built.model, torch.nn.Module):
            raise ValueError("no nn.Module")
        self.model = made.built.model
        self.inputs = tuple(made.arguments.args)
        self.keywords = dict(made.arguments.kwargs)
        names = [name for name in made.built.signature.parameters if name != "self"]
        self.named = {**dict(zip(names, self.inputs, strict=False)), **self.keywords}

    @contextlib.contextmanager
    def placed(self, shortcuts: bool = False) -> Iterator[None]:
        """Tensors that forward() makes are without memory too, and what it asks of masks that it made is answered."""
        with torch.no_grad(), Placed("meta", shortcuts=shortcuts), Known(), Kernels():
            yield


def torch_counter(path: Path) -> Counted:
    """torch.utils.flop_counter: two for a multiply-add."""
    from torch.utils.flop_counter import FlopCounterMode

    program = Program(path)
    with program.placed(), FlopCounterMode(display=False) as counter:
        program.model(*program.inputs, **program.keywords)
    parts = {str(name): _halved(count) for name, count in counter.get_flop_counts().get("Global", {}).items()}
    return {"macs": _halved(counter.get_total_flops()), "parts": parts}


def fvcore_counter(path: Path) -> Counted:
    """fvcore.nn.FlopCountAnalysis: one for a multiply-add; reads the trace of torch.jit."""
    if importlib.util.find_spec("fvcore") is None:
        return NOT_INSTALLED
    from fvcore.nn import FlopCountAnalysis

    program = Program(path)
    if program.keywords:
        raise ValueError("arguments by name cannot be traced")
    _traceable()
    with torch.no_grad(), torch.device("meta"), warnings.catch_warnings(action="ignore"):
        analysis = FlopCountAnalysis(program.model, program.inputs)
        analysis = analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False).tracer_warnings("none")
        parts = {name: _whole(count) for name, count in analysis.by_operator().items()}
        total = _whole(analysis.total())
    return {"macs": total, "parts": parts, "unsupported": dict(analysis.unsupported_ops())}


def ptflops_counter(path: Path) -> Counted:
    """ptflops, backend "pytorch": hooks of modules and replaced functions."""
    return _ptflops(path, "pytorch", _watched_functions)


def ptflops_aten_counter(path: Path) -> Counted:
    """ptflops, backend "aten": operators as they reach the kernels."""
    return _ptflops(path, "aten", _watched_operators)


def _ptflops(path: Path, backend: str, watched: Callable[[Log], Any]) -> Counted:
    if importlib.util.find_spec("ptflops") is None:
        return NOT_INSTALLED
    program = Program(path)
    ptflops = _imported_ptflops()
    log = Log()
    said = io.StringIO()
    # Arguments go in by name: with positional ones the share of the modules, but not that of the functions, would be
    # divided by the length of the first argument.
    with program.placed(shortcuts=backend == "pytorch"), contextlib.redirect_stdout(said), watched(log):
        macs, parameters = ptflops.get_model_complexity_info(
            program.model, (1,), as_strings=False, print_per_layer_stat=False, backend=backend,
            input_constructor=lambda _: program.named,
        )  # fmt: skip
    if macs is None:
        lines = [line for line in said.getvalue().splitlines() if line.strip()]
        raise RuntimeError(lines[1] if len(lines) > 1 else "no answer")
    counted = {name: dict(texts) for name, texts in log.counted.items()}
    return {"macs": int(macs), "counted": counted, "biases": dict(log.biases), "parameters": int(parameters)}


def _imported_ptflops() -> Any:
    """Without torchvision where that does not load: ptflops only looks for one of its layers."""
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError):
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        sys.modules["torchvision"] = None  # type: ignore[assignment]
    return importlib.import_module("ptflops")


@contextlib.contextmanager
def _watched_functions(log: Log) -> Iterator[None]:
    """What each hook and each replaced function adds, by its name. What kernels call is not the program's."""
    engine = importlib.import_module("ptflops.pytorch_engine")
    operators = importlib.import_module("ptflops.pytorch_ops")

    def hook(kind: type, inner: Any) -> Any:
        def noted(module: Any, given: Any, made: Any) -> None:
            before = module.__flops__
            inner(module, given, made)
            log.add(f"nn.{kind.__name__}", module.__flops__ - before, (*given, made))

        return noted

    def function(place: str, called: Any, inner: Any) -> Any:
        def noted(*args: Any, **kwargs: Any) -> Any:
            if Kernels.running:
                return 0
            counted = int(inner(*args, **kwargs))
            log.add(f"{place}.{called.__name__}", counted, (*args, *kwargs.values()))
            return counted

        return noted

    for kind, inner in list(operators.MODULES_MAPPING.items()):
        engine.MODULES_MAPPING[kind] = hook(kind, inner)
    for called, inner in list(operators.FUNCTIONAL_MAPPING.items()):
        engine.FUNCTIONAL_MAPPING[called] = function("F", called, inner)
    for called, inner in list(operators.TENSOR_OPS_MAPPING.items()):
        place = "Tensor" if called is getattr(torch.Tensor, called.__name__, None) else "torch"
        engine.TENSOR_OPS_MAPPING[called] = function(place, called, inner)
    yield


@contextlib.contextmanager
def _watched_operators(log: Log) -> Iterator[None]:
    operators = importlib.import_module("ptflops.aten_ops")

    def noted(packet: Any, inner: Any) -> Any:
        def count(inputs: Any, outputs: Any) -> Any:
            counted = inner(inputs, outputs)
            log.add(str(packet), int(counted), outputs)
            bias = {"aten.addmm": 0, "aten.convolution": 2, "aten._convolution": 2}.get(str(packet))
            if bias is not None and inputs[bias] is not None:
                log.biases[_product(outputs[0].shape)] += 1
            return counted

        return count

    for packet, inner in list(operators.ATEN_OPS_MAPPING.items()):
        operators.ATEN_OPS_MAPPING[packet] = noted(packet, inner)
    yield


@dataclass(slots=True)
class Log:
    """What was counted, by the counter's name for it: product of sizes -> how often. `biases`: additions among it."""

    counted: dict[str, Counter[str]] = field(default_factory=dict)
    biases: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, count: int, tensors: Any) -> None:
        if count:
            self.counted.setdefault(name, Counter())[_as_elements(count, tensors)] += 1


def _as_elements(count: int, tensors: Any) -> str:
    """A count that is a small multiple of a tensor's elements, as such."""
    for item in tensors:
        shape = tuple(item.shape) if isinstance(item, torch.Tensor) else (0,)
        for times in (1, 2):
            if count == times * math.prod(shape):
                return _product((times, *shape))
    return str(count)


def _product(sizes: Any) -> str:
    return "*".join(str(int(size)) for size in sizes if size != 1) or "1"


def _halved(flops: int) -> int:
    return _whole(Fraction(int(flops), 2))


def _whole(count: Any) -> int:
    whole = int(count)
    if whole != count:
        raise ValueError(f"{count} is no whole number")
    return whole


def prepare() -> None:
    """Imports once what every process needs."""
    torch.set_num_threads(1)
    importlib.import_module("torch.utils.flop_counter")
    for name, load in (("fvcore", lambda: importlib.import_module("fvcore.nn")), ("ptflops", _imported_ptflops)):
        if importlib.util.find_spec(name) is not None:
            load()


def recorded(path: Path) -> Counted:
    """The program's operators, as an account from their shapes."""
    found = account(record(open_file(path, None, ()), "eval", {}, RECORDING_S))
    return {"costs": [asdict(one) for one in found.costs], "layers": [asdict(one) for one in found.layers]}


def solar(path: Path) -> Counted:
    """NVlabs/SOLAR allocates the tensors at full size; it is asked only where it is installed, and it was not."""
    return NOT_INSTALLED


COUNTERS: dict[str, Callable[[Path], Counted]] = {
    "torch": torch_counter,
    "fvcore": fvcore_counter,
    "ptflops": ptflops_counter,
    "ptflops-aten": ptflops_aten_counter,
    "SOLAR": solar,
}
