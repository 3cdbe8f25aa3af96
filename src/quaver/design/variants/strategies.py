"""``strategies``: simple, detailed and with examples, as levels of one factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from quaver.core.records import LabelSet, Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.design.variants.shots import Place, drawn, show
from quaver.errors import SpecError


class Strategy(BaseModel):
    """What a strategy adds to the prompt; nothing leaves it unchanged."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    definitions: bool = Field(False, description="The labels' definitions, after the instruction.")
    examples: int = Field(0, ge=0, description="The number of examples of each label, before the item.")


class Strategies:
    """Prompting strategies (Errica, Sanvito, Siracusano and Bifulco 2025 compare three).

    Args:
        strategies: By name; by default ``simple`` (the unchanged prompt), ``detailed`` (with the labels'
            definitions) and ``one-shot`` (with one example of each label, drawn as in ``shots``).
        describe: Template of the definitions, over ``labels``.
        place: The place of examples: ``turns`` of a conversation, or inside the user ``message``.
    """

    factor = "strategy"

    def __init__(
        self,
        *,
        strategies: dict[str, Strategy] | None = None,
        describe: str = "{% for label in labels %}\n{{ label.answer }}: {{ label.definition }}{% endfor %}",
        place: Place = "turns",
    ) -> None:
        self._strategies = strategies or {
            "simple": Strategy(),
            "detailed": Strategy(definitions=True),
            "one-shot": Strategy(examples=1),
        }
        self._describe, self._place = describe, place

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The strategies in their order.

        Raises:
            SpecError: There are too few examples, or a label has no definition.
        """
        return [self._level(name, one, context) for name, one in self._strategies.items()]

    def _level(self, name: str, strategy: Strategy, context: PromptContext) -> LevelOfFactor:
        examples = drawn(context, strategy.examples * len(context.labels.labels), context.seed)

        def edit(variant: Variant) -> Variant:
            if strategy.definitions:
                _check_defined(variant, context.labels, name)
                variant = replace(variant, instruction=variant.instruction + self._describe)
            return show(variant, examples, self._place) if examples else variant

        origin = {"family": "strategies", "parent": ORIGINAL, "definitions": strategy.definitions}
        shown = [one.id for one in examples]
        return LevelOfFactor(name, edit, {**origin, "examples": shown}, turn=2)


def _check_defined(variant: Variant, labels: LabelSet, name: str) -> None:
    for label in labels.labels:
        if not variant.definitions.get(label.code, label.definition).strip():
            raise SpecError(
                f"the label {label.code!r} has no definition for the strategy {name!r}",
                where="strategies",
                expected="a definition for every label",
                found="nothing",
                fix="add it under task.labels: {code: …, definition: …}",
            )
