"""The tables of a prompt's parts: every cell equals a few lines of NumPy on planted answers."""

import numpy as np
import polars as pl
import pytest
from tests.papers.planted import asked, chance, items, tabled

from quaver.papers import printed, table

STUDY = """\
name: sides
task:
  labels:
    - {code: left, name: Left, definition: On the left.}
    - {code: right, name: Right, definition: On the right.}
items: {source: items.csv, id: id, text: "{{ text }}", gold: gold}
prompt: {instruction: Which side is it?, postfix: Answer Left or Right.}
variants:
  - use: factors
    factors:
      definition: ["no", "yes"]
      tone: [plain, polite]
    parts:
      polite: {text: Please., when: {tone: polite}}
models: [{name: one, use: function}]
"""


def annotate(text, prompt):
    """Worse and more silent where it is asked politely; leans left where the labels are defined."""
    right, draw = text.split()[-1], chance("design", text, prompt)
    if draw < (0.3 if "Please" in prompt else 0.05):
        return "Well."
    if draw < (0.6 if "Please" in prompt else 0.2) or ("On the left" in prompt and draw < 0.4):
        return "left"
    return right


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("design")
    items(folder, 90)
    return asked(folder / "sides.yaml", STUDY, one=annotate)


def answers(study):
    return study.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))


def outcomes(frame):
    """Compliance, and accuracy and macro-F1 with and without the answers that have no label."""
    given, gold = frame["label"].to_numpy(), frame["gold"].to_numpy()
    has = np.array([one is not None for one in given])
    found = {"compliance": has.mean()}
    for way, kept in (("labelled", has), ("all", np.ones_like(has))):
        g, t = given[kept], gold[kept]
        each = []
        for label in ("left", "right"):
            hit = ((g == label) & (t == label)).sum()
            each.append(2 * hit / ((g == label).sum() + (t == label).sum()))
        found |= {f"accuracy, {way}": (g == t).mean(), f"macro-F1, {way}": np.mean(each)}
    return {name: float(value) for name, value in found.items()}


def close(row, expected):
    for name, value in expected.items():
        assert row[name] == pytest.approx(value), name


def test_levels_and_not_differences_alone(study):
    made = table(study, "factor-levels")
    assert made.columns == (
        *("data set", "model", "factor", "level", "prompts", "compliance", "accuracy, labelled"),
        *("macro-F1, labelled", "accuracy, all", "macro-F1, all"),
    )
    rows = made.rows()
    assert [(row["factor"], row["level"], row["prompts"]) for row in rows] == [
        ("definition", "no", 2),
        ("definition", "yes", 2),
        ("tone", "plain", 2),
        ("tone", "polite", 2),
    ]
    for row in rows:
        close(row, outcomes(answers(study).filter(pl.col(row["factor"]) == row["level"])))


def test_the_share_of_each_class_by_its_name(study):
    rows = tabled(study, "label-shift")
    assert [(row["factor"], row["class"]) for row in rows] == [
        ("definition", "Left"),
        ("definition", "Right"),
        ("tone", "Left"),
        ("tone", "Right"),
    ]
    for row in rows:
        shares = []
        for side in ("from", "to"):
            given = answers(study).filter(pl.col(row["factor"]) == row[side])["label"].drop_nulls()
            shares.append(float((given == row["class"].lower()).mean()))
        expected = {"share before": shares[0], "share after": shares[1]}
        expected |= {"change in points": 100 * (shares[1] - shares[0])}
        expected |= {"change in per cent": shares[1] / shares[0] - 1}
        expected |= {"distance of all classes": abs(shares[1] - shares[0])}  # of two classes
        close(row, expected)


def test_every_prompt(study):
    rows = tabled(study, "prompts")
    assert [(row["definition"], row["tone"]) for row in rows] == [
        ("no", "plain"),
        ("no", "polite"),
        ("yes", "plain"),
        ("yes", "polite"),
    ]
    for row in rows:
        mine = (pl.col("definition") == row["definition"]) & (pl.col("tone") == row["tone"])
        close(row, outcomes(answers(study).filter(mine)))


