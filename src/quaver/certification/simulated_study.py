"""Studies like a given one: its items' places, prompts, repeats, groups and evaluators, other answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from scipy import special

from quaver.certification.likeness import CONDITION, Answered, Likeness, answered, answers_of, drawn, likeness
from quaver.certification.population import Floats, Ints
from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS

_ANSWER = tuple(
    name
    for name in ANNOTATION_COLUMNS
    if name not in (*CONDITION, "item", "repeat", "evaluator", *GOLD_COLUMNS)
)
"""The columns of an answer, which a simulated one takes from an answer of the study."""
_SURE = 1e-6


class SimulatedStudies:
    """Draws studies like a given one.

    An item's label as read, its gold label and how hard it is are drawn anew, as `Likeness` describes them;
    each answer is drawn from these and its prompt. Confidences, reasons and other evaluators' readings are
    those of an answer of the study with the same label and condition that is as right or wrong.

    Args:
        frame: The study's annotations.
        labels: Its labels.
        group: The column of the items' groups.
    """

    def __init__(self, frame: pl.DataFrame, labels: Sequence[str], group: str | None = None) -> None:
        self.frame, self.group = frame, group
        self.study: Answered = answered(frame, labels, group)
        self.like: Likeness = likeness(self.study)
        self._donors = _Donors(self.study)
        self._prompts = _Prompts(self.study, self.like)

    def study_like(self, seed: int, prompts: int | None = None, copies: int = 1) -> pl.DataFrame:
        """The annotations of a study like it."""
        rng = np.random.default_rng([seed, 5])
        study, size = self.study, self.study.items
        agreement, fresh, missing = self._prompts.drawn(prompts)
        groups = int(study.group.max(initial=-1)) + 1
        group = np.concatenate([study.group + at * groups for at in range(copies)])
        item = np.concatenate([study.item + at * size for at in range(copies)])
        condition = np.tile(study.condition, copies)
        read, gold, keeps, ends = drawn(self.like, group, rng, agreement, fresh)
        label = answers_of(read, keeps, ends, missing, item, condition, rng)
        right = label == np.where(gold >= 0, gold, read)[item]
        donor = self._donors.chosen(condition, label, right, rng)
        return self._framed(donor, label, gold, copies)

    def items_like(self, items: pl.DataFrame, copies: int = 1) -> pl.DataFrame:
        """A table of the items' columns for so many copies of the items."""
        return pl.concat([_renamed(items, at, None) for at in range(copies)]) if copies > 1 else items

    def _framed(self, donor: Ints, label: Ints, gold: Ints, copies: int) -> pl.DataFrame:
        study, columns = self.study, [name for name in _ANSWER if name in self.frame.columns]
        design = self.frame.drop(columns)
        names = pl.Series([*study.labels, None], dtype=pl.String)
        parts = []
        for at in range(copies):
            here = slice(at * study.item.size, (at + 1) * study.item.size)
            for evaluator in range(study.rows.shape[1]):
                place, from_ = study.rows[:, evaluator], study.rows[donor[here], evaluator]
                kept = np.flatnonzero((place >= 0) & (from_ >= 0))
                given = self.frame.select(columns)[from_[kept]]
                main = names[label[here][kept]]
                own = pl.Series(names[study.label[donor[here][kept]]])
                said = given["label"].cast(pl.String)
                moved = pl.select(pl.when(said.eq_missing(own)).then(main).otherwise(said).alias("label"))
                made = design[place[kept]].with_columns(given.with_columns(moved["label"]))
                if "gold" in design.columns:
                    true = names[gold[at * study.items + study.item[kept]]]
                    made = made.with_columns(true.alias("gold"))
                parts.append(_renamed(made, at, self.group) if copies > 1 else made)
        kinds = [name for name in ("label", "gold") if name in self.frame.columns]
        made = pl.concat(parts).select(self.frame.columns)
        return made.with_columns(pl.col(name).cast(self.frame.schema[name]) for name in kinds)


