"""Agreement in annotations that Quaver did not collect: a file, or a frame with columns of any name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

from quaver.errors import MeasureError
from quaver.measure import guarded
from quaver.measure.agreement import alpha_of
from quaver.measure.bootstrap import Resampling
from quaver.measure.chance_agreement import kappa_of
from quaver.measure.ratings import label_set_of
from quaver.measure.table import Missing, cells
from quaver.records import Estimate, LabelSet, Level

__all__ = ["agreement", "read_annotations"]


@guarded
def read_annotations(path: str | Path) -> pl.DataFrame:
    """Read a CSV, TSV, JSON Lines or Parquet file, every cell of a CSV as the text that stands there.

    An empty cell is null. ``N/A``, ``None``, ``nan`` and the like are text: somebody's model wrote them.

    Args:
        path: The file; its ending says which kind it is.

    Returns:
        A row an annotation, with the columns that the file has.

    Raises:
        MeasureError: The file does not exist or cannot be read.
    """
    path = Path(path)
    try:
        match path.suffix.lower():
            case ".parquet":
                return pl.read_parquet(path)
            case ".jsonl" | ".ndjson":
                return pl.read_ndjson(path, infer_schema_length=None)
            case suffix:
                separator = "\t" if suffix in (".tsv", ".tab") else ","
                return pl.read_csv(path, separator=separator, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise MeasureError(
            "the annotations cannot be read",
            where=str(path),
            expected="a CSV, TSV, JSON Lines or Parquet file in UTF-8",
            found=" ".join(str(error).split())[:300],
        ) from error


def agreement(
    annotations: Any,
    *,
    item: str = "item",
    rater: str | Sequence[str] = "rater",
    label: str = "label",
    by: Sequence[str] = (),
    labels: LabelSet | Sequence[Any] | None = None,
    level: Level | None = None,
    missing: Missing = "drop",
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
) -> list[Estimate]:
    """Krippendorff's alpha, percent agreement, the kappas and Gwet's coefficient of any annotations.

    Args:
        annotations: A long frame, a row an annotation, or the path of a file that holds one.
        item: Its column of items.
        rater: Its column, or columns, of raters: coders, wordings, repeats.
        label: Its column of labels.
        by: Columns whose combinations are measured apart.
        labels: The valid labels, in order: others count as missing, and are counted. All that occur, without.
        level: Level of measurement; nominal, or the label set's.
        missing: ``"drop"``, or ``"category"``: one more label (nominal only).
        confidence: Nominal level of the intervals.
        resamples: Bootstrap resamples of items.
        seed: Root seed.
        group: Resample the groups of items in this column.
        interval: Which interval is given.

    Returns:
        Five estimates for each cell.

    Raises:
        MeasureError: The file, the frame or an option cannot be used.

    >>> frame = pl.DataFrame({"id": [1, 1, 2, 2, 3, 3], "coder": ["p", "q"] * 3, "code": list("aaabbb")})
    >>> [(e.measure, round(e.value, 3)) for e in agreement(frame, item="id", rater="coder", label="code")][:2]
    [('krippendorff_alpha', 0.444), ('percent_agreement', 0.667)]
    """
    if isinstance(annotations, (str, Path)):
        annotations = read_annotations(annotations)
    resampling = Resampling(confidence, resamples, seed, interval)
    at = level or (labels.level if isinstance(labels, LabelSet) else "nominal")
    label_set = label_set_of(labels, at)
    found: list[Estimate] = []
    for cell in cells(
        annotations,
        raters=("rater",),
        by=by,
        labels=label_set,
        columns={"item": item, "rater": rater, "label": label},
        group=group,
        missing=missing,
    ):
        found.append(alpha_of(cell, resampling, at, label_set, missing))
        for kind in ("percent_agreement", "fleiss_kappa", "cohen_kappa", "gwet_ac"):
            found.append(kappa_of(kind, cell, resampling, at, label_set, missing))
    return found
