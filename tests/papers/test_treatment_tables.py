"""The tables of treatments and temperatures: every cell equals a few lines of NumPy on planted answers."""

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special, stats
from tests.papers.planted import asked, chance, items, noisy, tabled

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


def of_items(text, prompt):
    """Right more often about some items than about others, and less often where it is hard."""
    asked_before[text, prompt] = time = asked_before.get((text, prompt), 0) + 1
    odds = 0.8 + 1.5 * stats.norm.ppf(chance("item", text)) - (0.9 if "Hard" in prompt else 0)
    right = text.split()[-1]
    if chance("answer", text, prompt, time) < 1 / (1 + np.exp(-odds)):
        return right
    return {"left": "right", "right": "left"}[right]


asked_before = {}


@pytest.fixture(scope="module")
def differing(tmp_path_factory):
    """Items that differ in difficulty, as a random intercept has it."""
    folder = tmp_path_factory.mktemp("differing")
    items(folder, 24)
    return asked(folder / "quiz.yaml", STUDY, one=of_items)


def less_likely(theta, design, right):
    """Less the log likelihood of β and log sd, each item's integral by sums over a fine grid.

    Args:
        theta: β, then the logarithm of the intercepts' standard deviation.
        design: Shape (items, answers, columns of the formula).
        right: Whether each answer is right, shape (items, answers).
    """
    fixed, sd = design @ theta[:-1], np.exp(theta[-1])
    z = np.linspace(-8, 8, 401)
    full = fixed[..., None] + sd * z
    terms = (
        (right[..., None] * full - np.logaddexp(0, full)).sum(1) + stats.norm.logpdf(z) + np.log(z[1] - z[0])
    )
    return -float(special.logsumexp(terms, axis=1).sum())


def fitted(design, right):
    """What maximises the likelihood, its standard errors by the curvature, and the log likelihood."""
    size = design.shape[2] + 1
    best = optimize.minimize(
        less_likely, np.zeros(size), (design, right), method="BFGS", options={"gtol": 1e-6}
    ).x
    steps = 1e-3 * np.eye(size)
    curve = [
        [
            sum(a * b * less_likely(best + a * e + b * f, design, right) for a in (1, -1) for b in (1, -1))
            / 4e-6
            for f in steps
        ]
        for e in steps
    ]
    return best, np.sqrt(np.diag(np.linalg.inv(np.array(curve)))), -less_likely(best, design, right)


@pytest.fixture(scope="module")
def rows(differing):
    """The table, by how the temperature enters and by term."""
    return {(row["temperature"], row["term"]): row for row in tabled(differing, "mixed-model")}


@pytest.mark.long
def test_the_mixed_model_is_the_maximum_of_its_likelihood(differing, rows):
    """Each cell, by a fit of its own."""
    frame = differing.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    frame = frame.with_columns(pl.col("item").cast(pl.Int64)).sort(
        "item", "treatment", "temperature", "repeat"
    )
    right = (frame["label"] == frame["gold"]).to_numpy().reshape(24, -1).astype(float)
    hard, heat = (frame[name].to_numpy().reshape(24, -1) for name in ("treatment", "temperature"))
    one, hard = np.ones_like(right), (hard == "T1").astype(float)
    number = np.stack([one, hard, heat, hard * heat], 2)
    middle, high = heat == 0.5, heat == 1.0
    factor = np.stack([one, hard, middle, high, hard * middle, hard * high], 2)
    names = {
        "as a number": ("Intercept", "treatment[T1]", "temperature", "treatment[T1]:temperature"),
        "as a factor": (
            *("Intercept", "treatment[T1]", "temperature[0.5]", "temperature[1.0]"),
            *("treatment[T1]:temperature[0.5]", "treatment[T1]:temperature[1.0]"),
        ),
    }
    for (kind, terms), design in zip(names.items(), (number, factor), strict=True):
        best, errors, _ = fitted(design, right)
        for term, value, error in zip(terms, best, errors, strict=False):
            row = rows[kind, term]
            assert row["estimate"] == pytest.approx(value, abs=1e-3), (kind, term)
            assert row["SE"] == pytest.approx(error, rel=0.02), (kind, term)
            assert row["odds ratio"] == pytest.approx(np.exp(value), rel=1e-3)
            assert row["robust SE"] >= row["SE"] - 1e-9
            assert row["p"] == pytest.approx(2 * stats.t.sf(abs(value / row["robust SE"]), 23), abs=0.01)
        spread = next(row for at, row in rows.items() if at[0] == kind and at[1].startswith("sd of"))
        assert spread["estimate"] == pytest.approx(np.exp(best[-1]), abs=2e-3), list(rows)
    for (kind, terms), design in zip(names.items(), (number, factor), strict=True):
        alone = design[..., : sum(":" not in term for term in terms)]
        gain = 2 * (fitted(design, right)[2] - fitted(alone, right)[2])
        row = rows[kind, "interactions (χ²)"]
        assert row["estimate"] == pytest.approx(gain, abs=1e-3)
