"""The worst items of a study, and what a change did to them and to the rest."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from tests.cli.commands import here
from tests.studies import written

import quaver
from quaver.errors import MeasureError, QuaverError, UnknownName
from quaver.study.session import Study

STUDY = """\
task:
  labels: [positive, negative]
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth}
prompt:
  instruction: Is this positive or negative?
variants:
  - use: instructions
    texts: {curt: Positive or negative?, long: Would you call this positive or negative?}
models:
  - {name: fake, use: function}
"""
ITEMS = "id,text,truth\n" + "".join(f"i{n},Text {n}.,positive\n" for n in range(12))
FUNCTIONS = """\
def annotate(text, prompt):
    number = int(text.rstrip(".").split()[1])
    if number == 3:
        return "=HYPERLINK(1) [red]hm[/red]" if "Would" not in prompt or "think" not in prompt else "positive"
    if number in (5, 7):
        return "negative" if "Would you call" in prompt else "positive"
    if number == 9 and "think" in prompt:
        return "negative"
    return "positive"
"""


def opened(folder: Path, study: str = STUDY) -> Study:
    space: dict[str, object] = {}
    exec(FUNCTIONS, space)
    return Study.open(written(folder, study, ITEMS), functions={"fake": space["annotate"]})  # type: ignore[dict-item]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = opened(tmp_path_factory.mktemp("before"))
    study.run()
    return study


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = opened(tmp_path_factory.mktemp("after"), STUDY.replace("Would you call", "Would you think"))
    study.run()
    return study


def test_the_worst_come_first_with_their_answers(before: Study) -> None:
    found = quaver.worst(before)
    assert found.items["item"].to_list() == ["i3", "i5", "i7"]
    assert found.items["why"].to_list() == ["unparsed", "sensitive", "sensitive"]
    assert found.items["unparsed"].to_list() == [1.0, 0.0, 0.0]
    assert found.items["right"].to_list() == pytest.approx([0, 2 / 3, 2 / 3])
    assert found.items["text"][0] == "Text 3."
    # Two labels to one, over the two labels of the set: the entropy of a third, in bits.
    assert found.items["sensitivity"].to_list()[1:] == pytest.approx([0.9183, 0.9183], abs=1e-4)
    consistency = found.items["consistency"][1]
    assert found.items["score"].to_list() == pytest.approx(
        [1.0, *[(0.9183 + 1 - consistency) / 2] * 2], abs=1e-4
    )
    first = found.answers.head(3)
    assert first["output"].to_list() == ["=HYPERLINK(1) [red]hm[/red]"] * 3
    assert first["variant"].to_list() == ["paraphrase=original", "paraphrase=curt", "paraphrase=long"]
    assert quaver.worst(before, n=1).items.height == 1
    assert "<td>i3</td>" in found._repr_html_()


def test_where_most_have_no_label_the_best_answered_come_last(tmp_path: Path) -> None:
    """i0 is never labelled, i1 once, i2 twice and otherwise, i3 twice and alike; the others always."""
    given = {
        "Is this": {0: "hm", 1: "hm", 2: "positive", 3: "positive"},
        "Positive": {0: "hm", 1: "positive", 2: "negative", 3: "positive"},
        "Would": {0: "hm", 1: "hm", 2: "hm", 3: "hm"},
    }

    def annotate(text: str, prompt: str) -> str:
        asked = next(answers for start, answers in given.items() if start in prompt)
        return asked.get(int(text.rstrip(".").split()[1]), "positive")

    study = Study.open(written(tmp_path, STUDY, ITEMS), functions={"fake": annotate})
    study.run()
    found = quaver.worst(study)
    assert found.items["item"].to_list() == ["i0", "i2", "i1", "i3"]
    assert found.items["score"][0] == 1.0
    assert found.items["score"][3] == pytest.approx(1 / 3, abs=0.1)


def test_before_and_after_on_the_worst_and_on_the_rest(before: Study, after: Study) -> None:
    found = quaver.worst(after, against=before, resamples=200)
    assert found.counts == {"worst": 3, "rest": 9, "all": 12}
    assert found.items["item"].to_list() == ["i3", "i5", "i7"]
    assert found.items["unparsed_after"].to_list() == pytest.approx([2 / 3, 0, 0])
    by = {(one.cell["items"], one.measure): one for one in found.differences}
    # Of nine answers to the worst, three more are right; of 27 to the rest, one is lost.
    assert by["worst", "accuracy"].value == pytest.approx(3 / 9)
    assert by["rest", "accuracy"].value == pytest.approx(-1 / 27)
    assert by["all", "accuracy"].value == pytest.approx(2 / 36)
    assert by["worst", "compliance"].value == pytest.approx(1 / 9)
    assert by["all", "accuracy"].low <= 2 / 36 <= by["all", "accuracy"].high
    assert "unpaired" in by["all", "accuracy"].details


@pytest.mark.long
def test_against_a_bundle(before: Study, after: Study, tmp_path: Path) -> None:
    path, _ = quaver.bundle(before, tmp_path / "before.quaver.zip", texts=False)
    earlier = Study.open(path)
    found = quaver.worst(after, against=earlier, resamples=100)
    assert found.counts["worst"] == 3
    assert quaver.worst(earlier).items["text"].to_list() == [None] * 3


def test_written_for_spreadsheets_and_programs(before: Study, tmp_path: Path) -> None:
    found = quaver.worst(before)
    found.write(tmp_path / "worst.csv")
    with (tmp_path / "worst.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    assert rows[0]["output"] == "'=HYPERLINK(1) [red]hm[/red]"
    found.write(tmp_path / "worst.json")
    printed = json.loads((tmp_path / "worst.json").read_text(encoding="utf-8"))
    assert [len(one["answers"]) for one in printed["items"]] == [3, 3, 3]
    with pytest.raises(QuaverError) as caught:
        found.write(tmp_path / "worst.txt")
    assert "worst.txt" in str(caught.value.where)


def test_what_is_wrong_is_said(before: Study, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="evaluator 'first'"):
        quaver.worst(before, evaluator="first")
    with pytest.raises(MeasureError, match="1 or more"):
        quaver.worst(before, n=0)
    (tmp_path / "labels.csv").write_text("item,label\nx,positive\ny,negative\n", encoding="utf-8")
    written(
        tmp_path,
        "task: {labels: [positive, negative]}\nannotations: {source: labels.csv, item: item, label: label}\n",
    )
    other = Study.open(tmp_path / "study.yaml")
    assert quaver.worst(other).items.is_empty()
    with pytest.raises(MeasureError, match="common"):
        quaver.worst(before, against=other)


def test_on_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, STUDY, ITEMS)
    (tmp_path / "functions.py").write_text(FUNCTIONS, encoding="utf-8")
    given = ["worst", "study.yaml", "--function", "fake=functions:annotate"]
    asked = here(tmp_path, "run", *given[1:], monkeypatch=monkeypatch, capsys=capsys)
    assert asked.returncode == 0
    shown = here(tmp_path, *given, monkeypatch=monkeypatch, capsys=capsys)
    assert shown.returncode == 0
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("i3: ")]
    assert {"unparsed", "positive"} <= set(re.split(r"\W+", line))
    assert "=HYPERLINK(1) [red]hm[/red]" in shown.stdout
    printed = here(tmp_path, *given, "--json", monkeypatch=monkeypatch, capsys=capsys)
    assert [one["item"] for one in json.loads(printed.stdout)["items"]] == ["i3", "i5", "i7"]
    said = here(tmp_path, *given, "--out", "w.csv", monkeypatch=monkeypatch, capsys=capsys)
    assert said.stdout.strip() == "Wrote w.csv"
