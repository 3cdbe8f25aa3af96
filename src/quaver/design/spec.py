"""The study file: what may stand in it, with every default, in one place.

``StudySpec`` is the file's shape; ``quaver schema`` prints it as JSON Schema, ``quaver init``
writes it out with its defaults. ``read_study`` reads a file and turns what is wrong in it into one
``SpecError`` that names the line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from quaver.design.grids import GRID_SETTINGS, written_out
from quaver.errors import nearest
from quaver.records import ANNOTATION_COLUMNS, Decoding, Label, LabelSet, Level

__all__ = [
    "IMPORTED",
    "NOT_ASKED",
    "TEXT_FACTOR",
    "AnnotationsSpec",
    "BudgetSpec",
    "ConclusionSpec",
    "DecodingSpec",
    "FollowUpSpec",
    "GoldSpec",
    "ItemsSpec",
    "LabelSpec",
    "MeaningSpec",
    "ModelSpec",
    "PluginSpec",
    "PriceSpec",
    "PromptSpec",
    "SampleSpec",
    "StudySpec",
    "TaskSpec",
    "UntilSpec",
]

IMPORTED = "imported"
"""The evaluator, decoding and model of annotations that Quaver did not collect, where these say none."""

TEXT_FACTOR = "text"
"""The factor of the items' text, where the study gives several templates."""

Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


def _levels(given: Any) -> Any:
    """``{factor: level}`` as ``{factor: [level]}``."""
    if not isinstance(given, dict):
        return given
    return {name: one if isinstance(one, list | tuple) else [one] for name, one in given.items()}


Only = Annotated[
    dict[Name, Annotated[tuple[Name, ...], Field(min_length=1)]],
    BeforeValidator(_levels),
    Field(json_schema_extra={"additionalProperties": {"type": ["string", "array"]}}),
]
"""Levels by factor; one level may stand without brackets."""


class PlacedError(ValueError):
    """What is wrong with a part of the study file, and where inside that part it stands."""

    def __init__(self, problem: str, *loc: str | int) -> None:
        super().__init__(problem)
        self.loc = loc


