"""What the report's charts show beyond the estimates that a study's file asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Literal, TypedDict

import polars as pl
from typing_extensions import Unpack

from quaver.collect.run.ledger import Entry, ledger
from quaver.collect.run.progress import Price
from quaver.collect.store.response_store import Store
from quaver.core.estimate_frame import Deviations
from quaver.core.records import Estimate
from quaver.design.calls.experiment import Experiment
from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.measures.correctness.accuracy import baseline
from quaver.measures.stability.flips import label_flips
from quaver.measures.stability.prompt_choice import prompt_choice
from quaver.measures.stability.vouched_parts import vouched_parts
from quaver.measures.validity.answer_quality import answer_quality
from quaver.measures.variation.deviations import deviation_shares, deviations
from quaver.measures.variation.item_sensitivity import sensitivity_with_consistency
from quaver.measures.variation.label_movement import label_movement
from quaver.measures.variation.label_shares import distributions
from quaver.report.page.figure_data import Cost, PartCost, RawAnswer
from quaver.study.sources.study_plugins import Measurement

_OF = ("sensitivity", "consistency")
_KINDS: tuple[Literal["noisy", "random"], ...] = ("noisy", "random")
_MOST_ROWS = 200_000
"""Of more answers, the baselines are made from as many whole items as that."""

_MATRIX = 24


def moved(
    experiment: Experiment,
    evaluators: Sequence[str],
    frame: pl.DataFrame,
    seed: int,
    group: str | None = None,
    coders: Sequence[str] = (),
) -> list[Estimate]:
    """How far each factor that has several levels moves the labels, the decoding and the model among them.

    With it, how often answers deviate from their item's modal label, by variant (of all models, and of each),
    model and class; and what
    the verdict on the labels rests on (`judged`). All of it is for the labels of the first of the study's
    evaluators; ``group`` is the column whose groups of items are the units of the intervals (see `group_of`).
    """
    if frame.is_empty():
        return []
    whole, frame = frame, of_first(evaluators, frame)
    several = _several(experiment, frame)
    found = deviations(frame, group=group)
    shares = [] if found is None else deviation_shares(found, seed=seed)
    models = frame["model"].unique().cast(pl.String).sort() if "model" in several else ()
    for model in models:
        own = deviations(frame.filter(pl.col("model").cast(pl.String) == model), group=group)
        prompts = [one for one in deviation_shares(own, seed=seed) if "variant" in one.cell] if own else []
        shares += [replace(one, cell={"model": model, **one.cell}) for one in prompts]
    return [
        *label_movement(frame, several, labels=experiment.labels, group=group, seed=seed),
        *shares,
        *judged(experiment, evaluators, whole, seed, group, coders),
    ]


def judged(
    experiment: Experiment,
    evaluators: Sequence[str],
    frame: pl.DataFrame,
    seed: int,
    group: str | None = None,
    coders: Sequence[str] = (),
) -> list[Estimate]:
    """What verdict and recommendation rest on: the answers' quality, how labels flip, and with which prompt.

    See `findings.verdicts` and `findings.decision`; the arguments are those of `moved`.
    """
    if frame.is_empty():
        return []
    frame = of_first(evaluators, frame)
    asking = [name for name in _several(experiment, frame) if name != "model"]
    few, labels = _sample(frame, seed), experiment.labels
    shared: _Shared = {"coders": coders, "group": group, "seed": seed}
    return [
        *answer_quality(frame, asking, group=group, seed=seed),
        *label_flips(few, asking, labels=labels, group=group, seed=seed),
        *_vouched(experiment, few, prompt_choice(few, labels=labels, group=group, seed=seed), **shared),
    ]


class _Shared(TypedDict):
    coders: Sequence[str]
    group: str | None
    seed: int


def _vouched(
    experiment: Experiment, frame: pl.DataFrame, chosen: list[Estimate], **shared: Unpack[_Shared]
) -> list[Estimate]:
    """The choice of a prompt; and what may be vouched for, of all prompts and of each that may be chosen."""
    compared = [name for name in compared_in(experiment) if name not in shared["coders"]]
    parts = partial(vouched_parts, labels=experiment.labels, compared=compared, **shared)
    found = [*chosen, *parts(frame)]
    prompts = {str(one.cell.get("variant", one.details.get("prompt", ""))) for one in chosen} - {""}
    for prompt in sorted(prompts):
        own = frame.filter(pl.col("variant").cast(pl.String) == prompt)
        found += [replace(one, cell={**one.cell, "variant": prompt}) for one in parts(own)]
    return found


def compared_in(experiment: Experiment) -> list[str]:
    """The columns whose groups of items the study compares."""
    return [*dict.fromkeys(name for item in experiment.items for name in item.groups)]


def group_of(measurements: Sequence[Measurement], frame: pl.DataFrame) -> str | None:
    """The column that groups the items: the one that the study's measures name, if they name one."""
    named = {one.options.get("group") for one in measurements} - {None}
    return str(next(iter(named))) if len(named) == 1 and named <= set(frame.columns) else None


