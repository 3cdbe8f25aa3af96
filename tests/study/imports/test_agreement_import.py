"""Agreement in files and frames that Quaver did not make."""

import polars as pl
import pytest
from tests.spreadsheets import write_xlsx

from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.study.imports.agreement_import import measure_agreement

CSV = """id,paraphrase,temp,annotation
1,0,0.1,1
1,1,0.1,1
2,0,0.1,0
2,1,0.1,N/A
3,0,0.1,0
3,1,0.1,0
1,0,0.5,None
1,1,0.5,1
2,0,0.5,
2,1,0.5,0
"""
NAMES = {"item": "id", "rater": "paraphrase", "label": "annotation", "resamples": 50}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "somebody.csv"
    file.write_text(CSV)
    return file


def test_every_coefficient_in_every_cell(path):
    found = measure_agreement(path, by=["temp"], **NAMES)
    measures = ["krippendorff_alpha", "percent_agreement", "fleiss_kappa", "cohen_kappa", "gwet_ac1"]
    assert [e.measure for e in found] == measures * 2
    assert [e.cell["temp"] for e in found] == ["0.1"] * 5 + ["0.5"] * 5
    # N/A is no label, which leaves one of three units without a pair: 1 1 and 0 0.
    assert found[0].value == 1
    assert ("missing", "N/A") in [row[:2] for row in found[0].details["taken"]]
    # As a label, 1: 2, 0: 3, N/A: 1; one of three units disagrees: 1 − 5·2/(36 − 14).
    found = measure_agreement(path, by=["temp"], label_is=["N/A"], **NAMES)
    assert found[0].value == pytest.approx(1 - 10 / 22)


def test_numbers_labels_and_missing_labels_are_what_the_options_say(path):
    found = measure_agreement(path, by=["temp"], level="interval", **NAMES)
    assert [e.measure for e in found][5::6] == ["intraclass_correlation"] * 2
    found = measure_agreement(path, by=["temp"], labels=["0", "1"], **NAMES)
    assert found[0].value == 1
    assert [found[0].excluded, found[5].excluded] == [{"no label": 1}, {"no label": 2}]
    kept = measure_agreement(path, by=["temp"], labels=["0", "1"], label_is=["N/A"], **NAMES)
    assert kept[0].excluded == {"not in the label set": 1}
    counted = measure_agreement(path, by=["temp"], labels=["0", "1"], missing="category", **NAMES)
    assert counted[0].value == pytest.approx(1 - 10 / 22)


PADDED = "item,coder,label\n" + "".join(
    f"{item},{coder},{label}\n"
    for item, labels in enumerate(["a|a ", " b|b", "a|1.0", "1|1", "e\u0301|\u00e9", "|a", "N/A|a", "b|a"])
    for coder, label in zip("pq", labels.split("|"), strict=True)
)


def measured_both_ways(path, **options):
    """Alpha of the repeats of an imported study, and of the same file as it stands."""
    from quaver.study.imports.label_import import import_annotations

    roles = {"item": "item", "label": "label", "repeat": "coder"}
    study, taken = import_annotations(path, path.parent / "study", **roles, **options)
    (one,) = study.measure("intra_pss", resamples=0)
    names = {"item": "item", "rater": "coder", "label": "label", "resamples": 0}
    other = measure_agreement(path, **names, **options)[0]
    told = [(x.role, x.column, x.why) for x in taken if x.role in ("missing", "label?")]
    return one, other, told


@pytest.mark.parametrize("kept", [("N/A",), ()])
def test_a_file_is_read_as_import_reads_it(tmp_path, kept):
    path = tmp_path / "padded.csv"
    path.write_text(PADDED, encoding="utf-8")
    one, other, told = measured_both_ways(path, label_is=kept)
    assert one.value == other.value
    assert [row for row in other.details["taken"] if row[0] in ("missing", "label?")] == told
    # Units with two labels: aa bb a1 11 éé ba, and with N/A as a label (N/A, a).
    pairs = ["aa", "bb", "a1", "11", "éé", "ba"] + (["na"] if kept else [])
    counts = [sum(pair.count(c) for pair in pairs) for c in "ab1én"]
    n = sum(counts)
    differing = sum(2 for pair in pairs if pair[0] != pair[1])
    assert one.value == pytest.approx(1 - (n - 1) * differing / (n * n - sum(c * c for c in counts)))


