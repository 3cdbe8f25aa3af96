"""Tables of labels that may be accepted: how many for which promise, and how each group is treated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quaver.core.number_format import percent
from quaver.report.estimate_index import Results
from quaver.report.page_numbers import number
from quaver.report.table_rows import Table


def accepted_table(results: Results) -> Table:
    """How many labels can be accepted for each promise; no rows without a gold sample."""
    shown = results.lock.get("accepted", {})
    own = [one for one in shown.get("accepted", ()) if one["level"]]
    rows = [(f"{one['level']}, {percent(one['promise'])}", *_cells(one)) for one in own]
    rows += [(percent(one["promise"]), *_cells(one)) for one in shown.get("curve", ())]
    heads = ("at most wrong", "accepted", "of open items", "checked", "of these wrong", "wrong, estimated")
    return Table(heads, tuple(rows), frozenset(range(1, 6)), name="accepted")


def _cells(one: Mapping[str, Any]) -> tuple[str, ...]:
    known = one["error"] is not None
    return (
        f"{one['accepted']:,}",
        number(one["share"], percent=True),
        f"{one['checked']:,}",
        f"{one['wrong']:,}",
        number(one["error"], percent=True) if known else "",
    )


def treatment_table(results: Results) -> Table:
    """How each class and group is treated: accepted labels, and the wrong ones among them."""
    groups = results.lock.get("accepted", {}).get("groups", ())
    rows = tuple(
        (
            str(one["column"]),
            str(one["level"]),
            f"{one['items']:,}",
            _share(one["accepted"]),
            f"{one['checked']:,}",
            f"{one['wrong']:,}",
            _share(one["at_most"]),
            "" if one["p"] is None else number(one["p"]),
            str(one["verdict"]),
        )
        for one in groups
    )
    heads = (
        "group",
        "level",
        "open items",
        "accepted",
        "checked",
        "of these wrong",
        "at most wrong",
        "p",
        "verdict",
    )
    return Table(heads, rows, frozenset(range(2, 8)), name="treatment")


def _share(value: float | None) -> str:
    return "" if value is None else number(value, percent=True)
