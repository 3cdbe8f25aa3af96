"""Class words: the words that say what labels mean if the labels themselves are codes.

A paraphrase cannot lose the name of a label called 0 or 1, but it can lose "toxic". Two kinds of words carry
that meaning: those that explain a code, in the instruction or the postfix ("1 for left-wing", "conservative
(0)", "2 = neutral"); and, if the instruction has neither these nor a label's name, the words of its question
("Is this message toxic?").
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from quaver.core.records import LabelSet
from quaver.design.paraphrase.protected_words import label_names, named
from quaver.design.prompts.completeness import filled

_LONGEST_CODE = 2
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]{2,}(?:[-'’][^\W\d_]+)*")
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts without spaces, in which words have no visible boundaries."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_PREFIXES = frozenset({"non", "anti", "pro", "pre", "un", "in"})
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


def lost_class_words(
    original: str, paraphrase: str, postfix: str, labels: LabelSet, answers: Mapping[str, str]
) -> list[str]:
    """The class words of an instruction that a paraphrase has lost, in any inflection.

    Words that explain a code are lost one by one; those of the question only if none of them is left.
    """
    kept = _content(filled(paraphrase, labels, answers))
    if words := explained_words(original, postfix, labels, answers):
        return [word for word in words if not _is_kept(word, kept)]
    if named(original, [name for name in label_names(labels, answers) if not _is_code(name)]):
        return []
    asked = _question(filled(original, labels, answers))
    return [] if any(_is_kept(word, kept) for word in asked) else asked


def _is_code(name: str) -> bool:
    return not _SPACELESS.search(name) and all(len(run) <= _LONGEST_CODE for run in _LETTERS.findall(name))


def _content(text: str) -> list[str]:
    words = (found.casefold() for found in _WORD.findall(text))
    return [word for word in dict.fromkeys(words) if word not in _COMMON and not _SPACELESS.search(word)]


def _question(instruction: str) -> list[str]:
    """The content words of an instruction's questions, or of all of it if it has none."""
    sentences = _SENTENCE.split(instruction)
    questions = [sentence for sentence in sentences if sentence.rstrip().endswith("?")]
    return _content(" ".join(questions or sentences))


def _is_kept(word: str, others: list[str]) -> bool:
    stems = [_stem(part) for part in re.split("[-'’]", word) if part not in _PREFIXES]
    stem = stems[0] if stems else word
    return any(part.startswith(stem) for other in others for part in (other, *re.split("[-'’]", other)))


def _stem(word: str) -> str:
    """The beginning that a word's inflections share: toxic of toxicity, popul of populist and populism."""
    return word[: max(4, len(word) - 3)]
