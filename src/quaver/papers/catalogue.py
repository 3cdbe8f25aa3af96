"""The papers, their tables and figures, and how to make one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from quaver.core.arguments import guarded
from quaver.errors import QuaverError, UnknownName
from quaver.papers.paper_layout import FigureKind, Layout, TableKind
from quaver.papers.published_table import Answers, Intervals, PublishedTable, answers_of
from quaver.study.session import Study


@dataclass(frozen=True, slots=True)
class PublishedPaper:
    """A paper, its tables and its figures.

    Attributes:
        code: What recipes call it: ``barrie-2025``; `study_kinds.PAPERS` says more of it.
        tables: Its tables, in its order.
        figures: Its figures.
    """

    code: str
    tables: tuple[TableKind, ...]
    figures: tuple[FigureKind, ...]


def _paper(code: str, tables: Sequence[dict[str, Any]], figures: Sequence[dict[str, Any]]) -> PublishedPaper:
    for one in tables:
        one["notes"] = [_NOTES[note[1:]] if note.startswith("@") else note for note in one.get("notes", ())]
        one["layouts"] = [Layout(**layout) for layout in one.get("layouts", ())]
    return PublishedPaper(
        code, tuple(TableKind(**one) for one in tables), tuple(FigureKind(**one) for one in figures)
    )


_FILE = tomllib.loads(Path(__file__).with_name("papers.toml").read_text(encoding="utf-8"))
_NOTES = _FILE.pop("notes")
PAPERS: tuple[PublishedPaper, ...] = tuple(_paper(code, **parts) for code, parts in _FILE.items())
_TABLES = {kind.name: kind for paper in PAPERS for kind in paper.tables}
_FIGURES = {f"{paper.code}:{one.number}": one for paper in PAPERS for one in paper.figures}


def tables() -> dict[str, str]:
    """What each table shows, by its name, in the papers' order."""
    return {name: kind.title for name, kind in _TABLES.items()}


def figures() -> dict[str, str]:
    """What each figure shows, by its paper and number: ``errica-2025:6``."""
    return {name: one.title for name, one in _FIGURES.items()}


@guarded
def table(stored: Any, name: str, *, items: Sequence[str] = ()) -> PublishedTable:
    """Make a table of a paper from stored answers; no model is asked.

    Returns:
        The table: ``as_("latex")`` and ``as_("csv")`` give it as text, ``rows()`` as data.
    """
    return _made(stored, kind_of(name), items, "all")


@guarded
def printed(stored: Any, name: str, *, items: Sequence[str] = ()) -> list[PublishedTable]:
    """Make a table as the paper prints it: once for each of the paper's tables that it is in.

    Returns:
        The printed tables; the table itself where the paper prints it as it stands.
    """
    kind = kind_of(name)
    values = [value for one in kind.layouts for value in one.values]
    shown = not values or any("interval" in value or value.endswith("*") for value in values)
    return as_printed(_made(stored, kind, items, "all" if shown else "none"), kind)


def _made(stored: Any, kind: TableKind, items: Sequence[str], intervals: Intervals) -> PublishedTable:
    """A table; intervals that nobody will see take most of the time."""
    answers = answers_of(_studies(stored), intervals=intervals)
    if not items:
        return kind.make(answers)
    if not kind.chooses_items:
        some = [known for known, one in _TABLES.items() if one.chooses_items]
        raise QuaverError(
            "this table is about all items",
            where="items",
            expected=f"a table of some items: {', '.join(some)}",
            found=kind.name,
            fix="leave the items out",
        )
    return kind.make(answers, items)


def as_printed(made: PublishedTable, kind: TableKind) -> list[PublishedTable]:
    """The paper's tables of a table."""
    several = len(kind.layouts) > 1
    return [
        one.of(made, f"{kind.name}-{one.number.split()[-1]}" if several else kind.name)
        for one in kind.layouts
    ] or [made]


