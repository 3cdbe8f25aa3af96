"""A process killed while it changes a gold sample leaves the sample of before, or the one of after."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.gold_study import filled, labelled_study, truths

from quaver import Study

TRUTH = truths()
TOUCHING = ("replace", "unlink", "write_bytes", "write_text", "mkdir")


class Killed(BaseException):
    """The process is gone: nothing that would clean up after it may touch a file any more."""


@contextmanager
def killed_at(moment, monkeypatch):
    """Kill the process before its n-th change of a file; the list counts the changes."""
    count = [0]
    with monkeypatch.context() as patch:
        for name in TOUCHING:
            real = getattr(Path, name)

            def touched(self, *given, real=real, **named):
                count[0] += 1
                if count[0] > moment:
                    raise Killed
                return real(self, *given, **named)

            patch.setattr(Path, name, touched)
        yield count


def first(study):
    study.gold.draw(n=20, coders=["ada", "ben"], form="csv")


def second(study):
    study.gold.draw(n=30, form="csv")


def taken(study):
    study.gold.take(filled(study.folder / "gold" / "round-1-ada.csv", TRUTH))


def settled(study):
    study.gold.adjudicate(rule="majority")


def kept(study):
    """What the sample is, without the times."""
    state = study.gold.state
    sizes = [one["size"] for one in state.design.get("rounds", ())]
    coded = state.coded.drop("when").rows()
    return tuple(state.draw.rows()), tuple(coded), tuple(sizes), state.design.get("rule")


@pytest.mark.long
@pytest.mark.parametrize("change", [first, second, taken, settled])
def test_a_kill_between_two_writes_loses_nothing(change, tmp_path, monkeypatch):
    study = labelled_study(tmp_path / "study")
    if change is not first:
        first(study)
    shutil.copytree(study.folder, tmp_path / "before")
    before = kept(study)
    change(study)
    after = kept(study)
    assert before != after
    moment, seen = 0, set()
    while True:
        folder = tmp_path / f"killed-{moment}"
        shutil.copytree(tmp_path / "before", folder)
        study = Study.open(folder / "study.yaml")
        with killed_at(moment, monkeypatch):
            try:
                change(study)
            except Killed:
                pass
            else:
                break
        found = kept(study)
        assert found in (before, after), moment
        seen.add(found == after)
        if found == before:
            change(study)
        assert kept(study) == after, moment
        study.gold.sheets("csv")  # those that were never written
        moment += 1
    assert moment > 3
    assert seen == {False, True}
