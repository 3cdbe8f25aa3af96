"""Answers that were asked under terms that differ from their call's key.

Before the terms were stored with every answer (tables 2 and older), the rest of a partly answered request was
sent without its JSON schema: more repeats, retried calls, further rounds. The store still shows which answers
arrived together. A request that was sent whole includes the first repeat and was the first of its condition
and item to be answered; answers that came later were its rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from quaver.collect.store.response_store import Store

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
"""Answers that cannot be shown to belong to a whole request. They include answers whose first repeat was
retried, which may have been sent whole."""


def misasked(store: Store, terms: Sequence[str]) -> list[int]:
    """The ids of such answers to the study's calls."""
    numbers = dict(store.rows("SELECT asked, id FROM terms"))
    found: list[int] = []
    unknown: list[int] = []
    for condition, number in store.rows(_STORED):
        if number is None and _has_schema(terms[condition]):
            unknown.append(condition)
        elif number is not None and number != numbers.get(terms[condition]):
            found += [row for (row,) in store.rows(_UNDER, (condition, number))]
    if unknown:
        which = f"r.terms IS NULL AND a.condition IN ({', '.join(map(str, unknown))})"
        found += [row for (row,) in store.rows(REST.format(which=which))]
    return sorted(found)


def _has_schema(terms: str) -> bool:
    return len(json.loads(terms)) > 2
