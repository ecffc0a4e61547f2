"""What rules for element-by-element operators share: operands, and results of torch's storage type."""

from __future__ import annotations

import re
from functools import reduce
from typing import Literal

from ....ir.dtypes import RANK0, STRONG, WEAK, Typed, floating, kind, promote
from ..model import Num, Op, Tensor
from ..numbers import atom, literal
from ..writer import Operand, Writer

Kind = Literal["promote", "float", "bool"]
_DEFAULTS = {"bool": "bool", "int": "i64", "float": "f32", "complex": "c64"}


def operand(op: Op, name: str) -> Tensor | Num | bool:
    """An argument that may be a tensor or a number."""
    value = op.args.get(name)
    if not isinstance(value, Tensor | Num | bool):
        raise op.fail(f"argument {name} is neither a tensor nor a number")
    return value


def made(
    w: Writer, op: Op, form: str, *operands: Operand, result: Kind = "promote", tensor: Tensor | None = None
) -> str:
    """`Writer.pointwise` with a cast where the language would give another storage type than torch does.

    `result`: what the type of `form` is: that of the operands together, the same made floating, or bool."""
    target = tensor or op.out
    refuse_complex(op, target, *operands)
    given = tuple(_shown(w, op, form, place, operands) for place in range(len(operands)))
    if result == "promote":
        form = _narrowed(form, target, operands)
    if natural(operands, result) != target.dtype:
        form = f"{target.dtype}({form})"
    return w.pointwise(op, form, *given, tensor=tensor)


def _narrowed(form: str, target: Tensor, operands: tuple[Operand, ...]) -> str:
    """torch brings whole numbers to a 16-bit type of the result before it computes; the language rounds afterwards."""
    if target.dtype not in ("f16", "bf16"):
        return form
    for place, item in enumerate(operands):
        if isinstance(item, Tensor) and item.dtype in ("i16", "i32", "i64"):
            form = form.replace(f"{{{place}}}", f"{target.dtype}({{{place}}})")
    return form


def natural(operands: tuple[Operand, ...], result: Kind = "promote") -> str:
    """The storage type that the language gives to an expression of these operands."""
    if result == "bool":
        return "bool"
    typed = reduce(promote, [_typed(item) for item in operands])
    if result == "float":
        typed = floating(typed)
    return _DEFAULTS[kind(typed.name)] if typed.level == WEAK else typed.name


def _typed(item: Operand) -> Typed:
    match item:
        case Tensor():
            return Typed(item.dtype, STRONG if item.rank else RANK0)
        case bool():
            return Typed("bool", WEAK)
        case Num() if any(isinstance(value, float) for value in item.values):
            return Typed("f32", WEAK)
        case float():
            return Typed("f32", WEAK)
        case _:
            return Typed("i64", WEAK)


def _shown(w: Writer, op: Op, form: str, place: int, operands: tuple[Operand, ...]) -> Operand:
    """An operand; a number as text where it needs no parentheses, or would lose its kind.

    A float that is written as an expression in whole numbers stays one beside integer tensors."""
    item = operands[place]
    if not isinstance(item, Num):
        return item
    text = w.number(item, op)
    floats = any(isinstance(other, Tensor) and other.is_float for other in operands)
    if item.constant is None and isinstance(item.values[0], float) and not floats:
        return f"(1.0 * {atom(text)})"
    stands_alone = len(re.findall(rf"(?:[(]|, )\{{{place}\}}(?=[,)])", form)) == form.count(f"{{{place}}}")
    return text if stands_alone else atom(text)


def refuse_complex(op: Op, *items: object) -> None:
    if any(isinstance(item, Tensor) and kind(item.dtype) == "complex" for item in items):
        raise op.fail("complex numbers")


def temporary(
    w: Writer, op: Op, form: str, *operands: Operand, dtype: str, hint: str, result: Kind = "promote"
) -> Tensor:
    """A tensor on the way to the result, of its shape."""
    tensor = Tensor(op.out.dims, dtype, hint=hint)
    made(w, op, form, *operands, result=result, tensor=tensor)
    return tensor


def constant(w: Writer, op: Op, value: Num | bool, dtype: str) -> str:
    """A number as text, in the kind of the storage type."""
    if isinstance(value, Num) and value.constant is None:
        whole = all(isinstance(item, int) for item in value.values)
        if kind(dtype) != "float" and not (kind(dtype) == "int" and whole):
            raise op.fail(f"a number that depends on sizes as {dtype}: {list(value.values)}")
        return w.number(value, op)
    known = value if isinstance(value, bool) else value.values[0]
    match kind(dtype):
        case "bool":
            return "true" if known else "false"
        case "int":
            return literal(int(known))
        case "float":
            return literal(float(known))
        case _:
            raise op.fail("complex numbers")


def filled(w: Writer, op: Op, value: str | None, like: tuple[Tensor, ...] = ()) -> str:
    """`tensor name[sizes] : type = value` for the result."""
    refuse_complex(op, op.out)
    sizes = w.extents_of(op, op.out.dims, like)
    name = w.result(op.out, op)
    w.line(f"tensor {name}[{', '.join(sizes)}] : {op.out.dtype}{'' if value is None else ' = ' + value}")
    w.name(op.out, name, sizes)
    return name
