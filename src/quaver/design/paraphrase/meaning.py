"""Whether a paraphrase keeps the placeholders and the label names of its original, and what must be kept.

Whether it means the same is for a reader to say. Paraphrases that lose something are flagged, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from quaver.core.records import LabelSet, Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor
from quaver.design.prompts.templates import literal

_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_OF_SPACED = (
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
"""A character of a word, in scripts that put spaces around a name, without particles behind it."""
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*(?:\s?%)?")


def with_meaning(levels: Sequence[LevelOfFactor], prompt: Variant, labels: LabelSet) -> list[LevelOfFactor]:
    """Levels that reword the instruction, each with what its text has lost.

    Returns:
        The levels with the covariates ``original``, ``flagged`` and, where something is lost, ``flags``.
    """
    names, compared = label_names(labels, prompt.answers), []
    for level in levels:
        gone = lost(prompt.instruction, level.edit(prompt).instruction, names)
        flags = "; ".join(f"lost {kind}: {', '.join(some)}" for kind, some in gone.items())
        covariates = {"original": level.name == ORIGINAL, "flagged": bool(flags)}
        reason = {"flags": flags} if flags else {}
        compared.append(replace(level, covariates={**level.covariates, **covariates, **reason}))
    return compared


def lost(original: str, paraphrase: str, names: list[str]) -> dict[str, list[str]]:
    """What the original has and a paraphrase has lost, by kind.

    >>> lost("Is {{ x }} good or bad?", "Is it Good or evil?", ["good", "bad"])
    {'placeholders': ['{{ x }}'], 'labels': ['bad']}
    """
    kept, gone = _parts_to_keep(paraphrase, names), {}
    for kind, parts in _parts_to_keep(original, names).items():
        missing = [part for part in parts if part not in kept[kind]]
        if missing:
            gone[kind] = missing
    return gone


def _parts_to_keep(text: str, names: list[str]) -> dict[str, list[str]]:
    """The placeholders of a template, and the labels' names outside them; each once, in order."""
    placed = [" ".join(placeholder.split()) for placeholder in placeholders(text)]
    pattern = _names_pattern(names, _OF_SPACED)
    written = pattern.findall(_PLACEHOLDER.sub(" ", text)) if pattern else []
    named = [name if len(name) <= 2 else name.casefold() for name in written]
    return {"placeholders": list(dict.fromkeys(placed)), "labels": list(dict.fromkeys(named))}


def placeholders(template: str) -> list[str]:
    """The placeholders and statements of a template, as written.

    >>> placeholders("Is {{ item.name }} kind?")
    ['{{ item.name }}']
    """
    return _PLACEHOLDER.findall(template)


def label_names(labels: LabelSet, answers: Mapping[str, str]) -> list[str]:
    """All names of the labels, the longest first."""
    names = {name for label in labels.labels for name in (label.code, label.name, *label.synonyms)}
    return sorted((names | set(answers.values())) - {""}, key=lambda name: (-len(name), name))


def _names_pattern(names: list[str], of_word: str = r"\w") -> re.Pattern[str] | None:
    if not names:
        return None
    # The case of names of one or two letters counts: a and A, no and NO.
    written = [re.escape(name) if len(name) <= 2 else f"(?i:{re.escape(name)})" for name in names]
    return re.compile(rf"(?<!{of_word})(?:{'|'.join(written)})(?!{of_word})")


def protected(names: list[str]) -> re.Pattern[str]:
    """A pattern of everything that an edit must not touch, given the labels' names."""
    parts = [_PLACEHOLDER.pattern, _NUMBER.pattern]
    if named := _names_pattern(names):
        parts.append(named.pattern)
    return re.compile("|".join(f"(?:{part})" for part in parts), re.DOTALL)


def segments(text: str, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
    """The parts of a text that may be changed: start and end of the text between protected parts."""
    edges = [0]
    for match in pattern.finditer(text):
        edges += match.span()
    edges.append(len(text))
    return [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]


def escaped(text: str, original: str) -> str:
    """A model's text as a template in which only the original's placeholders are filled in.

    >>> escaped("Is {{ x }} {{ secret }}?", "Is it {{ x }}?")
    "Is {{ x }} {{ '{{' }} secret }}?"
    """
    known = placeholders(original)
    parts = re.split(f"({_PLACEHOLDER.pattern})", text, flags=re.DOTALL)
    return "".join(part if part in known else literal(part) for part in parts)


_SHORT = r"(?<!\be\.g)(?<!\bi\.e)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)(?<!\betc)(?<!\b[A-Z])"
_END = re.compile(rf"(?:(?:{_SHORT}\.|[!?…])[\"'”’)\]]*(?=\s|\Z)|\n)\s*")


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space after it.

    >>> sentences("Is it good, e.g. kind? Answer.  Now.")
    ['Is it good, e.g. kind? ', 'Answer.  ', 'Now.']
    """
    edges = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(edges) if start < end]
