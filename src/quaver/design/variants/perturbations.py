"""``perturbations`` and ``paraphrases``: changes that should not change an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Protocol, get_args

from pydantic import Field

from quaver.core import registry
from quaver.core.records import Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, Options, level
from quaver.design.paraphrase.paraphraser import (
    REPHRASER,
    Draft,
    NotMade,
    NoWork,
    Paraphrase,
    Paraphraser,
    PromptContext,
    Work,
)
from quaver.design.paraphrase.surface_paraphraser import Surface
from quaver.design.prompts.templates import names_in
from quaver.design.spec.study_file import Positions, bind
from quaver.design.variants.shots import drawn, show
from quaver.errors import SpecError

Kind = Literal["classification", "multiple_choice", "question_answering"]
Name = Literal["original", "paraphrase", "moved", "examples", "reasoning", "bare"]


_SURFACE: Mapping[str, Any] = {
    "strengths": [0.5],
    "k": 1,
    "kinds": ["articles", "contractions", "politeness"],
}

_LAST = "Then write on the last line Answer: and nothing but"

_TEXTS: Mapping[Kind, tuple[str, str]] = {
    "classification": (
        f"First say in a few sentences what in the text bears on the label. {_LAST} the label, one of "
        "{{ answers | join(', ') }}.",
        "Label ({{ answers | join(', ') }}):",
    ),
    "multiple_choice": (
        f"First weigh the options against each other in a few sentences. {_LAST} one of "
        "{{ answers | join(', ') }}, for the option that you choose.",
        "Answer:",
    ),
    "question_answering": (
        f"First say in a few sentences what bears on the question. {_LAST} the answer, one of "
        "{{ answers | join(', ') }}.",
        "Answer ({{ answers | join(', ') }}):",
    ),
}
"""The texts of ``reasoning`` and of ``bare``, for each kind of task."""


class Perturbations(Options):
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
        bare: Template of the text below the item in ``bare``.
        answer_tokens: The limit on an answer.
        reasoning_tokens: The limit on an answer with reasoning.
        which: The levels to use, in this order; all if left out.
    """

    factor: ClassVar[str] = "perturbation"

    kind: Kind = "classification"
    paraphrase: str | None = None
    examples: Annotated[int, Field(ge=1)] = 3
    bare: str | None = None
    answer_tokens: Annotated[int, Field(ge=1)] = 32
    reasoning_tokens: Annotated[int, Field(ge=1)] = 256
    which: list[Name] | None = None

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The unchanged prompt and its perturbations, in their order.

        Raises:
            SpecError: There is nothing to paraphrase, there are too few examples, or the question cannot be
                moved in the layout.
        """
        return [self._level(name, context) for name in self.which or get_args(Name)]

    def _level(self, name: Name, context: PromptContext) -> LevelOfFactor:
        change: Callable[[Variant], Variant] = _unchanged
        turn, made = 0, dict[str, Any]()
        if name == "paraphrase":
            text, made = self._paraphrased(context)
            change = partial(replace, instruction=text)
        elif name == "moved":
            asks_first(context.prompt.layout)
            change, turn = question_moved, 1
        elif name == "examples":
            shown = drawn(context, self.examples, context.seed)
            change, turn = partial(show, examples=shown), 2
            made = {"examples": [item.id for item in shown]}
        elif name == "reasoning":
            change, turn = partial(replace, postfix=_TEXTS[self.kind][0]), 2
        elif name == "bare":
            change, turn = self._bared, 2
        length = self.reasoning_tokens if name == "reasoning" else self.answer_tokens

        def edit(variant: Variant) -> Variant:
            return replace(change(variant), max_tokens=length)

        return level(name, edit, turn, **{"family": "perturbations", "kind": self.kind, **made})

    def _paraphrased(self, context: PromptContext) -> tuple[str, dict[str, Any]]:
        """The instruction in other words, and how they were made."""
        if self.paraphrase is None:
            draft = Draft(context.prompt.instruction, exact=True)
            try:
                (paraphrase,) = Surface(**_SURFACE).reword(context, draft, NoWork())
            except SpecError as error:
                raise SpecError(
                    "the surface engine finds nothing to change in the instruction",
                    where="paraphrase",
                    expected="the instruction in other words, written by you",
                    found=error.found,
                ) from None
            return paraphrase.text, {"by": "surface", **paraphrase.origin}
        if self.paraphrase.split() == context.prompt.instruction.split():
            raise SpecError(
                "the paraphrase is the instruction itself", where="paraphrase", found=self.paraphrase[:120]
            )
        return self.paraphrase, {"by": "hand"}

    def _bared(self, variant: Variant) -> Variant:
        """The text, the part of the question that is the item's own, and the answers."""
        own = names_in(variant.instruction) & {"item", "options"}  # it differs between items
        asked = variant.instruction if own else ""
        parts = ["{{ text }}"]
        if "options" in names_in(variant.layout):
            parts.append("{{ options }}")
        if asked:
            parts.append("{{ instruction }}")
        layout = "\n".join([*parts, "{{ postfix }}"])
        bare = _TEXTS[self.kind][1] if self.bare is None else self.bare
        return replace(variant, system="", layout=layout, instruction=asked, postfix=bare)


