"""Text files: one item a line, in columns where the study says how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studies import resolved

from quaver.design.items.table_files import read_rows
from quaver.errors import ItemError, SpecError

TREC = "{label}:{fine} {text}"
QUESTIONS = "HUM:ind Who wrote : Emma ?\n\nNUM:date When is noon?\r\nLOC:city Où?\n"


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "items.txt"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_line_is_a_text(tmp_path: Path) -> None:
    rows = read_rows(written(tmp_path, QUESTIONS))
    assert rows == [
        {"text": "HUM:ind Who wrote : Emma ?"},
        {"text": "NUM:date When is noon?"},
        {"text": "LOC:city Où?"},
    ]
    assert [row.where for row in rows] == ["items.txt:1", "items.txt:3", "items.txt:4"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_a_line_is_taken_apart_as_the_study_says(tmp_path: Path, encoding: str) -> None:
    rows = read_rows(written(tmp_path, QUESTIONS, encoding), encoding, line=TREC)
    assert rows == [
        {"label": "HUM", "fine": "ind", "text": "Who wrote : Emma ?"},
        {"label": "NUM", "fine": "date", "text": "When is noon?"},
        {"label": "LOC", "fine": "city", "text": "Où?"},
    ]


@pytest.mark.parametrize(
    ("line", "text", "row"),
    [
        ("({n}) {text}!", "(1) Go!", {"n": "1", "text": "Go"}),
        ("{a} => {b}", " => ", {"a": "", "b": ""}),
        ("{{{a}}}", "{x}", {"a": "x"}),
        ("{a}\t{b}", "x\ty\tz", {"a": "x", "b": "y\tz"}),
    ],
)
def test_what_stands_between_columns(tmp_path: Path, line: str, text: str, row: dict[str, str]) -> None:
    assert read_rows(written(tmp_path, text), line=line) == [row]


@pytest.mark.parametrize("wrong", ["HUM ind Who?", "HUM:ind", ":"])
def test_a_line_of_another_kind(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ItemError, match="pattern") as caught:
        read_rows(written(tmp_path, QUESTIONS.replace("LOC:city Où?", wrong)), line=TREC)
    assert (caught.value.where, caught.value.expected, caught.value.found) == ("items.txt:4", TREC, wrong)
    with pytest.raises(ItemError, match="pattern"):
        read_rows(written(tmp_path, "(1) Go! Go"), line="({n}) {text}!")


@pytest.mark.parametrize("line", ["text", "{a}{b}", "{a} {a}", "{}", "{a", "{a:>3} {b}", "{a!r} b"])
def test_a_line_that_says_nothing(tmp_path: Path, line: str) -> None:
    with pytest.raises(SpecError, match="pattern"):
        read_rows(written(tmp_path, QUESTIONS), line=line)


def test_only_text_files_are_read_by_the_line(tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("text\nx\n")
    with pytest.raises(SpecError, match="txt"):
        read_rows(path, line=TREC)


@given(st.lists(st.text(st.characters(exclude_categories=["C"]), min_size=1), min_size=1))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = written(tmp_path_factory.mktemp("text"), "".join(f"A:{text}\n" for text in texts))
    assert read_rows(path, line="{label}:{text}") == [{"label": "A", "text": text} for text in texts]


def test_a_study_of_a_text_file(tmp_path: Path) -> None:
    study: dict[str, Any] = {
        "task": {"labels": ["HUM", "NUM", "LOC"]},
        "items": {
            "source": str(written(tmp_path, QUESTIONS)),
            "line": TREC,
            "gold": "label",
            "text": "{{ text }}",
        },
        "prompt": {"instruction": "What is asked for?"},
        "models": [{"name": "f", "use": "function"}],
    }
    assert [item.gold for item in resolved(study).items] == ["HUM", "NUM", "LOC"]