class _Part(BaseModel):
    """A part of the study file: unknown keys are errors, and nothing changes after reading."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        coerce_numbers_to_str=True,  # digits are common codes: 1 is the text "1"
        allow_inf_nan=False,
    )
    bare: ClassVar[bool] = False
    """Whether a bare name may stand for the whole part."""

    @model_validator(mode="before")
    @classmethod
    def _from_nothing(cls, given: Any) -> Any:
        return {} if given is None else given  # a key with nothing behind it but comments


class LabelSpec(_Part):
    """A category. A bare string is its code and its name."""

    bare = True

    code: Name = Field(description="Short name in data; gold labels and annotations hold it.")
    name: str = Field("", description="How the prompt calls it; the code if left out.")
    definition: str = Field("", description="What falls under it; templates may use it.")
    synonyms: tuple[str, ...] = Field((), description="Other names under which it may be answered.")
    value: float | None = Field(None, description="Its number, where the level is interval or ratio.")

    @model_validator(mode="before")
    @classmethod
    def _from_code(cls, given: Any) -> Any:
        return {"code": given} if isinstance(given, str | int) else given

    def label(self) -> Label:
        """The record that the stages use."""
        return Label(self.code, self.name or self.code, self.definition, self.synonyms, self.value)


class TaskSpec(_Part):
    """What is to be told apart."""

    name: Name = Field("label", description="What the label says of a text, for the report.")
    level: Level = Field("nominal", description="nominal, ordinal, interval or ratio.")
    labels: Annotated[tuple[LabelSpec, ...], Field(min_length=2)] = Field(
        description="The label set, in order.",
        examples=[["positive", "negative", {"code": "neither", "definition": "Neither or both."}]],
    )

    options: tuple[Name, ...] = Field(
        (),
        description="Multiple choice: where an item's own options stand, in the labels' order; a column "
        "for each label, or one that holds a list. Templates write them with {{ options }}.",
    )

    @field_validator("options", mode="before")
    @classmethod
    def _one_column(cls, given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    @field_validator("labels")
    @classmethod
    def _distinct(cls, labels: tuple[LabelSpec, ...]) -> tuple[LabelSpec, ...]:
        seen: set[str] = set()
        for index, label in enumerate(labels):
            if label.code in seen:
                raise PlacedError(f"the label code {label.code!r} is given twice", index)
            seen.add(label.code)
        return labels

    def label_set(self) -> LabelSet:
        """The record that the stages use."""
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


class GoldSpec(_Part):
    """Where the true labels are. A bare string is the column."""

    bare = True

    column: Name = Field(description="The column that holds them; empty cells are unknown.")
    map: dict[str, str] = Field({}, description="From what the column holds to label codes.")

    @model_validator(mode="before")
    @classmethod
    def _from_column(cls, given: Any) -> Any:
        return {"column": given} if isinstance(given, str) else given


class ItemsSpec(_Part):
    """The texts to be labelled."""

    source: Text = Field(
        description="A .csv, .tsv, .jsonl, .parquet or .txt file (beside the study file, or absolute), "
        "a built-in such as anes96, or hf:OWNER/NAME for a Hugging Face dataset.",
        examples=["items.csv"],
    )
    options: dict[str, Any] = Field({}, description="For the source: split, name, revision of a dataset.")
    encoding: str = Field("utf-8", description="Of a text file, as Python names it: latin-1, cp1252.")
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="Between the cells of a CSV file; a comma (in TSV a tab) if left out."
    )
    line: Text | None = Field(
        None,
        description="What a line of a .txt file holds, as {label}: {text}; the whole line is the column text "
        "if left out.",
    )
    id: str | None = Field(None, description="The column of unique ids; row numbers if left out.")
    text: dict[str, Text] = Field(
        description="Template of an item's text over its columns. Several, by name, make a factor `text`.",
        examples=["{{ text }}"],
        json_schema_extra={"type": ["string", "object"]},
    )
    gold: GoldSpec | None = Field(None, description="The column of true labels, or column and map.")
    groups: tuple[Name, ...] = Field((), description="Columns that group items (author, party).")
    sample: Annotated[int, Field(ge=1)] | None = Field(None, description="Draw this many; all if left out.")
    seed: int | None = Field(None, description="Of the draw; derived from the study's if left out.")

    @field_validator("text", mode="before")
    @classmethod
    def _one_text(cls, given: Any) -> Any:
        return {"text": given} if isinstance(given, str) else given

    @field_validator("text")
    @classmethod
    def _some_text(cls, texts: dict[str, str]) -> dict[str, str]:
        if not texts:
            raise ValueError("no template is given")
        return texts


class AnnotationsSpec(_Part):
    """Labels that exist already, instead of items, prompt and models. Which column says what."""

    source: Text = Field(
        description="A .csv, .tsv, .jsonl or .parquet file, beside the study file or absolute."
    )
    encoding: str = Field("utf-8", description="Of a text file, as Python names it.")
    separator: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        None, description="Between the cells of a CSV file; a comma (in TSV a tab) if left out."
    )
    item: Name | None = Field(None, description="Of the items; if left out, each row is an item.")
    label: Name | None = Field(None, description="Of the labels, a row an annotation.")
    coders: tuple[Name, ...] = Field(
        (), description="Instead of `label`: a column a coder, each with that coder's labels."
    )
    coder: Name | None = Field(None, description="Of who labelled: a person, a model.")
    variant: tuple[Name, ...] = Field((), description="Of the prompts; each column is a factor.")
    decoding: Name | None = Field(None, description="Of how the answer was drawn.")
    repeat: Name | None = Field(None, description="Of which asking it was.")
    text: Name | None = Field(None, description="Of the items' texts.")
    gold: GoldSpec | None = Field(None, description="Of the true labels, or column and map.")
    groups: tuple[Name, ...] = Field((), description="That group the items (author, party).")
    map: dict[str, str] = Field({}, description="From what the labels' columns hold to label codes.")
    unlabelled: tuple[str, ...] = Field((), description="What stands where there is no label: N/A, none.")

    @model_validator(mode="after")
    def _one_shape(self) -> AnnotationsSpec:
        if (self.label is None) == (not self.coders):
            raise ValueError("give the column of labels with `label`, or a column a coder with `coders`")
        if self.label is not None and self.item is None:
            raise PlacedError("a table with a row an annotation needs its column of items: `item`")
        if self.coders and self.coder:
            raise PlacedError("`coders` are columns already; there can be no column of them", "coder")
        return self


class PromptSpec(_Part):
    """How the question is put. All parts are templates."""

    system: str = Field("", description="The system message; none if left out.")
    layout: Text = Field(
        "{{ text }}\n\n{{ question }}",
        description="The user message. The question is the instruction and, on a line of its own, the "
        "postfix. Text first lets all wordings of a question share its reading.",
    )
    instruction: Text = Field(
        description="What is asked: the part that variants reword.",
        examples=["Is the opinion in this text positive or negative?"],
    )
    postfix: str = Field(
        "Answer with one of: {{ answers | join(', ') }}.",
        description="What fixes the answer's format: never reworded.",
    )
    answers: dict[str, Text] = Field(
        {}, description="What the model is to write for each label code; its name if left out."
    )
    explains: bool = Field(False, description="Whether the prompt asks for an explanation too.")
    frame: Literal["chat", "plain"] = Field(
        "chat",
        description="chat: messages in the model's own chat template. plain: one text as it is, for base "
        "models to go on with.",
    )


class PluginSpec(_Part):
    """Something registered by name, with its options beside the name. A bare string is the name."""

    bare = True

    model_config = ConfigDict(extra="allow")

    use: Name = Field(description="The registered name.")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, given: Any) -> Any:
        return {"use": given} if isinstance(given, str) else given

    @property
    def options(self) -> dict[str, Any]:
        """What stands beside the name."""
        return dict(self.__pydantic_extra__ or {})


class FamilySpec(PluginSpec):
    """A way to vary the prompt; families are crossed."""

    factor: Name | None = Field(None, description="The column its levels go to; the family's own name else.")
    only: Only = Field(
        {}, description="Vary only where other factors have these levels; its first level elsewhere."
    )


class FollowUpSpec(PluginSpec):
    """A call beside each call: a question about the answer, or a label to end it with."""

    name: Name | None = Field(None, description="Its name in this study; the kind's own if left out.")

    @property
    def title(self) -> str:
        """The name under which evaluators know it."""
        return self.name or self.use


class EvaluatorSpec(PluginSpec):
    """A rule that reads the answers."""

    name: Name | None = Field(None, description="Its name in this study; the rule's own if left out.")
    of: Name | None = Field(
        None, description="The follow-up that it reads instead of the answer; the rule's own if left out."
    )

    @property
    def title(self) -> str:
        """The name under which its readings appear."""
        return self.name or self.use


class MeasureSpec(PluginSpec):
    """A measure."""

    by: tuple[Name, ...] | None = Field(
        None,
        description="Columns whose combinations are measured apart; if left out, those of model, decoding "
        "and variant that the measure does not compare.",
    )
    evaluator: Name | None = Field(None, description="Whose readings; every evaluator's if left out.")
    flagged: Literal["with", "without", "both"] = Field(
        "with", description="Wordings whose meaning is doubtful: with them, without them, or one of each."
    )
    only: Only = Field({}, description="Measure only annotations with these values: {decoding: hot}.")

    def columns(self, factors: Collection[str], compared: Collection[str] = ()) -> tuple[str, ...]:
        """The columns to measure apart.

        Args:
            factors: Of the study's variants.
            compared: Columns whose levels the measure compares. One that compares variants is still
                taken for each template of the items' text apart: these show different things.
        """
        if self.by is not None:
            return self.by
        columns = ["model", "decoding", "variant"]
        if "variant" in compared and TEXT_FACTOR in factors:
            columns.append(TEXT_FACTOR)
        return tuple(name for name in columns if name not in compared)


class ConclusionSpec(_Part):
    """What is to be concluded from the labels, and so compared over all ways of asking."""

    name: Name | None = Field(None, description="What it is called; formula and effect if left out.")
    formula: Text = Field(
        description="share(LABEL) ~ a + b, or label ~ a + b where labels are numbers; a and b are columns "
        "of the items.",
        examples=["share(positive) ~ group"],
    )
    effect: Text = Field(
        description="What is claimed: educ > 0, party[Rep] < party[Dem].", examples=["group[b] > group[a]"]
    )
    regression: Literal["linear", "logistic"] = Field(
        "linear", description="logistic (for share) has log-odds as its coefficients."
    )
    missing: Literal["drop", "category"] = Field(
        "drop", description="An answer without a label: left out, or (category) one that is not LABEL."
    )
    group: Name | None = Field(None, description="The group of items that is resampled; items if left out.")


class PriceSpec(_Part):
    """What a model costs, in US dollars a million tokens. A bare name is another model's price; 0 is free."""

    bare = True

    like: Text | None = Field(
        None, description="As this model of genai-prices: gpt-4o-mini, or openai/gpt-4o-mini."
    )
    input: Annotated[float, Field(ge=0)] | None = Field(None, description="Of a prompt's tokens.")
    output: Annotated[float, Field(ge=0)] | None = Field(None, description="Of written tokens.")
    cached: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Of a prompt's tokens that the server had read before; as the others if left out."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name_or_nothing(cls, given: Any) -> Any:
        if isinstance(given, int | float) and given == 0:
            return {"input": 0.0, "output": 0.0}
        return {"like": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _whole(self) -> PriceSpec:
        numbers = (self.input, self.output)
        if self.like is not None and (*numbers, self.cached) != (None, None, None):
            raise ValueError("a price is either like another model's or given in numbers")
        if self.like is None and None in numbers:
            raise ValueError("a price needs both `input` and `output`, or `like`")
        return self


class ModelSpec(PluginSpec):
    """A model: the engine's name and options, and the name under which the study knows it."""

    bare = False  # it needs a name of its own

    name: Name = Field(description="Its name in this study.", examples=["smollm2"])
    only: Only = Field({}, description="Ask it only where factors have these levels.")
    price: PriceSpec | None = Field(
        None, description="What its tokens cost; by the prices that genai-prices knows if left out."
    )


_GRID: Any = {"type": ["number", "array"]}


class MeaningSpec(_Part):
    """How wordings are compared with the original. They are flagged, never dropped."""

    by: Literal["auto", "embeddings", "lexical"] = Field(
        "auto",
        description="embeddings compares sentence embeddings (extra `embeddings`), lexical the letters; "
        "auto takes embeddings where they are installed.",
    )
    threshold: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        None,
        description="Wordings less similar than this are flagged; 0.5 for embeddings and 0.2 for letters "
        "if left out.",
    )


