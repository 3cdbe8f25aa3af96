"""``quaver.label`` and ``quaver label``: from a table to the same table with labels, and the promise kept."""

import csv
import hashlib
import random
import re
import shlex
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

import quaver
from quaver.cli.main import main
from quaver.design.items.table_files import read_rows
from quaver.errors import QuaverError, UnknownName
from quaver.study.checking.check_design import prepared_check
from quaver.study.labelling.labelling import sample_for

LABELS = ("favor", "against", "none")
ASKED = []


def truth(text):
    return text.split("@")[1]


def share(text):
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16) / 2**32


def good(text, prompt):
    """Right on nearly all texts; on a tenth of them the prompts disagree."""
    ASKED.append(text)
    label = truth(text)
    if share(text) < 0.1 and share(text + prompt) < 0.4:
        return LABELS[(LABELS.index(label) + 1) % 3]
    return label


def bad(text, prompt):
    return LABELS[int(3 * share(text + prompt))]


def written(folder):
    """Three hundred texts, forty of them labelled by hand."""
    draw = random.Random(2)
    rows = []
    for n in range(300):
        label = draw.choice(LABELS)
        rows.append((f"k{n}", f"Tweet {n} about the reform, tone @{label}@", label if n % 8 == 0 else ""))
    path = folder / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "tweet", "stance"), *rows])
    return path


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ASKED.clear()
    return written(tmp_path)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A folder whose texts were labelled once."""
    folder = tmp_path_factory.mktemp("begun")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        labelled(written(folder))
    return folder


@pytest.fixture
def again(begun, tmp_path, monkeypatch):
    """A copy of it: these texts were asked about before."""
    monkeypatch.chdir(shutil.copytree(begun, tmp_path, dirs_exist_ok=True))
    ASKED.clear()
    return tmp_path / "texts.csv"


def labelled(path, model=good, **options):
    return quaver.label(
        path, **{"model": model, "gold": "stance", "prompts": 4, "n": 80, "repeats": 1, **options}
    )


def cells(path):
    return pl.read_csv(path, infer_schema=False)


def by_hand(sheet, most=10**6):
    """A coder's sheet with the true labels, as it comes back."""
    rows = read_rows(sheet, sheet="Labels")
    back = Path(sheet.stem + ".csv")
    with back.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for at, row in enumerate(rows):
            writer.writerow({**row, "label": truth(row.text("text")) if at < most else ""})
    return back


# ------------------------------------------------------------------- one label a text


def test_each_text_gets_a_label_and_the_table_stays_as_it_was(texts):
    found = labelled(texts)
    assert found.file.name == "texts-labelled.csv"
    after, before = cells(found.file), cells(texts)
    assert after.select(before.columns).equals(before)
    assert after["label"].null_count() == 0
    right = after["label"] == after["tweet"].str.extract("@(.*?)@")
    assert right.mean() > 0.95
    own = after.filter(pl.col("stance").is_not_null())
    assert (own["label"] == own["stance"]).all()
    assert set(own["labelled by"]) == {"a person"}
    assert set(after.filter(pl.col("stance").is_null())["labelled by"]) == {"the model"}
    assert len(ASKED) == len(set(ASKED)) or len(ASKED) <= 4 * 300


def test_nothing_is_asked_again_and_neither_check_nor_copy_is_written_over(again):
    """Other options are an error that changes nothing; without options it goes on from the check."""
    file, copy = Path("texts-check/study.yaml"), Path("texts-labelled.csv")
    before = file.read_bytes()
    with pytest.raises(QuaverError, match="ask for another one"):
        labelled(again, n=20)
    assert file.read_bytes() == before
    assert quaver.label(again, model=good).table.height == 300
    assert ASKED == []
    copy.write_text("mine", encoding="utf-8")
    for out in (None, again):
        with pytest.raises(QuaverError, match="overwritten"):
            labelled(again, **({"out": out} if out else {}))
    assert (labelled(again, out="other.csv").file, copy.read_text()) == (Path("other.csv"), "mine")


@pytest.mark.parametrize("error", ["0", "5", "many"])
def test_no_share_of_wrong_labels_is_an_error(texts, error):
    with pytest.raises(QuaverError, match="share"):
        labelled(texts, error=error)


def test_another_budget_asks_for_the_same_check(texts):
    model = {"model": "openai/gpt-4o-mini", "gold": "stance"}
    prepared_check(texts, budget=1, **model)
    assert prepared_check(texts, replaces=False, budget=3, **model).study.spec.budget.money == 3


