"""Answers that were asked under other terms than their call's key says.

Until the terms were stored beside every answer (tables 2 and older), the rest of a partly answered request
was sent without its JSON schema: more repeats, failed calls that were asked again, further rounds. Of such
answers the store still says which came together. A request that was sent whole holds the first repeat and is
the first of its condition and item that was answered; what came later was its rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from quaver.collect.store.response_store import Store

__all__ = ["REST", "misasked"]

_STORED = """SELECT a.condition, r.terms FROM calls a JOIN responses r ON r.id = a.response
    WHERE r.finish != 'error' GROUP BY a.condition, r.terms"""

_UNDER = """SELECT a.response FROM calls a JOIN responses r ON r.id = a.response
    WHERE r.finish != 'error' AND a.condition = ? AND r.terms = ?"""

REST = """
    SELECT response FROM (
        SELECT a.response, r.finish,
            min(a.repeat) OVER (PARTITION BY a.condition, a.item, r.prompt, r.received) AS first,
            dense_rank() OVER (PARTITION BY a.condition, a.item ORDER BY r.prompt, r.received) AS turn
        FROM calls a JOIN responses r ON r.id = a.response WHERE {which})
    WHERE (first > 0 OR turn > 1) AND finish != 'error'"""
"""Answers that nothing shows to have been sent with their whole request. A retried call leaves behind answers
whose own first repeat came later: they are among these, though they may have been sent whole."""


def misasked(store: Store, terms: Sequence[str]) -> list[int]:
    """The rows of such answers to the study's calls.

    Args:
        store: The answers.
        terms: For each condition of the study, those that its keys were made of.
    """
    numbers = dict(store.rows("SELECT asked, id FROM terms"))
    found: list[int] = []
    untold: list[int] = []
    for condition, number in store.rows(_STORED):
        if number is None and _has_schema(terms[condition]):
            untold.append(condition)
        elif number is not None and number != numbers.get(terms[condition]):
            found += [row for (row,) in store.rows(_UNDER, (condition, number))]
    if untold:
        which = f"r.terms IS NULL AND a.condition IN ({', '.join(map(str, untold))})"
        found += [row for (row,) in store.rows(REST.format(which=which))]
    return sorted(found)


def _has_schema(terms: str) -> bool:
    return len(json.loads(terms)) > 2
