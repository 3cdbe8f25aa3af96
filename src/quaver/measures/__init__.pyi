"""The measures with their arguments. Written by ``python -m quaver.measures._stub``: do not edit."""

from collections.abc import Collection, Sequence
from typing import Literal

from quaver.core.records import Decoding, Estimate, LabelSet
from quaver.estimation.answer_views import view as view
from quaver.estimation.column_roles import Columns
from quaver.estimation.declaration import Measure
from quaver.estimation.measure_protocol import Frame
from quaver.estimation.rank_correlation import covariate_correlation as covariate_correlation
from quaver.estimation.rank_correlation import spearman as spearman
from quaver.estimation.statistic import Keep
from quaver.measures.calibration.calibration_error import reliability_curve as reliability_curve
from quaver.measures.correctness.baselines import baseline as baseline
from quaver.measures.correctness.differences import mcnemar as mcnemar
from quaver.measures.correctness.mixed_logit import likelihood_ratio as likelihood_ratio
from quaver.measures.correctness.mixed_logit import mixed_logit as mixed_logit
from quaver.measures.stability.generalizability import dependability as dependability
from quaver.measures.stability.generalizability import smallest_design as smallest_design
from quaver.measures.stability.repeated_answers import repeated_answers as repeated_answers
from quaver.measures.validity.conclusions import conclusion as conclusion
from quaver.measures.validity.consensus import consensus as consensus
from quaver.measures.validity.consensus import dawid_skene as dawid_skene
from quaver.measures.variation.consistency import consistency_matrix as consistency_matrix
from quaver.measures.variation.deviations import unlike_answers as unlike_answers
from quaver.measures.variation.deviations import unlike_shares as unlike_shares
from quaver.measures.variation.item_distributions import distributions as distributions
from quaver.measures.variation.item_tables import item_stability as item_stability
from quaver.measures.variation.item_tables import least_consistent as least_consistent
from quaver.measures.variation.item_tables import most_sensitive as most_sensitive
from quaver.measures.variation.label_movement import label_movement as label_movement
from quaver.measures.variation.sensitivity_consistency import (
    sensitivity_with_consistency as sensitivity_with_consistency,
)

FUNCTIONS: dict[str, str]

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
def answer_entropy(
    annotations: Frame,
    *,
    missing: Literal["category", "drop"] = "category",
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
def brier(
    annotations: Frame,
    *,
    bins: int = 10,
    binning: Literal["width", "mass"] = "width",
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
def ece(
    annotations: Frame,
    *,
    bins: int = 10,
    binning: Literal["width", "mass"] = "width",
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
def ece_shift(
    annotations: Frame,
    *,
    bins: int = 10,
    binning: Literal["width", "mass"] = "width",
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
def evaluator_flips(
    annotations: Frame,
    *,
    first: str | None = None,
    second: str | None = None,
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
def expected_intra_pss(
    annotations: Frame,
    *,
    repeats: int = 10,
    temperature: float | None = None,
    decoding: Decoding | None = None,
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
def generalizability(
    annotations: Frame,
    *,
    variants: int = 1,
    repeats: int = 1,
    models: int = 1,
    target: float = 0.8,
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
def inter_pss_subsamples(
    annotations: Frame,
    *,
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    missing: Literal["drop", "category"] = "drop",
    shares: Sequence[float] = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75),
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
def intra_pss_adjacent(
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
def intra_pss_cumulative(
    annotations: Frame,
    *,
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    missing: Literal["drop", "category"] = "drop",
    tolerance: float = 0.01,
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
def intra_pss_subsamples(
    annotations: Frame,
    *,
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    missing: Literal["drop", "category"] = "drop",
    shares: Sequence[float] = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75),
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
def mce(
    annotations: Frame,
    *,
    bins: int = 10,
    binning: Literal["width", "mass"] = "width",
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
def mode_frequency(
    annotations: Frame,
    *,
    missing: Literal["category", "drop"] = "category",
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
def original_agreement(
    annotations: Frame,
    *,
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None = None,
    missing: Literal["drop", "category"] = "drop",
    original: str | None = None,
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
def output_uncertainty(
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
def paraphrase_stability(
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
def recovered_share(
    annotations: Frame,
    *,
    first: str | None = None,
    second: str | None = None,
    variant: str | None = None,
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
def strict_stability(
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
def verbal_calibration(
    annotations: Frame,
    *,
    threshold: float = 0.8,
    bins: int = 10,
    binning: Literal["width", "mass"] = "width",
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
