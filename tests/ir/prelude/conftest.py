"""Runs a prelude call through the language and compares it with PyTorch in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from solar_agent.ir.bindings import Bindings, Constant, TensorType  # noqa: E402
from solar_agent.ir.execute import Values, execute  # noqa: E402
from solar_agent.ir.load import load  # noqa: E402
from solar_agent.ir.program import Program  # noqa: E402

_DTYPES = {torch.float32: "f32", torch.float64: "f64", torch.int64: "i64", torch.bool: "bool"}


def _shape(tensor: Any) -> str:
    return f"[{', '.join(map(str, tensor.shape))}]"


def _program(call: str, inputs: dict[str, Any], results: int) -> str:
    lines = ["program check"]
    lines += [f"input {name}{_shape(tensor)}" for name, tensor in inputs.items()]
    names = [f"out{k}" for k in range(results)]
    lines.append(f"({', '.join(names)}) = {call}" if results > 1 else f"out0 = {call}")
    return "\n".join([*lines, *(f"output {name}" for name in names), ""])


def captured(prefix: str, module: Any) -> tuple[dict[str, Any], dict[str, Constant]]:
    """State and plain attributes of a module and its submodules, as they are captured from a program."""
    state = {f"{prefix}.{key}": value for key, value in module.state_dict().items()}
    attrs: dict[str, Constant] = {"self.training": module.training}
    for name, part in module.named_modules():
        path = f"self.{prefix}" + (f".{name}" if name else "")
        for key, value in vars(part).items():
            if key == "training" or not isinstance(value, bool | int | float | str | tuple | None):
                continue
            attrs[f"{path}.{key}"] = value
            if isinstance(value, tuple):
                attrs.update({f"{path}.{key}.{i}": item for i, item in enumerate(value)})
    return state, attrs


def _type(tensor: Any) -> TensorType:
    return TensorType(tuple(tensor.shape), _DTYPES[tensor.dtype])


def program_of(call: str, inputs: dict[str, Any], results: int = 1, module: Any = None) -> Program:
    state, attrs = captured("m", module) if module is not None else ({}, {})
    bindings = Bindings(
        inputs={k: _type(v) for k, v in inputs.items()}, state={k: _type(v) for k, v in state.items()}, attrs=attrs
    )
    return load(_program(call, inputs, results), bindings)


def run(call: str, inputs: dict[str, Any], results: int = 1, module: Any = None) -> tuple[np.ndarray, ...]:
    state = captured("m", module)[0] if module is not None else {}
    values = Values(
        inputs={k: v.detach().numpy() for k, v in inputs.items()}, state={k: v.numpy() for k, v in state.items()},
        draws=(),
    )  # fmt: skip
    found = execute(program_of(call, inputs, results, module), values)
    return tuple(np.asarray(leaf) for leaf in found.outputs)


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in _leaves(part)]
    return [result]


def agree(call: str, inputs: dict[str, Any], expected: Any, module: Any = None) -> None:
    wanted = [leaf.detach().numpy() for leaf in _leaves(expected)]
    found = run(call, inputs, len(wanted), module)
    for got, want in zip(found, wanted, strict=True):
        assert got.shape == want.shape
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        scale = np.abs(want[np.isfinite(want)]).max(initial=1e-300)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12 * scale)


@pytest.fixture
def check() -> Callable[..., None]:
    """check(call, inputs, expected, module=None): `call` reads its tensors by their names in `inputs`."""
    torch.manual_seed(7)
    return agree


@pytest.fixture
def elaborated() -> Callable[..., Program]:
    """elaborated(call, inputs, results=1, module=None): the elaborated program that `check` would run."""
    return program_of


@pytest.fixture(autouse=True)
def _double_precision() -> Any:
    torch.manual_seed(7)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)
