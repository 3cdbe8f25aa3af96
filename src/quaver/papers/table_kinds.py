"""The papers' tables: what makes each, and how the paper prints it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from quaver.papers import (
    confidence_tables,
    design_tables,
    reliability_tables,
    sensitivity_tables,
    stability_details,
    stability_tables,
    treatment_tables,
)
from quaver.papers.paper_layout import Layout
from quaver.papers.published_table import PublishedTable


@dataclass(frozen=True, slots=True)
class TableKind:
    """One of a paper's tables.

    Attributes:
        name: What the command calls it.
        title: What it shows, in a line.
        make: Makes it of stored answers.
        layouts: How the paper prints it, where that is otherwise: once for each of its tables.
        chooses_items: Whether it is about some items, which `make` takes by id.
    """

    name: str
    title: str
    make: Callable[..., PublishedTable]
    layouts: tuple[Layout, ...] = ()
    chooses_items: bool = False


_SETS = ("data set", "model")

_STABILITY = (
    TableKind("intra-stability", "The same prompt again, by data set", stability_tables.intra_stability),
    TableKind("intra-by-repeat", "The same prompt again, by repeat", stability_tables.by_repeat),
    TableKind("inter-stability", "Other words, by data set", stability_tables.inter_stability),
    TableKind(
        "inter-by-temperature",
        "Other words, by temperature",
        stability_tables.by_temperature,
        (
            Layout(
                "figure 2",
                "Inter-prompt stability by temperature.",
                rows=("temperature",),
                groups=_SETS,
                values={"PSS": "PSS", "filtered PSS": "filtered"},
            ),
        ),
    ),
    TableKind("stability-views", "Original, filtered and balanced annotations", stability_tables.views),
    TableKind("raw-answers", "Answers as written, and labels", stability_details.raw_answers_table),
    TableKind(
        "subsamples",
        "Scores of subsamples of the items",
        stability_details.subsamples,
        (
            Layout(
                "figure 3",
                "Stability scores of subsamples of the items.",
                rows=("share of items",),
                groups=_SETS,
                columns=("prompts",),
                values={"mean PSS": ""},
            ),
        ),
    ),
    TableKind("models", "Agreement between models", stability_details.between_models),
    TableKind("poor-prompts", "Paraphrases unlike the original", stability_details.poor_prompts),
    TableKind(
        "costs",
        "Calls, tokens and money",
        stability_details.costs,
        (
            Layout(
                "table 4",
                "Size and tokens by data set.",
                rows=_SETS,
                values={
                    "calls": "total rows",
                    "tokens read": "input tokens",
                    "tokens written": "output tokens",
                    "tokens read per call": "tokens per call",
                },
            ),
        ),
    ),
    TableKind("cost-shares", "Cost of a part of the items", stability_details.cost_shares),
    TableKind("other-prices", "Cost with other models", stability_details.other_prices),
)

_STRATEGY = (*_SETS, "strategy")
_BEST_SC = {"S": False, "C": True, "micro-F1": True}

_SENSITIVITY = (
    TableKind(
        "strategies",
        "S, C and micro-F1 by strategy",
        sensitivity_tables.strategies,
        (
            Layout(
                "table 1",
                "Sensitivity (lower is better), consistency and micro-F1 (higher is better).",
                rows=("data set",),
                groups=("model",),
                columns=("strategy",),
                values={"S": "S", "C": "C", "micro-F1": "F1"},
                joined=True,
                best=_BEST_SC,
                beside=("data set",),
                note="Each cell: S/C/micro-F1. The best of a data set is bold.",
            ),
            Layout(
                "table 2",
                "Standard deviations of sensitivity, consistency and micro-F1.",
                rows=("data set",),
                groups=("model",),
                columns=("strategy",),
                values={
                    "S SD over items": "S",
                    "C SD over pairs": "C",
                    "micro-F1 SD over paraphrases": "F1",
                },
                joined=True,
                note="Each cell: S over items/C over pairs/micro-F1 over paraphrases.",
            ),
        ),
    ),
    TableKind(
        "label-shares",
        "Labels of some items over the paraphrases",
        sensitivity_tables.label_shares,
        (
            Layout(
                "figure 2",
                "How often each label is given to an item over the paraphrases.",
                rows=(*_STRATEGY, "item", "class"),
                columns=("label",),
                values={"share": ""},
            ),
        ),
        chooses_items=True,
    ),
    TableKind("classes", "S and C by class, beside noise", sensitivity_tables.classes),
    TableKind("items", "S and C by item, beside noise", sensitivity_tables.items),
    TableKind("inconsistent-items", "Items that move, by consistency", sensitivity_tables.inconsistent),
    TableKind("violins", "Distributions of S and C", sensitivity_tables.violins),
    TableKind("matrix", "C of each pair of some items", sensitivity_tables.matrix, chooses_items=True),
)

_RELIABILITY = (
    TableKind(
        "repairs",
        "Rules of reading and repairs",
        reliability_tables.repairs,
        (
            Layout(
                "table 1",
                "Accuracy of the prompt that asks for reasoning, by rule of reading.",
                rows=_SETS,
                values={
                    "mean of the four": "mean of the others",
                    "accuracy by *": "",
                    "recovered by *": "gap rec., ",
                },
                only={"prompt": ("reasoning",)},
                mean="Mean",
            ),
        ),
    ),
    TableKind(
        "verbal-pooled",
        "Stated and token confidence, prompts pooled",
        confidence_tables.pooled,
        (
            Layout(
                "table 2",
                "Accuracy, token and stated calibration error.",
                rows=(*_SETS, "phrasing"),
                values={
                    "accuracy": "accuracy",
                    "token ECE": "ECE (token)",
                    "verbal ECE": "ECE (stated)",
                    "ECE gap": "ECE gap",
                },
            ),
        ),
    ),
    TableKind(
        "spreads",
        "Accuracy by prompt, and spread",
        reliability_tables.spreads,
        (
            Layout(
                "table 3",
                "Spread of accuracy over the paper's four prompts.",
                rows=("model", "size (billions)"),
                columns=("data set",),
                values={"spread, paper": ""},
            ),
        ),
    ),
    TableKind("token-ece", "Token confidence, raw and normalised", confidence_tables.token_ece),
    TableKind("ece-shifts", "What normalising moves", confidence_tables.ece_shifts),
    TableKind("coverage", "Labels among the likeliest tokens", confidence_tables.coverage),
    TableKind(
        "thresholds",
        "What the parse rate decides",
        confidence_tables.thresholds,
        (
            Layout(
                "table 6",
                "Stated confidence less accuracy at other parse rates.",
                rows=(*_SETS, "phrasing"),
                groups=("threshold",),
                values={"mean verbal minus accuracy": "mean", "cells kept": "cells"},
            ),
        ),
    ),
    TableKind(
        "verbal",
        "Stated confidence beside token confidence",
        confidence_tables.verbal,
        (
            Layout(
                "table 7",
                "Parse rate by data set and prompt.",
                rows=("model", "phrasing", "data set"),
                columns=("prompt",),
                values={"parse rate": ""},
            ),
            Layout(
                "table 8",
                "Parse rate under each phrasing.",
                rows=(*_SETS, "prompt"),
                groups=("phrasing",),
                values={"parse rate": "parse rate", "parse rate 95% interval": "95% interval"},
            ),
        ),
    ),
    TableKind("phrasings", "Both phrasings of the question", confidence_tables.phrasings),
    TableKind(
        "phrasing-means",
        "Both phrasings, by model",
        confidence_tables.phrasing_means,
        (
            Layout(
                "table 9",
                "Overconfidence under each phrasing.",
                rows=_SETS,
                columns=("phrasing",),
                values={
                    "prompts kept": "prompts kept",
                    "verbal minus accuracy": "verbal minus accuracy",
                    "verbal minus token": "verbal minus token",
                    "ECE gap": "ECE gap",
                },
                by_value=True,
            ),
        ),
    ),
    TableKind(
        "size-and-spread",
        "Do larger models spread less?",
        reliability_tables.size_and_spread,
        (
            Layout(
                "table 10",
                "Spearman's correlation of spread with size.",
                rows=("data set",),
                values={"ρ": "ρ", "p by Student's t": "p", "models": "n"},
                only={"prompts": ("paper",)},
            ),
        ),
    ),
    TableKind("readiness", "Readiness for use", reliability_tables.readiness),
    TableKind("checklist", "The paper's checklist, filled in", reliability_tables.own_checklist),
)

_TREATMENTS = (
    TableKind("configurations", "Accuracy and stability by configuration", treatment_tables.configurations),
    TableKind("questions", "Accuracy and stability by question", treatment_tables.questions),
    TableKind("temperatures", "Temperature as a factor", treatment_tables.temperatures),
    TableKind("mixed-model", "Mixed model of a right answer", treatment_tables.mixed_model),
)

_LEVEL = ("factor", "level")


def _by_level(number: str, what: str, column: str, *, bold: bool = True) -> Layout:
    return Layout(
        number,
        f"{what} at each level of each part of the prompt.",
        rows=_LEVEL,
        groups=("data set",),
        columns=("model",),
        values={column: ""},
        best={column: True} if bold else {},
        beside=("data set", "model", "factor"),
        least=0.02,
        note="Bold: the better level where it is better by more than 2%." if bold else "",
    )


_DESIGN = (
    TableKind(
        "lengths",
        "Length of prompts and answers, and cost",
        design_tables.lengths,
        (
            Layout(
                "table 1",
                "Change in the words of the prompt, and so in the fixed cost of an answer.",
                rows=_LEVEL,
                columns=("data set",),
                values={"fixed change": ""},
            ),
        ),
    ),
    TableKind(
        "data-sets",
        "Texts, classes and answers of each data set",
        design_tables.data_sets,
        (
            Layout(
                "table 2",
                "Texts, prompts, models and answers of each data set.",
                rows=("data set",),
                values={name: name for name in ("texts", "prompts", "models", "answers")},
                only={"class": ("all",)},
            ),
            Layout(
                "table 7",
                "The classes of each data set.",
                rows=("data set", "class"),
                values={name: name for name in ("texts", "prompts", "models", "answers")},
            ),
        ),
    ),
    TableKind(
        "overall",
        "Compliance, accuracy and F1 of each model",
        design_tables.overall,
        (
            Layout(
                "table 3",
                "Accuracy and macro-F1 of each model, of labelled answers.",
                rows=("model",),
                groups=("data set",),
                values={"accuracy, labelled": "Acc", "macro-F1, labelled": "F1"},
            ),
        ),
    ),
    TableKind(
        "factor-levels",
        "Compliance, accuracy and F1 by level",
        design_tables.factor_levels,
        (
            _by_level("table 4", "Compliance", "compliance"),
            _by_level("table 5", "Accuracy of labelled answers", "accuracy, labelled"),
            _by_level("table 9", "Macro-F1 of labelled answers", "macro-F1, labelled", bold=False),
        ),
    ),
    TableKind("factor-differences", "What changes between levels", design_tables.factor_differences),
    TableKind(
        "label-shift",
        "Shares of the classes by level",
        design_tables.label_shift,
        (
            Layout(
                "table 6",
                "The share of each class at two levels of a part of the prompt.",
                rows=("model", "data set", "factor", "class"),
                values={"share before": "first level", "share after": "second", "change in points": "Δ"},
            ),
        ),
    ),
    TableKind("raw-outputs", "Answers as written", design_tables.raw_outputs, chooses_items=True),
    TableKind("prompts", "Every prompt, a row each", design_tables.prompts),
    TableKind("prompt-texts", "Every prompt in full", design_tables.prompt_texts),
)

TABLES: dict[str, tuple[TableKind, ...]] = {
    "barrie-2025": _STABILITY,
    "errica-2025": _SENSITIVITY,
    "karmakar-2026": _RELIABILITY,
    "choices-and-temperature": _TREATMENTS,
    "atreja-2025": _DESIGN,
}
