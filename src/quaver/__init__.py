"""Quaver measures how far the labels that a language model gives to texts can be trusted.

Where to begin, each with more under ``help(quaver.NAME)``:

- ``Study.open("study.yaml")``: a study, from its file to its report;
- ``import_annotations``: a study of labels that exist already; ``agreement``: how far they agree, at once;
- ``compare``, ``worst``: what a change did, and which items to look at first;
- ``conclusion``, ``consensus``: what follows from the labels under every prompt, and of all prompts together;
- ``bundle``, ``verify``: a study in one archive, and every number of it computed anew;
- the measures, by the names that study files use: of a frame with a row an annotation (``accuracy``,
  ``inter_pss``, ``sensitivity`` …), or of items × raters (``krippendorff_alpha`` and its kin);
- ``QuaverError``: what every error that the user can mend is.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
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
    from quaver.agreeing import agreement, read_annotations
    from quaver.bundling import bundle
    from quaver.comparing import Comparison, compare
    from quaver.importing import Roles, import_annotations
    from quaver.measure.agreement import krippendorff_alpha
    from quaver.measure.baselines import baseline
    from quaver.measure.calibration import brier, ece, mce, reliability_curve
    from quaver.measure.chance_agreement import cohen_kappa, fleiss_kappa, gwet_ac, percent_agreement
    from quaver.measure.coders import coder_agreement
    from quaver.measure.compliance import compliance
    from quaver.measure.conclusions import conclusion
    from quaver.measure.consensus import consensus, dawid_skene
    from quaver.measure.consistency import consistency, consistency_matrix
    from quaver.measure.correctness import accuracy
    from quaver.measure.differences import differences, mcnemar
    from quaver.measure.distribution_shift import distribution_shift
    from quaver.measure.distributions import distributions
    from quaver.measure.evaluators import evaluator_flips
    from quaver.measure.expected_stability import expected_intra_pss
    from quaver.measure.f1 import f1
    from quaver.measure.factor_effects import factor_effects
    from quaver.measure.generalizability import dependability, generalizability, smallest_design
    from quaver.measure.item_tables import item_stability, least_consistent, most_sensitive
    from quaver.measure.missing_bounds import missing_bounds
    from quaver.measure.mixed_effects import mixed_effects
    from quaver.measure.mixed_logit import likelihood_ratio, mixed_logit
    from quaver.measure.movement import label_movement
    from quaver.measure.prompt_stability import inter_model, inter_pss, intra_pss, pooled_pss
    from quaver.measure.rank_correlation import covariate_correlation, spearman
    from quaver.measure.readiness import readiness
    from quaver.measure.recovered_share import recovered_share
    from quaver.measure.repeated_answers import (
        answer_entropy,
        mode_frequency,
        repeated_answers,
        strict_stability,
    )
    from quaver.measure.robustness import spread
    from quaver.measure.sensitivity import sensitivity
    from quaver.measure.sensitivity_consistency import sensitivity_with_consistency
    from quaver.measure.shares import distinct_annotations, label_shares
    from quaver.measure.stability_curves import intra_pss_adjacent, intra_pss_cumulative
    from quaver.measure.subsamples import inter_pss_subsamples, intra_pss_subsamples
    from quaver.measure.token_confidence import ece_shift
    from quaver.measure.uncertainty import output_uncertainty
    from quaver.measure.unlike import unlike_answers, unlike_shares
    from quaver.measure.verbal_calibration import verbal_calibration
    from quaver.measure.views import view
    from quaver.measure.wordings import original_agreement, wording_stability
    from quaver.records import Estimate, Label, LabelSet
    from quaver.study import Study
    from quaver.verifying import verify
    from quaver.worst_items import Worst, worst

__version__ = version("quaver")

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
    "agreement",
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
    "missing_bounds",
    "mixed_effects",
    "mixed_logit",
    "mode_frequency",
    "most_sensitive",
    "original_agreement",
    "output_uncertainty",
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
    "wording_stability",
    "worst",
]

_PUBLIC = {
    "quaver.agreeing": (
        "agreement",
        "read_annotations",
    ),
    "quaver.bundling": ("bundle",),
    "quaver.comparing": (
        "Comparison",
        "compare",
    ),
    "quaver.importing": (
        "Roles",
        "import_annotations",
    ),
    "quaver.measure.agreement": ("krippendorff_alpha",),
    "quaver.measure.baselines": ("baseline",),
    "quaver.measure.calibration": (
        "brier",
        "ece",
        "mce",
        "reliability_curve",
    ),
    "quaver.measure.chance_agreement": (
        "cohen_kappa",
        "fleiss_kappa",
        "gwet_ac",
        "percent_agreement",
    ),
    "quaver.measure.coders": ("coder_agreement",),
    "quaver.measure.compliance": ("compliance",),
    "quaver.measure.conclusions": ("conclusion",),
    "quaver.measure.consensus": (
        "consensus",
        "dawid_skene",
    ),
    "quaver.measure.consistency": (
        "consistency",
        "consistency_matrix",
    ),
    "quaver.measure.correctness": ("accuracy",),
    "quaver.measure.differences": (
        "differences",
        "mcnemar",
    ),
    "quaver.measure.distribution_shift": ("distribution_shift",),
    "quaver.measure.distributions": ("distributions",),
    "quaver.measure.evaluators": ("evaluator_flips",),
    "quaver.measure.expected_stability": ("expected_intra_pss",),
    "quaver.measure.f1": ("f1",),
    "quaver.measure.factor_effects": ("factor_effects",),
    "quaver.measure.generalizability": (
        "dependability",
        "generalizability",
        "smallest_design",
    ),
    "quaver.measure.item_tables": (
        "item_stability",
        "least_consistent",
        "most_sensitive",
    ),
    "quaver.measure.missing_bounds": ("missing_bounds",),
    "quaver.measure.mixed_effects": ("mixed_effects",),
    "quaver.measure.mixed_logit": (
        "likelihood_ratio",
        "mixed_logit",
    ),
    "quaver.measure.movement": ("label_movement",),
    "quaver.measure.prompt_stability": (
        "inter_model",
        "inter_pss",
        "intra_pss",
        "pooled_pss",
    ),
    "quaver.measure.rank_correlation": (
        "covariate_correlation",
        "spearman",
    ),
    "quaver.measure.readiness": ("readiness",),
    "quaver.measure.recovered_share": ("recovered_share",),
    "quaver.measure.repeated_answers": (
        "answer_entropy",
        "mode_frequency",
        "repeated_answers",
        "strict_stability",
    ),
    "quaver.measure.robustness": ("spread",),
    "quaver.measure.sensitivity": ("sensitivity",),
    "quaver.measure.sensitivity_consistency": ("sensitivity_with_consistency",),
    "quaver.measure.shares": (
        "distinct_annotations",
        "label_shares",
    ),
    "quaver.measure.stability_curves": (
        "intra_pss_adjacent",
        "intra_pss_cumulative",
    ),
    "quaver.measure.subsamples": (
        "inter_pss_subsamples",
        "intra_pss_subsamples",
    ),
    "quaver.measure.token_confidence": ("ece_shift",),
    "quaver.measure.uncertainty": ("output_uncertainty",),
    "quaver.measure.unlike": (
        "unlike_answers",
        "unlike_shares",
    ),
    "quaver.measure.verbal_calibration": ("verbal_calibration",),
    "quaver.measure.views": ("view",),
    "quaver.measure.wordings": (
        "original_agreement",
        "wording_stability",
    ),
    "quaver.records": (
        "Estimate",
        "Label",
        "LabelSet",
    ),
    "quaver.study": ("Study",),
    "quaver.worst_items": (
        "Worst",
        "worst",
    ),
    "quaver.verifying": ("verify",),
}
"""Names whose modules take a while to load: they are, when one of their names is first used."""

_HOMES = {name: module for module, names in _PUBLIC.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'quaver' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
