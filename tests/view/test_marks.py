"""Marks are kept in the study's folder with who and when, go out, come back, and become gold labels."""

import csv
import errno
import io
import json
import os
import shlex

import polars as pl
import pytest
from tests.cli.commands import here
from tests.view.viewed import again, client, collected

import quaver
from quaver.view.serving import studies_of

ALL = "api/studies/tones/marks"


def _full_after(room):
    """``os.write`` on a disk that has room for so many bytes."""
    write, left = os.write, [room]

    def some(file, content):
        if not left[0]:
            raise OSError(errno.ENOSPC, "full")
        left[0] -= (written := write(file, content[: left[0]]))
        return written

    return some


@pytest.fixture
def path(tmp_path):
    return collected(tmp_path, count=8)


@pytest.fixture
def works(tmp_path, monkeypatch, capsys):
    """Whether a command works as it was printed."""

    def runs(printed):
        _, *arguments = shlex.split(printed)
        return here(tmp_path, *arguments, monkeypatch=monkeypatch, capsys=capsys).returncode == 0

    return runs


@pytest.fixture
def browser(path):
    found = client(path)
    found.post("api/who", json={"who": "ada"})
    return found


def test_a_mark_says_who_when_and_what(browser, path):
    sent = {"item": "i1", "column": 3, "mark": "disagree", "label": "neg", "note": "Irony.", "blind": True}
    made = browser.post(ALL, json=sent).json()
    (kept,) = browser.get(ALL).json()["marks"]
    assert kept == made
    assert {name: kept[name] for name in sent} == sent
    assert (kept["who"], kept["prompt"], kept["repeat"]) == ("ada", "words=curt", 0)
    (line,) = (path.parent / "marks" / "marks.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["when"] == kept["when"]


def test_what_was_said_last_counts_and_the_rest_stays_on_record(browser, path):
    for mark in ("agree", "disagree"):
        browser.post(ALL, json={"item": "i1", "mark": mark})
    found = browser.get(ALL).json()
    assert [one["mark"] for one in found["marks"]] == ["disagree"]
    assert browser.delete(f"{ALL}/{found['marks'][0]['id']}").status_code == 200
    assert browser.get(ALL).json()["total"] == 0
    assert len((path.parent / "marks" / "marks.jsonl").read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize(
    "sent",
    [
        {"item": "i1"},
        {"item": "i1", "label": "nothing"},
        {"item": "i1", "mark": "maybe"},
        {"item": "i1", "note": ["x"]},
        {"item": "i1", "note": "x" * 30_000},
        {"item": "none", "mark": "agree"},
        {"item": "i1", "column": 99, "mark": "agree"},
    ],
)
def test_a_mark_that_says_nothing_true_is_refused(browser, sent):
    assert browser.post(ALL, json=sent).status_code in (400, 404)
    assert browser.get(ALL).json()["total"] == 0


@pytest.mark.parametrize("one", ["\u2028", "\u2029", "\x85", "\x0b", "\x1c", "\n"])
def test_a_note_with_any_separator_is_read_again(browser, path, one):
    note = f"Irony.{one}Or not."
    assert browser.post(ALL, json={"item": "i1", "note": note}).status_code == 200
    (kept,) = client(path).get(ALL).json()["marks"]
    assert kept["note"] == note


def test_a_mark_that_does_not_fit_is_refused_and_takes_no_other_with_it(browser, path, monkeypatch):
    browser.post(ALL, json={"item": "i1", "mark": "agree"})
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", _full_after(20))
        assert browser.post(ALL, json={"item": "i2", "mark": "agree"}).status_code >= 400
    browser.post(ALL, json={"item": "i3", "mark": "agree"})
    assert [one["item"] for one in client(path).get(ALL).json()["marks"]] == ["i1", "i3"]


def test_a_damaged_mark_is_reported(browser, path):
    browser.post(ALL, json={"item": "i1", "mark": "agree"})
    file = path.parent / "marks" / "marks.jsonl"
    file.write_bytes(file.read_bytes().replace(b"agree", b"agre3"))
    found = client(path).get(ALL)
    assert found.status_code >= 400
    assert "line 1" in found.text


def test_marks_can_be_searched(browser):
    browser.post(ALL, json={"item": "i1", "mark": "disagree", "note": "Irony"})
    browser.post(ALL, json={"item": "i2", "label": "neg", "who": "ben"})
    wanted = {"is:marked": {"i1", "i2"}, "mark:disagree": {"i1"}, "by:ben": {"i2"}, "marked:neg": {"i2"}}
    for query, items in wanted.items():
        rows = browser.get("api/studies/tones/rows", params={"q": query}).json()["rows"]
        assert {one["item"] for one in rows} == items, query
    assert browser.get("api/studies/tones/grid", params={"q": "no:mark"}).json()["rows"] == 6


def test_who_judges_blind_sees_no_label(browser):
    for address in ("answer?item=i1&column=0", "rows", "answers", "grid?sort=gold"):
        mark = "&" if "?" in address else "?"
        body = browser.get(f"api/studies/tones/{address}{mark}blind=1").json()
        hidden = json.dumps(body)
        assert not any(
            f'"{name}": "{code}"' in hidden
            for name in ("label", "modal", "gold")
            for code in ("pos", "neg", "neu")
        )
        assert "I think it is" not in hidden or address == "answers"
    cells = browser.get("api/studies/tones/cells?count=8&width=9&blind=1").content
    assert set(cells) <= {0, 255}


def test_who_judges_blind_sees_no_mark_of_anybody_else(browser):
    browser.post(ALL, json={"item": "i1", "column": 0, "label": "neg", "note": "Irony", "who": "ben"})
    for address in ("answer?item=i1&column=0", "rows", "answers", "marks"):
        body = browser.get(f"api/studies/tones/{address}{'&' if '?' in address else '?'}blind=1").text
        assert "Irony" not in body, address
        assert "ben" not in body, address
        assert '"label":"neg"' not in body, address
    item = browser.get("api/studies/tones/answer?item=i1&column=0&blind=1").json()["item"]
    assert set(item["fields"]) == {"id", "text", "side"}


def test_a_spreadsheet_finds_no_formula_in_marks(browser, path):
    _marked(browser, ("i1", "@ada", "pos"))
    browser.post(f"{ALL}/gold")
    (row,) = csv.DictReader(io.StringIO((path.parent / "marks" / "gold.csv").read_text()))
    assert row["coder"] == "'@ada"


def _marked(browser, *given):
    for item, who, label in given:
        browser.post(ALL, json={"item": item, "who": who, "label": label, "blind": True})


def test_labels_become_gold(browser, path, works):
    assert browser.post(f"{ALL}/gold").json()["labels"] == 0
    assert not (path.parent / "gold").exists()
    _marked(browser, ("i3", "ada", "pos"), ("i1", "ada", "pos"), ("i2", "ada", "pos"))
    _marked(browser, ("i1", "ben", "neg"), ("i3", "ben", "pos"), ("i2", "ben", "pos"))
    done = browser.post(f"{ALL}/gold").json()
    assert done["labels"] == 6
    assert works(done["how"])
    kept = pl.read_csv(path.parent / "gold" / "labels.csv", infer_schema=False)
    again(studies_of([path])["tones"])
    # The table has no label for i3, "neu" for i2, and "neg" for i1, on which people disagree.
    assert _gold(browser, "i3", "i2", "i1") == ["pos", "pos", "neg"]
    labels = {*kept.select("item", "coder", "label").iter_rows()}
    assert {("i3", "ada", "pos"), ("i3", "ben", "pos")} <= labels


def _gold(browser, *items):
    rows = [browser.get(f"api/studies/tones/rows?q=item:{item}").json()["rows"][0] for item in items]
    return [row["gold"] for row in rows]


def test_of_drawn_items_the_coders_labels_count_and_the_next_step_settles_them(browser, path, works):
    study = quaver.Study.open(path)
    study.gold.draw(n=8, design="simple", coders=["ada", "ben"])
    known = {item.id: item.gold or "pos" for item in study.experiment.items}  # the table's labels count too
    given = [(f"i{n}", who, known[f"i{n}"]) for n in range(7) for who in ("ada", "ben")]
    _marked(browser, *given, ("i7", "ada", "pos"), ("i7", "ben", "neg"))
    done = browser.post(f"{ALL}/gold").json()
    assert done["labels"] == 16
    assert works(f"{done['how']} --adjudicate NAME")
    assert list((path.parent / "gold").glob("adjudication*"))
