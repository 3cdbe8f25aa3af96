"""``tables/``: every table of the page as CSV and Parquet; short ones in LaTeX and Markdown too.

In CSV and Parquet a number is whole: a column of intervals becomes two, its ends. In CSV no text is a
formula to a spreadsheet; in LaTeX and Markdown text is text.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.core.replaced_file import replacing
from quaver.core.spreadsheet import safe_cell
from quaver.report.page_words import slug, visible
from quaver.report.table_rows import Table

_DATA = re.compile(r'<data value="([^"]*)">.*?</data>', re.DOTALL)
_TAG = re.compile(r"<sup>.*?</sup>|<[^>]*>")
_COUNT = re.compile(r"[−-]?\d[\d,]*(\.\d+)?")


def write_tables(
    tables: Mapping[str, Table], frames: Mapping[str, pl.DataFrame], folder: Path
) -> dict[str, str]:
    """Write the tables that have rows, each under its name; those of an earlier report go.

    Returns:
        What is in the CSV files, by the tables' names.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.suffix in (".csv", ".parquet", ".tex", ".md"):
            old.unlink()
    whole = {**{name: tidy(table) for name, table in tables.items()}, **frames}
    texts = {name: csv_text(frame) for name, frame in whole.items() if frame.height}
    for name, text in texts.items():
        whole[name].write_parquet(folder / f"{slug(name)}.parquet")
        path = folder / f"{slug(name)}.csv"
        path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    for name, table in tables.items():
        path = folder / slug(name)
        if table.printed:
            path.with_suffix(".tex").write_text(latex(table), encoding="utf-8", errors="backslashreplace")
            path.with_suffix(".md").write_text(markdown(table), encoding="utf-8", errors="backslashreplace")
    return texts


def csv_text(frame: pl.DataFrame) -> str:
    """A table as CSV that is safe to open in a spreadsheet."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(safe_cell(name) for name in frame.columns)
    for row in frame.iter_rows():
        writer.writerow(safe_cell(value) for value in row)
    return file.getvalue()


def tidy(table: Table) -> pl.DataFrame:
    """The table as data: numbers as they are, not as they are printed.

    A cell with one number gives one; a column in which a cell holds two gives ``… low`` and ``… high``, one
    with three the value besides. Counts are whole, without commas; shares are fractions of 1.

    >>> tidy(Table(("what", "n"), (("a", "1,200"), ("b", "—")), frozenset({1}))).rows()
    [('a', 1200), ('b', None)]
    """
    series: dict[str, pl.Series] = {}
    for at, heading in enumerate(table.columns):
        cells = [row[at] for row in table.rows]
        if at not in table.numeric:
            _put(series, heading, pl.Series([plain(cell) for cell in cells], dtype=pl.String))
            continue
        numbers = [_numbers(cell) for cell in cells]
        most = max([1, *(len(some) for some in numbers)])
        kind = pl.Int64 if all(map(_is_count, cells)) else pl.Float64
        for name, place in _PARTS.get(most, (("", 0),)):
            values = [_part(some, place, most) for some in numbers]
            _put(series, f"{heading}{name}", pl.Series(values, dtype=pl.Float64).cast(kind))
    return pl.DataFrame(series)


_PARTS = {2: ((" low", 0), (" high", 1)), 3: (("", 0), (" low", 1), (" high", 2))}


def _part(some: Sequence[float], place: int, most: int) -> float | None:
    """One of a cell's numbers; a cell without an interval has a value alone."""
    if some and len(some) == most:
        return some[place]
    return some[0] if some and ((most == 3 and place == 0) or most == 2) else None


def _put(series: dict[str, pl.Series], name: str, values: pl.Series) -> None:
    unique, at = name, 2
    while unique in series:
        unique, at = f"{name} {at}", at + 1
    series[unique] = values.alias(unique)


def _is_count(cell: str | Markup) -> bool:
    """Whether a cell holds a whole number that is printed as it is, or none."""
    found = _COUNT.fullmatch(plain(cell).strip())
    return not (isinstance(cell, Markup) and _DATA.search(cell)) and (found is None or found[1] is None)


def _numbers(cell: str | Markup) -> list[float]:
    if isinstance(cell, Markup) and (found := _DATA.findall(cell)):
        return [float(value) for value in found]
    text = plain(cell).strip()
    return [float(text.replace(",", "").replace("−", "-"))] if _COUNT.fullmatch(text) else []


def plain(cell: str | Markup) -> str:
    """A cell's text, with insertions and deletions marked as ``+…+`` and ``-…-``, without numbers of notes.

    >>> plain(Markup("a <ins>b &lt; c</ins>")), plain("<b>")
    ('a +b < c+', '<b>')
    """
    if not isinstance(cell, Markup):
        return visible(str(cell))
    marked = re.sub(r"</?ins>", "+", re.sub(r"</?del>", "-", cell))
    return visible(unescape(_TAG.sub("", marked)))


# --------------------------------------------------------------------------- print

