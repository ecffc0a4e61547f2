"""Arithmetic and functions of real numbers, element by element."""

from __future__ import annotations

from ..model import Num, Op, Tensor
from ..writer import Writer
from .pointwise import Kind, filled, made, operand, refuse_complex, temporary
from .registry import rule

# -- functions of one argument ----------------------------------------------------------------------------------------

_FLOAT_FORMS = {
    "sqrt": "sqrt({0})", "rsqrt": "rsqrt({0})", "exp": "exp({0})", "expm1": "expm1({0})", "log": "log({0})",
    "log1p": "log1p({0})", "tanh": "tanh({0})", "sigmoid": "sigmoid({0})", "erf": "erf({0})", "sin": "sin({0})",
    "cos": "cos({0})", "reciprocal": "1 / {0}", "exp2": "2.0 ** {0}", "erfc": "1 - erf({0})",
    "tan": "sin({0}) / cos({0})", "sinh": "0.5 * (expm1({0}) - expm1(-{0}))", "cosh": "0.5 * (exp({0}) + exp(-{0}))",
    "log2": "log({0}) * 1.4426950408889634", "log10": "log({0}) * 0.4342944819032518",
    "asinh": "sign({0}) * log1p(abs({0}) + {0}**2 / (1 + sqrt(1 + {0}**2)))",
    "acosh": "log({0} + sqrt(({0} - 1) * ({0} + 1)))", "atanh": "0.5 * (log1p({0}) - log1p(-{0}))",
    "atan": "atan2({0}, 1)", "asin": "atan2({0}, sqrt((1 - {0}) * (1 + {0})))",
    "acos": "atan2(sqrt((1 - {0}) * (1 + {0})), {0})", "deg2rad": "{0} * 0.017453292519943295",
    "rad2deg": "{0} * 57.29577951308232",
    "sinc": "select({0} == 0, 1.0, sin(pi * {0}) / (pi * {0}))",
    "special_entr": "select({0} == 0, 0.0, -{0} * log({0}))",
    "special_ndtr": "0.5 * (1 + erf({0} * 0.7071067811865476))",
}  # fmt: skip
_SAME_FORMS = {"neg": "-{0}", "abs": "abs({0})", "square": "{0}**2"}
_ALIASES = {
    "negative": "neg", "absolute": "abs", "special_expit": "sigmoid", "special_erf": "erf", "special_erfc": "erfc",
    "special_expm1": "expm1", "special_exp2": "exp2", "special_log1p": "log1p", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "arctan": "atan", "arcsin": "asin", "arccos": "acos",
    "special_sinc": "sinc",
}  # fmt: skip


def _one(name: str, form: str, result: Kind) -> None:
    @rule(f"aten.{name}")
    def write(w: Writer, op: Op) -> None:
        made(w, op, form, op.tensor("self"), result=result)


for _name, _form in _FLOAT_FORMS.items():
    _one(_name, _form, "float")
for _name, _form in _SAME_FORMS.items():
    _one(_name, _form, "promote")
for _name, _other in _ALIASES.items():
    if _other in _SAME_FORMS:
        _one(_name, _SAME_FORMS[_other], "promote")
    else:
        _one(_name, _FLOAT_FORMS[_other], "float")


@rule("aten.sign", "aten.sgn")
def sign(w: Writer, op: Op) -> None:
    given = op.tensor("self")
    made(w, op, "{0}" if given.is_bool else "sign({0})", given)


def _rounding(name: str, form: str) -> None:
    @rule(f"aten.{name}")
    def write(w: Writer, op: Op) -> None:
        given = op.tensor("self")
        made(w, op, form if given.is_float else "{0}", given)


TRUNC = "select({0} < 0, ceil({0}), floor({0}))"
for _name, _form in {"floor": "floor({0})", "ceil": "ceil({0})", "trunc": TRUNC, "fix": TRUNC}.items():
    _rounding(_name, _form)


