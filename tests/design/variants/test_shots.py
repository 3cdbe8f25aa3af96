"""Examples: which are taken, what they look like, and that no sampled item is among them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studies import resolved, written

from quaver.core.records import Item, Label, LabelSet, Variant
from quaver.design.calls.lock_file import fingerprint
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.variants.shots import drawn, shots
from quaver.errors import SpecError

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative"), Label("mid", "mixed")))
PROMPT = Variant(
    "", {}, "", "{{ text }}\n{{ question }}", "{{ text }}", "Good or bad?", "", {c: c for c in LABELS.codes}
)
SPARE = [Item(str(n), {"text": f"Text {n}."}, LABELS.codes[n % 3]) for n in range(30)]


def context(spare=SPARE, sample=()):
    return PromptContext(PROMPT, LABELS, 1, spare, sample=sample)


# --------------------------------------------------------------------------- which


@given(k=st.integers(0, 30), seed=st.integers(0, 1000))
def test_labels_are_balanced_and_fewer_are_the_beginning_of_more(k, seed):
    examples = drawn(context(), k, seed)
    assert len({one.id for one in examples}) == k
    counts = Counter(one.gold for one in examples)
    assert max(counts[code] for code in LABELS.codes) - min(counts[code] for code in LABELS.codes) <= 1
    assert examples == drawn(context(), 30, seed)[:k]


def test_draws_are_levels():
    levels = shots(context(), k=[0, 2], draws=3)
    assert [level.name for level in levels] == ["0-shot", "2-shot 1", "2-shot 2", "2-shot 3"]
    assert len({str(level.origin["examples"]) for level in levels}) == 4


def test_no_example_has_the_text_of_a_sampled_item_or_of_another_example():
    sample = tuple(Item(f"s{n}", {"text": f"  TEXT  {n}. "}) for n in range(27))
    odd = [Item("no gold", {"text": "B."}), Item("no text", {"text": " "}, "pos")]
    twins = [*odd, Item("twin", {"text": "text 28."}, "pos"), *SPARE]
    examples = drawn(context(twins, sample), 3, 5)
    assert sorted(one.fields["text"].casefold() for one in examples) == ["text 27.", "text 28.", "text 29."]
    with pytest.raises(SpecError, match="fewer examples"):
        drawn(context(twins, sample), 4, 5)
    sample = (Item("s", {"text": "A.", "title": "One"}),)
    spare = [Item("x", {"text": "B.", "title": "One"}, code) for code in LABELS.codes]
    spare += [Item("y", {"text": f"C{code}.", "title": code}, code) for code in LABELS.codes]
    both = PromptContext(PROMPT, LABELS, 1, spare, sample=sample, texts=("{{ text }}", "{{ title }}"))
    assert {one.id for one in drawn(both, 3, 1)} == {"y"}, "every text template counts as a text"


@pytest.mark.parametrize(
    ("spare", "expected", "found"),
    [
        ([], "3 examples", "0 items to take them from"),
        ([Item("x", {"text": "B."})], "3 examples", "1 items to take them from, none with a gold label"),
        (SPARE[:2], "balanced by class", "0 of 'mid'"),
    ],
)
def test_fewer_examples_than_asked_for(spare, expected, found):
    with pytest.raises(SpecError, match="fewer examples") as caught:
        shots(context(spare), k=3)
    assert expected in str(caught.value.expected)
    assert found in str(caught.value.found)


# --------------------------------------------------------------------- in a study

ITEMS = "id,text,truth\n" + "".join(f"{n},Text {n}.,{('positive', 'negative')[n % 2]}\n" for n in range(40))


TABLE = {"use": "shots"}


def study(folder, *variants, **prompt):
    """A study; with ``TABLE``, its examples are two of a table."""
    path = written(folder, "", ITEMS)
    (folder / "examples.csv").write_text("id,text,truth\nx,I like it.,positive\ny,Bad.,negative\n")
    examples = {"examples": str(folder / "examples.csv")} if variants[0].get("k") is None else {}
    return resolved(
        {
            "task": {"labels": ["positive", "negative"]},
            "items": {
                "source": str(path.parent / "items.csv"),
                "id": "id",
                "text": "{{ text }}",
                "gold": "truth",
                "sample": 5,
                **examples,
            },
            "prompt": {"instruction": "Good or bad?", "postfix": "{{ answers | join(' or ') }}?", **prompt},
            "variants": list(variants),
            "models": [{"name": "f", "use": "function"}],
        }
    )


def messages(made, level):
    variant = next(one for one in made.variants if one.id == level)
    writer = PromptWriter(variant, made.labels)
    item = made.items[0]
    return [tuple(message) for message in writer.write(item, writer.text(item)).messages]


def shown(made):
    """The text and label of each example, in order."""
    return [(one.fields["text"], str(one.gold)) for one in made.variants[1].examples]


def test_a_sampled_item_is_never_an_example(tmp_path):
    made = study(tmp_path, {"use": "shots", "k": [0, 10, 32]})
    sampled = {item.id for item in made.items}
    for variant in made.variants:
        assert not sampled & {one.id for one in variant.examples}
    assert [len(variant.examples) for variant in made.variants] == [0, 10, 32]
    with pytest.raises(SpecError, match="fewer examples") as caught:
        study(tmp_path, {"use": "shots", "k": 36})
    assert caught.value.where == "variants[0]"


def test_turns_are_the_layout_filled_with_each_example(tmp_path):
    made = study(tmp_path, TABLE, layout="Review: {{ text }}\n{{ question }}", system="You code.")
    assert {("I like it.", "positive"), ("Bad.", "negative")} == {*shown(made)}
    asked = "Good or bad?\npositive or negative?"
    turns = [
        turn
        for text, label in shown(made)
        for turn in (("user", f"Review: {text}\n{asked}"), ("assistant", label))
    ]
    last = ("user", f"Review: {made.items[0].fields['text']}\n{asked}")
    assert messages(made, "shots=2-shot") == [("system", "You code."), *turns, last]
    assert messages(made, "shots=0-shot")[1:] == [last]


def test_a_layout_may_say_how_examples_are_written(tmp_path):
    layout = (
        "{% for one in examples %}<{{ one.text }}|{{ one.answer }}|{{ one.label }}>{% endfor %}{{ text }}"
    )
    made = study(tmp_path, TABLE, layout=layout)
    text = made.items[0].fields["text"]
    before = "".join(f"<{one}|{label}|{label}>" for one, label in shown(made))
    assert messages(made, "shots=2-shot") == [("user", before + text)]
    assert messages(made, "shots=0-shot") == [("user", text)]


def test_a_plain_prompt_goes_on_from_its_examples(tmp_path):
    made = study(
        tmp_path, TABLE, layout="{{ text }} {{ question }}\nAnswer:", frame="plain", system="Reviews."
    )
    asked = "Good or bad?\npositive or negative?\nAnswer:"
    examples = [f"{text} {asked} {label}" for text, label in shown(made)]
    last = f"{made.items[0].fields['text']} {asked}"
    assert messages(made, "shots=2-shot") == [("plain", "\n\n".join(["Reviews.", *examples, last]))]


def test_examples_cross_with_formats(tmp_path):
    digits = {"postfix": "1 or 0?", "answers": {"positive": "1", "negative": "0"}}
    made = study(tmp_path, TABLE, {"use": "prompts", "prompts": {"d": digits}})
    found = messages(made, "shots=2-shot,version=d")
    assert found[0][1].endswith("\n1 or 0?")
    assert found[1] == ("assistant", digits["answers"][shown(made)[0][1]])


def test_examples_inside_the_message(tmp_path):
    made = study(tmp_path, TABLE | {"place": "message"}, layout="{{ text }}\n{{ instruction }}")
    written_out = [f"{text}\nAnswer: {label}" for text, label in shown(made)]
    last = f"{made.items[0].fields['text']}\nGood or bad?"
    assert messages(made, "shots=2-shot") == [("user", "\n\n".join([*written_out, last]))]
    plain = study(tmp_path, TABLE)
    prompt = PromptWriter(plain.variants[1], plain.labels).write(plain.items[0], "T")
    asked = "Good or bad?\npositive or negative?"
    assert str(prompt.question) == "\n\n".join([*written_out, asked]), "as a function sees them"
    assert fingerprint(made, {}) != fingerprint(study(tmp_path, {"use": "shots", "k": 3}), {})
