"""Items that come in groups which a study does not declare, and what its intervals would be if it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from quaver.core.label_values import is_coded_again
from quaver.core.records import AND_PROMPT, Estimate, IntervalWarning
from quaver.core.seeds import derive
from quaver.design.items.item_table import NEAR_DUPLICATES, with_near_duplicates
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.prompts.templates import names_in
from quaver.errors import QuaverError
from quaver.measures.validity.item_clusters import item_clusters
from quaver.report.findings.quality import clusters
from quaver.study.sources.conclusion_measures import concluded_about
from quaver.study.sources.study_source import StudySource

IN_PASSING = 5_000
"""Items; the texts of more take a second or longer to compare, which only a report or a measurement does."""


def hidden_clusters(
    study: StudySource, frame: pl.DataFrame, group: str | None, *, in_passing: bool = False
) -> list[Estimate]:
    """Whether items of one author, day, thread …, or with nearly the same text, are labelled alike.

    Returns:
        An estimate for each column of the items (see `validity.item_clusters`), ``near_duplicates`` among
        them where texts repeat each other; none where the study declares its groups.
    """
    if group is not None:
        return []
    table = item_columns(study)
    if NEAR_DUPLICATES not in table.columns and (table.height <= IN_PASSING or not in_passing):
        table = table.with_columns(_copies(study))
    if table.width == 1:
        return []
    seed = derive(study.spec.seed, "permutations", "item_clusters")
    under = {"under": "items" if study.spec.annotations is None else "annotations"}
    estimates = item_clusters(frame, table, seed=seed)
    return [replace(estimate, details={**estimate.details, **under}) for estimate in estimates]


def item_columns(study: StudySource) -> pl.DataFrame:
    """A row an item, in the study's order: its id, and the columns that may group the items, as text.

    Columns that the items' text shows are parts of the items, not groups in which these were drawn; so are
    those that a conclusion is about, and those with another person's codes of a variable. They are left out,
    and so is what a bundle was packed without.
    """
    items = study.experiment.items
    columns: dict[str, list[str | None]] = {"item": [item.id for item in items]}
    names = dict.fromkeys([*study.experiment.groups, *(name for item in items for name in item.fields)])
    without = {"item", *_settled(study)}
    for name in names:
        if name not in without and not _is_coded_again(study, name):
            columns[name] = [item.groups.get(name) or _text(item.fields.get(name)) for item in items]
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def doubted(estimates: Sequence[Estimate], clusters: Sequence[Estimate]) -> list[Estimate]:
    """The estimates; those whose interval resamples the items of undeclared groups one by one say so."""
    widest = next(iter(clustered(clusters)), None)
    if widest is None:
        return [*estimates]
    column, details = widest.cell["column"], widest.details
    who = "items whose texts are nearly the same" if column == NEAR_DUPLICATES else f"items of one {column}"
    warning = IntervalWarning(
        f"{who} are labelled alike (design effect of their {details['quantity']}: {details['effect']:.1f}): "
        f"the interval may be too narrow until the study declares group: {column}"
    )
    result = []
    for estimate in estimates:
        if estimate.low is not None and estimate.unit.removesuffix(AND_PROMPT) == "item":
            estimate = replace(estimate, warnings=(*estimate.warnings, warning))
        result.append(estimate)
    return result


def with_column(study: StudySource, frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Annotations with the group of each item that a column of the items gives, or its text."""
    items = pl.Series("item", [item.id for item in study.experiment.items])
    table = pl.DataFrame([items, groups_of(study, column)])
    keyed = frame.drop(column, strict=False).with_columns(pl.col("item").cast(pl.String))
    return keyed.join(table, on="item", how="left", maintain_order="left")


def groups_of(study: StudySource, column: str) -> pl.Series:
    """The group of each item that a column of the items gives, or its text."""
    copies = _copies(study) if column == NEAR_DUPLICATES else []
    values = [_text(item.fields.get(column)) for item in study.experiment.items]
    return copies[0] if copies else pl.Series(column, values, pl.String)


def clustered(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The column whose groups make intervals widest, and texts that are nearly the same, where they do."""
    copies = [estimate for estimate in clusters(estimates) if estimate.cell["column"] == NEAR_DUPLICATES]
    return [*[estimate for estimate in clusters(estimates) if estimate not in copies][:1], *copies]


def widened(
    estimates: Sequence[Estimate], again: Sequence[Estimate], column: str, groups: int
) -> list[Estimate]:
    """Estimates whose intervals hold the groups of a column together too, where those are wider."""
    over = {(estimate.measure, *estimate.cell.items()): estimate for estimate in again}
    wider = []
    for estimate in estimates:
        other = over.get((estimate.measure, *estimate.cell.items()))
        one_group = estimate.cell.get("group") == column  # its items are all there is of it
        if other is None or estimate.interval is None or one_group:
            wider.append(estimate)
            continue
        (low, high), own = estimate.interval, other.interval
        ends: tuple[float | None, float | None] = (low, high)
        if own is None:
            ends = (None, None)
        elif own[1] - own[0] > high - low:
            ends = (min(low, own[0]), max(high, own[1]))
        details = {**estimate.details, "grouped": column, "groups": groups}
        wider.append(replace(estimate, low=ends[0], high=ends[1], details=details))
    return wider


def _settled(study: StudySource) -> set[str]:
    """Columns that are known to be something else: ids, gold labels, options, what conclusions are about."""
    spec = study.spec
    asked = spec.annotations or spec.items
    own = [spec.items.id] if spec.annotations is None else [spec.annotations.item, spec.annotations.text]
    gold = asked.gold.named if asked.gold else ()
    named = {*own, *gold, *study.gold_columns, *asked.coders, *study.experiment.labels.options}
    shown = {name for variant in study.experiment.variants for name in names_in(variant.text)}
    return {*shown, *(name for name in named if name), *concluded_about(spec)}


def _is_coded_again(study: StudySource, name: str) -> bool:
    """Whether a column of the items holds another person's codes of what a column of gold labels does."""
    items = study.experiment.items
    cells = [item.fields.get(name) for item in items]
    return any(
        is_coded_again(name, cells, gold, (item.fields.get(gold) for item in items))
        for gold in study.gold_columns
    )


def _text(value: object) -> str | None:
    return None if value is None or isinstance(value, (list, dict)) else str(value)


def _copies(study: StudySource) -> list[pl.Series]:
    """The groups of texts that are nearly the same, as a column; none where no text repeats another."""
    items, imported = study.experiment.items, study.spec.annotations
    if not study.has_texts or (imported is not None and imported.text is None):
        return []
    try:
        writer = PromptWriter(study.experiment.variants[0], study.experiment.labels)
        grouped = with_near_duplicates(items, list(map(writer.compared, items)))
    except QuaverError:  # an item has no text, which asking about it reports
        return []
    names = pl.Series(NEAR_DUPLICATES, [item.groups[NEAR_DUPLICATES] for item in grouped])
    return [names] if names.n_unique() < len(names) else []
