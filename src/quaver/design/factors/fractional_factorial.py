"""Fractions of two-level factorial designs: which combinations are asked, and which effects are confounded.

Box & Hunter (1961), The 2^(k-p) fractional factorial designs, Technometrics 3, 311-351.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod
from string import ascii_uppercase

from quaver.errors import SpecError, UnknownName

_SIZE = re.compile(r"\s*1\s*/\s*(\d+)\s*")

_MOST = 12
"""The most factors of a fraction: each one doubles the groups of aliases."""

_LISTED = 6
"""The most factors for which the aliases of two-factor interactions are listed."""

Word = tuple[frozenset[int], int]
"""A product of factors, and its sign in every combination."""


@dataclass(frozen=True, slots=True)
class Fraction:
    """A regular fraction of all combinations of two-level factors.

    A factor's first level is −1, its second +1. A combination is asked if every generator holds.

    Attributes:
        factors: The factors' names, in order.
        generators: Words whose product equals their sign in every combination that is asked.
    """

    factors: tuple[str, ...]
    generators: tuple[Word, ...]

    def holds(self, levels: Sequence[int]) -> bool:
        """Whether a combination is asked; ``levels`` are positions, 0 or 1, in the factors' order."""
        return all(
            prod(2 * levels[index] - 1 for index in factors) == sign for factors, sign in self.generators
        )

    @property
    def size(self) -> int:
        """The number of combinations that are asked."""
        return 1 << (len(self.factors) - len(self.generators))

    @property
    def relation(self) -> tuple[Word, ...]:
        """The defining relation: all products of generators, the identity apart, shortest first."""
        words = []
        some = chain.from_iterable(combinations(self.generators, n + 1) for n in range(len(self.generators)))
        for chosen in some:
            factors: frozenset[int] = frozenset()
            for one, _ in chosen:
                factors ^= one
            words.append((factors, prod([sign for _, sign in chosen])))
        return tuple(sorted(words, key=lambda word: (len(word[0]), sorted(word[0]))))

    @property
    def resolution(self) -> int:
        """Length of the shortest word: at 3, main effects are aliased with two-factor interactions."""
        return len(self.relation[0][0])

    def aliases(self, effect: frozenset[int]) -> tuple[Word, ...]:
        """The effects with which an effect is confounded, shortest first, with their signs."""
        words = ((effect ^ factors, sign) for factors, sign in self.relation)
        return tuple(sorted(words, key=lambda word: (len(word[0]), sorted(word[0]))))

    def description(self) -> list[str]:
        """The fraction and its aliasing in words.

        >>> for line in fraction_of("1/2", ["D = ABC"], ["a", "b", "c", "d"]).description():
        ...     print(line)
        1/2 of the 16 combinations of a, b, c, d is asked: 8, of resolution IV.
        Defining relation: I = a × b × c × d.
        Aliased: a = b × c × d; b = a × c × d; c = a × b × d; d = a × b × c; a × b = c × d; \
a × c = b × d; a × d = b × c.
        """
        whole = 2 ** len(self.factors)
        names = ", ".join(self.factors)
        lines = [
            f"1/{whole // self.size} of the {whole:,} combinations of {names} is asked: {self.size:,}, "
            f"of resolution {_roman(self.resolution)}.",
            f"Defining relation: I = {' = '.join(self._named(word) for word in self.relation)}.",
        ]
        order = 2 if len(self.factors) <= _LISTED else 1
        effects = [
            frozenset(one) for n in range(1, order + 1) for one in combinations(range(len(self.factors)), n)
        ]
        aliased: list[str] = []
        seen: set[frozenset[int]] = set()
        for effect in effects:
            if effect in seen:
                continue
            aliases = [word for word in self.aliases(effect) if word[0]]
            seen.update(factors for factors, _ in aliases)
            aliased.append(" = ".join([self._named((effect, 1)), *map(self._named, aliases)]))
        return [*lines, f"Aliased: {'; '.join(aliased)}."]

    def _named(self, word: Word) -> str:
        factors, sign = word
        return ("−" if sign < 0 else "") + " × ".join(self.factors[factor] for factor in sorted(factors))


def fraction_of(size: str, generators: Sequence[str], factors: Sequence[str]) -> Fraction:
    """Read a fraction as a study file writes it."""
    number = _SIZE.fullmatch(size)
    whole = 2 ** len(factors)
    if len(factors) > _MOST:
        raise SpecError(
            "the fraction has too many factors",
            where="fraction",
            expected=f"{_MOST} at most",
            found=f"{len(factors)}",
        )
    parts = int(number[1]) if number else 0
    if parts < 2 or parts & (parts - 1) or parts >= whole:
        raise SpecError(
            "this fraction is impossible",
            where="fraction",
            expected=f"1/2, 1/4 …, less than {whole} parts for {len(factors)} factors of two levels",
            found=size,
        )
    wanted = parts.bit_length() - 1
    words = [_word(one, factors, f"generators[{index}]") for index, one in enumerate(generators)]
    if not words and wanted == 1:
        words = [(frozenset(range(len(factors))), 1)]
    if len(words) != wanted:
        raise SpecError(
            f"a fraction of {size.strip()} takes {wanted} generator{'s' * (wanted != 1)}",
            where="generators",
            expected="generators: [D = ABC], with a letter for each factor in its order, or their names",
            found=f"{len(words)}",
        )
    result = Fraction(tuple(factors), tuple(words))
    if not all(factors for factors, _ in result.relation):
        raise SpecError(
            "these generators repeat or contradict each other",
            where="generators",
            expected="generators that do not follow from each other",
            found=", ".join(generators),
        )
    if result.resolution < 2:
        alone = next(iter(result.relation[0][0]))
        raise SpecError(
            f"these generators leave the factor {factors[alone]!r} only one level",
            where="generators",
            found=", ".join(generators),
        )
    return result


def _word(generator: str, factors: Sequence[str], where: str) -> Word:
    left, equals, right = generator.partition("=")
    sign = -1 if right.strip()[:1] in ("-", "−") else 1
    right = right.strip().lstrip("-−").strip()
    if not equals or not left.strip() or not right:
        raise SpecError(
            "this is not a generator",
            where=where,
            expected="D = ABC, or length = definition * output",
            found=generator,
        )
    word: frozenset[int] = frozenset([_at(left.strip(), factors, where)])
    for index in _product(right, factors, where):
        word ^= {index}
    if not word:
        raise SpecError("a factor cannot be generated from itself", where=where, found=generator)
    return word, sign


def _product(text: str, factors: Sequence[str], where: str) -> list[int]:
    letters = ascii_uppercase[: len(factors)]
    if "*" not in text and text not in factors:
        compact = "".join(text.split())
        if all(letter in letters for letter in compact):
            return [letters.index(letter) for letter in compact]
        text = "*".join(compact) if compact.isupper() else text
    return [_at(name.strip(), factors, where) for name in text.split("*")]


def _at(name: str, factors: Sequence[str], where: str) -> int:
    letters = ascii_uppercase[: len(factors)]
    if name in factors:
        return factors.index(name)
    if len(name) == 1 and name in letters:
        return letters.index(name)
    raise UnknownName("factor", name, [*factors, *letters], where=where)


def _roman(number: int) -> str:
    pairs = ((10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
    text = ""
    for value, sign in pairs:
        while number >= value:
            text, number = text + sign, number - value
    return text
