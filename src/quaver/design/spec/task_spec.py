"""The task: label sets, fields, prompt and level of measurement; labels or answers that already exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from quaver.core.column_names import column_of
from quaver.core.label_values import NO_LABELS, SEPARATOR, Codebook, TaskField, occurring_numbers
from quaver.core.labels import cleaned
from quaver.core.number_format import composed
from quaver.core.records import NO_LABEL, OF_SETS, Label, LabelSet, Level
from quaver.core.registry import Kind
from quaver.design.prompt_words import ENGLISH, words_by_language, words_in
from quaver.design.spec.items_spec import GoldSpec, Grouped, TableFile
from quaver.design.spec.yaml_file import (
    Name,
    Part,
    PlacedError,
    PluginSpec,
    Text,
    as_yaml_reads,
    check_distinct,
)

_FEWEST = 2
"""Labels that a set must have."""


def with_labels_alike(document: Any) -> Any:
    """A study's document in which every mention of a label is spelt as in the label set.

    An é may be one character or an e followed by an accent, and an editor does not show which.

    >>> study = {"task": {"labels": ["\u00e9"]}, "prompt": {"answers": {"e\u0301": "E"}}}
    >>> with_labels_alike(study)["prompt"]["answers"] == {"\u00e9": "E"}
    True
    """
    task = document.get("task") if isinstance(document, Mapping) else None
    given = task.get("labels") if isinstance(task, Mapping) else None
    listed = given if isinstance(given, list | tuple) else ()
    codes = [label.get("code") if isinstance(label, Mapping) else label for label in listed]
    written = {composed(code): code for code in codes if isinstance(code, str) and not code.isascii()}
    if not written:
        return document

    def spelt(part: Any) -> Any:
        if isinstance(part, str):
            return written.get(composed(part), part)
        if isinstance(part, Mapping):
            return {spelt(key): spelt(value) for key, value in part.items()}
        return list(map(spelt, part)) if isinstance(part, list | tuple) else part

    return {name: part if name == "task" else spelt(part) for name, part in document.items()}


class LabelSpec(Part):
    """A category. A bare string is its code and its name."""

    bare = "code"

    code: Name
    """Short name in data; gold labels and annotations hold it."""
    name: str = ""
    """Its name in the prompt; the code if left out."""
    definition: str = ""
    """What falls under it; templates may use it."""
    synonyms: tuple[str, ...] = ()
    """Other names that an answer may use."""
    value: float | None = None
    """Its number, where the level is interval or ratio."""
    parent: str = ""
    """The broader label, by code, or the heading under which it falls."""

    @model_validator(mode="before")
    @classmethod
    def _from_code(cls, given: Any) -> Any:
        return {"code": given} if isinstance(given, int) else given

    def label(self) -> Label:
        """The record that the stages use."""
        name = cleaned(self.name or self.code)  # a line break would end the sentence that lists it
        return Label(self.code, name, self.definition, self.synonyms, self.value, self.parent)


class LabelledSpec(Part):
    """What has a label set: a task, or one of its fields."""

    level: Level = "nominal"
    """nominal, ordinal, interval or ratio; jaccard or masi for sets, as in a;b; tree where labels have
    parents."""
    labels: tuple[LabelSpec, ...] = Field(
        examples=[["positive", "negative", {"code": "neither", "definition": "Neither or both."}]],
        json_schema_extra={"minItems": _FEWEST},
    )
    """The label set, in order."""

    @field_validator("labels", mode="before")
    @classmethod
    def _texts(cls, given: Any) -> Any:
        """Refuse what YAML did not read as a text, before it is taken for a label's keys."""
        for index, label in enumerate(given if isinstance(given, list | tuple) else ()):
            if label is None or isinstance(label, bool | float | date):
                written, fix = "null" if label is None else str(label).lower(), as_yaml_reads(label)
                problem = "this label is not a text"
                raise PlacedError(problem, index, expected="a text", found=written, fix=fix)
        return given

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[LabelSpec, ...]) -> tuple[LabelSpec, ...]:
        for index, label in enumerate(labels):
            if NO_LABEL in (label.code.casefold(), label.name.casefold()):
                problem = f"{NO_LABEL!r} is the name of answers without a label; give the label another name"
                raise PlacedError(problem, index)
        check_distinct("label code", [composed(label.code) for label in labels])
        return labels

    @model_validator(mode="after")
    def _in_a_tree(self) -> Self:
        parents = {label.code: label.parent for label in self.labels if label.parent}
        for index, label in enumerate(self.labels):
            line = [label.code]
            while parent := parents.get(line[-1]):
                if parent in line:
                    problem = "a label is its own ancestor"
                    circle = " under ".join([*line, parent])
                    raise PlacedError(problem, "labels", index, "parent", found=circle)
                line.append(parent)
        if self.level == "tree" and self.labels and not parents:
            fix = "write, for example, `labels: [work, {code: wages, parent: work}]`"
            raise PlacedError("labels without parents form no tree", "level", found="tree", fix=fix)
        return self

    @property
    def needs_labels(self) -> bool:
        """Whether there is nothing without labels."""
        return True

    @property
    def fewest(self) -> int:
        """How many labels there are at least."""
        return _FEWEST

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if len(self.labels) < self.fewest and self.needs_labels:
            raise PlacedError(
                "this value does not fit",
                "labels",
                expected=f"{self.fewest} or more of them",
                found=", ".join(label.code for label in self.labels) or "none",
                fix="write, for example, `labels: [positive, negative]`",
            )
        return self


