"""The program run once on the meta device with every operator noted."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import torch
from torch.nn.modules import module as torch_module

from ...ir.bindings import Bindings, Scalar
from ..traced import Call, Result, Traced
from ..types import Mode
from .alarm import alarm
from .capture import Captured, capture
from .describe import Shaped, held, met, shaped
from .draws import FACTORIES, IN_PLACE, DrawLog, python_draws
from .faults import Guard, Refused, TooSlow, UserError
from .indexing import spelled_out
from .known import Known
from .load import File, seed_everything
from .modes import Placed, Watch, Watched, literal_data, makes_literal
from .recorder import Recorder
from .tree import flatten
from .trial import is_derived

_FORWARD_S = 30.0
_TORCH = str(Path(torch.__file__).parent)
_HERE = str(Path(__file__).parent)
_READ_SIGNS = (
    "on meta tensors",
    "meta device type tensor",
    "data-independent implementation",
    "from meta tensor",
    "out of meta tensor",
)
_Kind = Literal["user", "library", "hidden"]


class Places:
    """The user's line that is being run: the innermost one of the user's files or of the module being called."""

    def __init__(self, file: File) -> None:
        self._file = str(file.path)
        self._folder = str(file.folder)
        self._kinds: dict[str, _Kind] = {}
        self._classes: set[type] = set()

    def add(self, cls: type) -> None:
        """A class of modules: its file counts as the user's, unless it is torch's own."""
        if cls not in self._classes:
            self._classes.add(cls)
            name = getattr(sys.modules.get(cls.__module__), "__file__", None)
            if name and self._kind(name) == "library":
                self._kinds[name] = "user"

    def line(self) -> str:
        """As file.py:12; the file alone when all frames are torch's."""
        frame: FrameType | None = sys._getframe(1)
        outer: FrameType | None = None
        while frame is not None and frame.f_code is not _run.__code__:
            match self._kind(frame.f_code.co_filename):
                case "user":
                    return _shown(frame)
                case "library":
                    outer = outer or frame
                case "hidden":
                    pass
            frame = frame.f_back
        return Path(self._file).name if outer is None else _shown(outer)

    def _kind(self, name: str) -> _Kind:
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = self._found(name)
        return kind

    def _found(self, name: str) -> _Kind:
        if name == self._file:
            return "user"
        if name.startswith((_TORCH, _HERE, "<frozen")) or name in ("<string>", sys.executable):
            return "hidden"
        inside = name.startswith(f"{self._folder}/") and "site-packages" not in name
        return "user" if inside else "library"


