"""What labels are called and how they are described."""

import pytest
from tests.design.variants.prompts import prompt_of, variants_of

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.variants.label_variants import label_names
from quaver.errors import SpecError

ALL = {"use": "label_names", "names": ["name", "code", "letter", "number", "synonym"]}


def test_every_name_is_answered_and_explained_where_it_needs_to_be():
    found = {}
    for one in variants_of(ALL):
        lines = prompt_of(one).partition("liked?\n")[2].splitlines()
        found[one.factors["label_name"]] = [line.removeprefix("Answer with one of: ")[:-1] for line in lines]
    assert found == {
        "name": ["positive, negative"],
        "code": ["pos: positive, neg: negative", "pos, neg"],
        "letter": ["A: positive, B: negative", "A, B"],
        "number": ["1: positive, 2: negative", "1, 2"],
        "synonym": ["good, bad"],
    }


def test_a_prompt_that_lists_the_labels_needs_no_key():
    postfix = "{% for label in labels %}({{ label.answer }}) {{ label.name }}; {% endfor %}"
    asked = variants_of({"use": "label_names", "names": ["letter"]}, postfix=postfix)
    assert [one.factors["label_name"] for one in asked] == ["original", "letter"]
    assert prompt_of(asked[1]).endswith("(A) positive; (B) negative; ")


def test_own_answers_are_the_original_unless_a_name_is_the_same():
    names = {"use": "label_names", "names": ["name", "letter"]}
    own = variants_of(names, answers={"pos": "yes", "neg": "no"})
    assert [one.factors["label_name"] for one in own] == ["original", "name", "letter"]
    assert [one.factors["label_name"] for one in variants_of(names)] == ["name", "letter"]
    without = variants_of(names | {"original": False}, answers={"pos": "yes", "neg": "no"})
    assert [one.factors["label_name"] for one in without] == ["name", "letter"]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("synonym 2", "labels have no such name"),
        ("nickname", "labels have no such name"),
        ("synonym 0", "labels have no such name"),
    ],
)
def test_a_name_that_labels_do_not_have(name, problem):
    with pytest.raises(SpecError, match=problem) as caught:
        variants_of({"use": "label_names", "names": [name]})
    assert str(caught.value.where).startswith("variants[0]")


def test_more_labels_than_letters():
    labels = LabelSet(tuple(Label(str(n), str(n)) for n in range(27)))
    prompt = Variant(
        "", {}, "", "{{ text }}", "{{ text }}", "?", "", {label: label for label in labels.codes}
    )
    with pytest.raises(SpecError, match="no such name"):
        label_names(PromptContext(prompt, labels, 1), names=["letter"])
