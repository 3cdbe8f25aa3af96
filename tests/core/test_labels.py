"""Two written labels are the same, and a cell is missing, by one rule."""

import pytest

from quaver.core.label_decisions import LabelRules
from quaver.core.labels import LabelCells, folded, indistinct_labels, missing_texts, number_of
from quaver.core.records import Label

ALIKE = [
    ("TRUE", "True"),
    ("in favor", "in\u00a0favor"),
    ("favor", " favor\u200b "),
    ("ＦＡＶＯＲ", "favor"),
    ("center-left", "center left"),
    ("center–left", "center_left"),
    ("don't know", "don’t know"),
    ("caf\u00e9", "cafe\u0301"),
    ("ırkçı", "IRKÇI"),
    ("مثبت", "مُثبَت"),
    ("منفي", "منفی"),
    ("very\nbad", "very bad"),
]
APART = [("A-", "A+"), ("A-", "A"), ("C", "C++"), ("not relevant", "relevant"), ("1-5", "15"), ("I", "II")]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_what_looks_the_same_is_the_same_everywhere(one, other):
    assert folded(one) == folded(other)
    assert indistinct_labels([one, other]) == (one, other)
    assert LabelCells([one, "else"]).label(other) == one
    assert len(LabelRules().read({one: 3, other: 2, "else": 1}).labels) == 2
    assert len(LabelRules(distinct=True).read({one: 3, other: 2, "else": 1}).labels) in (2, 3)


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_differs_stays_apart(one, other):
    assert indistinct_labels([one, other]) is None
    assert LabelCells([one, "else"]).label(other) is None


@pytest.mark.parametrize(
    ("labels", "text", "label"),
    [
        (["1", "2", "3"], "1.0", "1"),
        (["1", "2", "3"], "02", "2"),
        (["1", "2", "3"], "３", "3"),
        (["0.5", "1"], "0,5", "0.5"),
        (["0.3", "1"], "0.30000000000000004", "0.3"),
        (["1.1", "1.10"], "1.10", "1.10"),
        (["1", "1000"], "1,000", None),
        (["1", "two"], "1.0", "1"),
        (["1", "0"], "TRUE", "1"),
        (["true", "false"], "WAHR", "true"),
        (["yes", "no", "maybe"], "1", None),
        (["501: Environment", "502: Health"], "501", "501: Environment"),
        (["501: Environment", "502: Health"], "health", "502: Health"),
        (["2. Health", "3. Law"], "2) Health", "2. Health"),
    ],
)
def test_numbers_truths_codes_and_names(labels, text, label):
    assert LabelCells(labels).label(text) == label


def test_a_name_that_two_labels_share_is_neither():
    cells = LabelCells([Label("1", "yes", synonyms=("y",)), Label("2", "no", synonyms=("y",))])
    assert [cells.label(text) for text in ("Yes", "2", "y")] == ["1", "2", None]
    numbers = [number_of(text) for text in ("-1", "−1", "+1", "1e3", "inf", "1.2.3")]
    assert numbers == ["-1", "-1", "1", "1000", None, None], "a number has one form"


@pytest.mark.parametrize(
    ("texts", "missing"),
    [
        (["favor", "NA", ".", "#N/A", "nan"], ["NA", ".", "#N/A", "nan"]),
        (["1", "2", "NaN", "<NA>"], ["NaN", "<NA>"]),
        (["favor", "none", "None"], []),
        (["Favor", "Against", "None"], []),
        (["NA", "EU", "ASIA"], []),
        (["na", "favor"], []),
        (["Yes", "N/A"], ["N/A"]),
    ],
)
def test_cells_that_programs_leave_empty(texts, missing):
    assert missing_texts(texts) == missing
    assert missing_texts(texts, missing) == []


def test_codes_such_as_99_are_proposed_and_never_taken():
    written = LabelRules().read({"1": 40, "2": 30, "3": 20, "99": 5, "-1": 3})
    assert written.missing == ()
    assert {one.column for one in written.decisions if one.role == "label?"} == {"99", "-1"}
    assert not [one for one in LabelRules().read({"8": 4, "9": 5, "10": 2}).decisions if one.role == "label?"]


def test_a_merge_is_said_once_with_its_counts():
    (one,) = LabelRules().read({"TRUE": 120, "True": 80, "no idea": 3}).decisions
    assert (one.column, one.why) == (
        "'TRUE' and 'True'",
        "taken for one label: 120 and 80 rows; --distinct keeps them apart",
    )
    assert LabelRules(distinct=True).read({"TRUE": 120, "True": 80}).also == {}
