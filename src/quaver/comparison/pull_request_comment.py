"""A comparison as Markdown for the comment on a pull request: verdict, table, flipped items.

Names, labels and texts come from the pull request and from models, so none of them is trusted: each stands in
a code span of its own, in which GitHub and GitLab know no links, mentions, HTML or tables.
"""

from __future__ import annotations

import re
from typing import Final

from quaver.comparison.comparison_result import FIXED, Comparison, headline, judged_rows, rows_of
from quaver.comparison.difference_verdict import KINDS
from quaver.core.number_format import short_name, visible, visible_line
from quaver.core.records import NO_LABEL
from quaver.report.page_templates import template

_PARTS: Final = ("head", "losses", "differences", "bounds", "flips", "notes")
"""The parts of a comment, in ``templates/comparison/comment.txt``."""

_MOST_ROWS = 30
_MOST_FLIPS = 20
_LONGEST: Final = 60_000
"""Characters; GitHub takes 65,536."""

_OWN: Final = frozenset(["item", "before", "after", "gold", "change"])


def markdown(comparison: Comparison, *, flips: int = _MOST_FLIPS) -> str:
    """Write a comparison for people who review a change.

    Returns:
        Markdown in GitHub's flavour, which GitLab reads as well, of at most 60,000 characters.
    """
    rows = sorted(rows_of(comparison.verdicts), key=lambda row: KINDS.index(row.verdict.kind))
    failed = [row for row in judged_rows(comparison) if row.failed]
    shown = template("comparison/comment.txt").make_module(
        {
            "found": comparison,
            "headline": headline(comparison),
            "parts": rows_of(verdict for verdict in comparison.losses if verdict.of_part),
            "rows": rows,
            "judged": [
                [row for row in failed if row.bound is judgement.bound] for judgement in comparison.judgements
            ],
            "flipped": comparison.flips.head(flips).to_dicts(),
            "varying": [
                series.name
                for series in comparison.flips
                if series.name not in _OWN and series.n_unique() > 1
            ],
            "gold": comparison.flips["gold"].null_count() < comparison.flips.height,
            "code": code,
            "plain": _plain,
            "short_name": short_name,
            "FIXED": FIXED,
            "MOST_ROWS": _MOST_ROWS,
            "NO_LABEL": NO_LABEL,
        }
    )
    text = ""
    for name in _PARTS:
        part = str(getattr(shown, name)()).strip()
        if part and len(text) + len(part) < _LONGEST:
            text += f"{part}\n\n"
    return text.rstrip() + "\n"


def code(text: str, most: int = 80) -> str:
    """Any text as a code span, in which nothing has a meaning.

    >>> code("a|b"), code("`x` @all"), code("")
    ('`a|b`', '`` `x` @all ``', '` `')
    """
    line = visible_line(text, most) or " "
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    edge = " " if line.strip(" ") and (line[0] in " `" or line[-1] in " `") else ""
    return f"{fence}{edge}{line}{edge}{fence}"


def _plain(text: str) -> str:
    """A sentence of Quaver's, which may hold a name: nothing in it is Markdown, a link or a mention."""
    escaped = re.sub(r"([\\`*_{}\[\]<>#~&:.!@])", r"\\\1", visible_line(text, 500))
    escaped = re.sub(r"\\([.:])(?=\s|$|\d)", r"\1", escaped)
    return re.sub(r"([@#])", "\\1\u200b", escaped)


def junit(comparison: Comparison, *, file: str = "") -> str:
    """Write a comparison as JUnit XML.

    Each bound is a test of each difference that it judges. Without bounds, each difference is a test, which
    passes whatever it is. An undefined difference is a skipped test.
    """
    return template("comparison/junit.xml").render(
        found=comparison,
        rows=judged_rows(comparison) or rows_of(comparison.verdicts),
        headline=headline(comparison),
        file=file,
        line=lambda text: visible_line(text, 500),
        visible=visible,
    )
