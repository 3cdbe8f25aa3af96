"""``perturbations``: the unchanged prompt, and five changes that should not change an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

from quaver.core.records import Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import Draft, NoWork, PromptContext
from quaver.design.paraphrase.surface_paraphraser import Surface
from quaver.design.prompts.templates import names_in
from quaver.design.variants.prompt_parts import asks_first, question_moved
from quaver.design.variants.shots import drawn, show
from quaver.errors import SpecError

Kind = Literal["classification", "multiple_choice", "question_answering"]
Name = Literal["original", "paraphrase", "moved", "examples", "reasoning", "bare"]


class _Texts(NamedTuple):
    """The texts of ``reasoning`` and ``bare`` for one kind of task."""

    reasoning: str
    bare: str


_SURFACE: Mapping[str, Any] = {
    "strengths": [0.5],
    "k": 1,
    "kinds": ["articles", "contractions", "politeness"],
}

_LAST = "Then write on the last line Answer: and nothing but"

_TEXTS: Mapping[Kind, _Texts] = {
    "classification": _Texts(
        f"First say in a few sentences what in the text bears on the label. {_LAST} the label, one of "
        "{{ answers | join(', ') }}.",
        "Label ({{ answers | join(', ') }}):",
    ),
    "multiple_choice": _Texts(
        f"First weigh the options against each other in a few sentences. {_LAST} one of "
        "{{ answers | join(', ') }}, for the option that you choose.",
        "Answer:",
    ),
    "question_answering": _Texts(
        f"First say in a few sentences what bears on the question. {_LAST} the answer, one of "
        "{{ answers | join(', ') }}.",
        "Answer ({{ answers | join(', ') }}):",
    ),
}


class Perturbations:
    """The five perturbations of an audit.

    ``paraphrase``: the instruction in other words. ``moved``: the question before the text instead of after
    it, or vice versa. ``examples``: labelled examples, balanced by class, from outside the sample.
    ``reasoning``: reasoning first, the answer on the last line, and a higher limit. ``bare``: the text and
    the possible answers, with a question only if it is the item's own; no other instruction. ``original`` is
    the unchanged prompt, limited to ``answer_tokens``.

    Args:
        kind: ``classification``, ``multiple_choice`` or ``question_answering``: the texts of ``reasoning``
            and ``bare`` depend on it.
        paraphrase: The instruction in other words; if left out, the surface engine makes one (articles,
            contractions, politeness).
        examples: The number of examples.
        reasoning: Template of the postfix of ``reasoning``.
        bare: Template of the text below the item in ``bare``.
        answer_tokens: The limit on an answer.
        reasoning_tokens: The limit on an answer with reasoning.
        which: The levels to use, in this order; all if left out.
    """

    factor = "perturbation"

    def __init__(
        self,
        *,
        kind: Kind = "classification",
        paraphrase: str | None = None,
        examples: int = 3,
        reasoning: str | None = None,
        bare: str | None = None,
        answer_tokens: int = 32,
        reasoning_tokens: int = 256,
        which: list[Name] | None = None,
    ) -> None:
        self._paraphrase, self._examples = paraphrase, examples
        self._reasoning = _TEXTS[kind].reasoning if reasoning is None else reasoning
        self._bare = _TEXTS[kind].bare if bare is None else bare
        self._tokens = {"reasoning": reasoning_tokens}
        self._kind, self._answer_tokens = kind, answer_tokens
        self._names: list[Name] = list(get_args(Name)) if which is None else which
        if examples < 1:
            raise SpecError("no example would be shown", where="examples", expected="1 or more")
        if min(answer_tokens, reasoning_tokens) < 1:
            raise SpecError("no room for an answer", where="answer_tokens", expected="1 token or more")

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The unchanged prompt and its perturbations, in their order.

        Raises:
            SpecError: There is nothing to paraphrase, there are too few examples, or the question cannot be
                moved in the layout.
        """
        return [self._level(name, context) for name in self._names]

    def _level(self, name: Name, context: PromptContext) -> LevelOfFactor:
        makers: dict[Name, Callable[[PromptContext], _Change]] = {
            "original": lambda _: _Change(lambda variant: variant, 0),
            "paraphrase": self._paraphrased,
            "moved": _moved,
            "examples": self._with_examples,
            "reasoning": lambda _: _Change(lambda variant: replace(variant, postfix=self._reasoning), 2),
            "bare": lambda _: _Change(self._bared, 2),
        }
        change = makers[name](context)
        length = self._tokens.get(name, self._answer_tokens)

        def edit(variant: Variant) -> Variant:
            return replace(change.edit(variant), max_tokens=length)

        origin = {"family": "perturbations", "kind": self._kind, "parent": ORIGINAL, **change.origin}
        return LevelOfFactor(name, edit, origin, turn=change.turn)

    def _paraphrased(self, context: PromptContext) -> _Change:
        if self._paraphrase is None:
            draft = Draft(context.prompt.instruction, exact=True)
            with _about_the_paraphrase():
                (paraphrase,) = Surface(**_SURFACE).reword(context, draft, NoWork())
            text, made = paraphrase.text, {"by": "surface", **paraphrase.origin}
        else:
            text, made = self._paraphrase, {"by": "hand"}
        if " ".join(text.split()) == " ".join(context.prompt.instruction.split()):
            raise SpecError("the paraphrase is the instruction itself", where="paraphrase", found=text[:120])
        return _Change(lambda variant: replace(variant, instruction=text), 0, made)

    def _with_examples(self, context: PromptContext) -> _Change:
        examples = drawn(context, self._examples, context.seed)
        shown = {"examples": [one.id for one in examples]}
        return _Change(lambda variant: show(variant, examples), 2, shown)

    def _bared(self, variant: Variant) -> Variant:
        """The text, the part of the question that is the item's own, and the answers."""
        asked = variant.instruction if _is_items_own(variant.instruction) else ""
        parts = ["{{ text }}"]
        if "options" in names_in(variant.layout):
            parts.append("{{ options }}")
        if asked:
            parts.append("{{ instruction }}")
        layout = "\n".join([*parts, "{{ postfix }}"])
        return replace(variant, system="", layout=layout, instruction=asked, postfix=self._bare)


@contextmanager
def _about_the_paraphrase() -> Iterator[None]:
    try:
        yield
    except SpecError as error:
        raise SpecError(
            "the surface engine finds nothing to change in the instruction",
            where="paraphrase",
            expected="the instruction in other words, written by you",
            found=error.found,
        ) from None


class _Change(NamedTuple):
    """A perturbation's edit, its turn, and its origin."""

    edit: Callable[[Variant], Variant]
    turn: int
    origin: Mapping[str, Any] = {}


def _moved(context: PromptContext) -> _Change:
    if asks_first(context.prompt.layout) is None:
        raise SpecError(
            "the layout has no question to move",
            where="prompt.layout",
            expected="{{ question }} on lines of its own",
            found=context.prompt.layout[:120],
        )
    return _Change(lambda variant: replace(variant, layout=question_moved(variant.layout)), 1)


def _is_items_own(instruction: str) -> bool:
    """Whether a question draws on the item, so that it differs between items."""
    return bool(names_in(instruction) & {"item", "options"})
