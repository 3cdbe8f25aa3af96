"""Studies like a given one: its items' places, prompts, repeats, groups and evaluators, other answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from quaver.core.annotations import ANNOTATION_COLUMNS, GOLD_COLUMNS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONDITION = ("model", "variant", "decoding")
_EASE = np.linspace(-7.0, 7.0, 29)
"""How easy items may be: log-odds beyond those of their condition."""
_NORMAL = special.softmax(-((_EASE / 1.5) ** 2) / 2)
_ROUNDS = 40
"""Steps of the EM algorithm; many more would fit a shape to the noise of few answers."""
_PSEUDO = 10
"""So many draws of all conditions' shares are added to each one's."""
_LARGEST = 8.0
"""Log-odds beyond which an answer is as good as certain."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A study's answers, as one evaluator reads them.

    Attributes:
        rows: The frame's row of each answer and evaluator, shape (answers, evaluators); -1 for none.
        item: The item of each answer.
        condition: Its model × variant × decoding.
        label: Its label by the first evaluator, -1 for none.
        gold: Each item's gold label, -1 where unknown.
        group: Each item's group, from 0.
        labels: The labels.
        conditions: What each condition is.
    """

    rows: Ints
    item: Ints
    condition: Ints
    label: Ints
    gold: Ints
    group: Ints
    labels: tuple[str, ...]
    conditions: pl.DataFrame

    @property
    def items(self) -> int:
        """How many items there are."""
        return self.gold.size

    def counts(self) -> Floats:
        """Labels by item and condition, shape (items, conditions, labels)."""
        shape = (self.items, self.conditions.height, len(self.labels))
        given = self.label >= 0
        positions = np.ravel_multi_index((self.item[given], self.condition[given], self.label[given]), shape)
        return np.bincount(positions, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)


def answered(frame: pl.DataFrame, labels: Sequence[str], group: str | None = None) -> Answered:
    """The answers in an annotation frame."""
    known = [name for name in CONDITION if name in frame.columns] or ["all"]
    place = ["item", *known, *(["repeat"] if "repeat" in frame.columns else [])]
    further = [name for name in ("label", "gold", "evaluator", group) if name in frame.columns]
    stand_ins = {name: pl.lit("") for name in ("all", "evaluator", "gold") if name not in frame.columns}
    texts = frame.with_columns(**stand_ins).select(
        pl.col(name).cast(pl.String) for name in dict.fromkeys([*place, *further, *stand_ins])
    )
    texts = texts.with_row_index("row")
    readers = texts["evaluator"].unique(maintain_order=True).to_list()
    answers = texts.group_by(place, maintain_order=True).agg(
        pl.col("row").filter(pl.col("evaluator") == reader).first().alias(f"row {index}")
        for index, reader in enumerate(readers)
    )
    rows = answers.select(pl.selectors.starts_with("row ")).fill_null(-1).to_numpy().astype(np.int64)
    items = texts.group_by("item", maintain_order=True).first()
    conditions = answers.select(known).unique(maintain_order=True)
    label = _places(texts, pl.DataFrame({"label": labels}))
    return Answered(
        rows=rows,
        item=_places(answers, items.select("item")),
        condition=_places(answers, conditions),
        label=np.where(rows[:, 0] >= 0, label[rows[:, 0]], -1),
        gold=_places(items, pl.DataFrame({"gold": labels})),
        group=_places(items, items.select(group or "item").unique(maintain_order=True)),
        labels=tuple(labels),
        conditions=conditions,
    )


def _places(rows: pl.DataFrame, kinds: pl.DataFrame) -> Ints:
    """Which of the kinds each row is, -1 for none."""
    numbered = kinds.with_columns(pl.all().cast(pl.String)).with_row_index("at")
    frame = rows.join(numbered, on=kinds.columns, how="left", maintain_order="left", nulls_equal=True)
    return frame["at"].cast(pl.Int64).fill_null(-1).to_numpy()


class Likeness(NamedTuple):
    """What a study's answers say of the population that they are from.

    Attributes:
        shares: The labels' shares among the items, as they are read.
        gold: The probability of each gold label for an item that is read as each label, (read, gold).
        known: The share of items with a gold label.
        ease: The share of items that are so easy, for each of ``_EASE``.
        agreement: Log-odds that an answer is the label as read, for an item of ease 0, by condition.
        fresh: The shares of labels among the other answers, by condition.
        missing: The share of answers without a label, by condition.
        lost: How many times as many of them items that are so easy have, for each of ``_EASE``.
        icc: The groups' share of the variance of labels and of difficulty.
        alike: The groups' share of the variance of whether a label as read is right.
    """

    shares: Floats
    gold: Floats
    known: float
    ease: Floats
    agreement: Floats
    fresh: Floats
    missing: Floats
    lost: Floats
    icc: float
    alike: float

    def document(self) -> dict[str, object]:
        """In a few numbers, for people."""
        return {
            "label_shares": self.shares.round(4).tolist(),
            "agreement": round(float(np.mean(_mean_keeps(self.agreement, self.ease))), 4),
            "difficulty_sd": round(float(np.sqrt(self.ease @ _EASE**2 - (self.ease @ _EASE) ** 2)), 4),
            "prompt_sd": round(float(self.agreement.std()), 4),
            "missing": round(float(self.missing.mean()), 4),
            "icc": round(self.icc, 4),
        }


def likeness(study: Answered) -> Likeness:
    """The population that a study's answers are like, by the method of moments."""
    counts = study.counts()
    given = counts.sum(2)
    mode = counts.sum(1)
    labelled = mode.sum(1) > 0
    size = len(study.labels)
    shares = np.full(size, 1 / size)
    if labelled.any():
        best = np.eye(size)[mode[labelled].argmax(1)]
        shares = (best.sum(0) + 0.5) / (labelled.sum() + 0.5 * size)
    agreement, ease, each = _agreement(counts)
    asked = np.bincount(study.condition, minlength=given.shape[1])
    own = counts.sum(0) / np.maximum(counts.sum((0, 2)), 1)[:, None]
    keeps = _mean_keeps(agreement, ease)[:, None]
    fresh = _pooled(np.clip(own - keeps * shares, 0, None), counts.sum((0, 2)), shares)
    read = np.where(labelled, mode.argmax(1), -1)
    right = np.where((read >= 0) & (study.gold >= 0), read == study.gold, -1).astype(np.int64)
    return Likeness(
        shares=shares,
        gold=_gold(read, study.gold, shares),
        known=float((study.gold >= 0).mean()) if study.gold.size else 0.0,
        ease=ease,
        agreement=agreement,
        fresh=fresh,
        missing=1 - given.sum(0) / np.maximum(asked, 1),
        lost=_lost(1 - given.sum(1) / np.maximum(np.bincount(study.item), 1), ease, each),
        icc=_icc(read, study.group, shares),
        alike=_icc(right, study.group, np.bincount(right[right >= 0], minlength=2).astype(np.float64)),
    )


