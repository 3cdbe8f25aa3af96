"""The papers, their tables and figures as ``papers.toml`` declares them, and how to make one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import Field

from quaver.core.arguments import guarded
from quaver.design.study_kinds import PAPERS
from quaver.errors import QuaverError, UnknownName
from quaver.papers.paper_answers import Answers, answers_of
from quaver.papers.pivots import pivot
from quaver.papers.published_table import FigureKind, Layout, PublishedTable, Value, reasons, table_of
from quaver.study.session import Study
from quaver.study.sources.kept_results import kept
from quaver.study.sources.study_source import StudySource


@dataclass(frozen=True, slots=True)
class TableKind:
    """One of a paper's tables.

    Attributes:
        name: What the command calls it.
        title: What it shows, in a line.
        caption: What stands above it.
        columns: Its columns (`published_table.table_of`); three decimals are the default.
        paper: Whose: ``barrie-2025``.
        function: Makes its rows of stored answers: a module of this folder, and its function.
        pivot: Where it has none: which estimates its rows are (`pivots.pivot`).
        notes: What stands below it.
        empty: What stands below it where it has no rows.
        layouts: How the paper prints it, where that is otherwise: once for each of its tables.
        chooses_items: Whether it is about some items, which the function takes by id.
    """

    name: str
    title: str
    caption: str
    columns: str
    paper: str = ""
    function: str = ""
    pivot: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()
    empty: str = ""
    layouts: Sequence[Layout] = ()
    chooses_items: bool = False

    def make(self, answers: Answers, *items: Sequence[str]) -> PublishedTable:
        """The table of stored answers, or of some items' answers."""
        made = pivot(answers, self.pivot) if self.pivot else _function(self.function)(answers, *items)
        rows: list[Sequence[Value]] = list(made)
        notes = [*self.notes, "" if rows else self.empty, *reasons(rows)]
        table = table_of(self.columns, rows, self.name)
        return PublishedTable(self.name, self.caption, table, tuple(filter(None, notes)))

    def printed(self, made: PublishedTable) -> list[PublishedTable]:
        """The paper's tables of the table that was made; itself where the paper prints it as it stands."""
        said = replace(made, notes=tuple(note for note in made.notes if note not in self.notes))
        tables = []
        for layout in self.layouts:
            number = f"-{layout.number.split()[-1]}" if len(self.layouts) > 1 else ""
            tables.append(layout.of(said, f"{self.name}{number}"))
        return tables or [made]


def _function(named: str) -> Any:
    """A function of this folder, by its module and name."""
    module, _, name = named.partition(".")
    return getattr(import_module(f"quaver.papers.{module}"), name)


def _declared() -> tuple[dict[str, TableKind], dict[str, FigureKind]]:
    """The tables by name, and the figures by paper and number, in the papers' order."""
    file = tomllib.loads(Path(__file__).with_name("papers.toml").read_text(encoding="utf-8"))
    shared = file["notes"]
    tables: dict[str, TableKind] = {}
    figures: dict[str, FigureKind] = {}
    for paper in PAPERS:
        for declared in file[paper]["tables"]:
            for layout in (declared, *declared.get("layouts", ())):
                notes = layout.get("notes", ())
                layout["notes"] = [shared.get(note.removeprefix("@"), note) for note in notes]
            layouts = [Layout(**layout) for layout in declared.pop("layouts", ())]
            kind = TableKind(**declared, paper=paper, layouts=layouts)
            tables[kind.name] = kind
        for declared in file[paper]["figures"]:
            figures[f"{paper}:{declared['number']}"] = FigureKind(**declared, paper=paper)
    return tables, figures


TABLES, FIGURES = _declared()


def tables() -> dict[str, str]:
    """What each table shows, by its name, in the papers' order."""
    return {name: kind.title for name, kind in TABLES.items()}


def figures() -> dict[str, str]:
    """What each figure shows, by its paper and number: ``errica-2025:6``."""
    return {name: kind.title for name, kind in FIGURES.items()}


