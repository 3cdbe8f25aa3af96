"""Fractions of factorial designs, against the tables of the textbooks and by hand."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.design.factors.fractional_factorial import Fraction, fraction_of
from quaver.errors import SpecError, UnknownName

FOUR = ("definition", "output", "explanation", "length")


def asked(made: Fraction) -> list[str]:
    """The combinations that are asked, in Yates's notation: ``ab`` has a and b at their second level."""
    every = product((0, 1), repeat=len(made.factors))
    return [
        "".join("abcdefg"[at] for at, level in enumerate(one) if level) or "(1)"
        for one in every
        if made.holds(one)
    ]


def test_the_half_of_four_factors_by_d_abc() -> None:
    made = fraction_of("1/2", ["D = ABC"], FOUR)
    # Montgomery (2017), table 8.3: (1), ad, bd, ab, cd, ac, bc, abcd.
    assert set(asked(made)) == {"(1)", "ad", "bd", "ab", "cd", "ac", "bc", "abcd"}
    assert (made.size, made.resolution) == (8, 4)
    assert made.aliases(frozenset([0])) == ((frozenset([1, 2, 3]), 1),)
    assert made.aliases(frozenset([0, 1])) == ((frozenset([2, 3]), 1),)
    assert made == fraction_of("1/2", [], FOUR)
    assert made == fraction_of("1/2", ["length = definition*output*explanation"], FOUR)
    assert made == fraction_of(" 1 / 2 ", ["D = A B C"], FOUR)


def test_the_other_half() -> None:
    made = fraction_of("1/2", ["D = -ABC"], FOUR)
    assert set(asked(made)) == {"d", "a", "b", "c", "abd", "acd", "bcd", "abc"}
    assert made.relation == ((frozenset(range(4)), -1),)
    assert f"I = −{' × '.join(FOUR)}" in made.description()[1]


def test_the_quarter_of_five_factors() -> None:
    # Montgomery (2017), table 8.14: 2^(5-2) with D = AB, E = AC; I = ABD = ACE = BCDE, resolution III.
    made = fraction_of("1/4", ["D = AB", "E = AC"], "vwxyz")
    assert {"".join("ABCDE"[at] for at in sorted(one)) for one, _ in made.relation} == {"ABD", "ACE", "BCDE"}
    assert (made.size, made.resolution) == (8, 3)
    assert asked(made) == ["de", "cd", "be", "bc", "a", "ace", "abd", "abcde"]
    assert "v = w × y = x × z = v × w × x × y × z" in made.description()[2]


def test_the_half_of_three_factors_is_reported() -> None:
    size, relation, aliased = fraction_of("1/2", [], ["a", "b", "c"]).description()
    assert all(said in size for said in ("1/2", "8 combinations", ": 4", "resolution III"))
    assert relation.endswith("I = a × b × c.")
    assert aliased.endswith("a = b × c; b = a × c; c = a × b.")


@given(st.integers(3, 7), st.data())
def test_a_fraction_is_balanced_and_its_aliases_hold(n: int, data: st.DataObject) -> None:
    names = [f"f{at}" for at in range(n)]
    sign = data.draw(st.sampled_from(["", "-"]))
    others = data.draw(st.lists(st.sampled_from(names[:-1]), min_size=1, unique=True))
    made = fraction_of("1/2", [f"{names[-1]} = {sign}{' * '.join(others)}"], names)
    rows = [[2 * level - 1 for level in one] for one in product((0, 1), repeat=n) if made.holds(one)]
    assert len(rows) == made.size == 2 ** (n - 1)
    assert all(sum(column) == 0 for column in zip(*rows, strict=True))
    for at in range(n):
        for alias, sign_of in made.aliases(frozenset([at])):
            assert all(row[at] == sign_of * prod(row[one] for one in alias) for row in rows)


@pytest.mark.parametrize(
    ("size", "generators", "error", "message"),
    [
        ("1/2", ["D = ABX"], UnknownName, "unknown factor 'X'"),
        ("1/2", ["tone = definition * output"], UnknownName, "unknown factor 'tone'"),
        ("1/2", ["E = ABC"], UnknownName, "unknown factor 'E'"),
        ("1/2", ["D ABC"], SpecError, "not a generator"),
        ("1/2", ["D ="], SpecError, "not a generator"),
        ("1/2", ["D = D"], SpecError, "cannot be generated from itself"),
        ("1/2", ["D = AD"], SpecError, "one level"),
        ("1/4", [], SpecError, "a fraction of 1/4 takes 2 generators"),
        ("1/4", ["D = AB", "C = ABABABD"], SpecError, "takes 2|repeat|leave"),
        ("1/4", ["D = AB", "A = BD"], SpecError, "repeat or contradict each other"),
        ("1/2", ["D = AB", "C = AB"], SpecError, "a fraction of 1/2 takes 1 generator"),
        ("1/3", [], SpecError, "impossible"),
        ("1/16", [], SpecError, "impossible"),
        ("half", [], SpecError, "impossible"),
        ("2/4", [], SpecError, "impossible"),
    ],
)
def test_what_is_no_fraction(size: str, generators: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        fraction_of(size, generators, FOUR)
    assert getattr(caught.value, "where", None)


def test_too_many_factors() -> None:
    with pytest.raises(SpecError, match="too many factors"):
        fraction_of("1/2", [], [f"f{at}" for at in range(13)])
