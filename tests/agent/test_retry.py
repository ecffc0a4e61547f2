from __future__ import annotations

import random
from collections.abc import Callable
from email.utils import formatdate

import pytest
from solar_agent.agent.retry import Clock, Policy, ProviderError, Retry, Transient, retry_after_s
from solar_agent.agent.state import Progress

NOW = 1_900_000_000.0


class Time:
    """A clock that only moves when somebody sleeps."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: NOW + sum(self.slept), monotonic=lambda: sum(self.slept), sleep=self.slept.append)


def failing(*faults: Transient) -> Callable[[], str]:
    left = list(faults)

    def send() -> str:
        if left:
            raise left.pop(0)
        return "answer"

    return send


def test_hints_are_honoured_and_the_wait_is_shown() -> None:
    time, shown = Time(), list[Progress]()
    retry = Retry(clock=time.clock, jitter=random.Random(1), progress=shown.append)
    faults = (Transient("rate limit (429)", 3.0), Transient("overloaded (529)"))
    assert retry.call(failing(*faults), "anthropic") == "answer"
    hinted, backed_off = time.slept
    assert 3.0 <= hinted <= 3.25
    assert 1.0 <= backed_off <= 2.0  # second try: 2 s, of which half is random
    assert [line.wait_s for line in shown] == time.slept
    assert "rate limit (429); asking again in 3" in shown[0].message


def test_an_absurd_hint_ends_the_run_at_once() -> None:
    time = Time()
    with pytest.raises(ProviderError, match="retry after 24 h") as caught:
        Retry(clock=time.clock).call(failing(Transient("rate limit (429)", 86_400.0)), "anthropic")
    assert time.slept == []
    assert caught.value.retry_after_s == 86_400


def test_the_number_of_tries_is_limited() -> None:
    time = Time()
    with pytest.raises(ProviderError, match="server fault .500., after 3 requests"):
        Retry(Policy(tries=3), time.clock).call(failing(*[Transient("server fault (500)")] * 9), "openai")
    assert len(time.slept) == 2


def test_a_fault_can_allow_fewer_tries() -> None:
    time = Time()
    with pytest.raises(ProviderError, match="broken JSON, after 2 requests"):
        Retry(clock=time.clock).call(failing(*[Transient("broken JSON", tries=2)] * 9), "openai")


def test_no_wait_passes_the_deadline() -> None:
    time = Time()
    with pytest.raises(ProviderError, match="would pass the limit of 100 s"):
        Retry(clock=time.clock).call(failing(*[Transient("rate limit (429)", 60.0)] * 9), "openai", deadline_s=100.0)
    assert len(time.slept) == 1


def test_waits_grow_and_stay_below_the_longest() -> None:
    time = Time()
    Retry(Policy(tries=9, longest_wait_s=8.0), time.clock).call(failing(*[Transient("busy")] * 6), "openai")
    assert all(wait <= 8.0 for wait in time.slept)
    assert [wait >= bound for wait, bound in zip(time.slept, (0.5, 1, 2, 4, 4, 4), strict=True)] == [True] * 6


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": formatdate(NOW + 4, usegmt=True)}, 4.0),
        ({"retry-after": formatdate(NOW - 9, usegmt=True)}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOW) == seconds
