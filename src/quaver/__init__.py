"""Quaver measures how far the labels that a language model gives to texts can be trusted.

Where to begin, each with more under ``help(quaver.NAME)``:

- ``Study.open("study.yaml")``: a study, from its file to its report;
- ``import_annotations``: a study of labels that exist already; ``measure_agreement``: how far they agree;
- ``compare``, ``worst``: what a change did, and which items to look at first;
- ``conclusion``, ``consensus``: what follows from the labels under every prompt, and of all prompts together;
- ``bundle``, ``verify``: a study in one archive, and every number of it computed anew;
- the measures, by the names that study files use: of a frame with a row an annotation (``accuracy``,
  ``inter_pss``, ``sensitivity`` …), or of items × raters (``krippendorff_alpha`` and its kin);
- ``QuaverError``: what every error that the user can mend is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quaver.errors import (
    ContextOverflow,
    ItemError,
    MeasureError,
    MissingKey,
    ModelError,
    QuaverError,
    RateLimited,
    SpecError,
    StoreError,
    Unavailable,
    UnknownName,
)

if TYPE_CHECKING:
    from quaver.agreement.alpha import krippendorff_alpha
    from quaver.agreement.chance_agreement import cohen_kappa, fleiss_kappa, gwet_ac, percent_agreement
    from quaver.bundles.packing import bundle
    from quaver.bundles.verification import verify
    from quaver.comparison.paired_comparison import Comparison, compare
    from quaver.comparison.worst_items import Worst, worst
    from quaver.core.records import Estimate, Label, LabelSet
    from quaver.estimation.answer_views import view
    from quaver.estimation.rank_correlation import covariate_correlation, spearman
    from quaver.measures.calibration.calibration_error import brier, ece, mce, reliability_curve
    from quaver.measures.calibration.token_confidence import ece_shift
    from quaver.measures.calibration.verbal_calibration import verbal_calibration
    from quaver.measures.correctness.accuracy import accuracy
    from quaver.measures.correctness.baselines import baseline
    from quaver.measures.correctness.differences import differences, mcnemar
    from quaver.measures.correctness.evaluator_flips import evaluator_flips
    from quaver.measures.correctness.f1 import f1
    from quaver.measures.correctness.factor_effects import factor_effects
    from quaver.measures.correctness.mixed_effects import mixed_effects
    from quaver.measures.correctness.mixed_logit import likelihood_ratio, mixed_logit
    from quaver.measures.correctness.recovered_share import recovered_share
    from quaver.measures.correctness.robustness import spread
    from quaver.measures.stability.expected_stability import expected_intra_pss
    from quaver.measures.stability.generalizability import dependability, generalizability, smallest_design
    from quaver.measures.stability.paraphrase_stability import original_agreement, paraphrase_stability
    from quaver.measures.stability.prompt_stability import inter_model, inter_pss, intra_pss, pooled_pss
    from quaver.measures.stability.repeated_answers import (
        answer_entropy,
        mode_frequency,
        repeated_answers,
        strict_stability,
    )
    from quaver.measures.stability.stability_curves import intra_pss_adjacent, intra_pss_cumulative
    from quaver.measures.stability.subsamples import inter_pss_subsamples, intra_pss_subsamples
    from quaver.measures.validity.coders import coder_agreement
    from quaver.measures.validity.compliance import compliance
    from quaver.measures.validity.conclusions import conclusion
    from quaver.measures.validity.consensus import consensus, dawid_skene
    from quaver.measures.validity.missing_bounds import missing_bounds
    from quaver.measures.validity.readiness import readiness
    from quaver.measures.variation.consistency import consistency, consistency_matrix
    from quaver.measures.variation.deviations import unlike_answers, unlike_shares
    from quaver.measures.variation.distribution_shift import distribution_shift
    from quaver.measures.variation.item_distributions import distributions
    from quaver.measures.variation.item_sensitivity import sensitivity
    from quaver.measures.variation.item_tables import item_stability, least_consistent, most_sensitive
    from quaver.measures.variation.label_movement import label_movement
    from quaver.measures.variation.label_shares import distinct_annotations, label_shares
    from quaver.measures.variation.output_uncertainty import output_uncertainty
    from quaver.measures.variation.sensitivity_consistency import sensitivity_with_consistency
    from quaver.study.imports.agreement_import import measure_agreement, read_annotations
    from quaver.study.imports.label_import import Roles, import_annotations
    from quaver.study.session import Study

    __version__: str

__all__ = [
    "Comparison",
    "ContextOverflow",
    "Estimate",
    "ItemError",
    "Label",
    "LabelSet",
    "MeasureError",
    "MissingKey",
    "ModelError",
    "QuaverError",
    "RateLimited",
    "Roles",
    "SpecError",
    "StoreError",
    "Study",
    "Unavailable",
    "UnknownName",
    "Worst",
    "__version__",
    "accuracy",
    "answer_entropy",
    "baseline",
    "brier",
    "bundle",
    "coder_agreement",
    "cohen_kappa",
    "compare",
    "compliance",
    "conclusion",
    "consensus",
    "consistency",
    "consistency_matrix",
    "covariate_correlation",
    "dawid_skene",
    "dependability",
    "differences",
    "distinct_annotations",
    "distribution_shift",
    "distributions",
    "ece",
    "ece_shift",
    "evaluator_flips",
    "expected_intra_pss",
    "f1",
    "factor_effects",
    "fleiss_kappa",
    "generalizability",
    "gwet_ac",
    "import_annotations",
    "inter_model",
    "inter_pss",
    "inter_pss_subsamples",
    "intra_pss",
    "intra_pss_adjacent",
    "intra_pss_cumulative",
    "intra_pss_subsamples",
    "item_stability",
    "krippendorff_alpha",
    "label_movement",
    "label_shares",
    "least_consistent",
    "likelihood_ratio",
    "mce",
    "mcnemar",
    "measure_agreement",
    "missing_bounds",
    "mixed_effects",
    "mixed_logit",
    "mode_frequency",
    "most_sensitive",
    "original_agreement",
    "output_uncertainty",
    "paraphrase_stability",
    "percent_agreement",
    "pooled_pss",
    "read_annotations",
    "readiness",
    "recovered_share",
    "reliability_curve",
    "repeated_answers",
    "sensitivity",
    "sensitivity_with_consistency",
    "smallest_design",
    "spearman",
    "spread",
    "strict_stability",
    "unlike_answers",
    "unlike_shares",
    "verbal_calibration",
    "verify",
    "view",
    "worst",
]

_PUBLIC = {
    "quaver.study.imports.agreement_import": (
        "measure_agreement",
        "read_annotations",
    ),
    "quaver.bundles.packing": ("bundle",),
    "quaver.comparison.paired_comparison": (
        "Comparison",
        "compare",
    ),
    "quaver.study.imports.label_import": (
        "Roles",
        "import_annotations",
    ),
    "quaver.agreement.alpha": ("krippendorff_alpha",),
    "quaver.measures.correctness.baselines": ("baseline",),
    "quaver.measures.calibration.calibration_error": (
        "brier",
        "ece",
        "mce",
        "reliability_curve",
    ),
    "quaver.agreement.chance_agreement": (
        "cohen_kappa",
        "fleiss_kappa",
        "gwet_ac",
        "percent_agreement",
    ),
    "quaver.measures.validity.coders": ("coder_agreement",),
    "quaver.measures.validity.compliance": ("compliance",),
    "quaver.measures.validity.conclusions": ("conclusion",),
    "quaver.measures.validity.consensus": (
        "consensus",
        "dawid_skene",
    ),
    "quaver.measures.variation.consistency": (
        "consistency",
        "consistency_matrix",
    ),
    "quaver.measures.correctness.accuracy": ("accuracy",),
    "quaver.measures.correctness.differences": (
        "differences",
        "mcnemar",
    ),
    "quaver.measures.variation.distribution_shift": ("distribution_shift",),
    "quaver.measures.variation.item_distributions": ("distributions",),
    "quaver.measures.correctness.evaluator_flips": ("evaluator_flips",),
    "quaver.measures.stability.expected_stability": ("expected_intra_pss",),
    "quaver.measures.correctness.f1": ("f1",),
    "quaver.measures.correctness.factor_effects": ("factor_effects",),
    "quaver.measures.stability.generalizability": (
        "dependability",
        "generalizability",
        "smallest_design",
    ),
    "quaver.measures.variation.item_tables": (
        "item_stability",
        "least_consistent",
        "most_sensitive",
    ),
    "quaver.measures.validity.missing_bounds": ("missing_bounds",),
    "quaver.measures.correctness.mixed_effects": ("mixed_effects",),
    "quaver.measures.correctness.mixed_logit": (
        "likelihood_ratio",
        "mixed_logit",
    ),
    "quaver.measures.variation.label_movement": ("label_movement",),
    "quaver.measures.stability.prompt_stability": (
        "inter_model",
        "inter_pss",
        "intra_pss",
        "pooled_pss",
    ),
    "quaver.estimation.rank_correlation": (
        "covariate_correlation",
        "spearman",
    ),
    "quaver.measures.validity.readiness": ("readiness",),
    "quaver.measures.correctness.recovered_share": ("recovered_share",),
    "quaver.measures.stability.repeated_answers": (
        "answer_entropy",
        "mode_frequency",
        "repeated_answers",
        "strict_stability",
    ),
    "quaver.measures.correctness.robustness": ("spread",),
    "quaver.measures.variation.item_sensitivity": ("sensitivity",),
    "quaver.measures.variation.sensitivity_consistency": ("sensitivity_with_consistency",),
    "quaver.measures.variation.label_shares": (
        "distinct_annotations",
        "label_shares",
    ),
    "quaver.measures.stability.stability_curves": (
        "intra_pss_adjacent",
        "intra_pss_cumulative",
    ),
    "quaver.measures.stability.subsamples": (
        "inter_pss_subsamples",
        "intra_pss_subsamples",
    ),
    "quaver.measures.calibration.token_confidence": ("ece_shift",),
    "quaver.measures.variation.output_uncertainty": ("output_uncertainty",),
    "quaver.measures.variation.deviations": (
        "unlike_answers",
        "unlike_shares",
    ),
    "quaver.measures.calibration.verbal_calibration": ("verbal_calibration",),
    "quaver.estimation.answer_views": ("view",),
    "quaver.measures.stability.paraphrase_stability": (
        "original_agreement",
        "paraphrase_stability",
    ),
    "quaver.core.records": (
        "Estimate",
        "Label",
        "LabelSet",
    ),
    "quaver.study.session": ("Study",),
    "quaver.comparison.worst_items": (
        "Worst",
        "worst",
    ),
    "quaver.bundles.verification": ("verify",),
}
"""Names whose modules take a while to load: they are, when one of their names is first used."""

_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("quaver")
    if name not in _HOMES:
        raise AttributeError(f"module 'quaver' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
