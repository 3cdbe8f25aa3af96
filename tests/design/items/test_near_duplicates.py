"""Texts that are the same but for their punctuation or a few words are found, and no others."""

import pytest

from quaver.core.records import Item
from quaver.design.items.item_table import NEAR_DUPLICATES, with_near_duplicates


def near_duplicates(texts):
    items = [Item(str(index), {}) for index in range(len(texts))]
    return [item.groups[NEAR_DUPLICATES] for item in with_near_duplicates(items, texts)]


TEXT = "The council votes on the new tram line on Monday evening, after months of delay."


def test_copies_are_one_group_and_other_texts_are_none():
    copies = [TEXT, TEXT.upper().replace(",", ""), f"  {TEXT}\n", TEXT.replace("Monday", "Friday")]
    others = [" ".join(TEXT.split()[:8]), "Taxes fall."]
    assert near_duplicates([*copies, *others]) == [*["text 0"] * 4, "item 4", "item 5"]


def test_a_text_that_is_copied_often_is_one_group_whatever_word_each_copy_adds():
    others = [f"w{at} " * 3 + f"the council votes v{at}" for at in range(200)]
    assert near_duplicates([f"{TEXT} {at}" for at in range(200)] + others) == [
        *["text 0"] * 200,
        *(f"item {at}" for at in range(200, 400)),
    ]


def test_groups_are_numbered_by_their_first_texts():
    assert near_duplicates(["b", "alone", "a", "A!", "b"]) == [
        "text 0",
        "item 1",
        "text 1",
        "text 1",
        "text 0",
    ]


def test_the_same_texts_are_together_in_any_order():
    texts = [f"text {number % 7}" for number in range(20)] + ["alone"]
    there, back = near_duplicates(texts), near_duplicates(texts[::-1])[::-1]
    together = [[there[i] == there[j] for i in range(21)] for j in range(21)]
    assert together == [[back[i] == back[j] for i in range(21)] for j in range(21)]


@pytest.mark.parametrize(
    "texts", [[], [""], ["", ""], ["a", "b"], ["a", "A!"], ["\ud800 lone", "日本語のテキスト"]]
)
def test_odd_texts_are_taken(texts):
    assert len(near_duplicates(texts)) == len(texts)
