"""What a table of a paper is, before it is made: its name, and what makes it of stored answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from quaver.papers.paper_answers import StoredAnswers
from quaver.papers.published_table import PublishedTable

Answers = Sequence[StoredAnswers]


@dataclass(frozen=True, slots=True)
class TableKind:
    """One of a paper's tables.

    Attributes:
        name: What the command calls it.
        title: What it shows, in a line.
        make: Makes it of stored answers.
        figure: The function of `paper_figures` that draws it, where the paper has a figure.
        chooses_items: Whether it is about some items, which `make` takes by id.
    """

    name: str
    title: str
    make: Callable[..., PublishedTable]
    figure: str = ""
    chooses_items: bool = False


@dataclass(frozen=True, slots=True)
class PublishedPaper:
    """A paper and its tables.

    Attributes:
        code: What recipes call it: ``barrie-2025``; `study_kinds.PAPERS` says more of it.
        tables: Its tables, in its order.
    """

    code: str
    tables: tuple[TableKind, ...]


def each_model(answers: Answers) -> Iterator[tuple[StoredAnswers, str]]:
    """Data sets, and the models of each."""
    for one in answers:
        for model in one.models:
            yield one, model
