"""Families that vary what stands around the question: roles, frames of chat, its position, padding."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, Protocol

from quaver.core.records import Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import PromptContext
from quaver.design.variants.prompt_parts import asks_first, question_moved, without_question
from quaver.errors import SpecError


class Frame:
    """The prompt as ``chat`` and ``plain``.

    In a plain text, system message, examples and layout are paragraphs; an answer follows each example.

    Args:
        layout: The layout of the plain text, which should end where the answer begins (``Answer:``); the
            prompt's own if left out.
    """

    factor = "frame"

    def __init__(self, *, layout: str | None = None) -> None:
        self._layout = layout

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt as it stands, then in the other frame."""
        own: Literal["chat", "plain"] = context.prompt.frame
        return [self._level(own, own), self._level("plain" if own == "chat" else "chat", own)]

    def _level(self, frame: Literal["chat", "plain"], own: str) -> LevelOfFactor:
        def edit(variant: Variant) -> Variant:
            layout = self._layout if self._layout and frame == "plain" else variant.layout
            return variant if frame == own else replace(variant, frame=frame, layout=layout)

        return LevelOfFactor(frame, edit, {"family": "frame", "parent": ORIGINAL})


class Role:
    """The question (instruction and postfix) in the ``user`` message, and in the ``system`` message.

    For the latter, the layout's lines with the question move to the end of the system message.
    """

    factor = "role"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The unchanged prompt, then the prompt with its question in the system message.

        Raises:
            SpecError: The layout has no question, or has it on the same lines as the text.
        """
        if not without_question(context.prompt.layout)[1]:
            raise SpecError(
                "the layout has no question to move to the system message",
                where="prompt.layout",
                expected="{{ question }} on lines of its own",
                found=context.prompt.layout[:120],
            )
        origin = {"family": "role", "parent": ORIGINAL}
        return [
            LevelOfFactor("user", lambda variant: variant, origin, turn=1),
            LevelOfFactor("system", _moved, origin, turn=1),
        ]


def _moved(variant: Variant) -> Variant:
    layout, question = without_question(variant.layout)
    system = "\n\n".join(part for part in (variant.system, question) if part)
    return replace(variant, layout=layout, system=system)


class Position:
    """The question (instruction and postfix) ``after`` the text and ``before`` it.

    The lines with the question and the lines with the text swap places; all other lines stay. If the question
    is in the system message (``role``), nothing moves.
    """

    factor = "position"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own position of the question, then the other.

        Raises:
            SpecError: The layout has no question, or has it on the same lines as the text.
        """
        first = asks_first(context.prompt.layout)
        if first is None:
            raise SpecError(
                "the layout has no question to move",
                where="prompt.layout",
                expected="{{ question }} on lines of its own",
                found=context.prompt.layout[:120],
            )
        return [_level(before) for before in (first, not first)]


def _level(before: bool) -> LevelOfFactor:
    def edit(variant: Variant) -> Variant:
        if asks_first(variant.layout) in (before, None):
            return variant
        return replace(variant, layout=question_moved(variant.layout))

    origin = {"family": "position", "parent": ORIGINAL}
    return LevelOfFactor("before" if before else "after", edit, origin, turn=1)


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

    def __init__(self, *, before: str = _BEFORE, after: str = _AFTER, answer: str = "answer") -> None:
        self._before, self._after, self._answer = before, after, answer
        if not (before + after).strip():
            raise SpecError("there is nothing to pad with", where="before", expected="words before or after")

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The answers as they are, then padded.

        Raises:
            SpecError: The prompt does not show the answers.
        """
        if context.labels.options:
            padded, names = self._options_padded(""), list(context.labels.codes)
            expected = "{{ options }}, or {{ option.text }} in a loop over options"
        else:
            padded, names = self._answer_padded, [PADDED]
            expected = f"{{{{ {self._answer} }}}}, or another column under answer"
        prompt = context.prompt
        if prompt == _edited(prompt, padded):
            raise SpecError(
                "the prompt does not show the answers that are to be padded",
                where="items.text",
                expected=expected,
                found=prompt.text[:120],
            )
        return [self._level(name, context) for name in (ORIGINAL, *names)]

    def _level(self, name: str, context: PromptContext) -> LevelOfFactor:
        padded = self._options_padded(name) if context.labels.options else self._answer_padded

        def edit(variant: Variant) -> Variant:
            if name == ORIGINAL:
                return variant
            return _edited(variant, padded)

        origin = {"family": self.factor, "before": self._before, "after": self._after, "parent": ORIGINAL}
        return LevelOfFactor(name, edit, origin, turn=2)

    def _answer_padded(self, template: str, *, own: bool) -> str:
        before, after = _literal(self._before), _literal(self._after)
        item = r"(?:item\.)?" if own else r"item\."  # elsewhere, a column is named after its item alone
        column = re.compile(r"{{-?\s*" + item + re.escape(self._answer) + r"\s*-?}}")
        return column.sub(lambda match: f"{before}{match[0]}{after}", template)

    def _options_padded(self, code: str) -> _Edit:
        mine = f"{{% if option.code == {json.dumps(code)} %}}"
        before, after = (f"{mine}{_literal(one)}{{% endif %}}" for one in (self._before, self._after))
        one = f"{before}{{{{ option.text }}}}{after}"
        every = (
            f"{{% for option in options %}}{{{{ option.answer }}}}) {one}"
            f"{{% if not loop.last %}}{_literal(chr(10))}{{% endif %}}{{% endfor %}}"
        )

        def padded(template: str, *, own: bool) -> str:
            # Loops over the options first: what takes the place of the whole list is one, too.
            return _OPTIONS.sub(lambda _: every, _OPTION.sub(lambda _: one, template))

        return padded


def _edited(variant: Variant, edit: _Edit) -> Variant:
    """A prompt with all its templates edited."""
    return replace(
        variant,
        text=edit(variant.text, own=True),
        layout=edit(variant.layout, own=False),
        system=edit(variant.system, own=False),
        instruction=edit(variant.instruction, own=False),
        postfix=edit(variant.postfix, own=False),
    )


def _literal(text: str) -> str:
    """A text as a template writes it, whatever stands in it."""
    return f"{{{{ {json.dumps(text)} }}}}"
