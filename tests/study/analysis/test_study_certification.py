"""A certificate is made of a study, kept in its folder, shown in its report, and dropped when it is old."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import polars as pl
import pytest
from tools.certifying.population import GROUP, Population, study

import quaver
from quaver.certification.simulated_study import SimulatedStudies
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


HARD = Population(
    items=300,
    variants=5,
    repeats=1,
    shares=(0.03, 0.97),
    difficulty=2.0,
    missing=0.25,
    group_size=10,
    unequal=True,
    icc=0.3,
)


def test_simulated_studies_have_the_studys_groups_missing_answers_and_rare_label(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ["item", "variant", "label", "gold", GROUP]
    study(HARD, HARD.prompts(1), 1).select(columns).write_csv(tmp_path / "labels.csv")
    (tmp_path / "study.yaml").write_text(
        "name: labels\ntask: {labels: [a, b]}\nmeasures: [accuracy, inter_pss]\n"
        "annotations: {source: labels.csv, item: item, label: label, variant: [variant], gold: gold, "
        f"group: {GROUP}}}\n",
        encoding="utf-8",
    )
    frames: list[pl.DataFrame] = []
    drawn = SimulatedStudies.study_like

    def seen(self: SimulatedStudies, *asked: int | None) -> pl.DataFrame:
        frames.append(drawn(self, *asked))
        return frames[-1]

    monkeypatch.setattr(SimulatedStudies, "study_like", seen)
    one = quaver.Study.open(tmp_path)
    made = one.certify(replications=8).certificate
    own = measurable(one.source)
    sizes = own.group_by(GROUP).agg(pl.col("item").n_unique())["item"].sort(descending=True)
    assert sizes[0] > 5 * sizes[len(sizes) // 2]
    assert made.population["groups"] == len(sizes)
    assert made.population["largest_group"] == pytest.approx(sizes[0] / sizes.sum(), abs=1e-4)
    small = [frame for frame in frames if frame.height == own.height]
    assert len(small) >= 8

    def like(frame: pl.DataFrame) -> list[float]:
        label = pl.col("label").cast(pl.String)
        return list(frame.select(label.is_null().mean(), rare=(label == "a").mean()).row(0))

    for frame in small:
        again = frame.group_by(GROUP).agg(pl.col("item").n_unique())["item"].sort(descending=True)
        assert again.equals(sizes)
    assert np.mean([like(frame) for frame in small], axis=0) == pytest.approx(like(own), abs=0.03)
    assert like(own)[0] > 0.2
    counts = made.document()["verdicts"]
    assert sum(said["lines"] for said in counts.values()) == len(made.lines)
    assert f"{counts['open']['lines']} are open" in made.in_words()


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
