"""Two studies, or two sides of one, item by item: which labels differ, with a typical answer of each side."""

from __future__ import annotations

from typing import Any

import numpy as np

from quaver.errors import QuaverError
from quaver.view.asked import Asked, Given
from quaver.view.grid_documents import cell_documents
from quaver.view.query_scope import Scope
from quaver.view.study_index import Index
from quaver.view.viewed_study import ViewedStudy, alignment, both_codes

_EXCERPT, _ITEM_EXCERPT = 400, 200
_MOST_LABELS = 60
CHANGES = ("all", "flip", "gain", "loss")


def comparison(first: ViewedStudy, second: ViewedStudy, given: Given) -> dict[str, Any]:
    """A comparison of the items that both sides have answers to."""
    if given.change not in CHANGES:
        raise QuaverError("no such change", where="change", expected=", ".join(CHANGES), found=given.change)
    a = first.scope(Asked(evaluator=given.asked.evaluator, within=given.columns_a))
    b = second.scope(Asked(evaluator=given.evaluator_b, within=given.columns_b))
    places, of_b = alignment(a.index, b.index)
    here, there = a.statistics.answered > 0, np.zeros(len(places), bool)
    there[places >= 0] = b.statistics.answered[places[places >= 0]] > 0
    if query := given.asked.query:
        matching = np.zeros(len(places), bool)
        matching[first.view(Asked(query, given.asked.evaluator)).rows] = True
        here &= matching
    shared = np.flatnonzero(here & there)
    theirs_of = places[shared]
    ours, theirs = a.statistics.modal[shared], of_b[b.statistics.modal[theirs_of]]
    golds = a.index.gold[shared]
    flipped = ours != theirs
    gain = flipped & (golds > 0) & (theirs == golds)
    loss = flipped & (golds > 0) & (ours == golds)
    kept = {"all": np.ones(len(ours), bool), "flip": flipped, "gain": gain, "loss": loss}[given.change]
    shown = np.flatnonzero(kept)[given.window(50, 500)]
    codes = both_codes(a.index, b.index)
    counts = np.zeros((len(codes) + 1, len(codes) + 1), np.int64)
    np.add.at(counts, (ours, theirs), 1)
    has_gold = bool((golds > 0).any())
    rows = []
    sides = zip(_typical(first, a, shared[shown]), _typical(second, b, theirs_of[shown]), strict=True)
    for at, (one, other) in zip(shown, sides, strict=True):
        item = int(shared[at])
        row: dict[str, Any] = {"item": a.index.ids[item], "a": one, "b": other}
        row["text"] = a.index.item_text(item, _ITEM_EXCERPT)
        row["gold"] = a.index.design.meanings[int(golds[at])][0]
        row["change"] = "gain" if gain[at] else "loss" if loss[at] else None
        rows.append(row)
    return {
        "a": _about(first, a),
        "b": _about(second, b),
        "items": len(ours),
        "only_a": int((here & ~there).sum()),
        "only_b": int((b.statistics.answered > 0).sum() - there.sum()),
        "flipped": int(flipped.sum()),
        "gain": int(gain.sum()) if has_gold else None,
        "loss": int(loss.sum()) if has_gold else None,
        "shown": int(kept.sum()),
        "agreement": float(1 - flipped.mean()) if len(ours) else None,
        "kappa": _kappa(counts),
        "table": _table(codes, counts),
        "same_texts": _same_texts(a.index, b.index, shared[shown], theirs_of[shown]),
        "rows": rows,
    }


def _about(study: ViewedStudy, side: Scope) -> dict[str, Any]:
    return {
        "study": study.id,
        "title": side.index.design.name,
        "columns": len(side.columns),
        "evaluator": side.index.design.evaluators[side.evaluator],
    }


def _table(codes: list[str], counts: Any) -> dict[str, Any]:
    """How often each label of one side meets each of the other, the labels that occur."""
    seen = np.flatnonzero(counts.sum(axis=0) + counts.sum(axis=1))
    order = [index for index in range(1, len(codes) + 1) if len(codes) <= _MOST_LABELS or index in seen]
    order = [*order[:_MOST_LABELS], *([0] if 0 in seen else [])]
    names = [codes[index - 1] if index else None for index in order]
    return {"labels": names, "counts": counts[np.ix_(order, order)].tolist()}


def _kappa(counts: Any) -> float | None:
    """Cohen's kappa of the items that have a label on both sides; None where it is undefined."""
    both = counts[1:, 1:]
    if not (n := both.sum()):
        return None
    chance = float((both.sum(axis=0) * both.sum(axis=1)).sum()) / float(n) ** 2
    return None if chance == 1 else (float(np.trace(both)) / float(n) - chance) / (1 - chance)


def _same_texts(a: Index, b: Index, ours: Any, theirs: Any) -> bool | None:
    """Whether the items that are shown have the same texts on both sides; None where that is unknown."""
    if not (a.design.has["texts"] and b.design.has["texts"]):
        return None
    pairs = zip(ours, theirs, strict=True)
    return all(a.item_text(int(one)) == b.item_text(int(other)) for one, other in pairs)


def _typical(study: ViewedStudy, side: Scope, items: Any) -> list[dict[str, Any]]:
    """The first answer of some items that has the item's most frequent label, and how many there are."""
    codes = side.index.labels(side.evaluator).some(items)[:, side.columns]
    modal = side.statistics.modal[items][:, None]
    fitting = np.where(modal > 0, codes == modal, codes > 0)
    columns = side.columns[fitting.argmax(axis=1)]
    documents = cell_documents(study, side, [*zip(items.tolist(), columns.tolist(), strict=True)], _EXCERPT)
    for item, document, number in zip(items, documents, fitting.sum(axis=1), strict=True):
        answers = int(side.statistics.answered[item])
        document |= {"share": int(number) / answers, "answers": answers}
    return documents
