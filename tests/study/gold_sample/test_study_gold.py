"""A gold sample from its draw to the annotations: sheets, labels taken back, rounds, adjudication."""

import csv
import json

import numpy as np
import polars as pl
import pytest
from tests.gold_study import filled, labelled_study, read_rows, truths, write_rows
from tests.study.analysis.test_explained_errors import N, opened

from quaver.errors import ItemError, QuaverError, StoreError
from quaver.gold.gold_draw import permanent_numbers
from quaver.study.gold_sample.coder_sheets import gold_differences

TRUTH = truths()


@pytest.fixture
def study(tmp_path):
    return labelled_study(tmp_path / "study")


def sheets(study, **asked):
    """Draw, and give the coders' tables."""
    drawn = study.gold.draw(form="csv", **asked)
    return [path for path in drawn.files if ".codes" not in path.name]


def items_of(study):
    """The columns about gold, a row an item."""
    return study.annotations().select("item", pl.col("^gold.*$")).unique("item")


def test_from_the_draw_to_the_annotations(study):
    assert study.annotations()["gold_drawn"].null_count() == study.annotations().height
    files = sheets(study, n=40, coders=["ada", "ben"], overlap=0.25)
    for path in files:
        study.gold.take(filled(path, TRUTH))
    frame = items_of(study)
    assert frame["gold_probability"].is_not_null().all()
    assert frame["gold_probability"].sum() == pytest.approx(40)
    drawn = frame.filter("gold_drawn")
    assert drawn.height == 40
    assert dict(drawn.select(pl.col("item", "gold").cast(pl.String)).iter_rows()).items() <= TRUTH.items()
    assert frame.filter(~pl.col("gold_drawn"))["gold"].is_null().all()
    status = study.gold.status()
    assert status.complete
    assert status.coders == {"ada": (25, 25), "ben": (25, 25)}
    assert (status.twice, status.agreement.value) == (10, 1.0)
    assert study.measure("accuracy")


@pytest.mark.parametrize("design", ["simple", "stratified"])
def test_anyone_can_draw_it_again(study, design):
    study.gold.draw(n=30, design=design)
    study.gold.draw(n=50)
    about = json.loads((study.folder / "gold" / "design.json").read_text())
    draw = pl.read_csv(study.folder / "gold" / "draw.csv")
    numbers = draw.with_columns(u=permanent_numbers(about["seed"], draw["item"]))
    count = (pl.col("probability") * pl.len().over("stratum")).round()
    again = numbers.select(pl.col("u").rank("ordinal").over("stratum") <= count).to_series()
    assert again.equals(draw["drawn"], check_names=False)
    assert [one["size"] for one in about["rounds"]] == [30, 50]


def test_a_later_round_keeps_the_first_and_its_terms(study):
    first = sheets(study, n=20, coders=["ada"])
    study.gold.take(filled(first[0], TRUTH))
    before = {row["item"] for row in read_rows(first[0])}
    second = sheets(study, n=35)
    assert second[0].name == "round-2-ada.csv"
    assert not before & {row["item"] for row in read_rows(second[0])}
    assert study.gold.status().drawn == 35
    assert items_of(study).filter("gold_drawn")["gold"].null_count() == 15
    for other in ({}, {"design": "simple"}):
        with pytest.raises(QuaverError):
            study.gold.draw(n=50 if other else 30, **other)


def test_disagreements_are_adjudicated_or_decided_by_a_majority(study):
    files = sheets(study, n=12, coders=["ada", "ben", "eva"], overlap=1)
    item = read_rows(files[0])[0]["item"]
    other = {"left": "right", "right": "left"}[TRUTH[item]]
    for path, label in zip(files, (TRUTH[item], other, TRUTH[item]), strict=True):
        study.gold.take(filled(path, {**TRUTH, item: label}))
    assert [*study.gold.status().open] == [item]
    assert items_of(study).filter(pl.col("item") == item)["gold"].item() is None
    sheet = study.gold.adjudicate("carla", form="csv")[0]
    (row,) = read_rows(sheet)
    assert (row["item"], row["label of ada"], row["label of ben"]) == (item, TRUTH[item], other)
    study.gold.adjudicate(rule="majority")
    assert items_of(study).filter(pl.col("item") == item)["gold"].item() == TRUTH[item]
    study.gold.take(filled(sheet, {item: other}))
    assert items_of(study).filter(pl.col("item") == item)["gold"].item() == other
    assert study.gold.status().decided == {item: "adjudicator"}
    assert study.gold.adjudicate("carla") == []


