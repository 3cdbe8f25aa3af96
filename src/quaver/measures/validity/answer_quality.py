"""What stands between calls and labels: calls that failed, answers without a label, answers cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from quaver.core.records import Estimate
from quaver.estimation.bootstrap import Resampling
from quaver.estimation.gathered import frame_of
from quaver.estimation.intervals import mean_within
from quaver.estimation.item_groups import item_groups
from quaver.estimation.means import differing, ratio
from quaver.estimation.measure_protocol import Frame, guarded
from quaver.estimation.statistic import Sampler, Statistic

_RESAMPLES = 500
_KINDS = {
    "failed_calls": "share of calls that ended in an error",
    "unlabelled_answers": "share of calls whose answer has no label",
    "truncated_answers": "share of calls whose answer was cut off at max_tokens",
}


@guarded
def answer_quality(
    annotations: Frame,
    factors: Sequence[str] = (),
    *,
    group: str | None = None,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """Of all calls of each model: how many failed, gave no label, were cut off.

    One denominator for the three, the calls: ``failed_calls``, ``unlabelled_answers`` (an answer came, and no
    label could be taken from it) and ``truncated_answers``. In the details: ``times`` and ``calls``; for the
    unlabelled ``statuses``, and ``by`` and ``shares`` of the factor over whose levels their share ranges
    furthest; for those cut off ``unlabelled``, how many of them have no label.

    Args:
        annotations: A row an annotation, of one evaluator: ``item``, ``label``, and where they are known
            ``model``, ``status``, ``truncated`` and a column for each factor.
        factors: The columns that vary with the prompt.
        group: The column whose groups of items are the units of the intervals, instead of items.
        resamples: 0 for no intervals.
        seed: Root seed.

    Returns:
        Three estimates for each model, with ``model`` in the cell.

    One call of four failed, one answer has no label:

    >>> statuses = ["valid", "valid", "no_label", "error"]
    >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": ["a", "b", None, None], "status": statuses})
    >>> [(one.measure, one.value) for one in answer_quality(frame)]
    [('failed_calls', 0.25), ('unlabelled_answers', 0.25), ('truncated_answers', 0.0)]
    """
    given = frame_of(annotations)
    frame, groups = _marked(given, factors), item_groups(given, group)
    resampling = Resampling(resamples=resamples, seed=seed)
    found = []
    for (model,), part in frame.group_by("model", maintain_order=True):
        items = part.group_by("item", maintain_order=True).agg(
            pl.len(), *(pl.col(kind).sum() for kind in _KINDS)
        )
        units = groups.units(items["item"].to_list())
        calls = items["len"].to_numpy().astype(float)
        for kind, method in _KINDS.items():
            times = items[kind].to_numpy().astype(float)
            details = {"times": int(times.sum()), "calls": int(calls.sum())}
            share = Statistic(
                method=method,
                under=ratio(times[:, None], calls[:, None]),
                differing=differing(times / calls, units),
                ends=(0.0, 1.0),
                spread=mean_within,
                details={**_details(part, kind, factors), **details},
            )
            where = {"model": str(model)}
            found.append(Sampler(units, resampling, measure=kind, where=where).estimated(share))
    return found


def _marked(frame: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """The columns that are needed, with one of Booleans for each kind."""
    status = pl.col("status").cast(pl.String) if "status" in frame.columns else pl.lit("no_label")
    bare = pl.col("label").is_null()
    cut = pl.col("truncated").fill_null(False) if "truncated" in frame.columns else pl.lit(False)
    failed = bare & (status == "error").fill_null(False)
    model = pl.col("model").cast(pl.String) if "model" in frame.columns else pl.lit("")
    return frame.select(
        pl.col("item").cast(pl.String),
        *(pl.col(name).cast(pl.String) for name in factors if name in frame.columns),
        model.alias("model"),
        status.fill_null("no_label").alias("status"),
        failed.alias("failed_calls"),
        (bare & ~failed).alias("unlabelled_answers"),
        cut.alias("truncated_answers"),
    )


def _details(part: pl.DataFrame, kind: str, factors: Sequence[str]) -> Mapping[str, object]:
    if kind == "truncated_answers":
        both = pl.col("truncated_answers") & pl.col("unlabelled_answers")
        return {"unlabelled": int(part.select(both.sum()).item())}
    if kind != "unlabelled_answers":
        return {}
    bare = part.filter(pl.col(kind))
    statuses = bare["status"].value_counts().sort("count", "status", descending=[True, False])
    details: dict[str, object] = {"statuses": dict(statuses.iter_rows())}
    widest = -1.0
    for factor in factors:
        if factor not in part.columns:
            continue
        known = part.filter(pl.col(factor).is_not_null()).group_by(factor).agg(share=pl.col(kind).mean())
        shares: dict[str, float] = dict(known.sort("share", factor).iter_rows())
        if len(shares) > 1 and (span := max(shares.values()) - min(shares.values())) > widest:
            widest = span
            details |= {"by": factor, "shares": shares}
    return details