def answered(
    experiment: Experiment,
    evaluators: Sequence[str],
    frame: pl.DataFrame,
    seed: int,
    group: str | None = None,
) -> list[Estimate]:
    """The quality of the answers alone, by the first evaluator: the gate before every number."""
    if frame.is_empty():
        return []
    frame = of_first(evaluators, frame)
    asking = [name for name in _several(experiment, frame) if name != "model"]
    return answer_quality(frame, asking, group=group, seed=seed)


def _several(experiment: Experiment, frame: pl.DataFrame) -> dict[str, list[str]]:
    """The levels of each factor that has several, decoding and model among them."""
    levels: dict[str, dict[str, None]] = {}
    for variant in experiment.variants:
        for factor, level in variant.factors.items():
            levels.setdefault(factor, {})[level] = None
    kinds = {
        "decoding": [*experiment.decodings],
        "model": [*dict.fromkeys(one.model for one in experiment.conditions)],
    }
    for name, known in kinds.items():
        seen = set(frame[name].cast(pl.String).unique().to_list())
        levels[name] = dict.fromkeys(level for level in known if level in seen)
    return {name: [*some] for name, some in levels.items() if len(some) > 1 and name in frame.columns}


def deviating(evaluators: Sequence[str], frame: pl.DataFrame) -> Deviations | None:
    """The answers that deviate from their item's modal label, by the first evaluator; None without any."""
    return None if frame.is_empty() else deviations(of_first(evaluators, frame))


def of_first(evaluators: Sequence[str], frame: pl.DataFrame) -> pl.DataFrame:
    """The annotations of the first of the study's evaluators that there are any of."""
    read = pl.col("evaluator").cast(pl.String)
    own = [name for name in evaluators if frame.select((read == name).any()).item()]
    return frame.filter(read == (own[0] if own else str(frame["evaluator"][0])))


def pictured(measurements: Sequence[Measurement], frame: pl.DataFrame, seed: int) -> list[Estimate]:
    """The estimates behind charts of sensitivity, consistency and calibration, where a study measures these.

    Returns:
        The estimates of each class; the distributions over items and pairs; sensitivity and consistency of
        the noisy and the random predictor (``sensitivity_baseline`` and ``consistency_baseline``, with
        ``predictor`` in the cell); the correlation of the two; and calibration errors model by model.
    """
    if frame.is_empty():
        return []
    first = str(frame["evaluator"][0])
    found: list[Estimate] = []
    for one in measurements:
        if one.measure == "ece":
            with suppress(QuaverError):  # here and below: what the file asks for says why it is not measured
                found += _coarser(one, frame)
    once: dict[tuple[str, tuple[str, ...]], Measurement] = {}
    for one in measurements:
        if one.measure in _OF and one.evaluator in (None, first):  # under one convention, the first named
            once.setdefault((one.measure, tuple(one.options.get("by", ()))), one)
    asked = list(once.values())
    if not asked:
        return found
    frame = frame.filter(pl.col("evaluator").cast(pl.String) == first)
    few = _sample(frame, seed)
    plain: dict[str, list[Estimate]] = {name: [] for name in _OF}
    for one in asked:
        with suppress(QuaverError):
            known = one.of(frame, classes=True, keep=["distribution"])
            if not one.options.get("classes"):  # else the file's own estimates have them
                found += [replace(own, distribution=None) for own in known if "class" in own.cell]
            found += [*distributions(known, matrix=_MATRIX), *_predictors(one, few)]
            plain[one.measure] += known
    if all(plain.values()):
        found.append(sensitivity_with_consistency(*plain.values()))
    return found


def _coarser(one: Measurement, frame: pl.DataFrame) -> list[Estimate]:
    """The calibration error of each model and evaluator over all else, for reliability diagrams."""
    by = tuple(one.options.get("by", ()))
    kept = tuple(column for column in by if column in ("model", "evaluator"))
    return one.of(frame, by=kept) if kept and kept != by else []


def _predictors(one: Measurement, frame: pl.DataFrame) -> Iterator[Estimate]:
    labels = one.options.get("labels")
    if labels is None or len(labels.codes) < 2:
        return
    for kind in _KINDS:
        made = baseline(frame, kind, labels=labels, seed=int(one.options.get("seed", 0)))
        for found in one.of(made, resamples=0):
            yield replace(found, measure=f"{found.measure}_baseline", cell={**found.cell, "predictor": kind})