def test_labels_that_came_differently_are_kept_apart(study):
    study.gold.draw(n=10)
    hard = [item for item in TRUTH if item not in study.gold.state.drawn][:3]
    path = study.folder / "hard.csv"
    write_rows(path, [{"item": item, "label": TRUTH[item]} for item in hard])
    with pytest.raises(ItemError):
        study.gold.take(path)
    assert study.gold.state.coded.is_empty()
    study.gold.take(path, apart="the hardest", coder="ada")
    frame = items_of(study).filter(pl.col("gold").is_not_null())
    assert sorted(frame["item"].cast(pl.String)) == sorted(hard)
    assert not frame["gold_drawn"].any()
    assert study.gold.status().labelled == 0


def test_a_sheet_shows_no_label_of_a_model_and_no_stratum_and_is_never_written_over(study):
    (path,) = sheets(study, n=40)
    for row in read_rows(path):
        assert {*row} == {"item", "coder", "text", "label", "note"}
        assert row["text"].startswith("Text ")
        assert row["label"] == row["note"] == ""
    order = [row["item"] for row in read_rows(path)]
    assert order != sorted(order)
    filled(path, dict(list(TRUTH.items())[:50]))
    before = path.read_bytes()
    assert path not in study.gold.sheets("csv")
    assert path.read_bytes() == before


def test_taking_a_file_twice_adds_nothing_and_a_changed_label_stays_on_record(study):
    (path,) = sheets(study, n=10)
    rows = read_rows(filled(path, TRUTH))
    wrong = [*rows[:-1], rows[-1] | {"label": "middle"}]
    with pytest.raises(ItemError):
        study.gold.take(write_rows(path.with_name("wrong.csv"), wrong))
    assert study.gold.state.coded.is_empty(), "nothing is kept where one row is wrong"
    assert study.gold.take(path).new == 10
    again = study.gold.take(path)
    assert (again.new, again.changed) == (0, 0)
    rows = rows[::-1][:4]
    rows[0]["label"] = {"left": "right", "right": "left"}[rows[0]["label"]]
    found = study.gold.take(write_rows(path, rows))
    assert (found.new, found.changed) == (0, 1)
    assert study.gold.state.coded.height == 11
    assert study.gold.state.settled.gold[rows[0]["item"]] == rows[0]["label"]


def test_what_needs_a_sample_says_so(study, tmp_path):
    assert not study.gold.status().complete
    for act in (study.gold.sheets, lambda: study.gold.take("x.csv"), lambda: study.gold.adjudicate("carla")):
        with pytest.raises(StoreError):
            act()
    assert not (study.folder / "gold").exists()
    assert "no interval" in str(study.gold.forecast(n=10)), "too few of a label"
    assert "no interval" not in str(study.gold.forecast(n=100))
    for asked in ({}, {"n": 1}, {"n": 0}):
        with pytest.raises(QuaverError):
            study.gold.forecast(**asked)
    for coders in ([], ["a", "a"], [""], ["x (adjudicates)"]):
        with pytest.raises(QuaverError):
            study.gold.draw(n=10, coders=coders or [" "])


@pytest.mark.parametrize("name", ["design.json", "draw.csv", "labels.csv"])
def test_a_damaged_file_is_one_error(study, name):
    (path,) = sheets(study, n=10)
    study.gold.take(filled(path, TRUTH))
    (study.folder / "gold" / name).write_text('item,"x\n1,2,3,4,5,6,7,8,9\n')
    with pytest.raises(StoreError):
        study.annotations()


def test_a_table_with_all_true_labels_shows_what_a_sample_brings(tmp_path):
    study = labelled_study(tmp_path / "all", gold=200)
    found = study.gold.draw(n=20)
    assert (found.known, found.files, study.gold.status().complete) == (20, (), True)
    assert items_of(study)["gold"].null_count() == 0


