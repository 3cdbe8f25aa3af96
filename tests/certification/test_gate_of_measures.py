"""The runner goes on where it was stopped."""

from dataclasses import replace

import pytest
from tools.certifying import gate
from tools.certifying.certified_measures import certified_measures
from tools.certifying.coverage import Line
from tools.certifying.population import Population
from tools.certifying.replications import Work, work

from quaver.core.line_file import LineFile


@pytest.mark.long
def test_a_run_goes_on_where_one_stopped(tmp_path, capsys):
    asked = ["--out", str(tmp_path), "--measure", "compliance", "--cells", "1", "--processes", "1"]
    asked += ["--replications", "4", "--resamples", "20"]
    assert gate.main([*asked, "--seconds", "0"]) == 0
    assert not (tmp_path / gate.RESULTS).exists()
    assert gate.main(asked) == 0
    before = (tmp_path / gate.RESULTS).read_text()
    (tmp_path / gate.RESULTS).write_text(before + '{"work": "cut o')
    assert gate.main(asked) == 0
    assert len(LineFile(tmp_path / gate.RESULTS).documents()) == 2
    capsys.readouterr()


@pytest.mark.parametrize(("effect", "exact"), [(0.0, True), (0.5, False)])
def test_the_truth_of_an_effect_that_is_none_is_none(effect, exact):
    """A study ever so large has an error of its own."""
    measure = certified_measures()["conclusion, number"]
    population = Population(items=30, variants=2, effect=effect)
    truth = work(Work("a cell", population, (measure,), -1, 0, 0, 1))["truth"]
    of_effect = [value for key, (value, _) in truth.items() if '"conclusion"' in key]
    assert len(of_effect) == 2
    assert (of_effect == [0.0, 0.0]) is exact


def test_prompts_like_those_tried_are_broken_only_where_one_of_those_is():
    """With nine of ten answers of a broken prompt guessed, two thirds of these are wrong: 60% of answers."""
    measure = certified_measures()["accuracy"]
    population = Population(items=60, variants=3, agreement=1 - 1e-9, broken=0.4)
    truth, found = (work(Work("a cell", population, (measure,), at, 24, 20, 1)) for at in (-1, 0))
    (line,) = (
        one
        for one in gate.lines_of("a cell", [truth, found], {"accuracy": measure}, population)
        if one.estimand == "population"
    )
    (every,), (working,) = (
        [value for key, (value, _) in truth[name].items() if '"population"' in key]
        for name in ("truth", "unbroken")
    )
    tried = [population.prompts(seed).kept.min() < 0.5 for seed in range(200)]
    assert sum(tried) / 200 == pytest.approx(1 - 0.6**3, abs=0.1)
    assert every == pytest.approx(1 - 0.4 * 0.6, abs=0.06)
    assert working > 0.99
    assert found["unbroken"]
    assert every < line.truth < working
    assert line.coverage > 0.9


def test_open_lines_get_as_many_replications_again():
    measure = certified_measures()["accuracy"]
    populations = {"a": Population(items=30, variants=3), "b": Population(items=30, variants=3)}
    about = Line(cell="a", measure="accuracy", name="accuracy", estimand="fixed", places=1, replications=200)
    found = [
        replace(about, coverage=0.94),
        replace(about, coverage=0.94, cell="b", verdict="pass"),
        replace(about, coverage=0.5, cell="b", replications=12),  # too few studies for any verdict
    ]
    more = list(
        gate.further(found, {"accuracy": measure}, populations, replications=200, resamples=20, seed=1)
    )
    assert {one.cell for one in more} == {"a"}
    assert [one.measures for one in more] == [(measure,)] * len(more)
    assert more[0].start == 200
    assert sum(one.studies for one in more) == 200
