"""Comparisons: paired, of any measure, and judged by the interval."""

import json

import polars as pl
import pytest
from tests.cli.commands import FUNCTIONS, here
from tests.studies import STUDY

import quaver
from quaver.comparison import alignment
from quaver.comparison.bounds import read_bound
from quaver.comparison.paired_comparison import compare
from quaver.core import registry
from quaver.errors import MeasureError, QuaverError, UnknownName

ITEMS = "id,text,truth\n" + "".join(
    f"i{n:02},{'like' if n % 3 else 'hate'} {n},{'positive' if n % 3 else 'negative'}\n" for n in range(60)
)
VARIED = STUDY + 'variants:\n  - {use: instructions, texts: {curt: "Positive?"}}\n'


def right(text, prompt):
    return "positive" if "like" in text else "negative"


def worse(text, prompt):
    """Wrong on every fifth of the positive ones (those of 5, 10, 20, 25 …)."""
    return "negative" if int(text.split()[1]) % 5 == 0 else right(text, prompt)


def curtly(text, prompt):
    return worse(text, prompt) if "Positive?" in prompt else right(text, prompt)


def study(folder, annotate, text=STUDY, items=ITEMS):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.csv").write_text(items)
    (folder / "study.yaml").write_text(f"name: {folder.name}\n{text}")
    opened = quaver.Study.open(folder, functions={"fake": annotate})
    opened.run()
    return opened


def test_a_study_against_itself(two):
    one, _ = two
    found = compare(one, one, fail_if=["accuracy < 0", "accuracy > 0"])
    assert found.held
    assert found.flips.is_empty()
    known = [one for one in found.differences if one.value is not None]
    assert known
    for difference in known:
        assert difference.value == 0
        assert difference.low is None or difference.low <= 0 <= (difference.high or 0)
    # 60 items alike: up to 1 - 0.025^(1/60) = 5.96 % of others may have changed, and with two cells more.
    assert not compare(one, one, fail_unless=["accuracy > -0.05"]).held
    assert compare(one, one, fail_unless=["accuracy > -0.08"]).held


def test_variants_of_one_study(two):
    _, one = two
    for by, pair in (("variant", "paraphrase=original → paraphrase=curt"), ("paraphrase", "original → curt")):
        found = compare(one, by=by, measures=["accuracy", "inter_pss"])
        (accuracy,) = [one for one in found.differences if one.measure == "accuracy"]
        assert accuracy.value == pytest.approx(-8 / 60)
        assert accuracy.cell[by] == pair
        (agreement,) = [one for one in found.differences if one.measure == "inter_pss"]
        assert agreement.value is None
        assert agreement.reason
    back = compare(one, by="paraphrase", reference="curt", measures=["accuracy"])
    assert back.differences[0].value == pytest.approx(8 / 60)


@pytest.mark.parametrize(
    "text", ["accuracy", "accuracy < ", "< 1", "accuracy = 0", "accuracy[x] < 0", "a < b"]
)
def test_what_is_no_bound_is_one_error(text):
    with pytest.raises(QuaverError, match="not a bound"):
        read_bound(text, "if")
    bound = read_bound("recall[label=a, b] or [c] < 1, model=m] < 0", "if")
    assert dict(bound.where) == {"label": "a, b] or [c] < 1", "model": "m"}


def test_a_loss_by_hand(tmp_path):
    found = compare(study(tmp_path / "a", right), study(tmp_path / "b", worse), fail_if=["accuracy < 0"])
    (accuracy,) = [one for one in found.differences if one.measure == "accuracy"]
    # Of 60 items 40 are positive; those of 5, 10, 20, 25, 35, 40, 50, 55 are now wrong.
    assert (accuracy.details["before"], accuracy.details["after"]) == (1.0, pytest.approx(52 / 60))
    assert accuracy.value == pytest.approx(-8 / 60)
    assert accuracy.high < 0
    assert found.flips.height == 8
    assert found.flips["change"].unique().to_list() == ["loss"]
    assert not found.held
    assert (found.before, found.after) == ("a", "b")


