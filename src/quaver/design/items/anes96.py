"""The built-in items ``anes96``: voters of the American National Election Study of 1996.

944 respondents who meant to vote for Bill Clinton or Bob Dole (electionstudies.org; public domain). The codes
are those that ``statsmodels.datasets.anes96`` documents.
"""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path
from typing import Any

EDUCATION = (
    "left school after eighth grade or earlier",
    "went to high school but did not finish",
    "finished high school",
    "went to college without taking a degree",
    "have a college degree",
    "have a master's degree",
    "have a doctorate",
)
_BOUNDS = (3, 5, 7, 9, 10, 11, 12, 13, 14, 15, 17, 20, 22, 25, 30, 35, 40, 45, 50, 60, 75, 90, 105)
INCOME = (
    "less than $3,000",
    *(f"${low},000 to ${high},000" for low, high in pairwise(_BOUNDS)),
    "$105,000 or more",
)
PARTY = (
    "a strong Democrat",
    "a weak Democrat",
    "an independent who leans to the Democrats",
    "an independent",
    "an independent who leans to the Republicans",
    "a weak Republican",
    "a strong Republican",
)
IDEOLOGY = (
    "extremely liberal",
    "liberal",
    "slightly liberal",
    "moderate",
    "slightly conservative",
    "conservative",
    "extremely conservative",
)


def rows() -> list[dict[str, Any]]:
    """The respondents, one mapping each.

    Beside the survey's own columns (as whole numbers), each has them in words: ``place``, ``news``,
    ``education``, ``earnings``, ``party`` and ``ideology``; and its number, ``respondent``.
    """
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    return [
        _in_words({"respondent": number} | {name: int(value) for name, value in row.items()})
        for number, row in enumerate(table, start=1)
    ]


def _in_words(row: dict[str, Any]) -> dict[str, Any]:
    thousands, days = row["popul"], row["TVnews"]
    news = {0: "never", 1: "on 1 day a week", 7: "every day"}.get(days, f"on {days} days a week")
    return row | {
        "place": f"a place of about {thousands * 1000:,} people" if thousands else "the countryside",
        "news": news,
        "education": EDUCATION[row["educ"] - 1],
        "earnings": INCOME[row["income"] - 1],
        "party": PARTY[row["PID"]],
        "ideology": IDEOLOGY[row["selfLR"] - 1],
    }
