"""What each part of a study takes, by hand."""

from __future__ import annotations

from dataclasses import replace

from quaver.core.records import Condition, Decoding, Item, Label, LabelSet, Variant
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.models.python_function import Function
from quaver.study.forecasts.forecast import forecast
from quaver.study.forecasts.plan_parts import PlanPart, parts_of

LABELS = LabelSet((Label("a", "A"), Label("b", "B")))
SHORT = Variant(
    "s",
    {"length": "short"},
    "",
    "{{ text }}: {{ instruction }}",
    "{{ text }}",
    "A, B",
    "",
    {"a": "A", "b": "B"},
)
LONG = replace(
    SHORT, id="l", factors={"length": "long", "tone": "kind"}, instruction="A or B?!", max_tokens=30
)


def experiment() -> Experiment:
    items = [Item("1", {"text": "xx"}), Item("2", {"text": "yyyy"})]
    decodings = {"cold": Decoding("cold", max_tokens=5), "hot": Decoding("hot", max_tokens=7)}
    conditions = [
        Condition("m", "s", "cold", 1),
        Condition("m", "s", "hot", 3),
        Condition("m", "l", "cold", 1),
    ]
    return Experiment(LABELS, items, [SHORT, LONG], decodings, conditions, ["A note."])


def test_calls_and_tokens_by_level_are_counted_by_hand() -> None:
    # "xx: A, B" and "yyyy: A, B" are 18 characters; "xx: A or B?!" and "yyyy: A or B?!" 26.
    parts = parts_of(Plan(experiment(), {"m": "weights"}), {"m": 0.5})
    assert parts == (
        PlanPart("length", "short", 8, 36, 2 * 5 + 6 * 7),
        PlanPart("length", "long", 2, 13, 2 * 30),
        PlanPart("tone", "", 8, 36, 52),
        PlanPart("tone", "kind", 2, 13, 60),
        PlanPart("decoding", "cold", 4, 22, 2 * 5 + 2 * 30),
        PlanPart("decoding", "hot", 6, 27, 6 * 7),
    )


def test_the_forecast_is_their_sum_and_keeps_the_notes() -> None:
    models = {"m": Function(annotate=lambda text, prompt: "A")}
    made = forecast(Plan(experiment(), {"m": "weights"}), models, {}, {"m": None})
    (model,) = made.models
    assert (model.calls, model.prompts, model.answer_tokens) == (10, 4, 112)
    assert model.prompt_tokens == round((18 * 4 + 26) / 4)
    assert made.notes == ("A note.",)
    assert sum(part.calls for part in made.parts if part.factor == "decoding") == made.calls
