"""Two prompts compared on the page: the flips it counts are those of the annotations."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.report.test_hostile import HOSTILE, hostile_study, opened_in_silence

from quaver.report.page import figure_data as block
from quaver.report.page.figure_data import Behind, RawAnswer
from quaver.report.page.html_page import write_report

RNG = np.random.default_rng(4)
GIVEN = {(m, i, w, f): RNG.choice(["a", "b", None], p=[0.5, 0.35, 0.15]) for m in "xy" for i in range(20)
         for w in ("plain", "polite") for f in ("names", "letters")}  # fmt: skip


class Stored(Behind):
    """Texts and answers made up of their places."""

    raw = True

    def texts(self, items: Any) -> dict[str, str]:
        return {item: f"text of {item} <b>" for item in items}

    def answers(self, items: Any) -> list[RawAnswer]:
        return [
            RawAnswer(item, "tiny", f"paraphrase={w},format={f}", "greedy", f"{w} {f} says {item}")
            for item in items
            for w in ("plain", "polite")
            for f in ("names", "letters")
        ]

    def costs(self) -> list[Any]:
        return []

    def part_costs(self) -> list[Any]:
        return []


@pytest.fixture(scope="module")
def moving(make: Any) -> Any:
    return make(items=20, repeats=1, answer=lambda i, w, f, k: GIVEN["x", i, w, f])


@pytest.fixture(scope="module")
def report(moving: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("compared"), **moving.inputs(), behind=Stored())


def data_of(path: Path) -> dict[str, Any]:
    found = re.search(r'id="figure-data">(.*?)</script>', path.read_text(encoding="utf-8"))
    assert found is not None
    return dict(json.loads(found[1]))


@pytest.mark.long
def test_flips_are_those_of_the_annotations(browser: Any, report: Path, moving: Any) -> None:
    page = opened_in_silence(browser, report)
    names = data_of(report)["prompts"]
    variants = [one["id"] for one in moving.lock["variants"]]
    first = moving.annotations.filter(pl.col("evaluator") == "first_label")
    labels = {
        name: dict(first.filter(pl.col("variant") == name).select("item", "label").iter_rows())
        for name in variants
    }
    for one, other in combinations(range(len(variants)), 2):
        page.locator("#compare [name=first]").select_option(names[one])
        page.locator("#compare [name=second]").select_option(names[other])
        apart = {i for i in labels[variants[0]] if labels[variants[one]][i] != labels[variants[other]][i]}
        assert page.locator("#compare [data-flips]").get_attribute("data-flips") == str(len(apart))
        assert set(page.locator("#compare td:first-child").all_inner_texts()) == apart
    page.close()


def test_a_row_has_the_text_both_labels_and_both_answers(browser: Any, report: Path) -> None:
    page = opened_in_silence(browser, report)
    page.locator("#compare [name=first]").select_option("plain · names")
    page.locator("#compare [name=second]").select_option("polite · letters")
    apart = [i for i in range(20) if GIVEN["x", i, "plain", "names"] != GIVEN["x", i, "polite", "letters"]]
    row = page.locator("#compare tbody tr", has=page.get_by_role("cell", name=str(apart[0]), exact=True))
    said = {"a": "Alpha", "b": "Beta", None: "no label"}
    assert row.first.locator("td").all_inner_texts() == [
        str(apart[0]),
        f"text of {apart[0]} <b>",
        said[GIVEN["x", apart[0], "plain", "names"]],
        said[GIVEN["x", apart[0], "polite", "letters"]],
        f"plain names says {apart[0]}",
        f"polite letters says {apart[0]}",
    ]
    page.close()


def test_a_model_is_chosen_where_there_are_several(browser: Any, make: Any, tmp_path: Path) -> None:
    """The second model answers the same whatever the prompt."""
    study = make(items=12, models=("one", "two"), repeats=1)
    fixed = (pl.col("model").cast(pl.String) == "two").and_(pl.col("label").is_not_null())
    study.annotations = study.annotations.with_columns(
        label=pl.when(fixed).then(pl.lit("a")).otherwise(pl.col("label").cast(pl.String)).cast(pl.Categorical)
    )
    page = opened_in_silence(browser, write_report(tmp_path, **study.inputs()))
    flips = page.locator("#compare [data-flips]")
    assert flips.get_attribute("data-flips") == "12"
    page.locator("#compare [name=model]").select_option("two")
    page.locator("#compare [name=second]").select_option("plain · letters")
    assert flips.get_attribute("data-flips") == "1"  # the one answer without a label
    assert not page.locator("#compare [name=decoding]").is_visible()
    page.close()


def test_of_repeats_the_most_frequent_label_counts(make: Any, tmp_path: Path) -> None:
    study = make(
        items=3, repeats=3, answer=lambda i, w, f, k: [["a", "b", "b"], ["b", None, "a"], [None] * 3][i][k]
    )
    found = data_of(write_report(tmp_path, **study.inputs()))
    (group,) = found["groups"]
    line = dict(zip(found["items"], group["labels"][0], strict=True))
    assert [line[str(item)] for item in range(3)] == ["1", "0", "."]


def test_of_a_large_study_a_sample_is_listed_and_said(
    browser: Any, make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "_MOST_LABELS", 40)
    path = write_report(tmp_path, **make(items=30, repeats=1).inputs())
    found = data_of(path)
    assert (len(found["items"]), found["itemsInAll"]) == (10, 30)
    page = opened_in_silence(browser, path)
    assert "sample of 10 of 30 items" in page.locator("#compare").inner_text()
    page.close()


def test_many_labels_take_more_characters(make: Any, tmp_path: Path) -> None:
    study = make(items=70, repeats=1, answer=lambda i, w, f, k: "ab"[i % 2])
    codes = [f"c{n:03d}" for n in range(70)]
    study.lock["labels"]["labels"] = [{"code": code, "name": code.upper()} for code in codes]
    study.annotations = study.annotations.with_columns(
        label=pl.concat_str(pl.lit("c"), pl.col("item").cast(pl.String).str.zfill(3)).cast(pl.Categorical)
    )
    study.estimates = []
    found = data_of(write_report(tmp_path, **study.inputs()))
    assert found["width"] == 2
    line = found["groups"][0]["labels"][0]
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for at, item in enumerate(found["items"]):
        high, low = (digits.index(one) for one in line[2 * at : 2 * at + 2])
        assert found["labels"][62 * high + low] == codes[int(item)].upper()


@pytest.mark.long
def test_hostile_names_are_text_in_the_choices_and_the_table(browser: Any, make: Any, tmp_path: Path) -> None:
    page = opened_in_silence(browser, write_report(tmp_path, **hostile_study(make).inputs()))
    offered = page.locator("#compare [name=first] option").all_inner_texts()
    assert any(HOSTILE[0] in text for text in offered)
    page.locator("#compare [name=second]").select_option(index=1)
    assert page.locator("#compare td", has_text="<i>A</i>").count() > 0
    assert page.locator("#compare :is(i, img, svg, script)").count() == 0
    page.close()


def test_without_the_script_there_is_nothing_to_choose(browser: Any, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert not page.locator("#compare").is_visible()
    assert page.locator("figure svg:visible").count() > 3
    context.close()
