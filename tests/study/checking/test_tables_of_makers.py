"""Tables as survey programs, spreadsheets, R and pandas leave them are understood without naming a column."""

import csv

import polars as pl
import pytest
from tests.spreadsheets import write_xlsx

import quaver
from quaver.errors import QuaverError
from quaver.study.checking.check_design import prepared_check

STANCES = ("favor", "against", "none")
TEXTS = [f"What I think of the new tax, in sentence {n}, is my own affair." for n in range(60)]
CODED = [STANCES[n % 3] if n % 4 == 0 else "" for n in range(60)]
"""Of a sample of 15."""
ALL_CODED = [STANCES[n % 3] for n in range(60)]
PARTIES = ["left" if n % 2 else "right" for n in range(60)]
NUMBERS = [str(n + 1) for n in range(60)]


def ids(form):
    return [form.format(n) for n in range(60)]


def likert(shift):
    return [("agree", "neutral", "disagree", "strongly agree")[(n + shift) % 4] for n in range(60)]


SURVEY = {
    "ResponseId": ids("R_{:03}x"),
    "Duration (in seconds)": ids("{}7"),
    "Q1": likert(0),
    "Q2": likert(1),
    "Q3_open": TEXTS,
    "Stance (hand)": CODED,
}
TABLES = {  # its columns; those of the texts, the ids and the gold labels; and how it is saved
    "a survey's export": (SURVEY, "Q3_open", "ResponseId", "Stance (hand)", {}),
    "Excel with a note on a sheet of its own": (
        {"nr": NUMBERS, "Tweet": TEXTS, "Stance (coded)": CODED},
        *("Tweet", "nr", "Stance (coded)"),
        {"sheets": {"Notes": [("Collected in May.",)]}},
    ),
    "a workbook with a codebook and a pivot table on sheets of their own": (
        {"Tweet ID": NUMBERS, "Full text": TEXTS, "Stance (hand)": CODED},
        *("Full text", "Tweet ID", "Stance (hand)"),
        {"sheets": {"Read me": [("label", "meaning"), ("favor", "for it")], "Pivot": [("Stance", "n")] * 4}},
    ),
    "a workbook whose second sheet is empty but for its header": (
        {"A": TEXTS, "B": CODED},
        *("A", None, "B"),
        {"sheets": {"Codebook": [("label", "definition")]}},
    ),
    "R's write.csv with the rows' names": (
        {"": NUMBERS, "comment": TEXTS, "stance": [label or "NA" for label in CODED]},
        *("comment", None, "stance"),
        {},
    ),
    "pandas' to_csv with an index": (
        {"": NUMBERS, "idx": ids("{}"), "body": TEXTS, "gold_label": ALL_CODED},
        *("body", "idx", "gold_label"),
        {},
    ),
    "tweets with numeric ids and addresses": (
        {
            "tweet_id": ids("17{:017}"),
            "url": ids("https://example.org/" + "a-long-way-to-a-status/" * 5 + "{}"),
            "full_text": TEXTS,
            "party": PARTIES,
            "human": CODED,
        },
        *("full_text", "tweet_id", "human"),
        {},
    ),
    "a model's labels beside people's": (
        {"sample_id": ids("s{}"), "text": TEXTS, "label": ALL_CODED, "gpt_label": [*ALL_CODED[1:], "none"]},
        *("text", "sample_id", "label"),
        {},
    ),
    "models' labels alone": (
        {"doc_id": ids("d-{}"), "question": ["What do you think of it all? " * 9] * 60, "answer": TEXTS}
        | {"prediction": ALL_CODED, "GPTLabel": CODED},
        *("answer", "doc_id", None),
        {"labels": STANCES},
    ),
    "a database's codes": (
        {"code_of_text": ids("A-{:03}"), "Antwort": TEXTS, "Partei": PARTIES, "true": ALL_CODED},
        *("Antwort", "code_of_text", "true"),
        {},
    ),
    "two coders of a sample": (
        {"id": NUMBERS, "headline": TEXTS, "Anna": CODED, "Ben": CODED, "party": PARTIES},
        *("headline", "id", None),
        {},
    ),
    "a list of texts": (
        {"answers to question 4": TEXTS},
        *("answers to question 4", None, None),
        {"labels": STANCES},
    ),
    "a newspaper's archive, whose addresses are its ids": (
        {"url": ids("https://example.org/a/{}"), "title": [f"What {n} people say" for n in range(60)]}
        | {"lead": TEXTS, "outlet": PARTIES, "topic_hand": CODED},
        *("lead", "url", "topic_hand"),
        {"title": "title"},
    ),
    "a data set in which every row is labelled": (
        {"key": ids("k{}"), "body": TEXTS, "party": PARTIES, "Sentiment": ALL_CODED},
        *("body", "key", "Sentiment"),
        {"parquet": True},
    ),
    "codes beside other numbers": (
        {"lfd": NUMBERS, "Frage": ["Was halten Sie davon? " * 9] * 60, "Antwort": TEXTS}
        | {"Region": [str(n % 3) for n in range(60)], "Geschlecht": [str(n % 2) for n in range(60)]}
        | {"Code": [str(STANCES.index(one)) if one else "" for one in CODED]},
        *("Antwort", "lfd", "Code"),
        {},
    ),
    "two columns of numbers that nobody coded": (
        {"lfd": NUMBERS, "Antwort": TEXTS, "Region": [str(n % 2) for n in range(60)]}
        | {"Welle": [str(n % 2) for n in range(1, 61)], "Haltung (händisch)": CODED},
        *("Antwort", "lfd", "Haltung (händisch)"),
        {},
    ),
    "truth values beside others": (
        {"comment_id": ids("c{}"), "comment": TEXTS, "is_reply": ["True", "False"] * 30}
        | {"toxic": ["TRUE", "False", "FALSE", "True", "n/a", "TRUE"] * 10},
        *("comment", "comment_id", "toxic"),
        {"n": 2},
    ),
    "Parquet with codes and gaps": (
        {"key": ids("{}"), "likes": ids("9{}"), "post": TEXTS}
        | {"rating": [float(STANCES.index(one)) if one else None for one in CODED]},
        *("post", "key", "rating"),
        {"parquet": True},
    ),
}


