import pytest

from quaver.errors import MeasureError
from quaver.measure.annotation_file import agreement, read_annotations

CSV = """id,wording,temp,annotation
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
NAMES = {"item": "id", "rater": "wording", "label": "annotation", "resamples": 50}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "somebody.csv"
    file.write_text(CSV)
    return file


def test_what_a_model_wrote_is_not_an_empty_cell(path):
    frame = read_annotations(path)
    assert frame["annotation"].to_list() == ["1", "1", "0", "N/A", "0", "0", "None", "1", None, "0"]


def test_every_coefficient_in_every_cell(path):
    found = agreement(path, by=["temp"], **NAMES)
    measures = ["krippendorff_alpha", "percent_agreement", "fleiss_kappa", "cohen_kappa", "gwet_ac1"]
    assert [e.measure for e in found] == measures * 2
    assert [e.cell["temp"] for e in found] == ["0.1"] * 5 + ["0.5"] * 5
    # 1: 2, 0: 3, N/A: 1; one of three units disagrees: 1 − 5·2/(36 − 14).
    assert found[0].value == pytest.approx(1 - 10 / 22)


def test_only_valid_labels(path):
    found = agreement(path, by=["temp"], labels=["0", "1"], **NAMES)
    assert found[0].value == 1
    assert found[0].excluded == {"not in the label set": 1}
    assert found[5].excluded == {"no label": 1, "not in the label set": 1}


def test_missing_as_a_category(path):
    found = agreement(path, by=["temp"], labels=["0", "1"], missing="category", **NAMES)
    assert found[0].value == pytest.approx(1 - 10 / 22)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(MeasureError, match="cannot be read"):
        agreement(tmp_path / "none.csv")
