"""Judges whose behaviour is planted: each measure finds what was put in, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from quaver.core.records import Label, LabelSet
from quaver.design.items.built_in import judged_answers as rows
from quaver.errors import QuaverError
from quaver.measures import (
    accuracy,
    corrected_score,
    corrected_share,
    leniency,
    partiality,
    position_bias,
    verbosity_bias,
)
from quaver.study.session import Study

PAIRS = rows()
Choice = Callable[[np.random.Generator, dict[str, Any], str], str]


def judged(choose: Choice, repeats: int = 3, seed: int = 0) -> pl.DataFrame:
    """The built-in pairs as a judge decided them, in both orders."""
    rng, made = np.random.default_rng(seed), []
    for pair in PAIRS:
        for order, first in (("original", "A"), ("reversed", "B")):
            for repeat in range(repeats):
                made.append(
                    {
                        "item": pair["pair"],
                        "model": "judge",
                        "variant": order,
                        "option_order": order,
                        "repeat": repeat,
                        "label": choose(rng, pair, first),
                        "gold": pair["better"],
                        **{name: pair[name] for name in ("longer", "own")},
                    }
                )
    return pl.DataFrame(made)


def right(rng: np.random.Generator, pair: dict[str, Any], first: str) -> str:
    return str(pair["better"])


def biased(toward: str, share: float) -> Choice:
    """Right, but in a share of cases whatever stands first, is longer, or is its own."""

    def choose(rng: np.random.Generator, pair: dict[str, Any], first: str) -> str:
        if rng.random() >= share:
            return str(pair["better"])
        return first if toward == "first" else str(pair[toward])

    return choose


def test_the_pairs_are_balanced() -> None:
    assert len(PAIRS) == 4 * 24
    frame = pl.DataFrame(PAIRS)
    assert frame["pair"].n_unique() == len(PAIRS)
    counts = frame.group_by("better", "longer").len()["len"].to_list()
    assert counts == [24] * 4
    for name in ("better", "longer"):
        assert (frame["own"] == frame[name]).mean() == 0.5


def test_a_judge_that_knows_has_no_bias() -> None:
    frame = judged(right)
    bias = position_bias(frame, by=[])[0]
    assert (bias.value, bias.details["alike"]) == (0.0, 1.0)
    for name in ("longer", "own"):
        assert partiality(frame, by=[], toward=name)[0].value == 0.0
    assert accuracy(frame, by=[])[0].value == 1.0


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_what_stands_first_is_found_and_is_no_preference_for_length(share: float) -> None:
    frames = [judged(biased("first", share), 2, seed) for seed in range(20)]
    found = [position_bias(frame, by=[])[0] for frame in frames]
    ends = [(one.low or 0.0, one.high or 0.0) for one in found]
    assert sum(low <= share <= high for low, high in ends) >= 17
    assert min(low for low, _ in ends) > 0
    assert np.mean([one.value for one in found]) == pytest.approx(share, abs=0.03)
    frame = frames[0]
    for name in ("longer", "own"):
        other = partiality(frame, by=[], toward=name)[0]
        assert other.low is not None
        assert other.high is not None
        assert other.low <= 0 <= other.high


@pytest.mark.parametrize("toward", ["longer", "own"])
def test_a_preference_is_found_and_is_no_position(toward: str) -> None:
    """A judge that gives way in 40% of cases: half of these answers were wrong, so 0.2 more than people."""
    frame = judged(biased(toward, 0.4))
    found = partiality(frame, by=[], toward=toward)[0]
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low <= 0.2 <= found.high
    assert found.details["people"] == 0.5
    bias = position_bias(frame, by=[])[0]
    assert bias.low is not None
    assert bias.high is not None
    assert bias.low <= 0 <= bias.high


def test_the_values_are_those_of_a_few_lines_of_numpy() -> None:
    frame = judged(biased("first", 0.3), seed=4)
    forward, backward = (
        frame.filter(pl.col("option_order") == order)
        .group_by("item")
        .agg((pl.col("label") == "A").mean().alias("share"))
        .sort("item")["share"]
        .to_numpy()
        for order in ("original", "reversed")
    )
    assert position_bias(frame, by=[])[0].value == pytest.approx(float((forward - backward).mean()))
    by_item = frame.group_by("item").agg(
        (pl.col("label") == pl.col("longer")).mean().alias("judge"),
        (pl.col("gold") == pl.col("longer")).first().alias("people"),
    )
    expected = (by_item["judge"] - by_item["people"].cast(pl.Float64)).mean()
    assert partiality(frame, by=[], toward="longer")[0].value == pytest.approx(expected)


def padded_pairs(share: float, seed: int) -> pl.DataFrame:
    """Right, but in a share of cases for what is padded: A in one prompt, B in another, none in a third."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "item": pair["pair"],
            "model": "judge",
            "variant": padding,
            "padding": padding,
            "repeat": repeat,
            "label": padding if padding != "original" and rng.random() < share else pair["better"],
        }
        for pair in PAIRS
        for padding in ("original", "A", "B")
        for repeat in range(2)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_padding_that_helps_is_found(share: float) -> None:
    """Half of the padded answers were right anyway, so that half of the share is what padding does."""
    frames = [padded_pairs(share, seed) for seed in range(20)]
    found = [verbosity_bias(frame, by=[])[0] for frame in frames]
    assert np.mean([one.value for one in found]) == pytest.approx(share / 2, abs=0.02)
    if share:
        assert sum((one.low or 0) <= share / 2 <= (one.high or 0) for one in found) >= 17
    frame = frames[0]
    shares = {
        (padding, label): frame.filter(pl.col("padding") == padding)
        .group_by("item")
        .agg((pl.col("label") == label).mean())
        .sort("item")["label"]
        .to_numpy()
        for padding in ("original", "A", "B")
        for label in ("A", "B")
    }
    gains = [shares[label, label] - shares["original", label] for label in ("A", "B")]
    assert found[0].value == pytest.approx(float(np.mean(gains)))
    chosen = (shares["A", "A"] + shares["B", "B"]).mean() / 2
    assert found[0].details["padded"] == pytest.approx(float(chosen))


