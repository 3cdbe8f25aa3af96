"""What the report's charts of sensitivity and consistency rest on, from a study to its files."""

import csv
import json

import pytest
from tests.studies import written

from quaver import Study

ITEMS = "id,text,truth\n" + "".join(
    f"i{n},Text {n}{'!' * (n % 3)},{'positive' if n % 2 else 'negative'}\n" for n in range(8)
)
STUDY = """\
name: Moods
task:
  labels: [positive, negative]
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth}
prompt: {instruction: Is this positive or negative?}
variants:
  - {use: instructions, texts: {curt: Positive or negative?, kind: Please say whether it is positive.}}
models:
  - {name: fake, use: function}
measures:
  - {use: sensitivity, by: [model]}
  - {use: consistency, by: [model]}
"""


def annotate(text, prompt):
    return "positive" if "!" in text or ("Please" in prompt and "4" in text) else "negative"


@pytest.mark.long
def test_a_study_s_report_has_them_and_its_files_and_python_the_same_numbers(tmp_path):
    study = Study.open(written(tmp_path, STUDY, ITEMS), functions={"fake": annotate})
    study.run()
    found = study.estimates(of="charts")
    assert {one.measure for one in found} == {
        *("level_shares", "label_range", "deviation_share", "wrong_labels", "label_in_use", "label_shift"),
        *("gold_agreement", "best_prompt_wrong", "best_prompt_gold_agreement", "best_prompt_better"),
        *("correct_answers", "gold_bias", "class_found", "unlabelled_texts", "broken_prompts", "label_right"),
        *("prompt_worse", "prompt_right", "prompt_usual", "prompt_unlabelled"),
        *("reader_disagreement", "failed_calls", "unlabelled_answers", "truncated_answers"),
        "served_flips_host",
        *(f"flips_{kind}" for kind in ("repeats", "prompts", "chance", "agreement", "noise")),
    }
    study.report()
    with (tmp_path / "estimates.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["measure"] in {one.measure for one in found}]
    assert [row["value"] for row in rows] == ["" if e.value is None else repr(e.value) for e in found]
    for row, one in zip(rows, found, strict=True):
        assert json.loads(row["details"] or "{}") == json.loads(json.dumps(dict(one.details)))


def test_prompts_are_compared_for_each_model_by_itself(tmp_path):
    """By the labels of the first evaluator: the second reads no sentence."""
    both = STUDY.replace("  - {name: fake", "  - {name: steady, use: function}\n  - {name: fake")
    functions = {
        "steady": lambda text, prompt: "positive",
        "fake": lambda text, prompt: "negative" if "Please" in prompt else "It is positive.",
    }
    path = written(tmp_path, f"{both}evaluators: [first_label, exact]\n", ITEMS)
    study = Study.open(path, functions=functions)
    study.run()
    shares = {
        (one.cell["model"], one.cell["variant"].partition("=")[2]): one.value
        for one in study.estimates(of="charts")
        if one.measure == "deviation_share" and [*one.cell] == ["model", "variant"]
    }
    assert {shares["steady", prompt] for prompt in ("original", "curt", "kind")} == {0.0}
    assert (shares["fake", "original"], shares["fake", "kind"]) == (0.0, 1.0)


def test_the_group_that_the_measures_name_is_the_unit_of_the_charts_too(tmp_path):
    grouped = STUDY.replace("gold: truth", "gold: truth, groups: [author]").replace(
        "by: [model]}\n  - {use: cons", "by: [model], group: author}\n  - {use: cons"
    )
    items = ITEMS.replace("truth\n", "truth,author\n", 1)
    items = "\n".join(
        line if at == 0 or not line else f"{line},{at // 3}" for at, line in enumerate(items.split("\n"))
    )
    study = Study.open(written(tmp_path, grouped, items), functions={"fake": annotate})
    study.run()
    units = {one.measure: one.unit for one in study.estimates(of="charts")}
    moving = ("level_shares", "label_range", "deviation_share", "failed_calls", "label_shift")
    assert {units[name] for name in (*moving, "flips_prompts")} == {"author"}
