"""A certificate is made of a study, kept in its folder, shown in its report, and dropped when it is old."""

import json
from pathlib import Path

import polars as pl
import pytest

import quaver
from quaver.certification.population import Population, study
from quaver.errors import QuaverError
from quaver.study.analysis.study_certification import FILE, certified
from quaver.study.analysis.study_estimates import estimates_of_study, measurable

POPULATION = Population(items=40, variants=4, repeats=1, prompt_sd=0.5)


def opened(folder: Path, measures: str = "[accuracy, inter_pss]", seed: int = 1) -> quaver.Study:
    columns = ["item", "variant", "label", "gold"]
    study(POPULATION, POPULATION.prompts(1), seed).select(columns).write_csv(folder / "labels.csv")
    (folder / "study.yaml").write_text(
        "name: labels\ntask: {labels: [a, b, c]}\n"
        "annotations: {source: labels.csv, item: item, label: label, variant: [variant], gold: gold}\n"
        f"measures: {measures}\n",
        encoding="utf-8",
    )
    return quaver.Study.open(folder)


def shown(one: quaver.Study) -> list[str]:
    """The measures whose estimates have the certificate's numbers."""
    frame = measurable(one.source)
    found = certified(one.source, estimates_of_study(one.source, None, frame), frame)
    return sorted({e.measure for e in found if "certified" in e.details})


def test_a_certificate_is_kept_and_shown_until_the_answers_change(tmp_path: Path) -> None:
    one = opened(tmp_path)
    assert shown(one) == []
    found = one.certify(replications=6)
    assert {line.name for line in found.certificate.lines} == {"accuracy", "inter_pss"}
    assert len(found.estimates) == len(found.certificate.places)
    kept = json.loads((tmp_path / FILE).read_text())
    assert kept["replications"] == 6
    assert shown(one) == ["accuracy", "inter_pss"]
    assert "simulated studies like this one" in one.report().read_text(encoding="utf-8")
    assert shown(opened(tmp_path, seed=2)) == []


def test_a_certificate_of_other_measures_is_passed_over(tmp_path: Path) -> None:
    opened(tmp_path).certify(replications=2)
    assert shown(opened(tmp_path, "[{use: accuracy, missing: drop}, inter_pss]")) == []


def test_every_estimand_of_the_report_is_certified(tmp_path: Path) -> None:
    measures = "[{use: accuracy, by: [], estimand: next}, {use: accuracy, by: [], estimand: fixed}]"
    found = opened(tmp_path, measures).certify(replications=30).certificate
    estimands = {line.estimand: line for line in found.lines}
    assert set(estimands) == {"next", "fixed"}
    assert all((line.coverage or 0) > 0.7 for line in estimands.values())
    assert (estimands["next"].width or 0) > 0


def test_conclusions_are_certified_of_items_without_an_effect(tmp_path: Path) -> None:
    frame = study(POPULATION, POPULATION.prompts(1), 1).select("item", "variant", "label", "small")
    frame.write_csv(tmp_path / "labels.csv")
    (tmp_path / "study.yaml").write_text(
        "name: labels\ntask: {labels: [a, b, c]}\n"
        "annotations: {source: labels.csv, item: item, label: label, variant: [variant], groups: [small]}\n"
        "measures: [compliance]\n"
        'conclusions: [{formula: share(a) ~ small, effect: "small[yes] > small[no]"}]\n',
        encoding="utf-8",
    )
    found = quaver.Study.open(tmp_path).certify(replications=10).certificate
    effects = next(line for line in found.lines if line.name == "conclusion")
    assert effects.truth == pytest.approx(0.0, abs=0.1)
    assert found.failed == {}


def test_a_study_without_measures_cannot_be_certified(tmp_path: Path) -> None:
    with pytest.raises(QuaverError) as caught:
        opened(tmp_path, "[]").certify(replications=2)
    assert "certify" in caught.value.problem


def test_a_damaged_certificate_is_one_error(tmp_path: Path) -> None:
    one = opened(tmp_path)
    one.certify(replications=2)
    (tmp_path / FILE).write_text("{", encoding="utf-8")
    with pytest.raises(QuaverError) as caught:
        shown(one)
    assert caught.value.where == str(tmp_path / FILE)
    assert isinstance(measurable(one.source), pl.DataFrame)


def test_a_bundle_carries_the_certificate(tmp_path: Path) -> None:
    one = opened(tmp_path)
    one.certify(replications=2)
    packed, _ = quaver.bundle(one, tmp_path / "whole.zip")
    other = quaver.Study.open(packed)
    assert shown(other) == ["accuracy", "inter_pss"]
