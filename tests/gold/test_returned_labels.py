"""Labels that come back are all taken or none: ids, labels, twins, and texts beside the wrong id."""

import pytest

from quaver.core.label_values import occurring_numbers
from quaver.core.records import Label, LabelSet
from quaver.design.items.table_files import Row
from quaver.errors import ItemError
from quaver.gold.returned_labels import ADJUDICATES, ReturnedLabels

LABELS = LabelSet((Label("1", "Left wing"), Label("2", "Right wing")))
TEXTS = {"007": "one text", "=cmd": "another  text", "c": "+third"}


def row(item, label, coder="", text="", where="f:1"):
    file, _, place = where.partition(":")
    return Row([("item", item), ("label", label), ("coder", coder), ("text", text)], file, place)


def read(*rows, texts=None):
    reader = ReturnedLabels(LABELS, TEXTS if texts is None else texts, ["not drawn"])
    return reader.read(rows, "label").drop("note").rows()


def test_rows_may_stand_in_any_order_be_missing_or_twice_the_same():
    rows = [row("c", "2", "ada"), row("007", "1", "ada"), row("c", "2", "ada")]
    assert read(*rows, row("=cmd", " ", "ada")) == [("c", "ada", "coder", "2"), ("007", "ada", "coder", "1")]


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        *((row(item, "1"), ("007", "coder", "coder", "1")) for item in ("007", "7", "7.0", " 007 ")),
        (row("'=cmd", "1", text="another text"), ("=cmd", "coder", "coder", "1")),
        (row("c", "1", text="'+third"), ("c", "coder", "coder", "1")),
        *(
            (row("c", text), ("c", "coder", "coder", "1"))
            for text in ("Left wing", "LEFT  WING", " left wing ")
        ),
        (row("c", "1", f"carla{ADJUDICATES}"), ("c", "carla", "adjudicator", "1")),
    ],
)
def test_ids_and_labels_are_found_as_people_and_spreadsheets_leave_them(given, read_as):
    assert read(given) == [read_as]


def test_what_might_be_two_is_not_guessed():
    with pytest.raises(ItemError):
        read(row("7.0", "1"), texts={"07": "", "007": ""})
    reader = ReturnedLabels(LabelSet((Label("a", "a"), Label("A", "A"))), TEXTS)
    assert reader.read([row("c", "A")], "label")["label"].to_list() == ["A"]
    reader = ReturnedLabels(LabelSet((Label("aa", "aa"), Label("AA", "AA"))), TEXTS)
    with pytest.raises(ItemError):
        reader.read([row("c", "Aa")], "label")


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (row("nobody", "1", where="f:2"), "'nobody'"),
        (row("not drawn", "1", where="f:2"), "'not drawn', which was not"),
        (row("c", "3", where="f:2"), "3"),
        (row("c", "1", text="one text", where="f:2"), "the text of '007'"),
        (row("007", "2", "ada", where="f:2"), "'2' here, '1' at f:1"),
    ],
)
def test_what_is_wrong_is_one_error_at_its_row(wrong, found):
    with pytest.raises(ItemError) as error:
        read(row("007", "1", "ada", where="f:1"), wrong)
    assert (error.value.where, error.value.found) == ("f:2", found)
    assert error.value.fix


def test_a_text_that_was_edited_is_no_swapped_row():
    assert read(row("c", "1", text="something else")) == [("c", "coder", "coder", "1")]
    same = {"a": "twin", "b": "twin"}
    assert read(row("a", "1", text="twin"), row("b", "1", text="twin"), texts=same)


def test_a_point_that_may_stand_for_thousands_is_refused_unless_another_number_decides():
    labels = occurring_numbers((), "ratio")
    sheet = ReturnedLabels(labels, {"a": "", "b": ""})
    with pytest.raises(ItemError, match=r"may be 1\.25 or 1250") as caught:
        sheet.read([row("a", "1.250", where="s.csv:2"), row("b", "7")], "label")
    assert caught.value.where == "s.csv:2"
    read = sheet.read([row("a", "1.250"), row("b", "12.5")], "label")
    assert read["label"].to_list() == ["1.25", "12.5"]
    with pytest.raises(ItemError):
        sheet.read([row("a", "1,250")], "label")