_SMALL_GREEK = [
    rf"$\{name}$"
    for name in (
        *(
            "alpha",
            "beta",
            "gamma",
            "delta",
            "epsilon",
            "zeta",
            "eta",
            "theta",
            "iota",
            "kappa",
            "lambda",
            "mu",
        ),
        *("nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    )
]
_LARGE_GREEK = [
    rf"$\{name}$"
    for name in ("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega")
]
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
    "'": r"\char39{}",
    "`": r"\char96{}",
    "-": "-{}",
    "−": "$-$",
    "×": r"$\times$",
    "—": "---",
    "…": r"\ldots{}",
    "\u00a0": "~",
    "⟨": r"\textless{}",
    "⟩": r"\textgreater{}",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "≈": r"$\approx$",
    "→": r"$\to$",
    **{sign: "\\" + sign for sign in "&%$#_"},
    **dict(zip("αβγδεζηθικλμνξπρστυφχψω", _SMALL_GREEK, strict=True)),
    **dict(zip("ΓΔΘΛΞΠΣΥΦΨΩ", _LARGE_GREEK, strict=True)),
}
_MARKDOWN = {
    **{sign: "\\" + sign for sign in "\\`*_[]|#~!$"},
    **{sign: f"&#{ord(sign)};" for sign in "<>{}"},
}
_REFERENCE = re.compile(r"&(?=#?\w+;)")
"""What Markdown would read as a sign: ``&lt;``."""


def latex(table: Table) -> str:
    r"""The table for LaTeX with the booktabs package.

    >>> print(latex(Table(("a_b", "n"), (("50% & {x}", "1"),), frozenset({1}))))
    % \usepackage{booktabs}
    \begin{tabular}{lr}
    \toprule
    a\_b & n \\
    \midrule
    50\% \& \{x\} & 1 \\
    \bottomrule
    \end{tabular}
    <BLANKLINE>
    """
    kinds = "".join("r" if at in table.numeric else "l" for at in range(len(table.columns)))
    body = [_latex_row(row) for row in table.rows]
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        _latex_row(table.columns),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _latex_row(row: Sequence[str]) -> str:
    cells = [latex_text(cell) for cell in row]
    guard = "{}" if cells and cells[0].startswith(("[", "*")) else ""  # an argument to the row above
    return guard + " & ".join(cells) + r" \\"


def latex_text(text: str) -> str:
    r"""A text on one line in which nothing is a command to LaTeX.

    >>> print(latex_text("50% of a_b: χ², ρ ≤ 1"))
    50\% of a\_b: $\chi$², $\rho$ $\le$ 1
    """
    return "".join(map(_latex_sign, _line(text)))


def _latex_sign(sign: str) -> str:
    r"""A sign as pdfLaTeX knows it: what is neither a letter nor punctuation goes by its number, in ASCII.

    >>> _latex_sign("␛"), _latex_sign("é")
    ('\\textless{}U+001B\\textgreater{}', 'é')
    """
    if sign in _LATEX or sign.isascii():
        return _LATEX.get(sign, sign)
    code = ord(sign)
    if unicodedata.category(sign)[0] not in "CS" and code < 0x10000:
        return sign
    stood_for = code - 0x2400 if 0x2400 <= code < 0x2420 else 0x7F if sign == "␡" else code
    return rf"\textless{{}}U+{stood_for:04X}\textgreater{{}}"


def markdown(table: Table) -> str:
    r"""The table for Markdown, as GitHub and Pandoc read it.

    >>> print(markdown(Table(("what", "n"), (("a | <b>", "1"),), frozenset({1}))))
    | what | n |
    | --- | ---: |
    | a \| &#60;b&#62; | 1 |
    <BLANKLINE>
    """
    rules = ["---:" if at in table.numeric else "---" for at in range(len(table.columns))]
    rows = [[markdown_text(cell) for cell in row] for row in (table.columns, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:])) + "\n"


def markdown_text(cell: str) -> str:
    r"""A text on one line in which nothing is a mark to Markdown.

    >>> print(markdown_text("A & B, a_b, &lt;"))
    A & B, a\_b, &#38;lt;
    """
    parts = _REFERENCE.split(_line(cell))
    return "&#38;".join("".join(_MARKDOWN.get(sign, sign) for sign in part) for part in parts)


def _line(cell: str) -> str:
    return " ".join(plain(cell).split())


COLUMNS = (
    "value",
    "low",
    "high",
    "confidence_level",
    "n",
    "unit",
    "estimand",
    "reason",
    "warnings",
    "excluded",
    "details",
)
"""What follows the measure and its cell; ``method`` and ``reference`` come last."""

_LAST = ("method", "reference")


def write_estimates(estimates: Sequence[Estimate], path: Path) -> None:
    """Write the estimates as tidy CSV (UTF-8).

    A column for each column of their cells (named ``cell.…`` where it would have another's name);
    ``excluded`` and ``details`` are JSON, ``warnings`` are joined by semicolons.
    """
    columns = sorted({column for one in estimates for column in one.cell})
    reserved = {"measure", *COLUMNS, *_LAST}
    header = [f"cell.{column}" if column in reserved else column for column in columns]
    with (
        replacing(path) as part,
        part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(safe_cell(name) for name in ["measure", *header, *COLUMNS, *_LAST])
        for one in estimates:
            cells = [one.cell.get(column) for column in columns]
            writer.writerow(safe_cell(value) for value in [one.measure, *cells, *_values(one)])


def _values(one: Estimate) -> list[Any]:
    return [
        *(None if end is None else float(end) for end in (one.value, one.low, one.high)),
        one.confidence_level,
        one.n,
        one.unit,
        one.estimand,
        one.reason,
        "; ".join(one.warnings),
        _json(one.excluded),
        _json(one.details),
        one.method,
        one.reference,
    ]


def _json(mapping: Any) -> str:
    return json.dumps(dict(mapping), ensure_ascii=False, default=str) if mapping else ""
