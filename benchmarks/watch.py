"""How often ``quaver watch`` raises an alarm, with and without a change, in simulated answers.

What a look does to all of its answers at once is drawn first (a shift, a scale of the noise, the replica that
serves it), then the answers, from this list of conditions alone; `quaver.watch.drift.Drift` judges them. The
rows whose names begin with ``quiet`` change nothing; those with ``breaks`` break what the watch takes for
granted; the others change something, and say how soon it is found. Models answer every prompt as before
(steady), or waver (each prompt by its own probability, 5% on average).

Run it as ``python benchmarks/watch.py [HISTORIES [WORDS [SEED [LOOKS]]]]``, with words in the names of rows
to take, and how many looks a quiet row has (365: one a day for a year).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from quaver.core.calls import Response, Token
from quaver.watch.drift import SHARES, Drift, reached
from quaver.watch.drift_evidence import Moved
from quaver.watch.occasions import Canary, CanaryAnswer, CanaryOptions

OPTIONS = CanaryOptions()
CANARY = Canary(OPTIONS, [(f"i{at}", "original", "") for at in range(OPTIONS.prompts * OPTIONS.parts)])
SIZE = len(CANARY.pool)
NAMES = ("no", "yes")

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rng = np.random.Generator


def _never(look: int, rng: Rng) -> float:
    return 0.0


def _one(look: int, rng: Rng) -> float:
    return 1.0


@dataclass(frozen=True)
class Case:
    """What is simulated.

    Attributes:
        looks: How many looks are taken.
        change: The look at which something changes; None for nothing.
        wavers: Whether prompts waver.
        noise: Of log-probabilities; None if the model gives none.
        uneven: Whether each prompt has its own noise (log-normal, sd 1).
        shift: What a look adds to all of its log-probabilities, in units of the noise; look 0 is the first.
        own_units: Whether it adds it in units of each prompt's own noise.
        scale: What a look multiplies its noise by.
        repeated: How often a look asks each of its prompts.
        replica: How often the second of two replicas serves a look.
        stays: How likely the replica of the look before is to serve the next, whatever it would be else.
        mixed: Whether either replica serves each call of the first occasion; else the first serves all.
        labels_differ: The share of prompts that the replicas label differently.
        values_differ: How far their log-probabilities are apart, a prompt, in units of the noise.
        flips: How many labels change: a share at random; -1 for just one.
        moves: How far log-probabilities move: the standard deviation over prompts.
    """

    looks: int
    change: int | None = None
    wavers: bool = False
    noise: float | None = None
    uneven: bool = False
    shift: Callable[[int, Rng], float] = _never
    own_units: bool = False
    scale: Callable[[int, Rng], float] = _one
    repeated: int = 1
    replica: float = 0.0
    stays: float = 0.0
    mixed: bool = True
    labels_differ: float = 0.0
    values_differ: float = 0.0
    flips: float = 0.0
    moves: float = 0.0


class History:
    """One watch."""

    def __init__(self, case: Case, rng: Rng) -> None:
        self.case, self.rng = case, rng
        self.often = rng.beta(0.05, 1.0, SIZE) if case.wavers else np.zeros(SIZE)
        self.centre = -rng.exponential(0.5, SIZE)
        self.noise = (case.noise or 0.0) * (rng.lognormal(0.0, 1.0, SIZE) if case.uneven else np.ones(SIZE))
        self.label = rng.random(SIZE) < 0.5
        self.other_label = rng.random(SIZE) < case.labels_differ
        self.other_value = case.values_differ * self.noise * rng.standard_normal(SIZE)
        self.length = 5 + rng.poisson(6.0, SIZE)
        self.serves = False

    def happens(self) -> None:
        """The change."""
        if self.case.flips < 0:
            self.label[self.rng.integers(SIZE)] ^= True
        else:
            self.label ^= self.rng.random(SIZE) < self.case.flips
        self.centre = self.centre + self.case.moves * self.rng.standard_normal(SIZE)

    def drawn(self, number: int, prompts: list[int], times: int = 1) -> tuple[Bools, Floats]:
        """The labels and log-probabilities of a look, a row for each time."""
        case, rng = self.case, self.rng
        shift, scale = case.shift(number, rng), case.scale(number, rng)
        if rng.random() >= case.stays:
            self.serves = rng.random() < case.replica
        second = np.full((times, len(prompts)), self.serves)
        if number == 0:
            second = (rng.random(second.shape) < case.replica) & case.mixed
        label = self.label[prompts] ^ (rng.random(second.shape) < self.often[prompts])
        label = label ^ (second & self.other_label[prompts])
        unit = self.noise[prompts] if case.own_units else case.noise or 0.0
        values = self.centre[prompts] + shift * unit + second * self.other_value[prompts]
        values = values + scale * self.noise[prompts] * rng.standard_normal(second.shape)
        return label, np.round(values, 4)

    def look(self, number: int, prompts: list[int], times: int = 1) -> list[CanaryAnswer]:
        """The answers of a look."""
        label, values = self.drawn(number, prompts, times)
        has_values = self.case.noise is not None
        written = np.ones_like(label, int) if has_values else self.length[prompts] + 2 * label
        return [
            self._answer(prompt, number, time, label[time, at], values[time, at], int(written[time, at]))
            for time in range(times)
            for at, prompt in enumerate(prompts)
        ]

    def _answer(
        self, prompt: int, look: int, time: int, label: np.bool_, value: float, length: int
    ) -> CanaryAnswer:
        said, likely = NAMES[int(label)], float(value)
        first = Token(said, likely, tuple((name, likely) for name in NAMES))
        tokens = () if self.case.noise is None else (first,)
        response = Response(said, tokens=tokens, prompt_tokens=40, completion_tokens=length)
        return CanaryAnswer(prompt, "m", look, time, said, False, response)


def first_alarm(case: Case, rng: Rng) -> tuple[float, float]:
    """The look of a history's first alarm, infinity for none; what it asked a look, on average."""
    if case.noise is not None and not (case.wavers or case.flips or case.labels_differ):
        return _of_values(case, rng), OPTIONS.prompts
    history, drift = History(case, rng), Drift(CANARY)
    everything = list(range(SIZE))
    drift.take_in(0, history.look(0, everything, OPTIONS.first))
    limits = drift.thresholds()
    asked = 0
    for number in range(1, case.looks + 1):
        if number == case.change:
            history.happens()
        part = CANARY.asked_at(number)
        suspects = [one for one in drift.suspects() if one not in part][: OPTIONS.confirmed]
        asked += len(part) + len(suspects)
        if reached(drift.take_in(number, history.look(number, [*part, *suspects], case.repeated)), limits):
            return number, asked / number
    return np.inf, asked / case.looks