def test_paired_is_narrower_than_unpaired(tmp_path):
    def noisy(text, prompt):
        return right(text, prompt) if int(text.split()[1]) % 4 else "negative"

    def other(text, prompt):
        return noisy(text, prompt) if int(text.split()[1]) not in (4, 7, 11) else "negative"

    found = compare(study(tmp_path / "a", noisy), study(tmp_path / "b", other))
    (accuracy,) = [one for one in found.differences if one.measure == "accuracy"]
    low, high = accuracy.details["unpaired"]
    assert accuracy.high - accuracy.low < 0.6 * (high - low)
    for one in found.differences:  # nor is it ever wider, where few items changed or a side does not vary
        if one.value is not None and one.details["changed"]:
            low, high = one.details["unpaired"]
            assert one.high - one.low <= high - low + 0.01, one


def test_few_changes_are_no_proof(tmp_path):
    def wrong_thrice(text, prompt):
        return "negative" if int(text.split()[1]) in (4, 7, 11) else right(text, prompt)

    found = compare(
        study(tmp_path / "a", right), study(tmp_path / "b", wrong_thrice), fail_if=["accuracy < 0"]
    )
    assert found.held  # three of three one way: 1 in 8 by chance
    (accuracy,) = [one for one in found.differences if one.measure == "accuracy"]
    assert accuracy.high >= 0
    assert any("only 3 items changed" in warning for warning in accuracy.warnings)


def test_only_common_items_count_and_the_others_are_told(tmp_path):
    fewer = "\n".join(ITEMS.splitlines()[:31]) + "\n"
    changed = fewer.replace("hate 0", "hate 0 so much")
    found = compare(study(tmp_path / "a", right), study(tmp_path / "b", right, items=changed))
    assert found.items == 29
    assert [one.split()[0] for one in found.left_out] == ["30", "1"]
    assert "only before" in found.left_out[0]
    assert "fields" in found.left_out[1]
    assert all(one.n <= 29 for one in found.differences)


def test_several_cells_share_the_error(two):
    one, other = two
    found = compare(one, other, fail_if=["accuracy < 0"])
    (judged,) = found.judgements
    assert [estimate.confidence_level for estimate in judged.judged] == [0.975, 0.975]
    assert [estimate.cell["variant"] for estimate in judged.failed] == ["paraphrase=curt"]
    (original,) = [estimate for estimate in judged.judged if estimate not in judged.failed]
    for written in ("variant=paraphrase=original", "variant=original", "paraphrase=original"):
        only = compare(one, other, fail_if=[f"accuracy[{written}] < 0"]).judgements[0]
        assert only.held
        assert [estimate.cell for estimate in only.judged] == [original.cell]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    return study(folder / "a", right, VARIED), study(folder / "b", curtly, VARIED)


@pytest.mark.parametrize("measure", registry.names("measures"))
def test_every_measure_has_a_paired_difference_or_a_reason(two, measure):
    differences = compare(*two, measures=[measure], resamples=100).differences
    assert read_bound(f"{measure} < 0", "if").about(differences)
    for difference in differences:
        cell = ", ".join(f"{column}={level}" for column, level in difference.cell.items())
        assert read_bound(f"{difference.measure}[{cell}] < 0", "if").about(differences) == [difference]
        assert difference.value is not None or difference.reason
        if difference.value is not None and difference.low is not None and difference.high is not None:
            assert difference.low <= difference.value <= difference.high


def test_bounds_on_estimates_of_a_measure_that_no_study_asks_for(two):
    names = ["f1", "f1_micro", "f1_label[label=negative]", "recall[label=positive]", "precision"]
    found = compare(*two, measures=["compliance"], fail_if=[f"{name} < 0" for name in names])
    judged = [{one.measure for one in judgement.judged} for judgement in found.judgements]
    assert judged == [{"f1_macro"}, {"f1_micro"}, {"f1_label"}, {"recall"}, {"precision"}]
    (recall,) = [one for one in found.judgements[3].judged if "curt" in one.cell["variant"]]
    assert recall.value == pytest.approx(-8 / 40)  # of the 40 positive ones


