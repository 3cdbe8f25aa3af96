"""A study file with anything anywhere is planned, or is one error that says where and what is wrong."""

import json
from copy import deepcopy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.studies import written

import quaver
from quaver.errors import QuaverError

WHOLE = {
    "name": "whole",
    "seed": 1,
    "task": {"name": "tone", "level": "nominal", "labels": ["positive", {"code": "negative", "name": "bad"}]},
    "items": {
        "source": "items.csv",
        "encoding": "utf-8",
        "separator": ",",
        "id": "id",
        "text": "{{ text }}",
        "gold": {"column": "truth", "map": {"p": "positive", "n": "negative"}},
        "groups": ["side"],
        "sample": 4,
        "seed": 3,
    },
    "prompt": {
        "system": "Be short.",
        "layout": "{{ text }}\n{{ question }}",
        "instruction": "Is it good?",
        "postfix": "Say {{ answers | join(' or ') }}.",
        "answers": {"positive": "Yes", "negative": "No"},
        "explains": False,
        "frame": "chat",
    },
    "variants": [
        {"use": "instructions", "texts": {"curt": "Good?"}, "factor": "words"},
        {"use": "label_order", "orders": "reversed"},
        {"use": "shots", "k": [0, 1], "draws": 1, "place": "turns"},
    ],
    "models": [{"name": "fake", "use": "function", "price": {"input": 1, "output": 2}, "only": {}}],
    "decoding": {
        "greedy": {"max_tokens": 4, "repeats": 1, "only": {"words": "curt"}},
        "warm": {"temperature": [0.5, 1.0], "constraint": "none", "logprobs": 0},
    },
    "repeats": 2,
    "sample": 6,
    "evaluators": ["first_label", {"use": "exact", "name": "strict"}],
    "measures": [
        {
            "use": "accuracy",
            "by": ["model"],
            "evaluator": "strict",
            "only": {"words": "curt"},
            "missing": "drop",
        },
        "intra_pss",
    ],
    "conclusions": [
        {"name": "sides", "formula": "share(positive) ~ side", "effect": "side[b] > side[a]", "group": "side"}
    ],
    "budget": {"calls": 100, "tokens": 1000, "money": 1.5, "seconds": 10},
    "small": {"items": {"sample": 2}},
    "notes": ["A note."],
}
ITEMS = "id,text,truth,side\n" + "".join(f"i{n},Thing {n}.,{'pn'[n % 2]},{'ab'[n // 6]}\n" for n in range(12))

Place = tuple[str | int, ...]


def places(part, at=()):
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield (*at, key)
        yield from places(part[key], (*at, key))


STRANGE = [None, 0, -1, 10**12, 1.5, True, float("inf"), "", "x", "{{", "{{ no }}", "a.b", "é" * 999]
STRANGE += [[], {}, [1], [None], [[]], ["x", "x"], {"a": 1}, {"": ""}, {"x": {"y": ["z"]}}]


def changed(place, how, value):
    study = deepcopy(WHOLE)
    part = study
    for key in place[:-1]:
        part = part[key]
    old = part[place[-1]]
    if how == "without":
        del part[place[-1]]
    elif how == "wrapped":
        part[place[-1]] = [old]
    elif how == "with another key":
        part[place[-1]] = {**old, "zzz": value} if isinstance(old, dict) else {"zzz": old}
    else:
        part[place[-1]] = value
    return study


def planned(folder, study):
    """How many calls a study has."""
    path = written(folder, json.dumps(study), ITEMS)
    return quaver.Study.open(path, functions={"fake": lambda text, prompt: "Yes"}).plan().calls


def test_the_whole_study_is_planned(tmp_path):
    assert planned(tmp_path, WHOLE) > 0


def refusal(folder, study):
    try:
        planned(folder, study)
    except QuaverError as error:
        return error
    return None


@pytest.mark.parametrize("place", [("items", "source"), ("items", "encoding")], ids=".".join)
def test_a_name_too_long_for_a_file_is_refused_briefly(tmp_path, place):
    error = refusal(tmp_path, changed(place, "with", "é" * 999))
    assert error is not None
    assert len(str(error)) < 2000


@pytest.mark.long
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.sampled_from(list(places(WHOLE))),
    how=st.sampled_from(["with", "with", "with", "without", "wrapped", "with another key"]),
    value=st.sampled_from(STRANGE),
)
def test_anything_anywhere_is_planned_or_refused(tmp_path, place, how, value):
    error = refusal(tmp_path, changed(place, how, value))
    assert error is None or error.where, str(error)
    assert "Spec" not in str(error), "the name of a class"
    assert len(str(error)) < 2000


@pytest.mark.parametrize("study", [None, 3, "text", [], [WHOLE], {}])
def test_what_is_no_study_is_refused(tmp_path, study):
    with pytest.raises(QuaverError, match=r"study\.yaml"):
        planned(tmp_path, study)
