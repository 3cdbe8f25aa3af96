"""What is asked for, and in which form: names, letters or numbers for labels, a last line, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor, check_names, level
from quaver.design.paraphrase.paraphraser import PromptContext
from quaver.design.prompts.record_prompt import object_schema
from quaver.design.prompts.templates import names_in, written_out
from quaver.errors import SpecError

_SYNONYM = re.compile(r"synonym(?: ([1-9]\d*))?")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KEY = (
    "{% for label in labels %}{{ label.answer }}: {{ label.name }}{% if not loop.last %}, {% endif %}"
    "{% endfor %}.\n"
)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)


@dataclass(frozen=True, kw_only=True)
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
    names: list[str]
    original: bool = True

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The prompt's own answers, then the others in their order.

        Raises:
            SpecError: There is no such kind of name, or a label has no name of that kind.
        """
        labels, own = context.labels.labels, dict(context.prompt.answers)
        named = {
            name: {label.code: _name(name, label, index) for index, label in enumerate(labels)}
            for name in self.names
        }
        if self.original and own not in named.values():
            named = {ORIGINAL: own, **named}
        return [
            level(name, None if answers == own else partial(_renamed, name, answers), family="label_names")
            for name, answers in named.items()
        ]


def _renamed(name: str, answers: Mapping[str, str], variant: Variant) -> Variant:
    parts = (variant.layout, variant.system, variant.instruction, variant.postfix, variant.text)
    listed = any(names_in(part) & {"labels", "options"} for part in parts)
    speaks = name == "name" or _SYNONYM.fullmatch(name) is not None
    postfix = variant.postfix if speaks or listed else _KEY + variant.postfix
    return replace(variant, answers={code: answers[code] for code in variant.answers}, postfix=postfix)


def _name(name: str, label: Label, index: int) -> str:
    plain = {
        "name": label.name,
        "code": label.code,
        "number": str(index + 1),
        "letter": _LETTERS[index : index + 1],
    }
    if plain.get(name):
        return plain[name]
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


class Format(_Form):
    """One format: the postfix that asks for it, the answer for each label, and the limit on the answer."""

    postfix: str
    answers: dict[str, str] = {}
    max_tokens: int | None = Field(None, ge=1, description="The limit on the answer.")


@dataclass(frozen=True, kw_only=True)
class Formats:
    """Answer formats written by hand.

    Args:
        formats: By name, the postfix template, the answer for each label code (the prompt's own for a label
            that is left out), and ``max_tokens`` if it differs from the decoding's.
        original: Whether the prompt's own format is one of the levels.
    """

    factor = "format"
    formats: dict[str, Format]
    original: bool = False

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The formats in their order, after the prompt's own if it is included.

        Raises:
            UnknownName: A format gives an answer for a label that does not exist.
        """
        own = {ORIGINAL: Format(postfix=context.prompt.postfix)} if self.original else {}
        levels = []
        for name, form in {**own, **self.formats}.items():
            check_names("label", form.answers, context.labels.codes, f"format {name}: answers")
            levels.append(level(name, partial(_formatted, form), family="formats", by="hand"))
        return levels


def _formatted(form: Format, variant: Variant) -> Variant:
    parts = form.model_dump(include={"postfix", "max_tokens"}, exclude_none=True)
    return replace(variant, **parts, answers={**variant.answers, **form.answers})


class Treatment(_Form):
    """The text of a treatment, between the question and the request for the last line."""

    text: str | None = Field(None, description="Template of its text; empty for none.")
    max_tokens: int | None = Field(None, ge=1, description="The limit on an answer.")


_STEPS = "Think step by step: say of each option what speaks for it and what against it."
_CONSTRAINT = (
    "Use nothing but the background and the options that are given here, whatever else you may know. "
    "On the line before the last, quote the option that you choose, word for word."
)

TREATMENTS: Mapping[str, Treatment] = {
    "T0": Treatment(text="", max_tokens=96),
    "T1": Treatment(
        text="Give the final answer only: no reasoning, no explanation, nothing else.", max_tokens=16
    ),
    "T2": Treatment(text=_STEPS, max_tokens=320),
    "T3": Treatment(text=_CONSTRAINT, max_tokens=128),
    "T4": Treatment(text=f"{_STEPS} {_CONSTRAINT}", max_tokens=384),
    "T5": Treatment(
        text="Before you answer, check your choice in silence: does it answer the question, and does no "
        "other option do so better? Write nothing of this check.",
        max_tokens=96,
    ),
}
"""Plain; final answer only; step by step; given information only; both of these; silent check."""

FINAL = "Let your last line be FINAL: and the answer, one of {{ answers | join(', ') }}."


@dataclass(frozen=True, kw_only=True)
class Treatments:
    """The treatments of a multiple-choice study.

    ``T0`` plain, ``T1`` final answer only, ``T2`` step by step, ``T3`` only the given options and background,
    ``T4`` both (step by step, from what is given), ``T5`` silent self-check; T3 and T4 also ask for a line
    that quotes the chosen option. The instruction stays; the treatment's text and the request for the last
    line are the postfix. Use the evaluator ``final_line``.

    Args:
        treatments: Other texts or limits for these treatments, and further treatments.
        which: The names of the treatments to use, in this order; all if left out.
        final: Template of the request for the last line.
        original: Whether the untreated prompt is one of the levels.
    """

    factor = "treatment"
    treatments: dict[str, Treatment] | None = None
    which: list[str] | None = None
    final: str = FINAL
    original: bool = False

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The treatments in their order, after the untreated prompt if it is included.

        Raises:
            SpecError: A treatment has no text, or nothing asks for a last line.
            UnknownName: There is no treatment of this name.
        """
        if "FINAL" not in self.final:
            raise SpecError(
                "the text does not ask for a last line",
                where="final",
                expected="a request for a last line FINAL: and the answer",
                found=self.final[:120],
            )
        given, known = self.treatments or {}, dict(TREATMENTS)
        for name, own in given.items():
            known[name] = known.get(name, own).model_copy(update=own.model_dump(exclude_none=True))
            if known[name].text is None:
                raise SpecError(
                    f"the treatment {name!r} has no text",
                    where=f"treatments: {name}",
                    expected="text: …, or one of the names " + ", ".join(TREATMENTS),
                )
        check_names("treatment", self.which or (), known, "which")
        untreated = LevelOfFactor(ORIGINAL, lambda variant: variant, {"family": "treatments"}, turn=2)
        levels = [untreated] if self.original else []
        for name in known if self.which is None else self.which:
            parts = known[name].model_dump(include={"max_tokens"}, exclude_none=True)
            parts["postfix"] = "\n".join(part for part in (known[name].text, self.final) if part)
            by = "hand" if name in given else "built in"
            levels.append(level(name, parts, 2, family="treatments", by=by))
        return levels


