"""A second family of studies whose truth is known, written from a list of faults, not from the rules' code.

Each kind draws a world of texts: what is true, what each prompt answers, which texts people labelled, and
which columns the table has. What is right to say is not written beside a kind. It is read off a world of
very many texts of the same kind (`truths`): how often a label that is given is wrong, how often each prompt
is, and which part of the texts goes wrong. `benchmarks/unseen.py` holds a verdict against it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class World:
    """Texts with what is true of them.

    Attributes:
        truth: The true label of each text.
        labels: Text × prompt × repeat: the label given; -1 where the answer had none.
        gold: What a person said; -1 where nobody labelled the text.
        words: How long each text is.
        columns: Further columns of the table.
        group: The column that is declared as the texts' group.
    """

    truth: Ints
    labels: Ints
    gold: Ints
    words: Ints
    columns: Mapping[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    group: str = ""


@dataclass(frozen=True)
class Kind:
    """A kind of study.

    Attributes:
        draw: A world of so many texts, from a generator.
        names: The labels.
        texts: How many texts a study has.
        part: The level of a column, or ``long`` or ``late``, whose labels go wrong.
        level: The labels' level of measurement.
    """

    draw: Callable[[np.random.Generator, int], World]
    names: tuple[str, ...]
    texts: int = 400
    part: str = ""
    level: str = "nominal"


# ------------------------------------------------------------------------------ parts of a world


def shared(labels: Ints, prompts: int = 5, repeats: int = 1) -> Ints:
    """The same label from each prompt and repeat."""
    return np.repeat(np.repeat(labels[:, None, None], prompts, 1), repeats, 2)


def slipped(labels: Ints, kinds: int, chance: float, rng: np.random.Generator) -> Ints:
    """Another label in a share of the cells."""
    other = (labels + rng.integers(1, kinds, labels.shape)) % kinds
    return np.where(rng.random(labels.shape) < chance, other, labels)


def drawn(gold: Ints, share: float, rng: np.random.Generator) -> Ints:
    """Gold labels of texts drawn at random."""
    return np.where(rng.random(gold.size) < share, gold, -1)


def lengths(n: int, rng: np.random.Generator) -> Ints:
    """How long texts are, in words."""
    return rng.integers(5, 41, n)


def world(truth: Ints, labels: Ints, gold: Ints, rng: np.random.Generator, **more: object) -> World:
    """A world whose texts differ in nothing but what is given."""
    return World(truth, labels, gold, **{"words": lengths(truth.size, rng), **more})  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ errors of a class


def confused(
    rng: np.random.Generator,
    n: int,
    *,
    shares: tuple[float, ...],
    moves: tuple[tuple[int, int, float], ...],
    gold: float = 1.0,
    noise: float = 0.01,
    per_prompt: bool = False,
) -> World:
    """Texts of one class are given another label with some chance, by all prompts alike or by each."""
    truth = rng.choice(len(shares), n, p=shares)
    labels = shared(truth)
    for source, target, chance in moves:
        hit = rng.random(labels.shape if per_prompt else (n, 1, 1)) < chance
        labels = np.where((truth == source)[:, None, None] & hit, target, labels)
    labels = slipped(labels, len(shares), noise, rng)
    return world(truth, labels, drawn(truth, gold, rng), rng)


def spilled(
    rng: np.random.Generator,
    n: int,
    *,
    shares: tuple[float, ...],
    to: int,
    chance: float,
    gold: float = 1.0,
) -> World:
    """One label is also given to a share of all other texts."""
    truth = rng.choice(len(shares), n, p=shares)
    common = np.where((truth != to) & (rng.random(n) < chance), to, truth)
    return world(truth, slipped(shared(common), len(shares), 0.01, rng), drawn(truth, gold, rng), rng)


def wrong_at_random(
    rng: np.random.Generator,
    n: int,
    *,
    wrong: float,
    shares: tuple[float, ...] = (0.4, 0.3, 0.3),
    gold: float = 1.0,
    gold_wrong: float = 0.0,
    prompts: int = 5,
    repeats: int = 1,
    noise: float = 0.01,
) -> World:
    """Some labels are wrong, whatever the class; the gold labels may be too."""
    truth = rng.choice(len(shares), n, p=shares)
    labels = slipped(
        shared(slipped(truth, len(shares), wrong, rng), prompts, repeats), len(shares), noise, rng
    )
    said = slipped(truth, len(shares), gold_wrong, rng)
    return world(truth, labels, drawn(said, gold, rng), rng)


# ------------------------------------------------------------------------------ hand labels that are chosen


def hand_short(
    rng: np.random.Generator, n: int, *, wrong_long: float, most: int = 20, hand: float = 0.25
) -> World:
    """People labelled short texts; the model is wrong in long ones."""
    truth, words = rng.choice(3, n), lengths(n, rng)
    wrong = (words > 22) & (rng.random(n) < wrong_long)
    labels = slipped(shared(np.where(wrong, (truth + 1) % 3, truth)), 3, 0.01, rng)
    gold = np.where((words <= most) & (rng.random(n) < hand * n / max((words <= most).sum(), 1)), truth, -1)
    return world(truth, labels, gold, rng, words=words)


def hand_of_class(
    rng: np.random.Generator, n: int, *, classes: tuple[int, ...], wrong: float, share: float = 1.0
) -> World:
    """People labelled texts of some classes only."""
    truth = rng.choice(3, n, p=(0.4, 0.3, 0.3))
    labels = slipped(shared(slipped(truth, 3, wrong, rng)), 3, 0.005, rng)
    gold = np.where(np.isin(truth, classes) & (rng.random(n) < share), truth, -1)
    return world(truth, labels, gold, rng)


def hand_first(rng: np.random.Generator, n: int, *, wrong_late: float, first: float = 0.2) -> World:
    """People labelled the first rows; the model is wrong in later ones."""
    truth = rng.choice(3, n)
    late = np.arange(n) >= n / 2
    labels = shared(np.where(late & (rng.random(n) < wrong_late), (truth + 1) % 3, truth))
    gold = np.where(np.arange(n) < first * n, truth, -1)
    return world(truth, slipped(labels, 3, 0.01, rng), gold, rng)


def hand_of_level(rng: np.random.Generator, n: int, *, wrong: float, hand: float = 0.3) -> World:
    """People labelled texts of one source; the model is wrong in another one's."""
    truth = rng.choice(3, n)
    source = np.array(["srcpaper", "srcradio", "srcforum"])[rng.integers(0, 3, n)]
    bad = (source == "srcforum") & (rng.random(n) < wrong)
    labels = slipped(shared(np.where(bad, (truth + 1) % 3, truth)), 3, 0.01, rng)
    gold = np.where((source == "srcpaper") & (rng.random(n) < 3 * hand), truth, -1)
    return world(truth, labels, gold, rng, columns={"source": source})