class DecodingSpec(_Part):
    """How an answer is drawn, and how often it is asked for.

    In the file, a list of values for temperature, top_p, top_k, min_p, repeat_penalty or max_tokens
    makes a grid: a decoding for each combination, named after it ("hot,temperature=0.7,top_p=0.9"),
    with the settings that vary as columns of the annotations.
    """

    temperature: Annotated[float, Field(ge=0)] = Field(
        0.0, description="0 is greedy. A list makes a grid.", json_schema_extra=_GRID
    )
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="1 keeps all tokens. A list makes a grid.", json_schema_extra=_GRID
    )
    top_k: Annotated[int, Field(ge=0)] = Field(
        0, description="0 keeps all tokens. A list makes a grid.", json_schema_extra=_GRID
    )
    min_p: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="0 drops none. A list makes a grid.", json_schema_extra=_GRID
    )
    repeat_penalty: Annotated[float, Field(gt=0)] = Field(
        1.0, description="1 does nothing. A list makes a grid.", json_schema_extra=_GRID
    )
    max_tokens: Annotated[int, Field(ge=1)] = Field(
        8, description="The answer is cut off here. A list makes a grid.", json_schema_extra=_GRID
    )
    seed: int | None = Field(None, description="The study's if left out.")
    stop: tuple[Text, ...] = Field((), description="The answer ends before any of these.")
    constraint: Literal["none", "labels"] = Field(
        "none", description="labels: nothing but one of the answers can be written."
    )
    logprobs: Annotated[int, Field(ge=0)] = Field(0, description="Likeliest tokens returned a position.")
    repeats: Annotated[int, Field(ge=1)] | None = Field(None, description="The study's if left out.")
    only: Only = Field({}, description="Use it only where factors have these levels.")
    _grid: tuple[str, ...] = PrivateAttr(())

    @property
    def grid(self) -> tuple[str, ...]:
        """The settings that vary in the grid that it belongs to."""
        return self._grid

    @classmethod
    def of_grid(cls, settings: dict[str, Any], grid: tuple[str, ...]) -> DecodingSpec:
        """One point of a grid."""
        made = cls.model_validate(settings)
        made._grid = grid
        return made

    def decoding(self, name: str, seed: int) -> Decoding:
        """The record that the stages use."""
        values = self.model_dump(exclude={"repeats", "seed", "only"})
        return Decoding(
            name=name, seed=self.seed if self.seed is not None else seed, grid=self.grid, **values
        )


