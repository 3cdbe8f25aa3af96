"""What a comparison found, in the terminal, as the comment on a pull request and as JUnit XML.

In a comment, names, labels and texts come from the pull request and from models, so none of them is trusted:
each stands in a code span of its own, in which GitHub and GitLab know no links, mentions, HTML or tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter, methodcaller
from typing import Any, Final, Literal

import polars as pl

from quaver.comparison.bounds import Judgement
from quaver.comparison.difference_verdict import (
    FAMILY,
    KINDS,
    LOSS,
    LOST,
    Verdict,
    gravest,
    verdict_on,
    worded,
)
from quaver.core.number_format import short_name, visible, visible_line
from quaver.core.records import NO_LABEL, Estimate
from quaver.core.rows import Rows, grouped
from quaver.report.page_templates import template

FIXED: Final = "Differences hold for the prompts that were asked: only items are resampled."
"""What the intervals of a comparison hold for."""


@dataclass(frozen=True)
class Comparison(Rows):
    """What differs between two sides: a table in a notebook, a few lines elsewhere, a frame on request.

    Attributes:
        before: What one side is called.
        after: What the other is.
        differences: After less before, for every measure and every cell that both have.
        flips: The items whose label differs, in every cell: ``item``, the cell's columns, ``before``,
            ``after``, ``gold``, and ``change``: ``gain``, ``loss``, or null where neither is right.
        items: How many items both have.
        left_out: What only one side has, in words.
        judgements: What came of the bounds.
        verdicts: What each difference amounts to, in their order.
        losses: What users lose: classes that are no longer answered, then the differences overall, in each
            class and in each declared group, judged together.
        notes: What a reader must know besides.
    """

    before: str
    after: str
    differences: Sequence[Estimate] = ()
    flips: pl.DataFrame = field(default_factory=pl.DataFrame)
    items: int = 0
    left_out: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()
    verdicts: Sequence[Verdict] = ()
    losses: Sequence[Verdict] = ()
    notes: Sequence[str] = ()

    @property
    def held(self) -> bool:
        """Whether every bound held and no class is shown to be lost.

        A class that is no longer answered fails every bound, since none on a mean can speak for it.
        """
        gone = any(verdict.kind == "loss" for verdict in self.lost)
        return not self.judgements or (not gone and all(judgement.held for judgement in self.judgements))

    @property
    def outcome(self) -> Literal["pass", "fail", "reported"]:
        """What came of it: without a bound nothing passes, it is only reported."""
        if not self.judgements:
            return "reported"
        return "pass" if self.held else "fail"

    @property
    def lost(self) -> list[Verdict]:
        """The classes that are no longer answered."""
        return [verdict for verdict in self.losses if LOST in verdict.estimate.details]

    @property
    def undefined(self) -> list[str]:
        """The measures that have no difference, each with the reason, in words."""
        undefined = [estimate for estimate in self.differences if estimate.value is None]
        lines = []
        for first, *others in grouped(undefined, attrgetter("measure", "reason")).values():
            cells = f" in {len(others) + 1} cells" if others else ""
            lines.append(f"{first.measure} is undefined{cells}: {first.reason}.")
        return lines

    @property
    def flipped(self) -> int:
        """How many items have another label; an item of two studies counts in each."""
        return self.flips.select(*(["study"] if "study" in self.flips.columns else []), "item").n_unique()

    @property
    def changes(self) -> dict[str, int]:
        """How many labels changed to the true one (``gain``) and from it (``loss``); empty without either."""
        counts = dict(self.flips["change"].drop_nulls().value_counts().iter_rows())
        return {kind: counts.get(kind, 0) for kind in ("gain", "loss")} if counts else {}

    def by_measure(self) -> dict[str, Verdict]:
        """The most important verdict of each measure."""
        of_measure = grouped(self.verdicts, attrgetter("measure"))
        return {measure: worst for measure, some in of_measure.items() if (worst := gravest(some))}

    def __str__(self) -> str:
        """The verdicts, a line each, and what came of the bounds."""
        texts: Any = template("terminal/compare.txt").make_module({"found": self})
        return str(texts.summary()).strip()

    __repr__ = __str__

    def rows(self) -> list[dict[str, Any]]:
        """A row for each difference: measure, cell, the values before and after, interval, verdict."""
        rows = []
        for verdict in self.verdicts:
            estimate = verdict.estimate
            sides = {side: estimate.details.get(side) for side in ("before", "after")}
            numbers = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
            about = {"measure": estimate.measure, **estimate.cell}
            rows.append({**about, **sides, **numbers, "verdict": verdict.words})
        return rows

    def document(self) -> dict[str, Any]:
        """All of it, as a mapping for JSON."""
        document = methodcaller("document")
        return {
            **{name: getattr(self, name) for name in ("before", "after", "items", "held", "outcome")},
            "left_out": list(self.left_out),
            "notes": list(self.notes),
            "differences": list(map(document, self.verdicts)),
            "losses": list(map(document, self.losses)),
            "flips": self.flips.to_dicts(),
            "bounds": list(map(document, self.judgements)),
        }


def rows_of(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Verdicts that say where they hold: by the columns that tell those on one measure apart."""
    shown = [*verdicts]
    rows, levels = [], dict[tuple[str, str], set[str]]()
    for verdict in shown:
        for column, level in verdict.estimate.cell.items():
            levels.setdefault((verdict.measure, column), set()).add(level)
    for verdict in shown:
        parts = []
        for column, level in verdict.estimate.cell.items():
            if level and len(levels[verdict.measure, column]) > 1:
                parts.append(f"{column} {short_name(level)}")
        rows.append(replace(verdict, where=", ".join(parts)))
    return rows


def judged_rows(comparison: Comparison) -> list[Verdict]:
    """Each class that is lost, and for each bound each difference that judged it."""
    margin = comparison.verdicts[0].margin if comparison.verdicts else 0.0
    rows = [replace(verdict, failed=verdict.kind == "loss") for verdict in comparison.lost]
    for judgement in comparison.judgements:
        for estimate in judgement.judged:
            failed = estimate in judgement.failed
            rows.append(replace(verdict_on(estimate, margin), bound=judgement.bound, failed=failed))
    return rows_of(rows) if len(rows) > len(comparison.lost) else []


def headline(comparison: Comparison) -> str:
    """The comparison in one line: classes and groups that are lost, then what came of the bounds."""
    leading, overall, parts, hidden = comparison.lost, list[Verdict](), list[Verdict](), list[Verdict]()
    for row in judged_rows(comparison):
        if row.failed and comparison.outcome == "fail":
            leading.append(row)
        if row.bound and not row.estimate.details.get(FAMILY):
            overall.append(row)
    for loss in comparison.losses:
        if loss.of_part and loss.is_lost:
            parts.append(loss)
        elif loss.of_part and loss.kind == "cannot tell":
            hidden.append(loss)
    parts.sort(key=lambda loss: "label" in loss.estimate.cell)
    widest = None
    if any(judgement.bound.measure == LOSS for judgement in comparison.judgements):
        widest = max(hidden, key=lambda loss: loss.at_most, default=None)
    main = gravest(overall or comparison.verdicts)
    return worded("headline", comparison.outcome, [*leading, *parts], main, widest)


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
    rows = sorted(rows_of(comparison.verdicts), key=lambda row: KINDS.index(row.kind))
    failed = [row for row in judged_rows(comparison) if row.failed]
    varying = [column.name for column in comparison.flips.drop(*_OWN, strict=False) if column.n_unique() > 1]
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
            "varying": varying,
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
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
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
