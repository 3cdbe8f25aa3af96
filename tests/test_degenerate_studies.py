"""Studies with nothing to measure in them, through every command that measures: a reason, and never a NaN."""

import json
import re
from contextlib import suppress
from html import unescape

import pytest
from tests.chromium import browser
from tests.studies import written

import quaver
from quaver.errors import ModelError, StoreError
from quaver.study.session import Study

__all__ = ["browser"]

MEASURES = (
    *("accuracy", "compliance", "f1", "inter_model", "inter_pss", "intra_pss", "label_shares", "spread"),
    *("factor_effects", "distribution_shift", "original_agreement"),
)


def sensible(text, prompt):
    return ("positive", "negative")[(7 * len(text) + len(prompt)) % 2]


def one_label(text, prompt):
    return "positive"


def no_label(text, prompt):
    return "Hm."


def fails(text, prompt):
    raise ValueError("no")


def other(text, prompt):
    """Never asked: the answers of another function do not count as its own."""
    raise AssertionError


def opened(folder, answer, *, items=6, variants=True, gold=("positive", "negative")):
    rows = [f"i{n},Text {n} {'x' * n},{gold[n % len(gold)] if gold else ''}" for n in range(items)]
    measures = [{"use": name} for name in MEASURES]
    measures += [{"use": name, "by": ["gold"]} for name in ("sensitivity", "consistency")]
    few = [{**one, "resamples": 100} for one in measures]
    study = {
        "name": "Tiny",
        "task": {"labels": ["positive", "negative"]},
        "items": {"source": "items.csv", "id": "id", "text": "{{ text }}", "gold": "truth"},
        "prompt": {"instruction": "Which?"},
        "models": [{"name": "fake", "use": "function"}],
        "evaluators": ["first_label", "exact"],
        "measures": few,
        "conclusions": [{"name": "half", "formula": "share(positive) ~ 1", "effect": "Intercept > 0.5"}],
    }
    if variants:
        study["variants"] = [{"use": "instructions", "texts": {"b": "Which is it?", "c": "Say which!"}}]
    path = written(folder, json.dumps(study), "\n".join(["id,text,truth", *rows]) + "\n")
    return Study.open(path, functions={"fake": answer})


def nothing_fits(folder):
    opened(folder, sensible).run()
    return opened(folder, other)


def every_call_fails(folder):
    study = opened(folder, fails)
    for _ in range(3):  # a run ends after eight calls that fail alike, and the next one goes on
        with suppress(ModelError):
            study.run()
    return study


def run(folder, answer=sensible, **how):
    study = opened(folder, answer, **how)
    study.run()
    return study


CASES = {
    "one item": (lambda folder: run(folder, items=1), ("no variation",)),
    "one variant": (
        lambda folder: run(folder, variants=False),
        ("only 6 texts have a label", "fewer than two raters"),
    ),
    "one of all": (
        lambda folder: run(folder, one_label, items=1, variants=False),
        ("only 1 text has a label",),
    ),
    "no gold": (lambda folder: run(folder, gold=()), ("Accuracy could not be measured", "no gold")),
    "one class": (lambda folder: run(folder, gold=("positive",)), ("Accuracy",)),
    "one label in use": (
        lambda folder: run(folder, one_label),
        ("only 6 texts have a label", "no variation"),
    ),
    "no valid answer": (
        lambda folder: run(folder, no_label),
        ("of the answers have no label", "Stability between prompts could not be measured"),
    ),
    "every call fails": (every_call_fails, ("of the calls failed", "error")),
}


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory):
    made = CASES[request.param][0](tmp_path_factory.mktemp("degenerate"))
    return request.param, made


def test_every_estimate_has_a_value_or_a_reason(case):
    for one in [*case[1].estimates(), *case[1].estimates(of="audit"), *case[1].estimates(of="charts")]:
        numbers = [number for number in (one.value, one.low, one.high) if number is not None]
        assert all(abs(number) < 1e9 for number in numbers), one
        assert (one.value is None) == bool(one.reason), one


@pytest.mark.long
def test_the_page_says_what_is_missing(case, browser):
    name, study = case
    path = study.report()
    page, said = browser.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    text = " ".join(page.locator("body").inner_text().split())
    empty = page.evaluate(
        "[...document.querySelectorAll('figure')].filter(f => [...f.querySelectorAll('svg')]"
        ".some(s => s.querySelectorAll('path, rect, line, circle').length < 3)).map(f => f.id)"
    )
    page.close()
    assert (said, empty) == ([], [])
    whole = " ".join(
        unescape(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", path.read_text(), flags=re.S)).split()
    )
    for words in CASES[name][1]:
        assert words in whole
    written_out = [
        file.read_text()
        for file in (path.with_name("estimates.csv"), *(path.parent / "tables").glob("*.csv"))
    ]
    for form in (text, whole, *written_out):
        assert re.findall(r"\b(?:NaN|nan|inf|None)\b", form) == []


def test_the_composers_say_why_or_answer(case):
    study = case[1]
    found = quaver.compare(study, study, resamples=100)
    assert found.flips.is_empty()
    assert all(one.value == 0 for one in found.differences if one.value is not None)


def test_answers_that_no_longer_belong_to_a_study_are_named_and_stay(tmp_path):
    study = nothing_fits(tmp_path)
    kept = {path: path.read_bytes() for path in tmp_path.glob("annotations*")}
    for read in (study.estimates, study.report, study.verdict, lambda: quaver.compare(study, study)):
        with pytest.raises(StoreError, match="none of the stored answers belongs to the study"):
            read()
    assert {path: path.read_bytes() for path in tmp_path.glob("annotations*")} == kept