def _of_values(case: Case, rng: Rng) -> float:
    """The same where log-probabilities alone vary: what else a watch looks at gives no evidence then."""
    history = History(case, rng)
    moved = Moved(history.drawn(0, list(range(SIZE)), OPTIONS.first)[1], CANARY.parts)
    limit = 1 / (OPTIONS.error * SHARES[True]["log-probabilities"])
    for number in range(1, case.looks + 1):
        if number == case.change:
            history.happens()
        part = CANARY.asked_at(number)
        if moved.look(part, history.drawn(number, part)[1][0]) >= limit:
            return number
    return np.inf


def autoregressive(kept: float, size: float) -> Callable[[int, Rng], float]:
    """Shifts that follow each other, with a standard deviation."""
    last = [0.0]

    def shift(look: int, rng: Rng) -> float:
        last[0] = (0.0 if look == 0 else kept * last[0]) + size * (1 - kept**2) ** 0.5 * rng.standard_normal()
        return last[0]

    return shift


def normal(size: float) -> Callable[[int, Rng], float]:
    """Shifts that are independent of each other, with a standard deviation; the first occasion's as well."""
    return lambda look, rng: size * rng.standard_normal()


def every_other(size: float) -> Callable[[int, Rng], float]:
    """A scale of every other look."""
    return lambda look, rng: size if look % 2 else 1.0


def log_normal(spread: float) -> Callable[[int, Rng], float]:
    """Scales that are independent of each other."""
    return lambda look, rng: float(np.exp(spread * rng.standard_normal()))


