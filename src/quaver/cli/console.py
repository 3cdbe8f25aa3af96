"""How the commands print: text that stays text, tables, JSON.

Everything goes through ``say``, ``screen``, ``errors`` or ``print_json``. They show the
texts of items, models and studies as they are: nothing in them is terminal markup or control, nor, in GitHub
Actions, a workflow command, and keys are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from quaver._secrets import Keys
from quaver.core.number_format import visible

if TYPE_CHECKING:
    from quaver.core.label_decisions import Decision
    from quaver.core.records import Estimate


class _Screen(Console):
    """A terminal that takes a string for text; what is to be bold or coloured is a ``Text``."""

    def render_str(self, text: str, **how: Any) -> Text:
        how |= {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(_shown(text), **how)


screen = _Screen()
errors = _Screen(stderr=True)


def say(line: str | Text, *, on: Console = screen, style: str | None = None) -> None:
    """Print a line, however long, without breaking it."""
    on.print(line, soft_wrap=True, style=style)


def texts(name: str, **facts: Any) -> Callable[..., list[str]]:
    """The lines of the texts in a file of ``report/templates/terminal``, its macros, by their names.

    What is indented by four spaces goes on the line before.
    """
    from quaver.report.page_templates import template  # few commands that show little need it

    written = template(f"terminal/{name}.txt").make_module(facts)

    def lines_of(text: str, *about: Any) -> list[str]:
        lines: list[str] = []
        for line in str(getattr(written, text)(*about)).split("\n"):
            if line.startswith("    ") and lines:
                lines[-1] += f" {line.strip()}"
            elif line.strip():
                lines.append(line)
        return lines

    return lines_of


def printer(name: str, **facts: Any) -> Callable[..., None]:
    """What prints such texts, each line as one, however long."""
    lines_of = texts(name, **facts)

    def tell(text: str, *about: Any, on: Console = screen) -> None:
        for line in lines_of(text, *about):
            say(line, on=on)

    return tell


def show(parts: Iterable[Group]) -> None:
    """Print tables with an empty line after each."""
    for part in parts:
        screen.print(part)
        screen.print()


def plain(value: object) -> Text:
    """Text that the terminal shows as it is: no markup, no control characters."""
    return Text(_shown(str(value)))


def _shown(text: str) -> str:
    """The text as it may be printed: in GitHub Actions, where a line can be a command, without those."""
    shown = visible(text)
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return shown
    return shown.replace("::", r":\x3a").replace("##[", r"#\x23[")


def print_json(document: object) -> None:
    """Print a line of JSON in which every unprintable character is escaped."""
    text = Keys().out_of(json.dumps(document, ensure_ascii=False, default=str))
    text = text.replace("##[", r"#\u0023[")  # a command to GitHub Actions, wherever it stands in a line
    print("".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text))


@contextmanager
def json_alone(as_json: bool) -> Iterator[None]:
    """What is said for people goes to standard error where a command prints JSON."""
    before = screen.stderr
    screen.stderr = before or as_json
    try:
        yield
    finally:
        screen.stderr = before


def say_heading(kind: str, name: str) -> None:
    """Print the name of a study or a field above what is about it; nothing where there is one alone."""
    if name:
        screen.print()
        say(f"{kind} {name}", style="bold")


def say_taken(decisions: Iterable[Decision], file: str, what: str = "what") -> None:
    """Print what the parts of a file were taken for."""
    rows = [(decision.role, decision.column, decision.why) for decision in decisions]
    screen.print(table(("taken for", what, "why"), rows, f"{file}:"))


def print_by_field(documents: Mapping[str, object]) -> None:
    """Print what there is of each field as JSON, by name; of one label set, which has no name, that alone."""
    print_json(documents.get("", {"fields": documents}))


def print_estimates(estimates: Iterable[Estimate]) -> None:
    """Print estimates as JSON, one a line."""
    for estimate in estimates:
        print_json(asdict(estimate))


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> Group:
    """A table under its title; columns that hold only numbers are aligned to the right."""
    drawn = Table(header_style="bold", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float) for row in rows) and bool(rows)
        drawn.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(plain(f"{cell:,}" if isinstance(cell, int) else cell) for cell in row))
    return Group(*([plain(title)] if title else []), drawn)
