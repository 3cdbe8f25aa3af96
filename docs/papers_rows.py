"""What each paper has, with the command that gives it: the tables of ``papers.md``, which this writes.

``python docs/papers_rows.py`` writes the page anew. A test runs every command on a small study of its paper,
so that no row says that a command works which fails or prints nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from quaver.papers.catalogue import FIGURES

PAGE = Path(__file__).with_name("papers.md")


class Row(NamedTuple):
    """One thing in a paper.

    Attributes:
        where: Its place in the paper: ``table 3``, ``figure 2``, ``formula``, ``setting``, ``software``.
        what: What it is.
        command: What gives it, without ``quaver``; ``STUDY`` is the paper's study. Empty where nothing is
            computed.
        differs: How it differs from the paper, and why; empty where it does not.
        interval: What its interval is, where that is of another kind than the paper's.
    """

    where: str
    what: str
    command: str = ""
    differs: str = ""
    interval: str = ""


def _table(
    where: str, what: str, name: str, differs: str = "", *, paper: bool = True, interval: str = ""
) -> Row:
    return Row(where, what, f"table STUDY {name}{' --layout paper' if paper else ''}", differs, interval)


_OURS = "Quaver's own"

COMPARED: Mapping[str, Mapping[str, str]] = {
    "papers/test_stability_tables.py": {
        "table costs": "test_costs_are_split_into_what_is_read_and_written",
        "table cost-shares": "test_costs_of_a_part_of_the_items",
        "table intra-by-repeat": "test_by_repeat_with_the_papers_interval",
        "table inter-by-temperature": "test_by_temperature_with_the_papers_interval",
        "table subsamples": "test_subsamples_are_the_seeded_draws",
        "table stability-views": "test_original_filtered_and_balanced",
        "table intra-stability": "test_the_same_prompt_again",
        "table inter-stability": "test_other_words",
        "table poor-prompts": "test_poor_prompts_with_their_words_worst_first",
        "table models": "test_two_models",
    },
    "measures/stability/test_prompt_stability.py": {
        "measure intra_pss": "test_intra_is_the_mean_over_conditions_of_alpha_over_repeats",
        "measure inter_pss": "test_inter_is_the_mean_over_repeats_of_alpha_over_paraphrases",
    },
    "papers/test_sensitivity_tables.py": {
        "table strategies": "test_strategies_with_their_deviations",
        "table label-shares": "test_labels_of_items_over_paraphrases",
        "table matrix": "test_pairs_of_items_by_id",
        "table items": "test_the_plane_by_item",
        "table before-and-after": "test_worst_items_and_classes_in_each_data_set",
        "table inconsistent-items": "test_items_that_move_are_listed_by_their_consistency",
        "figure errica-2025:3": "test_the_plane_by_item",
        "figure errica-2025:4": "test_pairs_of_items_by_id",
        "figure errica-2025:5": "test_strategies_with_their_deviations",
        "figure errica-2025:3-classes": "test_classes_have_the_mean_of_their_items",
    },
    "papers/test_reliability_tables.py": {
        "table verbal-pooled": "test_prompts_pooled_as_in_table_2",
        "table repairs": "test_repairs_and_the_paired_drop",
        "table spreads": "test_spread_without_and_with_what_the_paper_leaves_out",
        "table ece-shifts": "test_what_normalising_moves_by_prompt",
        "table coverage": "test_labels_among_the_likeliest_tokens",
        "table thresholds": "test_thresholds_and_both_phrasings",
        "table phrasings": "test_thresholds_and_both_phrasings",
        "table verbal": "test_stated_confidence_where_enough_is_parsed",
        "table phrasing-means": "test_overconfidence_of_each_model_by_phrasing",
        "table size-and-spread": "test_size_and_spread_are_correlated_by_rank",
        "table token-ece": "test_token_confidence_raw_and_normalised",
        "figure karmakar-2026:4": "test_the_curve_of_token_confidence_bin_by_bin",
        "measure verbal_calibration": "test_stated_confidence_where_enough_is_parsed",
    },
    "measures/calibration/test_calibration_error.py": {
        "measure ece": "test_equals_its_definition",
    },
    "measures/calibration/test_ece_shift.py": {
        "measure ece_shift": "test_each_cells_shift_and_the_mean_over_conditions",
    },
    "papers/test_treatment_tables.py": {
        "measure accuracy": "test_configurations_side_by_side",
        "table configurations": "test_configurations_side_by_side",
        "table question-configurations": "test_questions_by_configuration",
        "table questions": "test_questions_over_all_configurations",
        "table temperatures": "test_temperature_as_a_factor",
        "table mixed-model": "test_the_mixed_model_is_the_measure_that_lme4_confirms",
        "measure strict_stability": "test_configurations_side_by_side",
        "measure mode_frequency": "test_configurations_side_by_side",
        "measure answer_entropy": "test_configurations_side_by_side",
    },
    "papers/test_design_tables.py": {
        "table lengths": "test_lengths_without_the_text_and_their_change",
        "table data-sets": "test_texts_classes_and_answers",
        "table overall": "test_each_model_over_all_prompts",
        "table factor-levels": "test_levels_and_not_differences_alone",
        "table label-shift": "test_the_share_of_each_class_by_its_name",
        "table raw-outputs": "test_answers_as_written_and_whether_they_comply",
        "measure compliance": "test_levels_and_not_differences_alone",
    },
    "papers/test_recipes_of_papers.py": {
        "plan": "test_a_recipe_is_written_and_planned",
    },
}
"""By file, the test that compares what a command gives with numbers worked out by other code, or by hand."""
_TEXTS = "for texts like these; the package resamples single labels"
_TRUE = "for the true value; the paper's are percentiles of resampled answers, which chance keeps above 0"

ROWS: dict[str, tuple[Row, ...]] = {
    "barrie-2025": (
        Row("tables 1, 2", "coders' reliability and prompt stability, in words", "", "nothing is computed"),
        _table(
            "table 3",
            "data sets",
            "data-sets",
            "texts, labels and answers are counted; the outcome in words is in the recipe",
            paper=False,
        ),
        _table("table 4", "size and tokens by data set", "costs"),
        _table("table 5", "cost by data set, and for 2% to 75% of it", "cost-shares"),
        _table(
            "table C.1", "cost with other models", "other-prices", "today's models and prices", paper=False
        ),
        Row(
            "figure 1",
            "intra-PSS by repeat: original, filtered, balanced; and of Quaver's reading",
            "figure STUDY 1",
        ),
        Row("figure 2", "inter-PSS by temperature: the same four series", "figure STUDY 2"),
        Row(_OURS, "figure 1 in one panel", "figure STUDY intra"),
        Row(_OURS, "figure 2 in one panel", "figure STUDY inter"),
        Row("figure 3", "inter-PSS of subsamples of 2% to 75%, by temperature", "figure STUDY 3"),
        Row(_OURS, "scores of subsamples by their size", "figure STUDY subsamples"),
        Row("figure 4", "inter-PSS with another model", "figure STUDY 2"),
        Row("figure 5", "intra-PSS with another model; inter-PSS is figure 2", "figure STUDY 1"),
        Row("figure B.1", "intra-PSS with the paper's interval", "figure STUDY B.1"),
        Row("figure B.2", "different answers by repeat", "figure STUDY B.2"),
        Row("figure B.3", "inter-PSS with the paper's interval", "figure STUDY B.3"),
        Row("figure B.4", "different answers by temperature", "figure STUDY B.4"),
        Row("formula", "intra-PSS, and its cumulative form", "measure STUDY intra_pss", interval=_TEXTS),
        Row("formula", "inter-PSS", "measure STUDY inter_pss", interval=_TEXTS),
        _table(
            "appendix A.1",
            "interval of intra-PSS, and one that treats the items as a sample: quote the latter",
            "intra-by-repeat",
            paper=False,
        ),
        _table(
            "appendix A.2",
            "interval of inter-PSS, likewise",
            "inter-by-temperature",
            paper=False,
        ),
        _table("results", "original, filtered and balanced annotations", "stability-views", paper=False),
        _table("results", "when the score settles, and neighbouring repeats", "intra-stability", paper=False),
        _table("results", "mean, lowest score and its temperature", "inter-stability", paper=False),
        _table("figure 3", "the same as numbers", "subsamples"),
        _table("section 5.2", "paraphrases below 0.8, with their text", "poor-prompts", paper=False),
        _table("section 5.5", "two models", "models", paper=False),
        Row("setting", "30 repeats; 10 paraphrases at 25 temperatures, 3 times", "plan STUDY"),
        Row("software", "list and edit the paraphrases", "variants STUDY"),
    ),
    "errica-2025": (
        Row("figure 1", "an example in words", "", "nothing is computed"),
        _table(
            "table 1",
            "S/C/micro-F1 by data set, model and strategy",
            "strategies",
            "the best of all models is bold; the paper marks open and closed ones, which no file tells apart",
        ),
        _table("table 2", "their standard deviations", "strategies"),
        Row("figure 2", "distribution of labels of three items of a class", "figure STUDY 2"),
        _table("figure 2", "the same as numbers; --item names the items", "label-shares"),
        Row("figure 3", "S of items by strategy", "figure STUDY 3"),
        Row("figure 3", "S of classes by strategy", "figure STUDY 3-classes"),
        Row("figure 4", "matrices of C and their histograms, every class", "figure STUDY 4"),
        _table("figure 4", "C of each pair of named items", "matrix", paper=False),
        Row("figure 5", "C by strategy", "figure STUDY 5"),
        Row("figure 6", "S and C of items, beside noisy and random answers", "figure STUDY 6"),
        _table("appendix B", "the items with the highest S, with their texts", "items"),
        _table("appendix C", "items with S above 0, by C, with their texts", "inconsistent-items"),
        _table(
            "appendices B, C",
            "the worst items by data set; `quaver compare STUDY --note TEXT` amends the prompt and has it",
            "before-and-after",
            paper=False,
        ),
        Row(
            "formula",
            "sensitivity S",
            "measure STUDY sensitivity",
            "an answer without a label is no class by default; the paper's rule is in table 1",
        ),
        Row(
            "formula",
            "consistency C",
            "measure STUDY consistency",
            "an item is not paired with itself by default; the paper's rule is in table 1",
        ),
        Row("setting", "30 rephrasings by each model for itself", "plan STUDY"),
    ),
    "karmakar-2026": (
        _table(
            "table 1",
            "repairs, with their mean",
            "repairs",
            "means are of columns, like the paper's 102.7%; its 93.8% is of mean accuracies (column: 95.3%)",
        ),
        _table("table 2", "accuracy, token and stated ECE, gap", "verbal-pooled"),
        _table(
            "table 3",
            "spread by model and benchmark",
            "spreads",
            "no column for the family, which is only in a model's name",
        ),
        _table("table 4", "what normalising moves, by prompt", "ece-shifts"),
        _table("table 5", "label coverage", "coverage"),
        _table("table 6", "other parse rates", "thresholds"),
        _table("table 7", "parse rate by benchmark and prompt", "verbal"),
        _table(
            "table 8",
            "parse rate under both phrasings, with intervals",
            "verbal",
            interval="exact, so wider near 0 and 1; the paper's are percentiles of resampled answers",
        ),
        _table("table 9", "overconfidence under both phrasings", "phrasing-means"),
        _table("table 10", "Spearman's correlation of spread and size", "size-and-spread"),
        Row("figure 1", "accuracy by rule of reading", "figure STUDY 1"),
        Row("figure 2", "parse rate by model and prompt", "figure STUDY 2"),
        Row("figure 3", "spread and size", "figure STUDY 3"),
        Row("figure 4", "reliability of stated and token confidence", "figure STUDY 4"),
        Row("formula", "ECE, ten bins of equal width", "measure STUDY ece", interval=_TRUE),
        Row(
            "formula",
            "spread",
            "measure STUDY spread",
            "over all prompts by default; over the paper's four in table 3",
        ),
        Row("formula", "ECE shift", "measure STUDY ece_shift", interval=_TRUE),
        Row(
            "formula",
            "verbal ECE, overconfidence, parse rate",
            "measure STUDY verbal_calibration",
            interval=_TRUE,
        ),
        _table(
            "section 4.1",
            "ECE of each cell, raw and normalised",
            "token-ece",
            paper=False,
            interval=_TRUE,
        ),
        _table("appendix D.3", "both phrasings, cell by cell", "phrasings", paper=False),
        Row("setting", "500 examples of each benchmark, five prompts, greedy", "plan STUDY"),
        Row("software", "accuracy by each rule of reading, from the kept answers", "measure STUDY accuracy"),
    ),
    "choices-and-temperature": (
        _table("results", "accuracy, strict stability, mode frequency, entropy", "configurations"),
        _table("results", "the same by question and configuration", "question-configurations", paper=False),
        _table("results", "the same by question, over all configurations", "questions", paper=False),
        _table("results", "the same by temperature", "temperatures", paper=False),
        _table("plan", "logistic mixed model, treatment × temperature", "mixed-model", paper=False),
        Row("plot", "accuracy against entropy", "figure STUDY entropy"),
        Row("plot", "accuracy against strict stability", "figure STUDY stability"),
        Row("formula", "accuracy over runs", "measure STUDY accuracy"),
        Row("formula", "strict_stable", "measure STUDY strict_stability"),
        Row("formula", "mode_freq", "measure STUDY mode_frequency"),
        Row("formula", "answer_entropy_bits", "measure STUDY answer_entropy"),
        Row("setting", "T0 to T5, three temperatures, three repeats", "plan STUDY"),
        Row("setting", "the prompts of the treatments", "variants STUDY"),
        Row("software", "every run of a data set (its file is beside STUDY)", "export ONE runs.csv"),
    ),
    "atreja-2025": (
        _table("table 1", "change of words and fixed cost, by data set and on average", "lengths"),
        _table("table 2", "texts, prompts, models, answers", "data-sets"),
        _table("table 3", "accuracy and F1 by task and model", "overall"),
        _table("table 4", "compliance by level, bold over 2%", "factor-levels"),
        _table("table 5", "accuracy by level, bold over 2%", "factor-levels"),
        _table("table 6", "distribution of labels by level", "label-shift"),
        _table("table 7", "classes of each data set", "data-sets"),
        _table("table 8", "raw outputs and compliance", "raw-outputs", paper=False),
        _table("table 9", "F1 by level", "factor-levels"),
        _table("table 10", "every prompt", "prompt-texts", "the recipe's prompts are Quaver's", paper=False),
        Row("figure 1", "the parts of a prompt", "variants STUDY"),
        Row("figure 2", "compliance by task and model", "figure STUDY 2"),
        _table("figures 3, 4", "answers that do not comply, and why", "raw-outputs", paper=False),
        Row("formula", "compliance", "measure STUDY compliance"),
        Row(
            "formula",
            "accuracy, macro-F1 of compliant answers",
            "measure STUDY f1",
            "all answers by default; the paper's rule is in tables 3, 5 and 9",
        ),
        _table(_OURS, "every prompt's outcomes", "prompts", paper=False),
        Row("setting", "16 prompts a task, 8 for sentiment", "plan STUDY"),
    ),
}


def compared(code: str, row: Row) -> str:
    """The test that compares a row's numbers; of a figure, that of the table that it draws, or its own."""
    words = row.command.replace(" STUDY", "").split()
    key = " ".join(words[:2])
    if words and words[0] == "figure":
        number = f"{code}:{words[1]}"
        key = f"table {FIGURES[number].table}" if FIGURES[number].table else f"figure {number}"
    return next((f"{file}::{tests[key]}" for file, tests in COMPARED.items() if key in tests), "")


def state(code: str, row: Row) -> str:
    """How a row stands to the paper."""
    if row.where == _OURS:
        return ""
    if row.differs:
        return f"differs: {row.differs}"
    if not compared(code, row):
        return "runs; nothing is compared"
    return f"same formula, another interval: {row.interval}" if row.interval else "as printed"


def rows_of(code: str) -> str:
    """A paper's rows as a table in Markdown."""
    lines = ["| in the paper | what it is | command | |", "| --- | --- | --- | --- |"]
    for row in ROWS[code]:
        command = f"`quaver {row.command}`" if row.command else "—"
        lines.append(f"| {row.where} | {row.what} | {command} | {state(code, row)} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """The page with the rows of each paper between its marks."""
    for code in ROWS:
        start, end = f"<!-- rows of {code} -->", "<!-- end of rows -->"
        marked = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
        text = marked.sub(lambda _, c=code, a=start, z=end: f"{a}\n\n{rows_of(c)}\n\n{z}", text)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
