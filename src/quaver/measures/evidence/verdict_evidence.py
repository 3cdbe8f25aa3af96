"""What verdict and recommendation rest on, from one frame of annotations: all of it from counted answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import polars as pl

from quaver.core.records import Estimate, LabelSet, Numbers
from quaver.estimation.cells import Frame, guarded
from quaver.estimation.coded_columns import frame_of
from quaver.estimation.grouped_items import item_groups
from quaver.estimation.jackknife import Ratio, Resampling
from quaver.estimation.statistic import Sampler, Statistic
from quaver.measures.evidence.answer_table import AnswerTable, answer_tables
from quaver.measures.evidence.flips import label_flips, label_shifts
from quaver.measures.evidence.judged_labels import correctness, vouched_parts
from quaver.measures.evidence.prompt_choice import deviating_prompts, prompt_choice

_KINDS: Final = {
    "failed_calls": "share of calls that ended in an error",
    "unlabelled_answers": "share of calls whose answer has no label",
    "truncated_answers": "share of calls whose answer was cut off at max_tokens",
}


@guarded
def verdict_evidence(
    annotations: Frame,
    factors: Sequence[str] = (),
    *,
    labels: LabelSet,
    compared: Sequence[str] = (),
    coders: Sequence[str] = (),
    group: str | None = None,
    seed: int = 0,
) -> list[Estimate]:
    """What is known of the labels of each model (in the cell).

    Args:
        annotations: A row a call, of one evaluator.
        factors: Columns of the prompt's factors, whose levels may move labels.
        labels: The label set; a label outside it is none.
        compared: Columns of items, each group of which is looked at by itself.
        coders: Columns of coders' labels.
        group: The column that groups the items.
        seed: Of the random signs in `flips.label_shifts`.

    Returns:
        What `answer_quality`, `flips.label_flips`, `flips.label_shifts`, `judged_labels.correctness`,
        `judged_labels.vouched_parts`, `prompt_choice.deviating_prompts` and `prompt_choice.prompt_choice`
        give; what may be vouched for also of each prompt that may be chosen, with ``variant`` in the cell.
        An estimate without a value says why.

    Two items, two prompts; one item's label flips. Of the two pairs of prompts about one item one differs,
    and so does one of the two pairs of prompts about two items:

    >>> from quaver.core.records import Label
    >>> frame = pl.DataFrame({"item": [1, 1, 2, 2], "variant": list("vwvw"), "label": list("aaab")})
    >>> codes = LabelSet(tuple(Label(code, code) for code in "ab"))
    >>> flips = {one.measure: one.value for one in verdict_evidence(frame, labels=codes)}
    >>> flips["flips_prompts"], flips["flips_chance"], flips["flips_agreement"]
    (0.5, 0.5, 0.0)
    """
    frame = frame_of(annotations)
    estimates = answer_quality(frame, factors, group=group)
    for table in answer_tables(frame, labels, group, seed):
        estimates += _of_model(table, factors, compared, coders)
    return estimates


def _of_model(
    table: AnswerTable, factors: Sequence[str], compared: Sequence[str], coders: Sequence[str]
) -> Iterator[Estimate]:
    asked = table.answered
    labelled = asked.labelled
    yield from label_flips(labelled)
    yield from correctness(table)
    if not isinstance(table.labels, Numbers):  # no label's share moves
        yield from label_shifts(labelled, factors)
    yield from vouched_parts(asked, compared, coders)
    yield from deviating_prompts(asked)
    choice = [*prompt_choice(asked)]
    yield from choice
    named = (estimate.cell.get("variant", estimate.details.get("prompt", "")) for estimate in choice)
    for prompt in sorted({str(name) for name in named if name}):
        alone = asked.of_prompts([asked.prompts.index(prompt)])
        for estimate in vouched_parts(alone, compared, coders):
            yield replace(estimate, cell={**estimate.cell, "variant": prompt})


@guarded
def evidence_of_groups(annotations: Frame, column: str, *, labels: LabelSet, seed: int = 0) -> list[Estimate]:
    """What may be vouched for of each group of a column's items, model by model."""
    return [
        estimate
        for table in answer_tables(frame_of(annotations), labels, seed=seed)
        for estimate in vouched_parts(table, [column])
        if estimate.cell.get("group") == column
    ]