@pytest.mark.parametrize("bound", ["accuracy < -1", "accuracy < -2", "accuracy > 1.5", "accuracy < 1.5"])
def test_a_bound_that_judges_nothing_is_refused(two, bound):
    for how in ("fail_if", "fail_unless"):
        with pytest.raises(MeasureError) as caught:
            compare(*two, measures=["accuracy"], **{how: [bound]})
        assert caught.value.expected == "a number between -1 and 1, where the difference lies"


def test_other_mistakes_are_one_error_each(tmp_path):
    one = study(tmp_path / "a", right)
    strangers = ITEMS.replace("\ni", "\nj")
    with pytest.raises(MeasureError, match="items in common"):
        compare(one, study(tmp_path / "b", right, items=strangers))
    with pytest.raises(QuaverError) as caught:
        compare(one)
    assert caught.value.where == "by="  # as the caller would write it
    with pytest.raises(MeasureError, match="only one model"):
        compare(one, by="model")
    with pytest.raises(UnknownName, match="f1_macor"):
        compare(one, one, fail_if=["f1_macor < 0"])
    with pytest.raises(MeasureError, match=r"cannot be judged(.|\n)*variant=original"):
        compare(one, one, fail_if=["accuracy[variant=none] < 0"])
    with pytest.raises(UnknownName, match="acuracy"):
        compare(one, one, measures=["acuracy"])
    bare = STUDY.replace("[positive, negative]", "[yes, no]").replace("  gold: truth\n", "")
    with pytest.raises(MeasureError, match="label in common"):
        compare(one, study(tmp_path / "d", right, bare))


def test_models_of_other_names_stand_for_each_other(tmp_path):
    renamed = STUDY.replace("name: fake", "name: newer")
    folder = tmp_path / "b"
    folder.mkdir()
    (folder / "items.csv").write_text(ITEMS)
    (folder / "study.yaml").write_text(renamed)
    newer = quaver.Study.open(folder, functions={"newer": worse})
    newer.run()
    found = compare(study(tmp_path / "a", right), newer)
    assert {one.cell["model"] for one in found.differences} == {"fake → newer"}
    assert isinstance(found.flips, pl.DataFrame)


def test_what_a_side_lacks_is_told(tmp_path):
    one = study(tmp_path / "a", right)
    more = study(
        tmp_path / "b", right, STUDY.replace("negative]", "negative, mixed]") + "budget: {calls: 20}\n"
    )
    found = compare(one, more)
    labels, calls, items = found.left_out
    assert (labels, items) == ("label mixed: only after", "40 items: only before")
    assert calls.startswith("40 calls of b")


def test_two_functions_and_a_bound_on_the_terminal(tmp_path, monkeypatch, capsys):
    for name, model in (("a", "fake"), ("b", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "items.csv").write_text(ITEMS)
        text = VARIED.replace("name: fake", f"name: {model}")
        (tmp_path / name / "study.yaml").write_text(f"name: {name}\n{text}")
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    both = ["--function", "fake=functions:same", "--function", "new=functions:same"]

    def typed(*arguments):
        return here(tmp_path, *arguments, monkeypatch=monkeypatch, capsys=capsys)

    assert typed("run", "a/study.yaml", *both[:2]).returncode == 0
    assert typed("run", "b/study.yaml", *both[2:]).returncode == 0
    done = typed("compare", "a", "b", *both, "--measure", "accuracy", "--fail-if", "accuracy < 0")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 intervals of 0.975" in done.stdout
    done = typed("compare", "a", "b", "--function", "older=functions:same")
    assert (done.returncode, "unknown model 'older'" in done.stderr) == (2, True)


@pytest.mark.parametrize("by", ["paraphrase", "variant", "model", "evaluator"])
def test_the_original_is_what_the_others_are_compared_with(tmp_path, by):
    # Prompts are asked in the order of their beginnings: "About" and "a" come before the original.
    text = STUDY.replace("{name: fake,", "{name: zeta,") + (
        "  - {name: alpha, use: function}\n"
        "variants:\n  - {use: instructions, texts: {about: About this. Positive?, any: A positive one?}}\n"
        "evaluators: [label_match, exact]\n"
    )
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "study.yaml").write_text(text)
    one = quaver.Study.open(tmp_path, functions={"zeta": right, "alpha": right})
    one.run()
    first = {
        "paraphrase": "original",
        "variant": "paraphrase=original",
        "model": "zeta",
        "evaluator": "label_match",
    }
    assert compare(one, by=by, measures=["accuracy"]).before == f"{by} {first[by]}"


