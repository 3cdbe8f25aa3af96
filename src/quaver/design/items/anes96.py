"""The built-in items ``anes96``: voters of the American National Election Study of 1996.

944 respondents who meant to vote for Bill Clinton or Bob Dole, as ``statsmodels`` ships them
(public domain; the codes are documented in ``statsmodels.datasets.anes96.NOTE``).
"""

from __future__ import annotations

import csv
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from quaver.errors import ItemError

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

    Raises:
        ItemError: ``statsmodels`` is not installed.
    """
    # Found, not imported: importing statsmodels takes longer than all work with the table.
    found = find_spec("statsmodels")
    path = (
        Path(found.origin).with_name("datasets") / "anes96" / "anes96.csv" if found and found.origin else None
    )
    if path is None or not path.is_file():
        raise ItemError(
            "the voters of 1996 come with statsmodels, which is not installed",
            where="items.source",
            fix="pip install 'quaver[demo]'",
        )
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file, delimiter="\t", quotechar="'"))
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
