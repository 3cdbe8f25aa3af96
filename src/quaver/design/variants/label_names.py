"""``label_names``: the answer for a label is its code, name, letter, number or a synonym."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.design.prompts.templates import names_in
from quaver.errors import SpecError

_SYNONYM = re.compile(r"synonym(?: ([1-9]\d*))?")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KEY = (
    "{% for label in labels %}{{ label.answer }}: {{ label.name }}{% if not loop.last %}, {% endif %}"
    "{% endfor %}.\n"
)


class LabelNames:
    """Other names for the labels in the prompt and in the answer.

    A prompt that lists neither ``labels`` nor ``options`` gets a key above its postfix, ``A: positive, B:
    negative.``, unless the answer is the label's name or a synonym.

    Args:
        names: Any of ``name``, ``code``, ``letter`` (A, B, C in the label set's order), ``number`` (1, 2, 3),
            ``synonym`` (the first of each label), ``synonym 2`` and so on; each is a level.
        original: Whether the prompt's own answers are one of the levels, if none of ``names`` gives the same.
    """

    factor = "label_name"

    def __init__(self, *, names: list[str], original: bool = True) -> None:
        self._names, self._original = names, original

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own answers, then the others in their order.

        Raises:
            SpecError: There is no such kind of name, or a label has no name of that kind.
        """
        levels = [_level(name, _named(name, context.labels), context) for name in self._names]
        same = any(_named(name, context.labels) == dict(context.prompt.answers) for name in self._names)
        if self._original and not same:
            levels.insert(0, _level(ORIGINAL, dict(context.prompt.answers), context))
        return levels


def _level(name: str, answers: Mapping[str, str], context: PromptContext) -> LevelOfFactor:
    as_it_is = answers == dict(context.prompt.answers)
    speaks = name == "name" or _SYNONYM.fullmatch(name) is not None

    def edit(variant: Variant) -> Variant:
        if as_it_is:
            return variant
        made = {code: answers[code] for code in variant.answers}
        postfix = variant.postfix if speaks or _lists_labels(variant) else _KEY + variant.postfix
        return replace(variant, answers=made, postfix=postfix)

    return LevelOfFactor(name, edit, {"family": "label_names", "parent": ORIGINAL})


def _lists_labels(variant: Variant) -> bool:
    parts = (variant.layout, variant.system, variant.instruction, variant.postfix, variant.text)
    return any(names_in(part) & {"labels", "options"} for part in parts)


def _named(name: str, labels: LabelSet) -> dict[str, str]:
    return {label.code: _name(name, label, place) for place, label in enumerate(labels.labels)}


def _name(name: str, label: Label, place: int) -> str:
    if name == "name":
        return label.name
    if name == "code":
        return label.code
    if name == "number":
        return str(place + 1)
    if name == "letter" and place < len(_LETTERS):
        return _LETTERS[place]
    synonym = _SYNONYM.fullmatch(name)
    if synonym and len(label.synonyms) >= int(synonym[1] or 1):
        return label.synonyms[int(synonym[1] or 1) - 1]
    if synonym:
        raise SpecError(
            f"the label {label.code!r} has no {name}",
            where="label_names: names",
            expected=f"{synonym[1] or 1} or more synonyms for every label",
            found=", ".join(label.synonyms) or "none",
            fix="add it under task.labels: {code: …, synonyms: [one, another]}",
        )
    raise SpecError(
        "there are more labels than letters" if name == "letter" else "labels have no such name",
        where="label_names: names",
        expected="name, code, letter (of up to 26 labels), number, synonym, synonym 2 …",
        found=name,
    )
