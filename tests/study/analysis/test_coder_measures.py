"""A study with coders measures them: with each other, with the model, and with each prompt."""

import random
import re
from collections import Counter

import polars as pl
import pytest

import quaver

CODERS = ["anna", "ben", "cleo"]


def flipped(labels, share, chance):
    return [label if chance.random() > share else "ba"["ab".index(label)] for label in labels]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    chance = random.Random(3)
    truth = chance.choices("ab", k=90)
    frame = pl.DataFrame(
        {
            "text": [f"{label} text {number}" for number, label in enumerate(truth)],
            **{name: flipped(truth, 0.08, chance) for name in CODERS},
        }
    )

    def annotate(text, prompt):
        own = random.Random(text + prompt)
        return flipped([text[0]], 0.05 if "Which?" in prompt else 0.4, own)[0]

    made = quaver.Study.open(
        {
            "name": "Coders",
            "task": {"labels": ["a", "b"]},
            "items": {"source": frame, "coders": CODERS, "gold": {"coders": "majority"}},
            "prompt": {"instruction": "Which?"},
            "variants": [{"use": "instructions", "texts": {"curt": "Say."}}],
            "models": [{"name": "mine", "use": "function"}],
            "measures": ["accuracy"],
        },
        folder=tmp_path_factory.mktemp("coders"),
        functions={"mine": annotate},
    )
    made.run()
    return made


def test_what_is_measured_of_them_needs_no_line_of_the_file(study):
    assert study.annotations().select(CODERS).null_count().row(0) == (0, 0, 0)
    found = study.estimates()
    gaps = {e.cell["coder"]: e for e in found if e.measure == "coder_agreement_gap"}
    assert gaps.keys() == {"all"}
    assert gaps["all"].low > 0
    pairs = [e.cell["coder"] for e in found if e.measure == "coder_agreement_coders"]
    assert pairs == ["anna, ben", "anna, cleo", "ben, cleo", "all"]


def test_a_measure_that_is_asked_for_is_of_the_studys_coders(study):
    found = study.measure("coder_agreement")
    assert {e.cell["coder"] for e in found if e.measure.endswith("_model")} == set(CODERS)
    gaps = {e.cell["variant"]: e for e in found if e.measure.endswith("_gap") and e.cell["coder"] == "all"}
    assert gaps["paraphrase=curt"].low > 0
    assert gaps["paraphrase=original"].low < 0
    own = study.measure("coder_agreement", coders=["ben"])
    assert {e.cell["coder"] for e in own} == {"ben"}


def test_the_report_says_who_agrees_with_whom(study):
    page = study.report().read_text(encoding="utf-8")
    part = page.partition('<section id="coders">')[2].partition("</section>")[0]
    words = " ".join(re.sub("<[^>]+>", " ", part).split())
    assert "Coders agree better with each other than with the model" in words
    assert "may replace a coder: it does as well as 2 of 3 coders" in words
    table = (study.folder / "tables" / "coders.csv").read_text(encoding="utf-8")
    rows = Counter(line.split(",")[0] for line in table.splitlines()[1:])
    agreement = {"coder_agreement_coders": 4, "coder_agreement_model": 3, "coder_agreement_gap": 1}
    assert rows == {**agreement, "alternative_annotator": 4}


@pytest.mark.parametrize("items", [{"coders": ["anna"]}, {"coders": ["anna", "ben"], "gold": "cleo"}])
def test_fewer_coders_and_another_gold(study, tmp_path, items):
    source = next(study.folder.glob("items-*.jsonl"))
    other = quaver.Study.open(
        {
            "task": {"labels": ["a", "b"]},
            "items": {"source": str(source), "text": "{{ text }}", **items},
            "prompt": {"instruction": "Which?"},
            "models": [{"name": "mine", "use": "function"}],
        },
        folder=tmp_path,
        functions={"mine": lambda text, prompt: text[0]},
    )
    other.run()
    measures = {e.measure for e in other.estimates()}
    assert "coder_agreement_model" in measures
    assert ("coder_agreement_gap" in measures) is (len(items["coders"]) > 1)
