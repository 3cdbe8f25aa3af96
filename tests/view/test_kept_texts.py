"""The texts of an index come back as they were, are found by a part of them, and damage is one error."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from quaver.errors import StoreError
from quaver.view import kept_texts
from quaver.view.kept_texts import FILE, KeptTexts, TextWriter, folded

ODD = ("", "plain", "with a\x00zero", "half a pair \ud800", "Größe", "two\u2028lines\n", "\xff")


def kept(folder: Path, table: str, texts: tuple[str, ...], first: int = 0) -> KeptTexts:
    folder.mkdir(exist_ok=True)
    with closing(TextWriter(folder)) as writer:
        writer.add(table, texts, first)
        assert writer.last(table) == first + len(texts) - 1
    return KeptTexts(folder, table)


def test_texts_come_back_as_they_were(tmp_path: Path) -> None:
    texts = kept(tmp_path, "ids", ODD)
    assert len(texts) == len(ODD)
    assert tuple(texts[n] for n in range(len(ODD))) == ODD
    assert [texts.find(text) for text in (*ODD, "nothing")] == [*range(len(ODD)), None]
    assert texts.begin(4, 3) == "Grö"
    assert [ODD[n] for n in texts.in_order()] == sorted(ODD)


def test_texts_are_found_in_two_indexes(tmp_path: Path) -> None:
    one, other = kept(tmp_path / "one", "ids", ODD), kept(tmp_path / "other", "ids", ODD[::-1][:4])
    assert one.places_in(other).tolist() == [-1, -1, -1, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("wanted", "found"), [("GRÖSSE", {4}), ("\x00", {2}), ("l", {1, 3, 5}), ("not there", set())]
)
def test_a_part_of_texts_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str, found: set[int]
) -> None:
    monkeypatch.setattr(kept_texts, "_AT_ONCE", 3)
    texts = kept(tmp_path, "texts", tuple(map(folded, ODD)))
    search = texts.search(folded(wanted)).wait(20)
    assert search.complete
    assert {*np.flatnonzero(search.found).tolist()} == found


def test_numbers_go_on_where_a_process_has_ended(tmp_path: Path) -> None:
    kept(tmp_path, "answers", ("a", "b"), 1)
    more = kept(tmp_path, "answers", ("c",), 3)
    assert [more[n] for n in (1, 2, 3)] == ["a", "b", "c"]
    assert np.flatnonzero(more.search("c").wait(20).found).tolist() == [3]


def test_a_damaged_file_is_one_error(tmp_path: Path) -> None:
    texts = kept(tmp_path, "ids", ODD)
    (tmp_path / FILE).write_bytes(b"no database at all, whatever its name says")
    for act in (lambda: texts[0], lambda: texts.places_in(texts), lambda: texts.find("plain")):
        with pytest.raises(StoreError) as raised:
            act()
        assert raised.value.where == str(tmp_path)
    assert texts.search("plain").wait(20).complete