def answer_quality(
    frame: pl.DataFrame, factors: Sequence[str] = (), *, group: str | None = None
) -> list[Estimate]:
    """Of all calls of each model: how many failed, gave no label, were cut off.

    One denominator for the three, the calls: ``failed_calls``, ``unlabelled_answers`` (an answer came, and no
    label could be taken from it) and ``truncated_answers``. In the details: ``times`` and ``calls``, and
    ``items``, of how many items every call is one; for the unlabelled ``statuses``, and ``by`` and ``shares``
    of the factor over whose levels their share ranges furthest; for those cut off ``unlabelled``, how many of
    them have no label.

    One call of four failed, one answer has no label:

    >>> statuses = ["valid", "valid", "no_label", "error"]
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "b", None, None], "status": statuses})
    >>> [(one.measure, one.value) for one in answer_quality(frame)]
    [('failed_calls', 0.25), ('unlabelled_answers', 0.25), ('truncated_answers', 0.0)]
    """
    groups = item_groups(frame, group)
    estimates: list[Estimate] = []
    for (model,), calls in _marked(frame, factors).group_by("model", maintain_order=True):
        items = calls.group_by("item", maintain_order=True).agg(pl.len(), pl.col(*_KINDS).sum())
        sampler = Sampler(groups.units(items["item"].to_list()), Resampling(), where={"model": str(model)})
        asked = items["len"].to_numpy().astype(float)
        for kind, method in _KINDS.items():
            times = items[kind].to_numpy().astype(float)
            counted = {"times": times.sum(), "calls": asked.sum(), "items": (times == asked).sum()}
            details = {**_details(calls, kind, factors), **{name: int(n) for name, n in counted.items()}}
            ratio = Ratio(times[:, None], asked[:, None])
            share = Statistic(part=kind, method=method, under=ratio, ends=(0.0, 1.0), details=details)
            estimates.append(sampler.estimated(share))
    return estimates


def _marked(frame: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """The columns that are needed, with one of Booleans for each kind."""
    absent = {"model": "", "status": "no_label", "truncated": False}
    missing = [pl.lit(value).alias(name) for name, value in absent.items() if name not in frame.columns]
    columns = {"item", "model", "status", "label", *(name for name in factors if name in frame.columns)}
    calls = frame.with_columns(*missing)
    texts = calls.select(pl.col(*columns).cast(pl.String), pl.col("truncated").cast(pl.Boolean))
    filled = [pl.col(name).fill_null(value) for name, value in absent.items()]
    bare = pl.col("label").is_null()
    failed = bare & (pl.col("status") == "error")
    return texts.with_columns(*filled).with_columns(
        failed_calls=failed, unlabelled_answers=bare & ~failed, truncated_answers=pl.col("truncated")
    )


def _details(calls: pl.DataFrame, kind: str, factors: Sequence[str]) -> Mapping[str, Any]:
    """Of answers cut off how many have no label; of those without one their statuses, and by which factor."""
    if kind == "truncated_answers":
        both = calls.filter(pl.col("truncated_answers") & pl.col("unlabelled_answers"))
        return {"unlabelled": both.height}
    if kind == "failed_calls":
        return {}
    statuses = calls.filter(pl.col(kind))["status"].value_counts()
    ordered = statuses.sort("count", "status", descending=[True, False])
    details: dict[str, Any] = {"statuses": dict(ordered.iter_rows())}
    widest = -1.0
    for factor in (name for name in factors if name in calls.columns):
        levels = (
            calls.drop_nulls(factor).group_by(factor).agg(share=pl.col(kind).mean()).sort("share", factor)
        )
        span = float(levels["share"][-1] - levels["share"][0]) if levels.height > 1 else -1.0
        if span > widest:
            widest = span
            details |= {"by": factor, "shares": dict(levels.iter_rows())}
    return details
