"""Values on the meta device that no input and no weight has a say in."""

import pytest
import torch
from solar_agent.verifier.worker.known import Known
from solar_agent.verifier.worker.modes import Placed

PROGRAM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        mask = torch.ones(x.shape[:2], device=x.device)
        last = torch.arange(x.shape[1]).max().item()
        if mask.all() and mask.sum() == mask.numel() and last == x.shape[1] - 1:
            return x.sum(dim=1)
        return x


def get_inputs():
    return [torch.rand(300, 40, 8)]
"""


def test_constants_are_known():
    with Placed("meta"), Known():
        mask = torch.ones(3, 4)[:, None] * 2
        assert mask.is_meta and bool((mask == 2).all()) and mask.sum().item() == 24
        assert torch.arange(2, 9).max().item() == 8 and 5 in torch.arange(6)
        assert torch.zeros_like(mask).sum().item() == 0 and mask.new_full((2,), 3).tolist() == [3, 3]
        assert torch.cat([torch.zeros(2), torch.ones(3)]).sum().item() == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda mask, x: mask.add_(x),
        lambda mask, x: mask.__iadd__(x),
        lambda mask, x: mask.__setitem__(0, x),
        lambda mask, x: mask[1:].fill_(0),
        lambda mask, x: torch.add(x, x, out=mask),
    ],
)
def test_what_is_written_to_is_known_no_longer(change):
    with Placed("meta"), Known():
        mask, x = torch.ones(3), torch.empty(3)
        view = mask[:2]
        change(mask, x[0] if change.__code__.co_names == ("__setitem__",) else x)
        for tensor in (mask, view):
            with pytest.raises(RuntimeError, match="meta"):
                tensor.sum().item()


def test_what_is_made_from_something_that_was_written_to_is_known_no_longer():
    with Placed("meta"), Known():
        first = torch.full((2,), 3.0)
        second = first + 1
        first.add_(1)
        with pytest.raises(RuntimeError, match="meta"):
            second.sum().item()


def test_a_list_that_changes_after_its_tensor_was_made_does_not_change_that():
    with Placed("meta"), Known():
        sizes = [2, 3]
        made = torch.zeros(3).new_ones(sizes)
        sizes[0] = 5
        assert made.sum().item() == 6


def test_inputs_and_draws_are_not_known():
    x = torch.rand(3, device="meta")
    with Placed("meta"), Known():
        for tensor in (x, x * 0, torch.ones(3) * x, torch.rand(3), torch.empty(3), torch.ones(3).bernoulli(0.5)):
            with pytest.raises(RuntimeError, match="meta"):
                bool(tensor.all())


def test_a_program_may_look_at_its_own_mask(program, tmp_path):
    file = tmp_path / "masked.py"
    file.write_text(PROGRAM)
    session = program(file)
    done, _ = session.describe()
    assert [leaf.shape for leaf in done.leaves] == [(300, 8)] and done.warnings == ()
    assert len(session.assignments()) == 3