@guarded
def figure(
    stored: Any,
    name: str,
    *,
    width: Annotated[int, Field(ge=200)] = 720,
    models: Sequence[str] = (),
    strategies: Sequence[str] = (),
    classes: Sequence[str] = (),
    items: Sequence[str] = (),
    columns: Annotated[int, Field(ge=1)] | None = None,
    page: Annotated[int, Field(ge=1)] = 1,
) -> Any:
    """Draw a page of a figure of a paper, as an Altair chart.

    Args:
        stored: A study or a collection.
        name: The paper and the number: ``errica-2025:6``.
        width: In pixels; 720 is a page, 360 a column.
        models: Those that are drawn; all if left out, as of the next three.
        strategies: Their levels of the factor ``strategy``.
        classes: Their codes or names.
        items: Their ids.
        columns: Panels side by side; as many as fit if left out.
        page: The page; its caption says how many there are, and what is left out.

    Raises:
        UnknownName: There is no such figure, model, strategy, class or item.
        QuaverError: There is nothing to draw, or no such page.
    """
    from quaver.papers import paper_figures  # the charts' libraries are slow to load
    from quaver.report.charts.specification import finished
    from quaver.report.charts.svg import as_altair

    kind = figure_of(name)
    about = kind_of(kind.table) if kind.table else None
    chooses = about is not None and about.chooses_items
    chosen = {"model": models, "strategy": strategies, "item": () if chooses else items}
    only = {column: values for column, values in chosen.items() if values}
    answers = answers_of(_studies(stored), intervals=_drawn_intervals(kind), only=only)
    wanted = _names_of(answers, classes)
    made = about.make(answers, *([items] if chooses and items else [])) if about else None
    if made is not None and classes:
        _check("column", "class", dict.fromkeys(made.columns))
        kind = replace(kind, only={**kind.only, "class": wanted})
    sheet = paper_figures.Sheet(width, columns, page, wanted)
    chart = paper_figures.drawing(kind, answers, made)(sheet)
    said = [f"{column}: {', '.join(values)} alone" for column, values in only.items()]
    said += [f"class: {', '.join(classes)} alone"] if classes else []
    said += [f"page {page} of {sheet.pages}"] if sheet.pages > 1 else []
    return as_altair(finished(chart, width=width, title=f"{kind.title}.", subtitle="; ".join(said)))


def _names_of(answers: Answers, classes: Sequence[str]) -> list[str]:
    """The names of classes that are given by code or name."""
    labels = [label for one in answers for label in one.labels.labels]
    names = {key: label.name for label in labels for key in (label.code, label.name)}
    for given in classes:
        _check("class", given, names)
    return list(dict.fromkeys(names[given] for given in classes))


def _drawn_intervals(kind: FigureKind) -> Intervals:
    """Which intervals a figure shows: appendix A's are of resampled rows."""
    return "none" if not kind.ends else "rows" if kind.ends == "appendix A's interval" else "all"


def paper_of(path: Path) -> PublishedPaper | None:
    """The paper whose recipe a file is, by its name."""
    return next((paper for paper in PAPERS if path.name.startswith(paper.code)), None)


def figure_of(name: str) -> FigureKind:
    """The figure of a paper and number."""
    _check("figure", name, _FIGURES)
    return _FIGURES[name]


def kind_of(name: str) -> TableKind:
    """The table of a name."""
    _check("table", name, _TABLES)
    return _TABLES[name]


def _check(what: str, name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        raise UnknownName(what, name, known, where=what)


def _studies(stored: Any) -> Mapping[str, Study]:
    """The studies whose answers are stored, by name: those of a mapping, a study's fields, or the one."""
    if isinstance(stored, Mapping) and [*stored] == [""]:
        stored = stored[""]
    if isinstance(stored, Study):
        return stored.fields or {stored.spec.name: stored}
    if isinstance(stored, Mapping):
        return stored
    raise QuaverError(
        "this has no stored answers",
        where="table(stored)",
        expected="a Study, or several by name",
        found=type(stored).__name__,
        fix="quaver.Study.open(…) or quaver.open_studies(…)",
    )