class FieldSpec(LabelledSpec):
    """One field of answers that are JSON objects: a variable of the codebook."""

    labels: tuple[LabelSpec, ...] = ()
    """The label set, in order; left out where values are numbers (interval or ratio)."""
    definition: str = ""
    """What the field is about; the prompt shows it."""
    several: bool = False
    """Whether several labels may apply: a cell of gold then holds them with ; or , between."""
    evidence: bool = False
    """Whether the model quotes the words of the text that decide, in the same answer; needs the extra
    `evidence`."""
    spans: bool = False
    """Whether the model quotes the words of the text to which each label applies (entities, claims), instead
    of labelling the text as a whole; needs the extra `evidence`."""
    gold: GoldSpec | None = None
    """The column of its gold labels, or column and map."""

    def field(self, name: str) -> TaskField:
        """The record that the stages use."""
        if not self.needs_labels:
            numbers = occurring_numbers((), self.level)
            return TaskField(name, numbers, self.definition, False, self.evidence, self._marked)
        several = self.several or self.spans
        level = "jaccard" if several and self.level not in OF_SETS else self.level
        labels = LabelSet(tuple(label.label() for label in self.labels), level)
        return TaskField(
            name, labels, self.definition, several, self.evidence, self._marked, spans=self.spans
        )

    @property
    def _marked(self) -> str:
        return (self.gold and (self.gold.column if self.spans else self.gold.quote)) or ""

    @property
    def needs_labels(self) -> bool:
        """Whether values are labels; without labels they are numbers, of a level that numbers have."""
        return bool(self.labels) or self.level not in ("interval", "ratio")

    @property
    def fewest(self) -> int:
        """How many labels there are at least: for spans one, which other words do not have."""
        return 1 if self.spans else _FEWEST

    @model_validator(mode="after")
    def _of_one_kind(self) -> FieldSpec:
        several = self.several or self.spans
        if self.spans and (self.evidence or not self.labels or (self.gold and self.gold.map)):
            problem = "a field of spans has labels, no `evidence`, since spans are quotes, and no `map`"
            raise PlacedError(problem, "spans")
        if several != (self.level in OF_SETS) and self.level != "nominal":
            expected = "jaccard or masi" if several else "nominal, ordinal, interval or ratio"
            problem = "this level does not fit `several`"
            raise PlacedError(problem, "level", expected=expected, found=self.level)
        for index, label in enumerate(self.labels if several else ()):
            if label.code == NO_LABELS or {*label.code} & {SEPARATOR, *("[]" if self.spans else "")}:
                signs = "; [ ]" if self.spans else SEPARATOR
                problem = f"a label of which several may apply has no {signs!r} in its code"
                raise PlacedError(problem, "labels", index, found=label.code)
        return self

    @model_validator(mode="after")
    def _has_column(self) -> FieldSpec:
        if self.gold is None:
            return self
        if self.gold.source and not self.spans:
            raise PlacedError("only a field with `spans` has gold labels in a table of its own", "gold")
        if self.gold.quote and not self.evidence:
            fix = "write `evidence: true`"
            raise PlacedError("answers have no quotes to compare with what people marked", "gold", fix=fix)
        if not self.gold.sources:
            raise PlacedError("a field's gold labels have a column: `gold: NAME`", "gold")
        if self.gold.columns and not self.several:
            raise PlacedError("only a field of which several labels may apply has several columns", "gold")
        codes = [label.code for label in self.labels]
        columns = self.gold.columns if isinstance(self.gold.columns, dict) else {}
        for code in columns.keys() - codes:
            expected = f"one of {', '.join(codes)}"
            raise PlacedError("there is no such label", "gold", expected=expected, found=code)
        return self


