"""The study file as a whole, and a file of several studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from quaver.core.column_names import column_of
from quaver.core.labels import TOLD_APART, indistinct_labels, shown
from quaver.design.spec.items_spec import ItemsSpec
from quaver.design.spec.models_spec import (
    ConclusionSpec,
    DecodingSpec,
    EvaluatorSpec,
    FollowUpSpec,
    MeasureSpec,
    ModelSpec,
    grid_of,
    written_out,
)
from quaver.design.spec.task_spec import (
    IMPORTED,
    NOT_ASKED,
    AnnotationsSpec,
    FamilySpec,
    LabelledSpec,
    PromptSpec,
    SampleSpec,
    TaskSpec,
)
from quaver.design.spec.yaml_file import Name, Part, PlacedError, Text
from quaver.errors import nearest


class BudgetSpec(Part):
    """When a run stops by itself. Nothing collected is lost; a later run continues."""

    calls: Annotated[int, Field(ge=1, le=10**15)] | None = Field(
        None, description="Calls of all runs together, including those that make paraphrases."
    )
    tokens: Annotated[int, Field(ge=1, le=10**15)] | None = Field(
        None, description="Tokens, read and written, of all runs together."
    )
    money: Annotated[float, Field(gt=0)] | None = Field(None, description="US dollars of all runs together.")
    seconds: Annotated[float, Field(gt=0)] | None = Field(None, description="Time of one run.")


class RunSpec(Part):
    """Where models are asked."""

    on: Literal["here", "ray"] = Field(
        "here", description="In this process, or in the workers of a Ray cluster (quaver[ray])."
    )
    address: Text | None = Field(
        None, description="The cluster's address; `RAY_ADDRESS` or a cluster on this machine if left out."
    )
    workers: Annotated[int, Field(ge=1, le=100_000)] | None = Field(
        None, description="Workers a model; as many as there are processors, or GPUs, for if left out."
    )
    gpus_per_worker: Annotated[float, Field(ge=0, le=64)] = Field(
        0.0, description="GPUs that a worker has for itself; may be a fraction."
    )


class StudySpec(Part):
    """A study: one experiment on one set of items."""

    name: Name = Field("study", description="The study's name, and the report's title.")
    seed: int = Field(0, description="Every sample, shuffle and bootstrap derives from it.")
    task: TaskSpec = Field(description="What the labels distinguish: the label set.")
    items: ItemsSpec = Field(description="The texts to label, with their true labels and groups.")
    prompt: PromptSpec = Field(description="What a model is asked.")
    variants: tuple[FamilySpec, ...] = Field(
        (),
        description="Families of prompt variants, fully crossed.",
        examples=[[{"use": "instructions", "texts": {"curt": "Positive or negative?"}}]],
    )
    models: Annotated[tuple[ModelSpec, ...], Field(min_length=1)] = Field(
        description="The models to ask.",
        examples=[[{"name": "smollm2", "use": "llamacpp", "model": "smollm2-135m-instruct"}]],
    )
    decoding: dict[Name, DecodingSpec] = Field(
        {"greedy": DecodingSpec()},
        description="Decodings by name, crossed with the variants.",
        examples=[{"greedy": {"temperature": 0}, "hot": {"temperature": [0.7, 1], "repeats": 5}}],
    )
    repeats: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        1, description="How often to ask about each item."
    )
    sample: SampleSpec = Field(SampleSpec(), description="A sample of the variants, if there are too many.")
    follow_ups: tuple[FollowUpSpec, ...] = Field(
        (), description="Further calls for each call; those that an evaluator parses need not be listed."
    )
    evaluators: Annotated[tuple[EvaluatorSpec, ...], Field(min_length=1)] = Field(
        (EvaluatorSpec(use="marked_label"),),
        description="Rules that turn answers into labels; the report uses the first.",
        examples=[["marked_label", {"use": "json_field", "field": "label"}]],
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
        description="The measures.",
        examples=[["accuracy", {"use": "inter_pss", "by": ["model"]}]],
    )
    conclusions: tuple[ConclusionSpec, ...] = Field(
        (), description="Conclusions that rest on the labels, compared over all prompt variants."
    )
    budget: BudgetSpec = Field(
        BudgetSpec(), description="When a run stops by itself.", examples=[{"money": 5, "calls": 10000}]
    )
    run: RunSpec = Field(
        RunSpec(), description="Where models are asked.", examples=[{"on": "ray", "workers": 8}]
    )
    reuse: tuple[Text, ...] = Field(
        (), description="Folders of other studies, whose answers to the same calls are reused."
    )
    small: dict[str, Any] = Field(
        {},
        description="What `quaver run --small` changes: this file's keys with fewer items, repeats, tokens.",
        examples=[{"items": {"sample": 10}, "repeats": 2}],
    )
    notes: tuple[Text, ...] = Field(
        (), description="What a reader must know about the study; shown with the plan and in the report."
    )
    annotations: AnnotationsSpec | None = Field(
        None, description="Labels that already exist (quaver import writes this), instead of asking models."
    )

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
    def _one_variable(cls, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Two fields of an answer are two variables, and each has a verdict of its own."""
        read = dict.fromkeys(
            str(one.options.get("field", "label")) for one in given if one.use == "json_field"
        )
        if len(read) > 1:
            raise PlacedError(
                "these evaluators read different fields of an answer",
                expected="one field, or a task that declares its fields",
                fix=f"write `task: {{fields: {{{', '.join(f'{name}: {{labels: …}}' for name in read)}}}}}`",
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
                    raise PlacedError(
                        f"{name!r} needs a decoding's name above it",
                        name,
                        fix=f"write `decoding: {{greedy: {{{name}: {parameters}}}}}`",
                    )
                result[name] = parameters
                continue
            grid = grid_of(name, parameters)
            points = written_out(str(name), parameters, grid)
            try:
                result |= {point: DecodingSpec.of_grid(one, grid) for point, one in points.items()}
            except ValidationError:  # reported below, with its place
                result[name] = next(iter(points.values()))
        return result

    @field_validator("decoding")
    @classmethod
    def _some_decoding(cls, decoding: dict[str, DecodingSpec]) -> dict[str, DecodingSpec]:
        if not decoding:
            raise ValueError("no decoding is given")
        for name, one in decoding.items():
            cuts = {"top_p": one.top_p < 1, "top_k": one.top_k > 0, "min_p": one.min_p > 0}
            cut = next((parameter for parameter, is_set in cuts.items() if is_set), None)
            if cut and not one.temperature and not one.grid:  # a point of a grid may have it without effect
                raise PlacedError(
                    f"temperature 0 takes the most likely token, whatever {cut} keeps: raise the "
                    f"temperature, or leave {cut} out",
                    name,
                    cut,
                )
        return decoding

    @property
    def group(self) -> str | None:
        """The column of the groups that every interval resamples; None where it is the items."""
        group = self.items.group if self.annotations is None else self.annotations.group
        return None if group is None else column_of("group", group)

    @model_validator(mode="after")
    def _fields_fit(self) -> StudySpec:
        """Refuse what a task with fields cannot have, and fields that there are not."""
        known = ", ".join(self.task.fields) or "no fields: the task has one label set"
        named = [
            ("measures", index, name) for index, spec in enumerate(self.measures) for name in spec.field or ()
        ]
        named += [
            ("conclusions", index, one.field) for index, one in enumerate(self.conclusions) if one.field
        ]
        for part, index, name in named:
            if name not in self.task.fields:
                raise PlacedError("there is no such field", part, index, "field", expected=known, found=name)
        imported = self.annotations
        if imported is not None and imported.raw is None and {*imported.fields} != {*self.task.fields}:
            problem = "the columns of labels are those of the task's fields, by name"
            found = ", ".join(imported.fields) or "none"
            raise PlacedError(problem, "annotations", "fields", expected=known, found=found)
        if not self.task.fields:
            return self
        for index, conclusion in enumerate(self.conclusions):
            if conclusion.field is None:
                problem = "a conclusion rests on one field: `field: …`"
                raise PlacedError(problem, "conclusions", index, expected=known)
        own: dict[tuple[str, ...], tuple[object, str]] = {
            ("items", "gold"): (self.items.gold, "each field has its own: `fields: {NAME: {gold: COLUMN}}`"),
            ("items", "coders"): (
                self.items.coders,
                "columns of coders are read for a single label set only",
            ),
            ("prompt", "answers"): (self.prompt.answers, "the labels' names are written: give them there"),
            ("follow_ups",): (self.follow_ups, "they are about one label"),
            ("annotations", "gold"): (
                imported and imported.gold,
                "each field has its own: `fields: {NAME: {gold: COLUMN}}`",
            ),
        }
        choices = [name for name, decoding in self.decoding.items() if decoding.constraint == "labels"]
        if choices and self.task.held is False:
            own["decoding", choices[0], "constraint"] = (True, "`task: {held: true}` constrains answers")
        for loc, (value, why) in own.items():
            if value:
                raise PlacedError(f"a task with fields cannot have this: {why}", *loc)
        return self

    @model_validator(mode="after")
    def _told_apart(self) -> StudySpec:
        """Refuse labels that nobody could tell apart in an answer; labels that are imported need not be."""
        if self.has_labels_only:
            return self
        parts: dict[tuple[str, ...], LabelledSpec] = {("task", "labels"): self.task}
        parts |= {("task", "fields", name, "labels"): one for name, one in self.task.fields.items()}
        for loc, part in parts.items():
            answers = self.prompt.answers if part is self.task else {}
            shown_as = [answers.get(label.code, label.name or label.code) for label in part.labels]
            if alike := indistinct_labels(shown_as):
                place: tuple[str | int, ...] = (*loc, shown_as.index(alike[1]))
                for code in (part.labels[shown_as.index(text)].code for text in alike):
                    place = ("prompt", "answers", code) if code in answers else place
                raise PlacedError(
                    f"{shown(alike[0])} and {shown(alike[1])} cannot be told apart in an answer",
                    *place,
                    expected=TOLD_APART,
                    fix="give one of them another answer"
                    if place[0] == "prompt"
                    else "write them as one label, or give one of them another name",
                )
        return self

    @model_validator(mode="after")
    def _names_fit(self) -> StudySpec:
        codes = {label.code for label in self.task.labels}
        for code in self.prompt.answers:
            if code not in codes:
                guess = nearest(code, codes)
                raise PlacedError(
                    f"no label has the code {code!r}",
                    *("prompt", "answers", code),
                    expected=f"one of {', '.join(sorted(codes))}",
                    found=code,
                    fix=f"did you mean {guess!r}?" if guess else "use one of these codes",
                )
        for index, group in enumerate(self.items.groups):
            loc: tuple[str | int, ...] = ("items", "groups", index)
            if group == self.items.group and index == len(self.items.groups) - 1:
                loc = ("items", "group")
            if group in self.items.groups[:index]:
                raise PlacedError(f"the group {group!r} is given twice", *loc)
        for index, coder in enumerate(self.items.coders):
            if coder in (*self.items.groups, *self.items.coders[:index]):
                raise PlacedError(f"the column {coder!r} is given twice", "items", "coders", index)
        return self
