"""``json_answers``: the answer as a JSON object that follows a schema made of the label set."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from quaver.core.records import LabelSet, Variant
from quaver.design.factors.factor_level import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.prompt_context import PromptContext

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
        return [*first, *(_level(name, form, context.labels) for name, form in self._forms.items())]


def _level(name: str, form: JsonForm, labels: LabelSet) -> LevelOfFactor:
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
    """The JSON schema of a variant's answers.

    Args:
        variant: Gives the answers, in their order, and definitions.
        form: Gives the fields.
        labels: The task's label set.
    """
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
