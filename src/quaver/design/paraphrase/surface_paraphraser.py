"""``surface``: small edits of articles, contractions, politeness, spelling and the like.

It needs no model and costs nothing: the edits depend only on the seed, so that every machine draws the same.
Placeholders, labels' names and numbers never change.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from quaver.design.paraphrase.meaning import label_names, protected, segments
from quaver.design.paraphrase.paraphraser import Count, Draft, Paraphrase, PromptContext, Work
from quaver.design.spec.yaml_file import distinct
from quaver.errors import SpecError

Edit = tuple[int, int, tuple[str, ...]]
"""Start and end of a place that could be changed, and its possible replacements."""

Free = Sequence[tuple[int, int]]
"""Start and end of the parts of a text that may be changed."""

_CONTRACTIONS = {
    "cannot": "can't",
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "were not": "weren't",
    "has not": "hasn't",
    "have not": "haven't",
    "will not": "won't",
    "would not": "wouldn't",
    "should not": "shouldn't",
    "it is": "it's",
    "that is": "that's",
    "what is": "what's",
    "who is": "who's",
    "there is": "there's",
    "you are": "you're",
    "they are": "they're",
    "we are": "we're",
    "i am": "I'm",
    "you will": "you'll",
    "you have": "you've",
}
_EXPANSIONS = {short.lower(): long for long, short in _CONTRACTIONS.items()}

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_BESIDE = {
    key: row[max(0, index - 1) : index] + row[index + 1 : index + 2]
    for row in _KEYBOARD
    for index, key in enumerate(row)
}


Rule = tuple[str, Callable[[re.Match[str]], Sequence[str]]]
"""A pattern, and what may replace a match."""


def _articles(match: re.Match[str]) -> Sequence[str]:
    """Leaves an article out, or swaps it."""
    word = match.group(1)
    following = match.string[match.end()].lower()
    other = "the" if word.lower() != "the" else ("an" if following in "aeiou" else "a")
    return "", _as(word, other) + match.group(2)


def _contracted(table: Mapping[str, str]) -> Rule:
    """Contracts or expands."""
    names = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in table)
    return (
        rf"(?<![\w'’])(?:{names})(?![\w'’])",
        lambda match: (_as(match.group(), table[" ".join(match.group().lower().split())]),),
    )


_MARKS = {
    ".": ("", "!"),
    "?": ("", "??", "."),
    ",": ("", ";"),
    ":": (" -", ";"),
    ";": (",", "."),
    "!": ("", "."),
}


def _typos(match: re.Match[str]) -> Sequence[str]:
    """Swaps, doubles, drops or mistypes a letter inside a word of four letters or more."""
    word, made = match.group(), []
    for index in range(1, len(word) - 1):
        head, letter, tail = word[:index], word[index], word[index + 1 :]
        made += [head + tail, head + letter * 2 + tail]
        made += [head + beside + tail for beside in _BESIDE[letter.lower()]]
        if index + 1 < len(word) - 1:
            made.append(head + tail[0] + letter + tail[1:])
    return [typo for typo in dict.fromkeys(made) if typo != word]


def _cased(match: re.Match[str]) -> Sequence[str]:
    """Capitalises a word, or changes the case of its first letter."""
    word = match.group()
    return sorted({word.upper(), word.lower(), word[0].swapcase() + word[1:]} - {word})


def _as(model: str, word: str) -> str:
    """A word with a capital if the model has one."""
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


_PLEASE = r"(?<!\w)(?:,\s*)?please,?\s*(?!\w*\{)"

RULES: Mapping[str, Sequence[Rule]] = {
    "articles": [(r"(?<![\w'’])(the|an?)(\s+)(?=\w)", _articles)],
    "casing": [(r"(?<![\w'’])[a-z]{2,}(?![\w'’])", _cased)],
    "contractions": [_contracted(_CONTRACTIONS), _contracted(_EXPANSIONS)],
    "politeness": [(_PLEASE, lambda _: ("",))],
    "punctuation": [(r"(?<=[\w)\"'”’}])[.?,:;!](?=\s|\Z)", lambda match: _MARKS[match.group()])],
    "spacing": [
        (r"(?<=\S) (?=\S)", lambda _: ("  ", "\n")),
        (r"(?<=\w)(?=[?!.](?:\s|\Z))", lambda _: (" ",)),
    ],
    "typos": [(r"(?<![\w'’])[a-z]{4,}(?![\w'’])", _typos)],
}
"""Kind -> what it could change."""


def edits(kind: str, text: str, free: Free) -> Iterator[Edit]:
    """The places within the free parts that a kind could change."""
    searched, changed = text.replace("’", "'") if kind == "contractions" else text, False
    for pattern, instead in RULES[kind]:
        for match in re.finditer(pattern, searched, re.IGNORECASE):
            if any(start <= match.start() and match.end() <= end for start, end in free):
                changed = True
                yield match.start(), match.end(), tuple(instead(match))
    if kind == "politeness" and not changed:
        yield from _added_politeness(text, free)


def _added_politeness(text: str, free: Free) -> Iterator[Edit]:
    """Adds a please or thank-you where there is none."""
    start = len(text) - len(text.lstrip())
    if not text.strip():
        return
    first = re.match(r"[A-Z][a-z]*\b", text[start:])
    if first and any(begin <= start and start + first.end() <= end for begin, end in free):
        lower = first.group().lower()
        yield start, start + first.end(), (f"Please: {lower}", f"Could you tell me: {lower}")
    else:
        yield start, start, ("Please: ", "Could you tell me: ")
    end = len(text.rstrip())
    yield end, end, (" Thank you.", " Thanks!", " Please.")


Strength = Annotated[float, Field(gt=0, le=1)]
Kind = Literal["articles", "contractions", "politeness", "punctuation", "casing", "spacing", "typos"]

_TRIES = 50
"""The most draws for each paraphrase."""


@dataclass(frozen=True, kw_only=True)
class Surface:
    """Small random edits that keep the meaning.

    Args:
        strengths: The probability, up to 1, of changing each place that could be changed; at least one place
            changes.
        k: The number of paraphrases at each strength.
        kinds: The kinds of edits: articles, contractions, politeness, punctuation, casing, spacing, typos.
    """

    exact = True
    kept = False

    strengths: Annotated[list[Strength], Field(min_length=1), distinct("strength")] | None = None
    k: Count = 5
    kinds: Annotated[list[Kind], Field(min_length=1)] | None = None

    @property
    def _kinds(self) -> list[str]:
        return sorted(get_args(Kind) if self.kinds is None else set(self.kinds))

    def asked(self) -> Mapping[str, Any]:
        """The kinds of edits."""
        return {"kinds": self._kinds}

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """``k`` paraphrases at each strength, named ``s0.2-1``, ``s0.2-2`` and so on.

        Raises:
            SpecError: The instruction allows fewer.
        """
        text = context.prompt.instruction
        prompt = context.prompt
        names = label_names(context.labels, prompt.answers)
        free = segments(text, protected(names))
        places = [(kind, *edit) for kind in self._kinds for edit in edits(kind, text, free)]
        for strength in self.strengths or [0.2]:
            self._fill(strength, text, places, context.seed, draft)
        return draft.paraphrases

    def _fill(self, strength: float, text: str, places: Sequence[_Place], seed: int, draft: Draft) -> None:
        group = f"{strength:g}"
        draw = random.Random(f"{seed} surface {group}")
        for _ in range(_TRIES * self.k):
            if len(draft.of(group)) == self.k:
                return
            made, kinds = _drawn(text, places, strength, draw)
            origin, covariates = {"strength": strength, "kinds": kinds}, {"strength": strength}
            draft.offer(made, f"s{group}-", group, covariates, origin)
        if len(draft.of(group)) < self.k:
            raise SpecError(
                f"the instruction has {len(draft.of(group))} paraphrases at strength {group}",
                where="k",
                expected=f"{self.k} different ones",
                found=f"{len(places)} places that could be changed",
                fix="lower k, allow more kinds, or choose another strength",
            )


_Place = tuple[str, int, int, tuple[str, ...]]
"""A kind of edit, and a place that it could change."""


def _drawn(
    text: str, places: Sequence[_Place], strength: float, draw: random.Random
) -> tuple[str, list[str]]:
    """A text with a random share of its places changed, without overlaps; and the kinds of these changes."""
    if not places:
        return text, []
    chosen = [place for place in places if draw.random() < strength] or [draw.choice(places)]
    draw.shuffle(chosen)
    kept: list[tuple[int, int, str, str]] = []
    for kind, start, end, instead in chosen:
        if all(end <= other[0] or other[1] <= start for other in kept):
            kept.append((start, end, draw.choice(instead), kind))
    for start, end, instead_of_it, _ in sorted(kept, key=lambda change: change[:2], reverse=True):
        text = text[:start] + instead_of_it + text[end:]
    return text, sorted({kind for *_, kind in kept})
