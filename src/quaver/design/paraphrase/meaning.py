"""Whether a paraphrase keeps the placeholders and the label names of its original, and what must be kept.

Whether it means the same is for a reader to say. Paraphrases that lose something are flagged, never dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from quaver.core.records import LabelSet, Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor
from quaver.design.prompts.rendering import filled
from quaver.design.prompts.templates import literal

_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
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
    kinds: dict[str, Callable[[str], list[str]]] = {
        "placeholders": _placed,
        "labels": lambda text: _named(text, names),
    }
    gone = {
        kind: [name for name in read(original) if name not in read(paraphrase)]
        for kind, read in kinds.items()
    }
    return {kind: some for kind, some in gone.items() if some}


def _placed(text: str) -> list[str]:
    return list(dict.fromkeys(re.sub(r"\s+", " ", placeholder) for placeholder in placeholders(text)))


def _named(text: str, names: list[str]) -> list[str]:
    """The labels' names that occur in a template, outside placeholders."""
    pattern = _names_pattern(names)
    written = pattern.findall(_PLACEHOLDER.sub(" ", text)) if pattern else []
    return list(dict.fromkeys(name if len(name) <= 2 else name.casefold() for name in written))


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
    index = 0
    for match in pattern.finditer(text):
        if match.start() > index:
            yield index, match.start()
        index = match.end()
    if index < len(text):
        yield index, len(text)


def escaped(text: str, original: str) -> str:
    """A model's text as a template in which only the original's placeholders are filled in.

    >>> escaped("Is {{ x }} {{ secret }}?", "Is it {{ x }}?")
    "Is {{ x }} {{ '{{' }} secret }}?"
    """
    known = set(placeholders(original))
    pieces, index = [], 0
    for match in _PLACEHOLDER.finditer(text):
        if match.group() not in known:
            continue
        pieces += [literal(text[index : match.start()]), match.group()]
        index = match.end()
    return "".join([*pieces, literal(text[index:])])


_LONGEST_CODE = 2
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]{2,}(?:[-'’][^\W\d_]+)*")
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts without spaces, in which words have no visible boundaries."""
_COMMON = frozenset(
    _LETTERS.findall(
        """
        a an the this that these those it its is are was were be been being do does did has have
        had can could will would should may might must and or nor but if when whether which what
        who whom whose how why where as at by for from in into of on onto to with without about
        than then there here not no yes none neither either both other otherwise else any some
        all each every one you your we our i me my he she they them their his her answer answers
        respond response reply say says said write give return output use choose pick select
        decide classify judge rate label labels class classes category categories code codes
        number numbers option options text texts message messages tweet tweets post posts
        comment comments review reviews article articles sentence sentences document documents
        passage paragraph statement headline item following given below above please only just
        read guess know
        """
    )
)
"""English words without content; in other languages, an extra word only means fewer flags."""


def explained_words(
    instruction: str, postfix: str, labels: LabelSet, answers: Mapping[str, str]
) -> list[str]:
    """The words in an instruction that explain, there or in the postfix, the labels that are codes.

    >>> from quaver.core.records import Label
    >>> codes = LabelSet((Label("0", "0"), Label("1", "1")))
    >>> asked = "Respond 0 for left-wing, or 1 for right-wing."
    >>> explained_words("Is this left-wing or right-wing?", asked, codes, {"0": "0", "1": "1"})
    ['left-wing', 'right-wing']
    """
    codes = [name for name in label_names(labels, answers) if _is_code(name)]
    if not codes:
        return []
    code = rf"(?<![\w.,-])(?:{'|'.join(map(re.escape, codes))})(?![\w%]|[.,]\d)"
    behind = re.compile(
        rf"{code}['\"”)]*\s*(?:[=:→–—-]+|\(|,?\s?\b(?:for|if|when|means?|meaning|is|are|as|stands? for"
        rf"|indicat\w+|represent\w*|denot\w+|corresponds? to)\b)\s*['\"“]?"
        rf"([^,.;:()\n=\"”]{{2,60}}?)(?=\s*(?:[,.;:()\n\"”]|\b(?:or|and|otherwise|else)\b|{code}|\Z))",
        re.IGNORECASE,
    )
    before = re.compile(
        rf"([\w'’-]+(?:\s[\w'’-]+)?)['\"”]?\s*(?:\(\s*|=\s*|:\s*|→\s*|\bas\s+){code}", re.IGNORECASE
    )
    text = "\n".join((filled(instruction, labels, answers), filled(postfix, labels, answers)))
    found = [
        word for pattern in (behind, before) for phrase in pattern.findall(text) for word in _content(phrase)
    ]
    asked = set(_content(filled(instruction, labels, answers)))
    return [word for word in dict.fromkeys(found) if word in asked]


def _is_code(name: str) -> bool:
    return not _SPACELESS.search(name) and all(len(run) <= _LONGEST_CODE for run in _LETTERS.findall(name))


def _content(text: str) -> list[str]:
    words = (found.casefold() for found in _WORD.findall(text))
    return [word for word in dict.fromkeys(words) if word not in _COMMON and not _SPACELESS.search(word)]


_SHORT = r"(?<!\be\.g)(?<!\bi\.e)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)(?<!\betc)(?<!\b[A-Z])"
_END = re.compile(rf"(?:(?:{_SHORT}\.|[!?…])[\"'”’)\]]*(?=\s|\Z)|\n)\s*")
_CLAUSE = re.compile(r"[,;:]\s+|\s+[-–—]\s+|\s+(?=(?:and|or|but|which|where|if)\s)")


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space after it.

    >>> sentences("Is it good, e.g. kind? Answer.  Now.")
    ['Is it good, e.g. kind? ', 'Answer.  ', 'Now.']
    """
    return _cut(text, _END)


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence between its commas, dashes and conjunctions, each with what follows it."""
    return _cut(sentence, _CLAUSE)


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    pieces, index = [], 0
    for match in pattern.finditer(text):
        pieces.append(text[index : match.end()])
        index = match.end()
    return [piece for piece in [*pieces, text[index:]] if piece]
