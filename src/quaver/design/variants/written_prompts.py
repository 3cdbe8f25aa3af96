"""``prompts``: versions of the prompt that are written by hand, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from pydantic import Field

from quaver.core.records import Variant
from quaver.design.factor_levels import LevelOfFactor, check_names, family, level
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.spec.yaml_file import Count, Natural, Part
from quaver.design.variants.shots import drawn, show
from quaver.errors import SpecError

_PARTS: Final = {"system", "layout", "instruction", "postfix", "max_tokens"}
_DEFINITIONS: Final = "{% for label in labels %}\n{{ label.answer }}: {{ label.definition }}{% endfor %}"


class WrittenPrompt(Part):
    """What one version of the prompt replaces, and what it adds; nothing leaves the prompt as it is."""

    system: str | None = None
    layout: str | None = None
    instruction: str | None = None
    postfix: str | None = None
    answers: dict[str, str] = Field({})
    """The answers for some labels, by code; the prompt's own for the others."""
    max_tokens: Count | None = None
    """The limit on the answer, if it differs from the decoding's."""
    definitions: bool = False
    """Adds the labels' definitions to the instruction."""
    examples: Natural = 0
    """Adds this many examples in all, drawn as those of ``shots``."""
    examples_of_each: Natural = 0
    """Adds this many examples of each label."""


@family("version")
def prompts(context: PromptContext, *, prompts: dict[str, WrittenPrompt]) -> Sequence[LevelOfFactor]:
    """Versions of the prompt, written by hand, in their order.

    Args:
        context: The prompt.
        prompts: By name, the parts that a version replaces (``system``, ``layout``, ``instruction``,
            ``postfix``, ``answers``), its limit on the answer (``max_tokens``), and what it adds
            (``definitions``, ``examples``, ``examples_of_each``). The prompt as it is has nothing: ``{}``.

    Raises:
        SpecError: There are too few examples, or a label has no definition.
        UnknownName: A version gives an answer for a label that does not exist.
    """
    return [_level(name, prompt, context) for name, prompt in prompts.items()]


def _level(name: str, prompt: WrittenPrompt, context: PromptContext) -> LevelOfFactor:
    where, labels = f"prompts: {name}", context.labels
    check_names("label", prompt.answers, labels.codes, f"{where}: answers")
    lacking = [label.code for label in labels.labels if not label.definition.strip()]
    if prompt.definitions and (lacking or not labels.labels):
        raise SpecError(
            f"the label {lacking[0]!r} has no definition" if lacking else "there are no labels to define",
            where=f"{where}: definitions",
            expected="a definition for every label",
            found="nothing",
            fix="add it under task.labels: {code: …, definition: …}",
        )
    count = prompt.examples + prompt.examples_of_each * len(labels.labels)
    examples = drawn(context, count, context.seed)
    parts = prompt.model_dump(include=_PARTS, exclude_none=True)

    def edit(variant: Variant) -> Variant:
        written = replace(variant, **parts, answers={**variant.answers, **prompt.answers})
        if prompt.definitions:
            written = replace(written, instruction=written.instruction + _DEFINITIONS)
        return show(written, examples)

    # What is added comes after whatever other families make of the instruction.
    turn = 2 if prompt.definitions or examples else 0
    return level(name, edit, turn, family="prompts", by="hand", examples=[item.id for item in examples])
