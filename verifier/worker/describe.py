"""The program at its full size, built and run on the meta device: shapes, types and plain values, no memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ...ir.bindings import Bindings, TensorType
from ..types import Domain, Leaf, Mode
from . import pretrained
from .alarm import alarm
from .capture import Captured, capture
from .draws import DrawLog, Drawn, python_draws
from .faults import Guard, Refused, TooSlow, UserError
from .inputs import make_inputs
from .known import Known
from .load import Built, File, build, execute, seed_everything
from .modes import ApiDraws, Placed, Run, Watch, Watched
from .tensors import blocks_of, dtype_name, types_of
from .tree import Arguments, leaves_of, replace_tensors

_FORWARD_S = 30.0
_RANDOM = frozenset({"uniform_", "normal_", "trunc_normal_", "bernoulli_", "exponential_", "random_", "log_normal_"})
_RANDOM_FACTORIES = frozenset({"rand", "randn"})


class Lazy(TorchFunctionMode):  # type: ignore[misc]
    """Random tensors are left unwritten, so that their memory is never touched."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _RANDOM and args and isinstance(args[0], torch.Tensor) and args[0].numel() > 4096:
            return args[0]
        if name in _RANDOM_FACTORIES and "out" not in kwargs:
            kwargs = {key: value for key, value in kwargs.items() if key != "generator"}
            return torch.empty(*args, **kwargs)
        return func(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Shaped:
    """The program and its arguments on the meta device."""

    built: Built
    captured: Captured
    arguments: Arguments
    domains: Mapping[str, Domain]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forward:
    """What a run on the meta device showed; `leaves` None when it could not run there (`error` says why)."""

    leaves: tuple[Leaf, ...] | None
    draws: tuple[Drawn, ...]
    literals: tuple[torch.Tensor, ...]
    error: str = ""


@dataclass(frozen=True, slots=True)
class Described:
    bindings: Bindings
    domains: Mapping[str, Domain]
    leaves: tuple[Leaf, ...] | None
    signature: str
    warnings: tuple[str, ...]


def shaped(file: File, mode: Mode, changes: Mapping[str, int]) -> Shaped:
    """Build at these sizes without memory: on the meta device, or, where the constructor reads values, on the CPU
    with random tensors left unwritten."""
    warnings: list[str] = []
    try:
        with Placed("meta"):
            seed_everything(0)
            built = build(file, execute(file, changes), mode)
        captured = capture(built, {})
    except UserError as error:
        if error.kind == "bad_input":
            raise
        built, captured = _built_on_cpu(file, mode, changes)
    arguments, domains = _inputs(file, built, changes)
    return Shaped(built, captured, _on_meta(arguments, built), domains, tuple(warnings))


def _inputs(file: File, built: Built, changes: Mapping[str, int]) -> tuple[Arguments, dict[str, Domain]]:
    """get_inputs on the meta device, or on the CPU where it reads values."""
    seed_everything(0)
    try:
        with Placed("meta"):
            return make_inputs(file, built, changes, None)
    except UserError as error:
        if error.kind == "bad_input":
            raise
    with Placed("cpu"), Lazy():
        return make_inputs(file, built, changes, None)


def _on_meta(arguments: Arguments, built: Built) -> Arguments:
    """Inputs that were made by NumPy or at module level follow to the meta device."""
    if all(tensor.is_meta for tensor in arguments.tensors.values()):
        return arguments
    tensors = {name: tensor.to("meta") for name, tensor in arguments.tensors.items()}
    names = {id(tensor): name for name, tensor in arguments.tensors.items()}

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        return tensors[names[id(tensor)]]

    return dataclasses.replace(
        arguments,
        args=replace_tensors(arguments.args, moved),
        kwargs=replace_tensors(dict(arguments.kwargs), moved),
        tensors=tensors,
    )


def _built_on_cpu(file: File, mode: Mode, changes: Mapping[str, int]) -> tuple[Built, Captured]:
    with Placed("cpu"), Lazy():
        seed_everything(0)
        built = build(file, execute(file, changes), mode)
    captured = capture(built, {})
    if built.model is not None:
        attrs = captured.attrs
        _move_plain(built.model)
        with _no_fill():
            built.model.to("meta")
        captured = capture(built, {})
        captured.attrs.update(attrs)
    return built, captured


@contextmanager
def _no_fill() -> Iterator[None]:
    """`Module.to` without the future-swap machinery, whatever the user's file has switched on."""
    swap = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(False)
    try:
        yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(swap)


def _move_plain(model: torch.nn.Module) -> None:
    """Plain tensor attributes, also in lists and dicts, and modules in those, go to the meta device."""
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if name not in ("_parameters", "_buffers", "_modules") and not name.endswith("_hooks"):
                vars(module)[name] = _moved(value)


def _moved(value: Any) -> Any:  # noqa: ANN401
    match value:
        case torch.nn.Parameter():
            return torch.nn.Parameter(value.detach().to("meta"), requires_grad=value.requires_grad)
        case torch.Tensor():
            return value.to("meta")
        case torch.nn.Module():
            _move_plain(value)
            return value.to("meta")
        case list():
            value[:] = [_moved(item) for item in value]
            return value
        case dict():
            value.update({key: _moved(item) for key, item in value.items()})
            return value
        case tuple() if any(isinstance(item, torch.Tensor | torch.nn.Module) for item in value):
            return tuple(_moved(item) for item in value)
        case _:
            return value


def forward(file: File, mode: Mode, program: Shaped, seconds: float = _FORWARD_S) -> Forward:
    """Run on the meta device. Draws are seen at the Python level or, where that may miss some, operator by operator."""
    log, seen = DrawLog(), Watched()
    try:
        with alarm(seconds):
            returned = _called(file, program, log, (Watch(seen), ApiDraws(log)))
            if mode == "train" or seen.may_draw:
                log = DrawLog()
                _called(file, program, log, (Watch(Watched()), Run(log, promote=False)))
        leaves = tuple(leaves_of(returned, with_values=False))
    except (UserError, Refused) as error:
        return Forward(None, (), (), str(error))
    except TooSlow:
        return Forward(None, (), (), f"it takes longer than {seconds:.0f} s there")
    return Forward(leaves, tuple(log.drawn), tuple(seen.literals))


def _type(item: Drawn) -> TensorType:
    if isinstance(item, torch.Tensor):
        return TensorType(tuple(item.shape), dtype_name(item.dtype))
    return TensorType((), "f64" if isinstance(item, float) else "i64")


def _called(file: File, program: Shaped, log: DrawLog, modes: tuple[Any, ...]) -> Any:  # noqa: ANN401
    guard = Guard("running forward() on the meta device", file.folder)
    draws = python_draws(log, program.built.namespace)
    with guard, torch.no_grad(), draws, Placed("meta"), modes[0], modes[1], Known():
        return program.built.call(*program.arguments.args, **program.arguments.kwargs)


def held(program: Shaped) -> tuple[Captured, Bindings]:
    """What the program holds before it runs; the bindings are without draws and literals."""
    captured = capture(program.built, program.arguments.others)
    captured.attrs.update({k: v for k, v in program.captured.attrs.items() if k not in captured.attrs})
    state = types_of(blocks_of(captured.tensors, copy=False))
    inputs = types_of(blocks_of(program.arguments.tensors, copy=False))
    return captured, Bindings(inputs, state, (), captured.attrs)


def met(start: Bindings, draws: Iterable[Drawn], literals: Iterable[torch.Tensor]) -> Bindings:
    """`start` with what a run drew and the literals that it made."""
    made = {f"made.{index}": _type(literal) for index, literal in enumerate(literals)}
    return Bindings(start.inputs, {**start.state, **made}, tuple(_type(item) for item in draws), start.attrs)


def described(file: File, mode: Mode) -> Described:
    program = shaped(file, mode, {})
    captured, start = held(program)
    ran = forward(file, mode, program)
    warnings = [*program.warnings, *pretrained.notes(), *captured.warnings]
    if ran.leaves is None:
        warnings.append(f"the shapes of the results at full size are not known: {ran.error}")
    bindings = met(start, ran.draws, ran.literals)
    name = file.entry if program.built.model is None else "forward"
    text = f"{name}{program.built.signature}"
    return Described(bindings, program.domains, ran.leaves, text, tuple(dict.fromkeys(warnings)))
