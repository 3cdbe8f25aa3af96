"""Sensitivity and consistency of strategies (Errica et al. 2025): by strategy, class, item and pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from quaver import measures
from quaver.core.annotations import rows_with
from quaver.core.records import Label, LabelSet
from quaver.estimation.coded_columns import Unmeasurable
from quaver.papers.paper_answers import NOTHING, UNKNOWN, Answers, StoredAnswers, each_model
from quaver.papers.published_table import Value

FACTOR = "strategy"
_MOST = 2000
"""Items of one class whose pairs are made one by one."""
_MOVED = 10
"""How many of the items with the highest S are paired."""
_S_AND_C = ("sensitivity", "consistency")
Rows = Iterator[Sequence[Value]]


def each_strategy(answers: Answers) -> Iterator[tuple[StoredAnswers, str, str, pl.DataFrame]]:
    """Data sets, models and strategies, with their annotations; ``all`` where there is no strategy."""
    for study, model in each_model(answers):
        mine = study.of(model)
        for level in study.factors.get(FACTOR, ["all"]):
            frame = mine if level == "all" else rows_with(mine, FACTOR, level)
            if frame.height:
                yield study, model, level, frame


def strategies(answers: Answers) -> Rows:
    """S, C and micro-F1 of each strategy with their SDs, beside Quaver's."""
    for study, model, level, frame in each_strategy(answers):
        s, c = (study.points(name, frame, by=[], convention="paper")[0] for name in _S_AND_C)
        by_prompt = study.points("f1", frame, by=["variant"], missing="category")
        f1 = np.array([e.value for e in by_prompt if e.measure == "f1_micro" and e.value is not None], float)
        head = (study.name, model, level, frame["variant"].n_unique())
        spreads = (s.details.get("sd"), _deviation(pair_values(study, frame)), _deviation(f1))
        mean = float(f1.mean()) if f1.size else None
        better = [study.take(name, frame, by=[])[0] for name in _S_AND_C]
        whole = next((e for e in study.take("f1", frame, by=[]) if e.measure == "f1_micro"), UNKNOWN)
        yield *head, s, spreads[0], c, spreads[1], mean, spreads[2], *better, whole


def _deviation(values: np.ndarray) -> float | None:
    return float(values.std(ddof=1)) if values.size > 1 else None


def pair_values(answers: StoredAnswers, frame: pl.DataFrame) -> np.ndarray:
    """The consistency of every pair of items of one class, an item with itself among them."""
    values = [np.array([])]
    for code in frame["gold"].cast(pl.String).drop_nulls().unique().sort():
        ids = rows_with(frame, "gold", code)["item"].unique().sort().head(_MOST)
        matrix = class_matrix(answers, frame.filter(pl.col("item").is_in(ids.to_list())), code)
        if matrix is not None:
            values.append(matrix[1].ravel())
    return np.concatenate(values)


def class_matrix(answers: StoredAnswers, frame: pl.DataFrame, code: str) -> Any:
    """The consistency of each pair of items of a class; None where there is none."""
    try:
        return measures.consistency_matrix(frame, code, labels=answers.labels, missing="category")
    except Unmeasurable:
        return None


def beside_noise(answers: StoredAnswers, frame: pl.DataFrame) -> list[pl.DataFrame]:
    """The answers; with half of them swapped; and drawn at random, N/A like a class."""
    labels, seed = answers.labels, answers.study.spec.seed
    with_none = LabelSet((*labels.labels, Label(NOTHING, NOTHING)), labels.level)
    answered = frame.with_columns(pl.col("label").cast(pl.String).fill_null(NOTHING))
    try:
        noisy = measures.baseline(frame, "noisy", labels=labels, seed=seed)
        drawn = measures.baseline(answered, "random", labels=with_none, seed=seed)
    except Unmeasurable:
        return [frame, frame.clear(), frame.clear()]
    return [frame, noisy, drawn.with_columns(pl.col("label").replace(NOTHING, None))]


def item_points(answers: StoredAnswers, frame: pl.DataFrame) -> pl.DataFrame:
    """Each item's class, modal label, S and C: those with the highest S first, the undefined last."""
    table: pl.DataFrame = measures.item_stability(frame, labels=answers.labels, convention="paper")
    points = table.select("item", pl.col("gold", "mode").fill_null(NOTHING), *_S_AND_C)
    return points.sort("sensitivity", "item", descending=[True, False], nulls_last=True)


def items(answers: Answers) -> Rows:
    """The plane by item: each item's S and its mean consistency with its class, and the baselines'."""
    for study, points, head in _item_planes(answers):
        yield from _listed(study, head, points)


def inconsistent(answers: Answers) -> Rows:
    """The items with S above 0, those first that are least like their class (the paper's appendix C)."""
    for study, points, head in _item_planes(answers):
        moved = points.filter(pl.col("sensitivity") > 0)
        yield from _listed(study, head, moved.sort("consistency", "item", nulls_last=True))


