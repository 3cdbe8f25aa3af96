"""How the commands print: text that stays text, tables, JSON.

Everything goes through ``say``, ``screen``, ``errors`` or ``print_json``. They show the
texts of items, models and studies as they are: nothing in them is terminal markup or control, nor, in GitHub
Actions, a workflow command, and keys are left out.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.table import Table
from rich.text import Text

from quaver._secrets import Keys
from quaver.cli.command_options import HERE
from quaver.core.number_format import visible

if TYPE_CHECKING:
    from quaver.core.label_decisions import Decision
    from quaver.papers.published_table import PublishedTable


_LOG: Final = 1000
"""How wide a table may be in the log."""


class _Screen(Console):
    """A terminal that takes a string for text; what is to be bold or coloured is a ``Text``."""

    logs = False
    """Whether standard error is a log in JSON."""

    def print(self, *objects: Any, **how: Any) -> None:
        """Print; into the log a line each."""
        if not (errors.logs and self.stderr):
            super().print(*objects, **how)
            return
        wide = Console(width=_LOG, file=StringIO(), color_system=None)
        wide.print(
            *(self.render_str(shown) if isinstance(shown, str) else shown for shown in objects),
            soft_wrap=True,
        )
        for line in wide.file.getvalue().splitlines():  # type: ignore[attr-defined]
            if line.strip():
                log("message", message=line.rstrip())

    def render_str(self, text: str, **how: Any) -> Text:
        how |= {"markup": False, "emoji": False, "highlight": False}
        return super().render_str(_shown(text), **how)


screen = _Screen()
errors = _Screen(stderr=True)


def say(line: str | Text, *, on: Console = screen, style: str | None = None) -> None:
    """Print a line: on a terminal broken between words alone, elsewhere whole, however long."""
    line = whole(line) if isinstance(line, str) else line
    if on.is_terminal:
        shown = plain(line) if isinstance(line, str) else line
        line = Text("\n").join(_between_words(part, on.width) for part in shown.split("\n"))
    on.print(line, soft_wrap=True, style=style)


def _between_words(line: Text, width: int) -> Text:
    """A line in as many as the width needs; those that follow are indented like the first."""
    text = line.plain
    indent, begun, breaks = len(text) - len(text.lstrip()), 0, list[int]()
    for word in re.finditer(r"\S+", text):
        room = width - indent * bool(breaks)
        if word.start() > max(begun, indent) and cell_len(text[begun : word.end()]) > room:
            begun = word.start()
            breaks.append(begun)
    parts = line.divide(breaks)
    for part in parts:
        part.rstrip()
    return Text("\n" + " " * indent).join(parts)


def say_command(head: str, command: str) -> None:
    r"""Print a command to copy after its heading; of several lines, each but the last ends in ``\``."""
    line = f"{head} {command}"
    if not screen.is_terminal or len(line) <= screen.width:
        screen.print(line, soft_wrap=True)
        return
    say(head, on=screen)
    screen.print(in_lines(command, screen.width), soft_wrap=True)


def in_lines(command: str, width: int) -> str:
    r"""A command in as many lines as a width needs; each but the last ends in ``\``."""
    lines = [""]
    for word in re.findall(r"(?:'[^']*'|\"[^\"]*\"|\S)+", command):
        if len(lines[-1]) + len(word) + 3 > width and lines[-1]:
            lines.append("   ")
        lines[-1] += f" {word}" if lines[-1] else word
    return " \\\n".join(lines)


_about: list[tuple[str, str]] = []
"""The study that the running command is about, and its functions, as a command names them."""

_ASKING: Final = ("plan", "run", "variants", "watch")
"""Commands that ask a model's function."""


def about(study: Path, functions: Iterable[str] | None = None) -> None:
    """From now on, commands that are shown are about this study, asked with these functions."""
    given = "".join(f" --function {shlex.quote(function)}" for function in functions or ())
    _about[:] = [("" if study == HERE else f" {shlex.quote(str(study))}", given)]


def whole(line: str) -> str:
    """A line in which commands name the study that they are about, so that they run as they are."""
    for study, functions in _about:
        for verb in set(re.findall(r"quaver ([a-z]+) STUDY\b", line)):
            asked = functions if verb in _ASKING else ""
            line = line.replace(f"quaver {verb} STUDY", f"quaver {verb}{study}{asked}")
    return line


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
def for_programs(as_json: bool, log_json: bool) -> Iterator[None]:
    """Write results as JSON to standard output, and messages for people to standard error.

    Args:
        as_json: Whether that is so.
        log_json: Whether each line on standard error is one of JSON.
    """
    screen.stderr, errors.logs = as_json, log_json
    try:
        yield
    finally:
        screen.stderr = errors.logs = False


