"""The paraphrasing loop counts, on a model whose answers are given; `test_paraphrase_file` has a real one."""

import pytest

from quaver.core.calls import Call, Request, Response
from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.llm_paraphraser import Llm, cleaned
from quaver.design.paraphrase.paraphraser import Draft, PromptContext
from quaver.errors import ModelError

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
ORIGINAL = "Is {{ item.name }}'s opinion positive or negative?"


def context(instruction=ORIGINAL):
    prompt = Variant(
        "",
        {},
        "",
        "{{ text }}\n{{ question }}",
        "{{ text }}",
        instruction,
        "",
        {"pos": "positive", "neg": "negative"},
    )
    return PromptContext(prompt, LABELS, 3)


class Work:
    """Hands every asking to a model, and keeps count."""

    def __init__(self, model):
        self._model = model
        self.asked = []

    def begin(self, what):
        pass

    def ask(self, model, prompt, decoding, seed, count):
        self.asked.append((decoding.temperature, seed, count))
        calls = tuple(Call(str(n).encode(), 0, 0, n) for n in range(count))
        self._model.prepare(count)
        request = Request("any", prompt, decoding, (), seed, calls)
        return [one for _, responses in self._model.answer([request]) for one in responses]


class Says:
    """A model that says the given things in turn, and then the last one again and again."""

    def __init__(self, *texts, finish="stop"):
        self._texts, self._at, self._finish = texts, 0, finish

    def prepare(self, repeats):
        pass

    def answer(self, requests):
        for request in requests:
            replies = []
            for _ in request.calls:
                replies.append(Response(self._texts[min(self._at, len(self._texts) - 1)], self._finish))
                self._at += 1
            yield request, replies


def test_echoes_duplicates_and_cut_off_answers_are_asked_for_again():
    model = Says(
        ORIGINAL,
        "is {{ item.name }}'s opinion  positive, or negative",  # an echo but for case and commas
        "",
        "Does {{ item.name }} like it: positive or negative?",
        "“Does {{ item.name }} like it, positive or negative?”",  # the one before
        "Positive or negative, {{ item.name }}?",
    )
    draft, work = Draft(ORIGINAL), Work(model)
    found = Llm(model="any", k=2, temperatures=[0.5]).reword(context(), draft, work)
    assert [one.text for one in found] == [
        "Does {{ item.name }} like it: positive or negative?",
        "Positive or negative, {{ item.name }}?",
    ]
    assert draft.dropped == {"0.5": {"echo": 2, "empty": 1, "duplicate": 1}}
    assert draft.asked == {"0.5": 6}
    seeds = [seed for _, seed, _ in work.asked]
    assert [count for *_, count in work.asked] == [2, 2, 1, 1]
    assert [seed - seeds[0] for seed in seeds] == [0, 2, 4, 5]  # no seed is used twice


def test_an_answer_cut_off_is_no_paraphrase_unless_it_is_to_be_kept():
    cut_off = Says("Is it", finish="length")
    with pytest.raises(ModelError, match="0 of 1 paraphrases") as raised:
        Llm(model="any", k=1, tries=2).reword(context(), Draft(ORIGINAL), Work(cut_off))
    assert "2 cut off" in str(raised.value)
    engine = Llm(model="any", k=1, tries=2, cut_off="keep")
    (kept,) = engine.reword(context(), Draft(ORIGINAL), Work(cut_off))
    assert (kept.text, kept.covariates["cut_off"]) == ("Is it", True)
    (whole,) = engine.reword(context(), Draft(ORIGINAL), Work(Says("Is it?")))
    assert "cut_off" not in whole.covariates


@pytest.mark.parametrize(
    ("said", "paraphrase"),
    [
        ("Is it good?", "Is it good?"),
        ('"Is it good?"', "Is it good?"),
        ("1. Is it good?\n2. Is it fine?", "Is it good?"),
        ("- **Is it good?**", "Is it good?"),
        ("New instruction: Is it good?", "Is it good?"),
        ("Sure! Here is a reworded version:\n\n“Is it good?”", "Is it good?"),
        ("Here is another wording: Is it good?", "Is it good?"),
        ("<think>Good or\nbad.</think>\nIs it good?", "Is it good?"),
        ('Say "good" or "bad"', 'Say "good" or "bad"'),
        ("Here are two options: good or bad?", "Here are two options: good or bad?"),
    ],
)
def test_what_models_put_around_a_paraphrase_is_taken_away(said, paraphrase):
    assert cleaned(said, "Good or bad?") == paraphrase
    assert cleaned("\nGood?\n\nOr bad?\n", "Good?\nBad?") == "Good?\n\nOr bad?", "of several lines"


def test_more_paraphrases_later_cost_only_those():
    model, draft = Says("One?", "Two?", "Three?"), Draft(ORIGINAL)
    first = Llm(model="any", k=2).reword(context(), draft, Work(model))
    work = Work(model)
    later = Llm(model="any", k=3).reword(context(), draft, work)
    assert later[:2] == first
    assert [count for *_, count in work.asked] == [1]


def test_what_a_model_writes_is_no_template_but_for_the_originals_placeholders():
    draft = Draft(ORIGINAL)
    said = "{% for a in range(9) %}Is {{ item.name }} {{ item.secret }}?{% endfor %}"
    (one,) = Llm(model="any", k=1).reword(context(), draft, Work(Says(said)))
    from quaver.design.prompts.templates import render

    text = render(one.text, {"item": {"name": "Ann", "secret": "no"}}, where="here")
    assert "Ann {{ item.secret }}?" in text
    assert text.startswith("{% for")