_SCHEMA = re.compile(r"\{\{\s*schema\s*\}\}")
_ROOM, _ROOM_FOR_TEXT = 32, 100
"""Tokens for braces, names and spaces, and for each text field."""


class JsonForm(_Form):
    """A form of JSON answers."""

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


@dataclass(frozen=True, kw_only=True)
class JsonAnswers:
    """JSON answers, whose label is one of the variant's answers.

    The schema follows the variant: it has the variant's answers in their order, including the changes of
    other families. The evaluator ``json_field`` parses the field that the variant names.
    Examples have answers in the same form; their text fields come from their columns of the same names.

    Args:
        forms: The forms by name; by default one, ``json``.
        original: Whether the unchanged prompt is one of the levels.
    """

    factor = "answer_form"
    forms: dict[str, JsonForm] | None = None
    original: bool = True

    def levels(self, context: PromptContext) -> Sequence[LevelOfFactor]:
        """The unchanged prompt, if it is included, then the forms in their order."""
        first = [level(ORIGINAL, turn=3, family="json_answers")] if self.original else []
        return [
            *first,
            *(
                level(
                    name,
                    partial(_as_json, form, context.labels),
                    turn=3,
                    family="json_answers",
                    form=form.model_dump(),
                )
                for name, form in (self.forms or {"json": JsonForm()}).items()
            ),
        ]


def _as_json(form: JsonForm, labels: LabelSet, variant: Variant) -> Variant:
    schema = json.dumps(schema_of(variant, form, labels), ensure_ascii=False)
    return replace(
        variant,
        postfix=_SCHEMA.sub(lambda _: written_out(schema), form.postfix),
        reply=_reply(form) if variant.reply == "{{ answer }}" else variant.reply,
        schema=schema if form.held else "",
        label_field=form.field,
        max_tokens=form.room(variant),
    )


def schema_of(variant: Variant, form: JsonForm, labels: LabelSet) -> dict[str, Any]:
    """The JSON schema of a variant's answers."""
    lines = [form.description]
    if form.definitions:
        defined = {label.code: label.definition for label in labels.labels}
        lines += [
            f"{answer}: {defined[code]}" for code, answer in variant.answers.items() if defined[code].strip()
        ]
    label = {"type": "string", "enum": list(variant.answers.values()), "description": "\n".join(lines)}
    before, after = (
        {name: {"type": "string", "description": text} for name, text in some.items()}
        for some in (form.before, form.after)
    )
    return object_schema({**before, form.field: label, **after})


def _reply(form: JsonForm) -> str:
    """The template of an example's answer in this form."""
    fields = [
        f"{written_out(json.dumps(name))}: "
        + ("{{ answer | tojson }}" if name == form.field else f"{{{{ item[{json.dumps(name)}] | tojson }}}}")
        for name in (*form.before, form.field, *form.after)
    ]
    return written_out("{") + ", ".join(fields) + written_out("}")