def _unchanged(variant: Variant) -> Variant:
    return variant


class Position:
    """The question (instruction and postfix) ``after`` the text and ``before`` it.

    The lines with the question and the lines with the text swap places; all other lines stay.
    """

    factor: ClassVar[str] = "position"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own position of the question, then the other.

        Raises:
            SpecError: The layout has no question, or has it on the same lines as the text.
        """
        names = ("before", "after") if asks_first(context.prompt.layout) else ("after", "before")
        return [level(names[0], family="position"), level(names[1], question_moved, 1, family="position")]


def asks_first(layout: str) -> bool:
    """Whether the question is before the text.

    Raises:
        SpecError: The layout has no question, or has it on the same lines as the text.
    """
    asking, showing = _lines_with(layout, "instruction", "postfix", "question"), _lines_with(layout, "text")
    if asking and showing and (asking[1] <= showing[0] or showing[1] <= asking[0]):
        return asking < showing
    raise SpecError(
        "the layout does not keep the question and the item's text on separate lines"
        if asking
        else "the layout has no question to move",
        where="prompt.layout",
        expected="{{ text }} on lines of its own, {{ question }} on others",
        found=layout[:120],
    )


def question_moved(variant: Variant) -> Variant:
    """A variant with the lines of the question and those of the text swapped."""
    asking = _lines_with(variant.layout, "instruction", "postfix", "question")
    showing = _lines_with(variant.layout, "text")
    if asking is None or showing is None:
        return variant
    lines = variant.layout.split("\n")
    (a, b), (c, d) = sorted([asking, showing])
    moved = [*lines[:a], *lines[c:d], *lines[b:c], *lines[a:b], *lines[d:]]
    return replace(variant, layout="\n".join(moved))


def _lines_with(layout: str, *names: str) -> tuple[int, int] | None:
    """The lines that hold one of some names, as the first and the one after the last."""
    try:
        found = [index for index, line in enumerate(layout.split("\n")) if names_in(line) & {*names}]
    except Exception:  # single lines of a statement over several lines are not templates
        return None
    return (found[0], found[-1] + 1) if found else None


class VariantFamily(Protocol):
    """A family of prompt variants, registered under ``quaver.variants``.

    Its constructor takes the options beside its name in the study file, as keyword arguments with annotated
    types. A family may also have a method ``notes(context)``: sentences for the lock file, the plan and the
    report on how its levels were chosen. A family that rewords the instruction has ``rewords = True``: the
    meaning of its levels is then compared with the original's.
    """

    factor: str
    """The column of the annotation frame for its level, unless the study names another.

    Empty if the levels' own columns say everything: their names then consist of these.
    """

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The levels, in order."""
        ...