def hand_where_certain(rng: np.random.Generator, n: int, *, hard: float = 0.3) -> World:
    """People left the hard texts out; there the prompts disagree and are wrong."""
    truth = rng.choice(3, n)
    difficult = rng.random(n) < hard
    labels = shared(truth)
    labels = np.where(difficult[:, None, None], rng.integers(0, 3, labels.shape), labels)
    gold = np.where(~difficult & (rng.random(n) < 0.4), truth, -1)
    return world(truth, labels, gold, rng)


# ------------------------------------------------------------------------------ parts that nobody declared


def part_wrong(
    rng: np.random.Generator,
    n: int,
    *,
    levels: tuple[str, ...],
    bad: str,
    wrong: float,
    lost: int | None = None,
    gold: float = 1.0,
    declared: bool = False,
) -> World:
    """One level of a column goes wrong, throughout or in one class."""
    truth = rng.choice(3, n)
    column = np.array(levels)[rng.integers(0, len(levels), n)]
    hit = (column == bad) & (rng.random(n) < wrong)
    if lost is not None:
        hit &= truth == lost
    labels = slipped(shared(np.where(hit, (truth + 1) % 3, truth)), 3, 0.01, rng)
    return world(
        truth,
        labels,
        drawn(truth, gold, rng),
        rng,
        columns={"origin": column},
        group="origin" if declared else "",
    )


def long_wrong(rng: np.random.Generator, n: int, *, longest: float, wrong: float, gold: float = 1.0) -> World:
    """The longest texts go wrong."""
    truth, words = rng.choice(3, n), lengths(n, rng)
    long = words >= np.quantile(words, 1 - longest)
    labels = shared(np.where(long & (rng.random(n) < wrong), (truth + 1) % 3, truth))
    return world(truth, slipped(labels, 3, 0.01, rng), drawn(truth, gold, rng), rng, words=words)


def late_wrong(rng: np.random.Generator, n: int, *, after: float, wrong: float, gold: float = 1.0) -> World:
    """The model changes on its way through the table."""
    truth = rng.choice(3, n)
    late = np.arange(n) >= after * n
    labels = shared(np.where(late & (rng.random(n) < wrong), (truth + 1) % 3, truth))
    return world(truth, slipped(labels, 3, 0.01, rng), drawn(truth, gold, rng), rng)