_NUMBERS = {"S": "sensitivity", "C": "consistency", "right": "right"}


def before_and_after(answers: Answers) -> Rows:
    """S, C and right answers by data set: of the classes, and of the items that are worst in the first."""
    planes: dict[tuple[str, str], list[tuple[StoredAnswers, pl.DataFrame]]] = {}
    for study, model, level, frame in each_strategy(answers):
        labels = frame.select(pl.col("item", "gold", "label").cast(pl.String)).drop_nulls("gold")
        right = labels.group_by("item").agg(right=pl.col("label").eq_missing(pl.col("gold")).mean())
        points = item_points(study, frame).join(right, on="item", how="left", maintain_order="left")
        planes.setdefault((model, level), []).append((study, points))
    for head, each in planes.items():
        first_study, points = each[0]
        moved = points.filter(pl.col("sensitivity") > 0)
        apart = moved.drop_nulls("consistency").sort("consistency", "item")
        worst = pl.concat([moved.head(_MOVED), apart.head(_MOVED)]).select("item", "gold")
        for code in points["gold"].unique().sort():
            yield *head, code, "all", NOTHING, _numbers(each, gold=code)
        for item, gold in worst.unique(maintain_order=True).rows():
            yield *head, gold, item, first_study.texts.get(item, NOTHING), _numbers(each, item=item)


def _numbers(each: Sequence[tuple[StoredAnswers, pl.DataFrame]], **which: str) -> dict[str, float | None]:
    """The means of some items' numbers in each data set."""
    numbers = {}
    for name, column in _NUMBERS.items():
        for study, points in each:
            mean = points.filter(**which).select(pl.mean(column))
            numbers[f"{name}, {study.name}"] = mean.item()
    return numbers


def _item_planes(answers: Answers) -> Iterator[tuple[StoredAnswers, pl.DataFrame, tuple[str, str, str]]]:
    """Each strategy's items with their S and C beside those of noisy and random answers, and its names."""
    for study, model, level, frame in each_strategy(answers):
        own, *noise = beside_noise(study, frame)
        points = item_points(study, own)
        for name, given in zip(("noisy", "random"), noise, strict=True):
            if given.is_empty():
                nothing = (pl.lit(None, pl.Float64).alias(f"{what}_{name}") for what in _S_AND_C)
                points = points.with_columns(*nothing)
            else:
                others = item_points(study, given).select("item", *_S_AND_C)
                points = points.join(others, on="item", how="left", suffix=f"_{name}", maintain_order="left")
        yield study, points, (study.name, model, level)


def _listed(answers: StoredAnswers, head: tuple[str, str, str], points: pl.DataFrame) -> Rows:
    """A row for each item, with its text."""
    texts = answers.texts
    for item, gold, mode, *numbers in points.iter_rows():
        yield *head, item, gold, mode, texts.get(item, NOTHING), *numbers


def label_shares(answers: Answers, items: Sequence[str] = ()) -> Rows:
    """How often each label is given to some items over the paraphrases: the paper's figure 2."""
    for study, model, level, frame in each_strategy(answers):
        points = item_points(study, frame)
        known = {item: (gold, s, c) for item, gold, _, s, c in points.iter_rows()}
        for item in items or _of_a_class(points):
            gold, s, c = known.get(item, (NOTHING, None, None))
            given = rows_with(frame, "item", item)["label"].cast(pl.String)
            for code in (*study.labels.codes, None):
                same = given.is_null() if code is None else given.eq_missing(code)
                share = int(same.sum()) / same.len() if same.len() else None
                yield study.name, model, level, item, gold, code or "N/A", share, s, c


def _of_a_class(points: pl.DataFrame) -> list[str]:
    """The item with the highest S, and two others of its class: the least and the next."""
    alike = points.filter(pl.col("gold") == pl.col("gold").first())["item"].to_list()
    return list(dict.fromkeys([*alike[:1], *alike[-2:]]))


def matrix(answers: Answers, items: Sequence[str] = ()) -> Rows:
    """The consistency of each pair of some items, whatever their class: the paper's figure 4 in numbers."""
    for study, model, level, frame in each_strategy(answers):
        points = item_points(study, frame)
        golds = dict(zip(points["item"], points["gold"], strict=True))
        chosen = [item for item in items or points["item"].head(_MOVED) if item in golds]
        # As if all were of one class: then every pair of them is made.
        code = study.labels.codes[0]
        alike = class_matrix(study, rows_with(frame, "item", chosen).with_columns(gold=pl.lit(code)), code)
        if alike is None:
            continue
        numbers = list(map(str, range(1, len(chosen) + 1)))
        places = [list(alike[0]).index(item) for item in chosen]
        for number, item, place in zip(numbers, chosen, places, strict=True):
            values = alike[1][place, places].tolist()
            pairs = dict(zip(chosen if items else numbers, values, strict=True))
            yield study.name, model, level, number, item, golds[item], pairs
