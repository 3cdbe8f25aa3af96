"""The tables of treatments and temperatures: every cell equals a few lines of NumPy on planted answers."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests.papers.planted import asked, items, noisy, tabled

from quaver.measures import mixed_effects
from quaver.papers import table

STUDY = """\
name: quiz
task: {labels: [left, right]}
items: {source: items.csv, id: id, text: "{{ text }}", gold: gold}
prompt: {instruction: Which side is it?}
variants:
  - use: prompts
    factor: treatment
    prompts:
      T0: {max_tokens: 8}
      T1: {postfix: Hard now.}
models: [{name: one, use: function}]
decoding:
  at: {temperature: [0.2, 0.5, 1.0], repeats: 4}
evaluators: [first_label]
"""
HEATS = (0.2, 0.5, 1.0)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quiz")
    items(folder, 16)
    return asked(folder / "quiz.yaml", STUDY, one=noisy("quiz", harder="Hard", silent=0.1))


def block(study, treatment, heat):
    """Items × repeats of one configuration: 0 and 1 for the labels, 2 for none; and the true labels."""
    frame = study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    frame = frame.filter(pl.col("treatment") == treatment, pl.col("temperature") == heat)
    frame = frame.with_columns(pl.col("item").cast(pl.Int64)).sort("item", "repeat")
    codes = {"left": 0, "right": 1, None: 2}
    labels = np.array([codes[one] for one in frame["label"]]).reshape(16, 4)
    return labels, np.array([codes[one] for one in frame["gold"]]).reshape(16, 4)[:, 0]


def outcomes(labels, gold):
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


def test_configurations_side_by_side(study):
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


def test_questions_over_all_configurations(study):
    rows = {row["question"]: row for row in tabled(study, "questions")}
    assert list(rows) == [str(at) for at in range(16)]
    each = [outcomes(*block(study, t, heat)) for t in ("T0", "T1") for heat in HEATS]
    for at, row in enumerate(rows.values()):
        assert row["right answer"] == ["right", "left"][at % 2]
        for name in ("accuracy", "strict stability", "mode frequency", "entropy (bits)"):
            assert row[name] == pytest.approx(np.nanmean([one[name][at] for one in each])), name


def test_questions_by_configuration(study):
    """A cell is a question's runs in one configuration."""
    rows = tabled(study, "question-configurations")
    assert len(rows) == 16 * 2 * len(HEATS)
    for place, row in enumerate(rows):
        at, treatment = int(row["question"]), row["treatment"]
        assert at == place // (2 * len(HEATS))
        assert row["right answer"] == ["right", "left"][at % 2]
        each = outcomes(*block(study, treatment, float(row["temperature"])))
        for name in ("accuracy", "strict stability", "mode frequency", "entropy (bits)"):
            assert row[name] == pytest.approx(each[name][at], nan_ok=True), name


def test_temperature_as_a_factor(study):
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


@pytest.mark.parametrize(("kind", "dtype"), [("as a number", pl.Float64), ("as a factor", pl.String)])
def test_the_mixed_model_is_the_measure_that_lme4_confirms(study, kind, dtype):
    """Of which tests/numerics holds every coefficient against lme4's."""
    rows = {row["term"]: row for row in tabled(study, "mixed-model") if row["temperature"] == kind}
    frame = study.annotations().with_columns(pl.col("temperature").cast(dtype))
    *effects, sd, interactions = mixed_effects(frame, formula="correct ~ treatment * temperature")
    assert len(rows) == len(effects) + 2
    for one in effects:
        row, details = rows[one.cell["term"]], one.details
        assert [row["estimate"], row["SE"]] == pytest.approx([one.value, details["se"]])
        assert row["odds ratio"] == pytest.approx(np.exp(one.value))
        assert row["robust SE"] == pytest.approx(details["adjusted_se"])
        assert row["p"] == pytest.approx(2 * stats.t.sf(abs(one.value / row["robust SE"]), 15), abs=0.01)
    assert rows[f"sd of {sd.cell['term']}"]["estimate"] == pytest.approx(sd.value)
    assert rows["interactions (χ²)"]["estimate"] == pytest.approx(interactions.value)
