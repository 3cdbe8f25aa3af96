"""Quotes are placed in the text or are none of it."""

import json

import pytest
from benchmarks.quotes import edited, invented, is_right

from quaver import Study
from quaver.errors import SpecError, Unavailable
from quaver.score.parsing.quotes import QuotedText

TEXT = (
    "With malice toward none; with charity for all, with firm-\nness in the right, as God gives us to see it."
)


@pytest.mark.parametrize(
    ("quote", "how", "words"),
    [
        ("charity for all", "exact", "charity for all"),
        ("“CHARITY  for all”", "alike", "charity for all"),
        ("firmness in the right", "alike", "firm-\nness in the right"),
        ("With malice … charity for all", "alike", "With malice toward none; with charity for all"),
        ("with charity [...] firmness", "alike", "with charity for all, with firm-\nness"),
        ("with … see it", "alike", "with firm-\nness in the right, as God gives us to see it"),
        ("with charlty for a1l", "fuzzy", "with charity for all"),
        ("as God gives to see it", "fuzzy", "as God gives us to see it"),
        ("us", "exact", "us"),
        ("a", "invented", None),  # it stands there as a part of words only
        ("with no charity for all", "invented", None),
        ("with charity for none of them", "invented", None),
        ("for all with charity", "invented", None),
        ("firmness in the right … charity for all", "invented", None),  # in the other order
        ("with … God", "alike", "with firm-\nness in the right, as God"),  # not from the first "with" on
        ("…", "none", None),
        (" ", "none", None),
        (None, "none", None),
    ],
)
def test_a_quote_is_placed_on_its_words(quote, how, words):
    found, start, end, score = QuotedText(TEXT).place(quote)
    assert found == how
    assert (None if start is None else TEXT[start:end]) == words
    assert (score is None) == (words is None)
    assert score is None or (score == 1) == (how != "fuzzy")


def test_quotes_in_scripts_without_spaces_and_with_accents():
    assert QuotedText("政府は増税を決めた。").place("増税")[:3] == ("exact", 3, 5)
    assert QuotedText("La liberté guidant le peuple").place("LA LIBERTÉ")[:3] == ("alike", 0, 10)
    assert QuotedText("die ﬁnale Fassung").place("finale fassung")[:3] == ("alike", 4, 17)


def test_numbers_are_not_taken_for_others():
    text = QuotedText("Unemployment fell by 1200 persons in the northern counties.")
    assert text.place("fell by 1300 persons in the northern counties")[0] == "invented"
    assert text.place("fell by 1200 persons in the northem counties")[0] == "fuzzy"


def test_edited_quotes_are_placed_and_invented_ones_are_not():
    quotes = [*edited(1_000)]
    assert sum(is_right(text, words, quote) for _, text, words, quote in quotes) >= 990
    placed = [
        quote for text, quote in invented(1_000, seed=3) if QuotedText(text).place(quote)[1] is not None
    ]
    assert len(placed) <= 1, placed  # which pages the texts are of changes


def _study(**more):
    items = [{"id": "a", "text": "Taxes are far too high."}, {"id": "b", "text": "The weather was fine."}]
    tone = {"labels": ["good", "bad"], "evidence": True}
    return {
        "name": "quoted",
        "task": {"held": False, "fields": {"tone": tone, "topic": {"labels": ["tax", "other"]}, **more}},
        "items": {"source": items, "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Code this."},
        "models": [{"name": "m", "use": "function"}],
    }


def _answer(text, prompt):
    assert '"tone quote"' in prompt
    assert '"topic quote"' not in prompt
    if "Taxes" in text:
        return json.dumps({"tone": "bad", "tone quote": ["Taxes", "too high"], "topic": "tax"})
    return "{'tone': 'good', 'tone quote': 'the weather is awful', 'topic': 'other'"  # damaged, and made up


def test_a_study_keeps_where_its_quotes_stand(tmp_path):
    study = Study.open(_study(), folder=tmp_path, functions={"m": _answer})
    study.run()
    rows = study.annotations().sort("item").drop_nulls("quote")
    shown = rows.select("item", "field", "label", "quote", "quote_status", "quote_start", "quote_end")
    assert shown.rows() == [
        ("a", "tone", "bad", "Taxes … too high", "alike", 0, 22),
        ("b", "tone", "good", "the weather is awful", "invented", None, None),
    ]
    assert rows["text_length"].to_list() == [23, 21]


def test_a_field_may_not_have_the_name_of_a_quote():
    with pytest.raises(SpecError, match="quotes of the field 'tone'"):
        Study.open(_study(**{"tone quote": {"labels": ["x", "y"]}}), functions={"m": _answer})


def test_without_the_extra_nothing_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr("quaver.models.local.extras.find_spec", lambda name: None)
    with pytest.raises(Unavailable, match="rapidfuzz is not installed") as caught:
        Study.open(_study(), folder=tmp_path, functions={"m": _answer})
    assert "quaver[evidence]" in caught.value.fix
