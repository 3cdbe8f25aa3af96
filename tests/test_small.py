"""The small version of a study: what it changes, where it stands, and what is wrong with one."""

import pytest
from tests.cli.commands import numbers, quaver
from tests.studies import STUDY, written

from quaver.errors import SpecError, UnknownName
from quaver.study.session import Study

SMALL = STUDY + (
    "repeats: 3\n"
    "# a comment\n"
    "decoding:\n  greedy: {max_tokens: 4}\n  drawn: {temperature: 1}\n"
    "small:\n  items: {sample: 2}\n  repeats: 1\n  notes: [Two items are too few for an interval.]\n"
)


def opened(path, *, small=False):
    return Study.open(path, functions={"fake": lambda text, prompt: "positive"}, small=small)


def test_only_what_is_named_changes_and_the_rest_stays(tmp_path):
    path = written(tmp_path, SMALL)
    study, small = opened(path), opened(path, small=True)
    assert (study.spec.items.sample, study.spec.repeats) == (None, 3)
    assert (small.spec.items.sample, small.spec.repeats, small.spec.items.id) == (2, 1, "id")
    assert small.spec.decoding == study.spec.decoding
    assert small.folder == tmp_path / "study.small"
    assert "# a comment" in (tmp_path / "study.small.yaml").read_text()
    outcome = small.run()
    assert (outcome.done, outcome.missing) == (2 * 2, 0)
    assert study.status().answered == 0


def test_its_notes_are_in_the_plan(tmp_path):
    small = opened(written(tmp_path, SMALL), small=True)
    assert set(small.spec.notes) <= set(small.plan().notes)
    assert small.spec.notes


@pytest.mark.long
def test_the_command_says_what_it_runs_and_what_that_cannot_say(tmp_path):
    written(tmp_path, SMALL)
    (tmp_path / "mine.py").write_text("def same(text, prompt):\n    return 'positive'\n")
    done = quaver(tmp_path, "run", "study.yaml", "--small", "--function", "fake=mine:same")
    assert done.returncode == 0, done.stderr
    assert "study.small" in done.stdout
    assert all(note in done.stdout for note in opened(tmp_path / "study.yaml", small=True).spec.notes)
    (collected,) = [line for line in done.stdout.splitlines() if "are stored" in line]
    assert numbers(collected)[-2:] == [4, 4]


def test_a_study_without_one_is_an_error(tmp_path):
    with pytest.raises(SpecError, match="no small version"):
        opened(written(tmp_path), small=True)


def test_what_is_wrong_in_it_is_found_in_its_own_file(tmp_path):
    path = written(tmp_path, STUDY + "small: {itms: {sample: 2}}\n")
    with pytest.raises(SpecError, match=r"study\.small\.yaml"):
        opened(path, small=True)


def test_a_measure_may_be_taken_of_a_part_only(tmp_path):
    measures = "measures:\n  - {use: accuracy, by: [], only: {decoding: drawn}}\n"
    study = opened(written(tmp_path, SMALL + measures))
    study.run()
    (found,) = study.estimates()
    assert "decoding" not in found.cell
    assert (found.value, found.n) == (study.measure("accuracy", by=["decoding"])[0].value, 2)
    with pytest.raises(UnknownName, match="only"):
        study.measure("accuracy", only={"decodng": ["drawn"]})