N = 0.05
YEAR = 365
CASES = {
    "quiet, steady": Case(YEAR, noise=0.0),
    "quiet, wavering, log-probabilities with noise": Case(YEAR, wavers=True, noise=N),
    "quiet, wavering, no log-probabilities": Case(YEAR, wavers=True),
    "quiet, shift of a third of the noise": Case(YEAR, noise=N, shift=normal(1 / 3)),
    "quiet, shift as large as the noise": Case(YEAR, noise=N, shift=normal(1)),
    "quiet, shift three times the noise, uneven": Case(YEAR, noise=N, shift=normal(3), uneven=True),
    "quiet, shift in each prompt's units": Case(YEAR, noise=N, shift=normal(1), uneven=True, own_units=True),
    "quiet, noise 1.3 times in every other look": Case(YEAR, noise=N, scale=every_other(1.3)),
    "quiet, noise 2 times in every other look": Case(YEAR, noise=N, scale=every_other(2)),
    "breaks, noise of each look log-normal, the first too": Case(YEAR, noise=N, scale=log_normal(0.5)),
    "quiet, replica serves 30% of looks, 5% of labels": Case(YEAR, replica=0.3, labels_differ=0.05),
    "quiet, replica serves 50% of looks, 20% of labels, wavering": Case(
        YEAR, wavers=True, replica=0.5, labels_differ=0.2
    ),
    "quiet, replica serves 30% of looks, values": Case(YEAR, noise=N, replica=0.3, values_differ=1),
    "breaks, replica that the first occasion missed serves 30%": Case(
        YEAR, noise=N, replica=0.3, mixed=False, labels_differ=0.05, values_differ=2
    ),
    "breaks, replica that the first occasion missed serves 70%": Case(
        YEAR, noise=N, replica=0.7, mixed=False, labels_differ=0.05, values_differ=2
    ),
    "quiet, shifts follow each other, 0.9": Case(YEAR, noise=N, shift=autoregressive(0.9, 1)),
    "quiet, the same, each question 40 times within a look": Case(
        YEAR, replica=0.3, labels_differ=0.05, repeated=40
    ),
    "breaks, replica serves 30% of looks, 20 in a row, 5% of labels": Case(
        YEAR, replica=0.3, labels_differ=0.05, stays=0.95
    ),
    "breaks, shifts follow each other, 0.9, uneven": Case(
        YEAR, noise=N, shift=autoregressive(0.9, 1), uneven=True, own_units=True
    ),
    "swapped, look 1, wavering": Case(60, 1, wavers=True, noise=N, flips=0.3, moves=0.5),
    "swapped, look 31, wavering": Case(90, 31, wavers=True, noise=N, flips=0.3, moves=0.5),
    "swapped, look 101, wavering": Case(160, 101, wavers=True, noise=N, flips=0.3, moves=0.5),
    "swapped, no log-probabilities, look 1, wavering": Case(60, 1, wavers=True, flips=0.3),
    "swapped, no log-probabilities, look 31, wavering": Case(90, 31, wavers=True, flips=0.3),
    "5% flip, look 1, wavering": Case(60, 1, wavers=True, flips=0.05),
    "5% flip, look 31, wavering": Case(90, 31, wavers=True, flips=0.05),
    "5% flip, look 101, wavering": Case(160, 101, wavers=True, flips=0.05),
    "10% flip, look 101, wavering": Case(160, 101, wavers=True, flips=0.1),
    "one of 200 flips, look 1, steady": Case(60, 1, noise=None, flips=-1),
    "one of 200 flips, look 31, steady": Case(90, 31, flips=-1),
    "one of 200 flips, look 31, wavering": Case(90, 31, wavers=True, flips=-1),
    "one of 200 flips, look 301, steady": Case(360, 301, flips=-1),
    "2% flip, look 1, steady": Case(60, 1, flips=0.02),
    "2% flip, look 31, wavering": Case(90, 31, wavers=True, flips=0.02),
    "10% flip, look 1, wavering": Case(60, 1, wavers=True, flips=0.1),
    "10% flip, look 31, wavering": Case(90, 31, wavers=True, flips=0.1),
    "a quarter flips, look 12, steady": Case(60, 12, flips=0.25),
    "an eighth flips, look 12, steady": Case(60, 12, flips=0.125),
    "half flip, look 1, wavering": Case(60, 1, wavers=True, flips=0.5),
    "half flip, look 31, wavering": Case(90, 31, wavers=True, flips=0.5),
    "values move by 0.05, no noise, look 1": Case(60, 1, noise=0.0, moves=0.05),
    "values move by 0.05, no noise, look 31": Case(90, 31, noise=0.0, moves=0.05),
    "values move by 5 times the noise, look 1": Case(60, 1, noise=0.02, moves=0.1),
    "values move by 5 times the noise, look 31": Case(90, 31, noise=0.02, moves=0.1),
    "values move by 5 times the noise, look 101": Case(160, 101, noise=0.02, moves=0.1),
    "values move by 2 times the noise, look 31": Case(90, 31, noise=0.02, moves=0.04),
    "values move by 2 times the noise, look 101": Case(160, 101, noise=0.02, moves=0.04),
    "values move by the noise, look 101": Case(200, 101, noise=0.02, moves=0.02),
}

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    only = sys.argv[2] if len(sys.argv) > 2 else ""
    root = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    looks = int(sys.argv[4]) if len(sys.argv) > 4 else YEAR
    for row, (name, case) in enumerate(CASES.items()):
        if only not in name:
            continue
        case = replace(case, looks=looks) if case.change is None else case
        taken = [first_alarm(case, np.random.default_rng([root, row, at])) for at in range(count)]
        when = np.array([look for look, _ in taken])
        asked = np.mean([one for _, one in taken])
        if case.change is None:
            print(f"{name}: {np.isfinite(when).mean():.3f} alarms, {asked:.1f} asked a look", flush=True)
            continue
        late = when[when >= case.change] - case.change + 1
        half, most = np.quantile(late, [0.5, 0.9], method="inverted_cdf")
        early = (when < case.change).mean()
        print(f"{name}: {early:.3f} early, found after {half:.0f} looks (half), {most:.0f} (90%)", flush=True)
