"""A small study made by hand: two paraphrases and two formats, where the format decides the label."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest
from tests.chromium import browser
from tests.report.moved import measured_study, movement_of

from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results

__all__ = ["browser"]

Answer = Callable[[int, str, str, int], str | None]


@dataclass
class Study:
    lock: dict[str, Any]
    annotations: pl.DataFrame
    estimates: list[Estimate] = field(default_factory=list)

    def moved(self):
        """What moves the labels of the first evaluator."""
        return movement_of(self.lock, self.annotations)

    def deviations(self):
        """The answers that deviate from their item's modal label."""
        return measured_study(self.lock, self.annotations).deviations()

    def results(self):
        return Results(self.lock, self.annotations, self.estimates, audit=self.moved())

    def inputs(self):
        return {
            "audit": self.moved(),
            "deviations": self.deviations(),
            "lock": self.lock,
            "annotations": self.annotations,
            "estimates": self.estimates,
        }


def follows_format(item, paraphrase, layout, repeat):
    """Names gives b always, letters a always, and one answer in the design has no label."""
    if (item, paraphrase, layout, repeat) == (0, "plain", "names", 0):
        return None
    return "b" if layout == "names" else "a"


def make_study(
    *,
    items=8,
    paraphrases=("plain", "polite"),
    layouts=("names", "letters"),
    repeats=2,
    evaluators=("first_label", "exact"),
    answer=follows_format,
    gold=True,
    name="Votes",
    label_names=("Alpha", "Beta"),
    models=("tiny",),
):
    codes = ("a", "b")
    variants = [
        {
            "id": f"paraphrase={w},format={f}",
            "factors": {"paraphrase": w, "format": f},
            "answers": {"a": "A", "b": "B"},
            "example": [["system", "Answer."], ["user", f"Which? ({w}, {f})"]],
        }
        for w, f in itertools.product(paraphrases, layouts)
    ]
    truth = {i: codes[i % 2] if gold else None for i in range(items)}
    rows = []
    for model, w, f, i, k, evaluator in itertools.product(
        models, paraphrases, layouts, range(items), range(repeats), evaluators
    ):
        label = answer(i, w, f, k)
        rows.append(
            {
                "model": model,
                "variant": f"paraphrase={w},format={f}",
                "decoding": "greedy",
                "item": str(i),
                "repeat": k,
                "evaluator": evaluator,
                "label": label,
                "status": "valid" if label else "no_label",
                "gold": truth[i],
                "paraphrase": w,
                "format": f,
            }
        )
    schema = dict(ANNOTATION_COLUMNS) | {"paraphrase": pl.Categorical, "format": pl.Categorical}
    lock = {
        "study": {"name": name, "seed": 7},
        "labels": {
            "labels": [{"code": c, "name": n} for c, n in zip(codes, label_names, strict=True)],
            "level": "nominal",
        },
        "items": {"n": items, "blake2b": "00ff", "gold": {"a": 4, "b": 4} if gold else {}, "ids": ["0"]},
        "variants": variants,
        "decodings": {"greedy": {"name": "greedy", "temperature": 0.0}},
        "conditions": [
            {"model": m, "variant": v["id"], "decoding": "greedy", "repeats": repeats}
            for m in models
            for v in variants
        ],
        "calls": len(rows) // max(1, len(evaluators)),
        "models": {m: {"identity": "sha256:1234", "engine": "by hand"} for m in models},
        "evaluators": {e: f"The rule of {e}." for e in evaluators},
        "versions": {"quaver": "0"},
    }
    study = Study(lock, pl.DataFrame(rows, schema=schema))
    study.estimates = _estimates(study)
    return study


def _estimates(study):
    """Label shares and so on, with intervals that are made up (their ends are odd on purpose)."""
    found = []
    by = ["model", "decoding", "variant", "evaluator"]
    for key, part in study.annotations.group_by(by, maintain_order=True):
        cell = dict(zip(by, map(str, key), strict=True))
        labels = part["label"].cast(pl.String).fill_null("no label")
        for label in ("a", "b", "no label"):
            share = float((labels == label).mean() or 0.0)
            ends = (max(0.0, share - 0.0371), min(1.0, share + 0.1234567))
            found.append(Estimate("label_shares", share, *ends, n=8, cell=cell | {"label": label}))
        valid = float((labels != "no label").mean() or 0.0)
        found.append(Estimate("compliance", valid, 0.5, 1.0, n=8, cell=cell))
        baselines = {"chance": 0.5, "majority": 0.5, "majority_label": "a"}
        found.append(
            Estimate(
                "accuracy",
                0.4876543,
                0.3,
                0.7,
                n=8,
                cell=cell,
                details=baselines,
                warnings=("only 3 of 8 units differ",),
            )
        )
        found.append(
            Estimate("intra_pss", None, reason="no variation", n=8, cell=cell, excluded={"no_label": 1})
        )
    coarse = {"model": "tiny", "decoding": "greedy", "evaluator": "first_label"}
    found.append(Estimate("inter_pss", -0.0712345, -0.1, 0.0123, n=8, cell=coarse, method="alpha"))
    return found


@pytest.fixture(scope="session")
def make():
    return make_study


@pytest.fixture(scope="module")
def study():
    return make_study(items=24)
