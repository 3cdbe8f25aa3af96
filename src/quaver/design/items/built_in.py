"""Items that a study names instead of a file: tables of the package."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.input_budget import read_file


def anes96() -> list[dict[str, Any]]:
    """Voters of the American National Election Study of 1996, one mapping each.

    944 respondents who meant to vote for Bill Clinton or Bob Dole (electionstudies.org; public domain). The
    codes are those that ``statsmodels.datasets.anes96`` documents. Beside the survey's own columns, as whole
    numbers, each has them in words (``place``, ``news``, ``education``, ``earnings``, ``party`` and
    ``ideology``) and its number, ``respondent``.
    """
    return _table("anes96")


def judged_answers() -> list[dict[str, Any]]:
    """Pairs of answers for a judge, one mapping each.

    Each has ``pair`` (its number), ``question``, ``answer_a`` and ``answer_b``; and, each naming A or B,
    ``better`` (the right answer), ``longer``, and ``own``: the answer that the judge wrote, were it so. Here
    ``own`` names A in every other pair and B in the rest, whatever is right and long, so that a judge can
    have no preference for it.

    >>> [judged_answers()[0][name] for name in ("question", "answer_a", "better", "longer")]
    ['What is the capital of France?', 'Paris.', 'A', 'B']
    """
    return _table("judged_answers")


def _table(name: str) -> list[dict[str, Any]]:
    content = read_file(Path(__file__).with_name(f"{name}.csv"))
    return pl.read_csv(BytesIO(content), infer_schema_length=None).to_dicts()
