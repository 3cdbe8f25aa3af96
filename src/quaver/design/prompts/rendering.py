"""From a variant and an item to the messages that a model sees; of a task with fields, to one JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from quaver.core.calls import Message, Prompt
from quaver.core.label_values import Codebook, TaskField, lineages, offered
from quaver.core.media import Medium
from quaver.core.records import Item, Label, LabelSet, Variant
from quaver.design.items.answer_options import Listed, options_of
from quaver.design.prompt_words import ENGLISH, words_in
from quaver.design.prompts.templates import literal, names_in, render
from quaver.errors import ItemError

PROMPT_NAMES = ("labels", "answers", "item", "options")
"""The names in an instruction or postfix template: ``labels`` (each with ``code``, ``name``, ``definition``
and ``answer``) and ``answers``, both in the order in which the variant shows the labels; the ``item``'s
columns; and the item's own ``options`` in the same order, each with ``code``, ``answer`` and ``text``
(written as a whole, one line each: ``A) text``). The system message also has ``instruction``, ``postfix``,
``question`` (instruction and postfix) and ``text``. The layout has all of these and ``examples``, each with
``text``, ``answer`` and ``label`` (written as a whole, one paragraph each)."""

_PER_ITEM = frozenset(["item", "text", "options"])
_PARTS = ("instruction", "postfix", "question", "system")


class PromptWriter:
    """Writes one variant's prompt for any item.

    A variant's examples are turns of the conversation: the layout filled in with each example, and the answer
    of its gold label. If the layout contains ``examples``, they are there instead.

    Args:
        variant: The variant; its templates have been checked.
        labels: The task's label set.
    """

    def __init__(self, variant: Variant, labels: LabelSet) -> None:
        self._variant = variant
        self._labels = labels = offered(labels, variant)
        shown = [(labels.codes.index(code), answer) for code, answer in variant.answers.items()]
        self._shown = tuple(shown)
        self._fixed: dict[str, Any] = {
            "labels": [
                {
                    "code": labels.labels[index].code,
                    "name": labels.labels[index].name,
                    "definition": labels.labels[index].definition,
                    "answer": answer,
                }
                for index, answer in shown
            ],
            "answers": [answer for _, answer in shown],
        }
        moving = set(_PER_ITEM)
        self._moving: list[str] = []
        for part in _PARTS:
            draws_on = {"instruction", "postfix"} if part == "question" else names_in(getattr(variant, part))
            if draws_on & moving:
                moving.add(part)
                self._moving.append(part)
            else:
                self._fixed[part] = self._part(part, self._fixed, variant.id)
        self._text_has_options = bool(labels.options) and "options" in names_in(variant.text)
        self._has_options = bool(labels.options) and any(
            "options" in names_in(getattr(variant, part)) for part in _TEMPLATES
        )
        self.text_key: Hashable = (variant.text, self._shown) if self._text_has_options else variant.text
        """Two variants with the same key show an item in the same text."""
        self._examples = ""
        self._turns: tuple[Message, ...] = ()
        self._media: tuple[Medium, ...] = ()
        self._show_examples()

    def text(self, item: Item) -> str:
        """An item's text under this variant."""
        return item_text(self._variant.text, item, self._options(item) if self._text_has_options else None)

    def shown(self, item: Item) -> str:
        """An item's text for people, with its files by name and size."""
        return (
            "\n".join([*map(str, item.media), self.text(item)]).rstrip("\n")
            if item.media
            else self.text(item)
        )

    def compared(self, item: Item) -> str:
        """What tells an item from its copies: its text, and what its files hold."""
        return " ".join([self.text(item), *(medium.sha256 for medium in item.media)])

    def write(self, item: Item, text: str) -> Prompt:
        """The prompt to send."""
        values = self._values(item, text)
        content = render(self._variant.layout, values, where=f"{self._variant.id}, item {item.id}: layout")
        content = content if text else content.lstrip("\n")  # a picture that stands for it is a message
        system, question, media = values["system"], values["question"], item.media
        if changes := self._variant.pictures:
            media = tuple(medium.versions.get(changes, medium) for medium in media)
        if self._variant.frame == "plain":
            blocks = [block for block in (system, *self._blocks, content) if block]
            messages: tuple[Message, ...] = (Message("plain", "\n\n".join(blocks)),)
        elif system:
            messages = (Message("system", system), *self._turns, *_shown(media), Message("user", content))
        else:
            messages = (*self._turns, *_shown(media), Message("user", content))
        if self._examples:
            question = f"{self._examples}\n\n{question}"
        return Prompt(messages, text, question, self._media + media)

    def _values(self, item: Item, text: str) -> dict[str, Any]:
        """The values of all names in the layout."""
        values = {**self._fixed, "item": item.fields, "text": text}
        if self._has_options:
            values["options"] = self._options(item)
        for part in self._moving:
            values[part] = self._part(part, values, f"{self._variant.id}, item {item.id}")
        return values

    def _part(self, part: str, values: Mapping[str, Any], where: str) -> str:
        if part == "question":  # the instruction and, if there is one, the postfix below it
            return "\n".join(words for words in (values["instruction"], values["postfix"]) if words)
        return render(getattr(self._variant, part), values, where=f"{where}: {part}")

    def _options(self, item: Item) -> Listed:
        """The item's own options in the order in which the variant shows them."""
        texts, codes = options_of(item, self._labels), self._labels.codes
        parts = [
            {"code": codes[index], "answer": answer, "text": texts[index]} for index, answer in self._shown
        ]
        return Listed(parts, "\n".join(f"{answer}) {texts[index]}" for index, answer in self._shown))

    def _show_examples(self) -> None:
        """Render the examples once: they are the same for every item."""
        written = [(item, self.text(item), self._reply(item)) for item in self._variant.examples if item.gold]
        parts = [{"text": text, "answer": reply, "label": item.gold or ""} for item, text, reply in written]
        self._examples = "\n\n".join(f"{text}\nAnswer: {reply}" for _, text, reply in written)
        self._fixed["examples"] = Listed(parts, self._examples)
        self._blocks: tuple[str, ...] = ()
        if "examples" in names_in(self._variant.layout):
            return
        where = f"{self._variant.id}, examples: layout"
        contents = [
            render(self._variant.layout, self._values(item, text), where=where) for item, text, _ in written
        ]
        replies = [reply for _, _, reply in written]
        turns: list[Message] = []
        for (item, *_), content, reply in zip(written, contents, replies, strict=True):
            turns += [*_shown(item.media), Message("user", content), Message("assistant", reply)]
            self._media += item.media
        self._turns = tuple(turns)
        self._blocks = tuple(_continued(*pair) for pair in zip(contents, replies, strict=True))

    def _reply(self, example: Item) -> str:
        """The answer that the prompt shows to an example."""
        values = {"answer": self._variant.answers[example.gold or ""], "item": example.fields}
        return render(self._variant.reply, values, where=f"{self._variant.id}, example {example.id}: reply")


