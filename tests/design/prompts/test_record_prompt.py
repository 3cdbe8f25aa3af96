"""Prompts for records: answers have room for every field."""

from quaver.core.label_values import Codebook, TaskField, occurring_numbers
from quaver.core.records import Label, LabelSet, Variant
from quaver.design.prompts.rendering import asking_for_fields


def room(*fields):
    prompt = Variant("v", {}, "", "{{ text }}", "{{ text }}", "Label this.", "", {})
    limit = asking_for_fields(prompt, Codebook(fields=fields), held=False, longest=0).max_tokens
    assert limit is not None
    return limit


def field(name, *labels, several=False):
    return TaskField(name, LabelSet(tuple(Label(one, one) for one in labels)), several=several)


def test_a_longer_name_takes_a_token_more_for_each_character():
    assert room(field("tone_of_voice", "good", "bad")) - room(field("tone", "good", "bad")) == 9


def test_the_longest_label_counts_and_of_a_set_all_do():
    assert room(field("t", "good", "excellent")) - room(field("t", "good", "bad")) == 5
    one, several = field("t", "good", "bad"), field("t", "good", "bad", several=True)
    assert room(several) - room(one) >= len("bad")


def test_further_fields_take_more():
    tone, amount = field("tone", "good", "bad"), TaskField("amount", occurring_numbers((), "ratio"))
    assert room(tone, amount) > room(tone) + len("amount")
