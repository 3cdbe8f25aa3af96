"""How often ``quaver watch`` raises an alarm, with and without a change, in simulated answers.

``quiet``: nothing changes over 365 looks at 20 prompts each. ``flips``: at some look, the labels of 0.5% of
the prompts change for good, of a model without log-probabilities; found within ten looks. ``one of 200``:
exactly one prompt's label changes. ``shift``: log-probabilities move; found within three looks. Models
answer every prompt as before (steady), or waver (each prompt by its own probability, 5% on average).

Many histories are watched side by side, with the e-processes and limits that ``quaver watch`` has. Run it as
``python benchmarks/watch.py [HISTORIES]``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quaver.sequential.drift_evidence import LastingChange, Records
from quaver.watch.drift import SHARES
from quaver.watch.occasions import Canary, CanaryOptions

OPTIONS = CanaryOptions()
CANARY = Canary(OPTIONS, [(f"i{at}", "original", "") for at in range(OPTIONS.prompts * OPTIONS.parts)])
SIZE = len(CANARY.pool)
LIMITS = {name: 1 / (OPTIONS.error * share) for name, share in SHARES.items()}

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """What is simulated.

    Attributes:
        looks: How many looks are taken.
        change: The look at which something changes; None for nothing.
        within: Looks within which it should be found.
        wavers: Whether prompts waver.
        noise: Of log-probabilities; None if the model gives none.
        flips: How many labels change: a share at random, or just one.
        shift: How far log-probabilities move: the standard deviation over prompts.
    """

    looks: int
    change: int | None = None
    within: int = 0
    wavers: bool = False
    noise: float | None = None
    flips: float | Literal["one"] = 0.0
    shift: float = 0.0


class Histories:
    """Watches of one kind, side by side; rows are histories, columns prompts."""

    def __init__(self, case: Case, histories: int, seed: int) -> None:
        self.case, self.rng = case, np.random.default_rng([seed, case.looks, case.change or 0])
        shape = self.shape = (histories, SIZE)
        self.often = self.rng.beta(0.05, 1.0, shape) if case.wavers else np.zeros(shape)
        self.centre = -self.rng.exponential(0.5, shape)
        self.flipped, self.shift = np.zeros(shape, bool), np.zeros(shape)
        self.reference = self._other(range(SIZE))
        self.change = LastingChange(histories * SIZE)
        self.records = {
            name: Records(SIZE, two_sided=name != "answers", histories=(histories,))
            for name in ("answers", "lengths", "prices")
        }
        if case.noise is not None:
            self.records["log-probabilities"] = Records(SIZE, histories=(histories,))
        self.asked_again = 0

    def _other(self, prompts: Sequence[int]) -> Bools:
        """Whether answers are other ones than the model means to give by itself."""
        at = list(prompts)
        return self.flipped[:, at] ^ (self.rng.random((self.shape[0], len(at))) < self.often[:, at])

    def _values(self, prompts: Sequence[int], differ: Bools) -> dict[str, Floats]:
        at = list(prompts)
        lengths = self.rng.poisson(6.0 - 2 * self.centre[:, at]).astype(float)
        found = {"answers": differ.astype(float), "lengths": lengths, "prices": 80 + 4 * lengths}
        if self.case.noise is not None:
            noise = self.case.noise * self.rng.standard_normal(lengths.shape)
            found["log-probabilities"] = np.round(self.centre[:, at] + self.shift[:, at] + noise, 4)
        return found

    def first(self) -> None:
        """The first occasion."""
        everything = range(SIZE)
        differing = np.zeros(self.shape, int)
        for number in range(OPTIONS.first):
            differ = self._other(everything) ^ self.reference if number else np.zeros(self.shape, bool)
            differing += differ
            for name, values in self._values(everything, differ).items():
                self.records[name].learn(everything, values)
        self.change.learn(
            range(differing.size), differing.ravel(), np.full(differing.size, OPTIONS.first - 1)
        )

    def look(self, number: int) -> Bools:
        """Take a look at each history; whether it raises the alarm."""
        prompts = CANARY.asked_at(number)
        differ = self._other(prompts) ^ self.reference[:, prompts]
        flat = np.arange(self.shape[0])[:, None] * SIZE + prompts
        self.change.answer(flat.ravel().tolist(), differ.ravel())
        alarm = np.zeros(self.shape[0], bool)
        for name, values in self._values(prompts, differ).items():
            alarm |= self.records[name].look(prompts, values) >= LIMITS[name]  # type: ignore[index]
        self._confirm(flat, differ, alarm)
        own = self.change.of(range(self.shape[0] * SIZE)).reshape(self.shape)
        return np.asarray(alarm | (own.max(1) / SIZE >= LIMITS["labels"]))

    def _confirm(self, flat: NDArray[np.int_], unclear: Bools, alarm: Bools) -> None:
        """Ask prompts with another answer again, the steadiest first, until it is clear."""
        left = np.full(self.shape[0], OPTIONS.confirmed)
        unclear = unclear & ~alarm[:, None]
        wavered = self.change.wavered
        while (rows := np.flatnonzero(unclear.any(1) & (left > 0))).size:
            cost = np.where(unclear[rows], wavered[flat[rows]], 1 << 30)
            columns = cost.argmin(1)
            at = flat[rows, columns]
            history, prompt = at // SIZE, at % SIZE
            other = self.flipped[history, prompt] ^ (self.rng.random(len(at)) < self.often[history, prompt])
            differ = other ^ self.reference[history, prompt]
            self.change.answer(at.tolist(), differ)
            clear = self.change.of(at.tolist()) / SIZE >= LIMITS["labels"]
            left[rows] -= 1
            self.asked_again += len(rows)
            unclear[rows, columns] &= differ
            unclear[rows[clear]] = False

    def happens(self) -> None:
        """The change."""
        if self.case.flips == "one":
            self.flipped[np.arange(self.shape[0]), self.rng.integers(SIZE, size=self.shape[0])] = True
        else:
            self.flipped = self.rng.random(self.shape) < self.case.flips
        self.shift = self.case.shift * self.rng.standard_normal(self.shape)


def share(case: Case, histories: int, seed: int = 0) -> tuple[float, float, float]:
    """How often the alarm came before the change, how often soon after it; what was asked again a look."""
    watched = Histories(case, histories, seed)
    watched.first()
    at = np.full(histories, np.inf)
    for look in range(1, case.looks + 1):
        if look == case.change:
            watched.happens()
        at = np.where(watched.look(look) & np.isinf(at), look, at)
    asked = watched.asked_again / histories / case.looks
    if case.change is None:
        return float(np.isfinite(at).mean()), 0.0, asked
    found = (at >= case.change) & (at < case.change + case.within)
    return float((at < case.change).mean()), float(found.mean()), asked


CASES = {
    "quiet, steady": Case(365, noise=0.0),
    "quiet, wavering, log-probabilities with noise": Case(365, wavers=True, noise=0.05),
    "quiet, wavering, no log-probabilities": Case(365, wavers=True),
    "flips of 0.5% at look 1": Case(10, 1, 10, flips=0.005),
    "flips of 0.5% at look 31": Case(40, 31, 10, flips=0.005),
    "flips of 0.5% at look 31, wavering": Case(40, 31, 10, wavers=True, flips=0.005),
    "one of 200 flips at look 1": Case(10, 1, 10, flips="one"),
    "one of 200 flips at look 31": Case(40, 31, 10, flips="one"),
    "one of 200 flips at look 1, wavering": Case(10, 1, 10, wavers=True, flips="one"),
    "one of 200 flips at look 31, wavering": Case(40, 31, 10, wavers=True, flips="one"),
    "one of 200 flips at look 301, wavering": Case(310, 301, 10, wavers=True, flips="one"),
    "shift of 0.05 at look 1, steady": Case(3, 1, 3, noise=0.0, shift=0.05),
    "shift of 0.05 at look 101, steady": Case(103, 101, 3, noise=0.0, shift=0.05),
    "shift of 5 times the noise at look 31": Case(33, 31, 3, noise=0.02, shift=0.1),
    "shift of 2 times the noise at look 31": Case(33, 31, 3, noise=0.02, shift=0.04),
}

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    for name, case in CASES.items():
        if only in name:
            early, found, asked = share(case, count)
            print(f"{name}: {early:.3f} early, {found:.3f} found, {asked:.1f} asked again a look", flush=True)
