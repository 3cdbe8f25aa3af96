"""Many looks at one baseline: what each is judged by, and what is kept of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.commands import FUNCTIONS, here
from tests.comparison.test_paired_comparison import VARIED, right, study, worse

import quaver
from quaver.comparison.paired_comparison import compare
from quaver.errors import QuaverError


def _wrong_at(*numbers: int):  # type: ignore[no-untyped-def]
    def annotate(text: str, prompt: str) -> str:
        known = right(text, prompt)
        return "negative" if int(text.split()[1]) in numbers else known

    return annotate


def _again(opened: quaver.Study, annotate: object, version: str) -> quaver.Study:
    """The same folder with another version's answers."""
    text = (
        (opened.folder / "study.yaml")
        .read_text()
        .replace("use: function", f"use: function, version: {version}")
    )
    (opened.folder / "study.yaml").write_text(text)
    again = quaver.Study.open(opened.folder, functions={"fake": annotate})  # type: ignore[dict-item]
    again.run()
    return again


def test_a_look_is_judged_more_strictly_and_kept(tmp_path: Path) -> None:
    before, after = study(tmp_path / "a", right), study(tmp_path / "b", worse)
    alone = compare(before, after, fail_if=["accuracy < 0"])
    found = compare(before, after, fail_if=["accuracy < 0"], looks=20)
    assert alone.look is None
    assert found.look is not None
    assert (found.look.number, found.look.planned, found.look.again) == (1, 20, False)
    assert found.look.level == pytest.approx(1 - 2 * 0.05 * 0.9 / 20)
    assert found.look.wider > 1
    (judged,) = found.judgements[0].judged
    (single,) = alone.judgements[0].judged
    assert judged.low is not None
    assert single.low is not None
    assert judged.low < single.low
    assert {one.confidence_level for one in found.differences} == {found.look.level}
    kept = json.loads((after.folder / "looks.json").read_text())["looks"]
    assert [one["share"] for one in kept] == [pytest.approx(0.045)]
    assert found.document()["look"]["number"] == 1


def test_the_same_labels_are_the_same_look(tmp_path: Path) -> None:
    before, after = study(tmp_path / "a", right), study(tmp_path / "b", worse)
    looks = [compare(before, after, fail_if=["accuracy < 0"], looks=20).look for _ in range(3)]
    assert [look.number for look in looks if look] == [1, 1, 1]
    assert [look.again for look in looks if look] == [False, True, True]
    assert len({look.level for look in looks if look}) == 1
    other = compare(before, after, fail_if=["accuracy < -0.01"], looks=20).look
    assert other is not None
    assert other.number == 2


def test_a_folder_that_was_cached_goes_on_and_a_tied_version_costs_less(tmp_path: Path) -> None:
    before = study(tmp_path / "a", right)
    first = study(tmp_path / "b", _wrong_at(4, 7, 10, 13, 16, 19, 22, 25))
    one = compare(before, first, fail_if=["accuracy < 0"], looks=100).look
    second = _again(first, _wrong_at(4, 7, 10, 13, 16, 19, 22, 28), "2")
    two = compare(before, second, fail_if=["accuracy < 0"], looks=100).look
    assert one is not None
    assert two is not None
    assert two.number == 2
    assert two.level < one.level  # it errs mostly where the first look did
    assert two.spent == pytest.approx(2 * one.spent)


def test_another_baseline_begins_anew(tmp_path: Path) -> None:
    after = study(tmp_path / "b", worse)
    for name, annotate in (("a", right), ("c", _wrong_at(1, 2))):
        found = compare(study(tmp_path / name, annotate), after, fail_if=["accuracy < 0"], looks=20)
        assert found.look is not None
        assert found.look.number == 1


def test_both_kinds_of_bounds_share_the_error(tmp_path: Path) -> None:
    before, after = study(tmp_path / "a", right, VARIED), study(tmp_path / "b", worse, VARIED)
    found = compare(before, after, fail_if=["accuracy < 0"], fail_unless=["accuracy > -0.5"], looks=10)
    assert found.look is not None
    levels = {one.confidence_level for judgement in found.judgements for one in judgement.judged}
    assert levels == {found.look.level}
    assert found.look.level >= 1 - 2 * 0.05 * 0.9 / 10 / 4 - 1e-9


def test_without_bounds_every_difference_counts_on_both_sides(tmp_path: Path) -> None:
    before, after = study(tmp_path / "a", right), study(tmp_path / "b", worse)
    found = compare(before, after, measures=["accuracy"], looks=10)
    assert found.look is not None
    assert found.look.level == pytest.approx(1 - 2 * 0.05 * 0.9 / 10 / 2)


def test_one_study_alone_cannot_be_looked_at_often(tmp_path: Path) -> None:
    one = study(tmp_path / "a", right, VARIED)
    with pytest.raises(QuaverError) as caught:
        compare(one, by="variant", fail_if=["accuracy < 0"], looks=5)
    assert caught.value.where == "looks="


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study(tmp_path / "a", right)
    study(tmp_path / "b", worse)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    words = ("compare", "a", "b", "--fail-if", "accuracy < 0", "--anytime", "--looks", "7", "--json")
    done = here(tmp_path, *words, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["look"]["planned"] == 7