def columns_of_nothing(rng: np.random.Generator, n: int, *, wrong: float, columns: int = 8) -> World:
    """Columns that explain no error: a screen must name none of them."""
    drawn_world = wrong_at_random(rng, n, wrong=wrong)
    names = {f"col{at}": np.char.add(f"lev{at}x", rng.integers(0, 4, n).astype(str)) for at in range(columns)}
    return World(drawn_world.truth, drawn_world.labels, drawn_world.gold, drawn_world.words, names)


# ------------------------------------------------------------------------------ prompts that deviate


def odd_prompts(
    rng: np.random.Generator,
    n: int,
    *,
    odd: tuple[int, ...],
    source: int,
    target: int,
    chance: float,
    prompts: int = 5,
    gold: float = 1.0,
) -> World:
    """With some prompts, texts of a class get another label."""
    truth = rng.choice(3, n, p=(0.4, 0.3, 0.3))
    labels = slipped(shared(slipped(truth, 3, 0.04, rng), prompts), 3, 0.01, rng)
    hit = (truth == source)[:, None, None] & (rng.random(labels.shape) < chance)
    hit &= np.isin(np.arange(prompts), odd)[None, :, None]
    return world(truth, np.where(hit, target, labels), drawn(truth, gold, rng), rng)


def noisy_prompts(
    rng: np.random.Generator,
    n: int,
    *,
    noise: float,
    shares: tuple[float, ...],
    gold: float,
    prompts: int = 5,
) -> World:
    """Each prompt draws some labels anew."""
    truth = rng.choice(len(shares), n, p=shares)
    labels = slipped(shared(truth, prompts), len(shares), noise, rng)
    return world(truth, labels, drawn(truth, gold, rng), rng)


def half_found(
    rng: np.random.Generator, n: int, *, rare: float, chance: float, gold: float = 0.0, prompts: int = 5
) -> World:
    """Each prompt finds a rare class in some of its texts, another in others."""
    truth = rng.choice(3, n, p=((1 - rare) / 2, (1 - rare) / 2, rare))
    labels = shared(truth, prompts)
    labels = np.where((truth == 2)[:, None, None] & (rng.random(labels.shape) > chance), 0, labels)
    return world(truth, labels, drawn(truth, gold, rng), rng)


def unanswered(
    rng: np.random.Generator,
    n: int,
    *,
    silent: tuple[float, ...],
    gold: float = 1.0,
    source: int | None = None,
) -> World:
    """Answers without a label: with some prompts, or of one class."""
    truth = rng.choice(3, n)
    labels = slipped(shared(truth, len(silent)), 3, 0.02, rng)
    bare = rng.random(labels.shape) < np.array(silent)[None, :, None]
    if source is not None:
        bare &= (truth == source)[:, None, None]
    return world(truth, np.where(bare, -1, labels), drawn(truth, gold, rng), rng)


def repeats_differ(rng: np.random.Generator, n: int, *, noise: float, gold: float = 1.0) -> World:
    """Asked again with the same prompt, some answers change."""
    truth = rng.choice(3, n)
    labels = slipped(shared(truth, 3, 3), 3, noise, rng)
    return world(truth, labels, drawn(truth, gold, rng), rng)


def steps_off(rng: np.random.Generator, n: int, *, shift: float, spread: float, gold: float = 1.0) -> World:
    """Grades of a scale, some steps too high or too low."""
    place = rng.random(n) * 5
    common = place + shift + rng.normal(0, spread, n)
    truth = np.floor(place).astype(int)
    return world(truth, shared(np.clip(np.floor(common), 0, 4).astype(int)), drawn(truth, gold, rng), rng)


# ------------------------------------------------------------------------------ the kinds

ABC = ("a", "b", "c")
FOUR = ("a", "b", "c", "d")
LANGUAGES = ("de", "en", "fr", "xx")


def _kind(
    draw: Callable[..., World], names: tuple[str, ...] = ABC, texts: int = 400, **given: object
) -> Kind:
    about = {key: given.pop(key) for key in ("part", "level") if key in given}
    return Kind(partial(draw, **given), names, texts, **about)  # type: ignore[arg-type]


