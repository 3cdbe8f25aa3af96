"""Tables as text to print: LaTeX that fits a column or a page, Markdown and HTML, in which text is text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from html import escape, unescape
from itertools import groupby

from markupsafe import Markup

from quaver.report.page_templates import template
from quaver.report.page_words import visible
from quaver.report.tables.table import Table

_TAG = re.compile(r"<sup>.*?</sup>|<[^>]*>")
_BOLD = re.compile(r"(<b>.*?</b>)", re.DOTALL)


def plain(cell: str | Markup) -> str:
    """A cell's text, with insertions and deletions marked as ``+…+`` and ``-…-``, without numbers of notes.

    >>> plain(Markup("a <ins>b &lt; c</ins>")), plain("<b>")
    ('a +b < c+', '<b>')
    """
    if not isinstance(cell, Markup):
        return visible(str(cell))
    marked = re.sub(r"</?ins>", "+", re.sub(r"</?del>", "-", cell))
    return visible(unescape(_TAG.sub("", marked)))


def _marked(cell: str | Markup, text: Callable[[str], str], bold: str) -> str:
    """A cell as a format writes it, with what is best in bold."""
    if not isinstance(cell, Markup):
        return text(cell)
    parts = [Markup(part) for part in _BOLD.split(cell) if part]
    return "".join(bold.format(text(part)) if part.startswith("<b>") else text(part) for part in parts)


_GREEK = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ"
_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi "
    "chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
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
    "±": r"$\pm$",
    "√": r"$\surd$",
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
    **{letter: rf"$\{name}$" for letter, name in zip(_GREEK, _GREEK_NAMES.split(), strict=True)},
}
_MARKDOWN = {
    **{sign: "\\" + sign for sign in "\\`*_[]|#~!$"},
    **{sign: f"&#{ord(sign)};" for sign in "<>{}"},
}
_REFERENCE = re.compile(r"&(?=#?\w+;)")
"""What Markdown would read as a sign: ``&lt;``."""


_PACKAGES = r"% \usepackage{booktabs, graphicx}"
_SIGN, _BETWEEN = 4.4, 8.0
"""Points: of a sign in footnote size, and between two columns."""
_COLUMN, _PAGE = 215.0, 455.0
"""Points: how wide a column and a page of a journal are."""
_LONG = 40
"""A text of more signs is set in lines."""
_LINES = 50
"""What a page holds."""


def latex_float(table: Table, caption: str, label: str, notes: Sequence[str] = ()) -> str:
    """The table as floats: in a column where it is narrow, else across the page, smaller where it must be."""
    kinds, width = "", 0.0
    for index, heading in enumerate(table.columns):
        signs = max((len(plain(row[index])) for row in table.rows), default=0)
        long = f"p{{{_SIGN * _LONG:.0f}pt}}" if signs > _LONG else "l"
        kinds += "r" if index in table.numeric else long
        width += _SIGN * max(min(signs, _LONG), len(heading)) + _BETWEEN
    name = "table*" if width > _COLUMN else "table"
    opening, closing = (r"\resizebox{\linewidth}{!}{%", "}") if width > _PAGE else ("{%", "}")
    written, pages = [_PACKAGES], list(_pages(table))
    for number, rows in enumerate(pages):
        more = " (continued)" if number else ""
        written += [
            rf"\begin{{{name}}}",
            r"\centering\footnotesize\setlength{\tabcolsep}{4pt}\setlength{\belowcaptionskip}{4pt}",
            rf"\caption{{{latex_text(caption)}{more}}}",
            *([] if number else [rf"\label{{tab:{label}}}"]),
            opening,
            rf"\begin{{tabular}}{{{kinds}}}",
            r"\toprule",
            *_spanners(table),
            _latex_row([latex_text(heading) for heading in table.columns]),
            r"\midrule",
            *(_latex_row([_marked(cell, latex_text, r"\textbf{{{}}}") for cell in row]) for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            closing,
        ]
        if number == len(pages) - 1:
            note = r"\par\smallskip\parbox{{\linewidth}}{{\raggedright {}}}"
            written += [note.format(latex_text(words)) for words in notes]
        written.append(rf"\end{{{name}}}")
    return "\n".join(written) + "\n"


def _spanners(table: Table) -> list[str]:
    """The line of headings that span columns, and the rules below them."""
    cells, rules, first = [], "", 1
    for name, some in groupby(table.groups):
        width = len(list(some))
        cells += [rf"\multicolumn{{{width}}}{{c}}{{{latex_text(name)}}}"] if name else [""] * width
        rules += rf"\cmidrule(lr){{{first}-{first + width - 1}}}" if name else ""
        first += width
    return [_latex_row(cells), rules] if rules else []


def _latex_row(cells: Sequence[str]) -> str:
    guard = "{}" if cells and cells[0].startswith(("[", "*")) else ""  # an argument to the row above
    return guard + " & ".join(cells) + r" \\"


def _lines(row: Sequence[str]) -> int:
    """How many lines of a page a row takes."""
    return max((-(-len(plain(cell)) // _LONG) for cell in row), default=1) or 1


def _pages(table: Table) -> Iterator[list[Sequence[str]]]:
    """The rows that fit on a page."""
    page: list[Sequence[str]] = []
    for row in table.rows:
        if page and sum(map(_lines, [*page, row])) + 4 > _LINES:
            yield page
            page = []
        page.append(row)
    yield page


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
    rules = ["---:" if index in table.numeric else "---" for index in range(len(table.columns))]
    heads = [markdown_text(one) for one in table.headings]
    rows = [[_marked(cell, markdown_text, "**{}**") for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *rows)) + "\n"


def html(table: Table, caption: str, notes: Sequence[str] = ()) -> str:
    """The table as HTML without any style, its texts escaped."""
    spans = [(name, len(list(some))) for name, some in groupby(table.groups)]
    rows = [[Markup(_marked(cell, _escaped, "<b>{}</b>")) for cell in row] for row in table.rows]
    made = template("printed_table.html")
    return made.render(caption=caption, spans=spans, heads=table.columns, rows=rows, notes=notes)


def as_text(
    table: Table,
    caption: str,
    form: str,
    label: str = "quaver",
    notes: Sequence[str] = (),
    before: str = "Table: ",
) -> str:
    """The table with its caption and notes, in ``latex``, in ``html`` or, by default, in Markdown."""
    if form == "latex":
        return latex_float(table, caption, label, notes)
    if form == "html":
        return html(table, caption, notes)
    below = "".join(f"\n{markdown_text(note)}\n" for note in notes)
    return f"{markdown(table)}\n{before}{markdown_text(caption)}\n{below}"


def _escaped(cell: str) -> str:
    return escape(plain(cell))


def markdown_text(cell: str) -> str:
    r"""A text on one line in which nothing is a mark to Markdown.

    >>> print(markdown_text("A & B, a_b, &lt;"))
    A & B, a\_b, &#38;lt;
    """
    parts = _REFERENCE.split(_line(cell))
    return "&#38;".join("".join(_MARKDOWN.get(sign, sign) for sign in part) for part in parts)


def _line(cell: str) -> str:
    return " ".join(plain(cell).split())
