"""Whether the answers that a postfix lists fit the label set.

Only unambiguous contradictions are refused: a list of answers ("positive, negative or neutral") that leaves
one out or has one too many. A list is recognised by its elements: the variant's own answers, separated by
commas, slashes, bars or "or".
"""

from __future__ import annotations

import re

from quaver.core.records import LabelSet, Variant
from quaver.design.prompts.templates import names_in, render
from quaver.errors import SpecError

_SEPARATOR = re.compile(r"\s*,\s*(?:or\s+)?|\s*[/|]\s*|\s+or\s+", re.IGNORECASE)
_END = re.compile(r"[.;:!?](?=\s|$)|[\n()\[\]{}<>=]")
_AROUND = " \t\"'`*_“”‘’"
_ELLIPSIS = re.compile(r"…|\.\.\.")


def check_postfix(variant: Variant, labels: LabelSet, *, where: str) -> None:
    """Check that a postfix does not contradict the variant's answers.

    A list is a stretch without a full stop, colon, bracket or line break in which at least two elements are
    answers, or one is an answer and an "or", a slash or a bar joins it to something that is not.

    Args:
        variant: The variant; its templates have been checked.
        labels: The task's label set, whose other names may be in the list too.
        where: The postfix's place, for the error.

    Raises:
        SpecError: A list leaves an answer out, or has one that belongs to no label.
    """
    if names_in(variant.postfix) - {"answers", "labels"} or "{%" in variant.postfix:
        return  # it differs between items
    answers = {answer.strip().casefold(): answer for answer in variant.answers.values()}
    text = _written(variant, labels)
    known = answers.keys() | {
        name.casefold() for label in labels.labels for name in (label.code, label.name, *label.synonyms)
    }
    longest = max(len(answer.split()) for answer in answers)
    for stretch in _END.split(_ELLIPSIS.sub("…", text)):
        if "…" in stretch:  # "1, 2, …, 5"
            continue
        elements, joins = _elements(stretch)
        named = [at for at, element in enumerate(elements) if element in answers]
        if 0 not in named and any(elements[0].endswith(f" {form}") for form in answers):
            named.insert(0, 0)  # "answer positive", before "or negative"
        if not named:
            continue
        for at in range(named[0] + 1, len(elements)):
            element = elements[at]
            is_listed = at < named[-1] or (at == named[-1] + 1 and joins[at - 1] != ",")
            if is_listed and element and element not in known and len(element.split()) <= longest:
                _refuse(f"the postfix lists an answer that belongs to no label: {element!r}", variant, where)
        left_out = [answer for form, answer in answers.items() if not _is_named(text, answer)]
        if len(named) > 1 and left_out:
            _refuse(f"the postfix lists the answers without {left_out[0]!r}", variant, where)


def _elements(stretch: str) -> tuple[list[str], list[str]]:
    """The texts between the separators, and the separators."""
    joins = ["," if found.group().strip() == "," else "or" for found in _SEPARATOR.finditer(stretch)]
    elements = [part.strip(_AROUND).casefold() for part in _SEPARATOR.split(stretch)]
    return elements, joins


def _is_named(text: str, answer: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", text, re.IGNORECASE) is not None


def _written(variant: Variant, labels: LabelSet) -> str:
    shown = [(label, variant.answers[label.code]) for label in labels.labels]
    values = {
        "answers": list(variant.answers.values()),
        "labels": [
            {"code": label.code, "name": label.name, "definition": label.definition, "answer": answer}
            for label, answer in shown
        ],
    }
    return render(variant.postfix, values, where="postfix")


def _refuse(problem: str, variant: Variant, where: str) -> None:
    raise SpecError(
        problem,
        where=where,
        expected=f"all of {', '.join(variant.answers.values())}, and nothing else",
        found=variant.postfix[:120],
        fix="write {{ answers | join(', ') }} instead of the list",
    )
