"""What a report says of how the answers were read, whatever measures its study asks for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from quaver.design.spec import MeasureSpec

_CONDITION = ("model", "decoding")


def audited(frame: pl.DataFrame, factors: Sequence[str], stated: Collection[str]) -> list[MeasureSpec]:
    """The measures of an audit: compliance, evaluators compared, parse rates, and what is missing.

    Args:
        frame: The annotations, those of the evaluator that is reported first.
        factors: The columns that the variants fill.
        stated: The evaluators that read stated confidence.

    Returns:
        Compliance by variant and by each factor that varies; of several evaluators, what they read
        differently and the shares of gaps recovered; the calibration of stated confidence, for its parse
        rates; and where the first evaluator left answers without a label, the bounds that these leave.
    """
    if frame.is_empty():
        return []
    evaluators = frame["evaluator"].unique(maintain_order=True).cast(pl.String).to_list()
    variants = frame["variant"].n_unique()  # what tells nearly every variant apart says no more than these
    there = [name for name in factors if name in frame.columns and name != "distance"]  # its band says it
    varying = [name for name in there if 1 < frame[name].n_unique() <= variants / 2]
    asked = [MeasureSpec(use="compliance")]
    asked += [MeasureSpec(use="compliance", by=(*_CONDITION, name)) for name in varying]
    others = [name for name in evaluators[1:] if name not in stated]  # those read by another's rule
    for measure in ("evaluator_flips", "recovered_share"):
        asked += [MeasureSpec.model_validate({"use": measure, "second": name}) for name in others]
    for name in stated:
        if name in evaluators:
            asked.append(MeasureSpec(use="verbal_calibration", evaluator=name))
    first = frame.filter(pl.col("evaluator").cast(pl.String) == evaluators[0])
    if first["label"].null_count():
        asked.append(MeasureSpec(use="missing_bounds", evaluator=evaluators[0]))
        asked.append(MeasureSpec(use="missing_bounds", evaluator=evaluators[0], by=_CONDITION))
    return asked
