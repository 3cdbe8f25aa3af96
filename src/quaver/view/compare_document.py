"""Two studies, or two sides of one, item by item: which labels differ, with a typical answer of each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quaver.errors import QuaverError
from quaver.view.answer_reading import beginning, number_of, stored
from quaver.view.asked import Asked, Given
from quaver.view.query_scope import ItemStatistics
from quaver.view.study_index import Columns
from quaver.view.viewed_study import ViewedStudy

_EXCERPT, _ITEM_EXCERPT = 400, 200
_MOST_LABELS = 60
CHANGES = ("all", "flip", "gain", "loss")


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        study: The study.
        evaluator: Whose readings.
        columns: The columns that it has.
        statistics: Of its items over these columns.
        places: The numbers of the shared items.
        codes: The legend codes of the two sides' labels, by the legend code of this one.
    """

    study: ViewedStudy
    evaluator: int
    columns: Columns
    statistics: ItemStatistics
    places: Any
    codes: Any

    @property
    def labels(self) -> Any:
        """The shared items' most frequent labels, in codes that both sides share; 0 for none."""
        return self.codes[self.statistics.modal[self.places]]


def comparison(first: ViewedStudy, second: ViewedStudy, given: Given) -> dict[str, Any]:
    """A comparison."""
    if given.change not in CHANGES:
        raise QuaverError("no such change", where="change", expected=", ".join(CHANGES), found=given.change)
    one = (first, given.asked.evaluator, given.columns_a)
    other = (second, given.evaluator_b, given.columns_b)
    a, b, only = _sides(one, other, given.asked.query)
    codes = list(dict.fromkeys((*a.study.index.design.codes, *b.study.index.design.codes)))
    ours, theirs = a.labels, b.labels
    golds = a.codes[a.study.index.gold[a.places]]
    flipped = ours != theirs
    gain = flipped & (golds > 0) & (theirs == golds)
    loss = flipped & (golds > 0) & (ours == golds)
    kept = {"all": np.ones(len(ours), bool), "flip": flipped, "gain": gain, "loss": loss}[given.change]
    rows = [int(at) for at in np.flatnonzero(kept)[given.window(50, 500)]]
    has_gold = bool((golds > 0).any())
    counts = np.zeros((len(codes) + 1, len(codes) + 1), np.int64)
    np.add.at(counts, (ours, theirs), 1)
    return {
        "a": _about(a),
        "b": _about(b),
        "items": len(ours),
        "only_a": only[0],
        "only_b": only[1],
        "flipped": int(flipped.sum()),
        "gain": int(gain.sum()) if has_gold else None,
        "loss": int(loss.sum()) if has_gold else None,
        "shown": int(kept.sum()),
        "agreement": float(1 - flipped.mean()) if len(ours) else None,
        "kappa": _kappa(counts),
        "table": _table(codes, counts),
        "same_texts": _same_texts(a, b, rows),
        "rows": _rows(a, b, rows, codes, (golds, gain, loss)),
    }


def _sides(
    first: tuple[ViewedStudy, str, str], second: tuple[ViewedStudy, str, str], query: str
) -> tuple[Side, Side, tuple[int, int]]:
    """The two sides over the items that both have answers to, and how many only one has."""
    made = []
    for study, evaluator, columns in (first, second):
        at, some = study.evaluator(evaluator), study.columns_named(columns)
        made.append((study, at, some, study.statistics(at, some)))
    (one, _, _, ours), (other, _, _, theirs) = made
    places = one.index.ids.places_in(other.index.ids) if one is not other else np.arange(len(one.index.ids))
    wanted = np.zeros(len(places), bool)
    wanted[one.view(Asked(query, first[1])).rows if query else slice(None)] = True
    here = wanted & (ours.answered > 0)
    there = np.zeros(len(places), bool)
    there[places >= 0] = theirs.answered[places[places >= 0]] > 0
    shared = np.flatnonzero(here & there)
    only = int((here & ~there).sum()), int((theirs.answered > 0).sum() - there.sum())
    codes = {code: at for at, code in enumerate(_codes(one, other), start=1)}
    a, b = (
        Side(*parts, numbers, np.array([0, *(codes[code] for code in parts[0].index.design.codes)]))
        for parts, numbers in zip(made, (shared, places[shared]), strict=True)
    )
    return a, b, only