_TEMPLATES = ("layout", "system", "instruction", "postfix")


def _shown(media: Sequence[Medium]) -> Sequence[Message]:
    """The messages that show an item's media."""
    return [Message("media", medium.noted) for medium in media] if media else ()


def _continued(content: str, reply: str) -> str:
    """A prompt followed by its answer, as a model continues a text."""
    if content[-1:].isspace():
        return content + reply
    return f"{content} {reply}" if content.endswith(":") else f"{content}\n{reply}"


def item_text(template: str, item: Item, options: Listed | None = None) -> str:
    """An item's text: the template filled in with the item's columns, which ``item`` holds too."""
    values = {"item": item.fields, **item.fields}
    if options is not None:
        values["options"] = options
    text = render(template, values, where=f"items.text, item {item.id}")
    if not text.strip() and not item.media:
        place = getattr(item.fields, "where", "items")
        raise ItemError(
            f"item {item.id} has no text",
            where=f"{place}: items.text",
            expected=f"a text from {template[:80]}",
            found="nothing",
            fix="remove the row",
        )
    return text


def messages_of(variant: Variant, labels: LabelSet, item: Item) -> tuple[Message, ...]:
    """The messages of one variant and one item."""
    writer = PromptWriter(variant, labels)
    return writer.write(item, writer.text(item)).messages


_PLACE = re.compile(r"\{\{\s*(fields|schema)\s*\}\}")
PARTS: Final = ("system", "layout", "instruction", "postfix")
"""The parts of a prompt that may name the fields."""

_ROOM, _ROOM_FOR_FIELD, _ROOM_FOR_NUMBER, _ROOM_FOR_QUOTE = 32, 8, 16, 160
"""Tokens for braces and spaces, of the object and of each field; for a number; and for a quote."""


