"""Several files are one table: their names, their ids, their gold labels, and what is given twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.study.imports.gathered_files import parts_of_name
from quaver.study.imports.label_import import import_annotations

GRADES = {
    "a/graded/a_graded_0.txt": "q1 0 p1 1\nq1 0 p2 0\nq2 0 p1 1\n",
    "a/graded/a_graded_1.txt": "q1 0 p1 1\nq1 0 p2 1\nq2 0 p1 1\n",
    "b/graded/b_graded_0.txt": "q1 0 p1 0\nq1 0 p2 0\nq2 0 p1 6\n",
}
QRELS = "q1 Q0 p1 1\nq1 Q0 p2 0\nq9 Q0 p9 1\n"
OPTIONS = {
    "name": "{model}/graded/{model}_graded_{variant}.txt",
    "columns": ("query", "_", "doc", "label"),
    "item": ("query", "doc"),
    "labels": ("0", "1"),
}


def graded(folder: Path, **more: str) -> str:
    for name, text in {**GRADES, **more}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "qrels.txt").write_text(QRELS)
    return str(folder / "*" / "graded" / "*.txt")


def test_many_files_without_headers_are_one_study(tmp_path: Path) -> None:
    study, taken = import_annotations(
        graded(tmp_path),
        tmp_path / "study",
        **OPTIONS,
        gold=tmp_path / "qrels.txt",
        gold_columns=("query", "_", "doc", "truth"),
        group="query",
        outside="no-label",
    )
    found = {(one.role, one.column, one.why) for one in taken}
    assert ("files", "*.txt", "3 files") in found
    assert ("gold", "qrels.txt: truth", "2 of 3 items") in found
    assert ("no label", "6", "1 cell, outside the label set") in found
    frame = study.annotations()
    assert frame.height == 9
    places = {(row["model"], row["variant"], row["item"]): row for row in frame.iter_rows(named=True)}
    assert places["a", "variant=1", "q1/p2"]["label"] == "1"
    assert places["a", "variant=1", "q1/p2"]["gold"] == "0"
    assert places["b", "variant=0", "q2/p1"]["label"] is None
    assert places["b", "variant=0", "q2/p1"]["gold"] is None
    # Labels of a: 4 of the 4 about q1 that have gold, but one: (1,0) and (1,1) against (1,0).
    accuracy = {tuple(one.cell.values()): one.value for one in study.measure("accuracy", by=["model"])}
    assert sorted(accuracy.values()) == pytest.approx([1 / 2, 3 / 4])
    assert study.spec.annotations.group == "query"


def test_rows_in_one_place_need_a_rule(tmp_path: Path) -> None:
    again = {"a/graded/a_graded_0.txt": "q1 0 p1 1\nq1 0 p1 0\nq1 0 p2 0\nq2 0 p1 1\n"}
    files = graded(tmp_path, **again, **{"b/graded/b_graded_0.txt": "q1 0 p1 0\nq1 0 p2 0\nq2 0 p1 1\n"})
    with pytest.raises(ItemError, match="in one place"):
        import_annotations(files, tmp_path / "error", **OPTIONS)
    assert not (tmp_path / "error").exists()
    first, taken = import_annotations(files, tmp_path / "first", **OPTIONS, twice="first")
    assert ("twice", "1 row left out") in {(one.role, one.why) for one in taken}
    assert first.annotations().height == 9
    repeat, _ = import_annotations(files, tmp_path / "repeat", **OPTIONS, twice="repeat")
    assert repeat.annotations()["repeat"].to_list().count(1) == 1


def test_a_name_says_what_its_pattern_asks_for() -> None:
    parts = parts_of_name("{model}/{_}_graded_{variant}.txt", "this path")
    assert parts("/data/gpt-4o/x_graded_12.txt") == {"model": "gpt-4o", "variant": "12"}
    same = parts_of_name("{model}/{model}_{set}.txt", "this path")
    assert same("m/m_dl20.txt") == {"model": "m", "set": "dl20"}
    with pytest.raises(ItemError, match="does not fit"):
        same("m/n_dl20.txt")


@pytest.mark.parametrize("pattern", ["", "no names.txt", "{a b}.txt", "{}", "{a", "{a!r}"])
def test_a_pattern_without_names_is_one_error(pattern: str) -> None:
    with pytest.raises(QuaverError, match="not a pattern"):
        parts_of_name(pattern, "this path")


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"item": ("query", "dok")}, UnknownName, "did you mean 'doc'"),
        ({"name": "{query}/graded/{_}.txt"}, QuaverError, "column of this name"),
        ({"columns": ("query", "label")}, ItemError, "name as many columns"),
        ({"columns": ("query", "query", "doc", "label")}, ItemError, "two columns are named"),
        ({}, ItemError, "b_graded_0.txt:3: label"),
    ],
)
def test_what_does_not_fit_leaves_nothing_behind(
    tmp_path: Path, options: dict[str, object], error: type[QuaverError], said: str
) -> None:
    with pytest.raises(error) as caught:
        import_annotations(graded(tmp_path), tmp_path / "study", **{**OPTIONS, **options})
    assert said in str(caught.value)
    assert not (tmp_path / "study").exists()


def test_a_pattern_that_no_file_fits_and_files_that_differ(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match="no file fits"):
        import_annotations(tmp_path / "*.csv", tmp_path / "study")
    (tmp_path / "a.csv").write_text("item,label\n1,x\n2,y\n")
    (tmp_path / "b.csv").write_text("item,code\n1,x\n2,y\n")
    with pytest.raises(ItemError, match="different columns"):
        import_annotations(tmp_path / "*.csv", tmp_path / "study")
    with pytest.raises(QuaverError, match="folder"):
        import_annotations(tmp_path / "*.csv")


def test_ids_that_meet_and_gold_that_disagrees_are_errors(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("one,two,label\na/b,c,x\na,b/c,y\n")
    with pytest.raises(ItemError, match="same id"):
        import_annotations(tmp_path / "labels.csv", tmp_path / "study", item=("one", "two"))
    (tmp_path / "labels.csv").write_text("item,label\n1,x\n2,y\n")
    (tmp_path / "gold.csv").write_text("item,gold\n1,x\n1,y\n")
    with pytest.raises(ItemError, match="two true labels"):
        import_annotations(tmp_path / "labels.csv", tmp_path / "study", gold=tmp_path / "gold.csv")


def test_a_coder_may_be_absent_from_a_file_and_a_column_of_items_may_not(tmp_path: Path) -> None:
    (tmp_path / "p0.csv").write_text("item,anna,ben\n1,x,y\n2,y,y\n")
    (tmp_path / "p1.csv").write_text("item,ben\n1,x\n2,y\n")
    study, _ = import_annotations(
        tmp_path / "*.csv", tmp_path / "study", coders=("anna", "ben"), name="{variant}.csv"
    )
    counts = study.annotations().group_by("model").len().sort("model").rows()
    assert sorted(map(tuple, counts)) == [("anna", 2), ("ben", 4)]
    (tmp_path / "p2.csv").write_text("text,ben\n1,x\n2,y\n")
    with pytest.raises(ItemError, match="different columns"):
        import_annotations(tmp_path / "*.csv", tmp_path / "other", coders=("anna", "ben"))


def test_gold_is_a_column_before_it_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "truth").write_text("not read")
    (tmp_path / "labels.csv").write_text("item,label,truth\n1,x,x\n2,y,x\n")
    study, _ = import_annotations("labels.csv", gold=Path("truth"))
    assert study.annotations()["gold"].to_list() == ["x", "x"]
