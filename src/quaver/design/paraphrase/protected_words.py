"""What no paraphrase may lose: placeholders, labels' names, numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from quaver.core.records import LabelSet
from quaver.design.prompts.templates import literal

_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*(?:\s?%)?")


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


def _names_pattern(names: list[str]) -> re.Pattern[str] | None:
    if not names:
        return None
    # The case of names of one or two letters counts: a and A, no and NO.
    written = [re.escape(name) if len(name) <= 2 else f"(?i:{re.escape(name)})" for name in names]
    return re.compile(rf"(?<!\w)(?:{'|'.join(written)})(?!\w)")


def protected(names: list[str]) -> re.Pattern[str]:
    """A pattern of everything that an edit must not touch, given the labels' names."""
    parts = [_PLACEHOLDER.pattern, _NUMBER.pattern]
    if named := _names_pattern(names):
        parts.append(named.pattern)
    return re.compile("|".join(f"(?:{part})" for part in parts), re.DOTALL)


def segments(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The parts of a text that may be changed: start and end of the text between protected parts."""
    at = 0
    for found in pattern.finditer(text):
        if found.start() > at:
            yield at, found.start()
        at = found.end()
    if at < len(text):
        yield at, len(text)


def lost(original: str, paraphrase: str, names: list[str]) -> dict[str, list[str]]:
    """What the original has and a paraphrase has lost, by kind.

    >>> lost("Is {{ x }} 1 or 2, good or bad?", "Is it 1, Good or evil?", ["good", "bad"])
    {'placeholders': ['{{ x }}'], 'labels': ['bad'], 'numbers': ['2']}
    """
    found = {
        "placeholders": [one for one in _placed(original) if one not in _placed(paraphrase)],
        "labels": [one for one in named(original, names) if one not in named(paraphrase, names)],
        "numbers": [one for one in _numbers(original) if one not in _numbers(paraphrase)],
    }
    return {kind: some for kind, some in found.items() if some}


def _placed(text: str) -> list[str]:
    return list(dict.fromkeys(re.sub(r"\s+", " ", one) for one in placeholders(text)))


def named(text: str, names: list[str]) -> list[str]:
    """The labels' names that occur in a template, outside placeholders."""
    pattern = _names_pattern(names)
    bare = _PLACEHOLDER.sub(" ", text)
    found = pattern.findall(bare) if pattern else []
    return list(dict.fromkeys(one if len(one) <= 2 else one.casefold() for one in found))


def _numbers(text: str) -> list[str]:
    bare = _PLACEHOLDER.sub(" ", text)
    return list(dict.fromkeys(re.sub(r"\s", "", one) for one in _NUMBER.findall(bare)))


def escaped(text: str, original: str) -> str:
    """A model's text as a template in which only the original's placeholders are filled in.

    >>> escaped("Is {{ x }} {{ secret }}?", "Is it {{ x }}?")
    "Is {{ x }} {{ '{{' }} secret }}?"
    """
    known = set(placeholders(original))
    pieces, at = [], 0
    for found in _PLACEHOLDER.finditer(text):
        if found.group() not in known:
            continue
        pieces += [literal(text[at : found.start()]), found.group()]
        at = found.end()
    return "".join([*pieces, literal(text[at:])])
