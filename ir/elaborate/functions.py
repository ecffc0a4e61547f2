"""Calls: functions of the text, of the prelude, and opaque primitives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from .. import syntax as s
from ..bindings import Constant
from ..dtypes import kind
from ..library import function as prelude_function
from ..library import names as prelude_names
from ..library import offered_names
from ..program import Opaque, OpaqueKind
from .constants import evaluate, integer
from .scope import Builder, Frame, Known, Poison, PoisonedError, TensorRef
from .shapes import bind_shapes

Argument = Callable[[s.Expr, str], str]
_OPAQUE: dict[str, OpaqueKind] = {
    "topk": "topk", "sort": "sort", "argsort": "argsort", "fft": "fft", "ifft": "ifft", "rfft": "rfft",
}  # fmt: skip
_REFUSED = {"nonzero", "unique"}
_DEEPEST = 64


def is_function(builder: Builder, name: str) -> bool:
    """Whether a call of that name takes whole tensors: a def of the text, an opaque primitive, a prelude function."""
    from ..ops import SCALAR_OPS

    if builder.own(name) or name in _OPAQUE or name in _REFUSED:
        return True
    return name not in SCALAR_OPS and name in prelude_names()


def call(builder: Builder, frame: Frame, expr: s.Call, argument: Argument) -> tuple[TensorRef, ...]:
    """Results of a call; its body is inlined into the program."""
    definition = builder.own(expr.name)
    if definition is not None:
        return _inline(builder, frame, expr, definition, argument, unit="")
    if expr.name in _OPAQUE:
        return _opaque(builder, frame, expr, argument)
    if expr.name in _REFUSED:
        builder.fail(f"{expr.name}() has a result whose shape depends on data; that is not supported", expr.pos)
    definition = prelude_function(expr.name)
    if definition is None:
        near = get_close_matches(expr.name, [*builder.defs, *offered_names()], 3, 0.6)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        builder.fail(f"no function is called {expr.name}{hint}", expr.pos)
    return _inline(builder, frame, expr, definition, argument, unit=definition.name)


def _inline(
    builder: Builder, frame: Frame, expr: s.Call, definition: s.Def, argument: Argument, unit: str
) -> tuple[TensorRef, ...]:
    from .statements import run

    if len(builder.calls) > _DEEPEST or builder.calls.count(definition.name) > 8:
        builder.fail(f"{definition.name}() calls itself; recursion is not supported", expr.pos)
    _check_arguments(builder, expr, definition)
    tensors = [argument(arg, p.name) for arg, p in zip(expr.args, definition.parameters, strict=True)]
    given = {option.name: evaluate(builder, frame, option.value) for option in expr.options}
    inner = Frame("function", shared={} if unit or builder.unit else frame.shared)
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
    saved = builder.unit, builder.call_site
    known = len(builder.problems)
    builder.trail.append(f"{definition.name}({shown}) at line {builder.place(expr.pos).line}")
    builder.calls.append(definition.name)
    if unit and not builder.unit:
        builder.unit, builder.call_site = unit, expr.pos
    try:
        _bind_arguments(builder, inner, definition, tensors, given, expr)
        run(builder, inner, definition.body)
    finally:
        builder.trail.pop()
        builder.calls.pop()
        builder.unit, builder.call_site = saved
    if len(builder.problems) > known:
        raise PoisonedError
    return _results(builder, inner, definition, expr)


def _check_arguments(builder: Builder, expr: s.Call, definition: s.Def) -> None:
    if len(expr.args) != len(definition.parameters):
        names = ", ".join(p.name for p in definition.parameters)
        count = len(definition.parameters)
        wanted = f"{definition.name}() takes {count} tensor{'' if count == 1 else 's'} ({names}) before ';'"
        builder.fail(f"{wanted}, but {len(expr.args)} {'is' if len(expr.args) == 1 else 'are'} given", expr.pos)
    allowed = [option.name for option in definition.options]
    seen = set[str]()
    for option in expr.options:
        if option.name not in allowed:
            listed = ", ".join(allowed) or "none"
            builder.fail(f"{definition.name}() has no option {option.name}; its options: {listed}", option.pos)
        if option.name in seen:
            builder.fail(f"{option.name} is given twice", option.pos)
        seen.add(option.name)


def _bind_arguments(
    builder: Builder, inner: Frame, definition: s.Def, tensors: list[str], given: Mapping[str, Constant], expr: s.Call
) -> None:
    shaped = [
        (parameter.shape, builder.tensors[id_].shape, f"{definition.name}(): argument {parameter.name}")
        for parameter, id_ in zip(definition.parameters, tensors, strict=True)
        if parameter.shape is not None
    ]
    bind_shapes(builder, inner, shaped, expr.pos)
    for parameter, id_ in zip(definition.parameters, tensors, strict=True):
        if parameter.name in inner.names:
            builder.fail(f"{parameter.name} means two things in {definition.name}()", definition.pos)
        inner.names[parameter.name] = TensorRef(id_)
    for option in definition.options:
        if option.name in inner.names:
            builder.fail(f"{option.name} means two things in {definition.name}()", definition.pos)
        if option.name in given:
            inner.names[option.name] = Known(given[option.name])
        elif option.default is not None:
            inner.names[option.name] = Known(evaluate(builder, inner, option.default))
        else:
            builder.fail(f"{definition.name}() needs {option.name}=… after ';'", expr.pos)


def _results(builder: Builder, inner: Frame, definition: s.Def, expr: s.Call) -> tuple[TensorRef, ...]:
    if inner.returned is None:
        builder.fail(f"{definition.name}() ends without a return", expr.pos)
    if any(isinstance(entry, Poison) for entry in inner.returned):
        raise PoisonedError
    return tuple(entry for entry in inner.returned if isinstance(entry, TensorRef))


def _opaque(builder: Builder, frame: Frame, expr: s.Call, argument: Argument) -> tuple[TensorRef, ...]:
    kind_ = _OPAQUE[expr.name]
    wanted = 2 if kind_ in ("fft", "ifft") else 1
    if len(expr.args) != wanted:
        builder.fail(f"{expr.name}() takes {wanted} tensor{'s' if wanted > 1 else ''}", expr.pos)
    inputs = tuple(argument(arg, expr.name) for arg in expr.args)
    params = {option.name: integer(builder, frame, option.value, option.name) for option in expr.options}
    allowed = {"topk": {"k"}, "sort": {"descending"}, "argsort": {"descending"}, "rfft": {"n"}}.get(kind_, set())
    unknown = set(params) - allowed
    if unknown:
        builder.fail(f"{expr.name}() works along the last axis and has no option {sorted(unknown)[0]}", expr.pos)
    shape = builder.tensors[inputs[0]].shape
    if not shape or any(builder.tensors[i].shape != shape for i in inputs):
        builder.fail(f"{expr.name}() needs tensors of one shape with at least one axis", expr.pos)
    outputs = _opaque_outputs(builder, kind_, inputs[0], params, expr)
    builder.body.append(Opaque(kind_, inputs, outputs, tuple(sorted(params.items())), builder.source(expr.pos)))
    return tuple(TensorRef(id_) for id_ in outputs)


def _opaque_outputs(
    builder: Builder, kind_: OpaqueKind, source: str, params: dict[str, int], expr: s.Call
) -> tuple[str, ...]:
    shape, dtype = builder.tensors[source].shape, builder.typed(source).name
    floats = dtype if kind(dtype) == "float" else "f32"
    match kind_:
        case "topk":
            k = params.get("k")
            if k is None or not 0 <= k <= shape[-1]:
                builder.fail(f"topk() needs k between 0 and the last axis' size {shape[-1]}, but k is {k}", expr.pos)
            shape = (*shape[:-1], k)
            return builder.local("topk_values", shape, dtype), builder.local("topk_indices", shape, "i64")
        case "sort":
            return builder.local("sorted", shape, dtype), builder.local("order", shape, "i64")
        case "argsort":
            return (builder.local("order", shape, "i64"),)
        case "rfft":
            points = params.get("n", shape[-1])
            if points < 1:
                builder.fail(f"rfft() needs at least one point, but n is {points}", expr.pos)
            shape = (*shape[:-1], points // 2 + 1)
            return builder.local("re", shape, floats), builder.local("im", shape, floats)
        case "fft" | "ifft":
            return builder.local("re", shape, floats), builder.local("im", shape, floats)
