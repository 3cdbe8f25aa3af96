"""Kinds of study whose truth is known, and what is right to say of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.planted_study import Groups, Plan, Scale

USE, EXCEPT, ONE, NOT = "use", "use except for", "use one prompt only", "do not use"


@dataclass(frozen=True)
class Kind:
    """A kind of study.

    Attributes:
        plan: What is planted.
        right: The verdicts that are right, beside ``cannot tell``.
        allowed: Verdicts that are neither right nor false.
        bad: The labels that must not be vouched for.
        doubtful: Labels that may be excluded.
        prompts: The prompts of which one may be used alone.
        names_groups: Whether groups that are misread must be excluded where others are vouched for.
        says_missing: Whether labels may be used only where it is said that some texts have none.
        alike: What texts without a label have in common: ``longer``, ``shorter``, or a group.
        causes: The first reasons that are right to give for not using labels; any, if empty.
        factor: The column of the prompts.
        beside: How often another model is wrong on the same texts.
        of: The model, or the field, whose verdict it is.
        fields: The fields of an answer in JSON, of which the second is never filled.
    """

    plan: Plan
    right: tuple[str, ...]
    allowed: tuple[str, ...] = ()
    bad: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()
    prompts: tuple[int, ...] = ()
    names_groups: bool = False
    says_missing: bool = False
    alike: str = ""
    causes: tuple[str, ...] = ()
    factor: str = "prompt"
    beside: float | None = None
    of: str = ""
    fields: tuple[str, ...] = ()

    @property
    def bad_classes(self) -> frozenset[str]:
        """The codes of `bad`."""
        return frozenset(self.plan.codes[at] for at in self.bad)

    @property
    def doubtful_classes(self) -> frozenset[str]:
        """The codes of `doubtful`."""
        return frozenset(self.plan.codes[at] for at in self.doubtful)

    @property
    def good_prompts(self) -> frozenset[str]:
        """The names of `prompts`."""
        return frozenset(f"p{at}" for at in self.prompts)


def _even(count: int, *rare: float) -> tuple[float, ...]:
    """Shares of so many labels: the last few are rare, the others alike."""
    left = count - len(rare)
    return (*((1 - sum(rare)) / left,) * left, *rare)


_CLASSES = {
    "two labels": Kind(Plan(shares=(0.5, 0.5)), (USE,)),
    "three labels": Kind(Plan(), (USE,)),
    "five labels": Kind(Plan(shares=_even(5)), (USE,)),
    "ten labels": Kind(Plan(texts=300, shares=_even(10)), (USE,)),
    "twenty labels": Kind(Plan(texts=600, prompts=3, shares=_even(20)), (USE,)),
    "forty labels": Kind(Plan(texts=1200, prompts=3, shares=_even(40)), (USE,)),
    "one label of three rare (7%), found, a fifth of its uses wrong": Kind(
        Plan(texts=400, shares=(0.6, 0.33, 0.07)), (USE, EXCEPT), doubtful=(2,)
    ),
    "one label of three rare (7%), found, right in 95% of its uses": Kind(
        Plan(texts=400, shares=(0.6, 0.33, 0.07), wrong=0.005, noise=0.004), (USE,)
    ),
    "one label of three rare (3%), found, right in 95% of its uses": Kind(
        Plan(texts=800, shares=(0.6, 0.37, 0.03), wrong=0.002, noise=0.002), (USE,)
    ),
    "one label of three rare (5%), found, right in 95% of its uses": Kind(
        Plan(texts=400, shares=(0.6, 0.35, 0.05), wrong=0.004, noise=0.003), (USE,)
    ),
    "one label of three rare (10%), found, right in 93% of its uses": Kind(
        Plan(texts=400, shares=(0.6, 0.3, 0.1), wrong=0.01, noise=0.01), (USE,)
    ),
    "one label of three rare (7%), half of its uses wrong": Kind(
        Plan(texts=400, shares=(0.6, 0.33, 0.07), confused={0: (2, 0.12)}, wrong=0.01, noise=0.01),
        (EXCEPT,),
        allowed=(NOT,),
        bad=(2,),
    ),
    "one label of three rare (3%), never found": Kind(
        Plan(texts=800, shares=(0.6, 0.37, 0.03), confused={2: (1, 1.0)}, wrong=0.02),
        (EXCEPT,),
        bad=(2,),
        doubtful=(1,),
    ),
    "one label of three rare (10%), never found": Kind(
        Plan(texts=400, shares=(0.6, 0.3, 0.1), confused={2: (1, 1.0)}, wrong=0.02),
        (EXCEPT, NOT),
        bad=(2,),
        doubtful=(1,),
        causes=("gold", "class"),
    ),
    "one label of three (3%), found, without gold": Kind(
        Plan(texts=800, shares=(0.6, 0.37, 0.03), wrong=0.01, noise=0.003, gold=0.0), (USE,)
    ),
    "one label of three (10%), lost by each prompt in half, without gold": Kind(
        Plan(texts=400, shares=(0.6, 0.3, 0.1), lost={2: (0, 0.5)}, wrong=0.02, gold=0.0), (EXCEPT,), bad=(2,)
    ),
    "one label of two rare (8%), found": Kind(
        Plan(texts=600, shares=(0.92, 0.08), wrong=0.005, noise=0.004), (USE,), allowed=(EXCEPT,)
    ),
    "one label of three rare (7%), never found": Kind(
        Plan(texts=400, shares=(0.6, 0.33, 0.07), confused={2: (1, 1.0)}, wrong=0.02),
        (EXCEPT,),
        bad=(2,),
        doubtful=(1,),
    ),
    "one label of three rare (7%), found in one of four": Kind(
        Plan(texts=600, shares=(0.6, 0.33, 0.07), confused={2: (1, 0.75)}, wrong=0.02),
        (EXCEPT,),
        bad=(2,),
        doubtful=(1,),
    ),
    "one label of three (7%), lost by each prompt in half, without gold": Kind(
        Plan(texts=600, shares=(0.6, 0.33, 0.07), lost={2: (0, 0.5)}, wrong=0.02, gold=0.0),
        (EXCEPT,),
        bad=(2,),
    ),
    "one label of three (7%), lost by each prompt in one of twelve, without gold": Kind(
        Plan(texts=600, shares=(0.6, 0.33, 0.07), lost={2: (0, 1 / 12)}, wrong=0.02, gold=0.0), (USE,)
    ),
    "one label of ten rare (5%), never found": Kind(
        Plan(texts=600, shares=_even(10, 0.05), confused={9: (0, 1.0)}, wrong=0.02),
        (EXCEPT,),
        bad=(9,),
        doubtful=(0,),
    ),
    "one label of forty never found": Kind(
        Plan(texts=2000, prompts=3, shares=_even(40), confused={39: (0, 1.0)}, wrong=0.02),
        (EXCEPT,),
        bad=(39,),
        doubtful=(0,),
    ),
    "one label of two (10%) never found": Kind(
        Plan(texts=300, shares=(0.9, 0.1), confused={1: (0, 1.0)}, wrong=0.0, noise=0.0),
        (NOT, EXCEPT),
        bad=(1,),
        doubtful=(0,),
        causes=("gold", "constant", "class"),
    ),
    "one label of two (5%) found in one of three": Kind(
        Plan(texts=600, shares=(0.95, 0.05), confused={1: (0, 0.67)}, wrong=0.0, noise=0.002),
        (NOT, EXCEPT),
        bad=(1,),
        causes=("gold", "class"),
    ),
    "two labels of four swapped": Kind(
        Plan(texts=300, shares=_even(4), confused={1: (2, 1.0), 2: (1, 1.0)}),
        (NOT, EXCEPT),
        bad=(1, 2),
        causes=("gold", "class"),
    ),
    "two rare labels of five swapped": Kind(
        Plan(
            texts=500, shares=(0.34, 0.3, 0.26, 0.05, 0.05), confused={3: (4, 1.0), 4: (3, 1.0)}, wrong=0.02
        ),
        (EXCEPT,),
        allowed=(NOT,),
        bad=(3, 4),
    ),
    "both labels swapped": Kind(
        Plan(shares=(0.5, 0.5), confused={0: (1, 1.0), 1: (0, 1.0)}), (NOT,), causes=("gold", "class")
    ),
    "one label always": Kind(Plan(always=(0, 1, 2, 3, 4)), (NOT,), causes=("constant", "gold", "class")),
    "one label always, without gold": Kind(
        Plan(always=(0, 1, 2, 3, 4), gold=0), (NOT,), causes=("constant",)
    ),
    "one label given to a third of the others": Kind(
        Plan(texts=300, shares=_even(4), confused={1: (0, 0.35), 2: (0, 0.35), 3: (0, 0.35)}),
        (NOT,),
        bad=(0, 1, 2, 3),
        causes=("gold", "class"),
    ),
}

_FIVE, _SEVEN, _ELEVEN = _even(5), _even(7), _even(11)
_LEVELS = {
    "five ordinal labels, a quarter of a step of noise": Kind(
        Plan(texts=300, shares=_FIVE, scale=Scale("ordinal", noise=0.25)), (USE,)
    ),
    "the same, six prompts": Kind(
        Plan(texts=300, prompts=6, shares=_FIVE, scale=Scale("ordinal", noise=0.25)), (USE,)
    ),
    "the same, without gold": Kind(
        Plan(texts=300, shares=_FIVE, gold=0, scale=Scale("ordinal", noise=0.25)), (USE,)
    ),
    "five ordinal labels, two steps swapped": Kind(
        Plan(
            texts=300,
            shares=_FIVE,
            scale=Scale("ordinal", noise=0.25),
            confused={2: (3, 1.0), 3: (2, 1.0)},
        ),
        (EXCEPT, NOT),
        bad=(2, 3),
        causes=("gold", "class"),
    ),
    "five ordinal labels, one step never given": Kind(
        Plan(texts=300, shares=_FIVE, scale=Scale("ordinal", noise=0.25, skipped=3)),
        (EXCEPT, NOT),
        bad=(3,),
        causes=("gold", "class"),
    ),
    "seven ordinal labels, one step never given, 100 gold labels": Kind(
        Plan(texts=300, shares=_SEVEN, gold=1 / 3, scale=Scale("ordinal", noise=0.25, skipped=5)),
        (EXCEPT, NOT),
        bad=(5,),
        causes=("gold", "class"),
    ),
    "seven ordinal labels, 40 texts": Kind(
        Plan(texts=40, shares=_SEVEN, scale=Scale("ordinal", noise=0.25)), (USE,)
    ),
    "nine ordinal labels, three prompts, half a step of noise": Kind(
        Plan(texts=100, prompts=3, shares=_even(9), scale=Scale("ordinal", noise=0.3, shared=0.5)), (USE,)
    ),
    "seven ordinal labels, a quarter of a step of noise": Kind(
        Plan(texts=300, shares=_SEVEN, scale=Scale("ordinal", noise=0.25)), (USE,)
    ),
    "five ordinal labels, two steps too high": Kind(
        Plan(texts=300, shares=_FIVE, scale=Scale("ordinal", noise=0.1, bias=2.0)),
        (NOT,),
        causes=("gold", "class"),
    ),
    "four grades, prompts agree and people do not": Kind(
        Plan(texts=400, prompts=9, shares=_even(4), scale=Scale("ordinal", noise=0.15, shared=1.5)),
        (NOT,),
        causes=("gold", "class"),
    ),
    "five ordinal labels, two steps of noise": Kind(
        Plan(texts=300, shares=_FIVE, scale=Scale("ordinal", noise=2.0)),
        (NOT,),
        causes=("prompts", "gold", "class"),
    ),
    "the same, without gold: two steps of noise": Kind(
        Plan(texts=300, shares=_FIVE, gold=0, scale=Scale("ordinal", noise=2.0)), (NOT,), causes=("prompts",)
    ),
    "five ordinal labels, one prompt of five three steps too high": Kind(
        Plan(texts=300, shares=_FIVE, scale=Scale("ordinal", noise=0.1, bias=(0, 0, 3.0, 0, 0))),
        (ONE,),
        prompts=(0, 1, 3, 4),
        causes=("prompts",),
    ),
    "five nominal labels, prompts change a third": Kind(
        Plan(texts=300, shares=_FIVE, noise=0.3), (NOT,), causes=("prompts", "gold", "class")
    ),
    "interval, half a step of noise on eleven": Kind(
        Plan(texts=300, shares=_ELEVEN, scale=Scale("interval", noise=0.5)), (USE,)
    ),
    "interval, without gold": Kind(
        Plan(texts=300, shares=_ELEVEN, gold=0, scale=Scale("interval", noise=0.5)), (USE,)
    ),
    "interval, five steps too high": Kind(
        Plan(texts=300, shares=_ELEVEN, scale=Scale("interval", noise=0.3, bias=5.0)),
        (NOT,),
        causes=("gold", "class"),
    ),
    "interval, five steps of noise": Kind(
        Plan(texts=300, shares=_ELEVEN, scale=Scale("interval", noise=5.0)),
        (NOT,),
        causes=("prompts", "gold", "class"),
    ),
    "ratio, half a step of noise on twenty": Kind(
        Plan(texts=400, shares=_even(20), scale=Scale("ratio", noise=0.5)), (USE,)
    ),
    "ratio, a third of the true amounts": Kind(
        Plan(texts=400, shares=_even(20), scale=Scale("ratio", noise=0.3, factor=1 / 3)),
        (NOT,),
        causes=("gold", "class"),
    ),
}

_MISREAD = ("gold", "group", "clusters")
_GROUPS = {
    "six groups to compare, all good": Kind(
        Plan(texts=600, shares=(0.6, 0.4), groups=Groups(6, declared="groups")), (USE,)
    ),
    "six groups, positives missed in one": Kind(
        Plan(
            texts=900,
            shares=(0.6, 0.4),
            wrong=0.02,
            groups=Groups(6, bad=(2,), missed=0.9, declared="groups"),
        ),
        (EXCEPT,),
        names_groups=True,
    ),
    "six groups, one misread": Kind(
        Plan(texts=900, wrong=0.02, groups=Groups(6, bad=(4,), wrong=0.5, declared="groups")),
        (EXCEPT,),
        names_groups=True,
    ),
    "six groups of unequal sizes, all good": Kind(
        Plan(texts=600, groups=Groups(6, uneven=True, declared="groups")), (USE,)
    ),
    "six groups of unequal sizes, a small one misread": Kind(
        Plan(texts=900, wrong=0.02, groups=Groups(6, uneven=True, bad=(5,), wrong=0.6, declared="groups")),
        (EXCEPT,),
        names_groups=True,
    ),
    "eight groups with other shares of labels, all good": Kind(
        Plan(texts=800, groups=Groups(8, differ=True, declared="groups")), (USE,)
    ),
    "six groups, prompts disagree in one": Kind(
        Plan(texts=900, wrong=0.02, groups=Groups(6, bad=(1,), drift=0.7, declared="groups")),
        (EXCEPT,),
        names_groups=True,
    ),
    "30 authors, drawn by author, all good": Kind(
        Plan(texts=300, groups=Groups(30, declared="group")), (USE,)
    ),
    "six groups, five ordinal labels, all good": Kind(
        Plan(
            texts=600,
            shares=_FIVE,
            scale=Scale("ordinal", noise=0.25),
            groups=Groups(6, declared="groups"),
        ),
        (USE,),
    ),
    "six groups, five ordinal labels, one misread": Kind(
        Plan(
            texts=900,
            shares=_FIVE,
            scale=Scale("ordinal", noise=0.25),
            groups=Groups(6, bad=(4,), wrong=0.7, declared="groups"),
        ),
        (EXCEPT,),
        names_groups=True,
    ),
    "six groups, eleven on an interval scale, one misread": Kind(
        Plan(
            texts=900,
            shares=_ELEVEN,
            scale=Scale("interval", noise=0.5),
            groups=Groups(6, bad=(3,), wrong=0.7, declared="groups"),
        ),
        (EXCEPT,),
        names_groups=True,
    ),
    "15 authors, drawn by author, a fifth misread": Kind(
        Plan(texts=150, groups=Groups(15, misread=0.2, wrong=1.0, declared="group")),
        (NOT, EXCEPT),
        names_groups=True,
        causes=_MISREAD,
    ),
    "15 authors that nobody declared, a fifth misread": Kind(
        Plan(texts=150, groups=Groups(15, misread=0.2, wrong=1.0)),
        (NOT, EXCEPT),
        names_groups=True,
        causes=_MISREAD,
    ),
    "15 authors of unequal sizes, undeclared, a fifth misread": Kind(
        Plan(texts=300, groups=Groups(15, uneven=True, misread=0.2, wrong=1.0)),
        (NOT, EXCEPT),
        names_groups=True,
        causes=_MISREAD,
    ),
    "60 authors that nobody declared, a fifth misread": Kind(
        Plan(texts=600, groups=Groups(60, misread=0.25, wrong=1.0)),
        (NOT, EXCEPT),
        names_groups=True,
        causes=_MISREAD,
    ),
    "60 authors that nobody declared, all good": Kind(Plan(texts=600, groups=Groups(60)), (USE,)),
    "60 authors that nobody declared, with other shares of labels": Kind(
        Plan(texts=600, groups=Groups(60, differ=True)), (USE,)
    ),
}

_ONE_BAD = (0.02, 0.02, 0.8, 0.02, 0.02)
_ONE_GOOD = (0.7, 0.7, 0.02, 0.7, 0.7)
_THIRD_BAD = (0.02, 0.02, 0.8) * 3
_PROMPTS = {
    "twenty good prompts": Kind(Plan(prompts=20), (USE,)),
    "five prompts alike, 12% of labels at random": Kind(Plan(texts=100, noise=0.12), (USE, NOT)),
    "twenty prompts alike, 25% of labels at random, 40 texts": Kind(
        Plan(texts=40, prompts=20, noise=0.25), (USE, NOT)
    ),
    "two good prompts": Kind(Plan(prompts=2), (USE,)),
    "one prompt, good": Kind(Plan(prompts=1), (USE,), allowed=(ONE,), prompts=(0,)),
    "one prompt, a third wrong": Kind(Plan(prompts=1, wrong=0.35), (NOT,), causes=("gold", "class")),
    "one broken prompt of five": Kind(
        Plan(noise=_ONE_BAD), (ONE,), prompts=(0, 1, 3, 4), causes=("prompts",)
    ),
    "one broken prompt of five, without gold": Kind(
        Plan(noise=_ONE_BAD, gold=0), (ONE,), prompts=(0, 1, 3, 4), causes=("prompts",)
    ),
    "one prompt of five always the same label": Kind(
        Plan(always=(3,)), (ONE,), prompts=(0, 1, 2, 4), causes=("prompts", "constant")
    ),
    "one prompt of five hardly ever a label": Kind(
        Plan(missing=(0.0, 0.9, 0.0, 0.0, 0.0)), (ONE,), prompts=(0, 2, 3, 4), causes=("prompts", "missing")
    ),
    "only one prompt of five right": Kind(Plan(noise=_ONE_GOOD), (ONE,), prompts=(2,), causes=("prompts",)),
    "only one prompt of five right, without gold": Kind(
        Plan(noise=_ONE_GOOD, gold=0), (NOT,), causes=("prompts",)
    ),
    "a third of nine prompts broken": Kind(
        Plan(prompts=9, noise=_THIRD_BAD),
        (ONE,),
        allowed=(NOT,),
        prompts=(0, 1, 3, 4, 6, 7),
        causes=("prompts",),
    ),
    "a third of nine prompts broken, without gold": Kind(
        Plan(prompts=9, noise=_THIRD_BAD, gold=0), (ONE, NOT), prompts=(0, 1, 3, 4, 6, 7), causes=("prompts",)
    ),
    "every prompt changes most labels": Kind(Plan(noise=0.6), (NOT,), causes=("prompts", "gold", "class")),
    "every prompt changes most labels, without gold": Kind(
        Plan(noise=0.6, gold=0), (NOT,), causes=("prompts",)
    ),
    "labels follow the order of the labels": Kind(
        Plan(prompts=3, pulled=0.5),
        (NOT,),
        causes=("prompts", "order", "gold", "class"),
        factor="label_order",
    ),
}

_REPEATS = {
    "three repeats, good": Kind(Plan(repeats=3, texts=120), (USE,)),
    "three repeats, another label each time": Kind(
        Plan(repeats=3, texts=120, again=0.5), (NOT,), causes=("repeats", "gold", "class")
    ),
    "three repeats, another label each time, without gold": Kind(
        Plan(repeats=3, texts=120, again=0.5, gold=0), (NOT,), causes=("repeats",)
    ),
    "three repeats, prompts change labels and repeats do not": Kind(
        Plan(repeats=3, texts=120, noise=0.5), (NOT,), causes=("prompts", "gold", "class")
    ),
}

_MISSING = {
    "3% of the labels missing at random": Kind(Plan(missing=0.03), (USE,)),
    "10% of the labels missing at random": Kind(Plan(missing=0.1), (USE,)),
    "half of the labels missing at random": Kind(Plan(missing=0.5), (NOT,), causes=("missing",)),
    "8% of the texts, the hard ones, never labelled": Kind(
        Plan(texts=400, hard=0.08, hard_missing=True, wrong=0.02), (USE, EXCEPT), says_missing=True
    ),
    "8% of the texts, the long ones, never labelled": Kind(
        Plan(texts=400, hard=0.08, hard_missing=True, wrong=0.02, lengths=True, hard_long=True),
        (USE, EXCEPT),
        says_missing=True,
        alike="longer",
    ),
    "8% of the texts, of any length, never labelled": Kind(
        Plan(texts=400, hard=0.08, hard_missing=True, wrong=0.02, lengths=True),
        (USE, EXCEPT),
        says_missing=True,
    ),
    "8% of the texts of six groups, of any length, never labelled": Kind(
        Plan(
            texts=400,
            hard=0.08,
            hard_missing=True,
            wrong=0.02,
            lengths=True,
            groups=Groups(6, declared="groups"),
        ),
        (USE, EXCEPT),
        says_missing=True,
    ),
    "one group of fifteen hardly ever labelled": Kind(
        Plan(
            texts=400,
            wrong=0.02,
            lengths=True,
            gold=0.0,
            groups=Groups(15, bad=(3,), silent=0.9, declared="groups"),
        ),
        (USE,),
        says_missing=True,
        alike="g3",
    ),
    "a third of the texts, the hard ones, never labelled": Kind(
        Plan(texts=300, hard=0.33, hard_missing=True), (NOT,), causes=("missing",)
    ),
    "texts of one label of three (10%) never labelled": Kind(
        Plan(texts=400, shares=(0.5, 0.4, 0.1), refused=2, wrong=0.02),
        (EXCEPT, USE),
        bad=(2,),
        says_missing=True,
    ),
}

_GOLD = {
    "no gold labels, good": Kind(Plan(gold=0), (USE,)),
    "20 gold labels, good": Kind(Plan(texts=300, gold=20 / 300), (USE,)),
    "20 gold labels, half wrong": Kind(
        Plan(texts=300, gold=20 / 300, wrong=0.5), (NOT,), causes=("gold", "class")
    ),
    "100 gold labels of 1,000 texts, good": Kind(Plan(texts=1000, prompts=3, gold=0.1), (USE,)),
    "stable and a third wrong": Kind(Plan(wrong=0.35), (NOT,), causes=("gold", "class")),
    "13% of the gold labels wrong, one coder": Kind(
        Plan(texts=300, gold_wrong=0.13), (USE,), allowed=(NOT, EXCEPT), causes=("gold", "class")
    ),
    "30% of the gold labels wrong, one coder": Kind(
        Plan(texts=300, gold_wrong=0.3), (USE,), allowed=(NOT, EXCEPT), causes=("gold", "class")
    ),
    "three coders, each right in 85%, and a good model": Kind(
        Plan(texts=200, prompts=3, coders=3, coder_wrong=0.15), (USE,)
    ),
    "two coders, each right in 85%, and a good model": Kind(
        Plan(texts=200, prompts=3, coders=2, coder_wrong=0.15), (USE,)
    ),
    "three coders who agree, and a third wrong": Kind(
        Plan(texts=200, prompts=3, coders=3, coder_wrong=0.03, wrong=0.35), (NOT,), causes=("gold", "class")
    ),
}

_SIZES = {
    "8 texts, good": Kind(Plan(texts=8), (USE,)),
    "8 texts, half wrong": Kind(Plan(texts=8, wrong=0.5), (NOT,)),
    "30 texts, good": Kind(Plan(texts=30), (USE,)),
    "30 texts, a quarter wrong": Kind(Plan(texts=30, wrong=0.25), (NOT,), causes=("gold", "class")),
    "100 texts, good": Kind(Plan(texts=100), (USE,)),
    "100 texts, a quarter wrong": Kind(Plan(texts=100, wrong=0.25), (NOT,), causes=("gold", "class")),
    "5,000 texts, good": Kind(Plan(texts=5000, prompts=3), (USE,)),
    "5,000 texts, a quarter wrong": Kind(
        Plan(texts=5000, prompts=3, wrong=0.25), (NOT,), causes=("gold", "class")
    ),
}

_COPIES = {
    "60 texts, each five times, good": Kind(Plan(texts=300, copies=5), (USE,)),
    "30 texts, each ten times, a quarter wrong": Kind(
        Plan(texts=300, copies=10, wrong=0.25), (NOT,), causes=("gold", "class", "clusters")
    ),
    "60 texts, each five times in other words, good": Kind(Plan(texts=300, copies=5, near=True), (USE,)),
    "30 texts, each ten times in other words, a quarter wrong": Kind(
        Plan(texts=300, copies=10, near=True, wrong=0.25), (NOT,), causes=("gold", "class", "clusters")
    ),
}

_THIN = {
    "twenty labels, 200 texts": Kind(Plan(shares=_even(20)), (USE,)),
    "forty labels, 400 texts": Kind(Plan(texts=400, prompts=3, shares=_even(40)), (USE,)),
    "five ordinal labels, 100 texts, a quarter of a step of noise": Kind(
        Plan(texts=100, shares=_FIVE, scale=Scale("ordinal", noise=0.25)), (USE,)
    ),
    "three labels, 100 texts, without gold": Kind(Plan(texts=100, gold=0), (USE,)),
    "twenty groups to compare, 400 texts, all good": Kind(
        Plan(texts=400, groups=Groups(20, declared="groups")), (USE,)
    ),
    "six groups to compare, 100 texts, all good": Kind(
        Plan(texts=100, groups=Groups(6, declared="groups")), (USE,)
    ),
    "twelve groups of 40 texts, one misread": Kind(
        Plan(texts=480, wrong=0.02, groups=Groups(12, bad=(7,), wrong=0.6, declared="groups")),
        (EXCEPT,),
        names_groups=True,
    ),
    "forty authors that nobody declared, half of them a little harder": Kind(
        Plan(texts=400, groups=Groups(40, misread=0.5, wrong=0.06)), (USE,)
    ),
    "one label of four (20%) found in half": Kind(
        Plan(texts=600, shares=(0.3, 0.3, 0.2, 0.2), confused={3: (0, 0.5)}, wrong=0.02),
        (EXCEPT, NOT),
        bad=(3,),
        doubtful=(0,),
        causes=("gold", "class"),
    ),
}

_SEVERAL = {
    "two models, the good one": Kind(Plan(), (USE,), beside=0.4, of="m"),
    "two models, the bad one": Kind(Plan(wrong=0.4), (NOT,), beside=0.03, of="m", causes=("gold", "class")),
    "two fields, the one that is filled": Kind(Plan(), (USE,), fields=("tone", "topic"), of="tone"),
    "two fields, the one that is never filled": Kind(
        Plan(), (NOT,), fields=("tone", "topic"), of="topic", causes=("missing", "constant")
    ),
}

KINDS: Mapping[str, Kind] = {
    **_CLASSES,
    **_LEVELS,
    **_GROUPS,
    **_PROMPTS,
    **_REPEATS,
    **_MISSING,
    **_GOLD,
    **_SIZES,
    **_COPIES,
    **_THIN,
    **_SEVERAL,
}
