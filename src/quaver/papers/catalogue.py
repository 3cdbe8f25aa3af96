"""The papers, their tables, and how to make one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from quaver.core.arguments import guarded
from quaver.errors import QuaverError, UnknownName
from quaver.papers import (
    confidence_tables,
    design_tables,
    reliability_tables,
    sensitivity_tables,
    stability_details,
    stability_tables,
    treatment_tables,
)
from quaver.papers.published_table import PublishedPaper, PublishedTable, TableKind, answers_of

if TYPE_CHECKING:
    from quaver.many_studies.collection import Collection
    from quaver.study.session import Study

_STABILITY = PublishedPaper(
    "barrie-2025",
    (
        TableKind("intra-stability", "The same prompt again, by data set", stability_tables.intra_stability),
        TableKind("inter-stability", "Other words, by data set", stability_tables.inter_stability),
        TableKind("inter-by-temperature", "Other words, by temperature", stability_tables.by_temperature),
        TableKind("stability-views", "Original, filtered and balanced annotations", stability_tables.views),
        TableKind("raw-answers", "Answers as written, and labels", stability_details.raw_answers_table),
        TableKind(
            "subsamples", "Scores of subsamples of the items", stability_details.subsamples, figure="curves"
        ),
        TableKind("models", "Agreement between models", stability_details.between_models),
        TableKind("poor-prompts", "Paraphrases unlike the original", stability_details.poor_prompts),
        TableKind("costs", "Calls, tokens and money", stability_details.costs),
    ),
)

_SENSITIVITY = PublishedPaper(
    "errica-2025",
    (
        TableKind("strategies", "S, C and micro-F1 by strategy", sensitivity_tables.strategies),
        TableKind(
            "classes", "S and C by class, beside noise", sensitivity_tables.classes, figure="plane_by_class"
        ),
        TableKind("items", "S and C by item, beside noise", sensitivity_tables.items, figure="plane_by_item"),
        TableKind("inconsistent-items", "Items that move, by consistency", sensitivity_tables.inconsistent),
        TableKind("violins", "Distributions of S and C", sensitivity_tables.violins, figure="violins"),
        TableKind("matrix", "C of each pair of some items", sensitivity_tables.matrix, chooses_items=True),
    ),
)

_RELIABILITY = PublishedPaper(
    "karmakar-2026",
    (
        TableKind("spreads", "Accuracy by prompt, and spread", reliability_tables.spreads),
        TableKind(
            "size-and-spread",
            "Do larger models spread less?",
            reliability_tables.size_and_spread,
            figure="size_and_spread",
        ),
        TableKind("token-ece", "Token confidence, raw and normalised", confidence_tables.token_ece),
        TableKind(
            "verbal",
            "Stated confidence beside token confidence",
            confidence_tables.verbal,
            figure="stated_over_token",
        ),
        TableKind("verbal-pooled", "Stated and token confidence, prompts pooled", confidence_tables.pooled),
        TableKind("thresholds", "What the parse rate decides", confidence_tables.thresholds),
        TableKind("phrasings", "Both phrasings of the question", confidence_tables.phrasings),
        TableKind("repairs", "Rules of reading and repairs", reliability_tables.repairs),
        TableKind("readiness", "Readiness for use", reliability_tables.readiness),
        TableKind("checklist", "The paper's checklist, filled in", reliability_tables.own_checklist),
    ),
)

_TREATMENTS = PublishedPaper(
    "choices-and-temperature",
    (
        TableKind(
            "configurations", "Accuracy and stability by configuration", treatment_tables.configurations
        ),
        TableKind("questions", "Accuracy and stability by question", treatment_tables.questions),
        TableKind("temperatures", "Temperature as a factor", treatment_tables.temperatures),
        TableKind("mixed-model", "Mixed model of a right answer", treatment_tables.mixed_model),
    ),
)

_DESIGN = PublishedPaper(
    "atreja-2025",
    (
        TableKind("factor-levels", "Compliance, accuracy and F1 by level", design_tables.factor_levels),
        TableKind("factor-differences", "What changes between levels", design_tables.factor_differences),
        TableKind("label-shift", "Shares of the classes by level", design_tables.label_shift),
        TableKind("prompts", "Every prompt, a row each", design_tables.prompts),
        TableKind("lengths", "Length of prompts and answers, and cost", design_tables.lengths),
    ),
)

PAPERS: tuple[PublishedPaper, ...] = (_STABILITY, _SENSITIVITY, _RELIABILITY, _TREATMENTS, _DESIGN)


def tables() -> dict[str, str]:
    """What each table shows, by its name, in the papers' order."""
    return {one.name: one.title for one in _all()}


def _all() -> list[TableKind]:
    return [one for paper in PAPERS for one in paper.tables]


@guarded
def table(stored: Any, name: str, *, items: Sequence[str] = ()) -> PublishedTable:
    """Make a table of a paper from stored answers; no model is asked.

    Args:
        stored: A `Study`, or a `Collection`, each of whose studies is a data set of its own.
        name: One of `tables`.
        items: The ids of the items that the table is about, where it is about some (``matrix``).

    Returns:
        The table: ``as_("latex")`` and ``as_("csv")`` give it as text, ``rows()`` as data.

    Raises:
        UnknownName: There is no such table.
        StoreError: Nothing is stored yet.
        QuaverError: It is neither a study nor a collection.
    """
    kind, answers = kind_of(name), answers_of(_checked(stored))
    if not items:
        return kind.make(answers)
    if not kind.chooses_items:
        raise QuaverError(
            "this table is about all items",
            where="items",
            expected="a table of some items: " + ", ".join(one.name for one in _all() if one.chooses_items),
            found=name,
            fix="leave the items out",
        )
    return kind.make(answers, items)


@guarded
def figure(stored: Any, name: str, *, width: Annotated[int, Field(ge=200)] = 720) -> Any:
    """Draw the figure that goes with a table, as an Altair chart.

    Args:
        stored: As of `table`.
        name: One of the tables that have a figure: subsamples, classes, items, violins, size-and-spread,
            verbal.
        width: In pixels.

    Raises:
        UnknownName: There is no such table.
        StoreError: Nothing is stored yet.
        QuaverError: The table has no figure, or there is nothing to draw.
    """
    from quaver.papers import paper_figures  # the charts' libraries are slow to load

    kind = kind_of(name)
    if not kind.figure:
        raise QuaverError(
            "this table has no figure",
            where="figure",
            expected="one of " + ", ".join(one.name for one in _all() if one.figure),
            found=name,
        )
    answers = answers_of(_checked(stored))
    made = kind.make(answers)
    if not made.table.rows:
        raise QuaverError("there is nothing to draw", where=name, found=" ".join(made.notes) or "no rows")
    given = made if kind.figure == "curves" else answers
    return paper_figures.shown(getattr(paper_figures, kind.figure)(given), made.caption, width=width)


def kind_of(name: str) -> TableKind:
    """The table of a name.

    Raises:
        UnknownName: There is none.
    """
    known = {one.name: one for one in _all()}
    if name not in known:
        raise UnknownName("table", name, known, where="table")
    return known[name]


def _checked(stored: Any) -> Study | Collection:
    from quaver.many_studies.collection import Collection
    from quaver.study.session import Study

    if not isinstance(stored, Study | Collection):
        raise QuaverError(
            "this has no stored answers",
            where="table(stored)",
            expected="a Study or a Collection",
            found=type(stored).__name__,
            fix="quaver.Study.open(…) or quaver.Collection.open(…)",
        )
    return stored
