"""Two prompts, and two studies, item by item."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.view.viewed import STUDY, client, collected

import quaver
from quaver.comparison.alignment import strings_of


def shouted(text: str, prompt: str) -> str:
    """Another model's answers."""
    return "negative" if "no. 1" in text else "positive"


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("compared")
    other = STUDY.replace("name: tones", "name: others")
    return [collected(folder / "a", count=20), collected(folder / "b", other, 24, shouted)]


@pytest.fixture(scope="module")
def browser(paths: list[Path]) -> TestClient:
    return client(*paths)


def modal(path: Path, words: str = "") -> dict[str, str | None]:
    """Each item's most frequent label, as `quaver compare` takes it."""
    frame = strings_of(quaver.Study.open(path)).filter(evaluator="first_label")
    found: dict[str, str | None] = {}
    for (item,), part in frame.group_by("item"):
        own = part.filter(words=words) if words else part
        counts = (
            own.drop_nulls("label").group_by("label").len().sort("len", "label", descending=[True, False])
        )
        found[str(item)] = counts["label"][0] if counts.height else None
    return found


def test_two_studies(browser: TestClient, paths: list[Path]) -> None:
    one, other = (modal(path) for path in paths)
    gold = {item.id: item.gold for item in quaver.Study.open(paths[0]).experiment.items}
    flips = {item for item in one if one[item] != other[item]}
    found = browser.get("api/compare?a=tones&b=others&count=100").json()
    assert (found["items"], found["only_a"], found["only_b"]) == (20, 0, 4)
    assert {row["item"]: (row["a"]["label"], row["b"]["label"]) for row in found["rows"]} == {
        item: (one[item], other[item]) for item in flips
    }
    assert found["flipped"] == len(flips)
    assert found["gain"] == sum(gold[item] is not None and other[item] == gold[item] for item in flips)
    assert found["loss"] == sum(gold[item] is not None and one[item] == gold[item] for item in flips)
    assert found["agreement"] == pytest.approx(1 - len(flips) / 20)
    labels = found["table"]["labels"]
    for place, row in enumerate(found["table"]["counts"]):
        for at, n in enumerate(row):
            assert n == sum((one[item], other[item]) == (labels[place], labels[at]) for item in one)


def test_two_prompts_of_one_study(browser: TestClient, paths: list[Path]) -> None:
    one, other = modal(paths[0], "curt"), modal(paths[0], "plain")
    found = browser.get("api/compare?a=tones&b=tones&A=prompt:curt&B=words:plain&count=100").json()
    assert {row["item"] for row in found["rows"]} == {item for item in one if one[item] != other[item]}
    assert (found["a"]["columns"], found["b"]["columns"]) == (3, 3)
    for row in found["rows"]:
        answer = browser.get(
            "api/studies/tones/answer", params={"item": row["item"], "column": row["a"]["column"]}
        )
        assert answer.json()["response"]["text"] == row["a"]["text"]
        assert answer.json()["reading"]["label"] == row["a"]["label"]


def test_changes_can_be_chosen_and_paged(browser: TestClient) -> None:
    every = browser.get("api/compare?a=tones&b=others&change=all&count=100").json()["rows"]
    for change in ("gain", "loss"):
        rows = browser.get(f"api/compare?a=tones&b=others&change={change}&count=100").json()["rows"]
        assert [row["item"] for row in rows] == [row["item"] for row in every if row["change"] == change]
    page = browser.get("api/compare?a=tones&b=others&change=all&from=5&count=3").json()["rows"]
    assert [row["item"] for row in page] == [row["item"] for row in every[5:8]]


@pytest.mark.parametrize(
    "asked",
    ["a=tones&b=nothing", "a=tones&change=odd", "a=tones&b=others&A=label:pos", "a=tones&b=others&q=lable:x"],
)
def test_what_cannot_be_compared_is_refused(browser: TestClient, asked: str) -> None:
    assert browser.get(f"api/compare?{asked}").status_code in (400, 404)
