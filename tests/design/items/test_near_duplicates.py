"""Texts that are nearly the same are found, and no others."""

from __future__ import annotations

import time

import numpy as np
import pytest

from quaver.design.items.near_duplicates import near_duplicates

WORDS = [
    f"{a}{b}{c}"
    for a in ("mor", "tel", "quin", "bas", "ver")
    for b in "aeiou"
    for c in ("nt", "ck", "lp", "s")
]


def _texts(count: int, length: int, seed: int = 1) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [list(rng.choice(WORDS, length)) for _ in range(count)]


def _groups(texts: list[str]) -> list[int]:
    return near_duplicates(texts).tolist()


def test_copies_retweets_and_small_edits_are_one_group() -> None:
    own = "The council votes on the new tram line on Monday evening, after months of delay."
    others = [" ".join(text) for text in _texts(30, 14)]
    near = [own, f"RT @someone: {own}", own.upper().replace(",", ""), own.replace("Monday", "Friday")]
    found = _groups([*near, *others])
    assert found[:4] == [0, 0, 0, 0]
    assert set(found[4:]) == {-1}


def test_texts_of_the_same_words_in_another_order_are_not_alike() -> None:
    rng = np.random.default_rng(5)
    text = list(rng.choice(WORDS, 20, replace=False))
    assert _groups([" ".join(rng.permutation(text)) for _ in range(40)]) == [-1] * 40


def test_a_question_with_other_options_is_found() -> None:
    stem = "Which of these parties would you vote for if there were a general election next Sunday?"
    asked = [f"{stem} {one}" for one in ("A or B", "Greens or Liberals", "none of them")]
    others = [" ".join(text) for text in _texts(20, 12)]
    assert _groups([*asked, *others])[:3] == [0, 0, 0]


def test_what_most_texts_share_makes_no_copies() -> None:
    """Forms filled in alike but for a field are not copies; forms filled in the same way are."""
    rng = np.random.default_rng(2)
    fields = [(rng.choice(WORDS), rng.choice(WORDS), rng.choice(WORDS)) for _ in range(60)]
    form = "This voter lives in a {} place, has a {} income and watches the evening news on {} most days."
    texts = [form.format(*one) for one in fields]
    found = _groups([*texts, texts[7]])
    assert found[7] == found[60] == 0
    assert sum(group >= 0 for group in found) == 2


def test_a_chain_of_small_changes_does_not_join_its_ends() -> None:
    rng = np.random.default_rng(3)
    text = list(rng.choice(WORDS, 20))
    chain = []
    for step in range(20):
        text[step] = f"changed{step}"
        chain.append(" ".join(text))
    found = _groups([*chain, *(" ".join(one) for one in _texts(20, 20, 4))])
    assert found[0] != found[19] or found[0] == -1


@pytest.mark.parametrize(
    "texts", [[], [""], ["", ""], ["a", "b"], ["a", "A!"], ["\ud800 lone", "日本語のテキスト"]]
)
def test_odd_texts_are_taken(texts: list[str]) -> None:
    assert len(_groups(texts)) == len(texts)


def test_the_same_texts_give_the_same_groups_in_any_order() -> None:
    base = _texts(200, 15)
    rng = np.random.default_rng(6)
    texts = [" ".join(text) for text in base] + [" ".join([*base[at][:-1], "other"]) for at in range(40)]
    order = rng.permutation(len(texts))
    found, shuffled = near_duplicates(texts), near_duplicates([texts[at] for at in order])
    together = found[order][:, None] == found[order][None, :]
    alone = (found[order] < 0)[:, None]
    again = shuffled[:, None] == shuffled[None, :]
    assert ((together & ~alone) == (again & (shuffled >= 0)[:, None])).all()
    assert (found[200:] == found[:40]).all()


def test_most_texts_with_two_words_of_fifteen_changed_are_found() -> None:
    base = _texts(600, 15, 8)
    rng = np.random.default_rng(9)
    edited = [list(text) for text in base[:100]]
    for text in edited:
        for at in rng.choice(15, 2, replace=False):
            text[at] = "replaced"
    found = near_duplicates([" ".join(text) for text in (*base, *edited)])
    assert np.mean((found[600:] == found[:100]) & (found[600:] >= 0)) > 0.85
    assert (found[100:600] == -1).all()


@pytest.mark.long
def test_five_thousand_texts_take_a_second_or_two() -> None:
    texts = [" ".join(text) for text in _texts(5_000, 15)]
    start = time.process_time()
    near_duplicates(texts)
    assert time.process_time() - start < 5