def _grid(name: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """The settings with several values, which are checked while it is known where they stand."""
    grid = tuple(one for one in GRID_SETTINGS if isinstance(settings.get(one), list | tuple))
    for setting in grid:
        values = settings[setting]
        if not values:
            raise PlacedError("no value is given", name, setting)
        for at, value in enumerate(values):
            try:
                DecodingSpec.model_validate({setting: value})
            except ValidationError as error:
                problem = f"{error.errors()[0]['msg']}, found {value!r}"
                raise PlacedError(problem[:1].lower() + problem[1:], name, setting, at) from None
            if value in values[:at]:
                raise PlacedError(f"{value!r} is given twice", name, setting, at)
    return grid


class SampleSpec(_Part):
    """A part of the design, where all of it would be too much."""

    variants: Annotated[int, Field(ge=2)] | None = Field(
        None, description="Ask this many: the first and others drawn at random; all if left out."
    )
    seed: int | None = Field(None, description="Of the draw; derived from the study's if left out.")


class BudgetSpec(_Part):
    """Where a run stops by itself. Nothing collected is lost; a later run goes on."""

    calls: Annotated[int, Field(ge=1)] | None = Field(None, description="Calls of all runs together.")
    tokens: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Tokens, read and written, of all runs together."
    )
    money: Annotated[float, Field(gt=0)] | None = Field(None, description="US dollars of all runs together.")
    seconds: Annotated[float, Field(gt=0)] | None = Field(None, description="Time of one run.")