@rule("aten.frac")
def frac(w: Writer, op: Op) -> None:
    made(w, op, f"{{0}} - {TRUNC}", op.tensor("self"))


@rule("aten.round", "aten.special_round")
def rounded(w: Writer, op: Op) -> None:
    given = op.tensor("self")
    decimals = op.fixed("decimals") if "decimals" in op.args else 0
    if not given.is_float:
        if decimals:
            raise op.fail("rounding whole numbers to decimals")
        made(w, op, "{0}", given)
    elif decimals > 0:
        made(w, op, "round({0} * {1}) / {1}", given, 10.0**decimals)
    elif decimals < 0:
        made(w, op, "round({0} / {1}) * {1}", given, 10.0**-decimals)
    else:
        made(w, op, "round({0})", given)


@rule("aten.logit", "aten.special_logit")
def logit(w: Writer, op: Op) -> None:
    given = op.tensor("self")
    if op.args.get("eps") is None:
        made(w, op, "log({0} / (1 - {0}))", given, result="float")
        return
    kept = temporary(w, op, "min(max({0}, {1}), 1 - {1})", given, op.num("eps"), dtype=op.out.dtype, hint="kept")
    made(w, op, "log({0} / (1 - {0}))", kept)


@rule("aten.nan_to_num")
def nan_to_num(w: Writer, op: Op) -> None:
    given = op.tensor("self")
    if not given.is_float:
        made(w, op, "{0}", given)
        return
    nan = 0.0 if op.args.get("nan") is None else op.num("nan")
    top = _LARGEST.get(given.dtype) if op.args.get("posinf") is None else op.num("posinf")
    low = _LARGEST.get(given.dtype) if op.args.get("neginf") is None else op.num("neginf")
    if top is None or low is None:
        raise op.fail(f"the largest number of {given.dtype}")
    if isinstance(low, float):
        low = -low
    made(w, op, "select({0} != {0}, {1}, select({0} == inf, {2}, select({0} == -inf, {3}, {0})))", given, nan, top, low)


_LARGEST = {
    "f64": 1.7976931348623157e308, "f32": 3.4028234663852886e38, "bf16": 3.3895313892515355e38, "f16": 65504.0,
}  # fmt: skip

# -- of two -----------------------------------------------------------------------------------------------------------


def _scaled(op: Op) -> Num | None:
    """alpha, unless it is one."""
    alpha = op.args.get("alpha")
    if alpha is None or alpha is True or (isinstance(alpha, Num) and alpha.is_one):
        return None
    return Num((0,)) if alpha is False else op.num("alpha")


@rule("aten.add")
def add(w: Writer, op: Op) -> None:
    _sum(w, op, "{0} + {1}", "{0} + {2} * {1}")


@rule("aten.sub", "aten.subtract")
def sub(w: Writer, op: Op) -> None:
    _sum(w, op, "{0} - {1}", "{0} - {2} * {1}")


@rule("aten.rsub")
def rsub(w: Writer, op: Op) -> None:
    _sum(w, op, "{1} - {0}", "{1} - {2} * {0}")


def _sum(w: Writer, op: Op, plain: str, scaled: str) -> None:
    left, right, alpha = operand(op, "self"), operand(op, "other"), _scaled(op)
    if alpha is None:
        made(w, op, plain, left, right)
    else:
        made(w, op, scaled, left, right, alpha)


def _two(names: tuple[str, ...], form: str, result: Kind = "promote") -> None:
    @rule(*(f"aten.{name}" for name in names))
    def write(w: Writer, op: Op) -> None:
        made(w, op, form, operand(op, "self"), operand(op, "other"), result=result)


