"""Which prompts a study's intervals hold for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studies import STUDY, written

from quaver import Study
from quaver.core.records import Variant
from quaver.errors import SpecError
from quaver.study.analysis.sampled_prompts import Prompts

ITEMS = "id,text,truth\n" + "".join(
    f"i{at},It is {'good' if at % 3 else 'bad'} number {at}.,{'positive' if at % 3 else 'negative'}\n"
    for at in range(24)
)
PARAPHRASES = """\
variants:
  - use: instructions
    texts: {short: Good or bad?, polite: Would you say good or bad?, long: Is the text so?}
"""
LAYOUTS = "  - {use: position}\n"
DESIGNED = "variants:\n  - {use: position}\n"


def labelled(text: str, prompt: str) -> str:
    """The truth, but for some items of some prompts."""
    number = int(text.split()[-1].rstrip("."))
    wrong = (number * 7 + len(prompt)) % 5 == 0
    return "positive" if ("good" in text) != wrong else "negative"


def opened(folder: Path, more: str) -> Study:
    study = Study.open(written(folder, STUDY + more, ITEMS), functions={"fake": labelled})
    study.run()
    return study


def of(study: Study, measure: str) -> list[str]:
    return [one.estimand for one in study.estimates() if one.measure == measure]


def test_paraphrases_are_a_sample_of_others(tmp_path: Path) -> None:
    study = opened(tmp_path, PARAPHRASES + "measures: [inter_pss, sensitivity, accuracy]\n")
    assert of(study, "inter_pss") == of(study, "sensitivity") == ["population"]
    assert of(study, "accuracy") == ["fixed"] * 4
    every = [one for one in study.estimates(of="audit") if one.measure == "accuracy"]
    assert [(one.estimand, one.details["prompts"]) for one in every] == [("population", 4), ("next", 4)]
    study.report()
    assert "for prompts like these 4" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_design_is_all_there_is(tmp_path: Path) -> None:
    study = opened(tmp_path, DESIGNED + "measures: [inter_pss, accuracy]\n")
    assert of(study, "inter_pss") == ["fixed"]
    assert not [one for one in study.estimates(of="audit") if one.measure == "accuracy"]


def test_paraphrases_of_a_design(tmp_path: Path) -> None:
    measures = (
        "measures: [inter_pss, {use: accuracy, estimand: population}, {use: accuracy, estimand: next}]\n"
    )
    study = opened(tmp_path, PARAPHRASES + LAYOUTS + measures)
    whole = [one for one in study.estimates() if one.measure == "inter_pss"]
    assert [(one.estimand, one.details["prompts"]) for one in whole] == [("population", 4)]
    apart = [one for one in study.estimates() if one.measure == "accuracy"]
    assert {one.details["prompts"] for one in apart} == {4}
    assert [one.cell["estimand"] for one in apart] == ["population"] * 2 + ["next"] * 2
    assert len({one.cell["position"] for one in apart}) == 2


def test_the_file_says_so(tmp_path: Path) -> None:
    study = opened(tmp_path, PARAPHRASES + "measures: [{use: inter_pss, estimand: fixed}]\n")
    assert of(study, "inter_pss") == ["fixed"]
    with pytest.raises(SpecError) as raised:
        opened(tmp_path / "other", "measures: [{use: inter_model, estimand: population}]\n")
    assert "estimand" in str(raised.value.where)


def test_imported_prompts_are_told_apart_by_name() -> None:
    imported = [
        Variant(f"{at}", {"paraphrase": f"{at}", "temperature": f"{at % 2}"}, "", "", "", "", "", {})
        for at in range(3)
    ]
    assert Prompts.of(imported) == Prompts(("paraphrase",), ("temperature",), 3)
    assert Prompts.of(imported[:1]) == Prompts((), (), 0)


def test_the_intervals_of_imported_prompts_hold_for_prompts_like_these(tmp_path: Path) -> None:
    rows = [
        f"{item},{prompt},{'ab'[(item * prompt) % 3 > 0]}"  # three prompts label six items
        for item in range(6)
        for prompt in range(3)
    ]
    (tmp_path / "labels.csv").write_text("\n".join(["item,prompt,label", *rows]), encoding="utf-8")
    (tmp_path / "study.yaml").write_text(
        "task: {labels: [a, b]}\nmeasures: [sensitivity]\n"
        "annotations: {source: labels.csv, item: item, label: label, variant: [prompt]}\n",
        encoding="utf-8",
    )
    study = Study.open(tmp_path / "study.yaml")
    assert {one.estimand for one in study.measure("sensitivity")} == {"population"}
