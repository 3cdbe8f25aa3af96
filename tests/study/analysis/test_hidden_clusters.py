"""A study whose items come in groups hears of it, declares the groups, and has wider intervals."""

import json

import numpy as np
import polars as pl
import pytest
from tests.studies import STUDY, written

from quaver import Study
from quaver.core.records import IntervalWarning
from quaver.errors import QuaverError, SpecError
from quaver.report.findings.quality import clusters
from quaver.study.analysis.hidden_clusters import hidden_clusters

GROUPS, SIZE, PROMPTS = 15, 10, 4
WORDS = [
    f"{a}{b}" for a in ("mor", "tel", "quin", "bas", "ver", "lod") for b in ("nt", "ck", "lps", "mer", "an")
]


def _labels(folder, spread=2.0, copies=1):
    """A table of labels about 150 posts of 15 authors, with texts of which so many are nearly the same."""
    rng = np.random.default_rng(4)
    n = GROUPS * SIZE
    author = np.arange(n) // SIZE
    odds = 1 + rng.normal(size=n) + spread * rng.normal(size=GROUPS)[author]
    right = rng.random((n, PROMPTS)) < 1 / (1 + np.exp(-odds[:, None]))
    gold = rng.random(n) < 0.5
    texts = [" ".join(rng.choice(WORDS, 15)) for _ in range(n)]
    texts = [f"{texts[at - at % copies]} {'!' * (at % copies)}" for at in range(n)]
    frame = pl.DataFrame(
        {
            "post": np.repeat(np.arange(n), PROMPTS),
            "prompt": np.tile([f"p{at}" for at in range(PROMPTS)], n),
            "label": np.where(np.where(right, gold[:, None], ~gold[:, None]).ravel(), "yes", "no"),
            "truth": np.repeat(np.where(gold, "yes", "no"), PROMPTS),
            "author": np.repeat([f"author {at}" for at in author], PROMPTS),
            "text": np.repeat(texts, PROMPTS),
        }
    )
    frame.write_csv(folder / "labels.csv")
    return folder / "labels.csv"


def _study(folder, **annotations):
    own = {"item": "post", "variant": ["prompt"], "label": "label", "gold": "truth", "text": "text"}
    return Study.open(
        {
            "name": "posts",
            "task": {"labels": ["yes", "no"]},
            "annotations": {"source": str(folder / "labels.csv"), **own, **annotations},
            "measures": [{"use": "accuracy", "by": ["model"]}, "inter_pss"],
        },
        folder=folder / "study",
    )


def _of(found, column):
    return next(one for one in found if one.measure == "item_clusters" and one.cell["column"] == column)


def test_undeclared_groups_are_found_and_every_interval_says_so(tmp_path):
    _labels(tmp_path)
    study = _study(tmp_path)
    assert [one.cell["column"] for one in study.quality().clusters] == ["author"]
    for one in (*study.estimates(), *study.measure("accuracy")):
        assert one.low is None or any(isinstance(why, IntervalWarning) for why in one.warnings)
    (found,) = clusters(study.estimates(of="audit"))
    assert found.details["effect"] > 1.5**2
    assert "group: author" in study.report(tmp_path / "out").read_text(encoding="utf-8")
    rows = pl.read_csv(tmp_path / "out" / "estimates.csv", infer_schema_length=None)
    row = rows.filter(pl.col("measure") == "item_clusters", pl.col("column") == "author")
    assert json.loads(row["details"][0])["clustered"]


def test_copies_of_a_text_are_found_and_declared(tmp_path):
    _labels(tmp_path, copies=5)
    study = _study(tmp_path, text="text", groups=[])
    found = {one.cell["column"]: one for one in clusters(study.estimates(of="audit"))}
    assert found["near_duplicates"].details["groups"] == 30
    declared = _study(tmp_path, group="near_duplicates")
    assert declared.estimates("accuracy")[0].n == 30
    assert "near_duplicates" not in {one.cell["column"] for one in declared.quality().clusters}


