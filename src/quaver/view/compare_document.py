"""Two studies, or two sides of one, item by item: which labels differ, with a typical answer of each side."""

from __future__ import annotations

from typing import Any

import polars as pl

from quaver.errors import QuaverError
from quaver.view.asked import Asked, Given
from quaver.view.grid_documents import cell_documents
from quaver.view.query_scope import Scope
from quaver.view.viewed_study import ViewedStudy

_EXCERPT, _ITEM_EXCERPT = 400, 200
_MOST_LABELS = 60
CHANGES = ("all", "flip", "gain", "loss")


def comparison(first: ViewedStudy, second: ViewedStudy, given: Given) -> dict[str, Any]:
    """A comparison of the items that both sides have answers to."""
    if given.change not in CHANGES:
        raise QuaverError("no such change", where="change", expected=", ".join(CHANGES), found=given.change)
    a = first.scope(Asked(evaluator=given.asked.evaluator, within=given.columns_a))
    b = second.scope(Asked(evaluator=given.evaluator_b, within=given.columns_b))
    ours, theirs = _side(a, "a"), _side(b, "b")
    if query := given.asked.query:
        ours = ours.filter(pl.col("a").is_in(first.view(Asked(query, given.asked.evaluator)).rows))
    shared = ours.join(theirs, on="item", how="inner", maintain_order="left")
    one, other, gold = pl.col("modal_a"), pl.col("modal_b"), pl.col("gold_a")
    flipped = one.ne_missing(other)
    tests = {"all": pl.lit(True), "flip": flipped}
    tests |= {"gain": flipped & (other == gold), "loss": flipped & (one == gold)}
    shared = shared.with_columns(**{name: test.fill_null(False) for name, test in tests.items()})
    kept = shared.filter(given.change)
    shown = kept[given.window(50, 500)]
    has_gold, count = shared["gold_a"].null_count() < shared.height, shared.height
    table = shared.group_by("modal_a", "modal_b").len()
    texts, other_texts = a.index.item_texts(shown["a"]), b.index.item_texts(shown["b"])
    sides = zip(_typical(first, a, shown["a"]), _typical(second, b, shown["b"]), strict=True)
    rows = [
        {"item": row["item"], "a": here, "b": there}
        | {"text": texts[row["a"]][:_ITEM_EXCERPT], "gold": row["gold_a"]}
        | {"change": "gain" if row["gain"] else "loss" if row["loss"] else None}
        for row, (here, there) in zip(shown.iter_rows(named=True), sides, strict=True)
    ]
    same = [texts[one] == other_texts[two] for one, two in shown.select("a", "b").iter_rows()]
    return {
        "a": _about(first, a),
        "b": _about(second, b),
        "items": count,
        "only_a": ours.height - count,
        "only_b": theirs.height - _side(a, "a").join(theirs, on="item", how="semi").height,
        "flipped": int(shared["flip"].sum()),
        "gain": int(shared["gain"].sum()) if has_gold else None,
        "loss": int(shared["loss"].sum()) if has_gold else None,
        "shown": kept.height,
        "agreement": 1 - int(shared["flip"].sum()) / count if count else None,
        "kappa": _kappa(table.drop_nulls()),
        "table": _table([*dict.fromkeys((*a.index.design.codes, *b.index.design.codes))], table),
        "same_texts": all(same) if a.index.design.has["texts"] and b.index.design.has["texts"] else None,
        "rows": rows,
    }


def _side(scope: Scope, name: str) -> pl.DataFrame:
    """The items of a side that have answers: their rows, most frequent and gold labels."""
    labels = [pl.col(column).cast(pl.String).alias(f"{column}_{name}") for column in ("modal", "gold")]
    known = scope.numbers.with_columns(item=scope.index.ids).filter(pl.col("_answered") > 0)
    return known.select("item", pl.col("row").alias(name), *labels)


def _about(study: ViewedStudy, side: Scope) -> dict[str, Any]:
    return {
        "study": study.id,
        "title": side.index.design.name,
        "columns": len(side.columns),
        "evaluator": side.index.design.evaluators[side.evaluator],
    }


def _table(codes: list[str], table: pl.DataFrame) -> dict[str, Any]:
    """How often each label of one side meets each of the other, the labels that occur."""
    counts = {(one, other): n for one, other, n in table.iter_rows()}
    seen = {label for pair in counts for label in pair}
    few = [code for code in codes if len(codes) <= _MOST_LABELS or code in seen][:_MOST_LABELS]
    names = [*few, *([None] if None in seen else [])]
    return {"labels": names, "counts": [[counts.get((one, other), 0) for other in names] for one in names]}


def _kappa(table: pl.DataFrame) -> float | None:
    """Cohen's kappa of the items that have a label on both sides; None where it is undefined."""
    if not (n := int(table["len"].sum())):
        return None
    sides = [dict(table.group_by(f"modal_{side}").agg(pl.col("len").sum()).iter_rows()) for side in "ab"]
    chance = sum(count * sides[1].get(label, 0) for label, count in sides[0].items()) / n**2
    alike = int(table.filter(pl.col("modal_a") == pl.col("modal_b"))["len"].sum()) / n
    return None if chance == 1 else float((alike - chance) / (1 - chance))


def _typical(study: ViewedStudy, side: Scope, items: Any) -> list[dict[str, Any]]:
    """The first answer of some items that has the item's most frequent label, and how many there are."""
    names = side.answers.filter(pl.col("row").is_in(pl.Series(items, dtype=pl.UInt32).implode()))
    fitting = names.filter(pl.col("modal").is_null() | (pl.col("label") == pl.col("modal")))
    columns = side.index.collected(fitting.group_by("row").agg(pl.col("column").min(), pl.len()))
    known = {row: (column, number) for row, column, number in columns.iter_rows()}
    documents = cell_documents(study, side, [(row, known[row][0]) for row in items], _EXCERPT)
    for row, document in zip(items, documents, strict=True):
        answers = int(side.numbers["_answered"][row])
        document |= {"share": known[row][1] / answers, "answers": answers}
    return documents
