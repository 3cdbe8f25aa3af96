"""The report of a large study: how large it is, how long it takes to make, and how long to open.

    python benchmarks/report.py [ANNOTATIONS]

3,000,000 by default: 500 items, 250 paraphrases, 3 repeats and 8 models, labelled at random around gold.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple, cast

import polars as pl
from machine import machine

import quaver
from measures import study as annotations
from quaver.core.records import Condition, Decoding, Item, Variant
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import lock_document
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import read_study
from quaver.report.page.html_page import write_report
from quaver.study.analysis.measured_study import MeasuredStudy, pictured
from quaver.study.sources.study_plugins import Measurement
from quaver.study.sources.study_source import StudySource

SEED = 3
BY = ("model", "decoding", "evaluator")
MEASURES = ("intra_pss", "inter_pss", "sensitivity", "consistency", "accuracy", "spread")
STUDY = {
    "name": "Large",
    "seed": SEED,
    "task": {"labels": list("abcd")},
    "items": {"source": "items.csv", "text": "{{ text }}"},
    "prompt": {"instruction": "Which is it?"},
    "models": [{"name": "m000", "use": "function"}],
    "evaluators": ["first_label"],
}


class _Study(NamedTuple):
    """As much of a study as its annotations are measured with."""

    experiment: Experiment
    spec: StudySpec
    gold_columns: tuple[str, ...] = ()
    has_texts: bool = False


def main(wanted: int) -> None:
    print(machine())
    paraphrases = max(2, wanted // (500 * 3 * 8))
    frame = annotations(paraphrases=paraphrases).with_columns(
        pl.lit("greedy").alias("decoding"),
        pl.lit("first_label").alias("evaluator"),
        pl.when(pl.col("label").is_null())
        .then(pl.lit("no_label"))
        .otherwise(pl.lit("valid"))
        .alias("status"),
        pl.col("variant").alias("paraphrase"),
    )
    experiment, lock = _design(frame)
    start = time.perf_counter()
    options = {"labels": experiment.labels, "by": BY, "seed": SEED}
    asked = [Measurement(name, getattr(quaver.measures, name), None, options) for name in MEASURES]
    shares = options | {"by": (*BY, "variant"), "missing": "category"}
    asked.append(Measurement("label_shares", quaver.measures.label_shares, None, shares))
    estimates = [found for one in asked for found in one.of(frame)]
    of_study = _Study(experiment, read_study(STUDY)[0])
    moving = MeasuredStudy(cast(StudySource, of_study), frame)
    moving.asked = []
    shown = [*pictured(asked, moving.whole), *moving.moved()]
    measured = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = write_report(Path(folder), lock=lock, annotations=frame, estimates=estimates, audit=shown)
        made = time.perf_counter()
        print(f"a study of {frame.height:,} annotations, {len(estimates) + len(shown):,} estimates")
        print(f"  measured in {measured - start:.1f} s, report made in {made - measured:.1f} s (at most 60)")
        print(f"  report.html: {path.stat().st_size / 1e6:.1f} MB (at most 10)")
        _open(path)
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


def _design(frame: pl.DataFrame) -> tuple[Experiment, dict[str, object]]:
    """The design that such annotations come from, and its lock document."""
    spec, _ = read_study(STUDY)
    labels = spec.task.label_set()
    answers = {label.code: label.name for label in labels.labels}
    names = {column: frame[column].unique().cast(pl.String).sort() for column in ("model", "item", "variant")}
    parts = {"system": "", "layout": "{{ instruction }}\n{{ text }}", "text": "{{ text }}", "postfix": ""}
    variants = [
        Variant(name, {"paraphrase": name}, instruction=f"Which is it ({name})?", answers=answers, **parts)
        for name in names["variant"]
    ]
    conditions = [Condition(model, one.id, "greedy", 3) for model in names["model"] for one in variants]
    items = [Item(name, {"text": f"Text {name}."}, None) for name in names["item"]]
    experiment = Experiment(labels, items, variants, {"greedy": Decoding("greedy")}, conditions)
    models = {name: {"identity": name} for name in names["model"]}
    return experiment, lock_document(spec, experiment, models, {"first_label": "The first label named."})


def _open(path: Path) -> None:
    """Open it in a browser, where there is one."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("  not opened: there is no chromium")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(path.as_uri(), wait_until="load")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        print(f"  opened and drawn in {time.perf_counter() - start:.1f} s (under 2)")
        browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1].replace(",", "")) if len(sys.argv) > 1 else 3_000_000)
