"""``descriptions``: the labels' definitions reworded, for example with an article added to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quaver.core.records import Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext
from quaver.errors import UnknownName


class Descriptions:
    """Definitions that a person wrote.

    They appear where the prompt shows definitions: through ``{{ label.definition }}``, the ``detailed``
    strategy or a JSON schema.

    Args:
        definitions: By name, the definition of each label code; a label that is left out keeps its own. The
            label set's own definitions are the level ``original``.
    """

    factor = "description"

    def __init__(self, *, definitions: dict[str, dict[str, str]]) -> None:
        self._definitions = definitions

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The label set's definitions, then the others in their order.

        Raises:
            UnknownName: A label does not exist.
        """
        for name, definitions in self._definitions.items():
            for code in definitions:
                if code not in context.labels.codes:
                    where = f"definitions: {name}"
                    raise UnknownName("label", code, context.labels.codes, where=where)
        return [_level(ORIGINAL, {}), *(_level(*pair) for pair in self._definitions.items())]


def _level(name: str, definitions: dict[str, str]) -> LevelOfFactor:
    def edit(variant: Variant) -> Variant:
        return replace(variant, definitions={**variant.definitions, **definitions})

    return LevelOfFactor(name, edit, {"family": "descriptions", "by": "hand", "parent": ORIGINAL})