def saved(folder, columns, how):
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    if "sheets" in how:
        return write_xlsx(folder / "t.xlsx", {**how["sheets"], "Data": rows})
    if "parquet" in how:
        pl.DataFrame(columns).write_parquet(folder / "t.parquet")
        return folder / "t.parquet"
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return folder / "t.csv"


@pytest.mark.parametrize("maker", TABLES)
def test_a_table_is_understood_by_looking_at_all_of_it(tmp_path, maker):
    columns, text, item, gold, how = TABLES[maker]
    found = prepared_check(
        saved(tmp_path, columns, how), model=lambda text: "none", labels=how.get("labels", ())
    )
    table = found.table
    assert (table.text, table.item, table.gold) == (text, item, gold)
    assert table.coders == (("Anna", "Ben") if "Anna" in columns else ())
    assert len(table.labels) == how.get("n", 3)
    assert table.title == how.get("title")
    of_models = {"gpt_label", "prediction", "GPTLabel"} & {*columns}
    assert {one.column for one in found.taken if one.role == "a model's"} == of_models


@pytest.mark.parametrize(
    ("more", "given", "gold"),
    [
        ({"tone": [*CODED[1:], "none"]}, {}, None),
        ({"tone": [*CODED[1:], "none"]}, {"ignore": ["tone"]}, "seen"),
        ({"tone": [*CODED[1:], "none"]}, {"gold": "tone"}, "tone"),
        ({"q1": likert(0), "q2": likert(1)}, {}, None),
        ({"hand_tone": ["calm" if n % 2 else "loud" for n in range(60)]}, {}, "hand_tone"),
    ],
)
def test_where_two_columns_fit_equally_well_the_option_is_named(tmp_path, more, given, gold):
    seen = ["yes" if n % 8 else "no" for n in range(60)]
    columns = {"text": TEXTS, "seen": [one if label else "" for one, label in zip(seen, CODED, strict=True)]}
    path = saved(tmp_path, columns | more, {})
    if gold:
        assert prepared_check(path, **given).table.gold == gold
        return
    with pytest.raises(QuaverError, match="several columns could be the gold label") as caught:
        prepared_check(path, **given)
    assert "--gold" in str(caught.value.fix)
    assert "seen" in str(caught.value.found)


def test_a_title_stands_above_its_text(tmp_path):
    columns = {"headline": [f"News of day {n}" for n in range(60)], "body": TEXTS, "label": ALL_CODED}
    asked = set[str]()

    def annotate(text, prompt):
        asked.add(text)
        return "none"

    options = {"model": annotate, "n": 60, "prompts": 1, "repeats": 1, "yes": True}
    path = saved(tmp_path, columns, {})
    quaver.check(path, **options, to=tmp_path / "whole")
    assert asked == {f"News of day {n}\n\n{TEXTS[n]}" for n in range(60)}
    asked.clear()
    quaver.check(path, ignore=["headline"], **options, to=tmp_path / "alone")
    assert asked == {*TEXTS}


def test_human_rights_are_no_hand_labels(tmp_path):
    rows = [
        f"{n},a longer text number {n} about it,{('pro', 'con')[n % 2]},{int(n % 3 == 0)}" for n in range(40)
    ]
    path = tmp_path / "rights.csv"
    path.write_text("\n".join(["id,text,label,human_rights", *rows]), encoding="utf-8")
    assert prepared_check(path, model=lambda text, prompt: "pro").table.gold == "label"