NOT_ASKED = (
    "items",
    "prompt",
    "variants",
    "models",
    "decoding",
    "repeats",
    "evaluators",
    "budget",
    "reuse",
    "until",
)
"""What a study of imported annotations cannot have: it asks nothing."""


class UntilSpec(_Part):
    """Collect in rounds until an interval is as narrow as asked; the study's design is the most there is."""

    measure: Name = Field(description="The measure whose interval is to be narrow.", examples=["intra_pss"])
    width: Annotated[float, Field(gt=0)] = Field(
        description="From its lower to its upper end, of the widest interval among its cells.", examples=[0.1]
    )
    by: tuple[Name, ...] | None = Field(None, description="Columns that make its cells, as for a measure.")
    evaluator: Name | None = Field(None, description="Whose readings; the first evaluator's if left out.")
    options: dict[str, Any] = Field({}, description="The measure's own options.")
    items: Annotated[int, Field(ge=2)] = Field(50, description="Items of the first round, drawn at random.")
    variants: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Variants of the first round, in the design's order; all if left out."
    )
    repeats: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Repeats of the first round; all if left out."
    )
    growth: Annotated[float, Field(gt=1, le=10)] = Field(
        2.0, description="A round makes the design at most this many times as large."
    )
    differing: Annotated[int, Field(ge=0)] = Field(
        15, description="An interval is believed when this many items differ, or none does."
    )