def test_padding_and_scores() -> None:
    rng = np.random.default_rng(3)
    true = rng.integers(1, 5, 50)
    kind = true + (rng.random(50) < 0.6)  # one grade more for what is padded, in six cases of ten
    frame = pl.DataFrame(
        {
            "item": [*range(50), *range(50)],
            "padding": ["original"] * 50 + ["padded"] * 50,
            "variant": ["original"] * 50 + ["padded"] * 50,
            "label": [str(one) for one in (*true, *kind)],
        }
    )
    found = verbosity_bias(frame, by=[])[0]
    assert found.value == pytest.approx((kind - true).mean())
    assert found.details["plain"] == pytest.approx(true.mean())
    assert found.details["padded"] == pytest.approx(kind.mean())
    alone = verbosity_bias(frame.filter(pl.col("padding") == "original"), by=[])[0]
    assert (alone.value, bool(alone.reason)) == (None, True)
    words = frame.with_columns(label=pl.lit("good"))
    assert verbosity_bias(words, by=[])[0].reason == "there is only one score"
    kinds = LabelSet((Label("good", "good"), Label("poor", "poor")), "nominal")
    assert verbosity_bias(words, by=[], labels=kinds)[0].reason == "the labels are no numbers"
    with pytest.raises(QuaverError):
        verbosity_bias(frame, by=[], padding="elsewhere")


def test_an_order_that_was_not_asked_leaves_the_bias_undefined() -> None:
    frame = judged(right).filter(pl.col("option_order") == "original")
    found = position_bias(frame, by=[])[0]
    assert found.value is None
    assert found.reason
    with pytest.raises(QuaverError):
        position_bias(frame, by=[], order="elsewhere")
    with pytest.raises(QuaverError):
        partiality(frame, by=[], toward="elsewhere")


def scored(
    shift: float, seed: int = 0, systems: int = 2, items: int = 400
) -> tuple[pl.DataFrame, np.ndarray]:
    """Scores from 1 to 5 of answers by two systems; the judge is too kind to the second by a shift."""
    rng, items = np.random.default_rng(seed), 400
    system = np.arange(items) % systems
    true = np.clip(np.round(rng.normal(3 + 0.3 * system, 1.0)), 1, 5)
    given = np.clip(np.round(true + rng.normal(0.3 + shift * system, 0.6)), 1, 5)
    drawn = rng.permutation(items) < items // 4
    frame = pl.DataFrame(
        {
            "item": np.arange(items),
            "model": "judge",
            "label": [str(int(one)) for one in given],
            "gold": [str(int(one)) for one in true],
            "gold_probability": 0.25,
            "gold_drawn": drawn,
            "system": [f"s{one}" for one in system],
        }
    )
    return frame, np.array([true[system == one].mean() for one in range(systems)])


def test_leniency_is_the_mean_of_scores_less_those_of_people() -> None:
    frame, _ = scored(0.5)
    found = {one.cell["system"]: one for one in leniency(frame, by=["system"])}
    for name, one in found.items():
        own = frame.filter(pl.col("system") == name)
        apart = (own["label"].cast(pl.Float64) - own["gold"].cast(pl.Float64)).mean()
        assert one.value == pytest.approx(apart)
    low, high = found["s0"], found["s1"]
    assert low.high is not None
    assert high.low is not None
    assert low.high < high.low
    nominal, ordinal = (
        LabelSet((Label("A", "A"), Label("B", "B")), level) for level in ("nominal", "ordinal")
    )
    frame = judged(lambda rng, pair, first: "B")
    assert leniency(frame, by=[], labels=nominal)[0].value is None
    assert leniency(frame, by=[], labels=ordinal)[0].value == 0.5  # half of the right answers are A


