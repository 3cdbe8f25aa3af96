"""A coding sheet: a table of labels with definitions and perhaps examples; the prompt that it makes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quaver.core.label_values import Codebook
from quaver.core.number_format import count
from quaver.core.records import Item, Label, LabelSet, Variant
from quaver.core.replaced_file import replace_text
from quaver.design.items.table_files import Row, read_rows
from quaver.design.prompt_words import ENGLISH, postfix_for_fields, postfix_for_labels
from quaver.design.prompts.rendering import PromptWriter, asking_for_fields
from quaver.design.spec.task_spec import FieldSpec, PromptSpec
from quaver.errors import ItemError
from quaver.study.imports.columns import Table
from quaver.study.imports.field_columns import FieldColumn


def coding_sheet(path: Path) -> dict[str, str]:
    """The labels in a coding sheet, in its order, each with its definition; an example becomes part of it.

    Raises:
        ItemError: There is no column of labels, fewer than two labels, or one of them twice.
    """
    rows = read_rows(path)
    where, table = str(path), Table(path, rows or [Row((), path.name, 1)])
    named = [next(iter(table.free(role)), None) for role in ("code", "definition", "example")]
    if named[0] is None:
        raise ItemError(
            "no column of labels was recognised",
            where=where,
            expected="a column called label, code, name, category or value",
            found=", ".join(table.columns),
        )
    result: dict[str, str] = {}
    for row in rows:
        label, definition, example = (row.text(name) if name else "" for name in named)
        if not label:
            continue
        if label in result:
            raise ItemError("this label is defined twice", where=row.where, found=label)
        result[label] = definition.strip()
        if example:
            result[label] = f"{result[label]} Example: {example.strip()}".strip()
    if len(result) < 2:
        raise ItemError(
            "too few labels", where=where, expected="two or more", found=count(len(result), "label")
        )
    return result


def write_coding_sheet(path: Path, definitions: Mapping[str, str]) -> None:
    """Write labels and their definitions as a table that `coding_sheet` reads: JSON Lines."""
    rows = ({"label": label, "definition": meaning} for label, meaning in definitions.items())
    replace_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def prompt_shown(instruction: str, definitions: Mapping[str, str], text: str, language: str = ENGLISH) -> str:
    """The prompt in which a model would see a text.

    Args:
        instruction: A template.
        definitions: The labels, each with what it means.
        text: No template, whatever it holds.
        language: That of the words that Quaver adds.
    """
    labels = LabelSet(tuple(Label(code, code, meaning) for code, meaning in definitions.items()))
    postfix = postfix_for_labels(language, defined=any(definitions.values()))
    variant = replace(
        _variant(instruction, postfix), answers={definition: definition for definition in definitions}
    )
    return _written(variant, labels, text)


def fields_shown(instruction: str, fields: Sequence[FieldColumn], text: str, language: str = ENGLISH) -> str:
    """The prompt in which a model would see a text and be asked for several variables of it."""
    specs = ((field.name, FieldSpec.model_validate(field.document)) for field in fields)
    book = Codebook(fields=tuple(spec.field(name) for name, spec in specs))
    asked = _variant(instruction, postfix_for_fields(language))
    variant = asking_for_fields(asked, book, held=False, longest=0, language=language)
    return _written(variant, book, text)


def _variant(instruction: str, postfix: str) -> Variant:
    spec = PromptSpec(instruction=instruction)
    return Variant("shown", {}, "", spec.layout, "{{ text }}", spec.instruction, postfix, {})


def _written(variant: Variant, labels: LabelSet, text: str) -> str:
    prompt = PromptWriter(variant, labels).write(Item("1", {"text": text}), text)
    return "\n\n".join(message.content for message in prompt.messages)
