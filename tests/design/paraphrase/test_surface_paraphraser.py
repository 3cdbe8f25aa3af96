"""Surface edits: what they change, and what they never do."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.meaning import label_names, lost, placeholders
from quaver.design.paraphrase.paraphraser import Draft, NoWork, PromptContext
from quaver.design.paraphrase.surface_paraphraser import Surface, edits

LABELS = LabelSet((Label("pos", "very positive"), Label("neg", "negative", synonyms=("bad",))))
ANSWERS = {"pos": "A", "neg": "B"}
TEXT = (
    "Do not guess: is the opinion of {{ item.name }} in these 3 texts very positive or negative? "
    "It is one of the 2, A or B."
)


def made(text, seed=1, **options):
    prompt = Variant("", {}, "", "{{ text }}{{ question }}", "{{ text }}", text, "", ANSWERS)
    engine = Surface(**options)
    return [
        one.text
        for one in engine.reword(PromptContext(prompt, LABELS, seed), Draft(text, exact=True), NoWork())
    ]


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.3, 1.0]))
def test_placeholders_labels_and_numbers_are_never_touched(seed, strength):
    names = label_names(LABELS, ANSWERS)
    for text in made(TEXT, seed, strengths=[strength], k=3):
        assert lost(TEXT, text, names) == {}
        assert placeholders(text) == placeholders(TEXT)
        assert re.findall(r"\d+", text) == ["3", "2"]
        assert "very positive" in text


def test_the_same_on_every_machine():
    assert made(TEXT, 7, strengths=[0.2], k=2, kinds=["contractions"]) == [
        "Don't guess: is the opinion of {{ item.name }} in these 3 texts very positive or negative? "
        "It is one of the 2, A or B.",
        "Do not guess: is the opinion of {{ item.name }} in these 3 texts very positive or negative? "
        "It's one of the 2, A or B.",
    ]


def test_strength_is_the_share_of_places_changed():
    text = " ".join(["wonderful"] * 100)
    (weak,) = made(text, strengths=[0.1], k=1, kinds=["casing"])
    (strong,) = made(text, strengths=[0.9], k=1, kinds=["casing"])
    changed = [sum(word != "wonderful" for word in one.split()) for one in (weak, strong)]
    assert 2 <= changed[0] <= 22
    assert 78 <= changed[1] <= 100


CASES = {
    "articles": ("the cat saw an owl", {"", "a ", "the "}),
    "contractions": ("It is what they don't do", {"It's", "do not"}),
    "punctuation": ("Good, or bad?", {"", ";", "??", "."}),
    "casing": ("good", {"GOOD", "Good"}),
    "spacing": ("a b?", {"  ", "\n", " "}),
}


@pytest.mark.parametrize("kind", CASES)
def test_what_a_kind_may_write(kind):
    text, allowed = CASES[kind]
    changes = list(edits(kind, text, [(0, len(text))]))
    assert changes
    assert {instead for *_, every in changes for instead in every} == allowed


def test_typing_errors_keep_first_and_last_letters():
    ((_, _, instead),) = edits("typos", "guess an", [(0, 8)])
    assert {"gess", "gguess", "guuess", "geuss", "gyess", "giess"} & set(instead)
    assert all(one[0] == "g" and one[-1] == "s" for one in instead)


def test_politeness_comes_and_goes():
    text = "Please, say yes."
    ((start, end, (instead,)),) = edits("politeness", text, [(0, len(text))])
    assert text[:start] + instead + text[end:] == "say yes."
    (_, _, before), (_, _, behind) = edits("politeness", "Say yes.", [(0, 8)])
    assert before == ("Please: say", "Could you tell me: say")
    assert behind[0] == " Thank you."
