"""A table or a picture that was made once is kept, and made again where what it rests on has changed."""

import pytest
from tests.papers import small

from quaver import open_studies
from quaver.papers import table
from quaver.papers.catalogue import TABLES, TableKind, drawn


@pytest.fixture(name="made")
def _made(tmp_path, monkeypatch):
    """The studies, and the tables that were made of them."""
    studies = small.run("choices-and-temperature", tmp_path)
    names = []
    make = TableKind.make

    def noted(kind, *given):
        names.append(kind.name)
        return make(kind, *given)

    monkeypatch.setattr(TableKind, "make", noted)
    return studies, names


def test_every_table_comes_out_as_it_was_made(made):
    studies, names = made
    first = {name: table(studies, name) for name in TABLES}
    assert names == [*TABLES]
    assert {name: table(studies, name) for name in TABLES} == first
    assert names == [*TABLES]


def test_a_picture_is_drawn_once_for_the_same_choices(made):
    studies, names = made
    figure = "choices-and-temperature:entropy"
    picture = drawn(studies, figure)
    assert drawn(studies, figure) == picture
    assert len(names) == 1
    assert drawn(studies, figure, models=["small"]) != picture
    assert len(names) == 2


@pytest.mark.parametrize("change", ["answers", "file", "damage", "item"])
def test_what_has_changed_is_made_again(made, tmp_path, change):
    studies, names = made
    table(studies, "costs")
    kept = studies["first"].folder / "kept" / "table-costs.json"
    if change == "damage":
        kept.write_text(kept.read_text().replace("costs", "wages"))
    elif change == "item":
        path = tmp_path / "first.csv"
        path.write_text(path.read_text().replace("on side A,A", "on side A,B"))
    elif change == "file":
        path = tmp_path / "choices-and-temperature.yaml"
        path.write_text(path.read_text().replace("input: 1.0", "input: 9.0"))
    studies = open_studies(tmp_path / "choices-and-temperature.yaml")
    if change == "answers":
        (studies["second"].folder / "responses.db").unlink()
    again = table(studies, "costs")
    assert names == ["costs", "costs"]
    assert table(studies, "costs") == again
    assert names == ["costs", "costs"]


def test_a_folder_that_cannot_be_written_keeps_nothing(made):
    studies, names = made
    (studies["first"].folder / "kept").write_text("")
    assert table(studies, "costs").rows()
    assert table(studies, "costs").rows()
    assert names == ["costs", "costs"]