def test_no_label_is_told_from_a_label_called_none(tmp_path, monkeypatch, capsys):
    text = STUDY.replace("labels: [positive, negative]", "labels: [positive, None, none of them]").replace(
        "  gold: truth\n", ""
    )
    (tmp_path / "functions.py").write_text(
        "def told(text, prompt):\n"
        "    return 'positive' if 'Is' in prompt else 'None' if '1' in text else '-'\n"
    )
    monkeypatch.setenv("COLUMNS", "120")

    def quaver_here(*command):
        given = (*command, "--function", "fake=functions:told")
        done = here(tmp_path, *given, monkeypatch=monkeypatch, capsys=capsys)
        assert done.returncode == 0, done.stderr
        return done.stdout

    for name, asked in (("first", "Is this"), ("second", "This")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "items.csv").write_text("id,text\ni0,thing 0\ni1,thing 1\n")
        (folder / "study.yaml").write_text(f"name: {name}\n{text.replace('Is this', asked)}")
        quaver_here("run", name)
    stdout = quaver_here("compare", "first", "second")
    told = {line.split()[0]: line.split("  ") for line in stdout.splitlines() if line.startswith("i")}
    assert [cell.strip() for cell in told["i0"] if cell.strip()] == ["i0", "positive", "no label"]
    assert [cell.strip() for cell in told["i1"] if cell.strip()] == ["i1", "positive", "None"]
    flips = json.loads(quaver_here("compare", "first", "second", "--json"))["flips"]
    assert {one["item"]: one["after"] for one in flips} == {"i0": None, "i1": "None"}


def test_no_label_may_have_the_name_of_no_label(tmp_path):
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "study.yaml").write_text(STUDY.replace("[positive, negative]", "[positive, No label]"))
    with pytest.raises(QuaverError) as caught:
        quaver.Study.open(tmp_path, functions={"fake": right})
    assert "task.labels[1]" in str(caught.value)
    frame = pl.DataFrame({"item": [1, 2], "label": ["no label", None]})
    with pytest.raises(MeasureError, match="'no label'"):
        quaver.measures.label_shares(frame, missing="category")
    assert len(quaver.measures.label_shares(frame)) == 1


def test_changed_labels_are_counted_once_for_all_measures(two, monkeypatch):
    counted = []
    count = alignment._counted_changes

    def once_more(sides, by):
        counted.append(tuple(by))
        return count(sides, by)

    monkeypatch.setattr(alignment, "_counted_changes", once_more)
    compare(*two, measures=["accuracy", "compliance", "label_shares"])
    assert len(counted) == len(set(counted)) > 0


def test_texts_of_one_author_that_change_together_are_no_evidence_each(tmp_path):
    """All twelve texts of two authors go wrong: as 24 texts a loss, as two of twenty authors none."""

    def item(author, n):
        return f"{author}-{n},like {author} {n},positive,a{author}"

    rows = [item(author, n) for author in range(20) for n in range(12)]
    items = "\n".join(["id,text,truth,author", *rows, ""])

    def by_author(text, prompt):
        return "negative" if text.split()[1] in ("3", "11") else "positive"

    first, second = (study(tmp_path / name, f, items=items) for name, f in (("a", right), ("b", by_author)))
    found = compare(first, second, fail_if=["accuracy < 0", "loss"])
    assert found.held
    assert any("author change together" in note for note in found.notes)
    scattered = study(
        tmp_path / "c", lambda text, _: "negative" if int(text[-1]) == 3 else "positive", items=items
    )
    found = compare(first, scattered, fail_if=["loss"])
    assert not found.held
    assert not found.notes
