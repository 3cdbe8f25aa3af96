"""From a variant and an item to the messages that a model sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quaver.design.templates import names_in, render
from quaver.errors import ItemError
from quaver.records import Item, LabelSet, Message, Prompt, Variant

__all__ = ["PROMPT_NAMES", "PromptWriter", "item_text"]

PROMPT_NAMES = ("labels", "answers", "item")
"""What an instruction, postfix or system template may draw on: ``labels`` (each with ``code``,
``name``, ``definition`` and ``answer``), ``answers`` in the labels' order, and the ``item``'s columns.
The layout has ``text``, ``instruction``, ``postfix`` and ``question`` (instruction and postfix) too, the
system message ``text``."""

_PER_ITEM = frozenset(["item", "text"])


class PromptWriter:
    """Writes one variant's prompt for any item.

    Args:
        variant: The variant; its templates have been checked.
        labels: The task's label set.
    """

    def __init__(self, variant: Variant, labels: LabelSet) -> None:
        self._variant = variant
        self._fixed: dict[str, Any] = {
            "labels": [
                {
                    "code": label.code,
                    "name": label.name,
                    "definition": label.definition,
                    "answer": variant.answers[label.code],
                }
                for label in labels.labels
            ],
            "answers": [variant.answers[code] for code in labels.codes],
        }
        self._moving: list[tuple[str, str]] = []
        for part in ("instruction", "postfix", "system"):
            template = getattr(variant, part)
            if names_in(template) & _PER_ITEM:
                self._moving.append((part, template))
            else:
                self._fixed[part] = render(template, self._fixed, where=f"{variant.id}: {part}")
        if not self._moving:
            self._fixed["question"] = _question(self._fixed)

    def write(self, item: Item, text: str) -> Prompt:
        """The prompt to send.

        Args:
            item: The item.
            text: Its text, as `item_text` gives it for this variant.
        """
        values = {**self._fixed, "item": item.fields, "text": text}
        for part, template in self._moving:
            values[part] = render(template, values, where=f"{self._variant.id}, item {item.id}: {part}")
        if self._moving:
            values["question"] = _question(values)
        content = render(self._variant.layout, values, where=f"{self._variant.id}, item {item.id}: layout")
        user, system = Message("user", content), values["system"]
        messages = (Message("system", system), user) if system else (user,)
        return Prompt(messages, text, values["question"])


def _question(values: Mapping[str, Any]) -> str:
    """The instruction and, where there is one, the postfix below it."""
    return "\n".join(part for part in (values["instruction"], values["postfix"]) if part)


def item_text(template: str, item: Item) -> str:
    """An item's text: its template filled in with its columns, which ``item`` holds too.

    Raises:
        ItemError: Nothing but white space comes out.
        SpecError: The template cannot be filled in with this item.
    """
    values = {"item": item.fields, **item.fields}
    text = render(template, values, where=f"items.text, item {item.id}")
    if not text.strip():
        place = getattr(item.fields, "where", "items")
        raise ItemError(
            f"item {item.id} has no text",
            where=f"{place}: items.text",
            expected=f"something to read in {template[:80]}",
            found="nothing",
            fix="remove the row",
        )
    return text