def _codes(one: ViewedStudy, other: ViewedStudy) -> list[str]:
    return list(dict.fromkeys((*one.index.design.codes, *other.index.design.codes)))


def _about(side: Side) -> dict[str, Any]:
    return {
        "study": side.study.id,
        "title": side.study.index.design.name,
        "columns": len(side.columns.places),
        "evaluator": side.study.index.design.evaluators[side.evaluator],
    }


def _table(codes: list[str], counts: Any) -> dict[str, Any]:
    """How often each label of one side meets each of the other, the labels that occur."""
    seen = np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1))
    order = [at for at in range(1, len(codes) + 1) if len(codes) <= _MOST_LABELS or at in seen]
    order = [*order[:_MOST_LABELS], *([0] if 0 in seen else [])]
    names = [codes[at - 1] if at else None for at in order]
    return {"labels": names, "counts": counts[np.ix_(order, order)].tolist()}


def _kappa(counts: Any) -> float | None:
    """Cohen's kappa of the items that have a label on both sides; None where it is undefined."""
    both = counts[1:, 1:]
    if not (n := both.sum()):
        return None
    chance = float((both.sum(axis=0) * both.sum(axis=1)).sum()) / float(n) ** 2
    return None if chance == 1 else (float(np.trace(both)) / float(n) - chance) / (1 - chance)


def _same_texts(a: Side, b: Side, rows: list[int]) -> bool | None:
    """Whether the items that are shown have the same texts on both sides; None where that is unknown."""
    if not (a.study.index.design.has["texts"] and b.study.index.design.has["texts"]):
        return None
    pairs = ((int(a.places[at]), int(b.places[at])) for at in rows)
    return all(a.study.index.item_text(one) == b.study.index.item_text(other) for one, other in pairs)


def _rows(
    a: Side, b: Side, rows: list[int], codes: list[str], known: tuple[Any, Any, Any]
) -> list[dict[str, Any]]:
    golds, gain, loss = known
    sides = [_shown(side, [int(side.places[at]) for at in rows]) for side in (a, b)]
    found = []
    for place, at in enumerate(rows):
        item = int(a.places[at])
        gold = int(golds[at])
        found.append(
            {
                "item": a.study.index.ids[item],
                "text": a.study.index.item_text(item, _ITEM_EXCERPT),
                "gold": codes[gold - 1] if gold else None,
                "change": "gain" if gain[at] else "loss" if loss[at] else None,
                "a": sides[0][place],
                "b": sides[1][place],
            }
        )
    return found


def _shown(side: Side, items: list[int]) -> list[dict[str, Any]]:
    """The most frequent label of some items on a side, with the first answer that has it."""
    index, made = side.study.index, side.statistics
    cells = index.labels(side.evaluator).some(np.array(items, np.int64))[:, side.columns.places]
    found = []
    with stored(index) as db:
        for item, codes in zip(items, cells, strict=True):
            modal = int(made.modal[item])
            fitting = np.flatnonzero(codes == modal if modal else codes > 0)
            column = int(side.columns.places[fitting[0]])
            number = number_of(index, item, column) if db is not None else 0
            legend = int(codes[fitting[0]])
            text = beginning(db, "responses", "text", number, _EXCERPT).text if db and number else None
            found.append(
                {
                    "label": index.design.meanings[modal][0],
                    "legend": legend,
                    "share": len(fitting) / int(made.answered[item]),
                    "answers": int(made.answered[item]),
                    "column": column,
                    "text": text,
                    "length": index.plane("length", "uint32").cell(item, column),
                    "status": index.design.meanings[legend][1],
                }
            )
    return found
