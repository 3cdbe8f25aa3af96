"""Sensitivity and consistency of strategies (Errica et al. 2025): by strategy, class, item and pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np
import polars as pl

from quaver import measures
from quaver.core.annotations import rows_with
from quaver.core.number_format import decimals
from quaver.core.records import Label, LabelSet
from quaver.errors import QuaverError
from quaver.papers.published_table import (
    NOTHING,
    UNKNOWN,
    Answers,
    StoredAnswers,
    TableRows,
    Value,
    each_model,
)

FACTOR = "strategy"
_MOST = 2000
"""Items of one class whose pairs are made one by one."""


def each_strategy(answers: Answers) -> Iterator[tuple[StoredAnswers, str, str, pl.DataFrame]]:
    """Data sets, models and strategies, with their annotations; ``all`` where there is no strategy."""
    for one, model in each_model(answers):
        mine = one.of(model)
        for level in one.levels(FACTOR) or ["all"]:
            frame = mine if level == "all" else rows_with(mine, FACTOR, level)
            if frame.height:
                yield one, model, level, frame


def strategies(answers: Answers) -> TableRows:
    """S, C and micro-F1 of each strategy with their SDs, beside Quaver's."""
    rows, found, both = [], [], []
    for one, model, level, frame in each_strategy(answers):
        s, c = (one.points(name, frame, by=[], convention="paper")[0] for name in _S_AND_C)
        pairs = pair_values(one, frame)
        estimates = one.points("f1", frame, by=["variant"], missing="category")
        values = [e.value for e in estimates if e.measure == "f1_micro" and e.value is not None]
        f1 = np.array(values, float)
        better = [one.take(name, frame, by=[])[0] for name in _S_AND_C]
        whole = next((e for e in one.take("f1", frame, by=[]) if e.measure == "f1_micro"), UNKNOWN)
        found += [(f"{one.name}, {model}, {level}", e) for e in (s, c)]
        both.append((s.value, c.value))
        rows.append(
            (
                *(one.name, model, level, frame["variant"].n_unique()),
                *(s.value, s.details.get("sd"), c.value, _deviation(pairs)),
                *(float(f1.mean()) if f1.size else None, _deviation(f1), *better, whole),
            )
        )
    return TableRows(rows, found, notes=[_correlation(both)])


_S_AND_C = ("sensitivity", "consistency")
_LEAST_S = 0.05
"""The paper correlates S with C where S is at least this."""


def _correlation(both: Sequence[tuple[float | None, float | None]]) -> str:
    """Pearson's correlation of S with C over the rows in which S is not next to nothing."""
    kept = np.array([pair for pair in both if None not in pair and (pair[0] or 0) >= _LEAST_S], float)
    head = f"Pearson's correlation of S with C over the rows with S of at least {_LEAST_S:g}"
    if len(kept) < 3 or not kept.std(0).all():
        return f"{head}: not defined ({len(kept)} such rows)."
    return f"{head}: {decimals(float(np.corrcoef(kept.T)[0, 1]), 2)} ({len(kept)} rows)."


def label_shares(answers: Answers, items: Sequence[str] = ()) -> TableRows:
    """How often each label is given to some items over the paraphrases: the paper's figure 2."""
    rows = []
    for one, model, level, frame in each_strategy(answers):
        points = item_points(one, frame)
        for item in items or _of_a_class(points):
            mine = rows_with(frame, "item", item)
            given = mine["label"].cast(pl.String).to_list()
            gold, _, s, c = points.get(item, (NOTHING, NOTHING, None, None))
            for code in (*one.labels.codes, None):
                share = given.count(code) / len(given) if given else None
                rows.append((one.name, model, level, item, gold, code or "N/A", share, s, c))
    return TableRows(rows)


def _of_a_class(points: Mapping[str, tuple[str, str, float | None, float | None]]) -> list[str]:
    """The item with the highest S, and two others of its class: the least and the next."""
    moved = _in_order(points, by_consistency=False)
    alike = [item for item in moved if points[item][0] == points[moved[0]][0]]
    return list(dict.fromkeys([*alike[:1], *alike[-2:]]))