class StudySpec(_Part):
    """A study: one experiment on one set of items."""

    name: Name = Field("study", description="For people; the report's title.")
    seed: int = Field(0, description="Every sample, shuffle and bootstrap derives from it.")
    task: TaskSpec
    items: ItemsSpec
    prompt: PromptSpec
    variants: tuple[FamilySpec, ...] = Field((), description="Ways to vary the prompt, crossed in full.")
    meaning: MeaningSpec = Field(MeaningSpec(), description="How wordings are compared with the original.")
    models: Annotated[tuple[ModelSpec, ...], Field(min_length=1)] = Field(
        description="The models that are asked.",
        examples=[[{"name": "smollm2", "use": "llamacpp", "model": "smollm2-135m-instruct"}]],
    )
    decoding: dict[Name, DecodingSpec] = Field(
        {"greedy": DecodingSpec()}, description="Ways to draw an answer, by name, crossed with the variants."
    )
    repeats: Annotated[int, Field(ge=1)] = Field(1, description="How often each is asked.")
    sample: SampleSpec = Field(SampleSpec(), description="Of all variants, where they are too many.")
    follow_ups: tuple[FollowUpSpec, ...] = Field(
        (), description="Calls beside each call; those that an evaluator reads need not be named."
    )
    evaluators: Annotated[tuple[EvaluatorSpec, ...], Field(min_length=1)] = Field(
        (EvaluatorSpec(use="first_label"),), description="Rules that read the answers; the first is reported."
    )
    measures: tuple[MeasureSpec, ...] = Field(
        tuple(
            MeasureSpec(use=name)
            for name in (
                "intra_pss",
                "inter_pss",
                "sensitivity",
                "consistency",
                "accuracy",
                "label_shares",
                "compliance",
            )
        ),
        description="What is measured.",
    )
    conclusions: tuple[ConclusionSpec, ...] = Field(
        (), description="What is to be concluded from the labels, held against every way of asking."
    )
    budget: BudgetSpec = Field(BudgetSpec(), description="Where a run stops by itself.")
    reuse: tuple[Text, ...] = Field(
        (), description="Folders of other studies: what was answered there to the same call is not asked."
    )
    until: UntilSpec | None = Field(
        None, description="Collect in rounds until an interval is narrow enough; everything if left out."
    )
    small: dict[str, Any] = Field(
        {},
        description="What `quaver run --small` changes: this file's keys with fewer items, repeats, tokens.",
    )
    notes: tuple[Text, ...] = Field(
        (), description="What a reader must know of the study: shown with the plan and in the report."
    )
    annotations: AnnotationsSpec | None = Field(
        None, description="Labels that exist already (quaver import writes this), instead of asking for any."
    )

    @model_validator(mode="before")
    @classmethod
    def _imported(cls, given: Any) -> Any:
        """Stand-ins for what only a study that asks needs."""
        if not isinstance(given, Mapping) or not given.get("annotations"):
            return given
        for name in NOT_ASKED:
            if name in given:
                raise PlacedError(f"a study of imported annotations asks nothing: remove {name!r}", name)
        told = given["annotations"]
        source = told.get("source") if isinstance(told, Mapping) else None
        return {
            **given,
            "items": {"source": source or "annotations", "text": "{{ text }}"},
            "prompt": {"instruction": IMPORTED},
            "models": [{"name": IMPORTED, "use": IMPORTED}],
            "evaluators": [IMPORTED],
        }

    @field_validator("models", "follow_ups", "evaluators")
    @classmethod
    def _distinct_names(cls, given: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [one.name if isinstance(one, ModelSpec) else one.title for one in given]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the name {name!r} is given twice")
        return given

    @field_validator("decoding", mode="before")
    @classmethod
    def _grids(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        found: dict[Any, Any] = {}
        for name, settings in given.items():
            if not isinstance(settings, dict):
                found[name] = settings
                continue
            grid = _grid(name, settings)
            points = written_out(str(name), settings, grid)
            try:
                found |= {point: DecodingSpec.of_grid(one, grid) for point, one in points.items()}
            except ValidationError:  # reported below, where it stands
                found[name] = next(iter(points.values()))
        return found

    @field_validator("decoding")
    @classmethod
    def _some_decoding(cls, decoding: dict[str, DecodingSpec]) -> dict[str, DecodingSpec]:
        if not decoding:
            raise ValueError("no decoding is given")
        return decoding

    @model_validator(mode="after")
    def _names_fit(self) -> StudySpec:
        codes = {label.code for label in self.task.labels}
        for code in self.prompt.answers:
            if code not in codes:
                guess = nearest(code, codes)
                hint = f"; did you mean {guess!r}?" if guess else f", only {', '.join(sorted(codes))}"
                raise PlacedError(f"no label has the code {code!r}{hint}", "prompt", "answers", code)
        for index, group in enumerate(self.items.groups):
            loc = ("items", "groups", index)
            if group in ANNOTATION_COLUMNS:
                raise PlacedError(f"{group!r} is a column of every annotation frame; rename it", *loc)
            if group in self.items.groups[:index]:
                raise PlacedError(f"the group {group!r} is given twice", *loc)
        return self