FieldName = Annotated[str, Field(pattern=r"^\w[\w -]*$", max_length=60)]
"""The name of a field: a key of a JSON object, a column's value and a folder."""


class TaskSpec(LabelledSpec):
    """The task: what the labels distinguish."""

    name: Name = "label"
    """What the label says of a text, for the report."""
    fields: dict[FieldName, FieldSpec] = Field({})
    """Instead of `labels`: variables of which one answer, a JSON object, gives all, each with labels, level,
    definition and gold of its own."""
    held: bool | None = None
    """Whether a JSON schema constrains answers with several fields; if false, only the prompt asks for them.
    If left out, it does where every model of the study can be constrained."""

    @model_validator(mode="before")
    @classmethod
    def _labels_or_fields(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not given.get("fields"):
            return given
        for name in ("labels", "level", "options"):
            if name in given:
                raise PlacedError(f"each of the fields has its own {name}: leave this out", name)
        return {**given, "labels": ()}

    @property
    def tables_of_spans(self) -> list[str]:
        """The tables that hold what people marked, a row for each span."""
        return [field.gold.source for field in self.fields.values() if field.gold and field.gold.source]

    @property
    def needs_labels(self) -> bool:
        """Whether the task itself has the labels, and no fields have them."""
        return not self.fields

    @field_validator("fields")
    @classmethod
    def _told_apart(cls, fields: dict[str, FieldSpec]) -> dict[str, FieldSpec]:
        known: dict[str, str] = {}
        for name in fields:
            other = known.setdefault(composed(name).casefold().strip(), name)
            if other != name:
                problem = f"the fields {other!r} and {name!r} differ in case alone"
                raise PlacedError(problem, name, fix="give one of them another name")
        for name, field in fields.items():
            key = TaskField(name, LabelSet(())).quote_key
            if field.evidence and composed(key).casefold() in known:
                raise PlacedError(f"the quotes of the field {name!r} stand under this name", key)
        return fields

    levels: Literal["at once", "one by one"] = "at once"
    """Of labels with parents: `at once` offers all of them in one prompt; `one by one` first offers those of
    the top level, then in a further call those that fall under the answer, and so on."""

    options: tuple[Name, ...] = Field((), json_schema_extra={"type": ["string", "array"]})
    """Multiple choice: the columns of an item's own options, in the labels' order; one for each label, or one
    that holds a list. Templates write them with {{ options }}."""

    @field_validator("options", mode="before")
    @classmethod
    def _one_column(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    def label_set(self, language: str = ENGLISH) -> LabelSet:
        """The record that the stages use; of several fields, the codebook of prompts in a language."""
        if self.fields:
            quoted = words_in(language)["quoted"]
            fields = (field.field(name) for name, field in self.fields.items())
            return Codebook(fields=tuple(replace(field, quoted=quoted) for field in fields))
        return LabelSet(tuple(label.label() for label in self.labels), self.level, self.options)

    @model_validator(mode="after")
    def _options_fit(self) -> TaskSpec:
        if len(self.options) > 1 and len(self.options) != len(self.labels):
            raise PlacedError(
                f"there are {len(self.options)} columns of options and {len(self.labels)} labels; "
                "give a column for each label, or one that holds a list",
                "options",
            )
        return self


IMPORTED = "imported"
"""Evaluator, decoding and model of annotations that Quaver did not collect, if the table names none."""


NOT_ASKED = (
    "items",
    "prompt",
    "variants",
    "models",
    "backfill",
    "decoding",
    "repeats",
    "evaluators",
    "budget",
    "reuse",
)
"""Keys that a study of imported labels cannot have: it asks nothing and parses nothing.

A study of imported raw answers can have evaluators."""


class AnnotationsSpec(TableFile, Grouped):
    """Labels or raw answers that already exist, instead of items, prompt and models."""

    source: Text
    """A .csv, .tsv, .xlsx, .ods, .jsonl or .parquet file, beside the study file or absolute."""
    item: Name | None = None
    """The column of the items' ids; if left out, each row is an item."""
    label: Name | None = None
    """The column of labels, in a table with a row for each annotation."""
    coders: tuple[Name, ...] = ()
    """Instead of `label`: one column for each coder, with that coder's labels."""
    models: tuple[Name, ...] = ()
    """Instead of `label`: one column for each model. `coders` are then people, whom the models are compared
    with; what most of them gave is the gold label, unless `gold` names a column."""
    confidence: tuple[Name, ...] = ()
    """The column of the answers' confidence, from 0 to 1; with `models`, one for each."""
    fields: dict[FieldName, GoldSpec] = Field({})
    """Instead of `label`: of a task with fields the column, or columns, of each."""
    raw: Name | None = None
    """Instead of `label`: the column of raw answers, which the study's evaluators parse."""
    thinking: Name | None = None
    """The column of a model's thinking, where it is apart from the raw answer."""
    coder: Name | None = None
    """The column of who labelled: a person or a model."""
    variant: tuple[Name, ...] = ()
    """The columns of the prompt variants; each is a factor."""
    prompt: Name | None = None
    """The column of the prompts' texts, one for each variant."""
    original: Name | None = None
    """The column that marks the original prompt: true, yes or 1."""
    decoding: Name | None = None
    """The column of the decoding."""
    repeat: Name | None = None
    """The column of the repeat."""
    repeats_in_order: bool = False
    """Rows that differ in nothing else are repeats, in the file's order."""
    text: Name | None = None
    """The column of the items' texts."""
    map: dict[str, str] = Field({})
    """Texts in the columns of labels, each with its label's code."""
    unlabelled: tuple[str, ...] = ()
    """Texts that stand for a missing label: N/A, none."""

    @model_validator(mode="after")
    def _one_shape(self) -> AnnotationsSpec:
        labelled = bool(self.coders or self.models)
        if sum((self.label is not None, labelled, bool(self.fields), self.raw is not None)) != 1:
            raise ValueError(
                "name the column of labels (`label`), of each field (`fields`), one column for each coder "
                "or model (`coders`, `models`), or the column of raw answers (`raw`)"
            )
        for name, field in self.fields.items():
            if not field.sources:
                raise PlacedError("the labels of a field have a column", "fields", name)
        contradictions = {
            "thinking": (self.thinking and self.raw is None, "`thinking` needs raw answers: `raw`"),
            "item": (
                not labelled and self.item is None,
                "a table with a row for each annotation needs its column of items: `item`",
            ),
            "gold": (
                self.gold and self.gold.column is None and not (self.gold.coders and self.people),
                "existing gold labels need a column, `gold: NAME`, or `coders` beside `models`",
            ),
            "confidence": (
                self.confidence and len(self.confidence) != max(1, len(self.models)),
                "`confidence` names one column for each of the models",
            ),
            "coder": (
                labelled and self.coder,
                "with `coders` or `models`, each coder has a column: leave `coder` out",
            ),
        }
        for key, (is_given, problem) in contradictions.items():
            if is_given:
                raise PlacedError(problem, key)
        return self

    @property
    def annotators(self) -> tuple[str, ...]:
        """Whose columns the annotations are; empty where a row is an annotation."""
        return self.models or self.coders

    @property
    def people(self) -> dict[str, str]:
        """The people whom models are compared with: the annotations' column of each, and the table's."""
        return {column_of("coder", name): name for name in (self.coders if self.models else ())}


TEXT_FACTOR = "text"
"""The factor of the items' text, if the study gives several templates."""

TEXT_COLUMN = column_of("factor", TEXT_FACTOR)
"""Its column."""


def _with_words(language: str) -> str:
    if language not in words_by_language():
        raise ValueError(f"expected one of {', '.join(words_by_language())}")
    return language


class PromptSpec(Part):
    """The prompt. All parts are templates."""

    system: str = ""
    """The system message; none if left out."""
    layout: Text = "{{ text }}\n\n{{ question }}"
    """The user message. The question is the instruction and, on the next line, the postfix. With the text
    first, an engine reads it once for all paraphrases of the question."""
    instruction: Text = Field(examples=["Is the opinion in this text positive or negative?"])
    """The question: the part that paraphrases reword."""
    postfix: str | None = None
    """The format of the answer: never reworded. Left out, it asks for one of the labels, or for a JSON object
    of the task's fields."""
    language: Annotated[str, AfterValidator(_with_words)] = ENGLISH
    """The language of the words that Quaver adds, by its code (``de``, ``fr``, ``zh`` …), or ``none`` for
    no words at all."""
    answers: dict[str, Text] = Field({})
    """What the model should write for each label, by code; the label's name if left out."""
    explains: bool = False
    """Whether the prompt also asks for an explanation."""
    frame: Literal["chat", "plain"] = "chat"
    """chat: messages in the model's own chat template. plain: one text as it is, for base models to continue.
    """


class FamilySpec(PluginSpec):
    """A family of prompt variants; families are crossed."""

    names: ClassVar[Mapping[str, Kind]] = {"use": "variants", "engine": "paraphrasers"}

    factor: Name | None = None
    """The column of its levels; the family's own name if left out."""
