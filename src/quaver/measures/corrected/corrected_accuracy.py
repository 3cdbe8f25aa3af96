"""How often a model's labels are right on all items, and which of them it answers: from a designed sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from quaver.core.records import Estimate
from quaver.core.seeds import derive
from quaver.correction.estimators import Question
from quaver.estimation.bootstrap import Floats
from quaver.estimation.cells import Missing
from quaver.estimation.declaration import measure
from quaver.estimation.intervals import clopper_pearson
from quaver.estimation.measure_input import MeasureInput
from quaver.measures.corrected.corrected_estimate import SOURCE, Correcting, Sampling, or_nothing
from quaver.measures.corrected.labelled_items import TOGETHER, LabelledItems, filled, populations_apart

_ENDS = (0.0, 1.0)


@measure(
    title="Accuracy on all items, from the gold sample",
    axis="share of correct answers",
    section="accuracy",
    unit="share",
    better="higher",
    missing=("wrong", "drop"),
    compares=TOGETHER,
    source=SOURCE,
)
def corrected_accuracy(data: MeasureInput, *, missing: Missing) -> Iterator[Estimate]:
    """The share of a model's labels that are right, on all items and not on those with a gold label alone.

    For each prompt and model: the mean over gold items of 1[label = gold label], each weighted by one over
    its probability of being drawn, less what agreement with the other prompts and models, confidence and the
    label itself say of these items beyond what they say of all items. Undefined where every gold item, or
    none, is labelled right: the exact bound is then in ``details``. An answer without a label is wrong, or
    (``missing="drop"``) its item is left out.

    Raises:
        MeasureError: There are no columns of a gold sample.

    Of 80 items 40 were drawn and labelled by two prompts, which agree where the first is right: 30 of the 40
    drawn, but 50 of all 80.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"item": range(80), "gold": "a", "gold_probability": 0.5,
    ...     "gold_drawn": [True] * 40 + [False] * 40})
    >>> said = pl.Series("label", list("aaab") * 10 + list("ab") * 20)
    >>> first = rows.with_columns(said, variant=pl.lit("p"))
    >>> second = rows.with_columns(label=pl.lit("a"), variant=pl.lit("q"))
    >>> found = corrected_accuracy(pl.concat([first, second], how="diagonal"))[0]
    >>> found.cell["variant"], round(found.details["gold_alone"]["value"], 3), round(found.value, 3)
    ('p', 0.75, 0.625)
    """
    yield from or_nothing(data, _accuracies(data, missing))


def _accuracies(data: MeasureInput, missing: Missing) -> Iterator[Estimate]:
    for population in populations_apart(data):
        answers = _Answers(population)
        for rater, where in enumerate(population.raters):
            yield _accuracy(data, population, answers, rater, where, missing)


class _Answers:
    """What each predictor answers of each item.

    Attributes:
        shares: The share of repeats with each label, shape (items, predictors, labels); 0 without a label.
        labelled: The share of repeats with a label; NaN where an item was not asked.
        sure: The mean confidence, without gaps; None where there is none.
    """

    def __init__(self, population: LabelledItems) -> None:
        every = np.ones(population.label.size, bool)
        labels = len(population.labels)
        tables = [
            population.table((population.label == code).astype(np.float64), every) for code in range(labels)
        ]
        self.shares = np.stack([np.nan_to_num(table) for table in tables], 2)
        self.labelled = population.table((population.label >= 0).astype(np.float64), every)
        self.sure: Floats | None = None
        if population.confidence is not None:
            known = np.isfinite(population.confidence)
            self.sure = filled(population.table(np.nan_to_num(population.confidence), known))


def _accuracy(
    data: MeasureInput,
    population: LabelledItems,
    answers: _Answers,
    rater: int,
    where: Mapping[str, str],
    missing: Missing,
) -> Estimate:
    own, labelled = answers.shares[:, rater], answers.labelled[:, rater]
    kept = np.isfinite(labelled) & ((labelled > 0) if missing == "drop" else True)
    right = np.where(population.gold >= 0, own[np.arange(len(own)), population.gold], np.nan)
    if missing == "drop":
        right = right / np.where(kept, labelled, 1.0)
    others = np.delete(np.arange(answers.shares.shape[1]), rater)
    agreeing = np.einsum("ic,ikc->ik", own, answers.shares[:, others])
    more = [] if answers.sure is None else [answers.sure[:, [rater]]]
    predictions = np.concatenate([agreeing, own[:, :-1], *more], 1)[kept][:, None]
    found = _corrected(data, population, right, kept, predictions, others.size)
    shape = Estimate(
        measure="corrected_accuracy",
        value=None,
        unit=population.unit,
        method="share of right labels among gold labels drawn by design, corrected by agreement with other "
        "prompts, confidence and label",
        reference=SOURCE,
        cell={**population.where, **where},
        excluded=population.excluded,
        details={**found.beside(data.resampling), **_exact(right[kept], data)},
    )
    return found.estimate(shape, found.corrected, _sampling(data, population, kept))


def _corrected(
    data: MeasureInput,
    population: LabelledItems,
    outcome: Floats,
    kept: Any,
    predictions: Floats,
    votes: int | None = None,
) -> Correcting:
    """The mean of an outcome of items, of whose predictors the first ones say how likely it is."""
    varying = np.ptp(predictions, axis=0)[0] > 0 if len(predictions) else np.zeros(predictions.shape[2], bool)
    votes = int(varying[:votes].sum())
    sample = population.sample(np.ones((len(outcome), 1)), outcome[:, None], kept)
    seed = derive(data.resampling.seed, "folds")
    return Correcting(Question(sample, np.ones((1, 1))), predictions[:, :, varying], seed, _ENDS, votes)


def _exact(outcome: Floats, data: MeasureInput) -> dict[str, Any]:
    """The exact bound where all gold items are alike."""
    known = outcome[np.isfinite(outcome)]
    if not known.size or np.ptp(known) > 0 or known[0] not in _ENDS:
        return {}
    bound = clopper_pearson(int(known.sum()), known.size, data.resampling.confidence_level)
    return {"exact_bound": tuple(bound)}


def _sampling(data: MeasureInput, population: LabelledItems, kept: Any) -> Sampling:
    return Sampling(data.resampling, data.keep, population.names, kept, population.clusters, population.unit)


@measure(
    title="Answers with a label, by true label",
    axis="share of answers with a label",
    section="answers",
    unit="share",
    better="higher",
    compares=TOGETHER,
    source=SOURCE,
    of_classes=True,
)
def corrected_compliance(data: MeasureInput) -> Iterator[Estimate]:
    """The share of answers with a label, on all items and among those of each true label.

    On all items it is known: no gold label is needed. Among the items of a true label c it is
    P(label given, y = c) / P(y = c), both corrected as in `corrected_share`: a model that refuses to label
    one class has a lower value there. Undefined where too few gold items of c lack a label: the exact bound
    is then in ``details``.

    Returns:
        For each prompt and model ``corrected_compliance`` with ``true_label`` in its cell, and one without.

    Raises:
        MeasureError: There are no columns of a gold sample.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"item": range(80), "label": ["a", "a", "b", None] * 20,
    ...     "gold": list("aabb") * 20, "gold_probability": 0.5, "gold_drawn": [True] * 40 + [False] * 40})
    >>> found = corrected_compliance(frame)
    >>> [(one.cell.get("true_label", ""), one.value and round(one.value, 2)) for one in found]
    [('', 0.75), ('a', None), ('b', 0.5)]
    """
    yield from or_nothing(data, _compliances(data))


def _compliances(data: MeasureInput) -> Iterator[Estimate]:
    for population in populations_apart(data):
        answers = _Answers(population)
        for rater, where in enumerate(population.raters):
            yield _complied(data, population, answers, rater, where)
            for code in range(len(population.labels)):
                yield _complied(data, population, answers, rater, where, code)


def _complied(
    data: MeasureInput,
    population: LabelledItems,
    answers: _Answers,
    rater: int,
    where: Mapping[str, str],
    code: int | None = None,
) -> Estimate:
    given = answers.labelled[:, rater]
    kept = np.isfinite(given)
    if code is None:
        every = population.sample(np.ones((len(given), 1)), given[:, None], kept)
        sample = every.__class__(
            every.matrix, every.outcome, np.ones(len(every.matrix)), every.weights, every.clusters
        )
        found = Correcting(Question(sample, np.ones((1, 1))), np.zeros((len(every.matrix), 1, 0)), 0, _ENDS)
        cell: dict[str, str] = {}
        details: dict[str, Any] = {}
        method = "share of answers with a label over all items"
    else:
        true = np.where(population.gold >= 0, (population.gold == code) * 1.0, np.nan)
        found = _ratio(data, population, true, given, kept, answers.shares[:, :, code])
        cell = {"true_label": population.labels[code]}
        method = "share of answers with a label among items of a true label, corrected ratio of shares"
        details = _exact(np.where(true == 1, given, np.nan)[kept], data)
    shape = Estimate(
        measure="corrected_compliance",
        value=None,
        unit=population.unit,
        method=method,
        reference=SOURCE,
        cell={**population.where, **where, **cell},
        excluded=population.excluded,
        details=details,
    )
    if details:
        return replace(
            shape, reason="no variation among the gold labels", n=int((population.gold == code).sum())
        )
    return found.estimate(shape, found.corrected, _sampling(data, population, kept))


def _ratio(
    data: MeasureInput, population: LabelledItems, true: Floats, given: Floats, kept: Any, shares: Floats
) -> Correcting:
    """P(label given | y = c) as the value at which the mean of 1[y = c] (given − R) / P(y = c) is 0."""
    guess = shares.mean(1, keepdims=True)
    size = _corrected(data, population, true, kept, shares[kept][:, None])
    each = true * np.nan_to_num(given)
    both = _corrected(data, population, each, kept, (shares * np.nan_to_num(given)[:, None])[kept][:, None])
    if size.corrected is None or both.corrected is None or not size.corrected.value > 0:
        return both if both.corrected is None else size
    ratio = both.corrected.value / size.corrected.value
    left = np.nan_to_num(given) - ratio
    linear = true * left / size.corrected.value + ratio
    predicted = np.concatenate([guess, shares], 1) * left[:, None]
    return _corrected(data, population, linear, kept, predicted[kept][:, None], 0)
