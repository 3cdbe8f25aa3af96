"""What a chart of a measure is called, what its axis shows, and where in the report it stands."""

from __future__ import annotations

from collections.abc import Mapping

from quaver.report.plain_text import one_line

__all__ = ["AGAINST_NONE", "ALL", "TITLES", "axis_of", "in_words", "section_of", "title_of"]

TITLES: Mapping[str, str] = {
    "intra_pss": "The same prompt, asked again: intra-prompt stability",
    "inter_pss": "Another prompt, the same question: inter-prompt stability",
    "inter_model": "Another model, the same prompts: inter-model agreement",
    "intra_pss_subsamples": "How far the stability of the same prompt would lie apart with fewer items",
    "inter_pss_subsamples": "How far the stability across paraphrases would lie apart with fewer items",
    "sensitivity": "How readily the label changes with the prompt: sensitivity",
    "consistency": "How alike items of one class are answered: consistency",
    "accuracy": "How often the label is the true one: accuracy, beside what guessing gives",
    "compliance": "How many answers have a label",
    "answer_entropy": "How much repeated answers differ: entropy",
    "strict_stability": "How many items are always answered alike: strict stability",
    "mode_frequency": "How often the most frequent answer is given: mode frequency",
    "differences": "How much more often one is right than another, on the same items",
    "ece": "How far confidence is from being right: expected calibration error",
    "mce": "How far confidence is from being right at most: maximum calibration error",
    "brier": "Confidence against being right: Brier score",
    "f1_macro": "Right labels, all classes alike: macro F1",
    "f1_micro": "Right labels, all answers alike: micro F1",
    "f1_label": "Right labels, class by class: F1 of each label",
    "mixed_effects": "What each term does to the odds of a right answer: mixed logistic model",
    "mixed_effects_sd": "How unlike the items are in difficulty, by the mixed model",
    "mixed_effects_interactions": "Whether the mixed model’s effects depend on each other",
    "spread_size_correlation": "Whether larger models spread less: correlation of spread with size",
    "evaluator_flips": "How many answers another evaluator reads differently",
    "evaluator_flips_accuracy_first": "Accuracy by the first of two evaluators",
    "evaluator_flips_accuracy_second": "Accuracy by the second of two evaluators",
    "evaluator_flips_accuracy_gain": "What another evaluator adds to accuracy",
    "evaluator_flips_newly_wrong": "How many right answers are wrong by another evaluator",
    "recovered_share": "How much of a prompt’s gap in accuracy another evaluator closes",
    "verbal_calibration_ece": "How far stated confidence is from being right",
    "verbal_calibration_minus_accuracy": "Stated confidence less the share right (above 0: overconfident)",
    "verbal_calibration_ece_gap": "Calibration error of stated less that of token confidence",
    "verbal_calibration_minus_token": "Stated less token confidence",
}

_AXES: Mapping[str, str] = {
    "intra_pss": "Krippendorff’s α over repeats",
    "intra_pss_subsamples": "Krippendorff’s α over repeats",
    "inter_pss": "Krippendorff’s α over prompts",
    "inter_pss_subsamples": "Krippendorff’s α over prompts",
    "inter_model": "Krippendorff’s α over models",
    "accuracy": "share of right answers",
    "compliance": "share of valid answers",
    "sensitivity": "sensitivity (0: never changes)",
    "consistency": "consistency (1: alike within a class)",
    "answer_entropy": "entropy in bits (0: always the same)",
    "strict_stability": "items always answered alike",
    "mode_frequency": "share of the most frequent answer",
    "differences": "difference in accuracy",
    "ece": "expected calibration error",
    "brier": "Brier score (0: sure and right)",
    "f1_macro": "macro F1",
    "f1_micro": "micro F1",
    "f1_label": "F1",
    "mixed_effects": "log odds (above 0: more often right)",
    "mixed_effects_sd": "standard deviation, in log odds",
    "mixed_effects_interactions": "likelihood-ratio χ²",
    "spread_size_correlation": "Spearman’s ρ",
    "evaluator_flips": "share of answers read differently",
    "evaluator_flips_accuracy_first": "share of right answers",
    "evaluator_flips_accuracy_second": "share of right answers",
    "evaluator_flips_accuracy_gain": "difference in accuracy",
    "evaluator_flips_newly_wrong": "share of the right answers",
    "recovered_share": "share of the gap (1: all of it)",
    "verbal_calibration_ece": "expected calibration error",
    "verbal_calibration_minus_accuracy": "stated confidence less share right",
}

AGAINST_NONE = frozenset(
    {
        *("differences", "mixed_effects", "evaluator_flips_accuracy_gain", "spread_size_correlation"),
        *("verbal_calibration_minus_accuracy", "verbal_calibration_ece_gap"),
        *("verbal_calibration_minus_token", "recovered_share"),
    }
)
"""Measures whose 0 says that there is nothing: charts of them have a line there."""

ALL: Mapping[str, str] = {"view": "all answers"}
"""What an estimate is about that lacks a column which others of its measure have; ``all`` where not here."""

_STABILITY = ("intra_pss", "inter_pss", "inter_model", "expected_", "pooled_pss", "paraphrase_stability")
_SECTIONS = {
    **dict.fromkeys(("strict_stability", "mode_frequency", "answer_entropy"), "stability"),
    **dict.fromkeys(("original_agreement",), "stability"),
    **dict.fromkeys(("sensitivity", "consistency"), "sensitivity"),
    **dict.fromkeys(("accuracy", "differences", "ece", "mce", "brier", "ece_shift"), "accuracy"),
    **dict.fromkeys(("label_shares", "generalizability", "generalizability_component"), "factors"),
    "compliance": "answers",
}
_FAMILIES = {
    **dict.fromkeys(("factor_effects", "distribution_shift"), "factors"),
    **dict.fromkeys(("verbal_calibration", "f1", "mixed_effects", "spread"), "accuracy"),
    **dict.fromkeys(("evaluator_flips", "recovered_share"), "answers"),
    **dict.fromkeys(_STABILITY, "stability"),
    "readiness": "readiness",
}


def in_words(column: str) -> str:
    """A column or a measure without a name of its own, as an axis calls it.

    >>> in_words("paraphrase_temperature")
    'paraphrase temperature'
    """
    return one_line(column.replace("_", " "))


def title_of(measure: str) -> str:
    """What a chart of a measure shows.

    >>> title_of("my_measure")
    'My measure, with intervals'
    """
    return TITLES.get(measure) or f"{in_words(measure).capitalize()}, with intervals"


def axis_of(measure: str) -> str:
    """What the axis of a measure shows."""
    return _AXES.get(measure, in_words(measure))


def section_of(measure: str) -> str:
    """Where in the report a measure's charts stand."""
    if measure in _SECTIONS:
        return _SECTIONS[measure]
    return next((place for family, place in _FAMILIES.items() if measure.startswith(family)), "more")