def test_drawn_items_that_came_with_a_gold_label_count_and_coders_get_the_others(tmp_path):
    study = labelled_study(tmp_path / "some", gold=100)
    before = items_of(study)
    found = study.gold.draw(n=40, coders=["ada", "ben"], overlap=0.5, form="csv")
    after = items_of(study)
    drawn = after.filter("gold_drawn")
    came = before.filter(pl.col("gold").is_not_null())["item"].to_list()
    known = drawn.filter(pl.col("item").is_in(came))
    assert 0 < found.known == known.height < 40
    assert known["gold"].null_count() == 0
    assert drawn["gold"].null_count() == 40 - found.known
    assert after["gold"].null_count() == before["gold"].null_count(), "no label is hidden"
    sheets = [row for path in found.files for row in csv.DictReader(path.open(encoding="utf-8-sig"))]
    given = {row["item"] for row in sheets if "item" in row}  # beside them is the list of codes
    assert given == {*drawn["item"]} - {*known["item"]}
    status = study.gold.status()
    dealt = {"ada": 0, "ben": 0} | {
        name: sum(row.get("coder") == name for row in sheets) for name in ("ada", "ben")
    }
    assert {name: status.coders[name] for name in dealt} == {name: (n, 0) for name, n in dealt.items()}
    assert f": {known.height} labelled" in str(status), "the table's own labels stand on no sheet"


def test_a_draw_goes_on_from_a_random_sample_that_the_study_declares(tmp_path):
    by_hand = np.random.default_rng(1).permutation(N) < 40
    study = opened(tmp_path, wrong=np.arange(N) % 10 == 3, by_hand=by_hand, drawn="random")
    with pytest.raises(QuaverError, match="no larger than the sample that there is"):
        study.gold.draw(n=40)
    found = study.gold.draw(n=60, design="simple", form="csv")
    assert (found.size, found.drawn, found.known, found.labels) == (60, 60, 40, 20)
    (path,) = [path for path in found.files if ".codes" not in path.name]
    rows = read_rows(path)
    assert len(rows) == 20
    status = study.gold.status()
    assert (status.drawn, status.labelled) == (60, 40)
    truth = np.random.default_rng(3).integers(0, 2, N)
    study.gold.take(filled(path, {row["item"]: ("yes", "no")[truth[int(row["item"])]] for row in rows}))
    frame = items_of(study)
    assert frame["gold_probability"].unique().to_list() == [0.2]
    drawn = frame.filter("gold_drawn")
    assert (drawn.height, drawn["gold"].null_count()) == (60, 0)
    assert {*np.flatnonzero(by_hand).astype(str)} <= {*drawn["item"].cast(pl.String)}
    assert study.gold.draw(n=70).drawn == 10
    assert study.gold.state.draw["drawn"].sum() == 70
    assert gold_differences(study.source, study.annotations()) == []


def test_a_draw_beside_declared_probabilities_is_refused_with_what_to_do(tmp_path):
    gold = {"column": "truth", "probability": "chance"}
    study = opened(
        tmp_path, wrong=np.zeros(N, bool), by_hand=np.arange(N) % 5 == 0, gold=gold, chance=np.full(N, 0.2)
    )
    before = study.estimates(["corrected_accuracy"])[0].value
    for ask in (study.gold.draw, study.gold.forecast):
        with pytest.raises(QuaverError) as refused:
            ask(n=100)
        assert "chance" in refused.value.found
        assert "leave `probability` out" in refused.value.fix
    assert study.gold.state.is_empty
    assert study.estimates(["corrected_accuracy"])[0].value == before


def test_labels_kept_apart_are_no_part_of_a_declared_sample(tmp_path):
    by_hand = np.arange(N) % 5 == 0
    study = opened(tmp_path, wrong=np.zeros(N, bool), by_hand=by_hand, drawn="random")
    path = write_rows(tmp_path / "hard.csv", [{"item": str(at), "label": "yes"} for at in (1, 2, 3)])
    study.gold.take(path, apart="the hardest", coder="ada")
    frame = items_of(study)
    assert frame.filter("gold_drawn").height == by_hand.sum()
    assert frame.filter(pl.col("gold").is_not_null()).height == by_hand.sum() + 3
