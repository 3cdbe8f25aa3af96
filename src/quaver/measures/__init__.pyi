"""The measures with their arguments. Written by ``python -m quaver.measures._stub``: do not edit."""

from collections.abc import Collection, Sequence
from typing import Literal

from quaver.core.records import Estimate, LabelSet
from quaver.estimation.column_roles import Columns
from quaver.estimation.declaration import Measure
from quaver.estimation.measure_protocol import Frame
from quaver.estimation.statistic import Keep

def accuracy(
    annotations: Frame,
    *,
    missing: Literal["wrong", "drop"] = "wrong",
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def compliance(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def differences(
    annotations: Frame,
    *,
    between: str | Sequence[str] = "variant",
    reference: str | None = None,
    missing: Literal["wrong", "drop"] = "wrong",
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def distinct_annotations(
    annotations: Frame,
    *,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def inter_model(
    annotations: Frame,
    *,
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    missing: Literal["drop", "category"] = "drop",
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def inter_pss(
    annotations: Frame,
    *,
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    missing: Literal["drop", "category"] = "drop",
    view: Literal["original", "filtered", "balanced", "matched"] = "original",
    across: str | None = None,
    paraphrases: Literal["fixed", "random"] = "fixed",
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def intra_pss(
    annotations: Frame,
    *,
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    missing: Literal["drop", "category"] = "drop",
    view: Literal["original", "filtered", "balanced", "matched"] = "original",
    across: str | None = None,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def label_shares(
    annotations: Frame,
    *,
    missing: Literal["drop", "category"] = "drop",
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def pooled_pss(
    annotations: Frame,
    *,
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    missing: Literal["drop", "category"] = "drop",
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def sensitivity(
    annotations: Frame,
    *,
    convention: Literal["recommended", "paper"] = "recommended",
    missing: Literal["drop", "category"] | None = None,
    classes: bool = False,
    labels: LabelSet | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
    columns: Columns | None = None,
    group: str | None = None,
    interval: Literal["bca", "percentile"] = "bca",
    keep: Collection[Keep] = (),
) -> list[Estimate]: ...
def __getattr__(name: str) -> Measure: ...  # of other packages
