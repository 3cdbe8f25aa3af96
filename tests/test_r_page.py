"""The R code of docs/paper.md shows the scores of one evaluator, in R if it is there."""

import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from quaver.study.session import Study

PAGE = Path(__file__).parents[1] / "docs" / "paper.md"
LABELS = ["NA", "01", "T"]
"""Labels that R takes for something else unless you name their type."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The report's tables of a study with two models and three evaluators."""
    home = tmp_path_factory.mktemp("r")
    rows = [f"i{n},text {n},{LABELS[n % 3]}" for n in range(6)]
    (home / "items.csv").write_text("\n".join(["id,text,truth", *rows]) + "\n", encoding="utf-8")
    study = {
        "task": {"labels": LABELS},
        "items": {"source": str(home / "items.csv"), "id": "id", "text": "{{ text }}", "gold": "truth"},
        "prompt": {"instruction": "Which is it?"},
        "variants": [{"use": "instructions", "texts": {"curt": "Which?"}}],
        "models": [{"name": name, "use": "function"} for name in ("one", "two")],
        "evaluators": ["first_label", "label_match", "exact"],
        "measures": [{"use": "inter_pss"}],
    }

    def one(text, prompt):
        n = int(text.split()[1])
        return "hm" if n == 5 else LABELS[n % 3]

    def two(text, prompt):
        return one(text, prompt) if "is it" in prompt else "T"

    opened = Study.open(study, folder=home / "study", functions={"one": one, "two": two})
    opened.run()
    return opened.report().parent


def code():
    return "\n".join(
        re.findall(r"^```r\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    )


def test_the_scores_that_are_shown_are_distinguished(tables):
    shown = re.search(r"scores\[, c\((.*?)\)\]", code())
    columns = re.findall(r'"(\w+)"', shown[1])
    frame = pl.read_csv(tables / "estimates.csv", infer_schema_length=None)
    scores = frame.filter(measure="inter_pss", evaluator="first_label").drop_nulls("value").select(columns)
    assert scores.height == 2
    assert scores.select("model", "decoding").is_unique().all()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_runs_it(tables):
    done = subprocess.run(
        ["Rscript", "-e", code()], cwd=tables, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
