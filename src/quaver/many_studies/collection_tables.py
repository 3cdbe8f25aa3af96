"""Tables over the studies of a collection: a measure by study and model, and effects pooled over studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quaver.core.records import Estimate
from quaver.report.page_words import between, interval, number, percent_measure, presentation_of, slug
from quaver.report.table_rows import Table

POOLED = "pooled"
"""The study that a pooled estimate names in its cell."""

_OWN = frozenset({"study", "model"})
_AS_READ = frozenset({"decoding", "evaluator"})
"""What a table by study and model says nothing of: the first of each counts."""


class ByStudy(NamedTuple):
    """One measure of all studies.

    Attributes:
        title: What is measured.
        table: A row a study, a column a model.
    """

    title: str
    table: Table


def by_study(estimates: Sequence[Estimate]) -> Iterator[ByStudy]:
    """A table for each measure that two studies or more have of a model's labels as a whole."""
    whole: dict[str, dict[tuple[str, str], Estimate]] = {}
    for estimate in estimates:
        if estimate.cell["study"] != POOLED and set(estimate.cell) <= _OWN | _AS_READ:
            whole.setdefault(estimate.measure, {}).setdefault(
                (estimate.cell["study"], estimate.cell.get("model", "")), estimate
            )
    for measure, found in whole.items():
        studies, models = (list(dict.fromkeys(key[at] for key in found)) for at in (0, 1))
        if len(studies) < 2:
            continue
        heads = [head for model in models for head in (model or "value", "95% interval")]
        rows = [(study, *_cells(found, study, models, measure)) for study in studies]
        table = Table(
            ("study", *heads), tuple(rows), frozenset(range(1, len(heads) + 1)), name=f"tasks-{slug(measure)}"
        )
        yield ByStudy(presentation_of(measure).title or measure, table)


def _cells(
    found: Mapping[tuple[str, str], Estimate], study: str, models: Sequence[str], measure: str
) -> Iterator[str]:
    for model in models:
        estimate = found.get((study, model))
        if estimate is None or estimate.value is None:
            yield from ("—" if estimate is None else estimate.reason or "—", "")
        else:
            yield from (number(estimate.value, percent_measure(measure)), interval(estimate))


def spreads_of(estimates: Sequence[Estimate]) -> list[tuple[str, str, Estimate]]:
    """Accuracy's spread among prompts, by study and model; the first way to read the answers counts."""
    found: dict[tuple[str, str], Estimate] = {}
    for estimate in estimates:
        if (
            estimate.measure == "spread"
            and "model" in estimate.cell
            and set(estimate.cell) <= _OWN | _AS_READ
        ):
            found.setdefault((estimate.cell["study"], estimate.cell["model"]), estimate)
    return [(*place, estimate) for place, estimate in found.items()]


def size_table(estimates: Sequence[Estimate], sizes: Mapping[str, float]) -> Table:
    """Spread and size of each model in each study, and their rank correlation within the study."""
    correlations: dict[str, Estimate] = {}
    for estimate in estimates:
        if estimate.measure == "spread_size_correlation":
            correlations.setdefault(estimate.cell["study"], estimate)
    rows = []
    for study, model, estimate in spreads_of(estimates) if sizes else ():
        rho = correlations.get(study)
        value = ("—", "") if estimate.value is None else (number(estimate.value, True), interval(estimate))
        of_study = "" if rho is None else (rho.reason or "") if rho.value is None else number(rho.value)
        size = number(sizes[model]) if model in sizes else "not given"
        rows.append((study, model, size, *value, of_study, "" if rho is None else interval(rho)))
    heads = ("study", "model", "size", "spread", "95% interval", "rank correlation with size", "interval")
    return Table(heads, tuple(rows), frozenset(range(2, 7)), name="size-against-spread")


def pooled_table(estimates: Sequence[Estimate]) -> Table:
    """The effects that several studies have in common, a row each."""
    some = [
        estimate for estimate in estimates if estimate.cell["study"] == POOLED and estimate.value is not None
    ]
    columns = list(dict.fromkeys(name for estimate in some for name in estimate.cell if name != "study"))
    heads = ("studies", "mean", "95% interval", "between studies", "I²", "p", "one more study")
    rows = [
        (
            estimate.measure,
            *(estimate.cell.get(name, "") for name in columns),
            str(estimate.n),
            number(estimate.number, percent_measure(estimate.measure)),
            interval(estimate),
            number(estimate.details["tau"], percent_measure(estimate.measure)),
            number(estimate.details["i_squared"], True),
            number(estimate.details["p"]),
            _coming(estimate),
        )
        for estimate in some
    ]
    first = 1 + len(columns)
    numeric = frozenset(range(first, first + len(heads)))
    return Table(("measure", *columns, *heads), tuple(rows), numeric, name="pooled-effects")


def _coming(estimate: Estimate) -> str:
    low, high = estimate.details["next_low"], estimate.details["next_high"]
    return between(low, high, percent_measure(estimate.measure))
