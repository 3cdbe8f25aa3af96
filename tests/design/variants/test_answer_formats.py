"""JSON answers: the schema, what is sent, and that what comes back is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.design.variants.prompts import messages_of, prompt_of, study_of, variants_of

from quaver.core.records import Item, Label, LabelSet, Response, Variant
from quaver.design.calls.call_plan import Plan
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.variants.answer_formats import JsonAnswers, JsonForm, schema_of
from quaver.errors import SpecError
from quaver.score.annotation import read
from quaver.score.evaluators.json_field import JsonField
from quaver.score.evaluators.scored_label import ByOutput

REASONED = {"use": "json_answers", "forms": {"r": {"field": "verdict", "before": {"why": "In a word."}}}}


def test_the_schema_is_made_of_the_label_set() -> None:
    original, asked = variants_of({"use": "json_answers"})
    assert (original.schema, original.label_field) == ("", "")
    assert json.loads(asked.schema) == {
        "type": "object",
        "properties": {
            "label": {
                "type": "string",
                "enum": ["positive", "negative"],
                "description": "The label that fits.\npositive: It is liked.\nnegative: It is not.",
            }
        },
        "required": ["label"],
        "additionalProperties": False,
    }
    assert prompt_of(asked).endswith(":\n" + asked.schema)


def test_the_schema_follows_names_and_order_in_either_order_of_factors() -> None:
    names = {"use": "label_names", "names": ["letter"], "original": False}
    order = {"use": "label_order"}
    for families in ([names, order, REASONED], [REASONED, order, names]):
        properties = json.loads(variants_of(*families)[-1].schema)["properties"]
        assert list(properties) == ["why", "verdict"]
        assert properties["verdict"]["enum"] == ["B", "A"]


def test_the_request_and_its_key_hold_the_schema() -> None:
    made = study_of(REASONED | {"original": False})
    other = study_of({"use": "json_answers", "forms": {"r": {"definitions": False}}, "original": False})
    requests, others = (list(Plan(one, {"f": "x"}).requests("f")) for one in (made, other))
    assert {request.schema for request in requests} == {made.variants[0].schema}
    assert all(request.decoding.max_tokens > 100 for request in requests)
    keys = {call.key for request in [*requests, *others] for call in request.calls}
    assert len(keys) == len(requests) + len(others)


def test_a_schema_shown_but_not_enforced() -> None:
    (shown,) = variants_of({"use": "json_answers", "forms": {"t": {"held": False}}, "original": False})
    assert shown.schema == ""
    assert shown.label_field == "label"
    assert '"enum": ["positive", "negative"]' in prompt_of(shown)


def test_examples_are_answered_in_the_same_form() -> None:
    shots = {
        "use": "shots",
        "k": 1,
        "examples": [{"text": "N.", "label": "pos", "why": 'it\'s "fun" {{ x }}'}],
    }
    for families in ([shots, REASONED], [REASONED, shots]):
        reply = messages_of(variants_of(*families)[-1])[1]
        assert reply.role == "assistant"
        assert json.loads(reply.content) == {"why": 'it\'s "fun" {{ x }}', "verdict": "positive"}


def test_an_example_without_the_text_of_a_field() -> None:
    shots = {"use": "shots", "k": 1, "examples": [{"text": "N.", "label": "pos"}]}
    variant = variants_of(shots, REASONED)[-1]
    with pytest.raises(SpecError, match="cannot be filled in") as caught:
        messages_of(variant)
    assert "why" in str(caught.value.found)


def test_two_fields_of_the_same_name() -> None:
    with pytest.raises(SpecError, match="'label'"):
        variants_of({"use": "json_answers", "forms": {"x": {"before": {"label": "?"}}}})


@given(
    answers=st.lists(st.text(min_size=1), min_size=2, max_size=4, unique=True),
    definition=st.text(),
    name=st.text(min_size=1),
)
def test_no_text_of_a_label_set_breaks_prompt_or_schema(
    answers: list[str], definition: str, name: str
) -> None:
    labels = LabelSet(tuple(Label(str(n), one, definition) for n, one in enumerate(answers)))
    variant = Variant(
        "", {}, "", "{{ text }}", "{{ text }}", "?", "", {str(n): one for n, one in enumerate(answers)}
    )
    form = JsonForm(field=name, before={name + "_": definition})
    level = JsonAnswers(forms={"j": form}, original=False).levels(PromptContext(variant, labels, 1))[0]
    made = level.edit(variant)
    assert json.loads(made.schema) == schema_of(variant, form, labels)
    prompt = PromptWriter(made, labels).write(Item("1", {}), "T")
    assert prompt.question.endswith(made.schema)


def reading(variant: Variant, text: str, evaluator: Any) -> str | None:
    labels = study_of().labels
    return read(Response(text), evaluator, labels, variant).label


def test_the_variants_field_is_read() -> None:
    original, asked = variants_of(REASONED)
    answer = '{"why": "negative words, label: negative", "verdict": "positive"}'
    assert reading(asked, answer, JsonField()) == "pos"
    assert reading(asked, answer, JsonField(field="why")) is None
    assert reading(original, '{"label": "negative"}', JsonField()) == "neg"


def test_by_output_reads_json_where_the_variant_asks_for_it() -> None:
    original, asked = variants_of(REASONED)
    assert reading(asked, '{"why": "negative", "verdict": "positive"}', ByOutput()) == "pos"
    assert reading(original, "negative", ByOutput()) == "neg"