def _sample(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """All answers to some items, where there are too many."""
    if frame.height <= _MOST_ROWS:
        return frame
    items = frame["item"].unique().cast(pl.String).sort()
    count = max(2, int(len(items) * _MOST_ROWS / frame.height))
    kept = items.sample(min(count, len(items)), seed=abs(seed))
    return frame.filter(pl.col("item").cast(pl.String).is_in(kept.to_list()))


_LONGEST = 400
"""Characters of an answer or a text that are looked up."""

_SQL = """
    SELECT a.condition, a.item, CASE WHEN r.finish = 'error' THEN '[' || ifnull(r.error, 'error') || ']'
           ELSE substr(CAST(r.text AS TEXT), 1, {longest}) END
    FROM calls a JOIN responses r ON r.id = a.response
    WHERE a.repeat = 0 AND a.item IN ({marks}) ORDER BY a.item, a.condition"""


_COSTS = """
    SELECT a.condition, count(*), sum(r.prompt_tokens), sum(r.cached_tokens), sum(r.completion_tokens)
    FROM calls a JOIN responses r ON r.id = a.response GROUP BY a.condition"""


class StoredBehind:
    """The study's items, answers and costs.

    Args:
        experiment: Its design.
        store: Its answers; None where there are none.
        prices: Of its models; None where one is not known.
        made: What was spent on paraphrases.
    """

    def __init__(
        self,
        experiment: Experiment,
        store: Store | None,
        prices: Mapping[str, Price | None],
        made: Sequence[Entry] = (),
    ) -> None:
        self._experiment = experiment
        self._store = store
        self._prices = prices
        self._made = made

    @property
    def raw(self) -> bool:
        """Whether there are stored answers."""
        return self._store is not None

    def texts(self, items: Sequence[str]) -> Mapping[str, str]:
        """The items' texts, as the first variant shows them; of items without a text, nothing."""
        wanted = set(items)
        some = [item for item in self._experiment.items if item.id in wanted]
        try:
            writer = PromptWriter(self._experiment.variants[0], self._experiment.labels)
            return {item.id: writer.text(item)[:_LONGEST] for item in some}
        except QuaverError:
            return {}

    def answers(self, items: Sequence[str]) -> Sequence[RawAnswer]:
        """The first repeat's answers; an error stands in brackets."""
        if self._store is None or not items:
            return ()
        places = {item.id: at for at, item in enumerate(self._experiment.items)}
        asked = [places[item] for item in items if item in places]
        sql = _SQL.format(longest=_LONGEST, marks=", ".join("?" * len(asked)))
        found = []
        for condition, item, text in self._store.rows(sql, asked):
            one = self._experiment.conditions[condition]
            if not one.follow_up:
                where = (self._experiment.items[item].id, one.model, one.variant, one.decoding)
                found.append(RawAnswer(*where, text))
        return found

    def costs(self) -> Sequence[Cost]:
        """The ledger by model, the calls that made paraphrases apart."""
        entries = [*self._made, *(ledger(self._store) if self._store else ())]
        kinds: dict[tuple[str, bool], list[Entry]] = {}
        for one in entries:
            kinds.setdefault((one.model, one.paraphrases), []).append(one)
        return [
            _cost(f"{model} (paraphrases)" if paraphrases else model, some, self._prices.get(model))
            for (model, paraphrases), some in kinds.items()
        ]

    def part_costs(self) -> Sequence[PartCost]:
        """The stored answers by level of each factor that has several; those taken over count as if asked."""
        if self._store is None:
            return ()
        factors = {variant.id: variant.factors for variant in self._experiment.variants}
        sums: dict[tuple[str, str], list[float | None]] = {}
        for condition, *amounts in self._store.rows(_COSTS, []):
            calls, read, cached, written = (float(amount or 0) for amount in amounts)
            one = self._experiment.conditions[condition]
            price = self._prices.get(one.model)
            money = price.of(read, cached, written) if price else None
            for key in (*factors[one.variant].items(), ("decoding", one.decoding), ("model", one.model)):
                before = sums.get(key, [0.0, 0.0, 0.0, 0.0])
                now = (calls, read, written, money)
                sums[key] = [
                    None if a is None or b is None else a + b for a, b in zip(before, now, strict=True)
                ]
        levels = Counter(factor for factor, _ in sums)
        order = [*dict.fromkeys(name for some in factors.values() for name in some), "decoding", "model"]
        return [
            PartCost(factor, level, int(amounts[0] or 0), amounts[1] or 0.0, amounts[2] or 0.0, amounts[3])
            for name in order
            for (factor, level), amounts in sums.items()
            if factor == name and levels[factor] > 1
        ]


def _cost(model: str, entries: Sequence[Entry], price: Price | None) -> Cost:
    asked = [one for one in entries if one.reused is None]
    reused = sum(one.calls for one in entries if one.reused is not None)
    read = float(sum(one.prompt_tokens for one in asked))
    cached = float(sum(one.cached_tokens for one in asked))
    written = float(sum(one.completion_tokens for one in asked))
    calls, errors = sum(one.calls for one in asked), sum(one.errors for one in asked)
    money = price.of(read, cached, written) if price else None
    return Cost(model, calls, reused, errors, read, cached, written, money)