class Instructions(Options):
    """Instructions written by hand.

    Args:
        texts: Instruction templates by name. The prompt's own instruction is the level ``original``.
    """

    factor: ClassVar[str] = "paraphrase"
    rewords: ClassVar[bool] = True
    texts: dict[str, str]

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The original instruction, then the others in their order."""
        texts = [(ORIGINAL, context.prompt.instruction), *self.texts.items()]
        return [
            level(name, {"instruction": text}, -1, family="instructions", by="hand") for name, text in texts
        ]


class Paraphrases:
    """Paraphrases that an engine makes; the original prompt is the level ``original``.

    Args:
        engine: A registered engine: llm, pegasus, surface, file.
        each: Models of the study that reword for themselves, for the engine ``llm``: each is asked the
            original and its own paraphrases.
        **options: The engine's own options.
    """

    def __init__(self, *, engine: str, each: list[str] | None = None, **options: Any) -> None:
        plugin = registry.load("paraphrasers", engine)
        self._name = engine
        self._engines: dict[str, Paraphraser] = {}
        if each is not None:
            _check_each(each, options)
        for model in each or [""]:
            given = {**options, "model": model} if model else options
            beside = ("use", "engine", "each", "factor")
            self._engines[model] = plugin(**bind(plugin, given, Positions(None, {}), (), beside=beside))
        first = next(iter(self._engines.values()))
        self.factor = first.factor
        self.rewords = first.part == "instruction"

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The original prompt, then the engine's paraphrases.

        Raises:
            SpecError: The engine cannot make them, or must not make them now.
            ModelError: A model gave too few.
        """
        first = LevelOfFactor(
            ORIGINAL, lambda variant: variant, {"family": "paraphrases", "by": "study file"}
        )
        levels = [first]
        for model, engine in self._engines.items():
            levels += [self._level(paraphrase, model) for paraphrase in self._paraphrases(engine, context)]
        return levels

    def _paraphrases(self, engine: Paraphraser, context: PromptContext) -> Sequence[Paraphrase]:
        original = getattr(context.prompt, engine.part)
        asked = {
            "engine": self._name,
            **engine.asked(),
            "original": original,
            "seed": context.seed,
        }

        drafts: list[Draft] = []

        def fill(draft: Draft, work: Work) -> Sequence[Paraphrase]:
            drafts.append(draft)
            return engine.reword(context, draft, work)

        blank = Draft(original, engine.exact)
        keeper, foreseen = context.keeper, getattr(engine, "foreseen", None)
        if keeper is None or not engine.kept:
            return fill(blank, NoWork())
        try:
            return keeper.paraphrases(asked, blank, fill)
        except NotMade:
            if foreseen is None or not keeper.stands_in:
                raise
            if left := engine.to_ask(drafts[-1]):  # type: ignore[attr-defined]
                keeper.foresee(left)
            return foreseen(original)  # type: ignore[no-any-return]

    def _level(self, paraphrase: Paraphrase, model: str) -> LevelOfFactor:
        return level(
            f"{model} {paraphrase.name}" if model else paraphrase.name,
            {"instruction" if self.rewords else "layout": paraphrase.text},
            -1 if self.rewords else 0,
            {**paraphrase.covariates, **({REPHRASER: model} if model else {})},
            family="paraphrases",
            engine=self._name,
            **paraphrase.origin,
        )


def _check_each(each: Sequence[str], options: Mapping[str, Any]) -> None:
    if "model" in options or not each or len(set(each)) < len(each):
        raise SpecError(
            "models that reword for themselves are named once each, in place of `model`",
            where="each",
            expected="names of the study's models",
            found=str(list(each)),
            fix="remove `model`, or what is named twice",
        )
