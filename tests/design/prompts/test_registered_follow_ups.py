"""What every registered follow-up keeps to."""

import pytest

from quaver.core.records import Label, LabelSet, Variant
from quaver.testing.recipes import built, plugins, recipe_of

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
VARIANT = Variant("v", {}, "", "{{ text }}", "{{ text }}", "Which?", "", {"pos": "positive", "neg": "no"})


@pytest.fixture(params=plugins("follow_ups"))
def follow_up(request):
    return built("follow_ups", request.param, recipe_of("follow_ups", request.param).options)


def test_it_quotes_the_answer_where_it_says_so(follow_up):
    messages = follow_up.messages("It is good.")
    quoted = [
        message for message in messages if message.role == "assistant" and "It is good." in message.content
    ]
    assert bool(quoted) == follow_up.quotes_answer
    assert follow_up.quotes_answer or messages == follow_up.messages("It is bad.")


def test_it_ends_with_the_assistant_only_where_the_model_is_to_go_on(follow_up):
    ends = [message.role for message in follow_up.messages("x")[-1:]]
    assert (ends == ["assistant"]) == follow_up.continues


def test_it_is_greedy_and_short(follow_up):
    decoding = follow_up.decoding(VARIANT)
    assert decoding.temperature == 0
    assert 1 <= decoding.max_tokens <= 32


def test_its_choices_are_the_answers_where_it_is_constrained(follow_up):
    constrained = follow_up.decoding(VARIANT).constraint == "labels"
    assert follow_up.choices(LABELS, VARIANT) == (("positive", "no") if constrained else ())


def test_it_says_what_it_is_for(follow_up):
    assert type(follow_up).__doc__
