"""Kinds of the second family whose values are sets of labels or amounts, written from a list of faults alone.

What is true is read off a world of very many texts, as of the other kinds: of sets, how often each label is
right where it is listed and listed where it applies; of amounts, by how much their sum is off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from benchmarks.planted import Said

TOPICS = ("tax", "war", "health", "trade")
MANY = 40_000
BAD_RECALL, BAD_PRECISION, GOOD = 0.6, 0.8, 0.9
"""A label of a set that is listed, or right, less often is bad; one that is both more often is good."""

BAD_SUM, GOOD_SUM = 0.25, 0.03
"""Amounts whose sum is further off are bad; those whose sum is less far off are good."""


@dataclass(frozen=True)
class Values:
    """What is true of texts, and what each prompt answers.

    Attributes:
        truth: Of sets a row of yes and no for each text; of amounts a number.
        given: The same for each text and prompt.
        gold: The texts that people labelled.
    """

    truth: npt.NDArray[Any]
    given: npt.NDArray[Any]
    gold: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ValueKind:
    """A kind of study of sets or amounts, and how many texts it has."""

    draw: Callable[[np.random.Generator, int], Values]
    texts: int = 400


def _drawn(rng: np.random.Generator, n: int, share: float) -> npt.NDArray[np.bool_]:
    return np.arange(n) < share * n if share in (0, 1) else rng.permutation(n) < share * n


def sets(
    rng: np.random.Generator,
    n: int,
    *,
    shares: tuple[float, ...] = (0.4, 0.3, 0.3, 0.3),
    lost: float = 0.0,
    spilled: float = 0.0,
    as_another: float = 0.0,
    alike: bool = True,
    noise: float = 0.01,
    gold: float = 1.0,
) -> Values:
    """Sets of topics, of which the last is lost, spilled over other texts, or given as the first."""
    truth = rng.random((n, 4)) < np.array(shares)
    given = np.repeat(truth[:, None, :], 5, 1)
    prompts = 1 if alike else 5
    last = given[..., 3].copy()
    missed = last & (rng.random((n, prompts)) < lost + as_another)
    given[..., 3] = (last & ~missed) | (~last & (rng.random((n, prompts)) < spilled))
    given[..., 0] |= missed & bool(as_another)
    given ^= rng.random(given.shape) < noise
    return Values(truth, given, _drawn(rng, n, gold))


def amounts(
    rng: np.random.Generator,
    n: int,
    *,
    factor: float = 1.0,
    hit: float = 0.0,
    alike: bool = True,
    noise: float = 0.0,
    nothing: float = 0.2,
    gold: float = 1.0,
) -> Values:
    """Amounts, some of them 0, of which a share of the others is a factor too high or too low."""
    truth = np.round(np.exp(rng.normal(4, 0.7, n))) * (rng.random(n) >= nothing)
    wrong = rng.random((n, 1 if alike else 5)) < hit
    given = truth[:, None] * np.where(wrong, factor, 1.0) * np.ones((n, 5))
    return Values(
        truth, np.round(given * (1 + noise * rng.standard_normal(given.shape))), _drawn(rng, n, gold)
    )


def _of_sets(texts: int = 400, **given: Any) -> ValueKind:
    return ValueKind(partial(sets, **given), texts)


def _of_amounts(**given: Any) -> ValueKind:
    return ValueKind(partial(amounts, **given))


_RARE = (0.4, 0.3, 0.3, 0.07)
_RARER = (0.4, 0.3, 0.3, 0.04)
VALUES: Mapping[str, ValueKind] = {
    "a label of sets (7%) never listed": _of_sets(shares=_RARE, lost=1.0, noise=0.0),
    "a label of sets (7%) never listed, 150 gold": _of_sets(shares=_RARE, lost=1.0, noise=0.0, gold=0.375),
    "a label of sets (20%) found half of the time, no gold": _of_sets(
        shares=(0.4, 0.3, 0.3, 0.2), lost=0.5, alike=False, gold=0.0
    ),
    "a label of sets (10%) found half of the time": _of_sets(
        shares=(0.4, 0.3, 0.3, 0.1), lost=0.5, alike=False
    ),
    "a label of sets (4%) found": _of_sets(shares=_RARER, noise=0.002, texts=600),
    "a label of sets (4%) found, no gold": _of_sets(shares=_RARER, noise=0.002, gold=0.0, texts=600),
    "a label of sets (4%) found half of the time, no gold": _of_sets(
        shares=_RARER, lost=0.5, alike=False, noise=0.002, gold=0.0, texts=600
    ),
    "a label of sets (4%), half of its uses wrong": _of_sets(
        shares=_RARER, spilled=0.04, noise=0.002, texts=600
    ),
    "a label of sets also listed for a fifth of the others": _of_sets(
        shares=(0.4, 0.3, 0.3, 0.2), spilled=0.2
    ),
    "a label of sets listed as another": _of_sets(as_another=0.8),
    "sets, 1% of noise": _of_sets(),
    "sets, 1% of noise, 100 gold": _of_sets(gold=0.25),
    "sets, 1% of noise, no gold": _of_sets(gold=0.0),
    "two fifths of the amounts three times too high": _of_amounts(factor=3.0, hit=0.4),
    "3% of the amounts in cents, all prompts alike": _of_amounts(factor=100.0, hit=0.03),
    "3% of the amounts in cents, each prompt's own, no gold": _of_amounts(
        factor=100.0, hit=0.03, alike=False, gold=0.0
    ),
    "all amounts a third too low": _of_amounts(factor=0.67, hit=1.0),
    "half of the amounts lack a nought, 120 gold": _of_amounts(factor=0.1, hit=0.5, gold=0.3),
    "amounts within 2%": _of_amounts(noise=0.02),
    "amounts within 2%, 100 gold": _of_amounts(noise=0.02, gold=0.25),
    "amounts within 2%, no gold": _of_amounts(noise=0.02, gold=0.0),
    "half of the amounts 0, all right": _of_amounts(nothing=0.5),
}


@cache
def _true(name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | float:
    """Of sets the precision and recall of each label, of amounts by what share of it their sum is off."""
    world = VALUES[name].draw(np.random.default_rng(40_000), MANY)
    if world.truth.ndim == 1:
        return float(world.given.mean(1).sum() / world.truth.sum() - 1)
    both = (world.given & world.truth[:, None]).sum((0, 1))
    listed, apply = world.given.sum((0, 1)), 5 * world.truth.sum(0)
    return both / np.maximum(listed, 1) * (listed > 0), both / apply


def worst(name: str) -> tuple[str, str]:
    """For the table: how far the sum is off, or how often a label is missed; how often one is right."""
    true = _true(name)
    if isinstance(true, float):
        return f"sum {100 * true:+.0f}%", "–"
    precision, recall = true
    return f"{100 * (1 - recall.min()):.0f}% missed", f"{100 * precision.min():.0f}%"


def faults_of(name: str, verdict: Said) -> tuple[str, str, tuple[str, ...]]:
    """The false use, the false refusal and the false clauses of a verdict; empty where there are none."""
    true = _true(name)
    vouches = verdict.kind in ("use", "use except for", "use one prompt only")
    refuses = verdict.kind == "do not use"
    if isinstance(true, float):
        bad, good = abs(true) >= BAD_SUM, abs(true) <= GOOD_SUM
        off = f"the sum is {100 * true:+.0f}% off"
        clauses = tuple(f"excludes {one}" for one in sorted(verdict.classes))
        return off if vouches and bad else "", verdict.kind if refuses and good else "", clauses
    precision, recall = true
    bad = [
        f"“{label}” right in {100 * precision[at]:.0f}%, found in {100 * recall[at]:.0f}%"
        for at, label in enumerate(TOPICS)
        if label not in verdict.classes and (recall[at] < BAD_RECALL or precision[at] < BAD_PRECISION)
    ]
    is_good = np.minimum(precision, recall) >= GOOD
    clauses = tuple(
        f"excludes {one}"
        for one in sorted(verdict.classes)
        if one not in TOPICS or is_good[TOPICS.index(one)]
    )
    return ", ".join(bad) if vouches else "", verdict.kind if refuses and is_good.all() else "", clauses


def table_of(world: Values) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of values and gold values of a study, an answer a row, and its field."""
    prompts = world.given.shape[1]
    if world.truth.ndim == 1:
        written = np.char.mod("%d", world.given.astype(int)).ravel()
        gold, field = np.char.mod("%d", world.truth.astype(int)), {"level": "ratio"}
    else:
        written = np.array([_written(one) for one in world.given.reshape(-1, 4)])
        gold, field = np.array([_written(one) for one in world.truth]), {"labels": [*TOPICS], "several": True}
    if not world.gold.any():
        return {"value": written}, field
    known = np.repeat(np.where(world.gold, gold, ""), prompts)
    return {"value": written, "gold": known}, {**field, "gold": "gold"}


def _written(row: npt.NDArray[np.bool_]) -> str:
    return ";".join(topic for topic, applies in zip(TOPICS, row, strict=True) if applies) or "[]"