def test_without_groups_nothing_is_said(tmp_path):
    _labels(tmp_path, spread=0.0)
    study = _study(tmp_path)
    assert study.quality().clusters == ()
    assert not _of(study.estimates(of="audit"), "author").details["clustered"]
    assert not any("labelled alike" in why for one in study.estimates() for why in one.warnings)


def test_a_group_declared_after_the_answers_came_in_needs_no_new_answer(tmp_path):
    asked = []

    def annotate(text, prompt):
        asked.append(text)
        return "positive" if len(text) % 2 else "negative"

    rows = "".join(f"i{at},Text {'x' * (at % 7)}{at},w{at // 3}\n" for at in range(36))
    study = STUDY.replace("  gold: truth\n", "").replace("positive or negative?", "good?")
    path = written(tmp_path, study + "measures: [label_shares]\n", f"id,text,writer\n{rows}")
    Study.open(path, functions={"fake": annotate}).run()
    before = Study.open(path, functions={"fake": annotate}).estimates()
    path.write_text(path.read_text().replace("  id: id\n", "  id: id\n  group: writer\n"), encoding="utf-8")
    declared = Study.open(path, functions={"fake": annotate})
    declared.run()
    assert len(asked) == 36
    after = declared.estimates()
    assert [one.value for one in after] == [one.value for one in before]
    assert {one.unit for one in after if one.low is not None} == {"writer"}


def test_near_duplicates_of_a_study_file_are_its_group(tmp_path):
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.choice(WORDS, 15)) for _ in range(10)]
    rows = "".join(f"i{at},{texts[at // 3]}{'.!?'[at % 3]}\n" for at in range(30))
    study = STUDY.replace("  gold: truth\n", "").replace("  id: id\n", "  id: id\n  group: near_duplicates\n")
    path = written(tmp_path, f"{study}measures: [label_shares]\n", f"id,text\n{rows}")
    opened = Study.open(path, functions={"fake": lambda text, prompt: "positive"})
    opened.run()
    assert opened.annotations()["near_duplicates"].n_unique() == 10
    assert opened.estimates()[0].unit == "near_duplicates"


def test_once_declared_every_interval_resamples_the_groups_and_nothing_is_found(tmp_path):
    _labels(tmp_path)
    before = _study(tmp_path)
    alone = before.estimates("accuracy")[0]
    study = _study(tmp_path, group="author")
    assert study.quality().clusters == ()
    assert clusters(study.estimates(of="audit")) == ()
    units = {one.unit for one in study.estimates() if one.value is not None}
    assert units == {"author", "author and prompt"}  # the prompts of a column of that name are a sample
    assert not any("labelled alike" in why for one in study.estimates() for why in one.warnings)
    accuracy = study.estimates("accuracy")[0]
    assert accuracy.low < alone.low < alone.high < accuracy.high
    assert study.measure("accuracy", group=None)[0].unit == "item"
    with pytest.raises(QuaverError) as raised:
        _study(tmp_path, group="writer").annotations()
    assert raised.value.found == "writer"


ITEMS = "id,text,truth\n" + "".join(
    f"i{at},It is {'good' if at % 3 else 'bad'} number {at}.,{'positive' if at % 3 else 'negative'}\n"
    for at in range(24)
)
PARAPHRASES = """\
variants:
  - use: instructions
    texts: {short: Good or bad?, polite: Would you say good or bad?, long: Is the text so?}
"""
LAYOUTS = """\
  - use: prompts
    factor: position
    prompts: {after: {}, before: {layout: "{{ question }}\\n\\n{{ text }}"}}
"""
DESIGNED = f"variants:\n{LAYOUTS}"


def labelled(text, prompt):
    """The truth, but for some items of some prompts."""
    number = int(text.split()[-1].rstrip("."))
    wrong = (number * 7 + len(prompt)) % 5 == 0
    return "positive" if ("good" in text) != wrong else "negative"


def opened(folder, more):
    study = Study.open(written(folder, STUDY + more, ITEMS), functions={"fake": labelled})
    study.run()
    return study


def of(study, measure):
    return [one.estimand for one in study.estimates() if one.measure == measure]