def _classes() -> dict[str, Kind]:
    large, rare = (0.1, 0.7, 0.2), (0.6, 0.35, 0.05)
    return {
        "a fifth always given a small label": _kind(confused, shares=large, moves=((2, 0, 1.0),)),
        "a fifth always given the large label": _kind(confused, shares=large, moves=((2, 1, 1.0),)),
        "a fifth half given a small label": _kind(confused, shares=large, moves=((2, 0, 0.5),)),
        "a rare label spilled over a tenth": _kind(spilled, shares=rare, to=2, chance=0.09),
        "a rare label spilled over a tenth, 100 gold": _kind(
            spilled, shares=rare, to=2, chance=0.09, gold=0.25
        ),
        "a rare label spilled over 1%": _kind(spilled, shares=rare, to=2, chance=0.01, texts=800),
        "a middling label spilled over a fifth": _kind(spilled, shares=(0.5, 0.3, 0.2), to=2, chance=0.2),
        "two classes swapped in one direction": _kind(
            confused, FOUR, shares=(0.25,) * 4, moves=((1, 2, 0.6),)
        ),
        "none given as favor": _kind(confused, shares=(1 / 3,) * 3, moves=((2, 0, 1.0),), texts=150),
        "none given as favor, 50 gold of 500": _kind(
            confused, shares=(1 / 3,) * 3, moves=((2, 0, 1.0),), texts=500, gold=0.1
        ),
        "twelve classes, one lost": _kind(
            confused, tuple("abcdefghijkl"), shares=(1 / 12,) * 12, moves=((11, 0, 1.0),), texts=900
        ),
        "twelve classes, all found": _kind(
            confused, tuple("abcdefghijkl"), shares=(1 / 12,) * 12, moves=(), texts=900
        ),
        "a rare class found by half of the answers": _kind(
            confused, shares=rare, moves=((2, 0, 0.5),), per_prompt=True, texts=800
        ),
    }


def _error_rates() -> dict[str, Kind]:
    even = {f"{100 * wrong:.0f}% wrong, 100 gold": wrong for wrong in (0.0, 0.03, 0.05)}
    found = {name: _kind(wrong_at_random, wrong=wrong, gold=0.25) for name, wrong in even.items()}
    found |= {
        f"{100 * wrong:.0f}% wrong, {texts} gold": _kind(wrong_at_random, wrong=wrong, texts=texts)
        for wrong, texts in ((0.03, 1500), (0.05, 1500), (0.25, 200), (0.25, 1500), (0.5, 100))
    }
    found |= {
        "4% wrong, a tenth of the gold labels wrong": _kind(wrong_at_random, wrong=0.03, gold_wrong=0.1),
        "2% wrong, a twentieth of the gold labels wrong": _kind(
            wrong_at_random, wrong=0.02, gold_wrong=0.05, gold=0.5
        ),
        "a majority of 97%, 50 gold": _kind(
            wrong_at_random, ("a", "b"), wrong=0.01, shares=(0.97, 0.03), gold=0.125, noise=0.0
        ),
        "a majority of 97%, all gold": _kind(
            wrong_at_random, ("a", "b"), wrong=0.01, shares=(0.97, 0.03), noise=0.0
        ),
        "a majority of 96%, the other class never given": _kind(
            confused, ("a", "b"), shares=(0.96, 0.04), moves=((1, 0, 1.0),), noise=0.0, texts=800
        ),
        "good, three repeats": _kind(wrong_at_random, wrong=0.02, repeats=3, texts=150),
        "good, two prompts": _kind(wrong_at_random, wrong=0.02, prompts=2),
        "good, twenty prompts": _kind(wrong_at_random, wrong=0.02, prompts=20, texts=150),
        "good, 100 texts": _kind(wrong_at_random, wrong=0.02, texts=100),
    }
    return found


def _hand() -> dict[str, Kind]:
    return {
        "hand labels of short texts, two fifths of the long wrong": _kind(hand_short, wrong_long=0.4),
        "hand labels of short texts, all of the long wrong": _kind(hand_short, wrong_long=1.0),
        "hand labels of short texts, none wrong": _kind(hand_short, wrong_long=0.0),
        "hand labels of one class, good": _kind(hand_of_class, classes=(0,), wrong=0.02),
        "hand labels of one class, a third wrong": _kind(hand_of_class, classes=(0,), wrong=0.33),
        "hand labels of two classes, good": _kind(hand_of_class, classes=(0, 1), wrong=0.02, share=0.5),
        "the first rows by hand, half of the late wrong": _kind(hand_first, wrong_late=0.5),
        "the first rows by hand, none wrong": _kind(hand_first, wrong_late=0.0),
        "one source by hand, another one wrong": _kind(hand_of_level, wrong=0.8, part="srcforum"),
        "one source by hand, none wrong": _kind(hand_of_level, wrong=0.0),
        "the hard texts left out by hand": _kind(hand_where_certain),
        "the hard texts left out by hand, few": _kind(hand_where_certain, hard=0.04),
    }


