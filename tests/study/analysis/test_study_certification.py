"""A certificate is made of a study, kept in its folder, shown in its report, and dropped when it is old."""

import json
from pathlib import Path
from shutil import copytree

import polars as pl
import pytest
from tools.certifying.population import Population, study

import quaver
from quaver.errors import QuaverError
from quaver.study.analysis.measured_study import MeasuredStudy
from quaver.study.analysis.study_certification import FILE, certified
from quaver.study.analysis.study_measures import measurable

POPULATION = Population(items=40, variants=4, repeats=1, prompt_sd=0.5)


REPLICATIONS = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with its certificate, made once: the simulations are what these tests take."""
    folder = tmp_path_factory.mktemp("certified")
    found = opened(folder).certify(replications=REPLICATIONS)
    assert {line.name for line in found.certificate.lines} == {"accuracy", "inter_pss"}
    assert len(found.estimates) == len(found.certificate.places)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to change."""
    return Path(copytree(made, tmp_path / "study"))


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
    found = certified(one.source, MeasuredStudy(one.source).estimates(), frame)
    return sorted({e.measure for e in found if "certified" in e.details})


@pytest.mark.long
def test_a_certificate_is_kept_and_shown_until_the_answers_change(folder: Path) -> None:
    kept = json.loads((folder / FILE).read_text())
    assert kept["replications"] == REPLICATIONS
    one = quaver.Study.open(folder)
    assert shown(one) == ["accuracy", "inter_pss"]
    assert "simulated studies like this one" in one.report().read_text(encoding="utf-8")
    assert shown(opened(folder, seed=2)) == []


def test_a_certificate_is_not_shown_before_it_is_made(tmp_path: Path) -> None:
    assert shown(opened(tmp_path)) == []


def test_a_certificate_of_other_measures_is_passed_over(folder: Path) -> None:
    assert shown(opened(folder, "[{use: accuracy, missing: drop}, inter_pss]")) == []


@pytest.mark.long
def test_every_estimand_of_the_report_is_certified(tmp_path: Path) -> None:
    measures = "[{use: accuracy, by: [], estimand: next}, {use: accuracy, by: [], estimand: fixed}]"
    found = opened(tmp_path, measures).certify(replications=30).certificate
    estimands = {line.estimand: line for line in found.lines}
    assert set(estimands) == {"next", "fixed"}
    assert all((line.coverage or 0) > 0.7 for line in estimands.values())
    assert (estimands["next"].width or 0) > 0


@pytest.mark.long
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


def test_a_damaged_certificate_is_one_error(folder: Path) -> None:
    one = quaver.Study.open(folder)
    (folder / FILE).write_text("{", encoding="utf-8")
    with pytest.raises(QuaverError) as caught:
        shown(one)
    assert caught.value.where == str(folder / FILE)
    assert isinstance(measurable(one.source), pl.DataFrame)


def test_a_bundle_carries_the_certificate(folder: Path, tmp_path: Path) -> None:
    packed, _ = quaver.bundle(quaver.Study.open(folder), tmp_path / "whole.zip")
    other = quaver.Study.open(packed)
    assert shown(other) == ["accuracy", "inter_pss"]
