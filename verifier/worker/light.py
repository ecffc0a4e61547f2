"""Keep the worker's start short: torch's meta kernels import sympy and the compiler (0.7 s, 2 s) to ask questions
about symbolic sizes and to mark functions as not compiled.

All sizes here are numbers and nothing is compiled, so the questions have plain answers. Asked for anything else, a
stand-in loads the real module and steps aside."""

from __future__ import annotations

import functools
import importlib
import operator
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def _plain(value: Any, *_: object, **__: object) -> Any:  # noqa: ANN401
    return value


def _no(value: Any, *_: object, **__: object) -> bool:  # noqa: ANN401
    return False


def _yes(value: Any, *_: object, **__: object) -> bool:  # noqa: ANN401
    return True


def _nothing(*_: object, **__: object) -> None:
    return None


def _all(*values: Any) -> Any:  # noqa: ANN401
    return functools.reduce(operator.and_, values)


def _any(*values: Any) -> Any:  # noqa: ANN401
    return functools.reduce(operator.or_, values)


def _not_compiled(function: Any = None, *_: object, **__: object) -> Any:  # noqa: ANN401
    return _plain if function is None else function


class _NeverSymbolic:
    """No value here is an instance of it."""


def _getitem_mode() -> Any:  # noqa: ANN401
    """transformers imports it for masks; few of them need one."""
    return _real("torch._dynamo._trace_wrapped_higher_order_op").TransformGetItemToIndex()


_STAND_INS: dict[str, dict[str, Any]] = {
    "torch.fx.experimental.symbolic_shapes": {
        "expect_true": _plain,
        "guard_or_true": _plain,
        "guard_or_false": _plain,
        "guard_size_oblivious": _plain,
        "guarding_hint_or_throw": _plain,
        "statically_known_true": _plain,
        "guard_int": _plain,
        "has_guarding_hint": _yes,
        "is_nested_int": _no,
        "sym_and": _all,
        "sym_or": _any,
        "sym_eq": operator.eq,
        "_advise_is_size": _nothing,
        "_advise_is_bounded": _nothing,
    },
    "torch._dynamo": {"disable": _not_compiled, "allow_in_graph": _plain, "assume_constant_result": _plain},
    "torch._dynamo._trace_wrapped_higher_order_op": {"TransformGetItemToIndex": _getitem_mode},
    "sympy": {"Basic": _NeverSymbolic},
}
_PACKAGES = ("torch._dynamo", "sympy")


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_real(self.__name__), name)


def _real(name: str) -> ModuleType:
    """Take all stand-ins away and import the module itself."""
    for stand_in in _STAND_INS:
        if isinstance(sys.modules.get(stand_in), _StandIn):
            del sys.modules[stand_in]
    return importlib.import_module(name)


class _Inside(MetaPathFinder, Loader):
    """Imports below a stand-in (`import sympy.core`) get the real package first.

    That may load the wanted module as well; the import system would then run it again unless its spec is hidden."""

    def __init__(self) -> None:
        self._hidden: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package = next((name for name in _PACKAGES if fullname.startswith(f"{name}.")), None)
        if package is None or not isinstance(sys.modules.get(package), _StandIn):
            return None
        _real(package)
        module = importlib.import_module(fullname)
        self._hidden[fullname] = module.__spec__
        module.__spec__ = None
        return ModuleSpec(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It has run already."""
        module.__spec__ = self._hidden.pop(module.__name__)


def suits(text: str) -> bool:
    """Whether a file may run with the stand-ins: it does not use itself what they stand for."""
    return "_dynamo" not in text and "sympy" not in text


def install() -> None:
    """Put the stand-ins where torch looks, except where the real module is there already."""
    for name, answers in _STAND_INS.items():
        if name not in sys.modules:
            module = _StandIn(name)
            vars(module).update(answers)
            sys.modules[name] = module
            if name in _PACKAGES:
                vars(module)["__path__"] = []
    sys.meta_path.insert(0, _Inside())