def test_paraphrases_are_a_sample_of_others_unless_the_file_says_so(tmp_path):
    measures = "measures: [inter_pss, sensitivity, accuracy]\n"
    study = opened(tmp_path, PARAPHRASES + measures)
    assert of(study, "inter_pss") == of(study, "sensitivity") == ["population"]
    assert of(study, "accuracy") == ["fixed"] * 4
    every = [one for one in study.estimates(of="audit") if one.measure == "accuracy"]
    assert [(one.estimand, one.details["prompts"]) for one in every] == [("population", 4)]
    study.report()
    assert "for prompts like these 4" in (tmp_path / "report.html").read_text(encoding="utf-8")
    (tmp_path / "study.yaml").write_text(
        f"{STUDY}{PARAPHRASES}measures: [{{use: inter_pss, estimand: fixed}}]\n"
    )
    assert of(Study.open(tmp_path, functions={"fake": labelled}), "inter_pss") == ["fixed"]
    with pytest.raises(SpecError) as raised:
        opened(tmp_path / "other", "measures: [{use: inter_model, estimand: population}]\n")
    assert "estimand" in str(raised.value.where)


def test_a_design_is_all_there_is(tmp_path):
    study = opened(tmp_path, DESIGNED + "measures: [inter_pss, accuracy]\n")
    assert of(study, "inter_pss") == ["fixed"]
    assert not [one for one in study.estimates(of="audit") if one.measure == "accuracy"]


@pytest.mark.parametrize(("column", "estimand"), [("prompt", "population"), ("temperature", "fixed")])
def test_imported_prompts_are_told_apart_by_name(tmp_path, column, estimand):
    rows = [f"{item},{level},{'ab'[(item * level) % 3 > 0]}" for item in range(6) for level in range(3)]
    (tmp_path / "labels.csv").write_text("\n".join([f"item,{column},label", *rows]), encoding="utf-8")
    (tmp_path / "study.yaml").write_text(
        "task: {labels: [a, b]}\nmeasures: [sensitivity]\n"
        f"annotations: {{source: labels.csv, item: item, label: label, variant: [{column}]}}\n",
        encoding="utf-8",
    )
    study = Study.open(tmp_path / "study.yaml")
    assert {one.estimand for one in study.measure("sensitivity")} == {estimand}


def test_paraphrases_of_a_design(tmp_path):
    measures = "measures: [inter_pss, {use: accuracy, estimand: population}]\n"
    study = opened(tmp_path, PARAPHRASES + LAYOUTS + measures)
    whole = [one for one in study.estimates() if one.measure == "inter_pss"]
    assert [(one.estimand, one.details["prompts"]) for one in whole] == [("population", 4)]
    apart = [one for one in study.estimates() if one.measure == "accuracy"]
    assert {one.details["prompts"] for one in apart} == {4}
    assert [one.estimand for one in apart] == ["population"] * 2
    assert len({one.cell["position"] for one in apart}) == 2


def test_another_persons_codes_of_a_variable_are_no_groups(tmp_path):
    lines = ["id,text,cost,cost_b,place"]
    lines += [f"i{at},Text {at} costs {at % 17},{at % 17},{2 * (at % 17)},p{at % 16}" for at in range(60)]
    (tmp_path / "texts.csv").write_text("\n".join(lines) + "\n")
    study = Study.open(
        {
            "name": "costs",
            "task": {"held": False, "fields": {"cost": {"level": "ratio", "gold": "cost"}}},
            "items": {"source": str(tmp_path / "texts.csv"), "id": "id", "text": "{{ text }}"},
            "prompt": {"instruction": "Code it."},
            "models": [{"name": "fake", "use": "function"}],
        },
        folder=tmp_path,
        functions={"fake": lambda text, prompt: json.dumps({"cost": text.split()[-1]})},
    )
    study.run()
    found = hidden_clusters(study.source, study.annotations(), None)
    assert [one.cell["column"] for one in found if one.cell["column"] != "near_duplicates"] == ["place"]
