"""What a query finds is what Polars finds in the annotation frame."""

import re

import numpy as np
import polars as pl
import pytest
from tests.pages import DOCS
from tests.view.viewed import collected, viewed

import quaver
import quaver.view
from quaver.errors import StoreError
from quaver.view.queries import QueryError, contains, quoted

L, S, MODAL, GOLD = pl.col("label"), pl.col("status"), pl.col("modal"), pl.col("gold")
CASES = {
    "": pl.lit(True),
    "label:pos": L == "pos",
    "label:positive,NEG": L.is_in(["pos", "neg"]),
    "no:label": L.is_null(),
    "label!=pos": L.ne_missing("pos"),
    "status:empty": S == "empty",
    "status:no_label,empty": S.is_in(["no_label", "empty"]),
    "is:unlabelled": L.is_null(),
    "is:right": L.eq(GOLD).fill_null(False),
    "is:wrong": GOLD.is_not_null() & L.ne_missing(GOLD),
    "is:flip": L.is_not_null() & L.ne_missing(MODAL),
    "is:modal": L.is_not_null() & L.eq_missing(MODAL),
    "-is:flip": ~(L.is_not_null() & L.ne_missing(MODAL)),
    "gold:pos": GOLD == "pos",
    "no:gold": GOLD.is_null(),
    "modal:neg": MODAL == "neg",
    "side:a": pl.col("side") == "a",
    "prompt:curt": pl.col("words") == "curt",
    "words:curt,plain": pl.col("words").is_in(["curt", "plain"]),
    "is:original": pl.col("words") == "original",
    "repeat=1": pl.col("repeat") == 1,
    "repeat>=1 label:pos": (pl.col("repeat") >= 1) & (L == "pos"),
    "-label:pos -status:empty words:curt": ~((L == "pos").fill_null(False) | (S == "empty"))
    & (pl.col("words") == "curt"),
    "item:i3": pl.col("item") == "i3",
    "item:i1*": pl.col("item").str.starts_with("i1"),
    "labels>=3": pl.col("labels") >= 3,
    "instability>0.5": pl.col("instability") > 0.5,
    "accuracy<0.4": pl.col("accuracy") < 0.4,
    "is:flipped": pl.col("labels") > 1,
    'text:"bad thing"': pl.col("text").str.contains("Bad thing"),
    'answer:"POSITIVE, really"': pl.col("answer").str.contains("Positive, really"),
    "really": pl.col("answer").str.contains("really"),
    "length>8": pl.col("answer").str.len_chars() > 8,
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return collected(tmp_path_factory.mktemp("queried"))


@pytest.fixture(scope="module")
def study(path):
    return viewed(path)


@pytest.fixture(scope="module")
def frame(path):
    """The annotations of the first evaluator with what Polars says of their items."""
    opened = quaver.Study.open(path)
    every = opened.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))
    keys = ["item", "variant", "repeat"]
    first = every.filter(pl.col("evaluator") == "first_label")
    counted = (
        first.drop_nulls("label")
        .group_by("item", "label")
        .len()
        .sort("len", "label", descending=[True, False])
    )
    modal = counted.group_by("item", maintain_order=True).agg(
        modal=pl.col("label").first(),
        labels=pl.len(),
        instability=1 - pl.col("len").first() / pl.col("len").sum(),
    )
    right = first.group_by("item").agg(accuracy=(pl.col("label") == pl.col("gold")).fill_null(False).mean())
    known = first.join(modal, on="item", how="left")
    known = known.join(right, on="item").with_columns(
        accuracy=pl.when(pl.col("gold").is_not_null()).then(pl.col("accuracy"))
    )
    opened.export(path.parent / "calls.parquet")
    answers = pl.read_parquet(path.parent / "calls.parquet").select(*keys, answer="output")
    texts = pl.DataFrame([{"item": one.id, "text": one.fields["text"]} for one in opened.experiment.items])
    return known.join(answers, on=keys).join(texts, on="item")


@pytest.mark.parametrize("query", CASES)
def test_a_query_finds_what_polars_finds(study, frame, query):
    found = study.view(query)
    wanted = frame.filter(CASES[query].fill_null(False))
    shown = {study.snapshot.ids[int(row)] for row in found.rows}
    assert shown == set(wanted["item"])
    assert found.matched == wanted.height
    _, match = found.cells(slice(None), 0, study.snapshot.width)
    cells = {
        (
            study.snapshot.ids[int(row)],
            study.snapshot.design.columns[at].prompt,
            study.snapshot.design.columns[at].repeat,
        )
        for place, row in enumerate(found.rows)
        for at in np.flatnonzero(match[place])
    }
    assert cells == set(wanted.select("item", "variant", "repeat").iter_rows())


OWN = {
    "prompt:…": "prompt:curt",
    "model:…": "model:fake",
    "text:…": "text:good",
    "answer:…": "answer:really",
    "format:digits": "words:curt",
    "party:left": "side:a",
}
"""What the page leaves open, or takes from another study, as this study has it."""


def test_every_query_that_the_page_shows_is_understood(study):
    page = (DOCS / "view.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?`) \|", page, re.MULTILINE)
    queries = {query for row in rows for query in re.findall(r"`([^`]*[:=<>\"][^`]*)`", row)}
    assert len(queries) > 20
    for query in queries - {"is:drawn"}:
        assert study.view(OWN.get(query, query)).matched >= 0
    assert "is:drawn" in queries
    with pytest.raises(QueryError, match="no gold sample has been drawn"):
        study.view("is:drawn")