def _shown(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


class Modules:
    """The calls of modules, as a tree."""

    def __init__(self, program: Shaped, captured: Captured, places: Places, entry: str) -> None:
        model = program.built.model
        named = () if model is None else tuple(model.named_modules())
        self._held = named  # the number of one that forward() replaces must not become another's
        self._paths = {id(module): path for path, module in named}
        for identity, path in captured.modules.items():
            self._paths.setdefault(identity, path)
        self._places = places
        self._root = model
        self.calls = [Call("", entry if model is None else _full_name(model), None)]
        self._open: list[tuple[int, torch.nn.Module | None]] = [(0, None)]
        if model is not None:
            places.add(type(model))

    @property
    def current(self) -> int:
        return self._open[-1][0]

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Module calls within it are noted."""
        enter = torch_module.register_module_forward_pre_hook(self._enter)
        leave = torch_module.register_module_forward_hook(self._leave, always_call=True)
        try:
            yield
        finally:
            enter.remove()
            leave.remove()

    def _enter(self, module: torch.nn.Module, _: object) -> None:
        if module is self._root and len(self._open) == 1:
            self._open.append((0, module))
            return
        parent = self.current
        known = self._paths.get(id(module))
        path = self._adopted(module, parent) if known is None else known
        self._places.add(type(module))
        self._open.append((len(self.calls), module))
        self.calls.append(Call(path, _full_name(module), parent))

    def _adopted(self, module: torch.nn.Module, parent: int) -> str:
        """Of a module that forward() made: its place in its caller, or its caller's."""
        path = self.calls[parent].path
        caller = self._open[-1][1]
        children = () if caller is None else caller.named_children()
        name = next((name for name, child in children if child is module), None)
        return path if name is None else f"{path}.{name}" if path else name

    def _leave(self, module: torch.nn.Module, *_: object) -> None:
        """An exception that the program caught may have left calls open."""
        while any(open_module is module for _, open_module in self._open):
            if self._open.pop()[1] is module:
                return


def _full_name(module: torch.nn.Module) -> str:
    return f"{type(module).__module__}.{type(module).__qualname__}"


class Literals(Watch):
    """Tensor literals are made unnoted: they are state of their own, "made.k". Indexing leaves out no slice."""

    def __init__(self, seen: Watched, recorder: Recorder) -> None:
        super().__init__(seen)
        self._recorder = recorder
        self.numbers: dict[str, Scalar] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
        if makes_literal(func, args):
            data = literal_data(func, args)
            if isinstance(data, int | float):
                self.numbers[f"made.{len(self._seen.literals)}"] = data
            with self._recorder.paused():
                return super().__torch_function__(func, types, args, kwargs)
        if getattr(func, "__name__", "") == "__getitem__":
            indexed = spelled_out(*args)
            if indexed is not None:
                return indexed
        return super().__torch_function__(func, types, args, kwargs)


@contextmanager
def _slow_attention() -> Iterator[None]:
    """nn.MultiheadAttention and nn.TransformerEncoderLayer without their fused kernels."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def record(file: File, mode: Mode, changes: Mapping[str, int], seconds: float = _FORWARD_S) -> Traced:
    """Raises Refused or UserError, with the user's line, when the program cannot be run on the meta device."""
    program = shaped(file, mode, changes)
    captured, start = held(program)
    places, log, seen = Places(file), DrawLog(), Watched()
    modules = Modules(program, captured, places, file.entry)
    recorder = Recorder(lambda: (modules.current, places.line()), log)
    literals = Literals(seen, recorder)
    inputs = {name: recorder.tensors.used(tensor) for name, tensor in program.arguments.tensors.items()}
    state = {name: recorder.tensors.used(tensor) for name, tensor in captured.tensors.items()}
    try:
        with alarm(seconds):
            returned = _run(file, program, recorder, modules, literals, log)
    except TooSlow:
        raise Refused(f"recording its operators takes longer than {seconds:.0f} s") from None
    except UserError as error:
        raise recorder.refused or _explained(error, recorder.running) from None
    if recorder.refused is not None:
        raise recorder.refused
    state |= {f"made.{index}": recorder.tensors.used(literal) for index, literal in enumerate(seen.literals)}
    results = tuple(_results(recorder, returned))
    final = _final_state(recorder, captured, capture(program.built, {}), state)
    traced = _traced(recorder, modules, inputs, state, results, met(start, log.drawn, seen.literals), final)
    return replace(traced, literals={path: number for path, number in literals.numbers.items() if path in state})


def _run(file: File, program: Shaped, recorder: Recorder, modules: Modules, literals: Literals, log: DrawLog) -> Any:  # noqa: ANN401
    seed_everything(0)
    with ExitStack() as stack:
        for context in (
            Guard("recording its operators on the meta device", file.folder),
            torch.no_grad(),
            _slow_attention(),
            python_draws(log, program.built.namespace),
            modules.followed(),
            Placed("meta", shortcuts=False),
            literals,
            Known(),
            torch._dispatch.python.enable_python_dispatcher(),
            recorder,
        ):
            stack.enter_context(context)
        return program.built.call(*program.arguments.args, **program.arguments.kwargs)


def _explained(error: UserError, operator: str) -> UserError:
    """Of an operator that the meta device cannot run: its shape or its value depends on data."""
    text = str(error)
    if not any(sign in text for sign in _READ_SIGNS):
        return error
    where = text.partition(": ")[0] if error.line is not None else ""
    place = f"{where}: " if where else ""
    said = text.removeprefix(place)
    name = f"{operator}: " if operator else ""
    return UserError(f"{place}{name}a tensor's value is read: {said}", error.cause, "unrecordable", error.line)


def _results(recorder: Recorder, returned: Any) -> Iterator[Result]:  # noqa: ANN401
    for path, item in flatten(returned):
        if isinstance(item, torch.Tensor):
            yield Result(path, recorder.tensors.used(item))
        else:
            yield Result(path, None, item)


def _final_state(recorder: Recorder, before: Captured, after: Captured, state: Mapping[str, int]) -> dict[str, int]:
    """Entries that another tensor has taken the place of."""
    final: dict[str, int] = {}
    for name in before.tensors:
        tensor = after.tensors.get(name)
        if tensor is None or is_derived(name, after.tensors):
            continue
        number = recorder.tensors.used(tensor)
        if number != state[name]:
            final[name] = number
    return final


def _traced(
    recorder: Recorder,
    modules: Modules,
    inputs: Mapping[str, int],
    state: Mapping[str, int],
    results: tuple[Result, ...],
    bindings: Bindings,
    final: Mapping[str, int],
) -> Traced:
    values, operators = tuple(recorder.tensors.values), tuple(recorder.operators)
    draws: dict[int, int] = {}
    for index, made in recorder.drawn.items():
        first = operators[index].results[0] if operators[index].results else None
        if len(made) == 1 and first is not None and _is_draw(operators[index].name):
            draws[first] = made[0]
    owned = {draw for made in recorder.drawn.values() for draw in made}
    loose = tuple(draw for draw in range(len(bindings.draws)) if draw not in owned)
    return Traced(
        values, tuple(modules.calls), operators, inputs, state, results, bindings, draws, final, recorder.drawn, loose
    )


def _is_draw(name: str) -> bool:
    """Is the result of the operator ("aten.rand.default") the draw itself?"""
    return f"aten::{name.split('.')[1]}" in FACTORIES | IN_PLACE
