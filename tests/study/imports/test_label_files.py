"""Several files of the same columns are one table."""

from __future__ import annotations

from pathlib import Path

import pytest

from quaver.errors import ItemError, QuaverError
from quaver.study.imports.label_import import import_annotations


def test_files_of_the_same_columns_are_one_study(tmp_path: Path) -> None:
    for prompt in "ab":
        (tmp_path / f"coded-{prompt}.csv").write_text(f"item,variant,label\n1,{prompt},x\n2,{prompt},y\n")
    study, taken = import_annotations(tmp_path / "coded-*.csv", tmp_path / "study")
    assert ("files", "coded-*.csv", "2 files") in {(one.role, one.column, one.why) for one in taken}
    assert study.annotations().height == 4
    assert [one.id for one in study.experiment.variants] == ["variant=a", "variant=b"]


def test_a_pattern_that_no_file_fits_and_files_that_differ(tmp_path: Path) -> None:
    with pytest.raises(ItemError, match="no file fits"):
        import_annotations(tmp_path / "*.csv", tmp_path / "study")
    (tmp_path / "a.csv").write_text("item,label\n1,x\n2,y\n")
    (tmp_path / "b.csv").write_text("item,code\n1,x\n2,y\n")
    with pytest.raises(ItemError, match="different columns"):
        import_annotations(tmp_path / "*.csv", tmp_path / "study")
    with pytest.raises(QuaverError, match="folder"):
        import_annotations(tmp_path / "*.csv")


def test_an_error_in_one_of_several_files_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("item,variant,label\n1,a,x\n2,a,y\n")
    (tmp_path / "b.csv").write_text("item,variant,label\n1,b,x\n2,b,z\n")
    with pytest.raises(ItemError) as caught:
        import_annotations(tmp_path / "*.csv", tmp_path / "study", labels=("x", "y"))
    assert caught.value.where == "b.csv:3: label"
    assert not (tmp_path / "study").exists()