def test_lengths_without_the_text_and_their_change(study):
    rows = {(row["factor"], row["level"]): row for row in tabled(study, "lengths")}
    plain, polite = rows["tone", "plain"], rows["tone", "polite"]
    assert polite["fixed words"] - plain["fixed words"] == 1  # "Please."
    assert polite["fixed change"] == pytest.approx(1 / plain["fixed words"])
    assert plain["fixed change"] == 0
    assert plain["tokens read"] is None  # a Python function counts none


def test_the_lengths_of_several_data_sets_are_averaged(study):
    """The paper's table 1 has one change for its four tasks: the mean of theirs."""
    (made,) = printed({"one": study, "two": study}, "lengths")
    for row in made.rows():
        assert row["mean"] == pytest.approx((row["one"] + row["two"]) / 2)
    assert {row["level"] for row in made.rows()} == {"plain", "polite", "no", "yes"}


def test_tokens_and_money_for_each_call(study, monkeypatch):
    from quaver.papers.paper_answers import StoredAnswers

    columns = ("factor", "level", "calls", "prompt_tokens", "completion_tokens", "money")
    rows = [("tone", "plain", 80, 800.0, 80.0, 0.08), ("tone", "polite", 80, 1000.0, 60.0, 0.09)]
    parts = pl.DataFrame(rows, schema=columns, orient="row")
    monkeypatch.setattr(StoredAnswers, "part_costs", lambda _: parts)
    row = {(row["factor"], row["level"]): row for row in tabled(study, "lengths")}["tone", "polite"]
    close(row, {"tokens read": 12.5, "read change": 0.25, "tokens written": 0.75, "written change": -0.25})
    close(row, {"US dollars per 1,000 calls": 1.125, "cost change": 0.125})


def test_texts_classes_and_answers(study):
    made = {(row["data set"], row["class"]): row for row in tabled(study, "data-sets")}
    whole = made["sides (2)", "all"]
    assert [whole[name] for name in ("texts", "prompts", "models", "answers")] == [90, 4, 1, 360]
    assert [made["sides (2)", side]["texts"] for side in ("Left", "Right")] == [45, 45]
    assert made["all", "all"]["answers"] == 360


def test_levels_as_the_paper_prints_them(study):
    """Bold where a level is better by more than 2%, yes before no, and no note of what is not printed."""
    for made in printed(study, "factor-levels"):
        levels = [(row["factor"], row["level"]) for row in made.rows()]
        assert levels == [("definition", "yes"), ("definition", "no"), ("tone", "plain"), ("tone", "polite")]
        assert not any("all:" in note for note in made.notes)
    for made, name in zip(
        printed(study, "factor-levels"), ("compliance", "accuracy, labelled"), strict=False
    ):
        for row, cells in zip(made.rows(), made.table.rows, strict=True):
            factor, level = row["factor"], row["level"]
            own, other = (
                outcomes(answers(study).filter((pl.col(factor) == level) == same))[name]
                for same in (True, False)
            )
            assert row["sides, one"] == pytest.approx(own)
            assert ("<b>" in cells[2]) == (own - other > 0.02)


def test_answers_as_written_and_whether_they_comply(study):
    (row,) = tabled(study, "raw-outputs")
    assert row["answer"] == "Well."
    some = table(study, "raw-outputs", items=["7"]).rows()
    assert len(some) == 4
    assert all((row["answer"] == "Well.") != (row["compliance"] == "valid") for row in some)


def test_each_model_over_all_prompts(study):
    (row,) = tabled(study, "overall")
    close(row, outcomes(answers(study)))


def test_prompts_in_full_without_the_text(study):
    rows = tabled(study, "prompt-texts")
    assert all("⟨text⟩" in row["text"] and "Which side is it?" in row["text"] for row in rows)
    assert ["Please." in row["text"] for row in rows] == [False, True, False, True]
