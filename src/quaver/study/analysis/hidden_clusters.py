"""Items that come in groups which a study does not declare, and what its intervals would be if it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import polars as pl

from quaver.core.column_names import column_of
from quaver.core.label_values import is_coded_again
from quaver.core.records import AND_PROMPT, Estimate, IntervalWarning, Item, Variant
from quaver.core.rows import presented
from quaver.core.seeds import derive
from quaver.design.items.item_table import NEAR_DUPLICATES, with_near_duplicates
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.prompts.templates import names_in
from quaver.design.spec import MeasureSpec
from quaver.design.spec.task_spec import IMPORTED
from quaver.errors import QuaverError
from quaver.estimation.declaration import Measure
from quaver.measures.validity.item_clusters import WIDER, item_clusters
from quaver.study.sources.conclusion_measures import concluded_about
from quaver.study.sources.study_source import StudySource

IN_PASSING = 5_000
"""Items; the texts of more take a second or longer to compare, which only a report or a measurement does."""


def hidden_clusters(
    study: StudySource, frame: pl.DataFrame, group: str | None, *, in_passing: bool = False
) -> list[Estimate]:
    """Whether items of one author, day, thread …, or with nearly the same text, are labelled alike.

    Columns that the items' text shows are parts of the items, not groups in which these were drawn; so are
    those that a conclusion is about, and those with another person's codes of a variable. They are left out,
    and so is what a bundle was packed without.

    Returns:
        An estimate for each column of the items (see `validity.item_clusters`), ``near_duplicates`` among
        them where texts repeat each other; none where the study declares its groups.
    """
    if group is not None:
        return []
    items, columns = study.experiment.items, item_columns(study)
    if NEAR_DUPLICATES not in columns and (len(items) <= IN_PASSING or not in_passing):
        columns |= _copies(study, items)
    if not columns:
        return []
    table = pl.DataFrame({"item": [item.id for item in items], **columns}, strict=False)
    seed = derive(study.spec.seed, "permutations", "item_clusters")
    under = "items" if study.spec.annotations is None else "annotations"
    estimates = item_clusters(frame, table, seed=seed)
    return [replace(estimate, details={**estimate.details, "under": under}) for estimate in estimates]


def item_columns(study: StudySource) -> dict[str, list[str | None]]:
    """The columns of the items that may group them, as text; not those that their text shows (see above)."""
    items = study.experiment.items
    shown = {name for variant in study.experiment.variants for name in names_in(variant.text)}
    without = {*shown, *_settled(study)}
    names = dict.fromkeys(name for item in items for name in (*item.groups, *item.fields))
    return {
        name: [item.groups.get(name) or _text(item.fields.get(name)) for item in items]
        for name in names
        if name not in without and name != "item" and not _is_coded_again(study, name)
    }


def doubted(estimates: Sequence[Estimate], found: Sequence[Estimate]) -> list[Estimate]:
    """The estimates; those whose interval resamples the items of undeclared groups one by one say so.

    What groups do is a matter of the quantity: that authors write of one subject each makes the shares of
    labels alike, and may leave accuracy as it is.
    """
    real = [estimate for estimate in found if estimate.details.get("clustered")]
    result = []
    for estimate in estimates:
        most = max(real, key=lambda cluster: _effect(cluster, estimate.measure), default=None)
        effect = 1.0 if most is None else _effect(most, estimate.measure)
        if most is not None and estimate.unit.removesuffix(AND_PROMPT) == "item" and effect >= WIDER**2:
            column = most.cell["column"]
            who = (
                "items whose texts are nearly the same"
                if column == NEAR_DUPLICATES
                else f"items of one {column}"
            )
            warning = IntervalWarning(
                f"{who} are labelled alike (design effect {effect:.1f}): the interval may be too narrow "
                f"until the study declares group: {column}"
            )
            if estimate.low is not None:
                estimate = replace(estimate, warnings=(*estimate.warnings, warning))
        result.append(estimate)
    return result


def _effect(cluster: Estimate, measure: str) -> float:
    """The design effect of what a measure is about: being right, changing labels, or labels as such."""
    known: Mapping[str, Mapping[str, float]] = cluster.details.get("quantities", {})
    how = presented(measure)
    about = {"accuracy": "accuracy", "stability": "disagreement", "sensitivity": "disagreement"}
    name = about.get(how.section if how else "", next((one for one in known if one.startswith("share")), ""))
    return float(known[name]["effect"] if name in known else cluster.details["effect"])


def with_column(study: StudySource, frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Annotations with the group of each item that a column of the items gives, or its text."""
    items = [item.id for item in study.experiment.items]
    table = pl.DataFrame({"item": items, column: groups_of(study, column)}, strict=False)
    keyed = frame.drop(column, strict=False).with_columns(pl.col("item").cast(pl.String))
    return keyed.join(table, on="item", how="left", maintain_order="left")


def groups_of(study: StudySource, column: str) -> list[Any]:
    """The group of each item that a column of the items gives, or its text."""
    groups = _copies(study, study.experiment.items) if column == NEAR_DUPLICATES else {}
    return groups.get(column) or [_text(item.fields.get(column)) for item in study.experiment.items]


