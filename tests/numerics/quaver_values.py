"""Quaver's own numbers, by the names under which ``reference.R`` prints those of other software."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from tests.measures.correctness.counted_answers import answers

from quaver import agreement, measures
from quaver.core.records import Estimate, Label, LabelSet
from quaver.estimation.intervals import clopper_pearson, holm

DATA = Path(__file__).parent / "data"
LABELS = LabelSet(tuple(Label(code, code) for code in "abc"))

Named = Iterator[tuple[str, float | None]]


def quaver_values() -> dict[str, float]:
    """Every value, by name."""
    found: dict[str, float] = {}
    for part in (_coefficients, _stability, _correctness, _calibration, _labels, _models):
        for name, value in part():
            assert value is not None, f"{name} is undefined"
            assert name not in found, f"{name} stands here twice"
            found[name] = float(value)
    return found


def annotations(model: str | None = "m1") -> pl.DataFrame:
    """The made-up annotations of one model, or of both."""
    frame = pl.read_csv(DATA / "annotations.csv", null_values="")
    frame = frame if model is None else frame.filter(pl.col("model") == model)
    likely = pl.concat_list("p_a", "p_b", "p_c").alias("probabilities")
    return frame.with_columns(likely, original=pl.col("variant") == "v0")


def taken(name: str, frame: pl.DataFrame | None = None, **options: Any) -> list[Estimate]:
    """A measure's estimates, without intervals."""
    measure = getattr(measures, name)
    return measure(annotations() if frame is None else frame, labels=LABELS, resamples=0, **options)


def one(found: Sequence[Estimate], measure: str = "", **cell: str) -> float | None:
    """The value of the one estimate with this name and cell."""
    some = [
        e
        for e in found
        if measure in ("", e.measure) and all(str(e.cell.get(k)) == v for k, v in cell.items())
    ]
    assert len(some) == 1, (measure, cell, [(e.measure, e.cell) for e in found])
    return some[0].value


def _coefficients() -> Named:
    four = pl.read_csv(DATA / "four_observers.csv").to_numpy()
    for level in ("nominal", "ordinal", "interval", "ratio"):
        yield (
            f"krippendorff_alpha {level}",
            agreement.krippendorff_alpha(four, level=level, resamples=0).value,
        )
    two = pl.read_csv(DATA / "two_raters.csv").to_numpy()
    yield "cohen_kappa nominal", (plain := agreement.cohen_kappa(two, resamples=0).value)
    yield "cohen_kappa interval", agreement.cohen_kappa(two, level="interval", resamples=0).value
    yield "cohen_kappa nominal, by vcd", plain
    yield "percent_agreement", agreement.percent_agreement(two, resamples=0).value
    yield "fleiss_kappa", agreement.fleiss_kappa(two, resamples=0).value
    yield "gwet_ac nominal", agreement.gwet_ac(two, resamples=0).value


def _stability() -> Named:
    for name in ("intra_pss", "inter_pss"):
        yield name, one(taken(name))
    yield "intra_pss_adjacent 1, 2", taken("intra_pss_adjacent")[1].value
    yield "intra_pss_cumulative 2", taken("intra_pss_cumulative")[0].value
    yield "original_agreement v1", one(taken("original_agreement"), variant="v1")
    yield "inter_model", one(taken("inter_model", annotations(None)))
    coders = taken("coder_agreement", coders=("coder_1", "coder_2"))
    yield "coder_agreement_model coder_1", one(coders, "coder_agreement_model", coder="coder_1")
    pair = [e for e in coders if e.measure == "coder_agreement_coders"]
    yield "coder_agreement_coders coder_1, coder_2", pair[0].value
    for name in ("answer_entropy", "mode_frequency", "strict_stability", "compliance"):
        yield name, one(taken(name))


def _correctness() -> Named:
    yield "accuracy", one(taken("accuracy"))
    yield "accuracy drop", one(taken("accuracy", missing="drop"))
    scored = taken("f1")
    yield "f1_macro", one(scored, "f1_macro")
    yield "f1_micro", one(scored, "f1_micro")
    yield "f1_label b", one(scored, "f1_label", label="b")
    yield "spread", one(taken("spread"))
    yield "differences v1 less v0", one(taken("differences", reference="v0"), variant="v1")
    single = annotations().filter(pl.col("repeat") == 0)
    (apart,) = [e for e in taken("differences", single, reference="v0") if e.cell["variant"] == "v2"]
    yield "differences p, exact McNemar", apart.details["p"]
    effects = taken("factor_effects", factors=("tone",), reference={"tone": "plain"})
    name = "factor_effects_accuracy_difference"
    polite = [e for e in effects if e.measure == name and "polite" in e.cell.values()]
    yield f"{name} polite", polite[0].value
    both = read_twice()
    flips = taken("evaluator_flips", both, first="x", second="y")
    for ending in ("", "_accuracy_gain", "_newly_wrong"):
        yield f"evaluator_flips{ending}", one(flips, f"evaluator_flips{ending}")


def read_twice() -> pl.DataFrame:
    """The answers as two evaluators read them."""
    frame = annotations()
    return pl.concat(
        [
            frame.with_columns(evaluator=pl.lit("x")),
            frame.with_columns(evaluator=pl.lit("y"), label=pl.col("second")),
        ]
    )


def _calibration() -> Named:
    for name in ("brier", "ece"):
        yield name, one(taken(name))
    yield "ece_shift", one(taken("ece_shift", columns={"raw": "token"}))
    stated = taken("verbal_calibration")
    name = "verbal_calibration_minus_accuracy"
    yield name, one(stated, name)


def _labels() -> Named:
    yield "label_shares a", one(taken("label_shares"), label="a")
    shift = taken("distribution_shift", reference="v0")
    yield "distribution_shift_tv v1", one(shift, "distribution_shift_tv", variant="v1")
    for name in ("sensitivity", "consistency"):
        yield name, one(taken(name))


def _models() -> Named:
    formula = "share(a) ~ number + coder_1"
    for name, effect in (
        ("conclusion linear v0", "number > 0"),
        ("conclusion linear v0, a category", "coder_1[b] > coder_1[a]"),
    ):
        found = taken("conclusion", formula=formula, effect=effect)
        yield name, one(found, "conclusion", variant="v0")
    rows = answers("mixed_intercepts.csv").with_columns(
        label=pl.col("correct").cast(pl.String), gold=pl.lit("1"), repeat=pl.int_range(pl.len()).over("item")
    )
    whole = measures.mixed_effects(rows, formula="correct ~ treatment * temperature")
    for effect in whole[:-2]:
        shown = effect.cell["term"].replace("Intercept", "(Intercept)").replace("[", "").replace("]", "")
        yield f"mixed_effects {shown}", effect.value
        yield f"mixed_effects se {shown}", effect.details["se"]
    yield "mixed_effects sd item", whole[-2].value
    yield "mixed_effects log likelihood", whole[-2].details["log_likelihood"]
    low, high = clopper_pearson(7, 40)
    yield "clopper_pearson 7 of 40, low", low
    yield "clopper_pearson 7 of 40, high", high
    yield "holm, third of 0.01 0.04 0.03", holm([0.01, 0.04, 0.03])[2]
