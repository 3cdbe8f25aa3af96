"""The grammar of layouts: its size, its points, and what stays as it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from quaver.core.records import Item, Label, LabelSet, Variant
from quaver.design.paraphrase.layout_grammar import Format
from quaver.design.paraphrase.paraphrase_draft import Draft, NoWork, Paraphrase, PromptContext
from quaver.design.prompts.rendering import messages_of
from quaver.errors import SpecError, UnknownName

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative"), Label("no", "neither")))
PROMPT = Variant(
    "",
    {},
    "",
    "Text: {{ text }}\n{{ question }}",
    "{{ text }}",
    "Which is it?",
    "Answer in a word.",
    {"pos": "positive", "neg": "negative", "no": "neither"},
)
ONE = {"separators": [": "], "spaces": ["\n"], "casings": ["title"]}


def drawn(layout: str = PROMPT.layout, seed: int = 1, **options: Any) -> list[Paraphrase]:
    context = PromptContext(replace(PROMPT, layout=layout), LABELS, seed)
    return list(Format(**options).reword(context, Draft(layout, exact=True), NoWork()))


def shown(layout: str) -> str:
    (message,) = messages_of(replace(PROMPT, layout=layout), LABELS, Item("1", {"text": "I like it."}))
    return message.content


def test_the_whole_of_a_small_grammar_is_drawn_without_repetition() -> None:
    found = drawn(n=6, **{**ONE, "spaces": ["\n", " | "]}, fields={"text": ["A", "B", "C"], "answer": []})
    assert found[0].origin["points"] == 2 * 3 * 3  # spaces × names of the text × names of the question
    assert len({one.text for one in found}) == len({one.name for one in found}) == 6


def test_what_the_fields_hold_is_not_touched() -> None:
    for one in drawn(n=40, options=True):
        text = shown(one.text)
        for part in ("I like it.", "Which is it?\nAnswer in a word.", "positive", "negative", "neither"):
            assert part in text


def test_a_layout_as_it_is_read() -> None:
    fields = {"text": ["text"], "question": ["task"], "options": ["choices"], "answer": ["label"]}
    options = {"options": True, "listings": ["; "], "casings": ["upper"], "separators": [" - "]}
    found = drawn(n=2, fields=fields, enumerators=["(a)", "I."], spaces=["\n"], **options)
    texts = sorted(shown(one.text) for one in found)
    assert texts == [
        "TEXT - I like it.\nTASK - Which is it?\nAnswer in a word.\n"
        "CHOICES - (a) positive; (b) negative; (c) neither\nLABEL -",
        "TEXT - I like it.\nTASK - Which is it?\nAnswer in a word.\n"
        "CHOICES - I. positive; II. negative; III. neither\nLABEL -",
    ]
    assert found[0].covariates["layout_separator"] == " - "


def test_the_order_of_the_fields_is_the_study_files() -> None:
    (one,) = drawn("{{ postfix }}\n{{ instruction }}\nContext: {{ text }}", n=1)
    places = [one.text.index(f"{{{{ {name} }}}}") for name in ("postfix", "instruction", "text")]
    assert places == sorted(places)


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    names = [one.name for one in drawn(n=5, seed=1)]
    assert names == [one.name for one in drawn(n=5, seed=1)]
    assert names != [one.name for one in drawn(n=5, seed=2)]


def test_one_point_is_an_error() -> None:
    with pytest.raises(SpecError, match="one layout"):
        drawn(n=1, **ONE, fields={"text": ["A"], "question": ["B"], "answer": []})


def test_the_study_files_own_layout_is_not_drawn() -> None:
    fields = {"text": ["Text"], "question": [""], "answer": []}
    (one,) = drawn(n=1, **{**ONE, "spaces": ["\n", " "]}, fields=fields)
    assert one.text == "Text: {{ text }} {{ question }}"
    with pytest.raises(SpecError, match="1 layout"):
        drawn(n=2, **{**ONE, "spaces": ["\n", " "]}, fields=fields)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"n": 0}, SpecError),
        ({"separators": []}, SpecError),
        ({"casings": ["tilte"]}, UnknownName),
        ({"fields": {"txt": ["A"]}}, UnknownName),
    ],
)
def test_options_that_cannot_be_meant_are_one_error(options: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        drawn(**options)


def test_a_layout_without_the_whole_text_cannot_be_drawn_anew() -> None:
    with pytest.raises(SpecError, match="does not contain"):
        drawn("{{ item.text }} {{ question }}")
