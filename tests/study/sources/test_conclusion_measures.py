"""Conclusions in a study file: measured, packed, compared; wrong ones are found before anything is asked."""

import pytest
from tests.studies import written

import quaver
from quaver.errors import QuaverError
from quaver.study.session import Study

STUDY = """\
task:
  labels: [positive, negative]
items:
  source: items.csv
  id: id
  text: "{{ text }}"
  gold: truth
  groups: [side]
prompt:
  instruction: Is this positive or negative?
variants:
  - use: instructions
    texts: {curt: Positive or negative?}
models:
  - {name: fake, use: function}
measures: [accuracy]
conclusions:
  - name: age
    formula: share(positive) ~ age
    effect: age > 0
  - formula: share(positive) ~ side
    effect: side[2] > side[1]
"""
ITEMS = "id,text,truth,age,side\n" + "".join(
    f"i{n},Thing {n}.,{'positive' if n % 3 else 'negative'},{20 + n},{n % 2 + 1}\n" for n in range(30)
)


def annotate(text, prompt):
    number = int(text.rstrip(".").rpartition(" ")[2])
    return "positive" if number > 14 or (number % 5 == 0 and "Positive or" not in prompt) else "negative"


def opened(folder, study=STUDY):
    return Study.open(written(folder, study, ITEMS), functions={"fake": annotate})


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    made = opened(tmp_path_factory.mktemp("conclusions"))
    made.run()
    return made


def test_a_study_draws_its_conclusions(study):
    found = study.estimates()
    alone = study.estimates(["conclusions"])
    assert [one.measure for one in found] == ["accuracy", "accuracy", *(one.measure for one in alone)]
    single = [one for one in alone if one.measure == "conclusion" and one.cell["conclusion"] == "age"]
    assert [one.details["verdict"] for one in single] == ["holds", "holds"]
    assert {one.cell["variant"] for one in single} == {"paraphrase=original", "paraphrase=curt"}
    assert {one.measure for one in alone} == {"conclusion", "conclusion_gold"}
    page = study.report().read_text(encoding="utf-8")
    assert "age: age &gt; 0" in page
    assert "2 specifications: holds under 2" in page
    assert (study.folder / "figures" / "conclusion-age.svg").is_file()


def test_a_conclusion_that_the_file_does_not_name_is_drawn_as_if_it_did(study):
    named = [one for one in study.estimates(["conclusions"]) if one.cell.get("conclusion") == "age"]
    asked = study.measure("conclusion", formula="share(positive) ~ age", effect="age > 0")
    assert [(one.measure, one.value, one.low, one.high) for one in asked] == [
        (one.measure, one.value, one.low, one.high) for one in named
    ]
    with pytest.raises(QuaverError, match="effect"):
        study.measure("conclusion", formula="share(positive) ~ age")


@pytest.mark.long
def test_a_bundle_without_texts_keeps_what_conclusions_need(study, tmp_path):
    path, _ = quaver.bundle(study, tmp_path / "b.quaver.zip", texts=False)
    packed = Study.open(path)
    assert {name for item in packed.experiment.items for name in item.fields} == {"age", "side", "truth"}
    assert [one.value for one in packed.estimates(["conclusions"])] == [
        one.value for one in study.estimates(["conclusions"])
    ]


def turned(text, prompt):
    """Where it was positive before it is negative, and the other way round."""
    return "negative" if annotate(text, prompt) == "positive" else "positive"


def test_a_bound_on_a_conclusion_is_judged_by_its_interval(study, tmp_path):
    two = Study.open(written(tmp_path, STUDY, ITEMS), functions={"fake": turned})
    two.run()
    bound = "conclusion[conclusion=age] < 0"
    assert quaver.compare(study, study, measures=["accuracy"], fail_if=["conclusion < 0"], resamples=200).held
    found = quaver.compare(study, two, measures=["accuracy"], fail_if=[bound], resamples=200)
    (judged,) = found.judgements
    variants = {estimate.cell["variant"] for estimate in judged.failed}
    assert variants == {"paraphrase=original", "paraphrase=curt"}
    # A linear regression of turned labels has the turned coefficient.
    for estimate in judged.failed:
        assert estimate.details["after"] == pytest.approx(-estimate.details["before"])


def test_nothing_changed_bounds_a_coefficient_in_its_own_unit(study):
    found = quaver.compare(study, study, measures=["conclusions"], resamples=200)
    told = [one for one in found.differences if one.measure == "conclusion"]
    assert len(told) == 4
    assert all(one.value == 0 for one in told if one.value is not None)
    (age,) = (one for one in told if "age" in one.cell.values() and one.cell["variant"] == "paraphrase=curt")
    # Of all items up to 1 - 0.025^(1/30) may differ. The slope is largest if all above the mean are positive
    # and least if all others are: 225 is the sum of the distances, 2247.5 that of their squares.
    assert (-age.low, age.high) == pytest.approx([(1 - 0.025 ** (1 / 30)) * 225 / 2247.5] * 2)


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("conclusion[conclusion=aeg] < 0", "there are conclusion=age, model=fake"),
        ("conclusoin < 0", "did you mean 'conclusion'"),
    ],
)
def test_a_bound_on_a_conclusion_that_cannot_be_judged(study, tmp_path, bound, said):
    with pytest.raises(QuaverError, match=said):
        quaver.compare(study, study, measures=["accuracy"], fail_if=[bound], resamples=100)
    bare = opened(tmp_path, STUDY.partition("conclusions:")[0])
    bare.run()
    with pytest.raises(QuaverError, match="conclusion"):
        quaver.compare(bare, bare, fail_if=["conclusion < 0"], resamples=100)