@guarded
def table(stored: Any, name: str, *, items: Sequence[str] = ()) -> PublishedTable:
    """Make a table of a paper from stored answers; no model is asked.

    Returns:
        The table: ``as_("latex")`` and ``as_("csv")`` give it as text, ``rows()`` as data.
    """
    return _made(stored, kind_of(name), items, intervals=True)


@guarded
def printed(stored: Any, name: str, *, items: Sequence[str] = ()) -> list[PublishedTable]:
    """Make a table as the paper prints it: once for each of the paper's tables that it is in.

    Returns:
        The printed tables; the table itself where the paper prints it as it stands.
    """
    kind = kind_of(name)
    values = " | ".join(chain.from_iterable(layout.values for layout in kind.layouts))
    shown = not values or "interval" in values or "*" in values
    return kind.printed(_made(stored, kind, items, intervals=shown))


def _made(stored: Any, kind: TableKind, items: Sequence[str], *, intervals: bool) -> PublishedTable:
    """A table; intervals that nobody will see take most of the time."""
    studies = _studies(stored)
    if items and not kind.chooses_items:
        problem = "this table is about all items"
        raise QuaverError(problem, where="items", found=kind.name, fix="leave the items out")

    def made() -> list[Any]:
        answers = answers_of(studies, intervals=intervals)
        for item in items:
            known = set[str]().union(*(answer.frame["item"].cast(pl.String) for answer in answers))
            _check("item", item, dict.fromkeys(sorted(known)))
        return kind.make(answers, *([items] if items else [])).as_document()

    return PublishedTable.of_document(
        kept(_sources(studies), f"table-{kind.name}", [kind.name, items, intervals], made)
    )


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
        classes: Codes or names of the items' gold labels.
        items: Their ids.
        columns: Panels side by side, 110 pixels each at least; as many as fit if left out.
        page: The page; its caption says how many there are, and what is left out.

    Raises:
        UnknownName: There is no such figure, model, strategy, class or item.
        QuaverError: There is nothing to draw, or no such page.
    """
    from quaver.papers import paper_figures  # the charts' libraries are slow to load
    from quaver.report.charts.specification import finished
    from quaver.report.charts.svg import as_altair

    kind = figure_of(name)
    about = TABLES[kind.table] if kind.table else None
    chooses = about is not None and about.chooses_items
    only = {"model": models, "strategy": strategies, "class": classes, "item": () if chooses else items}
    only = {column: values for column, values in only.items() if values}
    answers = answers_of(_studies(stored), intervals=bool(kind.ends), only=only)
    made = about.make(answers, *([items] if chooses and items else [])) if about else None
    panels = getattr(paper_figures, kind.draw)(kind, answers, made.rows() if made else ())
    if not panels.rows:
        notes = " ".join(made.notes) if made else ""
        raise QuaverError("there is nothing to draw", where=f"figure {name}", found=notes or "no rows")
    spec, pages = panels.page(width, columns, page)
    said = [f"{column}: {', '.join(values)} alone" for column, values in only.items()]
    said += [f"page {page} of {pages}"] if pages > 1 else []
    return as_altair(finished(spec, width=width, title=f"{kind.title}.", subtitle="; ".join(said)))


def drawn(stored: Any, name: str, **choices: Any) -> str:
    """`figure` as SVG, kept beside the answers."""
    from quaver.report.charts.svg import svg_text

    def made() -> str:
        return svg_text(figure(stored, name, **choices))

    return str(kept(_sources(_studies(stored)), f"figure-{name.replace(':', '-')}", choices, made))


def _sources(studies: Mapping[str, Study]) -> dict[str, StudySource]:
    return {name: study.source for name, study in studies.items()}


def paper_of(path: Path) -> str:
    """The paper whose recipe a file is, by its name; empty where it is none's."""
    return next((paper for paper in PAPERS if path.name.startswith(paper)), "")


def figure_of(name: str) -> FigureKind:
    """The figure of a paper and number."""
    _check("figure", name, FIGURES)
    return FIGURES[name]


def kind_of(name: str) -> TableKind:
    """The table of a name."""
    _check("table", name, TABLES)
    return TABLES[name]


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
