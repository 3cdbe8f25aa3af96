"""The study file as a whole, and a file of several studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from quaver.core.column_names import column_of
from quaver.core.label_values import falling_under
from quaver.core.labels import TOLD_APART, indistinct_labels, shown
from quaver.core.records import OF_SETS
from quaver.design.spec.items_spec import BY_MODEL, ItemsSpec
from quaver.design.spec.models_spec import (
    GRID_SETTINGS,
    ConclusionSpec,
    DecodingSpec,
    EvaluatorSpec,
    FollowUpSpec,
    MeasureSpec,
    ModelSpec,
    written_out,
)
from quaver.design.spec.task_spec import (
    IMPORTED,
    NOT_ASKED,
    AnnotationsSpec,
    FamilySpec,
    LabelledSpec,
    PromptSpec,
    TaskSpec,
)
from quaver.design.spec.yaml_file import Name, Part, PlacedError, Text
from quaver.errors import nearest

_USUAL_MEASURES = (
    *("intra_pss", "inter_pss", "sensitivity", "consistency"),
    *("accuracy", "label_shares", "compliance"),
)


class BudgetSpec(Part):
    """When a run stops by itself. Nothing collected is lost; a later run continues."""

    calls: Annotated[int, Field(ge=1, le=10**15)] | None = None
    """Calls of all runs together, including those that make paraphrases and the looks of a watch."""
    tokens: Annotated[int, Field(ge=1, le=10**15)] | None = None
    """Tokens, read and written, of all runs together."""
    money: Annotated[float, Field(gt=0)] | None = None
    """US dollars of all runs together."""
    seconds: Annotated[float, Field(gt=0)] | None = None
    """Time of one run."""


class RunSpec(Part):
    """Where models are asked."""

    on: Literal["here", "ray"] = "here"
    """In this process, or in the workers of a Ray cluster (quaver[ray])."""
    address: Text | None = None
    """The cluster's address; `RAY_ADDRESS` or a cluster on this machine if left out."""
    workers: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Workers a model; as many as there are processors, or GPUs, for if left out."""
    gpus_per_worker: Annotated[float, Field(ge=0, le=64)] = 0.0
    """GPUs that a worker has for itself; may be a fraction."""


class StudySpec(Part):
    """A study: one experiment on one set of items."""

    name: Name = "study"
    """The study's name, and the report's title."""
    seed: int = 0
    """Every sample, shuffle and bootstrap derives from it."""
    task: TaskSpec
    """What the labels distinguish: the label set."""
    items: ItemsSpec
    """The texts to label, with their gold labels and groups."""
    prompt: PromptSpec
    """What a model is asked."""
    variants: tuple[FamilySpec, ...] = Field(
        (), examples=[[{"use": "instructions", "texts": {"curt": "Positive or negative?"}}]]
    )
    """Families of prompt variants, fully crossed."""
    models: Annotated[tuple[ModelSpec, ...], Field(min_length=1)] = Field(
        examples=[[{"name": "smollm2", "use": "llamacpp", "model": "smollm2-135m-instruct"}]]
    )
    """The models to ask."""
    backfill: ModelSpec | None = Field(None, examples=["anthropic/claude-sonnet-4-5"])
    """A second model, which `quaver label` asks about the texts to which the first gives no label."""
    decoding: dict[Name, DecodingSpec] = Field(
        {"greedy": DecodingSpec()},
        examples=[{"greedy": {"temperature": 0}, "hot": {"temperature": [0.7, 1], "repeats": 5}}],
    )
    """Decodings by name, crossed with the variants."""
    repeats: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    """How often to ask about each item."""
    sample: Annotated[int, Field(ge=2)] | Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Ask this many of the variants, the first one and others drawn at random, or those with these ids; all
    if left out."""
    follow_ups: tuple[FollowUpSpec, ...] = ()
    """Further calls for each call; those that an evaluator parses need not be listed."""
    evaluators: Annotated[tuple[EvaluatorSpec, ...], Field(min_length=1)] = Field(
        (EvaluatorSpec(use="marked_label"),),
        examples=[["marked_label", {"use": "json_field", "field": "label"}]],
    )
    """Rules that turn answers into labels; the report uses the first."""
    measures: tuple[MeasureSpec, ...] = Field(
        tuple(MeasureSpec(use=name) for name in _USUAL_MEASURES),
        examples=[["accuracy", {"use": "inter_pss", "by": ["model"]}]],
    )
    """The measures."""
    conclusions: tuple[ConclusionSpec, ...] = ()
    """Conclusions that rest on the labels, compared over all prompt variants."""
    budget: BudgetSpec = Field(BudgetSpec(), examples=[{"money": 5, "calls": 10000}])
    """When a run stops by itself."""
    run: RunSpec = Field(RunSpec(), examples=[{"on": "ray", "workers": 8}])
    """Where models are asked."""
    reuse: tuple[Text, ...] = ()
    """Folders of other studies, whose answers to the same calls are reused."""
    small: dict[str, Any] = Field({}, examples=[{"items": {"sample": 10}, "repeats": 2}])
    """What `quaver run --small` changes: this file's keys with fewer items, repeats, tokens."""
    notes: tuple[Text, ...] = ()
    """What a reader must know about the study; shown with the plan and in the report."""
    annotations: AnnotationsSpec | None = None
    """Labels that already exist (quaver import writes this), instead of asking models."""

    @model_validator(mode="before")
    @classmethod
    def _imported(cls, given: Any) -> Any:
        """Fill in the parts that only a study that asks models needs."""
        if not isinstance(given, Mapping) or not given.get("annotations"):
            return given
        imported = given["annotations"]
        imported = imported if isinstance(imported, Mapping) else {}
        reads = imported.get("raw") is not None
        for name in NOT_ASKED:
            if name in given and not (reads and name == "evaluators"):
                raise PlacedError(f"a study of imported annotations asks nothing: remove {name!r}", name)
        source = imported.get("source")
        return {
            **given,
            "items": {"source": source or "annotations", "text": "{{ text }}"},
            "prompt": {"instruction": IMPORTED},
            "models": [{"name": IMPORTED, "use": IMPORTED}],
            **({} if reads else {"evaluators": [IMPORTED]}),
        }

    @model_validator(mode="before")
    @classmethod
    def _read_by_field(cls, given: Any) -> Any:
        """Answers with fields are JSON objects, which ``json_field`` reads where no evaluator is named."""
        task = given.get("task") if isinstance(given, Mapping) else None
        if not isinstance(task, Mapping) or not task.get("fields") or "evaluators" in given:
            return given
        if isinstance(imported := given.get("annotations"), Mapping) and imported.get("raw") is None:
            return given
        return {**given, "evaluators": ["json_field"]}

    @property
    def has_labels_only(self) -> bool:
        """Whether it has labels but no answers that an evaluator could parse."""
        return self.annotations is not None and self.annotations.raw is None

    @field_validator("models", "follow_ups", "evaluators")
    @classmethod
    def _distinct_names(cls, given: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [model.name if isinstance(model, ModelSpec) else model.title for model in given]
        for name in names:
            if names.count(name) > 1:
                raise PlacedError(f"the name {name!r} is given twice", fix="give each a `name` of its own")
        return given

    @field_validator("evaluators")
    @classmethod
    def _one_variable(cls, given: tuple[EvaluatorSpec, ...]) -> tuple[EvaluatorSpec, ...]:
        """Two fields of an answer are two variables, and each has a verdict of its own."""
        readers = [evaluator for evaluator in given if evaluator.use in ("json_field", "field_logprob")]
        fields = dict.fromkeys(str(reader.options.get("field", "label")) for reader in readers)
        if len(fields) > 1:
            shown = ", ".join(f"{name}: {{labels: …}}" for name in fields)
            raise PlacedError(
                "these evaluators read different fields of an answer",
                expected="one field, or a task that declares its fields",
                fix=f"write `task: {{fields: {{{shown}}}}}`",
            )
        return given

    @field_validator("decoding", mode="before")
    @classmethod
    def _grids(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        result: dict[Any, Any] = {}
        for name, parameters in given.items():
            if not isinstance(parameters, dict):
                if name in DecodingSpec.model_fields:
                    fix = f"write `decoding: {{greedy: {{{name}: {parameters}}}}}`"
                    raise PlacedError(f"{name!r} needs a decoding's name above it", name, fix=fix)
                result[name] = parameters
                continue
            points = written_out(str(name), parameters)
            grid = tuple(
                setting for setting in GRID_SETTINGS if isinstance(parameters.get(setting), list | tuple)
            )
            try:
                result |= {point: DecodingSpec.of_grid(value, grid) for point, value in points.items()}
            except ValidationError:  # reported below, with its place
                result[name] = next(iter(points.values()))
        return result

    @field_validator("decoding")
    @classmethod
    def _some_decoding(cls, decoding: dict[str, DecodingSpec]) -> dict[str, DecodingSpec]:
        if not decoding:
            raise ValueError("no decoding is given")
        for name, settings in decoding.items():
            cuts = {"top_p": settings.top_p < 1, "top_k": settings.top_k > 0, "min_p": settings.min_p > 0}
            for parameter, is_set in cuts.items():
                if (
                    is_set and not settings.temperature and not settings.grid
                ):  # in a grid it may have no effect
                    problem = (
                        f"temperature 0 takes the most likely token, whatever {parameter} keeps: raise the "
                        f"temperature, or leave {parameter} out"
                    )
                    raise PlacedError(problem, name, parameter)
        return decoding

    @property
    def group(self) -> str | None:
        """The column of the groups that every interval resamples; None where it is the items."""
        group = self.items.group if self.annotations is None else self.annotations.group
        return None if group is None else column_of("group", group)

    @model_validator(mode="after")
    def _fields_are_there(self) -> StudySpec:
        """Refuse the names of fields that there are not."""
        known = ", ".join(self.task.fields) or "no fields: the task has one label set"
        named = {("measures", index): spec.field or () for index, spec in enumerate(self.measures)}
        for index, conclusion in enumerate(self.conclusions):
            named["conclusions", index] = (conclusion.field,) if conclusion.field else ()
            if self.task.fields and not conclusion.field:
                problem = "a conclusion rests on one field: `field: …`"
                raise PlacedError(problem, "conclusions", index, expected=known)
        for place, names in named.items():
            for name in names:
                if name not in self.task.fields:
                    raise PlacedError("there is no such field", *place, "field", expected=known, found=name)
        imported = self.annotations
        if imported and imported.raw is None and imported.fields.keys() != self.task.fields.keys():
            problem = "the columns of labels are those of the task's fields, by name"
            there = ", ".join(imported.fields) or "none"
            raise PlacedError(problem, "annotations", "fields", expected=known, found=there)
        return self

    @model_validator(mode="after")
    def _fields_fit(self) -> StudySpec:
        """Refuse what a task with fields cannot have."""
        if not self.task.fields:
            return self
        each_has_gold = "each field has its own: `fields: {NAME: {gold: COLUMN}}`"
        refused: dict[tuple[str, ...], tuple[object, str]] = {
            ("items", "gold"): (self.items.gold, each_has_gold),
            ("items", "coders"): (
                self.items.coders,
                "columns of coders are read for a single label set only",
            ),
            ("prompt", "answers"): (self.prompt.answers, "the labels' names are written: give them there"),
            ("follow_ups",): (self.follow_ups, "they are about one label"),
            ("annotations", "gold"): (self.annotations and self.annotations.gold, each_has_gold),
        }
        for name, decoding in self.decoding.items():
            is_unheld = decoding.constraint == "labels" and self.task.held is False
            refused["decoding", name, "constraint"] = (is_unheld, "`task: {held: true}` constrains answers")
        for place, (value, why) in refused.items():
            if value:
                raise PlacedError(f"a task with fields cannot have this: {why}", *place)
        return self

    @model_validator(mode="after")
    def _levels_fit(self) -> StudySpec:
        """Refuse what does not go with calls that follow from the label of an answer."""
        task, split = self.task, self.items.split
        by_level, by_model = task.levels == "one by one", split is not None and split.join == BY_MODEL
        asked, fix = "levels: one by one", "leave it out, or write `levels: at once`"
        if by_model:
            asked, fix = "join: model", "leave it out, or write another `join`"
        refused = {
            ("task", "levels"): by_level and by_model,
            ("task", "fields"): task.fields,
            ("task", "options"): task.options,
            ("task", "level"): task.level in OF_SETS,
            ("annotations",): self.annotations,
            ("follow_ups",): self.follow_ups,
            ("evaluators",): self.evaluators[1:],
        }
        for place, given in refused.items() if by_level or by_model else ():
            if given:
                raise PlacedError(f"this does not go with `{asked}`", *place, fix=fix)
        children = falling_under(task.label_set())
        lone = [code or "the top level" for code, under in children.items() if len(under) == 1]
        if by_level and (lone or len(children) == 1):
            problem, expected = "each level needs labels to choose from", "two or more under each parent"
            found, fix = f"one under {lone[0]}" if lone else "no parents", "write `levels: at once`"
            raise PlacedError(problem, "task", "labels", expected=expected, found=found, fix=fix)
        return self

    @model_validator(mode="after")
    def _told_apart(self) -> StudySpec:
        """Refuse labels that nobody could tell apart in an answer; labels that are imported need not be."""
        if self.has_labels_only:
            return self
        parts: dict[tuple[str, ...], LabelledSpec] = {("task", "labels"): self.task}
        parts |= {("task", "fields", name, "labels"): field for name, field in self.task.fields.items()}
        for loc, part in parts.items():
            given = self.prompt.answers if part is self.task else {}
            answers = {label.code: given.get(label.code, label.name or label.code) for label in part.labels}
            alike = indistinct_labels([*answers.values()])
            if not alike:
                continue
            codes = [code for code, answer in answers.items() if answer in alike]
            place: tuple[str | int, ...] = (*loc, list(answers.values()).index(alike[1]))
            fix = "write them as one label, or give one of them another name"
            if own := [code for code in codes if code in given]:
                place, fix = ("prompt", "answers", own[-1]), "give one of them another answer"
            raise PlacedError(
                f"{shown(alike[0])} and {shown(alike[1])} cannot be told apart in an answer",
                *place,
                expected=TOLD_APART,
                fix=fix,
            )
        return self

    @property
    def coder_columns(self) -> tuple[str, ...]:
        """The annotations' columns of people's labels, one for each coder that the table has."""
        return (*self.items.coder_columns, *(self.annotations.people if self.annotations else ()))

    @model_validator(mode="after")
    def _answers_fit(self) -> StudySpec:
        codes = sorted(label.code for label in self.task.labels)
        for code in self.prompt.answers:
            if code not in codes:
                guess = nearest(code, codes)
                raise PlacedError(
                    f"no label has the code {code!r}",
                    *("prompt", "answers", code),
                    expected=f"one of {', '.join(codes)}",
                    found=code,
                    fix=f"did you mean {guess!r}?" if guess else "use one of these codes",
                )
        return self