def _pooled(left: Floats, answers: Floats, shares: Floats) -> Floats:
    """The conditions' shares of labels among fresh draws; those of few draws are drawn to all conditions'."""
    draws = left * answers[:, None]
    pooled = draws.sum(0) + shares
    found = draws + _PSEUDO * pooled / pooled.sum()
    return np.asarray(found / found.sum(1, keepdims=True))


def _mean_keeps(logit: Floats, ease: Floats) -> Floats:
    """The mean over items of the probability that an answer is the label as read."""
    return np.asarray(special.expit(np.asarray(logit)[..., None] + _EASE) @ ease)


def _solved(target: Floats, ease: Floats, power: int) -> Floats:
    """The log-odds at which the mean over items of that probability, to a power, is so much."""
    low, high = np.full(target.shape, -2 * _LARGEST), np.full(target.shape, 2 * _LARGEST)
    for _ in range(50):
        middle = (low + high) / 2
        found = special.expit(middle[..., None] + _EASE) ** power @ ease
        low, high = np.where(found < target, middle, low), np.where(found < target, high, middle)
    return np.asarray((low + high) / 2)


def _agreement(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Each condition's log-odds that an answer is the label as read; how easy items are; each item.

    Two answers to an item agree beyond chance as often as both are the label as read. By condition: how often
    its answers agree with the others'.
    """
    conditions = counts.shape[1]
    total = counts.sum(1)
    n = total.sum(1)
    some = n > 1
    if not some.any():
        return np.full(conditions, 2.0), _NORMAL, np.broadcast_to(_NORMAL, (n.size, _NORMAL.size))
    pairs = n * (n - 1)
    same = (total * (total - 1)).sum(1)
    share = total.sum(0) / n.sum()
    chance = float(share @ share)
    beyond = float(np.clip((same.sum() / pairs.sum() - chance) / max(1 - chance, 1e-9), 1e-4, 1.0))
    ease, each = _eases(total, beyond, chance)
    whole = _kept(counts[some], chance, beyond, ease)
    apart = _shrunk(whole, *(_kept(counts[some][at::2], chance, beyond, ease) for at in (0, 1)))
    return whole.mean() + apart, ease, each


def _eases(total: Floats, beyond: float, chance: float) -> tuple[Floats, Floats]:
    """How easy items are, and each of them, from how often it has its modal label.

    The likeliest distribution of any shape (Laird 1978, Journal of the American Statistical Association 73,
    805-811), towards which the EM algorithm takes some steps from a normal one.
    """
    n, modal = total.sum(1)[:, None].astype(np.int64), total.max(1)[:, None]
    kept = special.expit(_solved(np.array([beyond]), _NORMAL, 2)[0] + _EASE)
    right = np.clip(kept + (1 - kept) * np.sqrt(chance), 1e-9, 1 - 1e-9)
    least = -(-n // total.shape[1])  # a modal label has no fewer
    likely = right**modal * (1 - right) ** (n - modal) / special.bdtrc(least - 1, n, right)
    likely = np.where(n > 1, likely, 1.0)
    ease, each = _NORMAL, np.broadcast_to(_NORMAL, likely.shape)
    for _ in range(_ROUNDS):
        each = likely * ease
        each = each / each.sum(1, keepdims=True)
        ease = each.mean(0)
    return ease, each


def _lost(absent: Floats, ease: Floats, each: Floats) -> Floats:
    """How many times as many answers are missing from items that are so easy."""
    mean = float(absent.mean()) if absent.size else 0.0
    if mean <= 0:
        return np.ones(_EASE.size)
    found = (absent @ each + _PSEUDO * mean) / (each.sum(0) + _PSEUDO)
    return np.asarray(found / (found @ ease))


def _kept(counts: Floats, chance: float, beyond: float, ease: Floats) -> Floats:
    """Each condition's log-odds, from how often its answers agree with the other conditions'."""
    others = counts.sum(1)[:, None] - counts
    pairs = (counts.sum(2) * others.sum(2)).sum(0)
    own = (counts * others).sum((0, 2)) / np.maximum(pairs, 1)
    apart = np.where(pairs > 0, (own - chance) / max(1 - chance, 1e-9), beyond)
    most = 1 - 0.5 / (counts.sum() / counts.shape[1] + 1)
    return _solved(np.clip(np.clip(apart, 0, 1) ** 2 / beyond, 4e-4, most), ease, 2)


def _shrunk(whole: Floats, even: Floats, odd: Floats) -> Floats:
    """The conditions' deviations, less what the two halves of the items do not share."""
    apart, one, other = (part - part.mean() for part in (whole, even, odd))
    variance = float(apart @ apart)
    shared = float(np.clip(one @ other / variance, 0.0, 1.0)) if variance > 1e-12 else 0.0
    return np.asarray(apart * np.sqrt(shared))


def _gold(read: Ints, gold: Ints, shares: Floats) -> Floats:
    """How often each gold label goes with each label as read."""
    table = np.diag(shares) * 2.0 + 0.02 * np.outer(shares, shares)
    both = (read >= 0) & (gold >= 0)
    if both.any():
        table = 0.1 * table
        np.add.at(table, (read[both], gold[both]), 1.0)
    return np.asarray(table / table.sum(1, keepdims=True))


def _icc(read: Ints, group: Ints, shares: Floats) -> float:
    """The latent correlation of two items of a group, from how often they are read as the same label."""
    known = read >= 0
    size = int(group.max(initial=-1)) + 1
    if size in (0, group.size) or not known.any():
        return 0.0
    table = np.zeros((size, shares.size))
    np.add.at(table, (group[known], read[known]), 1.0)
    n = table.sum(1)
    if not (n > 1).any():
        return 0.0
    same = (table * (table - 1)).sum() / (n * (n - 1)).sum()
    total = table.sum(0)
    chance = (total * (total - 1)).sum() / max(total.sum() * (total.sum() - 1), 1)
    return float(np.sin(np.pi / 2 * np.clip((same - chance) / max(1 - chance, 1e-9), 0.0, 0.95)))


def drawn(
    like: Likeness, group: Ints, rng: np.random.Generator, agreement: Floats, fresh: Floats
) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Items: their labels as read, gold labels (-1 where unknown), and by condition what their answers are.

    Returns:
        Labels as read, gold labels, the probability that an answer is the label as read, the cumulated
        shares of fresh draws, and how many times as many of its answers each item lacks.
    """
    share = np.array([[like.icc], [like.icc], [like.alike]])
    shared = rng.normal(0, 1, (3, int(group.max(initial=0)) + 1))[:, group]
    latent, ease, luck = np.sqrt(share) * shared + np.sqrt(1 - share) * rng.normal(0, 1, (3, group.size))
    read = _at(special.ndtr(latent), np.cumsum(like.shares))
    other = like.gold * (1 - np.eye(like.shares.size))
    other /= np.maximum(other.sum(1, keepdims=True), 1e-300)
    wrong = special.ndtr(luck) >= np.diag(like.gold)[read]
    gold = np.where(wrong, _at(rng.random(group.size), np.cumsum(other, axis=1)[read]), read)
    gold = np.where(rng.random(group.size) < like.known, gold, -1)
    easy = _at(special.ndtr(ease), np.cumsum(like.ease))
    keeps = special.expit(agreement + _EASE[easy, None])
    return read, gold, keeps, np.cumsum(fresh, axis=1), like.lost[easy]


def _at(uniform: Floats, ends: Floats) -> Ints:
    return np.asarray((uniform[..., None] >= ends[..., :-1]).sum(-1))


def answers_of(
    read: Ints,
    keeps: Floats,
    fresh: Floats,
    missing: Floats,
    item: Ints,
    condition: Ints,
    rng: np.random.Generator,
) -> Ints:
    """A label for each answer, -1 for none."""
    kept, other, lost = rng.random((3, item.size))
    label = np.where(kept < keeps[item, condition], read[item], _at(other, fresh[condition]))
    absent: NDArray[np.bool_] = lost < missing[item, condition]
    return np.where(absent, -1, label)


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

    def document(self) -> dict[str, object]:
        """What they are like, in a few numbers; of items in groups, their sizes too."""
        return {**self.like.document(), **self.sizes()}

    def sizes(self) -> dict[str, object]:
        """How many groups there are, and the share of the items in the largest; nothing of items alone."""
        sizes = np.bincount(self.study.group)
        largest = round(float(sizes.max() / sizes.sum()), 4) if sizes.size else 0.0
        return {"groups": sizes.size, "largest_group": largest} if self.group else {}

    def study_like(self, seed: int, prompts: int | None = None, copies: int = 1) -> pl.DataFrame:
        """The annotations of a study like it."""
        rng = np.random.default_rng([seed, 5])
        study, size = self.study, self.study.items
        agreement, fresh, missing = self._prompts.drawn(prompts)
        groups = int(study.group.max(initial=-1)) + 1
        group = np.concatenate([study.group + index * groups for index in range(copies)])
        item = np.concatenate([study.item + index * size for index in range(copies)])
        condition = np.tile(study.condition, copies)
        read, gold, keeps, ends, lost = drawn(self.like, group, rng, agreement, fresh)
        label = answers_of(read, keeps, ends, missing * lost[:, None], item, condition, rng)
        right = label == np.where(gold >= 0, gold, read)[item]
        donor = self._donors.chosen(condition, label, right, rng)
        return self._framed(donor, label, gold, copies)

    def items_like(self, items: pl.DataFrame, copies: int = 1) -> pl.DataFrame:
        """A table of the items' columns for so many copies of the items."""
        return pl.concat([renamed(items, index, None) for index in range(copies)]) if copies > 1 else items

    def _framed(self, donor: Ints, label: Ints, gold: Ints, copies: int) -> pl.DataFrame:
        study, columns = self.study, [name for name in _ANSWER if name in self.frame.columns]
        design = self.frame.drop(columns)
        names = pl.Series([*study.labels, None], dtype=pl.String)
        parts = []
        for index in range(copies):
            here = slice(index * study.item.size, (index + 1) * study.item.size)
            for evaluator in range(study.rows.shape[1]):
                positions, from_ = study.rows[:, evaluator], study.rows[donor[here], evaluator]
                kept = np.flatnonzero((positions >= 0) & (from_ >= 0))
                given = self.frame.select(columns)[from_[kept]]
                main = names[label[here][kept]]
                series = pl.Series(names[study.label[donor[here][kept]]])
                said = given["label"].cast(pl.String)
                frame = pl.select(pl.when(said.eq_missing(series)).then(main).otherwise(said).alias("label"))
                made = design[positions[kept]].with_columns(given.with_columns(frame["label"]))
                if "gold" in design.columns:
                    true = names[gold[index * study.items + study.item[kept]]]
                    made = made.with_columns(true.alias("gold"))
                parts.append(renamed(made, index, self.group) if copies > 1 else made)
        kinds = [name for name in ("label", "gold") if name in self.frame.columns]
        made = pl.concat(parts).select(self.frame.columns)
        return made.with_columns(pl.col(name).cast(self.frame.schema[name]) for name in kinds)


def renamed(frame: pl.DataFrame, copy: int, group: str | None) -> pl.DataFrame:
    """The items, and their groups, of one of several copies, by names of their own."""
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
        result = np.full(label.size, -1)
        picked = rng.random(label.size)
        for keys, order, starts in zip(
            self._keys(condition, label, right), self._sorted, self._starts, strict=True
        ):
            known = np.minimum(keys, starts.size - 2)
            first, count = starts[known], np.where(keys == known, starts[known + 1] - starts[known], 0)
            new = (result < 0) & (count > 0)
            result[new] = order[(first + (picked * count).astype(np.int64))[new]]
        return result


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
        result = []
        for own in self._own:
            means = np.stack([own[self._place == index].mean(0) for index in range(self._place.max() + 1)])[
                self._place
            ]
            apart = np.stack([(own - means)[self._variant == index].mean(0) for index in range(count)])
            spread = apart.std(0, ddof=1) if count > 1 else np.zeros(own.shape[1])
            result.append(means + rng.normal(0, 1, apart.shape)[self._variant] * spread)
        return result