def _renamed(frame: pl.DataFrame, copy: int, group: str | None) -> pl.DataFrame:
    names = ["item", *([group] if group else [])]
    return frame.with_columns((pl.col(name).cast(pl.String) + f"#{copy}") for name in names)


class _Donors:
    """The answers of a study by condition, label and whether they are right."""

    def __init__(self, study: Answered) -> None:
        self._labels = len(study.labels) + 1
        mode = study.counts().sum(1).argmax(1)
        right = study.label == np.where(study.gold >= 0, study.gold, mode)[study.item]
        self._sorted, self._starts = [], []
        for keys in self._keys(study.condition, study.label, right):
            order = np.argsort(keys, kind="stable")
            self._sorted.append(order)
            self._starts.append(np.searchsorted(keys[order], np.arange(int(keys.max(initial=0)) + 2)))

    def _keys(self, condition: Ints, label: Ints, right: Ints) -> Iterator[Ints]:
        """From the closest likeness to none at all."""
        kind = (label + 1) * 2 + right
        yield condition * 2 * self._labels + kind
        yield kind
        yield condition * 2 + (label >= 0)
        yield (label >= 0).astype(np.int64)
        yield np.zeros(label.size, np.int64)

    def chosen(self, condition: Ints, label: Ints, right: Ints, rng: np.random.Generator) -> Ints:
        """An answer of the study for each simulated one, as like it as there is."""
        found = np.full(label.size, -1)
        picked = rng.random(label.size)
        for keys, order, starts in zip(
            self._keys(condition, label, right), self._sorted, self._starts, strict=True
        ):
            known = np.minimum(keys, starts.size - 2)
            first, count = starts[known], np.where(keys == known, starts[known + 1] - starts[known], 0)
            new = (found < 0) & (count > 0)
            found[new] = order[(first + (picked * count).astype(np.int64))[new]]
        return found


class _Prompts:
    """The study's own prompts, and others like them."""

    def __init__(self, study: Answered, like: Likeness) -> None:
        self._own = (
            like.agreement[:, None],
            np.log(np.maximum(like.fresh, _SURE)),
            special.logit(np.clip(like.missing, _SURE, 1 - _SURE))[:, None],
        )
        names = study.conditions.columns
        variant = study.conditions["variant"].to_list() if "variant" in names else [""] * like.agreement.size
        self._variant = np.array([sorted(set(variant)).index(one) for one in variant])
        others = [name for name in names if name != "variant"]
        frame = study.conditions.select(others) if others else pl.DataFrame({"all": variant})
        self._place = np.unique(np.array([str(row) for row in frame.rows()]), return_inverse=True)[1]

    def drawn(self, seed: int | None) -> tuple[Floats, Floats, Floats]:
        """Log-odds of agreement, shares of fresh draws and missing shares by condition."""
        agreement, fresh, missing = self._own if seed is None else self._others(seed)
        shares = np.exp(fresh - fresh.max(1, keepdims=True))
        lost = special.expit(missing[:, 0])
        return agreement[:, 0], shares / shares.sum(1, keepdims=True), np.where(lost <= 2 * _SURE, 0.0, lost)

    def _others(self, seed: int) -> list[Floats]:
        """Each variant's deviation from its model and decoding drawn anew, as large as the study's are."""
        rng = np.random.default_rng([seed, 6])
        count = int(self._variant.max(initial=0)) + 1
        made = []
        for own in self._own:
            means = np.stack([own[self._place == at].mean(0) for at in range(self._place.max() + 1)])[
                self._place
            ]
            apart = np.stack([(own - means)[self._variant == at].mean(0) for at in range(count)])
            spread = apart.std(0, ddof=1) if count > 1 else np.zeros(own.shape[1])
            made.append(means + rng.normal(0, 1, apart.shape)[self._variant] * spread)
        return made
