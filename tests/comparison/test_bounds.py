"""What users lose: a class that is no longer answered, a group, and a gold label that was corrected."""

import pytest

import quaver
from quaver.cli.deciding import show_comparison
from quaver.comparison.comparison_result import headline, markdown
from quaver.comparison.paired_comparison import compare
from quaver.errors import MeasureError, QuaverError

RARE = 4
KINDS = ["legal"] * RARE + [("bug", "bill", "ask")[n % 3] for n in range(116)]
REGIONS = [("north", "south")[n % 2] for n in range(120)]


def right(text, prompt):
    return text.split()[1]


def never_legal(text, prompt):
    return right(text, prompt).replace("legal", "ask")


def worse_in_the_north(text, prompt):
    return "bug" if "north" in text and int(text.split()[0]) % 3 else right(text, prompt)


def study(folder, annotate, gold=KINDS, rare=RARE, repeats=1):
    folder.mkdir(parents=True)
    rows = [
        f"i{n},{n} {KINDS[n]} {REGIONS[n]},{gold[n]},{REGIONS[n]}" for n in range(RARE - rare, len(KINDS))
    ]
    (folder / "items.csv").write_text("\n".join(["id,text,kind,region", *rows]))
    (folder / "study.yaml").write_text(
        f"name: {folder.name}\ntask: {{labels: [bug, bill, ask, legal]}}\n"
        'items: {source: items.csv, id: id, text: "{{ text }}", gold: kind, groups: [region]}\n'
        "prompt: {instruction: What is it?}\nmodels: [{name: m, use: function}]\nmeasures: [accuracy]\n"
        f"repeats: {repeats}\n"
    )
    opened = quaver.Study.open(folder, functions={"m": annotate})
    opened.run()
    return opened


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    return study(tmp_path_factory.mktemp("before") / "before", right)


def test_a_class_that_is_no_longer_answered_fails_any_bound(before, tmp_path, capsys):
    found = compare(before, study(tmp_path / "after", never_legal), fail_if=["accuracy < 0"])
    assert found.judgements[0].held  # four items of 120 are no proof that the mean fell
    assert (found.held, found.outcome) == (False, "fail")
    (lost,) = found.lost
    assert (lost.kind, lost.estimate.cell["label"], lost.estimate.details["lost"]) == ("loss", "legal", RARE)
    assert headline(found) == "Fails: “legal” is no longer answered (4 items before)"
    assert "“legal” is no longer answered" in markdown(found).splitlines()[0]
    show_comparison(found, 0)
    assert capsys.readouterr().out.splitlines()[-1] == f"{headline(found)}."


def test_a_class_of_two_items_is_named_and_fails_nothing(tmp_path):
    sides = [study(tmp_path / name, how, rare=2) for name, how in (("a", right), ("b", never_legal))]
    found = compare(*sides, fail_if=["accuracy < 0"])
    assert found.held
    assert headline(found).startswith("“legal” is no longer answered (2 items before: too few")


def test_a_group_that_loses_leads_and_fails_only_the_bound_by_losses(before, tmp_path):
    after = study(tmp_path / "after", worse_in_the_north)
    found = compare(before, after, fail_if=["accuracy < -0.5"])
    assert found.held
    assert headline(found).startswith("accuracy of region north, a loss of")
    (judged,) = compare(before, after, fail_if=["loss"]).judgements
    assert not judged.held
    assert "north" in {one.cell.get("region") for one in judged.failed}
    assert "south" not in {one.cell.get("region") for one in judged.failed}
    found = compare(before, after)
    assert (found.held, found.outcome) == (True, "reported"), "without a bound nothing passes"
    assert headline(found).startswith("Reported only: ")


def test_the_headline_is_about_the_measure_of_the_bound(before):
    found = compare(before, before, measures=["compliance", "accuracy"], fail_if=["f1_macro < 0"])
    assert "f1_macro" in headline(found)
    found = compare(before, before, fail_if=["loss"])
    assert headline(found).startswith("Not shown to be worse: accuracy")
    assert "in legal, up to" in headline(found)
    with pytest.raises(QuaverError):
        compare(before, before, fail_unless=["loss"])
    with pytest.raises(MeasureError):
        compare(before, before, fail_if=["recall[label=nobody] < 0"])


def test_a_corrected_gold_label_leaves_no_item_out(before, tmp_path):
    gold = [*KINDS[:-2], "legal", "legal"]
    found = compare(before, study(tmp_path / "after", right, gold), fail_if=["loss"])
    assert (found.items, found.left_out) == (len(KINDS), ())
    assert "2 gold labels" in found.notes[0]
    (accuracy,) = found.differences
    assert accuracy.details["before"] == accuracy.details["after"] == pytest.approx(118 / 120)


def test_answers_without_a_label_are_counted_as_in_the_verdict(before, tmp_path):
    after = study(tmp_path / "after", lambda text, _: "" if text.startswith("9 ") else right(text, ""))
    found = compare(before, after)
    assert any(note.startswith("0 answers before and 1 after have no label") for note in found.notes)
    (accuracy,) = found.differences
    assert accuracy.details["after"] == pytest.approx(119 / 120)
    answered = next(
        one for one in after.verdict().recommendations[0].evidence if one.measure == "correct_answers"
    )
    assert answered.value == accuracy.details["after"]


def test_a_class_that_was_renamed_is_refused_and_not_left_out(before, tmp_path):
    study(tmp_path / "after", right)
    for file, old in (("study.yaml", "legal"), ("items.csv", ",legal")):
        path = tmp_path / "after" / file
        path.write_text(path.read_text().replace(old, old.replace("legal", "law")))
    renamed = {"m": lambda text, _: right(text, "").replace("legal", "law")}
    after = quaver.Study.open(tmp_path / "after", functions=renamed)
    after.run()
    with pytest.raises(MeasureError, match="only one of the studies has") as caught:
        compare(before, after, fail_if=["loss"], resamples=100)
    assert caught.value.found == "law"
    assert "same code" in str(caught.value.fix)
