"""The labels that people gave, and the gold label that they settle on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, Literal

import polars as pl

Role = Literal["coder", "adjudicator", "apart"]
"""``coder``: of a drawn item. ``adjudicator``: the last word on a drawn item. ``apart``: of an item that was
chosen in another way than by the design."""

Rule = Literal["adjudicator", "majority"]
"""What becomes of items on which coders disagree: they wait for an adjudicator, or the label of more than
half of the coders holds (and a tie waits)."""

CODED_COLUMNS: Final = {
    "item": pl.String,
    "coder": pl.String,
    "role": pl.String,
    "label": pl.String,
    "note": pl.String,
    "source": pl.String,
    "when": pl.String,
}
"""A row for each label that was taken back, in the order in which it came; none is ever removed. ``source``
is the file, or why the item was chosen; ``when`` is UTC."""


def current(coded: pl.DataFrame) -> pl.DataFrame:
    """The last label of each coder for each item, in each role."""
    return coded.unique(["item", "coder", "role"], keep="last", maintain_order=True)


@dataclass(frozen=True, slots=True)
class Settled:
    """What the coders' labels amount to.

    Attributes:
        gold: The gold label of each item that has one.
        open: The items on which coders disagree and nobody has decided, with each coder's label.
        decided: Why items on which coders disagree have a label: ``adjudicator`` or ``majority``.
    """

    gold: dict[str, str]
    open: dict[str, dict[str, str]]
    decided: dict[str, Rule]


def settled(coded: pl.DataFrame, rule: Rule = "adjudicator") -> Settled:
    """The gold labels of drawn items: what all coders agree on, what was adjudicated, else by the rule.

    Args:
        coded: Labels (`CODED_COLUMNS`).
        rule: What becomes of items on which coders disagree.

    >>> rows = [("1", "ada", "coder", "a"), ("1", "ben", "coder", "b"), ("2", "ada", "coder", "b")]
    >>> coded = pl.DataFrame(rows, schema=["item", "coder", "role", "label"], orient="row")
    >>> settled(coded)
    Settled(gold={'2': 'b'}, open={'1': {'ada': 'a', 'ben': 'b'}}, decided={})
    """
    given: dict[str, dict[str, str]] = {}
    last_word: dict[str, str] = {}
    for item, coder, role, label in current(coded).select("item", "coder", "role", "label").iter_rows():
        if role == "coder":
            given.setdefault(item, {})[coder] = label
        elif role == "adjudicator":
            last_word[item] = label
    gold, still_open, decided = dict(last_word), {}, dict[str, Rule]()
    for item, labels in given.items():
        label, votes = Counter(labels.values()).most_common(1)[0]
        if item in last_word:
            if votes < len(labels):
                decided[item] = "adjudicator"
        elif votes == len(labels):
            gold[item] = label
        elif rule == "majority" and 2 * votes > len(labels):
            gold[item], decided[item] = label, "majority"
        else:
            still_open[item] = labels
    return Settled(gold, still_open, decided)


def kept_apart(coded: pl.DataFrame) -> dict[str, str]:
    """The labels of items that were chosen in another way; none where their coders disagree."""
    found: dict[str, set[str]] = {}
    for item, label in current(coded).filter(pl.col("role") == "apart").select("item", "label").iter_rows():
        found.setdefault(item, set()).add(label)
    return {item: next(iter(labels)) for item, labels in found.items() if len(labels) == 1}


def ratings(coded: pl.DataFrame) -> pl.DataFrame:
    """The coders' labels as a table: a row an item, a column a coder, null where one did not label it."""
    rows = current(coded).filter(pl.col("role") == "coder")
    if rows.is_empty():
        return pl.DataFrame(schema={"item": pl.String})
    return rows.pivot("coder", index="item", values="label")
