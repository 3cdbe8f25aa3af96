"""Every wrong file of items is one error that says where, what and what instead; so is an odd study file."""

import pytest
from tests.studies import ITEMS, STUDY, changed, resolved, written

from quaver.errors import ItemError, QuaverError, SpecError


def refused(folder, study=STUDY, items=ITEMS, name="items.csv"):
    with pytest.raises(QuaverError) as caught:
        resolved(written(folder, study, items, name))
    assert caught.value.where, "an error says where"
    return caught.value


FILES = {
    "no items": ("items.csv", "id,text,truth\n", "study.yaml:4: items.source", "no items"),
    "empty file": ("items.csv", "", "study.yaml:4: items.source", "no items"),
    "duplicate id": ("items.csv", ITEMS + "a,x,\n", "items.csv:5: id", "'a'"),
    "no id": ("items.csv", ITEMS + ",x,\n", "items.csv:5: id", "no id"),
    "long row": ("items.csv", ITEMS + "d,x,,y\n", "items.csv:5", "4 cells"),
    "short row": ("items.csv", ITEMS + "d\n", "items.csv:5", "1 cell"),
    "row after a text of two lines": ("items.csv", ITEMS + 'd,"x\ny",\ne\n', "items.csv:7", "1 cell"),
    "open quotation mark": ("items.csv", ITEMS + 'd,"x,\n', "items.csv:5", "quotation"),
    "gold": ("items.csv", ITEMS + "d,x,Positiv\n", "items.csv:5: truth", "Positiv"),
    "not UTF-8": ("items.csv", ITEMS.encode() + b"d,caf\xe9,\n", "items.csv:5", "utf-8"),
    "two columns": ("items.csv", "id,text,id\n", "items.csv:1", "'id'"),
}


@pytest.mark.parametrize(("name", "content", "where", "said"), FILES.values(), ids=FILES)
def test_a_wrong_file_of_items_is_one_error_that_names_the_line(tmp_path, name, content, where, said):
    error = refused(tmp_path, STUDY, content, name)
    assert isinstance(error, ItemError)
    assert error.where == where
    assert said in str(error)


def test_gold_is_the_label_that_it_differs_from_in_capitals_and_white_space_alone(tmp_path):
    items = resolved(written(tmp_path, items=ITEMS + "d,x, POSITIVE\n")).items
    assert items[3].gold == "positive"


def test_items_in_another_encoding_say_how_to_name_it(tmp_path):
    items = (ITEMS + "d,café,\n").encode("cp1252")
    error = refused(tmp_path, items=items)
    assert "0xe9" in str(error)
    assert "encoding: cp1252" in str(error)
    named = changed(("  id: id", "  id: id\n  encoding: cp1252"))
    assert resolved(written(tmp_path, named, items)).items[3].fields["text"] == "café"


def test_utf_16_without_its_mark_is_an_error(tmp_path):
    error = refused(tmp_path, changed(("  id: id", "  encoding: utf-16")), ITEMS)
    assert str(error).startswith("items.csv")


def test_a_study_file_that_is_not_utf_8_names_the_line(tmp_path):
    path = written(tmp_path)
    path.write_bytes(STUDY.replace("this positive", "caf\xe9 positive").encode("latin-1"))
    with pytest.raises(SpecError, match="UTF-8") as caught:
        resolved(path)
    assert (caught.value.where, caught.value.found) == ("study.yaml:9", "byte 0xe9")


def test_no_study_file(tmp_path):
    with pytest.raises(SpecError, match="no such study"):
        resolved(tmp_path / "nothing.yaml")
    with pytest.raises(SpecError, match="folder"):
        resolved(tmp_path)


@pytest.mark.parametrize("text", ["", "   ", '"\n\n"'])
def test_an_item_without_text_is_an_error_that_names_its_line(tmp_path, text):
    error = refused_by_plan(written(tmp_path, items=ITEMS + f"d,{text},\n"))
    assert isinstance(error, ItemError)
    assert "item d" in error.problem
    assert str(error.where).startswith("items.csv:")


def refused_by_plan(path):
    from quaver.design.calls.call_plan import Plan

    with pytest.raises(QuaverError) as caught:
        list(Plan(resolved(path), {"fake": "f"}).requests("fake"))
    return caught.value


def test_several_mistakes_are_counted(tmp_path):
    error = refused(tmp_path, STUDY + "repeats: 0\nseed: x\nbudgett: 1\n")
    assert "(and 2 more)" in str(error)


def test_a_study_given_as_a_mapping_names_the_field():
    with pytest.raises(SpecError) as caught:
        resolved({"task": {"labels": ["a", "b"], "levle": "nominal"}})
    assert (caught.value.where, caught.value.found) == ("task.levle", "levle")
    assert "'level'" in str(caught.value.fix)
