"""Labels with parents that are asked for level by level: the broadest first, then what an answer leads to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from quaver.core.label_values import falling_under, ways_down
from quaver.core.records import JOINED, Condition, LabelSet, Variant
from quaver.design.spec.study_file import Positions
from quaver.errors import SpecError

ONE_BY_ONE: Final = "one by one"


def beginning_at_top(
    variants: Sequence[Variant], prompt: Variant, labels: LabelSet, source: Positions
) -> list[Variant]:
    """Variants that offer the labels of the top level, of variants that offer every label and heading.

    Raises:
        SpecError: One asks for something else than the name of a label.
    """
    top, found = falling_under(labels)[""], list[Variant]()
    for variant in variants:
        if variant.examples or variant.output != "label" or dict(variant.answers) != dict(prompt.answers):
            raise SpecError(
                "this prompt cannot be asked level by level",
                where=source.where("task", "levels"),
                expected="prompts without examples that ask for one label, by the same names",
                found=variant.id,
                fix="leave this variant out, or write `levels: at once`",
            )
        offers = {code: answer for code, answer in variant.answers.items() if code in top}
        below = {code: answer for code, answer in variant.answers.items() if code not in top}
        found.append(replace(variant, answers=offers, below=below))
    return found


def with_levels(
    variants: Sequence[Variant], conditions: Sequence[Condition], labels: LabelSet
) -> tuple[list[Variant], list[Condition]]:
    """The variants of further calls, which offer what falls under a label, and all conditions with theirs."""
    children, asked = falling_under(labels), [*conditions]
    known = {variant.id: variant for variant in variants}
    for place, condition in enumerate(asked):  # which grows, by what falls under the labels of a further call
        variant, above = known[condition.variant], f" / {condition.follow_up}"
        if variant.is_joined and not condition.follow_up:
            name = f"{variant.id} / {JOINED}"
            known[name] = replace(variant, id=name)
            asked.append(replace(condition, variant=name, follow_up=JOINED, parent=place))
        for code in variant.answers if variant.below and not variant.is_joined else ():
            if code in children:
                offers = {one: text for one, text in variant.below.items() if one in children[code]}
                name = f"{variant.id.removesuffix(above)} / {code}"
                known[name] = replace(variant, id=name, answers=offers)
                asked.append(replace(condition, variant=name, follow_up=code, parent=place))
    return [*known.values()][len(variants) :], asked


def note_on_levels(labels: LabelSet) -> str:
    """What a reader must know of labels that are asked for level by level."""
    return (
        f"The labels are asked for level by level, in {ways_down(labels)['']} levels: an "
        "answer that other labels fall under is followed by a call that offers these alone, and is no text's "
        "label by itself. How many calls this takes depends on the answers."
    )