def test_a_number_of_prompts_is_an_option_and_the_next_step_names_it(texts):
    found = labelled(texts, votes=3)
    variants = [one.id for one in found.study.experiment.variants]
    assert (
        variants
        == [one.id for one in quaver.Study.open("texts-check", functions={"good": good}).experiment.variants][
            :3
        ]
    )
    assert "--votes 3 " in found.step
    before = len(ASKED)
    assert len(labelled(texts).study.experiment.variants) == 4
    assert len(ASKED) - before <= 300, "one more prompt asks for that prompt only"


def test_texts_on_which_prompts_disagree_need_a_person(again):
    found = labelled(again, votes=4)
    doubtful = found.table.filter(pl.col("needs_person").is_not_null())
    assert 0 < doubtful.height < 40
    assert (doubtful["agreement"] < 0.75).all()
    assert set(doubtful["needs_person"]) == {"answers disagree"}
    study = found.study
    whole, one = study.labels(), study.labels(variants=[study.experiment.variants[1].id])
    assert one["agreement"].null_count() == 300, "one answer has nothing to agree with"
    assert whole["agreement"].null_count() == 0
    for nobody in ({"model": "nobody"}, {"variants": ["nothing"]}):
        with pytest.raises(UnknownName):
            study.labels(**nobody)
    alone = labelled(again, votes=1, error=0.075, by_hand=60, out="alone.csv")
    assert "none needs" not in alone.state
    assert "--error 7.5% " in alone.step, "a promise keeps its digits"


def test_labels_that_should_not_be_used_are_an_error_unless_one_insists(texts):
    """And a text without a label needs a person."""

    def silent(text, prompt):
        return "tone" if share(text) < 0.2 else bad(text, prompt)

    with pytest.raises(QuaverError, match="should not be used"):
        labelled(texts, silent)
    found = labelled(texts, silent, anyway=True)
    assert dict(found.notes)["Warning"]
    assert "These labels were made anyway" in Path("texts-labelled.txt").read_text()
    none = found.table.filter(pl.col("label").is_null())
    assert none.height > 20
    assert set(none["needs_person"]) == {"no label"}


# ------------------------------------------------------------------------- the promise


def test_the_loop_ends_with_a_label_for_every_text(texts):
    """The sample is as large as the promise takes: binom.cdf(3, 153, 0.05) = 0.0495."""
    assert sample_for(0.05) == 153
    found = labelled(texts, error="10%", by_hand=80)
    assert "any more" not in found.state, "the sample waits for a person"
    (sheet,) = found.sheets
    assert found.acceptance is None
    assert "--returned" in found.step
    found = labelled(texts, error=0.1, returned=[by_hand(sheet, most=30)])
    assert "of the sample by hand" in found.step
    found = labelled(texts, error=0.1, returned=[by_hand(sheet)])
    assert found.acceptance.accepted > 100
    shares = [text for head, text in found.notes if head == "Share"]
    for label, said in zip(sorted(LABELS), shares, strict=True):
        low, high = re.search(r"\[(\d+)% to (\d+)%\]", said).groups()
        share = sum(f"@{label}@" in tweet for tweet in cells(texts)["tweet"]) / 300
        assert said.startswith(f"{label} ")
        assert int(low) <= 100 * share <= int(high)
    wrong = found.table.filter(pl.col("labelled_by") == "the model", pl.col("needs_person").is_null())
    known = dict(zip(*cells(texts).select("id", pl.col("tweet").str.extract("@(.*?)@")), strict=True))
    assert sum(known[item] != label for item, label in wrong.select("item", "label").iter_rows()) <= 0.1 * 300
    if found.sheets:
        found = labelled(texts, error=0.1, returned=[by_hand(found.sheets[0])])
    assert found.table["needs_person"].null_count() == 300
    assert found.step == ""


def test_a_regression_that_the_study_asks_for_is_corrected_too(texts):
    head, *lines = texts.read_text().splitlines()
    parties = [f"{line},{('left', 'right')[n % 2]}" for n, line in enumerate(lines)]
    texts.write_text("\n".join([f"{head},party", *parties, ""]))
    (sheet,) = labelled(texts, error=0.1, by_hand=80).sheets
    claim = '{name: party, formula: share(favor) ~ party, effect: "party[left] > party[right]"}'
    file = Path("texts-check/study.yaml")
    file.write_text(f"{file.read_text()}\nconclusions: [{claim}]\n")
    found = quaver.label(texts, model=good, check="texts-check", error=0.1, returned=[by_hand(sheet)])
    (said,) = [text for head, text in found.notes if head == "Regression"]
    assert said.startswith("“party” ")
    assert "in the true labels" in said
    assert "corrected for labelling errors with this sample" in found.study.paper().details
    assert said in found.study.paper().details


