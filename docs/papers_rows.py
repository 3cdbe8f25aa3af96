"""What each paper has, with the command that gives it: the tables of ``papers.md``, which this writes.

``python docs/papers_rows.py`` writes the page anew. A test runs every command on a small study of its paper,
so that no row says that a command works which fails or prints nothing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).with_name("papers.md")


class Row(NamedTuple):
    """One thing in a paper.

    Attributes:
        where: Its place in the paper: ``table 3``, ``figure 2``, ``formula``, ``setting``, ``software``.
        what: What it is.
        command: What gives it, without ``quaver``; ``STUDY`` is the paper's study. Empty where nothing is
            computed.
        differs: How it differs from the paper, and why; empty where it is as printed.
    """

    where: str
    what: str
    command: str = ""
    differs: str = ""


def _table(where: str, what: str, name: str, differs: str = "", *, paper: bool = True) -> Row:
    return Row(where, what, f"table STUDY {name}{' --layout paper' if paper else ''}", differs)


_OURS = "Quaver's own"

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
        Row("formula", "intra-PSS, and its cumulative form", "measure STUDY intra_pss"),
        Row("formula", "inter-PSS", "measure STUDY inter_pss"),
        _table(
            "appendix A.1",
            "interval of intra-PSS",
            "intra-by-repeat",
            "beside it stands an interval that treats the items as a sample; quote that one",
            paper=False,
        ),
        _table(
            "appendix A.2",
            "interval of inter-PSS",
            "inter-by-temperature",
            "as A.1",
            paper=False,
        ),
        _table("results", "original, filtered and balanced annotations", "stability-views", paper=False),
        _table("results", "when the score settles, and neighbouring repeats", "intra-stability", paper=False),
        _table("results", "mean, lowest score and its temperature", "inter-stability", paper=False),
        _table("results", "answers as written", "raw-answers", paper=False),
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
            "the best of all models is bold; the paper marks open and closed ones apart, which no file says",
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
        Row(
            "formula",
            "sensitivity S",
            "measure STUDY sensitivity",
            "without a label is no class by default; the paper's rule is in table 1",
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
            "means are of columns, as its 102.7%; the paper's 93.8% is of mean accuracies (column: 95.3%)",
        ),
        _table("table 2", "accuracy, token and stated ECE, gap", "verbal-pooled"),
        _table(
            "table 3",
            "spread by model and benchmark",
            "spreads",
            "no column for the family, which only a model's name says",
        ),
        _table("table 4", "what normalising moves, by prompt", "ece-shifts"),
        _table("table 5", "label coverage", "coverage"),
        _table("table 6", "other parse rates", "thresholds"),
        _table("table 7", "parse rate by benchmark and prompt", "verbal"),
        _table("table 8", "parse rate under both phrasings, with intervals", "verbal"),
        _table("table 9", "overconfidence under both phrasings", "phrasing-means"),
        _table("table 10", "Spearman's correlation of spread and size", "size-and-spread"),
        Row("figure 1", "accuracy by rule of reading", "figure STUDY 1"),
        Row("figure 2", "parse rate by model and prompt", "figure STUDY 2"),
        Row("figure 3", "spread and size", "figure STUDY 3"),
        Row("figure 4", "reliability of stated and token confidence", "figure STUDY 4"),
        Row("formula", "ECE, ten bins of equal width", "measure STUDY ece"),
        Row(
            "formula",
            "spread",
            "measure STUDY spread",
            "over all prompts by default; over the paper's four in table 3",
        ),
        Row("formula", "ECE shift", "measure STUDY ece_shift"),
        Row("formula", "verbal ECE, overconfidence, parse rate", "measure STUDY verbal_calibration"),
        _table("section 4.1", "ECE of each cell, raw and normalised", "token-ece", paper=False),
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
        Row("software", "every run of a data set (its file stands beside STUDY)", "export ONE runs.csv"),
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


def rows_of(code: str) -> str:
    """A paper's rows as a table in Markdown."""
    lines = ["| in the paper | what it is | command | |", "| --- | --- | --- | --- |"]
    for row in ROWS[code]:
        command = f"`quaver {row.command}`" if row.command else "—"
        state = f"differs: {row.differs}" if row.differs else "works as printed"
        shown = "" if row.where == _OURS else state
        lines.append(f"| {row.where} | {row.what} | {command} | {shown} |")
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
