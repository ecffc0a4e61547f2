"""Matrix products against torch: ranks, broadcasting, scales, storage types."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from solar_agent.agent.builtin.model import Untranslatable

from .rulelab import check


def rand(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed + sum(shape))
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(-4, 5, shape, generator=generator).to(dtype)


def two(name: str, make: Any, **options: Any) -> str:
    """Samples of tensors made by `make(a, b, c, d, e)` at two assignments of sizes."""
    return check(name, *({**make(*sizes), **options} for sizes in ((2, 3, 4, 5, 6), (3, 5, 2, 7, 4))))


@pytest.mark.parametrize(
    "shapes",
    [
        ("c", "c"),
        ("bc", "c"),
        ("c", "cd"),
        ("bc", "cd"),
        ("abc", "cd"),
        ("abc", "acd"),
        ("abc", "c"),
        ("c", "acd"),
        ("bc", "acd"),
        ("eabc", "acd"),
        ("1abc", "e1cd"),
        ("eabc", "eacd"),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
def test_matmul(shapes: tuple[str, str], dtype: torch.dtype) -> None:
    def make(*sizes: int) -> dict[str, torch.Tensor]:
        size = {**dict(zip("abcde", sizes, strict=True)), "1": 1}
        a, b = (rand(*(size[letter] for letter in shape), dtype=dtype) for shape in shapes)
        return {"self": a, "other": b}

    two("aten.matmul.default", make)


def test_the_fixed_ranks() -> None:
    two("aten.mm.default", lambda a, b, c, d, e: {"self": rand(a, b), "mat2": rand(b, c)})
    two("aten.bmm.default", lambda a, b, c, d, e: {"self": rand(e, a, b), "mat2": rand(e, b, c)})
    two("aten.mv.default", lambda a, b, c, d, e: {"self": rand(a, b), "vec": rand(b)})
    two("aten.dot.default", lambda a, b, c, d, e: {"self": rand(a), "tensor": rand(a)})
    two("aten.outer.default", lambda a, b, c, d, e: {"self": rand(a), "vec2": rand(b)})


def test_matmul_counts_as_a_prelude_function() -> None:
    text = two("aten.mm.default", lambda a, b, c, d, e: {"self": rand(a, b), "mat2": rand(b, c)})
    assert "mm(self, mat2)" in text


@pytest.mark.parametrize("scales", [{}, {"beta": 0}, {"beta": 0.5, "alpha": 2.0}, {"alpha": 3}])
def test_with_an_addend(scales: dict[str, float]) -> None:
    two("aten.addmm.default", lambda a, b, c, d, e: {"self": rand(c), "mat1": rand(a, b), "mat2": rand(b, c)}, **scales)
    two(
        "aten.addmm.default",
        lambda a, b, c, d, e: {"self": rand(a, 1), "mat1": rand(a, b), "mat2": rand(b, c)},
        **scales,
    )
    two("aten.addmv.default", lambda a, b, c, d, e: {"self": rand(a), "mat": rand(a, b), "vec": rand(b)}, **scales)
    two("aten.addr.default", lambda a, b, c, d, e: {"self": rand(a, b), "vec1": rand(a), "vec2": rand(b)}, **scales)
    batches = {"batch1": lambda a, b, c, e: rand(e, a, b), "batch2": lambda a, b, c, e: rand(e, b, c)}
    for name, base in (("baddbmm", lambda a, c, e: rand(e, a, c)), ("addbmm", lambda a, c, e: rand(a, c))):
        two(
            f"aten.{name}.default",
            lambda a, b, c, d, e, base=base: {
                "self": base(a, c, e),
                **{key: make(a, b, c, e) for key, make in batches.items()},
            },
            **scales,
        )


def test_linear() -> None:
    two("aten.linear.default", lambda a, b, c, d, e: {"input": rand(a, b, c), "weight": rand(d, c), "bias": rand(d)})
    two("aten.linear.default", lambda a, b, c, d, e: {"input": rand(c), "weight": rand(d, c)})
    two("aten.linear.default", lambda a, b, c, d, e: {"input": rand(a, c), "weight": rand(c)})
    two("aten.linear.default", lambda a, b, c, d, e: {"input": rand(a, c).half(), "weight": rand(d, c).half()})


def test_other_products() -> None:
    two("aten.inner.default", lambda a, b, c, d, e: {"self": rand(a, b, c), "other": rand(d, c)})
    two("aten.inner.default", lambda a, b, c, d, e: {"self": rand(a, b), "other": rand()})
    two("aten.linalg_vecdot.default", lambda a, b, c, d, e: {"x": rand(a, b, c), "y": rand(b, 1)}, dim=-2)
    two(
        "aten.tensordot.default",
        lambda a, b, c, d, e: {"self": rand(a, b, c), "other": rand(c, d, a)},
        dims_self=[0, 2],
        dims_other=[-1, 0],
    )
    two(
        "aten.tensordot.default", lambda a, b, c, d, e: {"self": rand(a), "other": rand(c)}, dims_self=[], dims_other=[]
    )
    two("aten.kron.default", lambda a, b, c, d, e: {"self": rand(a, b), "other": rand(c, d)})
    two("aten.kron.default", lambda a, b, c, d, e: {"self": rand(a, 1, b), "other": rand(d, 1)})
    two("aten.trace.default", lambda a, b, c, d, e: {"self": rand(a, b)})
    two("aten.cross.default", lambda a, b, c, d, e: {"self": rand(a, 3, b), "other": rand(a, 3, b)})
    two("aten.linalg_cross.default", lambda a, b, c, d, e: {"self": rand(a, 3), "other": rand(1, 3)})
    two(
        "aten.bilinear.default",
        lambda a, b, c, d, e: {"input1": rand(a, b), "input2": rand(a, c), "weight": rand(d, b, c), "bias": rand(d)},
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7])
def test_powers(n: int) -> None:
    text = two("aten.linalg_matrix_power.default", lambda a, b, c, d, e: {"self": rand(a, b, b)}, n=n)
    assert text.count("sum(") == (0, 0, 1, 2, 2, 3, 3, 4)[n]


def test_powers_that_are_none() -> None:
    with pytest.raises(Untranslatable):
        two("aten.linalg_matrix_power.default", lambda a, b, c, d, e: {"self": rand(b, b)}, n=0)


def test_chains() -> None:
    two("aten.linalg_multi_dot.default", lambda a, b, c, d, e: {"tensors": [rand(a, b), rand(b, c), rand(c, d)]})
    two("aten.linalg_multi_dot.default", lambda a, b, c, d, e: {"tensors": [rand(a), rand(a, b), rand(b, c), rand(c)]})
    two("aten.linalg_multi_dot.default", lambda a, b, c, d, e: {"tensors": [rand(a), rand(a, b)]})
    two(
        "aten.chain_matmul.default",
        lambda a, b, c, d, e: {"matrices": [rand(a, b), rand(b, c), rand(c, d), rand(d, e)]},
    )


EQUATIONS = {
    "ij,kj->ik": ("ij", "kj"),
    "bij,bjk": ("bij", "bjk"),
    "ij": ("ij",),
    "ji": ("ji",),
    "ii->i": ("ii",),
    "ii": ("ii",),
    "ijk->kji": ("ijk",),
    "ij->": ("ij",),
    "ij->j": ("ij",),
    "i,j->ij": ("i", "j"),
    "bhwi,hki->bhwk": ("bhwi", "hki"),
    "ij,jk->k": ("ij", "jk"),
    "ij,ij->ij": ("ij", "ij"),
    "ij,ij": ("ij", "ij"),
    "iij,jk->ik": ("iij", "jk"),
    "...ij,...jk->...ik": ("abij", "bjk"),
    "...ij->...ji": ("abij",),
    "i...,i...": ("iab", "ib"),
    "i...,j...->ij": ("iab", "jb"),
    "ij,jk,kl->il": ("ij", "jk", "kl"),
    "abcd,abd,ab->acd": ("abcd", "abd", "ab"),
    "i,ij,j": ("i", "ij", "j"),
    "bcl,bclh,bch,bclp->bclhp": ("bcl", "bclh", "bch", "bclp"),
    "ij, jk -> ik": ("ij", "jk"),
}


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_einsum(equation: str, dtype: torch.dtype) -> None:
    def make(*sizes: int) -> dict[str, Any]:
        size = dict(zip("abcdhijklpw", (*sizes, *sizes, sizes[0]), strict=True))
        return {
            "equation": equation,
            "tensors": [
                rand(*(size[letter] for letter in shape), seed=k, dtype=dtype)
                for k, shape in enumerate(EQUATIONS[equation])
            ],
        }

    two("aten.einsum.default", make)


def test_einsum_broadcasts_extent_one() -> None:
    two("aten.einsum.default", lambda a, b, c, d, e: {"tensors": [rand(a, b), rand(1, c)]}, equation="ij,jk->ik")
    two("aten.einsum.default", lambda a, b, c, d, e: {"tensors": [rand(1, b), rand(a, b)]}, equation="ij,ij->i")


def test_what_only_one_operand_has_is_summed_first() -> None:
    text = two("aten.einsum.default", lambda a, b, c, d, e: {"tensors": [rand(a, b), rand(b, c)]}, equation="ij,jk->k")
    assert text.count("sum(") == 2


@pytest.mark.parametrize("path", [None, [0, 1, 0, 1], [1, 2, 0, 1], [0, 2, 0, 1]])
def test_three_operands_in_the_order_given(path: list[int] | None) -> None:
    two(
        "aten.einsum.default",
        lambda a, b, c, d, e: {"tensors": [rand(a, b), rand(b, c), rand(c, d)]},
        equation="ij,jk,kl->il",
        path=path,
    )