def _deviation(values: np.ndarray) -> float | None:
    return float(values.std(ddof=1)) if values.size > 1 else None


def pair_values(answers: StoredAnswers, frame: pl.DataFrame) -> np.ndarray:
    """The consistency of every pair of items of one class, an item with itself among them."""
    found = []
    for code in frame["gold"].cast(pl.String).drop_nulls().unique().sort():
        ids = rows_with(frame, "gold", code)["item"].unique().sort().head(_MOST)
        matrix = class_matrix(answers, frame.filter(pl.col("item").is_in(ids.to_list())), code)
        if matrix is not None:
            found.append(matrix[1].ravel())
    return np.concatenate(found) if found else np.array([])


def class_matrix(answers: StoredAnswers, frame: pl.DataFrame, code: str) -> Any:
    """The consistency of each pair of items of a class; None where there is none."""
    try:
        return measures.consistency_matrix(frame, code, labels=answers.labels, missing="category")
    except QuaverError:
        return None


_BASELINES: tuple[Literal["noisy", "random"], ...] = ("noisy", "random")
KINDS = ("own", *_BASELINES)


def beside_baselines(answers: StoredAnswers, frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The answers, with half of them swapped, and drawn at random."""
    result = {"own": frame}
    labels, seed = answers.labels, answers.study.spec.seed
    with_none = LabelSet((*labels.labels, Label(NOTHING, NOTHING)), labels.level)
    answered = frame.with_columns(pl.col("label").cast(pl.String).fill_null(NOTHING))
    for kind, given, known in zip(_BASELINES, (frame, answered), (labels, with_none), strict=True):
        try:
            drawn = measures.baseline(given, kind, labels=known, seed=seed)
        except QuaverError:
            drawn = frame.clear()
        result[kind] = drawn.with_columns(pl.col("label").replace(NOTHING, None))  # N/A is drawn like a class
    return result


def classes(answers: Answers) -> TableRows:
    """The plane by class: S and C of each class, of noisy and of random answers."""
    rows = []
    for one, model, level, frame in each_strategy(answers):
        points = class_points(one, frame)
        names = {label.code: label.name for label in one.labels.labels}
        for code in names:
            pairs = [points[kind].get(code, (None, None)) for kind in KINDS]
            if pairs[0] != (None, None):
                rows.append((one.name, model, level, names[code], *chain(*pairs)))
    return TableRows(rows)


def class_points(
    answers: StoredAnswers, frame: pl.DataFrame
) -> dict[str, dict[str, tuple[float | None, float | None]]]:
    """S and C of each class, for the answers and both baselines."""
    result: dict[str, dict[str, tuple[float | None, float | None]]] = {}
    for kind, given in beside_baselines(answers, frame).items():
        s, c = (
            {
                e.cell["class"]: e.value
                for e in answers.points(name, given, by=[], convention="paper", classes=True)
                if "class" in e.cell
            }
            for name in ("sensitivity", "consistency")
        )
        result[kind] = {code: (s.get(code), c.get(code)) for code in {**s, **c}}
    return result


def items(answers: Answers) -> TableRows:
    """The plane by item: each item's S and its mean consistency with its class, and the baselines'."""
    return _listed(answers, by_consistency=False)


def inconsistent(answers: Answers) -> TableRows:
    """The items with S above 0, those first that are least like their class (the paper's appendix C)."""
    return _listed(answers, by_consistency=True)


def _in_order(
    points: Mapping[str, tuple[str, str, float | None, float | None]], *, by_consistency: bool
) -> list[str]:
    """Items by S, the highest first; or those with S above 0 by C, the lowest first; the undefined last."""

    def place(item: str) -> tuple[float, str]:
        _, _, s, c = points[item]
        value = c if by_consistency else s
        return (np.inf if value is None else value if by_consistency else -value, item)

    return sorted((item for item in points if points[item][2] or not by_consistency), key=place)


def _listed(answers: Answers, *, by_consistency: bool) -> TableRows:
    """The items of each strategy, in an order."""
    rows = []
    for one, model, level, frame in each_strategy(answers):
        texts = one.texts
        made = {kind: item_points(one, given) for kind, given in beside_baselines(one, frame).items()}
        for item in _in_order(made["own"], by_consistency=by_consistency):
            gold, mode, *point = made["own"][item]
            others = chain(*(made[kind].get(item, ("", "", None, None))[2:] for kind in _BASELINES))
            head = (one.name, model, level, item, gold, mode, texts.get(item, NOTHING))
            rows.append((*head, *point, *others))
    return TableRows(rows)


def item_points(
    answers: StoredAnswers, frame: pl.DataFrame
) -> dict[str, tuple[str, str, float | None, float | None]]:
    """Each item's class, modal label, S and C."""
    if frame.is_empty():
        return {}
    table = measures.item_stability(frame, labels=answers.labels, convention="paper")
    wanted = table.select("item", "gold", "mode", "sensitivity", "consistency")
    return {item: (gold or NOTHING, mode or NOTHING, s, c) for item, gold, mode, s, c in wanted.iter_rows()}


_QUANTILES = (0.0, 5.0, 25.0, 50.0, 75.0, 95.0, 100.0)


def violins(answers: Answers) -> TableRows:
    """What the violins show: how item sensitivities and pair consistencies are distributed."""
    rows: list[Sequence[Value]] = []
    for one, model, level, frame in each_strategy(answers):
        for what, values in violin_values(one, frame).items():
            if values.size:
                quantiles = map(float, np.percentile(values, _QUANTILES))
                rows.append((one.name, model, level, what, values.size, *quantiles, float(values.mean())))
    return TableRows(rows)


def violin_values(answers: StoredAnswers, frame: pl.DataFrame) -> dict[str, np.ndarray]:
    """Item sensitivities, and pair consistencies."""
    s = [value for _, _, value, _ in item_points(answers, frame).values() if value is not None]
    return {"sensitivity of items": np.array(s, float), "consistency of pairs": pair_values(answers, frame)}


def matrix(answers: Answers, items: Sequence[str] = ()) -> TableRows:
    """The consistency of each pair of some items, whatever their class."""
    rows: list[Sequence[Value]] = []
    notes: list[str] = []
    each: list[list[str]] = []
    for one, model, level, frame in each_strategy(answers):
        points = item_points(one, frame)
        ids = list(items) or _in_order(points, by_consistency=False)[:_MOVED]
        known = [item for item in ids if item in points]
        notes += [f"No such item in {one.name}: {item}." for item in ids if item not in points]
        alike = class_matrix(one, _of_one_class(one, frame, known), one.labels.codes[0]) if known else None
        if alike is None:
            continue
        each.append(known)
        if len({points[item][0] for item in known}) > 1:
            notes.append(
                "The items are of several classes (column class): only pairs of one class are compared in C."
            )
        place = {item: index for index, item in enumerate(alike[0])}
        for index, item in enumerate(known, start=1):
            pairs = (float(alike[1][place[item], place[other]]) for other in known)
            rows.append((one.name, model, level, str(index), item, points[item][0], *pairs))
    width = max(map(len, each), default=0)
    heads = [str(index) for index in range(1, width + 1)]
    if each and all(ids == each[0] for ids in each):
        heads = each[0]
    else:
        notes.append("Column k is item no. k of the same data set, model and strategy.")
    filled = [(*row, *(None,) * (6 + width - len(row))) for row in rows]
    return TableRows(filled, notes=list(dict.fromkeys(notes)), columns=heads)


_MOVED = 10
"""How many of the items with the highest S are paired."""


def _of_one_class(answers: StoredAnswers, frame: pl.DataFrame, ids: Sequence[str]) -> pl.DataFrame:
    """Some items' annotations, as if all were of one class: then every pair of them is made."""
    some = rows_with(frame, "item", ids)
    return some.with_columns(pl.lit(answers.labels.codes[0]).alias("gold"))
