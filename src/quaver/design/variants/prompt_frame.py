"""Families that vary what stands around the question: frames of chat, its position, padding."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from quaver.core.records import Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, level
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.templates import names_in, written_out
from quaver.errors import SpecError

_ASKING = frozenset(["instruction", "postfix", "question"])
_SHOWING = frozenset(["text"])

Span = tuple[int, int]


def asks_first(layout: str) -> bool | None:
    """Whether the question is before the text; None if the layout has no question."""
    asking, showing = _spans(layout)
    return None if asking is None else asking < showing


def question_moved(layout: str) -> str:
    """The layout with the lines of the question and those of the text swapped.

    >>> print(question_moved("Voter: {{ text }}" + chr(10) + "Question: {{ question }}"))
    Question: {{ question }}
    Voter: {{ text }}
    """
    asking, showing = _spans(layout)
    if asking is None:
        return layout
    lines = layout.split("\n")
    (a, b), (c, d) = sorted([asking, showing])
    return "\n".join([*lines[:a], *lines[c:d], *lines[b:c], *lines[a:b], *lines[d:]])


def _spans(layout: str) -> tuple[Span | None, Span]:
    """The lines of the question and of the text, as the first and the one after the last."""
    asking, showing = _lines_with(layout, _ASKING), _lines_with(layout, _SHOWING)
    if showing is None or (asking and asking[0] < showing[1] and showing[0] < asking[1]):
        raise SpecError(
            "the layout does not keep the question and the item's text on separate lines",
            where="prompt.layout",
            expected="{{ text }} on lines of its own, {{ question }} on others",
            found=layout[:120],
        )
    return asking, showing


def _lines_with(layout: str, names: Collection[str]) -> Span | None:
    try:
        found = [index for index, line in enumerate(layout.split("\n")) if names_in(line) & set(names)]
    except Exception:  # single lines of a statement over several lines are not templates
        found = []
    return (found[0], found[-1] + 1) if found else None


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The prompt as ``chat`` and ``plain``.

    In a plain text, system message, examples and layout are paragraphs; an answer follows each example.

    Args:
        layout: The layout of the plain text, which should end where the answer begins (``Answer:``); the
            prompt's own if left out.
    """

    factor = "frame"
    layout: str | None = None

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt as it stands, then in the other frame."""
        own = context.prompt.frame
        other = "plain" if own == "chat" else "chat"
        parts = {"frame": other} | ({"layout": self.layout} if self.layout and other == "plain" else {})
        return [level(own, family="frame"), level(other, parts, family="frame")]


class Position:
    """The question (instruction and postfix) ``after`` the text and ``before`` it.

    The lines with the question and the lines with the text swap places; all other lines stay.
    """

    factor = "position"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own position of the question, then the other.

        Raises:
            SpecError: The layout has no question, or has it on the same lines as the text.
        """
        names = ["before", "after"] if check_asks(context.prompt) else ["after", "before"]
        return [level(name, _moved_to(name == "before"), 1, family="position") for name in names]


def _moved_to(before: bool) -> Callable[[Variant], Variant]:
    def edit(variant: Variant) -> Variant:
        if asks_first(variant.layout) in (before, None):
            return variant
        return replace(variant, layout=question_moved(variant.layout))

    return edit


def check_asks(prompt: Variant) -> bool:
    """Whether a prompt asks before it shows the text; an error if its layout has no question to move."""
    first = asks_first(prompt.layout)
    if first is None:
        raise SpecError(
            "the layout has no question to move",
            where="prompt.layout",
            expected="{{ question }} on lines of its own",
            found=prompt.layout[:120],
        )
    return first


PADDED = "padded"
"""The level of a padded answer that is graded alone."""
_BEFORE = (
    "Thank you for this interesting question. Having considered all of its aspects with care, one may "
    "give the following answer to it: "
)
_AFTER = " I hope that this is helpful, and I remain at your disposal for any further questions."
_OPTIONS = re.compile(r"{{-?\s*options\s*-?}}")
_OPTION = re.compile(r"{{-?\s*option\.text\s*-?}}")


class _Edit(Protocol):
    """Edits a template: of the item's own text, or another."""

    def __call__(self, template: str, *, own: bool) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Padding:
    """The answers as they are, and padded: with words before and after them that say nothing.

    Where items bring their answers as options (``task.options``), one of them is padded at a time, and its
    label names the level: ``A``, ``B``. Otherwise the answer is a column of the items' text, and the level is
    ``padded``. `verbosity_bias` measures what the padding does to the judge's grades.

    Args:
        before: What stands before the answer.
        after: What stands after it.
        answer: The column of the answer, where items have no options.
    """

    factor = "padding"

    before: str = _BEFORE
    after: str = _AFTER
    answer: str = "answer"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The answers as they are, then padded.

        Raises:
            SpecError: The prompt does not show the answers, or there is nothing to pad with.
        """
        if not (self.before + self.after).strip():
            raise SpecError("there is nothing to pad with", where="before", expected="words before or after")
        edits: dict[str, _Edit] = {PADDED: self._answer_padded}
        expected = f"{{{{ {self.answer} }}}}, or another column under answer"
        if context.labels.options:
            edits = {code: self._options_padded(code) for code in context.labels.codes}
            expected = "{{ options }}, or {{ option.text }} in a loop over options"
        prompt = context.prompt
        if all(prompt == _edited(edit, prompt) for edit in edits.values()):
            raise SpecError(
                "the prompt does not show the answers that are to be padded",
                where="items.text",
                expected=expected,
                found=prompt.text[:120],
            )
        about: dict[str, Any] = {"turn": 2, "family": self.factor, "before": self.before, "after": self.after}
        return [
            level(ORIGINAL, **about),
            *(level(name, partial(_edited, edit), **about) for name, edit in edits.items()),
        ]

    def _answer_padded(self, template: str, *, own: bool) -> str:
        before, after = written_out(self.before), written_out(self.after)
        item = r"(?:item\.)?" if own else r"item\."  # elsewhere, a column is named after its item alone
        column = re.compile(r"{{-?\s*" + item + re.escape(self.answer) + r"\s*-?}}")
        return column.sub(lambda match: f"{before}{match[0]}{after}", template)

    def _options_padded(self, code: str) -> _Edit:
        mine = f"{{% if option.code == {json.dumps(code)} %}}"
        before, after = (f"{mine}{written_out(one)}{{% endif %}}" for one in (self.before, self.after))
        one = f"{before}{{{{ option.text }}}}{after}"
        every = (
            f"{{% for option in options %}}{{{{ option.answer }}}}) {one}"
            f"{{% if not loop.last %}}{written_out(chr(10))}{{% endif %}}{{% endfor %}}"
        )

        def padded(template: str, *, own: bool) -> str:
            # Loops over the options first: what takes the place of the whole list is one, too.
            return _OPTIONS.sub(lambda _: every, _OPTION.sub(lambda _: one, template))

        return padded


def _edited(edit: _Edit, variant: Variant) -> Variant:
    """A prompt with all its templates edited."""
    return replace(
        variant,
        text=edit(variant.text, own=True),
        layout=edit(variant.layout, own=False),
        system=edit(variant.system, own=False),
        instruction=edit(variant.instruction, own=False),
        postfix=edit(variant.postfix, own=False),
    )