def test_a_corrected_score_covers_what_people_would_say_although_the_judge_is_too_kind() -> None:
    covered = naive = 0
    for seed in range(25):
        frame, truth = scored(0.6, seed)
        blind = frame.with_columns(pl.when("gold_drawn").then("gold").alias("gold"))
        for at, one in enumerate(corrected_score(blind, by=["system"])):
            assert one.low is not None
            assert one.high is not None
            covered += one.low <= truth[at] <= one.high
            # The judge's own mean for the system that it favours is further off than the interval is wide.
            naive += at == 1 and abs(one.details["naive"]["mean"] - truth[at]) < one.high - one.low
    assert covered >= 44  # of 50
    assert naive <= 2  # of 25


def test_how_often_an_answer_wins_is_corrected_for_a_judge_that_prefers_length() -> None:
    """The judge gives B too many wins where it is longer; gold of half the pairs says how often it wins."""
    rng = np.random.default_rng(3)
    items = 400
    better, longer = rng.random(items) < 0.35, rng.random(items) < 0.8
    given = np.where(rng.random(items) < 0.5, longer, better)
    drawn = rng.permutation(items) < 200
    frame = pl.DataFrame(
        {
            "item": range(items),
            "label": np.where(given, "B", "A"),
            "gold": [
                ("B" if one else "A") if known else None for one, known in zip(better, drawn, strict=True)
            ],
            "gold_probability": 0.5,
            "gold_drawn": drawn,
        }
    )
    wins = next(one for one in corrected_share(frame) if one.cell["label"] == "B")
    assert wins.low is not None
    assert wins.high is not None
    assert wins.low <= better.mean() <= wins.high
    assert abs(given.mean() - better.mean()) > (wins.high - wins.low) / 2


def test_a_study_of_pairs_maps_choices_back_and_finds_the_planted_bias(tmp_path: Any) -> None:
    def first(text: str, prompt: str) -> str:
        return "A"

    study = {
        "task": {"labels": ["A", "B"], "options": ["answer_a", "answer_b"]},
        "items": {
            "source": "judged_answers",
            "id": "pair",
            "sample": 12,
            "gold": "better",
            "groups": ["longer", "own"],
            "text": "Question: {{ question }}\n\n{{ options }}",
        },
        "prompt": {"instruction": "Which answer is better?", "postfix": "A or B?"},
        "variants": [{"use": "option_order", "orders": "reversed"}],
        "models": [{"name": "judge", "use": "function"}],
        "evaluators": ["first_character"],
        "measures": [
            {"use": "position_bias", "by": ["model"]},
            {"use": "partiality", "by": ["model"], "toward": "longer"},
        ],
    }
    opened = Study.open(study, folder=tmp_path / "judge", functions={"judge": first})
    opened.run()
    found = {one.measure: one for one in opened.estimates()}
    assert found["position_bias"].value == 1.0
    assert found["position_bias"].details["alike"] == 0.0
    assert found["partiality"].details["judge"] == 0.5


def test_scores_on_another_scale_are_the_same_grades(tmp_path: Any) -> None:
    """A judge that gives long answers one grade more, on either scale."""

    def grade(text: str, prompt: str) -> str:
        score = min(5, int(text.split()[-1]) + ("long" in text))
        return str(score * 20 if "hundred" in prompt else score)

    table = "".join(
        f"a{at},{'long' if at % 2 else 'short'} answer worth {1 + at % 4},{1 + at % 4},{'ns'[at % 2]}\n"
        for at in range(16)
    )
    (tmp_path / "answers.csv").write_text(f"id,answer,score,length\n{table}", encoding="utf-8")
    study = {
        "task": {"labels": [1, 2, 3, 4, 5], "level": "interval"},
        "items": {
            "source": str(tmp_path / "answers.csv"),
            "id": "id",
            "text": "{{ answer }}",
            "gold": "score",
            "groups": ["length"],
        },
        "prompt": {"instruction": "How good is the answer?", "postfix": "From 1 to 5."},
        "variants": [
            {
                "use": "formats",
                "original": True,
                "formats": {
                    "hundred": {
                        "postfix": "From 20 to one hundred.",
                        "answers": {str(one): str(20 * one) for one in range(1, 6)},
                    }
                },
            }
        ],
        "models": [{"name": "judge", "use": "function"}],
        "evaluators": ["label_match"],
        "measures": [{"use": "leniency", "by": ["format", "length"]}],
    }
    opened = Study.open(study, folder=tmp_path / "scores", functions={"judge": grade})
    opened.run()
    found = {(one.cell["format"], one.cell["group_length"]): one.value for one in opened.estimates()}
    assert found == {
        (scale, length): float(length == "s") for scale in ("original", "hundred") for length in "ns"
    }


def test_sets_of_labels_are_no_scores() -> None:
    labels = LabelSet((Label("tax", "tax"), Label("tax;war", "tax;war"), Label("war", "war")), "masi")
    frame = pl.DataFrame({"item": [1, 2], "label": ["tax", "tax;war"], "gold": ["tax", "war"]})
    (found,) = leniency(frame, labels=labels)
    assert (found.value, found.reason) == (None, "the labels are no numbers")