def asking_for_fields(
    prompt: Variant, codebook: Codebook, *, held: bool, longest: int, language: str = ENGLISH
) -> Variant:
    """A prompt that asks for a codebook's fields.

    ``{{ fields }}`` in any of its parts stands for the fields with their labels and definitions, and
    ``{{ schema }}`` for the JSON schema.

    Args:
        prompt: The prompt, without answers of its own.
        codebook: The fields.
        held: Whether the schema constrains the model.
        longest: The limit on answers, which is raised where the fields need more.
        language: That of the words around the labels.
    """
    schema = json.dumps(schema_of_fields(codebook.fields), ensure_ascii=False)
    shown = {"fields": fields_in_words(codebook.fields, language), "schema": schema}
    parts: dict[str, Any] = {part: _filled(getattr(prompt, part), shown) for part in PARTS}
    room = max(longest, _ROOM + sum(map(_room, codebook.fields)))
    return replace(prompt, **parts, schema=schema if held else "", max_tokens=room)


def _filled(template: str, shown: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda match: literal(shown[match[1]]), template)


def _room(field: TaskField) -> int:
    """Tokens that a field's name and value may take (a character is at most about a token)."""
    sizes = [len(label.name) for label in field.labels.labels]
    value = (
        sum(sizes) + _ROOM_FOR_FIELD * len(sizes) if field.several else max(sizes, default=_ROOM_FOR_NUMBER)
    )
    value += _ROOM_FOR_QUOTE * len(sizes) if field.spans else 0
    quote = _ROOM_FOR_QUOTE + len(field.quote_key) if field.evidence else 0
    return _ROOM_FOR_FIELD + len(field.name) + value + quote


def fields_in_words(fields: Sequence[TaskField], language: str = ENGLISH) -> str:
    """A line for each field with its labels, and one for each label that has a definition.

    >>> from quaver.core.records import Label, LabelSet
    >>> labels = LabelSet((Label("pos", "positive"), Label("neg", "negative", "Blames or complains.")))
    >>> print(fields_in_words([TaskField("tone", labels, "The tone of the text.")]))
    - "tone": The tone of the text. One of "positive", "negative".
      - "negative": Blames or complains.
    """
    lines = []
    for field in fields:
        about = [" ".join(field.definition.split()), _asked(field, words_in(language))]
        lines.append(f"- {json.dumps(field.name, ensure_ascii=False)}: {' '.join(filter(None, about))}")
        lines += _explained(field.labels)
        if field.evidence:
            key = json.dumps(field.quote_key, ensure_ascii=False)
            lines.append(f"- {key}: {words_in(language)['quote']}")
    return "\n".join(lines)


def _explained(labels: LabelSet) -> Iterator[str]:
    """A line for each label that has a definition; of labels with parents for each, indented as they fall."""
    is_tree = any(label.parent for label in labels.labels)
    lines, own, headed = lineages(labels), set(labels.codes), set[str]()
    order = {code: place for place, code in enumerate(dict.fromkeys(chain.from_iterable(lines.values())))}

    def place(label: Label) -> list[int]:
        return [order[code] for code in lines[label.code]]

    for label in sorted(labels.labels, key=place) if is_tree else labels.labels:
        line = lines[label.code]
        for depth, code in enumerate(line[:-1]):
            if code not in own and code not in headed:
                headed.add(code)
                yield f"{'  ' * depth}  - {code}:"
        about = " ".join(label.definition.split())
        if about or is_tree:
            name = json.dumps(label.name, ensure_ascii=False)
            yield f"{'  ' * len(line)}- {name}{about and f': {about}'}"


def _asked(field: TaskField, words: Mapping[str, Any]) -> str:
    """What the value of a field may be, in words."""
    if field.labels.are_numbers:
        return str(words["amount" if field.labels.level == "ratio" else "number"])
    names = ", ".join(json.dumps(label.name, ensure_ascii=False) for label in field.labels.labels)
    asks = "spans" if field.spans else "several" if field.several else "one"
    return str(words[asks].replace("{}", names))


def schema_of_fields(fields: Sequence[TaskField]) -> dict[str, Any]:
    """The JSON schema of answers with these fields."""
    properties: dict[str, Any] = {}
    for field in fields:
        properties[field.name] = _property(field)
        if field.evidence:  # behind its label, which is then what it would be without a quote
            properties[field.quote_key] = {"type": "string"}
    return object_schema(properties)


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has these properties, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _property(field: TaskField) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "enum": [label.name for label in field.labels.labels]}
    if field.spans:
        words = {"type": "array", "items": {"type": "string"}}
        schema = object_schema({label.name: words for label in field.labels.labels})
    elif field.several:
        schema = {"type": "array", "items": schema, "maxItems": len(field.labels.labels)}
    elif field.labels.are_numbers:
        schema = {"type": "number"}
    return schema | ({"description": field.definition} if field.definition.strip() else {})