_LOG_ADD = "select({0} == {1}, {0} + 0.6931471805599453, max({0}, {1}) + log1p(exp(-abs({0} - {1}))))"
_LOG_ADD_2 = "select({0} == {1}, {0} + 1.0, max({0}, {1}) + log1p(2.0 ** -abs({0} - {1})) * 1.4426950408889634)"
_two(("mul", "multiply"), "{0} * {1}")
_two(("minimum",), "min({0}, {1})")
_two(("maximum",), "max({0}, {1})")
_two(("atan2", "arctan2"), "atan2({0}, {1})", "float")
_two(("hypot",), "sqrt({0}**2 + {1}**2)", "float")
_two(("logaddexp",), _LOG_ADD, "float")
_two(("logaddexp2",), _LOG_ADD_2, "float")
_two(("xlogy", "special_xlogy"), "select({0} == 0 and {1} == {1}, 0.0, {0} * log({1}))", "float")
_two(("special_xlog1py",), "select({0} == 0 and {1} == {1}, 0.0, {0} * log1p({1}))", "float")
_two(("copysign",), "select({1} < 0, -abs({0}), abs({0}))", "float")
_two(("ldexp",), "{0} * 2.0 ** {1}", "float")


def _ignoring_nan(name: str, form: str) -> None:
    @rule(f"aten.{name}")
    def write(w: Writer, op: Op) -> None:
        left, right = operand(op, "self"), operand(op, "other")
        floats = any(isinstance(item, Tensor) and item.is_float for item in (left, right))
        whole = f"select({{0}} != {{0}}, {{1}}, select({{1}} != {{1}}, {{0}}, {form}))"
        made(w, op, whole if floats else form, left, right)


_ignoring_nan("fmax", "max({0}, {1})")
_ignoring_nan("fmin", "min({0}, {1})")


@rule("aten.angle")
def angle(w: Writer, op: Op) -> None:
    made(w, op, "select({0} != {0}, {0}, select({0} < 0, pi, 0.0))", op.tensor("self"), result="float")


@rule("aten.heaviside")
def heaviside(w: Writer, op: Op) -> None:
    made(w, op, "select({0} == 0, {1}, {0} > 0)", op.tensor("self"), operand(op, "values"))


@rule("aten.pow")
def power(w: Writer, op: Op) -> None:
    base, exponent = operand(op, "self"), operand(op, "exponent")
    value = exponent.constant if isinstance(exponent, Num) else None
    if isinstance(base, Tensor) and base.is_float and value == 0:
        filled(w, op, "1.0", (base,))
    elif isinstance(base, Tensor) and base.is_float and value in _POWERS:
        made(w, op, _POWERS[value], base)
    else:
        made(w, op, "{0} ** {1}", base, exponent)


_POWERS: dict[int | float | None, str] = {
    1: "{0}", 2: "{0}**2", 3: "{0}**3", 4: "{0}**4", -1: "1 / {0}", 0.5: "sqrt({0})", -0.5: "rsqrt({0})",
}  # fmt: skip


@rule("aten.float_power")
def float_power(w: Writer, op: Op) -> None:
    base, exponent = operand(op, "self"), operand(op, "exponent")
    refuse_complex(op, base, exponent, op.out)
    if op.out.dtype != "f64":
        raise op.fail(f"of type {op.out.dtype}")
    w.pointwise(op, "f64({0}) ** {1}", base, exponent)


# -- of three ---------------------------------------------------------------------------------------------------------


@rule("aten.lerp")
def lerp(w: Writer, op: Op) -> None:
    made(w, op, "{0} + {2} * ({1} - {0})", op.tensor("self"), op.tensor("end"), operand(op, "weight"))


@rule("aten.addcmul")
def addcmul(w: Writer, op: Op) -> None:
    _scaled_third(w, op, "{1} * {2}")


@rule("aten.addcdiv")
def addcdiv(w: Writer, op: Op) -> None:
    _scaled_third(w, op, "{1} / {2}")


def _scaled_third(w: Writer, op: Op, form: str) -> None:
    tensors = (op.tensor("self"), op.tensor("tensor1"), op.tensor("tensor2"))
    value = operand(op, "value")
    if isinstance(value, Num) and value.is_one:
        made(w, op, f"{{0}} + {form}", *tensors)
    else:
        made(w, op, f"{{0}} + {{3}} * {form}", *tensors, value)
