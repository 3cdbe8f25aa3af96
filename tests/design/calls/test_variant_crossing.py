"""Grids of decodings, nesting, samples: what of all combinations is asked, and how it is named."""

import pytest
from tests.studies import resolved, written

from quaver.design.calls.call_plan import Plan
from quaver.errors import SpecError

FAMILIES = [
    {"use": "instructions", "texts": {"curt": "Positive?", "long": "Would you call it positive?"}},
    {
        "use": "prompts",
        "factor": "format",
        "prompts": {
            "original": {},
            "digits": {"postfix": "0 or 1.", "answers": {"positive": "1", "negative": "0"}},
        },
    },
]


def study(folder, **parts):
    written(folder)
    asked = {
        "task": {"labels": ["positive", "negative"]},
        "items": {"source": str(folder / "items.csv"), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Is this positive or negative?"},
        "models": [{"name": "fake", "use": "function"}],
        "variants": FAMILIES,
    }
    return resolved(asked | parts)


def ids(made):
    return [variant.id for variant in made.variants]


# ----------------------------------------------------------------------------- grids


def test_a_grid_is_every_combination_of_its_values(tmp_path):
    decoding = {
        "greedy": {"temperature": 0},
        "hot": {"temperature": [0.5, 1], "top_p": [0.9, 1.0], "repeat_penalty": [1.1], "max_tokens": 4},
    }
    made = study(tmp_path, decoding=decoding)
    assert list(made.decodings) == [
        "greedy",
        "hot,temperature=0.5,top_p=0.9,repeat_penalty=1.1",
        "hot,temperature=0.5,top_p=1,repeat_penalty=1.1",
        "hot,temperature=1,top_p=0.9,repeat_penalty=1.1",
        "hot,temperature=1,top_p=1,repeat_penalty=1.1",
    ]
    last = made.decodings["hot,temperature=1,top_p=1,repeat_penalty=1.1"]
    assert (last.temperature, last.top_p, last.repeat_penalty, last.max_tokens) == (1, 1, 1.1, 4)
    assert last.grid == ("temperature", "top_p", "repeat_penalty")
    assert made.decodings["greedy"].grid == ()
    assert len(made.conditions) == 6 * 5


def test_a_value_more_leaves_names_and_keys_of_the_others(tmp_path):
    def keys(temperatures):
        made = study(tmp_path, decoding={"hot": {"temperature": temperatures, "repeats": 2}})
        requests = Plan(made, {"fake": "weights"}).requests("fake")
        return {call.key: made.conditions[call.condition].decoding for r in requests for call in r.calls}

    few, more = keys([0.5, 1]), keys([0.2, 0.5, 1])
    assert few.items() <= more.items()
    assert len(few) == 6 * 3 * 2 * 2


def test_a_grid_of_one_asks_what_the_setting_alone_asks(tmp_path):
    def keys(temperature):
        made = study(tmp_path, decoding={"hot": {"temperature": temperature, "seed": 3}})
        return {call.key for r in Plan(made, {"fake": "w"}).requests("fake") for call in r.calls}

    assert keys(0.5) == keys([0.5])


def test_a_factor_gives_way_to_a_grid_s_column(tmp_path):
    families = [FAMILIES[0] | {"factor": "temperature"}]
    made = study(tmp_path, variants=families, decoding={"hot": {"temperature": [0, 1]}})
    assert {name for variant in made.variants for name in variant.factors} == {"factor_temperature"}


def test_a_model_or_a_decoding_may_be_asked_in_a_part_of_the_design(tmp_path):
    models = [
        {"name": "cheap", "use": "function"},
        {"name": "dear", "use": "function", "only": {"paraphrase": ["original", "curt"]}},
    ]
    decoding = {"greedy": {}, "hot": {"temperature": 1, "repeats": 3, "only": {"format": "original"}}}
    made = study(tmp_path, models=models, decoding=decoding)
    # cheap: 6 variants greedy, 3 hot; dear: 4 greedy, 2 hot
    assert len(made.conditions) == 6 + 3 + 4 + 2
    assert made.calls == 3 * (6 + 3 * 3 + 4 + 2 * 3)
    plan = Plan(made, {"cheap": "w", "dear": "w"})
    assert (
        sum(len(request.calls) for name in ("cheap", "dear") for request in plan.requests(name)) == made.calls
    )


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        (
            {
                "sample": ["paraphrase=original,format=digits", "paraphrase=curt,format=original"],
                "decoding": {"hot": {"only": {"paraphrase": "curt", "format": "digits"}}},
            },
            SpecError,
            "the decoding 'hot' would never be used",
        ),
    ],
)
def test_what_can_never_be_asked_is_refused(tmp_path, parts, error, message):
    with pytest.raises(error, match=message):
        study(tmp_path, **parts)


# ---------------------------------------------------------------------------- sample


def test_a_sample_is_seeded_keeps_the_first_and_the_order(tmp_path):
    full = ids(study(tmp_path))
    made = study(tmp_path, sample=4)
    assert len(made.variants) == 4
    assert ids(made)[0] == full[0]
    assert ids(made) == [name for name in full if name in ids(made)]
    assert ids(study(tmp_path, sample=4)) == ids(made)
    drawn = {tuple(ids(study(tmp_path, sample=4, seed=seed))) for seed in range(20)}
    assert len(drawn) > 5
    (note,) = made.notes
    assert "4 of 6 variants" in note
    assert "3 others" in note
    whole = study(tmp_path, sample=6)
    assert (len(whole.variants), whole.notes) == (6, [])


def test_scores_cannot_be_asked_for_where_labels_alone_may_be_written(tmp_path):
    factors = [{"use": "factors", "factors": {"output": ["label", "score"]}}]
    decoding = {"free": {}, "held": {"constraint": "labels"}}
    with pytest.raises(SpecError, match="score"):
        study(tmp_path, variants=factors, decoding=decoding)
    decoding["held"]["only"] = {"output": "label"}
    assert len(study(tmp_path, variants=factors, decoding=decoding).conditions) == 3
