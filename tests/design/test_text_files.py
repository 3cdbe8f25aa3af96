"""Text files: one item a line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.design.items.table_files import read_rows

QUESTIONS = "HUM:ind Who wrote : Emma ?\n\nNUM:date When is noon?\r\nLOC:city Où?\n"


def written(folder, text, encoding="utf-8"):
    path = folder / "items.txt"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_line_is_a_text(tmp_path):
    rows = read_rows(written(tmp_path, QUESTIONS))
    assert rows == [
        {"text": "HUM:ind Who wrote : Emma ?"},
        {"text": "NUM:date When is noon?"},
        {"text": "LOC:city Où?"},
    ]
    assert [row.where for row in rows] == ["items.txt:1", "items.txt:3", "items.txt:4"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_a_text_file_has_an_encoding(tmp_path, encoding):
    assert read_rows(written(tmp_path, QUESTIONS, encoding), encoding)[2] == {"text": "LOC:city Où?"}


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1))
def test_any_text_survives(tmp_path_factory, texts):
    path = written(tmp_path_factory.mktemp("text"), "".join(f"{text}\n" for text in texts))
    assert read_rows(path) == [{"text": text} for text in texts]
