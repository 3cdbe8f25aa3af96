"""``quaver check`` and ``quaver label`` on tables of pictures, and of texts that are cut into parts."""

import csv
import re

import openpyxl
import pytest
from tests.pictures import png
from tests.studies import checked

import quaver
from quaver.cli.main import main
from quaver.errors import QuaverError

SHADES = [20 * n for n in range(12)]


def light(text, prompt, images):
    shade = images[0].count(b"\xff")  # the larger a picture's comment, the lighter it is
    return "light" if shade >= 100 else "dark"


def written(rows):
    with open("pictures.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return "pictures.csv"


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """A table of twelve pictures, all labelled by hand, and of a row without one."""
    monkeypatch.chdir(tmp_path)
    rows = [("file", "caption", "shade")]
    for shade in SHADES:
        (tmp_path / f"{shade}.png").write_bytes(png(more=b"\xff" * shade))
        rows.append((f"{shade}.png", f"Number {shade}", "light" if shade >= 120 else "dark"))
    return written([*rows, ("", "None", "dark")])


def prompts(study):
    return {variant.instruction for variant in study.experiment.variants}


def test_pictures_are_checked_labelled_and_reported(pictures):
    options = {"images": "file", "gold": "shade", "model": light}
    found = checked(pictures, **options)
    assert found.study.measure("accuracy")[0].value == pytest.approx(11 / 12)
    assert (found.table.images, found.table.text, found.table.rows) == ("file", "", 12)
    assert all("picture" in one and "text" not in one for one in prompts(found.study))
    page = found.report.read_text(encoding="utf-8")
    assert "12 pictures were labelled by" in page
    assert "12 pictures have a gold label" in page
    assert "texts" not in page.partition("How the answers were read")[0].partition("<body")[2]
    labelled = quaver.label(pictures, images="file", gold="shade", model=light, anyway=True)
    notes = " ".join(" ".join(line) for line in labelled.notes)
    assert "where a person labelled the picture" in notes
    assert not re.search(r"\btexts?\b", notes)
    with open("pictures-labelled.csv", newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert [row[0] for row in rows] == [*(f"{shade}.png" for shade in SHADES), ""]
    assert rows[-1][head.index("labelled by")] == "no picture"


def test_a_named_column_of_texts_stands_beside_the_pictures(pictures):
    def captioned(text, prompt, images):
        assert images
        return "dark" if text.startswith("Number") else text

    found = checked(pictures, images="file", text="caption", labels=["light", "dark"], model=captioned)
    assert found.study.annotations()["label"].unique().to_list() == ["dark"]
    with pytest.raises(QuaverError, match="no question about pictures"):
        checked(pictures, images="file", gold="shade", model=light, language="de")


def test_an_own_instruction_is_framed_with_words_about_pictures(pictures):
    own = checked(pictures, images="file", gold="shade", model=light, instruction="Hell?", prompts=2).study
    assert prompts(own) == {"Hell?", "Look at the picture above. Hell?"}
    german = "Ist das Bild hell, oder ist es nicht hell?"
    alone = checked(
        pictures, images="file", gold="shade", model=light, instruction=german, language="de", to="de"
    )
    assert prompts(alone.study) == {german}


def test_a_second_model_sees_the_pictures_too(pictures):
    def first(text, prompt, images):
        return "I cannot say." if b"\xff" * 200 in images[0] else light(text, prompt, images)

    options = {"images": "file", "labels": ["light", "dark"], "ignore": ["shade"], "model": first}
    found = quaver.label(pictures, **options, backfill=light, anyway=True)
    rows = {row["item"]: row for row in found.table.to_dicts()}
    assert {item for item, row in rows.items() if row["labelled_by"] == "light"} == {"11", "12"}
    assert rows["11"]["label"] == rows["12"]["label"] == "light"


def test_a_check_says_into_how_many_parts_texts_are_cut(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reader.py").write_text("def read(text, prompt):\n    return 'a'\n", encoding="utf-8")
    long = "\n\n".join(["Twenty characters ok"] * 4)
    with open("speeches.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "gold"), (long, "a"), ("Short.", "b"), ("Brief.", "a")])
    command = ["quaver", "check", "speeches.csv", "--split", "10", "--function", "reader:read"]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit):
        main()
    assert "3 texts in 6 parts × 10 prompts" in capsys.readouterr().out
    page = (tmp_path / "speeches-check" / "report.html").read_text(encoding="utf-8")
    assert "1 text was cut into 4 parts" in page
    assert "is the one that most of its parts have" in page


def test_a_coders_sheet_opens_the_picture(pictures, tmp_path):
    bare = written([("file", "number"), *((f"{shade}.png", shade) for shade in SHADES)])
    found = checked(bare, images="file", labels=["dark", "light"], model=light)
    sheet = found.study.gold.draw(n=4, coders=["ada"]).files[0]
    page = openpyxl.load_workbook(sheet)["Labels"]
    links = {cell.hyperlink.target for (cell,) in page["C2:C5"]}
    assert len(links) == 4
    for link in links:
        target = (sheet.parent / link.replace("\\", "/")).resolve()  # as Excel writes it
        assert target.is_file()
        assert target.parent == tmp_path
