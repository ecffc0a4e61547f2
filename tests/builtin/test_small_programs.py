"""Small programs whose recordings differ between sizes in ways that the source does not show."""

from __future__ import annotations

from pathlib import Path

from solar_agent.verifier.zygote import Zygote

from .test_programs import translated, workers

__all__ = ["workers"]


def test_a_slice_that_keeps_everything_at_one_size(tmp_path: Path, workers: Zygote) -> None:
    translated(
        """
        def fn(x):
            return x[: (x.shape[0] + 1) // 2, :, None] * 2, x.new_tensor([0.5, 2.0]).sum() + x.sum(0)
        def example_inputs(): return (torch.randn(8, 30),)
        """,
        tmp_path,
        workers,
    )


def test_every_second_state_of_a_loop_is_kept(tmp_path: Path, workers: Zygote) -> None:
    text = translated(
        """
        def fn(x):
            h, kept = torch.zeros_like(x[:, 0]), []
            for t in range(x.shape[1]):
                h = torch.tanh(h + x[:, t])
                if t % 2 == 0:
                    kept.append(h)
            return torch.stack(kept, 1), h, h.shape[0] / h.shape[1]
        def example_inputs(): return (torch.randn(8, 34, 20),)
        """,
        tmp_path,
        workers,
    )
    assert text.count("scan ") == 1


def test_bags_of_equal_lengths(tmp_path: Path, workers: Zygote) -> None:
    translated(
        """
        class Model(nn.Module):
            def __init__(self, rows, width):
                super().__init__()
                self.bag = nn.EmbeddingBag(rows, width, mode="mean")
            def forward(self, ids):
                return self.bag(ids)
        def get_init_inputs(): return [60, 24]
        def get_inputs(): return [torch.randint(0, 60, (8, 13))]
        """,
        tmp_path,
        workers,
    )
