"""How often ``quaver watch`` raises an alarm, with and without a change, in simulated answers.

``quiet``: nothing changes over 365 looks at 20 prompts each; prompts give another label with probabilities of
their own, and log-probabilities are noisy or always the same. ``flips``: at a look, the labels of 0.5% of all
prompts change for good, of a model without log-probabilities; found within ten looks. ``shift``: at a look,
log-probabilities move; found within three looks. Run it as ``python benchmarks/watch.py [RUNS]``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import numpy as np

from quaver.core.records import Response, Token
from quaver.watch.canary import Canary, CanaryOptions
from quaver.watch.drift import Drift
from quaver.watch.occasions import CanaryAnswer

OPTIONS = CanaryOptions()
CANARY = Canary(OPTIONS, [(f"i{at}", "original", "") for at in range(OPTIONS.prompts * OPTIONS.parts)])
SIZE = len(CANARY.pool)


class Served:
    """A model that answers prompts: with how much it wavers, and what has changed in it."""

    def __init__(self, rng: np.random.Generator, wavering: str, noise: float | None) -> None:
        self.rng, self.noise = rng, noise
        self.wavers = rng.beta(0.05, 1.0, SIZE) if wavering == "some" else np.zeros(SIZE)
        self.centre = -rng.exponential(0.5, SIZE)
        self.flipped = np.zeros(SIZE, bool)
        self.shift = np.zeros(SIZE)

    def answer(self, prompt: int, occasion: int, number: int) -> CanaryAnswer:
        """One answer."""
        other = bool(self.flipped[prompt]) != bool(self.rng.random() < self.wavers[prompt])
        label = "b" if other else "a"
        tokens: tuple[Token, ...] = ()
        if self.noise is not None:
            value = self.centre[prompt] + self.shift[prompt] + self.noise * self.rng.standard_normal()
            tokens = (Token("a", round(value, 4), (("a", round(value, 4)),)),)
        response = Response(label, tokens=tokens, prompt_tokens=80, completion_tokens=1)
        return CanaryAnswer(prompt, "m", occasion, number, label, False, response)


def alarmed(served: Served, looks: int, change: int | None, apply: Callable[[Served], None]) -> int | None:
    """The look of the first alarm; None without one."""
    drift = Drift(CANARY)
    thresholds = drift.thresholds()
    first = [served.answer(prompt, 0, n) for n in range(OPTIONS.first) for prompt in range(SIZE)]
    drift.take_in(0, first, None)
    for look in range(1, looks + 1):
        if look == change:
            apply(served)
        answers = [served.answer(prompt, look, 0) for prompt in CANARY.asked_at(look)]
        for prompt in drift.differing(answers):
            for number in range(1, OPTIONS.confirmed + 1):
                answers.append(served.answer(prompt, look, number))
                if prompt not in drift.differing(answers):
                    break
        found = drift.take_in(look, sorted(answers, key=lambda one: (one.number, one.prompt)), None)
        if any(value >= thresholds[name] for name, value in found.evidence.items()):
            return look
    return None


def nothing(served: Served) -> None:
    """No change."""


def flips(served: Served) -> None:
    """Half a percent of all prompts get another label for good."""
    served.flipped = served.rng.random(SIZE) < 0.005


def shifted(size: float) -> Callable[[Served], None]:
    """Log-probabilities move, each by its own amount."""

    def apply(served: Served) -> None:
        served.shift = size * served.rng.standard_normal(SIZE)

    return apply


def share(runs: int, looks: int, change: int | None, within: int, *how: object) -> tuple[float, float]:
    """How often there was an alarm before the change, and within some looks from it."""
    wavering, noise, apply = how
    early = late = 0
    for run in range(runs):
        served = Served(np.random.default_rng([run, looks, change or 0]), wavering, noise)  # type: ignore[arg-type]
        at = alarmed(served, looks, change, apply)  # type: ignore[arg-type]
        early += at is not None and (change is None or at < change)
        late += at is not None and change is not None and change <= at < change + within
    return early / runs, late / runs


CASES: Sequence[tuple[str, tuple[object, ...]]] = (
    ("quiet, steady", (365, None, 0, "none", 0.0, nothing)),
    ("quiet, wavering, noisy", (365, None, 0, "some", 0.05, nothing)),
    ("flips at look 1", (10, 1, 10, "none", None, flips)),
    ("flips at look 31", (40, 31, 10, "none", None, flips)),
    ("flips at look 31, wavering", (40, 31, 10, "some", None, flips)),
    ("shift of 0.05, steady, look 1", (3, 1, 3, "none", 0.0, shifted(0.05))),
    ("shift of 0.05, steady, look 101", (103, 101, 3, "none", 0.0, shifted(0.05))),
    ("shift of 5 noises, look 31", (33, 31, 3, "none", 0.02, shifted(0.1))),
)

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for name, case in CASES:
        print(name, *(f"{one:.3f}" for one in share(count, *case)), flush=True)  # type: ignore[arg-type]
