"""Several studies at once: a study file, one of the same name, a bundle, imported labels."""

import pytest
from tests.view.viewed import collected, shown

import quaver

ROWS = [
    f"i{n},{variant},{'pos' if (n + at) % 3 else 'neg'}" for n in range(8) for at, variant in enumerate("xy")
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("several")
    first = collected(folder / "first", count=6)
    second = collected(folder / "second", count=8)
    packed, _ = quaver.bundle(quaver.Study.open(first), folder / "packed.quaver.zip")
    table = folder / "coded.csv"
    table.write_text("\n".join(["item,variant,label", *ROWS]) + "\n", encoding="utf-8")
    quaver.import_annotations(table, folder / "coded")
    return shown(first, second, packed, folder / "coded")


@pytest.mark.long
def test_each_has_an_address_of_its_own(browser):
    found = browser.get("api/studies").json()["studies"]
    assert [one["id"] for one in found] == ["tones", "tones-2", "packed", "coded"]
    assert [one["items"] for one in found] == [6, 8, 6, 8]
    assert [one["answers"] for one in found] == [54, 72, 54, 16]
    assert [one["kind"] for one in found[2:]] == ["a bundle of a study", "imported labels"]


def test_what_was_packed_has_not_changed_since(browser):
    said = [browser.get(f"api/studies/{name}").json()["progress"]["warnings"] for name in ("tones", "packed")]
    assert said[0] == said[1]


def test_each_shows_its_own_answers(browser):
    totals = {
        name: browser.get(f"api/studies/{name}/answers", params={"q": "label:pos"}).json()["total"]
        for name in ("tones", "tones-2", "packed", "coded")
    }
    assert totals["tones"] == totals["packed"]
    assert totals["coded"] == sum(row.endswith("pos") for row in ROWS)
    one = browser.get("api/studies/packed/answer", params={"item": "i1", "column": 0}).json()
    same = browser.get("api/studies/tones/answer", params={"item": "i1", "column": 0}).json()
    for part in ("item", "column", "response", "reading", "readings", "prompt", "siblings"):
        assert one[part] == same[part], part
    label = browser.get("api/studies/coded/answer", params={"item": "i1", "column": 0}).json()
    assert label["response"] is None
    assert label["reading"]["label"] == "pos"


def test_examples_of_queries_are_those_that_can_find_something(browser):
    design = browser.get("api/studies/coded/design").json()
    assert not design["has"]["confidence"]
    shown = {one["query"] for one in design["examples"]}
    assert "is:flip" in shown
    assert not shown & {"confidence<0.6", "is:wrong"}
    assert "is:wrong" in {one["query"] for one in browser.get("api/studies/tones/design").json()["examples"]}


def test_a_mark_stays_with_its_study(browser):
    body = {"item": "i2", "column": 1, "mark": "disagree"}
    assert browser.post("api/studies/tones-2/marks", json=body).status_code == 200
    counts = {
        name: browser.get(f"api/studies/{name}/marks").json()["total"]
        for name in ("tones", "tones-2", "packed", "coded")
    }
    assert counts == {"tones": 0, "tones-2": 1, "packed": 0, "coded": 0}