def _parts() -> dict[str, Kind]:
    sources = ("news", "blogs", "forum", "mails", "talks", "speech", "tweets", "letters")
    return {
        "a class lost in one of four languages": _kind(
            part_wrong, levels=LANGUAGES, bad="xx", wrong=1.0, lost=2, part="xx"
        ),
        "one of four languages wrong": _kind(part_wrong, levels=LANGUAGES, bad="xx", wrong=0.7, part="xx"),
        "one of four languages wrong, 120 gold": _kind(
            part_wrong, levels=LANGUAGES, bad="xx", wrong=0.7, gold=0.3, part="xx"
        ),
        "one of four languages wrong, declared": _kind(
            part_wrong, levels=LANGUAGES, bad="xx", wrong=0.7, declared=True, part="xx"
        ),
        "one of eight sources wrong": _kind(
            part_wrong, levels=sources, bad="forum", wrong=0.6, texts=800, part="forum"
        ),
        "no language wrong": _kind(part_wrong, levels=LANGUAGES, bad="xx", wrong=0.0),
        "the longest eighth wrong": _kind(long_wrong, longest=0.12, wrong=0.67, part="long"),
        "the longest fifth wrong, 150 gold": _kind(
            long_wrong, longest=0.2, wrong=0.6, gold=0.375, part="long"
        ),
        "no length wrong": _kind(long_wrong, longest=0.12, wrong=0.0),
        "the last third of the rows wrong": _kind(late_wrong, after=0.67, wrong=0.4, part="late"),
        "the second half of the rows wrong": _kind(late_wrong, after=0.5, wrong=0.3, part="late"),
        "eight columns of nothing, 4% wrong": _kind(columns_of_nothing, wrong=0.04),
        "eight columns of nothing, 8% wrong": _kind(columns_of_nothing, wrong=0.07, texts=800),
    }


def _prompts() -> dict[str, Kind]:
    return {
        "one prompt of five moves a class": _kind(odd_prompts, odd=(4,), source=2, target=0, chance=0.4),
        "two prompts of five move a class": _kind(odd_prompts, odd=(3, 4), source=2, target=0, chance=0.4),
        "one prompt of ten moves a class": _kind(
            odd_prompts, odd=(9,), source=2, target=0, chance=0.6, prompts=10
        ),
        "one prompt of five loses a class": _kind(odd_prompts, odd=(0,), source=1, target=0, chance=1.0),
        "one prompt of five moves a class, no gold": _kind(
            odd_prompts, odd=(4,), source=2, target=0, chance=0.6, gold=0.0
        ),
        "no prompt moves a class": _kind(odd_prompts, odd=(), source=2, target=0, chance=0.0),
        "each prompt a quarter at random, no gold": _kind(
            noisy_prompts, noise=0.25, shares=(0.4, 0.3, 0.3), gold=0.0
        ),
        "each prompt 2% at random, no gold": _kind(
            noisy_prompts, noise=0.02, shares=(0.4, 0.3, 0.3), gold=0.0
        ),
        "each prompt 2% at random, rare class, no gold": _kind(
            noisy_prompts, noise=0.02, shares=(0.6, 0.36, 0.04), gold=0.0
        ),
        "a rare class found by half of the prompts, no gold": _kind(half_found, rare=0.04, chance=0.5),
        "a rare class found by half of the prompts": _kind(half_found, rare=0.06, chance=0.5, gold=1.0),
        "a rare class found by all prompts, no gold": _kind(half_found, rare=0.06, chance=0.98),
        "asking again changes a third": _kind(repeats_differ, noise=0.33),
        "asking again changes 2%": _kind(repeats_differ, noise=0.02),
        "one prompt of five without labels": _kind(unanswered, silent=(0.0, 0.0, 0.0, 0.0, 0.8)),
        "a quarter without labels": _kind(unanswered, silent=(0.25,) * 5),
        "a class is not answered": _kind(unanswered, silent=(1.0,) * 5, source=2),
        "2% without labels": _kind(unanswered, silent=(0.02,) * 5),
        "grades a step too high": _kind(steps_off, tuple("12345"), shift=1.0, spread=0.2, level="ordinal"),
        "grades all over the place": _kind(steps_off, tuple("12345"), shift=0.0, spread=2.0, level="ordinal"),
        "grades within a fifth of a step": _kind(
            steps_off, tuple("12345"), shift=0.0, spread=0.15, level="ordinal"
        ),
    }


KINDS: dict[str, Kind] = {**_classes(), **_error_rates(), **_hand(), **_parts(), **_prompts()}