def clustered(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The column whose groups make intervals widest, and texts that are nearly the same, where they do."""
    real = sorted(
        (estimate for estimate in estimates if estimate.details.get("clustered")),
        key=lambda estimate: -float(estimate.details["effect"]),
    )
    copies = [estimate for estimate in real if estimate.cell["column"] == NEAR_DUPLICATES]
    columns = [estimate for estimate in real if estimate.cell["column"] != NEAR_DUPLICATES]
    return [*columns[:1], *copies]


def widened(
    estimates: Sequence[Estimate], again: Sequence[Estimate], column: str, groups: int
) -> list[Estimate]:
    """Estimates whose intervals hold the groups of a column together too, where those are wider."""
    over = {(estimate.measure, *estimate.cell.items()): estimate for estimate in again}
    wider = []
    for estimate in estimates:
        other = over.get((estimate.measure, *estimate.cell.items()))
        one_group = estimate.cell.get("group") == column  # its items are all there is of it
        if other is not None and estimate.interval is not None and not one_group:
            details = {**estimate.details, "grouped": column, "groups": groups}
            (low, high), own = estimate.interval, other.interval
            if own is None:
                estimate = replace(estimate, low=None, high=None, details=details)
            elif own[1] - own[0] > high - low:
                low, high = min(low, own[0]), max(high, own[1])
                estimate = replace(estimate, low=low, high=high, details=details)
        wider.append(estimate)
    return wider


def _settled(study: StudySource) -> set[str]:
    """Columns that are known to be something else: ids, gold labels, options, what conclusions are about."""
    spec = study.spec
    asked = spec.items if spec.annotations is None else spec.annotations
    own = spec.items.id if spec.annotations is None else spec.annotations.item
    text = "" if spec.annotations is None else spec.annotations.text
    gold = asked.gold.column if asked.gold else None
    named = {own, text, gold, *study.gold_columns, *asked.coders, *study.experiment.labels.options}
    return {name for name in named if name} | concluded_about(spec)


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


def _copies(study: StudySource, items: Sequence[Item]) -> dict[str, Any]:
    """The groups of texts that are nearly the same; nothing where no text repeats another."""
    imported = study.spec.annotations
    if not study.has_texts or (imported is not None and imported.text is None):
        return {}
    try:
        writer = PromptWriter(study.experiment.variants[0], study.experiment.labels)
        found = with_near_duplicates(items, [writer.text(item) for item in items])
    except QuaverError:  # an item has no text, which asking about it reports
        return {}
    names = [item.groups[NEAR_DUPLICATES] for item in found]
    return {NEAR_DUPLICATES: names} if len(set(names)) < len(names) else {}


_FAMILIES = frozenset({"paraphrases", "instructions"})
_NAMES = frozenset({"paraphrase", "variant", "prompt_id", "prompt"})
"""Columns of imported labels that tell paraphrases apart; nothing is known there of how prompts were made."""


class Prompts(NamedTuple):
    """The factors in which a study's prompts differ.

    Attributes:
        sampled: Those whose levels are a sample: paraphrases.
        designed: The others.
        paraphrases: How many there are, taken over the sampled factors.
    """

    sampled: tuple[str, ...]
    designed: tuple[str, ...]
    paraphrases: int = 0

    @classmethod
    def of(cls, variants: Sequence[Variant]) -> Prompts:
        """The factors that have several levels."""
        levels: dict[str, set[str]] = {}
        families: dict[str, set[str]] = {}
        for variant in variants:
            for factor, level in variant.factors.items():
                levels.setdefault(factor, set()).add(level)
                origin = variant.origin.get(factor) or {}
                families.setdefault(factor, set()).add(str(origin.get("family", "")))
        varied = [factor for factor, some in levels.items() if len(some) > 1]
        sampled = [factor for factor in varied if _is_sample(factor, families[factor])]
        found = {tuple(variant.factors.get(factor) for factor in sampled) for variant in variants}
        designed = [factor for factor in varied if factor not in sampled]
        return cls(tuple(sampled), tuple(designed), len(found) if sampled else 0)


def _is_sample(factor: str, families: set[str]) -> bool:
    known = families - {"", IMPORTED}
    return bool(known & _FAMILIES) if known else factor in {column_of("factor", name) for name in _NAMES}


def with_estimand(
    spec: MeasureSpec, measure: Measure, options: Mapping[str, Any], prompts: Prompts
) -> tuple[MeasureSpec, dict[str, Any]]:
    """A measure as a study asks for it, with what its intervals are to hold for.

    By default a measure that would speak of prompts in general speaks of these alone where none are a sample.
    Where paraphrases are crossed with other factors, they are the prompts. A measure that is taken of every
    prompt is taken of all of them together, where it is to speak of others; what is no sample stays apart.
    """
    found = dict(options)
    if measure.estimands == ("fixed",) and spec.estimand is None:
        return spec, found
    wanted = spec.estimand or measure.estimands[0]
    if spec.estimand is None and wanted != "fixed" and not prompts.sampled:
        wanted = "fixed"
        found["estimand"] = wanted
    elif spec.estimand is not None:
        found["estimand"] = spec.estimand
    if wanted == "fixed":
        return spec, found
    if prompts.sampled and prompts.designed:
        found["columns"] = {"prompt": list(prompts.sampled), **(found.get("columns") or {})}
    if spec.by is None and "variant" not in measure.compared(options):
        apart = prompts.designed if prompts.sampled else ()
        by = tuple(name for name in spec.columns((), ("variant",)) if name != "variant")
        spec = spec.model_copy(update={"by": (*by, *apart)})
    return spec, found
