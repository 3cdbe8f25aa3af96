"""A study made by hand that has every chart: strategies, paraphrases at five temperatures, two models."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from tests.report.moved import movement_of

import quaver
from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.records import Estimate, Label, LabelSet
from quaver.estimation.coded_columns import Gathered
from quaver.study.analysis.measured_study import pictured
from quaver.study.sources.study_plugins import Measurement

LABELS = ("economy", "welfare", "migration", "climate")
STRATEGIES = ("simple", "detailed", "one-shot")
TEMPERATURES = (0.1, 1.0, 2.0, 3.0, 4.0)
MODELS = {"small": 0.45, "large": 0.15}
ITEMS, REPEATS, SEED = 32, 4, 11
BY = ("model", "decoding", "evaluator")

_MEASURES = (
    ("label_shares", {"by": (*BY, "variant"), "missing": "category"}),
    ("label_shares", {"by": (*BY, "strategy"), "missing": "category"}),
    ("intra_pss", {"by": BY}),
    ("inter_pss", {"by": BY}),
    ("inter_pss", {"by": (*BY, "paraphrase_temperature")}),
    ("inter_model", {"by": ("decoding", "evaluator")}),
    ("f1", {"by": BY}),
    ("readiness", {"by": ("model",)}),
    ("intra_pss_cumulative", {"by": BY}),
    ("intra_pss_adjacent", {"by": BY}),
    ("original_agreement", {"by": ("decoding", "evaluator"), "original": "simple-0.1-0"}),
    ("sensitivity", {"by": (*BY, "strategy")}),
    ("consistency", {"by": (*BY, "strategy")}),
    ("accuracy", {"by": (*BY, "variant")}),
    ("answer_entropy", {"by": (*BY, "variant")}),
    ("strict_stability", {"by": (*BY, "variant")}),
    ("ece", {"by": BY}),
    ("ece_shift", {"by": (*BY, "strategy")}),
    ("spread", {"by": (*BY, "strategy")}),
    ("factor_effects", {"by": BY, "factors": ["strategy", "length"]}),
    ("distribution_shift", {"by": BY, "between": "strategy"}),
    ("verbal_calibration", {"by": ("model", "decoding", "strategy")}),
)


@dataclass
class EveryChart:
    lock: dict[str, Any]
    annotations: pl.DataFrame
    estimates: list[Estimate]
    audit: list[Estimate]

    def inputs(self):
        return {name: getattr(self, name) for name in ("lock", "annotations", "estimates", "audit")}


def every_chart(labels=LABELS, resamples=60, annotations=None):
    """Answers that follow the gold label the less, the hotter the paraphrase; real measures of these.

    Args:
        labels: The labels' codes.
        resamples: Of each measure.
        annotations: In place of the answers that it makes up.
    """
    codes = LabelSet(tuple(Label(code, code.capitalize()) for code in labels))
    variants = _variants()
    frame = _annotations(labels, variants) if annotations is None else annotations
    estimates, asked = [], []
    for name, options in _MEASURES:
        given = {"labels": codes, "seed": SEED, "resamples": resamples, **options}
        estimates += getattr(quaver.measures, name)(frame, **given)
        asked.append(Measurement(name, getattr(quaver.measures, name), None, given))
    lock = _lock(labels, variants)
    shown = [*pictured(asked, Gathered(frame)), *movement_of(lock, frame)]
    return EveryChart(lock, frame, estimates, shown)


def _variants():
    made = []
    for strategy, temperature, paraphrase in product(STRATEGIES, TEMPERATURES, range(2)):
        made.append(
            {
                "id": f"{strategy}-{temperature}-{paraphrase}",
                "factors": {
                    "strategy": strategy,
                    "paraphrase": f"t{temperature}-{paraphrase}",
                    "length": ("standard", "concise")[paraphrase],
                },
                "covariates": {"paraphrase_temperature": temperature},
                "answers": {code: code for code in LABELS},
                "example": [["user", f"{strategy}, {temperature}, {paraphrase}"]],
            }
        )
    return made


def _annotations(labels, variants):
    rng = np.random.default_rng(SEED)
    hard = rng.random(ITEMS)
    rows = []
    for (model, noise), variant, item, repeat in product(
        MODELS.items(), variants, range(ITEMS), range(REPEATS)
    ):
        gold = labels[item % len(labels)]
        heat = variant["covariates"]["paraphrase_temperature"]
        wrong = min(0.9, noise * (0.3 + hard[item]) * (0.5 + heat / 3) * (1 + 0.3 * (item % len(labels))))
        label = gold if rng.random() > wrong else labels[rng.integers(len(labels))]
        label = None if rng.random() < 0.02 else label
        sure = float(np.clip(1 - wrong / 2 + rng.normal(0, 0.1), 0.02, 1)) if label else None
        mute = 0.3 if variant["factors"]["strategy"] == "simple" else 0.0
        rows.append(
            {
                "model": model,
                "variant": variant["id"],
                "decoding": "warm",
                "item": f"i{item}",
                "repeat": repeat,
                "evaluator": "label_match",
                "label": label,
                "status": "valid" if label else "no_label",
                "confidence": sure if rng.random() > mute else None,
                "mass_coverage": 0.7,
                "gold": gold,
                "prompt_tokens": 40 + 30 * STRATEGIES.index(variant["factors"]["strategy"]),
                **variant["factors"],
                "paraphrase_temperature": heat,
            }
        )
    texts = ("strategy", "paraphrase", "length")
    schema = dict(ANNOTATION_COLUMNS) | dict.fromkeys(texts, pl.Categorical)
    schema |= {"paraphrase_temperature": pl.Float64, "prompt_tokens": pl.Int64}
    return pl.DataFrame(rows, schema_overrides=schema)


def _lock(labels, variants):
    gold = {code: len(range(at, ITEMS, len(labels))) for at, code in enumerate(labels)}
    return {
        "study": {"name": "Topics", "seed": SEED},
        "labels": {
            "labels": [{"code": code, "name": code.capitalize()} for code in labels],
            "level": "nominal",
        },
        "items": {"n": ITEMS, "blake2b": "00ff", "gold": gold, "ids": ["i0"]},
        "variants": variants,
        "decodings": {"warm": {"name": "warm", "temperature": 0.7}},
        "conditions": [],
        "calls": ITEMS * REPEATS * len(variants) * len(MODELS),
        "models": {name: {"identity": name} for name in MODELS},
        "evaluators": {"label_match": "The rule."},
        "versions": {"quaver": "0"},
    }
