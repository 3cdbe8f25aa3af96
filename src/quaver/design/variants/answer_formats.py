"""The form in which an answer is asked for: names, letters or numbers for labels, a word, a letter, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.paraphrase_draft import PromptContext
from quaver.design.prompts.templates import names_in
from quaver.errors import SpecError, UnknownName

_SYNONYM = re.compile(r"synonym(?: ([1-9]\d*))?")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KEY = (
    "{% for label in labels %}{{ label.answer }}: {{ label.name }}{% if not loop.last %}, {% endif %}"
    "{% endfor %}.\n"
)


class LabelNames:
    """Other names for the labels in the prompt and in the answer.

    A prompt that lists neither ``labels`` nor ``options`` gets a key above its postfix, ``A: positive, B:
    negative.``, unless the answer is the label's name or a synonym.

    Args:
        names: Any of ``name``, ``code``, ``letter`` (A, B, C in the label set's order), ``number`` (1, 2, 3),
            ``synonym`` (the first of each label), ``synonym 2`` and so on; each is a level.
        original: Whether the prompt's own answers are one of the levels, if none of ``names`` gives the same.
    """

    factor = "label_name"

    def __init__(self, *, names: list[str], original: bool = True) -> None:
        self._names, self._original = names, original

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own answers, then the others in their order.

        Raises:
            SpecError: There is no such kind of name, or a label has no name of that kind.
        """
        levels = [_names_level(name, _named(name, context.labels), context) for name in self._names]
        same = any(_named(name, context.labels) == dict(context.prompt.answers) for name in self._names)
        if self._original and not same:
            levels.insert(0, _names_level(ORIGINAL, dict(context.prompt.answers), context))
        return levels


def _names_level(name: str, answers: Mapping[str, str], context: PromptContext) -> LevelOfFactor:
    as_it_is = answers == dict(context.prompt.answers)
    speaks = name == "name" or _SYNONYM.fullmatch(name) is not None

    def edit(variant: Variant) -> Variant:
        if as_it_is:
            return variant
        made = {code: answers[code] for code in variant.answers}
        postfix = variant.postfix if speaks or _lists_labels(variant) else _KEY + variant.postfix
        return replace(variant, answers=made, postfix=postfix)

    return LevelOfFactor(name, edit, {"family": "label_names", "parent": ORIGINAL})


def _lists_labels(variant: Variant) -> bool:
    parts = (variant.layout, variant.system, variant.instruction, variant.postfix, variant.text)
    return any(names_in(part) & {"labels", "options"} for part in parts)


def _named(name: str, labels: LabelSet) -> dict[str, str]:
    return {label.code: _name(name, label, index) for index, label in enumerate(labels.labels)}


def _name(name: str, label: Label, index: int) -> str:
    if name == "name":
        return label.name
    if name == "code":
        return label.code
    if name == "number":
        return str(index + 1)
    if name == "letter" and index < len(_LETTERS):
        return _LETTERS[index]
    synonym = _SYNONYM.fullmatch(name)
    if synonym and len(label.synonyms) >= int(synonym[1] or 1):
        return label.synonyms[int(synonym[1] or 1) - 1]
    if synonym:
        raise SpecError(
            f"the label {label.code!r} has no {name}",
            where="label_names: names",
            expected=f"{synonym[1] or 1} or more synonyms for every label",
            found=", ".join(label.synonyms) or "none",
            fix="add it under task.labels: {code: …, synonyms: [one, another]}",
        )
    raise SpecError(
        "there are more labels than letters" if name == "letter" else "labels have no such name",
        where="label_names: names",
        expected="name, code, letter (of up to 26 labels), number, synonym, synonym 2 …",
        found=name,
    )


class Format(BaseModel):
    """One format: the postfix that asks for it, the answer for each label, and the limit on the answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    postfix: str
    answers: dict[str, str] = {}
    max_tokens: int | None = Field(None, ge=1, description="The limit on the answer.")


class Formats:
    """Answer formats written by hand.

    Args:
        formats: By name, the postfix template, the answer for each label code (the prompt's own for a label
            that is left out), and ``max_tokens`` if it differs from the decoding's.
        original: Whether the prompt's own format is one of the levels.
    """

    factor = "format"

    def __init__(self, *, formats: dict[str, Format], original: bool = False) -> None:
        self._formats = formats
        self._original = original

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The formats in their order, after the prompt's own if it is included.

        Raises:
            UnknownName: A format gives an answer for a label that does not exist.
        """
        for name, form in self._formats.items():
            for code in form.answers:
                if code not in context.labels.codes:
                    raise UnknownName("label", code, context.labels.codes, where=f"format {name}: answers")
        formats = list(self._formats.items())
        if self._original:
            formats.insert(0, (ORIGINAL, Format(postfix=context.prompt.postfix)))
        return [_level(name, form) for name, form in formats]


def _level(name: str, form: Format) -> LevelOfFactor:
    def edit(variant: Variant) -> Variant:
        length = form.max_tokens or variant.max_tokens
        answers = {**variant.answers, **form.answers}
        return replace(variant, postfix=form.postfix, answers=answers, max_tokens=length)

    return LevelOfFactor(name, edit, {"family": "formats", "by": "hand", "parent": ORIGINAL})


_SCHEMA = re.compile(r"\{\{\s*schema\s*\}\}")
_ROOM, _ROOM_FOR_TEXT = 32, 100
"""Tokens for braces, names and spaces, and for each text field."""


class JsonForm(BaseModel):
    """A form of JSON answers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    field: str = Field("label", min_length=1, description="Name of the field that holds the label.")
    description: str = Field("The label that fits.", description="The description of that field.")
    definitions: bool = Field(True, description="Whether its description includes the labels' definitions.")
    before: dict[str, str] = Field({}, description="Text fields before it: name and description.")
    after: dict[str, str] = Field({}, description="Text fields after it: name and description.")
    held: bool = Field(
        True, description="Whether the schema constrains the model; otherwise only the prompt shows it."
    )
    postfix: str = Field(
        "Answer with a JSON object that follows this schema:\n{{ schema }}",
        description="The postfix that asks for it; {{ schema }} is the schema.",
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        description="The limit on the answer; by default enough for the label, and 100 for each text field.",
    )

    @model_validator(mode="after")
    def _fields_differ(self) -> JsonForm:
        names = [*self.before, self.field, *self.after]
        if len(set(names)) < len(names):
            raise ValueError(f"two fields are named {next(n for n in names if names.count(n) > 1)!r}")
        return self

    def room(self, variant: Variant) -> int:
        """Tokens that an answer may take (a character is at most about a token)."""
        longest = max(map(len, (*variant.answers.values(), self.field)))
        return self.max_tokens or _ROOM + longest + _ROOM_FOR_TEXT * (len(self.before) + len(self.after))


class JsonAnswers:
    """JSON answers, whose label is one of the variant's answers.

    The schema follows the variant: it has the variant's answers in their order and its definitions, including
    the changes of other families. The evaluator ``json_field`` parses the field that the variant names.
    Examples have answers in the same form; their text fields come from their columns of the same names.

    Args:
        forms: The forms by name; by default one, ``json``.
        original: Whether the unchanged prompt is one of the levels.
    """

    factor = "answer_form"

    def __init__(self, *, forms: dict[str, JsonForm] | None = None, original: bool = True) -> None:
        self._forms = forms or {"json": JsonForm()}
        self._original = original

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The unchanged prompt, if it is included, then the forms in their order."""
        origin = {"family": "json_answers", "parent": ORIGINAL}
        first = [LevelOfFactor(ORIGINAL, lambda variant: variant, origin, turn=3)] if self._original else []
        return [*first, *(_json_level(name, form, context.labels) for name, form in self._forms.items())]


def _json_level(name: str, form: JsonForm, labels: LabelSet) -> LevelOfFactor:
    def edit(variant: Variant) -> Variant:
        schema = json.dumps(schema_of(variant, form, labels), ensure_ascii=False)
        return replace(
            variant,
            postfix=_SCHEMA.sub(lambda _: _literal(schema), form.postfix),
            reply=_reply(form) if variant.reply == "{{ answer }}" else variant.reply,
            schema=schema if form.held else "",
            label_field=form.field,
            max_tokens=form.room(variant),
        )

    origin = {"family": "json_answers", "parent": ORIGINAL, "form": form.model_dump()}
    return LevelOfFactor(name, edit, origin, turn=3)


def schema_of(variant: Variant, form: JsonForm, labels: LabelSet) -> dict[str, Any]:
    """The JSON schema of a variant's answers."""
    own = {label.code: label.definition for label in labels.labels}
    lines = [form.description]
    if form.definitions:
        defined = {code: variant.definitions.get(code, own[code]) for code in variant.answers}
        lines += [f"{variant.answers[code]}: {text}" for code, text in defined.items() if text.strip()]
    fields = {name: {"type": "string", "description": text} for name, text in form.before.items()}
    label = {"type": "string", "enum": list(variant.answers.values()), "description": "\n".join(lines)}
    last = {name: {"type": "string", "description": text} for name, text in form.after.items()}
    properties = {**fields, form.field: label, **last}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _reply(form: JsonForm) -> str:
    """The template of an example's answer in this form."""
    values = {name: f"{{{{ item[{json.dumps(name)}] | tojson }}}}" for name in (*form.before, *form.after)}
    values[form.field] = "{{ answer | tojson }}"
    fields = [
        f"{_literal(json.dumps(name))}: {values[name]}" for name in (*form.before, form.field, *form.after)
    ]
    return _literal("{") + ", ".join(fields) + _literal("}")


def _literal(text: str) -> str:
    """A template that renders to this text, whatever it contains."""
    return "{{ " + json.dumps(text, ensure_ascii=False) + " }}"
