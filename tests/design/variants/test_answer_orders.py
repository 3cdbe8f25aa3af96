"""Orders of labels and of options: which there are, and what is answered for what."""

from itertools import permutations

import pytest
from tests.design.variants.prompts import prompt_of, variants_of

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.variants.label_variants import label_names, orders_of
from quaver.errors import SpecError


def orders(asked, n=None, size=3, seed=1):
    return {
        name: "".join(order) for name, order in orders_of(tuple("abcdefgh"[:size]), asked, n, seed).items()
    }


def test_orders():
    assert orders("reversed") == {"original": "abc", "reversed": "cba"}
    assert orders("rotations", size=4) == {
        "original": "abcd",
        "rotated 1": "bcda",
        "rotated 2": "cdab",
        "rotated 3": "dabc",
    }
    assert orders("all") == {
        "original": "abc",
        "1-3-2": "acb",
        "2-1-3": "bac",
        "2-3-1": "bca",
        "3-1-2": "cab",
        "3-2-1": "cba",
    }
    assert len(orders("all", size=6)) == 720


@pytest.mark.parametrize(("size", "n"), [(3, 5), (3, 1), (8, 20)])
def test_sampled_orders_are_distinct_and_follow_the_seed(size, n):
    found = orders("sampled", n, size)
    assert len(set(found.values())) == len(found) == n + 1
    assert found == orders("sampled", n, size)
    assert next(iter(found)) == "original"
    assert set(found.values()) <= {"".join(order) for order in permutations("abcdefgh"[:size])}
    assert size == 3 or found != orders("sampled", n, size, seed=2)


@pytest.mark.parametrize(
    ("asked", "n", "size", "problem"),
    [
        ("reversed", None, 1, "single label"),
        ("sampled", None, 3, "0 other orders"),
        ("sampled", 6, 3, "6 other orders"),
        ("all", None, 8, "40,319 other orders"),
        ("all", 3, 3, "n is for sampled orders"),
    ],
)
def test_orders_that_there_are_not(asked, n, size, problem):
    with pytest.raises(SpecError, match=problem):
        orders(asked, n, size)


def test_labels_take_their_answers_along():
    answers = {"answers": {"pos": "A", "neg": "B"}}
    _, reversed_ = variants_of({"use": "label_order"}, **answers)
    assert list(reversed_.answers.items()) == [("neg", "B"), ("pos", "A")]
    assert prompt_of(reversed_, **answers).endswith(": B, A.")


def test_letters_stay_while_options_move():
    legend = "{% for label in labels %}{{ label.answer }}) {{ label.name }} {% endfor %}"
    options = {"answers": {"pos": "A", "neg": "B"}, "postfix": legend}
    first, second = variants_of({"use": "option_order"}, **options)
    assert prompt_of(first, **options).endswith("A) positive B) negative ")
    assert prompt_of(second, **options).endswith("A) negative B) positive ")
    assert second.answers == {"neg": "A", "pos": "B"}


def test_orders_follow_the_names_in_either_order_of_factors():
    names = {"use": "label_names", "names": ["letter"], "original": False}
    for order, shown in (
        ("label_order", "B: negative, A: positive"),
        ("option_order", "A: negative, B: pos"),
    ):
        for families in ([names, {"use": order}], [{"use": order}, names]):
            prompts = [prompt_of(variant) for variant in variants_of(*families)]
            assert shown in prompts[1], (order, families)


def test_a_label_cannot_be_called_by_the_name_of_another():
    with pytest.raises(SpecError, match="'positive'") as caught:
        variants_of({"use": "option_order"})
    assert "letters" in str(caught.value.fix)


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


@pytest.mark.parametrize("name", ["synonym 2", "nickname", "synonym 0"])
def test_a_name_that_labels_do_not_have(name):
    with pytest.raises(SpecError, match="labels have no such name") as caught:
        variants_of({"use": "label_names", "names": [name]})
    assert str(caught.value.where).startswith("variants[0]")


def test_more_labels_than_letters():
    labels = LabelSet(tuple(Label(str(n), str(n)) for n in range(27)))
    answers = dict.fromkeys(labels.codes, "")
    prompt = Variant("", {}, "", "{{ text }}", "{{ text }}", "?", "", answers)
    with pytest.raises(SpecError, match="no such name"):
        label_names(PromptContext(prompt, labels, 1), names=["letter"])
