"""Items: what is read from each kind of file, samples, ids, groups."""

import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.studies import STUDY, resolved, written

from quaver.core.records import Item
from quaver.design.items.item_table import NEAR_DUPLICATES, load_items, with_near_duplicates
from quaver.design.items.table_files import Row, column_texts, read_rows
from quaver.design.spec import StudySpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError

ROWS = [
    {"id": "007", "text": "a, b", "truth": "positive"},
    {"id": "8", "text": 'say "x"\nand y', "truth": "negative"},
    {"id": "=1+1", "text": "\t café 🙂", "truth": ""},
]


def as_text(separator):
    def cell(value):
        return '"' + value.replace('"', '""') + '"'

    lines = [list(ROWS[0]), *[list(row.values()) for row in ROWS]]
    return "".join(separator.join(map(cell, line)) + "\r\n" for line in lines)


def write(path):
    match path.suffix:
        case ".csv":
            path.write_text(as_text(","), encoding="utf-8", newline="")
        case ".tsv":
            path.write_text(as_text("\t"), encoding="utf-8-sig", newline="")
        case ".jsonl":
            path.write_text("\n\n".join(json.dumps(row) for row in ROWS), encoding="utf-8")
        case ".parquet":
            pl.DataFrame(ROWS).write_parquet(path)
    return path


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet", "X.CSV"])
def test_every_kind_of_file_gives_the_same_rows(tmp_path, name):
    path = write(tmp_path / name.lower()).rename(tmp_path / name)
    assert read_rows(path) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "where", "said"),
    [
        ("x.jsonl", '{"a": 1}\n{"a": }\n', "x.jsonl:2", "not JSON"),
        ("x.jsonl", '{"a": 1}\n\n[1]\n', "x.jsonl:3", "not an object"),
        ("x.jsonl", '{"a": ' + "9" * 5000 + "}", "x.jsonl:1", "not JSON"),
        ("x.jsonl", "[" * 100_000, "x.jsonl:1", "not JSON"),
        ("x.jsonl", '{"text": "one", "lab\\ud800el": "a"}\n', "x.jsonl", "half a character"),
        ("x.parquet", "not a table", "x.parquet", "not a Parquet"),
        ("x.xlsx", "PK", "x.xlsx", ".xlsx"),
        ("x.csv", "a,b\n1,2,3\n", "x.csv:2", "3 cells"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_the_line(tmp_path, name, content, where, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(ItemError) as caught:
        read_rows(tmp_path / name)
    assert str(caught.value.where).endswith(where)
    assert said in str(caught.value)


def test_another_separator_is_named_and_never_guessed(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('id;text\n1;"a;b, c"\n')
    with pytest.raises(ItemError, match="single cell") as caught:
        read_rows(path)
    assert caught.value.where == "x.csv:1"
    assert 'separator: ";"' in str(caught.value.fix)
    assert read_rows(path, separator=";") == [{"id": "1", "text": "a;b, c"}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_a_line_of_a_text_file_is_a_text(tmp_path, encoding):
    text = "HUM:ind Who wrote : Emma ?\n\nNUM:date When is noon?\r\nLOC:city Où?\n"
    (tmp_path / "items.txt").write_bytes(text.encode(encoding))
    rows = read_rows(tmp_path / "items.txt", encoding)
    lines = ["HUM:ind Who wrote : Emma ?", "NUM:date When is noon?", "LOC:city Où?"]
    assert rows == [{"text": line} for line in lines]
    assert [row.where for row in rows] == ["items.txt:1", "items.txt:3", "items.txt:4"]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(
            lambda text: text not in ("\ufeff",)
        ),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=100)
def test_any_text_survives_csv_and_jsonl(tmp_path_factory, texts):
    import csv

    folder = tmp_path_factory.mktemp("texts")
    with (folder / "x.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["text"], *([text] for text in texts)])
    (folder / "x.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    expected = [{"text": text} for text in texts]
    assert read_rows(folder / "x.csv") == expected
    assert read_rows(folder / "x.jsonl") == expected


def test_ids_that_are_numbers_and_cells_that_are_missing(tmp_path):
    study = STUDY.replace("items.csv", "items.jsonl").replace(
        "  gold: truth", "  gold: truth\n  groups: [author]"
    )
    items = (
        '{"id": 0, "text": "x", "truth": null}\n'
        '{"id": 1, "text": "y", "author": null}\n'
        '{"id": 2, "text": "z", "truth": "positive", "author": 7}\n'
    )
    found = resolved(written(tmp_path, study, items, "items.jsonl")).items
    assert [item.id for item in found] == ["0", "1", "2"]
    assert [item.gold for item in found] == [None, None, "positive"]
    assert [item.groups for item in found] == [{"author": ""}, {"author": ""}, {"author": "7"}]
    assert found[0].fields["author"] is None


def test_rows_are_numbered_where_no_column_is_the_id(tmp_path):
    found = resolved(written(tmp_path, STUDY.replace("  id: id\n", ""))).items
    assert [item.id for item in found] == ["1", "2", "3"]


def sample(size, seed, own_seed=None):
    spec = StudySpec.model_validate(
        {
            "seed": seed,
            "task": {"labels": ["a", "b"]},
            "items": {"source": "anes96", "text": "{{ place }}", "sample": size, "seed": own_seed},
            "prompt": {"instruction": "Which?"},
            "models": [{"name": "m", "use": "function"}],
        }
    )
    return load_items(spec, Positions(None, {}))[0]


def test_a_sample_follows_from_the_seed_alone():
    """Drawn once and written down: another Python or machine must draw the same."""
    assert [item.id for item in sample(5, 0)] == ["98", "413", "624", "840", "894"]
    chosen = [item.id for item in sample(20, 1)]
    assert len(set(chosen)) == 20
    assert chosen != [item.id for item in sample(20, 2)]
    assert [i.id for i in sample(20, 1, own_seed=5)] == [i.id for i in sample(20, 2, own_seed=5)]
    assert len(sample(10_000, 1)) == 944


def test_a_mapping_looks_for_files_where_it_is_run(tmp_path, monkeypatch):
    written(tmp_path)
    monkeypatch.chdir(tmp_path)
    found = resolved(
        {
            "task": {"labels": ["positive", "negative"]},
            "items": {"source": "items.csv", "text": "{{ text }}"},
            "prompt": {"instruction": "Which?"},
            "models": [{"name": "m", "use": "function"}],
        }
    )
    assert len(found.items) == 3


CELLS = (
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from([" a ", "a", "e\u0301"])
)


@given(st.lists(CELLS, max_size=8))
def test_a_column_is_read_as_each_of_its_cells_is(cells):
    rows = [Row([("label", cell)], "labels.csv", line) for line, cell in enumerate(cells, start=2)]
    assert column_texts(rows, "label") == [row.text("label") for row in rows]
    assert column_texts([*rows, Row([], "labels.csv", 99)], "label")[-1] == "", "which the row lacks"
    with pytest.raises(ItemError) as caught:
        column_texts([*rows, Row([("label", ["b", "c"])], "labels.csv", 99)], "label")
    assert str(caught.value.where).startswith("labels.csv:99: label")


def near_duplicates(texts):
    items = [Item(str(index), {}) for index in range(len(texts))]
    return [item.groups[NEAR_DUPLICATES] for item in with_near_duplicates(items, texts)]


TEXT = "The council votes on the new tram line on Monday evening, after months of delay."


def test_a_text_that_is_copied_often_is_one_group_whatever_word_each_copy_adds():
    others = [f"w{at} " * 3 + f"the council votes v{at}" for at in range(200)]
    assert near_duplicates([f"{TEXT} {at}" for at in range(200)] + others) == [
        *["text 0"] * 200,
        *(f"item {at}" for at in range(200, 400)),
    ]


def test_copies_are_one_group_and_other_texts_are_none():
    copies = [TEXT, TEXT.upper().replace(",", ""), f"  {TEXT}\n", TEXT.replace("Monday", "Friday")]
    others = [" ".join(TEXT.split()[:8]), "Taxes fall."]
    assert near_duplicates([*copies, *others]) == [*["text 0"] * 4, "item 4", "item 5"]
    numbered = ["text 0", "item 1", "text 1", "text 1", "text 0"]
    assert near_duplicates(["b", "alone", "a", "A!", "b"]) == numbered
    texts = [f"text {number % 7}" for number in range(20)] + ["alone"]
    there, back = near_duplicates(texts), near_duplicates(texts[::-1])[::-1]
    together = [[there[i] == there[j] for i in range(21)] for j in range(21)]
    assert together == [[back[i] == back[j] for i in range(21)] for j in range(21)], "in any order"


@pytest.mark.parametrize(
    "texts", [[], [""], ["", ""], ["a", "b"], ["a", "A!"], ["\ud800 lone", "日本語のテキスト"]]
)
def test_odd_texts_are_taken(texts):
    assert len(near_duplicates(texts)) == len(texts)
