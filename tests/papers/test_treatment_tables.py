"""The tables of treatments and temperatures: every cell equals a few lines of NumPy on planted answers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.papers.planted import asked, items, noisy, tabled

from quaver import Study
from quaver.papers import table

STUDY = """\
name: quiz
task: {labels: [left, right]}
items: {source: items.csv, id: id, text: "{{ text }}", gold: gold}
prompt: {instruction: Which side is it?}
variants:
  - use: treatments
    treatments:
      T0: {text: "", max_tokens: 8}
      T1: {text: Hard now.}
    which: [T0, T1]
models: [{name: one, use: function}]
decoding:
  at: {temperature: [0.2, 0.5, 1.0], repeats: 4}
evaluators: [first_label]
"""
HEATS = (0.2, 0.5, 1.0)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("quiz")
    items(folder, 16)
    return asked(folder / "quiz.yaml", STUDY, one=noisy("quiz", harder="Hard", silent=0.1))


def block(study: Study, treatment: str, heat: float) -> tuple[np.ndarray, np.ndarray]:
    """Items × repeats of one configuration: 0 and 1 for the labels, 2 for none; and the true labels."""
    frame = study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    frame = frame.filter(pl.col("treatment") == treatment, pl.col("temperature") == heat)
    frame = frame.with_columns(pl.col("item").cast(pl.Int64)).sort("item", "repeat")
    codes = {"left": 0, "right": 1, None: 2}
    labels = np.array([codes[one] for one in frame["label"]]).reshape(16, 4)
    return labels, np.array([codes[one] for one in frame["gold"]]).reshape(16, 4)[:, 0]


def outcomes(labels: np.ndarray, gold: np.ndarray) -> dict[str, np.ndarray]:
    """Each item's four outcomes; mode frequency is missing where no repeat has a label."""
    counts = np.stack([(labels == code).sum(1) for code in (0, 1, 2)], 1)
    shares = counts / counts.sum(1, keepdims=True)
    mode = np.where((labels == 2).all(1), np.nan, shares.max(1))
    logs = np.log2(np.where(shares > 0, shares, 1))
    return {
        "accuracy": (labels == gold[:, None]).mean(1),
        "strict stability": (counts[:, :2] == 4).any(1).astype(float),
        "mode frequency": mode,
        "entropy (bits)": -(shares * logs).sum(1),
    }


def test_configurations_side_by_side(study: Study) -> None:
    made = table(study, "configurations")
    names = ("accuracy", "strict stability", "mode frequency", "entropy (bits)")
    heads = [f"{name}{part}" for name in names for part in ("", " 95% interval")]
    assert list(made.columns) == [
        *("data set", "model", "treatment", "temperature", "questions"),
        *heads,
        "answers with a label",
    ]
    rows = made.rows()
    assert [(row["treatment"], row["temperature"]) for row in rows] == [
        (treatment, str(heat)) for treatment in ("T0", "T1") for heat in HEATS
    ]
    for row in rows:
        labels, gold = block(study, row["treatment"], float(row["temperature"]))
        for name, each in outcomes(labels, gold).items():
            assert row[name] == pytest.approx(np.nanmean(each)), name
        assert row["answers with a label"] == pytest.approx((labels != 2).mean())


def test_questions_over_all_configurations(study: Study) -> None:
    rows = {row["question"]: row for row in tabled(study, "questions")}
    assert list(rows) == [str(at) for at in range(16)]
    each = [outcomes(*block(study, t, heat)) for t in ("T0", "T1") for heat in HEATS]
    for at, row in enumerate(rows.values()):
        assert row["right answer"] == ["right", "left"][at % 2]
        for name in ("accuracy", "strict stability", "mode frequency", "entropy (bits)"):
            assert row[name] == pytest.approx(np.nanmean([one[name][at] for one in each])), name


def test_temperature_as_a_factor(study: Study) -> None:
    rows = tabled(study, "temperatures")
    accuracy = []
    for row, heat in zip(rows, HEATS, strict=True):
        assert row["temperature"] == str(heat).removesuffix(".0")
        each = [outcomes(*block(study, treatment, heat)) for treatment in ("T0", "T1")]
        for name in ("accuracy", "strict stability", "mode frequency", "entropy (bits)"):
            assert row[name] == pytest.approx(np.mean([np.nanmean(one[name]) for one in each])), name
        accuracy.append(row["accuracy"])
        if heat > HEATS[0]:
            assert row["accuracy less lowest temperature"] == pytest.approx(accuracy[-1] - accuracy[0])
            assert (
                row["95% interval low"] <= row["accuracy less lowest temperature"] <= row["95% interval high"]
            )
        else:
            assert row["accuracy less lowest temperature"] is None


def test_the_mixed_model_in_both_ways(study: Study) -> None:
    pytest.importorskip("gpboost")
    from quaver.measures import mixed_effects

    rows = {(row["temperature"], row["term"]): row for row in tabled(study, "mixed-model")}
    frame = study.annotations()
    for random, which in (("intercept", "intercepts"), ("auto", "and slopes")):
        found = mixed_effects(frame, formula="correct ~ treatment * temperature", random=random)
        for one in found:
            if one.measure != "mixed_effects" or one.value is None:
                continue
            row = rows["as a number", one.cell["term"]]
            assert row[f"estimate, {which}"] == pytest.approx(one.value)
            assert row[f"SE, {which}"] == pytest.approx(one.details["se"])
            assert row[f"odds ratio, {which}"] == pytest.approx(np.exp(one.value))
    assert ("as a number", "interactions (χ²)") in rows
    assert any(kind == "as a factor" and "0.5" in term for kind, term in rows)