@pytest.mark.parametrize(
    ("wanted", "found"), [("GRÖSSE", {0}), ("\x00", {1}), ("L", {2, 3}), ("not there", set()), ("(", {3})]
)
def test_texts_are_found_by_a_part_in_any_case(wanted, found):
    texts = pl.DataFrame({"text": ["Größe", "a\x00zero", "plain", "two\u2028lines (", None]})
    assert {*texts.select(contains(wanted)).to_series().arg_true()} == found


def test_a_damaged_file_of_the_viewer_is_one_error(tmp_path):
    study = viewed(collected(tmp_path, count=2))
    (file,) = study.root.glob("annotations-*.parquet")
    file.write_bytes(b"no table at all")
    with pytest.raises(StoreError) as raised:
        study.view("is:wrong")
    assert raised.value.where == str(study.root)


def test_margins_are_those_of_the_rows_that_are_shown(study, frame):
    view = study.view("side:a")
    some = frame.filter(pl.col("side") == "a")
    for place, column in enumerate(study.snapshot.design.columns):
        own = some.filter((pl.col("variant") == column.prompt) & (pl.col("repeat") == column.repeat))
        margin = view.margins.row(place, named=True)
        assert margin["answered"] == own.height
        assert margin["valid"] == own["label"].count()
        assert margin["agreeing"] == own.filter(pl.col("label") == pl.col("modal")).height
        assert margin["right"] == own.filter(pl.col("label") == pl.col("gold")).height


def test_rows_are_in_the_order_that_was_asked_for(study, frame):
    view = study.view(sort="instability")
    items = pl.DataFrame({"item": [study.snapshot.ids[int(row)] for row in view.rows]})
    known = items.join(frame.unique("item"), on="item", how="left", maintain_order="left")
    order = known["instability"].fill_null(0).to_list()
    assert order == sorted(order, reverse=True)


def test_the_items_of_a_drawn_sample_are_found(tmp_path):
    folder = collected(tmp_path)
    study = viewed(folder)
    own = quaver.Study.open(folder)
    own.gold.draw(n=5)
    draw = own.gold.state.draw
    view = study.view("is:drawn")
    assert {study.snapshot.ids[int(row)] for row in view.rows} == {*draw.filter("drawn")["item"]}


@pytest.mark.parametrize(
    ("query", "found", "fix"),
    [
        ("lable:pos", "lable", "did you mean 'label'?"),
        ("label:pso", "pso", "did you mean 'pos'?"),
        ("is:wrog", "wrog", "did you mean 'wrong'?"),
        ("label:", None, None),
        ('"open', '"open', None),
        ("confidence<high", "high", None),
        ("label>pos", ">", None),
        ("prompt:nothing", "nothing", None),
    ],
)
def test_a_wrong_query_says_what_was_found(study, query, found, fix):
    with pytest.raises(QueryError) as raised:
        study.view(query)
    assert (raised.value.found, raised.value.fix) == (found, fix)


@pytest.mark.parametrize("value", ["a b", 'say "x"', "a\\b", "none", "and", "x*", "a,b", "(x)", "words=curt"])
def test_a_quoted_value_is_read_as_it_was(study, value):
    with pytest.raises(QueryError) as unknown:
        study.view(f"label:{quoted(value)}")
    assert unknown.value.found == value


def test_labels_without_answers_are_shown_too(tmp_path):
    rows = "".join(f"{n},{words},{'yes' if n % 2 else 'no'},yes\n" for n in range(6) for words in ("a", "b"))
    (tmp_path / "labels.csv").write_text(f"item,variant,label,gold\n{rows}", encoding="utf-8")
    known = "name: known\ntask: {labels: ['yes', 'no']}\n"
    known += "annotations: {source: labels.csv, label: label, item: item, variant: [variant], gold: gold}\n"
    (tmp_path / "study.yaml").write_text(known, encoding="utf-8")
    study = viewed(tmp_path / "study.yaml")
    assert study.view("is:wrong").matched == 6
    assert [one.prompt for one in study.snapshot.design.columns] == ["variant=a", "variant=b"]


@pytest.mark.parametrize("query", ["", "is:wrong words:curt", "label:positive -gold:pos"])
def test_a_query_in_a_notebook_gives_the_answers_that_the_page_counts(path, frame, query):
    given = quaver.view.answers(path.parent, query)
    wanted = frame.filter(CASES.get(query, QUERIES.get(query)).fill_null(False))
    keys = ["item", "words", "repeat", "label", "gold"]
    assert given.columns[:6] == ["item", "text", "prompt", "model", "decoding", "repeat"]
    rows = given.select(pl.col(keys).cast(pl.String)).rows()
    assert sorted(rows, key=str) == sorted(wanted.select(pl.col(keys).cast(pl.String)).rows(), key=str)
    assert (
        dict(given.select("item", "text").rows()).items() <= dict(frame.select("item", "text").rows()).items()
    )


QUERIES = {
    "is:wrong words:curt": GOLD.is_not_null() & L.ne_missing(GOLD) & (pl.col("words") == "curt"),
    "label:positive -gold:pos": (L == "pos") & GOLD.ne_missing("pos"),
}
