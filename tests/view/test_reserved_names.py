"""Labels, groups, factors and ids that are called as something else is: what is shown is what is there."""

import csv
import io
import json
from collections import Counter

import polars as pl
import pytest
from tests.studies import written
from tests.view.viewed import client

import quaver
from quaver.core.column_names import column_of

WORDS = ("none", "null", "unlabelled", "answered", "or", "-", "no", "x*", 'say "so"')
"""Labels, items, and values of groups; and what the empty string is beside them."""

GROUPS = ("none", "or", "-", 'say "so"', "text", "mark", "no", "group.text")


def asked(text, prompt):
    """The item says what the answer is; every third item has none."""
    number = int(text.split()[0])
    return "nothing to say" if number % 3 == 2 else text.split(" ", 1)[1]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Three items a word: of one the label is the gold label, one has no gold label, one gets no label."""
    study = {
        "name": "or",
        "task": {"labels": list(WORDS)},
        "items": {"source": "items.csv", "id": "id", "text": "{{ text }}", "gold": "truth"},
        "prompt": {"instruction": "Which?"},
        "variants": [{"use": "instructions", "texts": {"none": "Say!", "or": "Tell!"}, "factor": "is"}],
        "models": [{"name": "none", "use": "function"}],
        "evaluators": ["exact"],
    }
    study["items"]["groups"] = list(GROUPS)
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(["id", "words", "truth", *GROUPS])
    for place, word in enumerate(WORDS):
        for at in range(3):
            name = word if at == 0 else f"{word} {at}"
            number = 3 * place + at
            group = ("", word, "a,b")[at]
            rows.writerow([name, f"{number} {word}", "" if at == 1 else word, *([group] * len(GROUPS))])
    study["items"]["text"] = "{{ words }}"
    file = written(tmp_path_factory.mktemp("reserved"), json.dumps(study), out.getvalue())
    quaver.Study.open(file, functions={"none": asked}).run(watch=lambda _: None)
    return file


@pytest.fixture(scope="module")
def frame(path):
    opened = quaver.Study.open(path)
    return opened.annotations().with_columns(pl.col(pl.Categorical).cast(pl.String))


@pytest.fixture(scope="module")
def browser(path):
    return client(path)


def facets(browser, query=""):
    """By field and value: how many, and the query that finds them."""
    found = browser.get("api/studies/or/facets", params={"q": query}).json()["fields"]
    return {
        one["field"]: {value["value"]: (value["count"], value["query"]) for value in one["values"]}
        for one in found
    }


def test_the_filters_show_what_is_there_and_find_what_they_show(browser, frame):
    shown = facets(browser)
    counts = Counter(frame["label"].drop_nulls())
    assert set(counts) == set(WORDS)
    assert {value: n for value, (n, _) in shown["label"].items()} == counts
    items = frame.unique("item")
    assert {value: n for value, (n, _) in shown["gold"].items()} == Counter(items["gold"])
    for name in GROUPS:
        own = column_of("group", name)
        assert {value: n for value, (n, _) in shown[own].items()} == Counter(items[own])
    for field, values in shown.items():
        for n, query in values.values():
            found = browser.get("api/studies/or/grid", params={"q": query}).json()
            of_items = field in ("gold", *(column_of("group", name) for name in GROUPS))
            assert found["rows" if of_items else "matched"] == n, query


def test_what_is_absent_has_a_field_of_its_own(browser, frame):
    wanted = {
        "no:label": frame["label"].null_count(),
        "no:gold": frame["gold"].null_count(),
        "-no:label": frame["label"].count(),
        'no:"-"': frame["-"].null_count(),
        "no:mark": frame.height,
        "no:group_text": frame["group_text"].null_count(),
    }
    for query, n in wanted.items():
        found = browser.get("api/studies/or/grid", params={"q": query})
        assert found.json()["matched"] == n, query
    assert browser.get("api/studies/or/grid", params={"q": "no:nothing"}).status_code == 400


def test_factors_levels_and_models_of_these_names(browser, frame):
    for level in ("none", "or", "original"):
        found = browser.get("api/studies/or/grid", params={"q": f"factor_is:{level}"}).json()
        assert found["matched"] == frame.filter(pl.col("factor_is") == level).height > 0
    assert browser.get("api/studies/or/grid", params={"q": "model:none"}).json()["matched"] == frame.height


def test_marks_keep_these_labels(browser):
    marks = "api/studies/or/marks"
    for word in WORDS:
        assert browser.post(marks, json={"item": word, "label": word, "who": "none"}).status_code == 200
    for word in WORDS:
        query = f"marked:{json.dumps(word)}"
        rows = browser.get("api/studies/or/rows", params={"q": query}).json()["rows"]
        assert [one["item"] for one in rows] == [word]