def gives() -> bool:
    """Whether the command prints JSON."""
    return screen.stderr


def give(document: Callable[[], object]) -> None:
    """Print a command's document, which is made where it prints JSON alone."""
    if gives():
        print_json(document())


def log(event: str, **facts: object) -> None:
    """Write a line of the log: when, what, and facts about it."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = Keys().out_of(json.dumps({"time": now, "event": event, **facts}, ensure_ascii=False, default=str))
    print(line, file=sys.stderr, flush=True)


def say_heading(kind: str, name: str) -> None:
    """Print the name of a study or a field above what is about it; nothing where there is one alone."""
    if name:
        screen.print()
        say(f"{kind} {name}", style="bold")


def taken_document(decisions: Iterable[Decision]) -> list[dict[str, str]]:
    """What the parts of a file were taken for, for JSON."""
    return [{"role": decision.role, "what": decision.column, "why": decision.why} for decision in decisions]


def say_taken(decisions: Iterable[Decision], file: str, what: str = "what") -> None:
    """Print what the parts of a file were taken for."""
    rows = [(decision.role, decision.column, decision.why) for decision in decisions]
    screen.print(table(("taken for", what, "why"), rows, f"{file}:"))


def give_each(what: str, documents: Mapping[str, object]) -> None:
    """Print the documents of ``studies`` or ``fields`` by name; a single one without a name by itself."""
    give(lambda: documents.get("", {what: documents}))


_WHOLE: Final = 20
"""The most characters of a cell that is not broken between its words, where there is room."""


class _Rows:
    """Rows under their heads, as a table whose columns have room for their words.

    Where the screen is too narrow, the first cells of a row stand in a line above the others.
    """

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.columns = columns
        self.cells = [[plain(f"{cell:,}" if isinstance(cell, int) else cell) for cell in row] for row in rows]
        self.numeric = [
            bool(rows) and all(isinstance(row[index], int | float) for row in rows)
            for index in range(len(columns))
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        last = len(self.columns) - 1
        for above, whole in [(0, _WHOLE), (0, 0), *((above, 2 * _WHOLE) for above in range(1, last + 1))]:
            least = [self._least(index, whole) for index in range(above, last + 1)]
            if sum(least) + 2 * len(least) <= options.max_width or above == last:
                yield from self._tables(above, self._widths(least, options.max_width))
                return

    def _least(self, index: int, whole: int) -> int:
        """How wide a column must be so that no word is broken, nor a cell of so many characters."""
        cells = [Text(self.columns[index]), *(row[index] for row in self.cells)]
        return max(
            cell.cell_len if cell.cell_len <= whole else max(map(cell_len, cell.plain.split()), default=0)
            for cell in cells
        )

    def _widths(self, least: list[int], room: int) -> list[int]:
        """How wide the columns are that need so much at least; those that lack least come first."""
        above = len(self.columns) - len(least)
        wanted = [self._least(index, room) for index in range(above, len(self.columns))]
        order = sorted(range(len(least)), key=lambda index: wanted[index] - least[index])
        spare, widths = room - sum(least) - 2 * len(least), list(least)
        for place, index in enumerate(order):
            more = max(0, min(wanted[index] - least[index], spare // (len(order) - place)))
            widths[index] += more
            spare -= more
        return widths

    def _tables(self, above: int, widths: Sequence[int]) -> RenderResult:
        """One table, or one for each combination of cells that is printed as a heading."""
        if not above:
            yield self._table(self.cells, widths)
            return
        yield Text(", ".join(self.columns[:above]), "bold")
        yield self._table([], widths)
        for title, rows in groupby(self.cells, lambda row: [cell.plain for cell in row[:above] if cell]):
            yield plain(", ".join(title))
            yield self._table([row[above:] for row in rows], widths, headed=False)

    def _table(self, rows: Iterable[Sequence[Text]], widths: Sequence[int], *, headed: bool = True) -> Table:
        drawn = Table(header_style="bold", box=None, pad_edge=False, show_header=headed)
        above = len(self.columns) - len(widths)
        for index, width in enumerate(widths, above):
            drawn.add_column(
                self.columns[index],
                justify="right" if self.numeric[index] else "left",
                overflow="fold",
                width=width,
            )
        for row in rows:
            drawn.add_row(*row)
        return drawn


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> Group:
    """A table under its title; columns that hold only numbers are aligned to the right."""
    return Group(*([plain(title)] if title else []), _Rows(columns, rows))


def show_published(made: PublishedTable) -> None:
    """Show a table of a paper, drawn, with its notes."""
    from quaver.report.tables.table import plain as cell_text

    rows = [[*map(cell_text, row)] for row in made.table.rows]
    screen.print(table(made.table.headings, rows, made.caption))
    for note in made.notes:
        say(note)