def test_a_sample_that_the_table_labels_already_still_ends_in_a_sheet(texts):
    """All but a few texts have a gold label: the sample needs nobody, the doubtful texts do."""
    rows = list(csv.reader(texts.open(encoding="utf-8", newline="")))
    for row in rows[1:]:
        row[2] = "" if row[0] in ("k1", "k2", "k3", "k4", "k5") else truth(row[1])
    with texts.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    found = labelled(texts, bad, anyway=True, error=0.05, by_hand=60)
    while found.acceptance is None:
        found = labelled(texts, bad, anyway=True, error=0.05, returned=[by_hand(found.sheets[0])])
    listed = [row.text("item") for sheet in found.sheets for row in read_rows(sheet, sheet="Labels")]
    assert sorted(listed) == ["k1", "k2", "k3", "k4", "k5"], "each once, in the sample's sheet or the other"
    assert all(sheet.name in found.step for sheet in found.sheets)


def test_nobody_is_sent_to_work_for_a_promise_that_cannot_be_kept(texts):
    def off(text, prompt):
        label = truth(text)
        return LABELS[(LABELS.index(label) + 1) % 3] if share(text) < 0.15 else label

    with pytest.raises(QuaverError, match="2% cannot be reached") as caught:
        labelled(texts, off, error="2%")
    assert "can be reached, with about" in caught.value.fix
    assert not [*Path("texts-check").rglob("round-1*")]
    assert labelled(texts, off, error="2%", anyway=True).sheets


def test_hand_labels_that_others_drew_serve_the_promise_and_correct(texts):
    head, *lines = texts.read_text().splitlines()
    rows = [line.rsplit(",", 1)[0] + f",{truth(line) if n % 3 == 0 else ''}" for n, line in enumerate(lines)]
    texts.write_text("\n".join([head, *rows, ""]))
    found = labelled(texts, error="10%", hand_labels="random")
    assert found.acceptance.accepted > 100
    assert not [*Path("texts-check").rglob("round-1*")], "nobody has to label more"
    assert sum(head == "Share" for head, _ in found.notes) == 3


def test_a_sheet_whose_ids_lost_their_zeros_and_that_has_a_row_more_is_of_the_sample(texts):
    numbered = texts.read_text().replace("\nk", "\n0")
    texts.write_text(numbered)
    (sheet,) = labelled(texts, error=0.1, by_hand=80).sheets
    back = by_hand(sheet)
    head, *rows = list(csv.reader(back.open(newline="")))
    drawn = {row[head.index("item")] for row in rows}
    other = next(f"0{n}" for n in range(300) if f"0{n}" not in drawn)
    at, label = head.index("item"), head.index("label")
    more = ["" for _ in head]
    more[at], more[label] = other.lstrip("0") or "0", LABELS[0]
    rows = [[*row[:at], row[at].lstrip("0") or "0", *row[at + 1 :]] for row in rows]
    with back.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows, more])
    found = labelled(texts, error=0.1, returned=[back])
    kept = pl.read_csv(found.study.folder / "gold" / "labels.csv", infer_schema=False)
    roles = dict(kept.filter(pl.col("source") != "the study's own table").group_by("role").len().iter_rows())
    assert roles["coder"] >= len(rows) - 40
    assert kept.filter(pl.col("role") == "apart")["item"].to_list() == [other]


# ------------------------------------------------------------------------- the command


def test_what_to_do_next_names_the_function_and_can_be_typed(texts, monkeypatch, capsys):
    code = "def answer(text, prompt):\n    return 'tone' if text[8] == '3' else text.split('@')[1]\n"
    Path("own_tone.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    words = ["label", "texts.csv", "--function", "own_tone:answer", "--gold", "stance", "--n", "40"]
    for _ in range(2):
        monkeypatch.setattr(sys, "argv", ["quaver", *words])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        said = " ".join(capsys.readouterr().out.split())
        _, command, *_ = said.partition("Next: ")[2].split("`")
        assert "--function own_tone:answer" in command
        words = shlex.split(command)[1:]
    assert words[-2:] == ["--returned", "texts-check/study.labels/gold/round-1-coder.xlsx"]
