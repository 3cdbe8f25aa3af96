"""``format``: the same prompt in other layouts, drawn from a grammar.

After Sclar, Choi, Tsvetkov & Suhr (2024), "Quantifying language models' sensitivity to spurious features in
prompt design", section 3: a prompt consists of fields, each with a name, a separator after the name and a
space before the next field; names have a casing, options an enumerator. A choice of one of each is a point of
the grammar. The content of the fields (the item's text, the question, the postfix) stays the same.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from quaver.core.number_format import count
from quaver.core.records import Variant
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, PromptContext, Work
from quaver.design.paraphrase.paraphraser import check_count
from quaver.design.prompts.templates import names_in
from quaver.errors import SpecError, UnknownName

SEPARATORS = (": ", " - ", ":\n", "\n", " : ", ":: ", " | ", "\t")
SPACES = ("\n", "\n\n", " ", " | ", " || ", "; ", "\t")
CASINGS = ("title", "upper", "lower")
ENUMERATORS = ("A.", "A)", "(A)", "[A]", "a.", "a)", "(a)", "1.", "1)", "(1)", "[1]", "I.", "i)", "-", "*")
LISTINGS = ("\n", ", ", "; ", " | ")
NAMES: Mapping[str, tuple[str, ...]] = {
    "text": ("Text", "Passage", "Input"),
    "question": ("Question", "Task", "Instruction"),
    "instruction": ("Question", "Task", "Instruction"),
    "postfix": ("",),
    "options": ("Options", "Choices"),
    "answer": ("Answer", "Response", "Output"),
}
_FORMATTED = {"title": str.title, "upper": str.upper, "lower": str.lower}
_WIDEST = 1_000_000


class Format:
    """Layouts drawn from a grammar.

    Args:
        n: The number of layouts, beside the study file's own.
        separators: Choices between a field's name and its content.
        spaces: Choices between two fields.
        casings: Choices of the names' casing: title, upper, lower.
        fields: Choices of each field's name; an empty name leaves it out. The fields are those of the study
            file's layout (``text`` and ``question``, or ``instruction`` and ``postfix``), ``answer`` at the
            end (left out with an empty list), and ``options``.
        options: Whether a separate field lists the allowed answers.
        enumerators: Choices before each of them: ``A.``, ``(a)``, ``1)``, ``I.``, ``-``.
        listings: Choices between two of them.
    """

    factor = "layout"
    part = "layout"
    exact = True
    kept = False

    def __init__(
        self,
        *,
        n: int = 10,
        separators: list[str] | None = None,
        spaces: list[str] | None = None,
        casings: list[str] | None = None,
        fields: dict[str, list[str]] | None = None,
        options: bool = False,
        enumerators: list[str] | None = None,
        listings: list[str] | None = None,
    ) -> None:
        check_count("n", n)
        for name in fields or {}:
            if name not in NAMES:
                raise UnknownName("field", name, NAMES, where="fields")
        for casing in casings or ():
            if casing not in CASINGS:
                raise UnknownName("casing", casing, CASINGS, where="casings")
        self._n, self._options = n, options
        self._names = {**NAMES, **{name: tuple(some) for name, some in (fields or {}).items()}}
        self._choices: dict[str, tuple[str, ...]] = {
            "separator": _choices("separators", separators, SEPARATORS),
            "space": _choices("spaces", spaces, SPACES),
            "casing": _choices("casings", casings, CASINGS),
        }
        if options:
            self._choices["enumerator"] = _choices("enumerators", enumerators, ENUMERATORS)
            self._choices["listing"] = _choices("listings", listings, LISTINGS)

    def asked(self) -> Mapping[str, Any]:
        """The grammar."""
        return {"choices": {name: list(some) for name, some in self._choices.items()}}

    def reword(self, context: PromptContext, draft: Draft, work: Work) -> Sequence[Paraphrase]:
        """``n`` different layouts, named after their points of the grammar: ``f1234``.

        Raises:
            SpecError: The grammar has only one point, or fewer layouts than ``n``.
        """
        fields = self._fields(context.prompt)
        grammar = self._grammar(fields)
        size = prod(len(some) for some in grammar.values())
        if size < 2:
            raise SpecError(
                "the grammar allows only one layout",
                where="format",
                expected="two or more choices for at least one part",
                found=", ".join(f"{name} {some[0]!r}" for name, some in grammar.items()) or "no field",
            )
        drawn = random.Random(f"{context.seed} format")
        for point in drawn.sample(range(size), min(size, _WIDEST)):
            if len(draft.paraphrases) == self._n:
                break
            chosen = _chosen(grammar, point)
            layout = _layout(fields, chosen, len(context.prompt.answers))
            covariates = {f"layout_{name}": _visible(value) for name, value in chosen.items()}
            origin = {"point": point, "points": size, **chosen}
            draft.offer(layout, lambda _, point=point: f"f{point}", "", covariates, origin)  # type: ignore[misc]
        if len(draft.paraphrases) < self._n:
            raise SpecError(
                f"the grammar has {count(len(draft.paraphrases), 'layout')}",
                where="n",
                expected=f"{self._n}",
                found=f"{size} points, some of which look the same or are the study file's own layout",
                fix="lower n, or give more choices",
            )
        return draft.paraphrases

    def _fields(self, prompt: Variant) -> list[str]:
        """The fields of the study file's layout in order, then those that this engine adds."""
        layout = prompt.layout
        used = [name for name in ("text", "question", "instruction", "postfix") if name in names_in(layout)]
        used.sort(key=lambda name: _place(name, layout))
        added = [*(["options"] if self._options else []), *(["answer"] if self._names["answer"] else [])]
        if "text" not in used and "text" not in names_in(prompt.system):
            raise SpecError(
                "this layout cannot be varied: it does not contain {{ text }}",
                where="prompt.layout",
                found=layout[:120],
            )
        return [*used, *added]

    def _grammar(self, fields: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """The choices that make a difference for these fields, by name."""
        names = {name: self._names[name] or ("",) for name in fields}
        grammar = {f"{name}_name": some for name, some in names.items()}
        named = any(some != ("",) for some in names.values())
        for name, some in self._choices.items():
            if named or name not in ("separator", "casing"):
                grammar[name] = some
        return grammar


def _place(name: str, layout: str) -> int:
    match = re.search(rf"\{{[{{%][^}}]*\b{name}\b", layout)
    return match.start() if match else len(layout)


def _choices(name: str, given: list[str] | None, usual: tuple[str, ...]) -> tuple[str, ...]:
    result = usual if given is None else tuple(dict.fromkeys(given))
    if not result:
        raise SpecError("there is nothing to choose from", where=name, expected="one or more", found="none")
    return result


def _chosen(grammar: Mapping[str, tuple[str, ...]], point: int) -> dict[str, str]:
    """One choice of each: the point's digits in a mixed-radix number."""
    chosen = {}
    for name, some in grammar.items():
        point, index = divmod(point, len(some))
        chosen[name] = some[index]
    return chosen


def _layout(fields: Sequence[str], chosen: Mapping[str, str], answers: int) -> str:
    pieces = []
    for field in fields:
        name = _FORMATTED[chosen.get("casing", "title")](chosen[f"{field}_name"])
        head = name + chosen.get("separator", "") if name else ""
        if field == "answer":  # only the model's answer follows
            pieces.append(head.rstrip())
        elif field == "options":
            marks = _marks(chosen["enumerator"], answers)
            listed = (f"{mark} {{{{ answers[{index}] }}}}" for index, mark in enumerate(marks))
            pieces.append(head + chosen["listing"].join(listed))
        else:
            pieces.append(f"{head}{{{{ {field} }}}}")
    return chosen["space"].join(piece for piece in pieces if piece)


_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")


def _marks(enumerator: str, size: int) -> Iterator[str]:
    """The marks of a list, in the style of the first one."""
    for index in range(size):
        roman = _ROMAN[index] if index < len(_ROMAN) else str(index + 1)
        letter = chr(ord("a") + index) if index < 26 else str(index + 1)
        named = {"A": letter.upper(), "a": letter, "1": str(index + 1), "I": roman.upper(), "i": roman}
        yield "".join(named.get(sign, sign) for sign in enumerator)


def _visible(value: str) -> str:
    """A choice as a level's name, with invisible characters spelt out."""
    return value.replace("\n", "\\n").replace("\t", "\\t") if value else "none"