def test_what_may_be_no_label_is_told_with_the_option_that_changes_it(tmp_path):
    path = tmp_path / "doubtful.csv"
    rows = ["a", "a", "b", "b", "N/A", "None", "N/A", "", "positve", "a"]
    path.write_text("item,rater,label\n" + "".join(f"{i // 2},{i % 2},{x}\n" for i, x in enumerate(rows)))
    told = measure_agreement(path, resamples=0)[0].details["taken"]
    missing = [("missing", "(an empty cell)"), ("missing", "N/A"), ("missing", "None")]
    assert [row[:2] for row in told] == [*missing, ("label?", "positve")]
    assert "2 cells" in told[1][2]
    assert "--label-is N/A" in told[1][2]
    assert "--unlabelled positve" in told[3][2]
    told = measure_agreement(path, resamples=0, unlabelled=["N/A", "None"])[0].details["taken"]
    assert [row[2] for row in told if row[0] == "missing"] == [
        "1 cell, no label",
        "2 cells, named",
        "1 cell, named",
    ]
    valid = measure_agreement(path, resamples=0, labels=["a", "b"])[0]
    assert [row[:2] for row in valid.details["taken"]] == [*missing, ("missing", "positve")]
    assert valid.excluded == {"no label": 4, "not in the label set": 1}


def test_a_sheet_agrees_as_the_same_table_in_csv_does(path, tmp_path):
    rows = [line.split(",") for line in CSV.splitlines()]
    sheet = [rows[0], *[[int(row[0]), int(row[1]), float(row[2]), row[3] or None] for row in rows[1:]]]
    file = write_xlsx(tmp_path / "somebody.xlsx", {"labels": sheet, "notes": [["x"], ["y"]]})
    found = measure_agreement(file, by=["temp"], sheet="labels", **NAMES)
    assert [e.value for e in found] == [e.value for e in measure_agreement(path, by=["temp"], **NAMES)]
    with pytest.raises(ItemError) as caught:
        measure_agreement(file, **NAMES)
    assert "sheet=labels" in str(caught.value.fix)


def test_numbers_that_occur_once_are_not_doubted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,rater,label\n1,p,10.5\n1,q,10.5\n2,p,12\n2,q,13\n3,p,n/a\n3,q,14\n")
    found = measure_agreement(path, level="interval", unlabelled=["n/a"], resamples=0)
    assert "label?" not in [role for role, *_ in found[0].details["taken"]]


def test_a_column_of_labels_for_each_rater_is_the_same_as_a_row_for_each_label(tmp_path):
    wide = tmp_path / "wide.csv"
    wide.write_text("tone,tone_b\na,a\na,b\nb,b\n,a\n")
    long = tmp_path / "long.csv"
    long.write_text("item,rater,label\n0,p,a\n0,q,a\n1,p,a\n1,q,b\n2,p,b\n2,q,b\n3,p,\n3,q,a\n")
    expected = [one.value for one in measure_agreement(long, resamples=0)]
    assert expected[0] == pytest.approx(4 / 9)
    for given in (wide, pl.read_csv(wide)):
        for named in (["tone", "tone_b"], "tone*"):
            found = measure_agreement(given, label=named, resamples=0)
            assert [one.value for one in found] == pytest.approx(expected)
    with pytest.raises(QuaverError, match="is a rater's"):
        measure_agreement(wide, label=["tone", "tone_b"], rater="who")
    for given in (wide, pl.read_csv(wide)):
        with pytest.raises(UnknownName, match="tone_c"):
            measure_agreement(given, label=["tone", "tone_c"])
    heads = [("Coded", "Coded by B"), ('{"ImportId":"Q1"}', '{"ImportId":"Q2"}')]
    survey = pl.DataFrame([*heads, ("a", "a"), ("b", "b")], ["one", "two"], orient="row")
    found = measure_agreement(survey, label=["one", "two"])
    assert (found[0].value, found[0].n) == (1, 2), "further headers of a survey are no labels"
