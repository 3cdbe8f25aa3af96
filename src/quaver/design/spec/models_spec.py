"""The models that a study asks, how an answer is drawn, and the measures that are taken."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError, model_validator

from quaver.core import registry
from quaver.core.arguments import excerpt, expectation
from quaver.core.column_names import column_among
from quaver.core.records import Decoding, Estimand
from quaver.core.registry import Kind
from quaver.design.spec.task_spec import TEXT_COLUMN
from quaver.design.spec.yaml_file import Amount, Name, Natural, Only, Part, PlacedError, PluginSpec, Text
from quaver.errors import UnknownName

_PRESETS: Final[Mapping[str, str]] = {
    "openai": "openai",
    "azure": "azure",
    "google": "gemini",
    "gemini": "gemini",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "groq": "groq",
    "together": "together",
    "together_ai": "together",
    "openrouter": "openrouter",
    "ollama": "ollama",
    "ollama_chat": "ollama",
    "vllm": "vllm",
    "hosted_vllm": "vllm",
    "sglang": "sglang",
    "lm_studio": "lm_studio",
    "llamacpp_server": "llamacpp_server",
    "gpt4all_server": "gpt4all_server",
}
"""The preset of ``openai_compatible`` by the provider's name here and in other tools."""

_UNNAMED: Final = ("function", "openai_compatible")
"""Models that a name alone does not tell."""


def providers() -> dict[str, str]:
    """What may stand before the first slash, with the model that is used for it: every registered one may."""
    engines = {name: name for name in registry.names("models") if name not in _UNNAMED}
    return {**engines, **dict.fromkeys(_PRESETS, "openai_compatible")}


def model_of_name(text: str, where: str = "model") -> dict[str, Any]:
    """What would stand in a study file for a model that is written as one string.

    Args:
        text: ``provider/model``, the path of a GGUF file, or the name of the bundled model.
        where: Where the string stands, for the error.

    Returns:
        The model's name in the study, its engine and the engine's options.

    Raises:
        UnknownName: There is no such provider.

    >>> model_of_name("ollama/llama3.2")
    {'name': 'llama3.2', 'use': 'openai_compatible', 'preset': 'ollama', 'model': 'llama3.2'}
    >>> model_of_name("models/mine.gguf")
    {'name': 'mine', 'use': 'llamacpp', 'model': 'models/mine.gguf'}
    """
    provider, slash, model = text.partition("/")
    names = providers()
    use = names.get(provider) if slash and model else None
    if use is not None and provider not in _PRESETS:
        return {"name": _short(model), "use": use, "model": model}
    if (text and not slash) or text.lower().endswith(".gguf"):
        return {"name": _short(text), "use": "llamacpp", "model": text}
    if use is None:
        fix = "write PROVIDER/MODEL, such as openai/gpt-5-mini"
        raise UnknownName("provider", provider, names, where=where, fix=fix)
    return {"name": _short(model), "use": use, "preset": _PRESETS[provider], "model": model}


def _short(model: str) -> str:
    """The part of a model's name that tells it apart from others in a table."""
    name = model.rstrip("/").rpartition("/")[2]
    return name[: -len(".gguf")] if name.lower().endswith(".gguf") else name


GRID_SETTINGS = ("temperature", "top_p", "top_k", "min_p", "repeat_penalty", "max_tokens")
"""The parameters of a decoding that may have several values, in the order of their names."""


def written_out(name: str, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The decodings of one entry: one for each combination of its parameters' values.

    Returns:
        Parameters by name, the last one changing fastest. A name depends only on the combination: adding a
        value to a grid renames no decoding. An entry without lists stays one decoding, under its own name.

    Raises:
        PlacedError: A value is wrong, missing or given twice.

    >>> list(written_out("hot", {"temperature": [0.5, 1], "top_p": [0.9]}))
    ['hot,temperature=0.5,top_p=0.9', 'hot,temperature=1,top_p=0.9']
    >>> list(written_out("greedy", {"temperature": 0}))
    ['greedy']
    """
    points: dict[str, dict[str, Any]] = {name: dict(given)}
    for parameter in GRID_SETTINGS:
        values = given.get(parameter)
        if not isinstance(values, list | tuple):
            continue
        _check_values(name, parameter, values)
        varied = {}
        for point, value in product(points, values):
            varied[f"{point},{parameter}={float(value):.12g}"] = {**points[point], parameter: value}
        points = varied
    return points


def _check_values(name: str, parameter: str, values: Sequence[Any]) -> None:
    """Check a parameter's values while their place in the file is known."""
    if not values:
        raise PlacedError("no value is given", name, parameter)
    for index, value in enumerate(values):
        try:
            DecodingSpec.model_validate({parameter: value})
        except ValidationError as error:
            expected, given = expectation(error.errors()), excerpt(value)
            problem = "this value does not fit"
            raise PlacedError(problem, name, parameter, index, expected=expected, found=given) from None
        if value in values[:index]:
            raise PlacedError(f"{value!r} is given twice", name, parameter, index)


_GRID: Any = {"type": ["number", "array"]}


class DecodingSpec(Part):
    """How an answer is drawn, and how often it is asked for.

    In the file, a list of values for temperature, top_p, top_k, min_p, repeat_penalty or max_tokens makes a
    grid: a decoding for each combination, named after it ("hot,temperature=0.7,top_p=0.9"). The parameters
    that vary are columns of the annotations.
    """

    temperature: Amount = Field(0.0, json_schema_extra=_GRID)
    """0 is greedy. A list makes a grid."""
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(1.0, json_schema_extra=_GRID)
    """1 keeps all tokens. A list makes a grid."""
    top_k: Natural = Field(0, json_schema_extra=_GRID)
    """0 keeps all tokens. A list makes a grid."""
    min_p: Annotated[float, Field(ge=0, lt=1)] = Field(0.0, json_schema_extra=_GRID)
    """0 drops none. A list makes a grid."""
    repeat_penalty: Annotated[float, Field(gt=0)] = Field(1.0, json_schema_extra=_GRID)
    """1 does nothing. A list makes a grid."""
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = Field(8, json_schema_extra=_GRID)
    """The answer is cut off here. A list makes a grid."""
    seed: int | None = None
    """The study's if left out."""
    stop: tuple[Text, ...] = ()
    """The answer ends before any of these."""
    constraint: Literal["none", "labels"] = "none"
    """labels: the model can write one of the answers and nothing else."""
    logprobs: Natural = 0
    """The number of most likely tokens returned at each position."""
    repeats: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """The study's if left out."""
    only: Only = Field({})
    """Use this decoding only where factors have these levels."""
    _grid: tuple[str, ...] = PrivateAttr(())

    @property
    def grid(self) -> tuple[str, ...]:
        """The parameters that vary in its grid."""
        return self._grid

    @classmethod
    def of_grid(cls, parameters: dict[str, Any], grid: tuple[str, ...]) -> DecodingSpec:
        """One point of a grid."""
        decoding = cls.model_validate(parameters)
        decoding._grid = grid
        return decoding

    def decoding(self, name: str, seed: int) -> Decoding:
        """The record that the stages use."""
        values = {"seed": seed, **self.model_dump(exclude={"repeats", "only"}, exclude_none=True)}
        return Decoding(name=name, grid=self.grid, **values)


class PriceSpec(Part):
    """A model's price in US dollars per million tokens. A bare name means that model's price; 0 is free."""

    bare = "like"

    like: Text | None = None
    """The price of this model in genai-prices: gpt-4o-mini, or openai/gpt-4o-mini."""
    input: Amount | None = None
    """Price of prompt tokens."""
    output: Amount | None = None
    """Price of written tokens."""
    cached: Amount | None = None
    """Price of prompt tokens in the server's cache; that of other prompt tokens if left out."""

    @model_validator(mode="before")
    @classmethod
    def _from_nothing(cls, given: Any) -> Any:
        free = isinstance(given, int | float) and given == 0
        return {"input": 0.0, "output": 0.0} if free else given

    @model_validator(mode="after")
    def _whole(self) -> PriceSpec:
        is_in_numbers = {self.input, self.output, self.cached} != {None}
        if self.like is not None and is_in_numbers:
            raise PlacedError("give either `like` or numbers, not both", fix="remove one of them")
        if self.like is None and None in (self.input, self.output):
            raise PlacedError(
                "a price needs both `input` and `output`, or `like`",
                fix="write `price: {input: 0.15, output: 0.6}` in US dollars per million tokens",
            )
        return self


class ModelSpec(PluginSpec):
    """A model: the engine's name and options, and the name under which the study knows it.

    A bare string is ``provider/model``, such as ``openai/gpt-5-mini``, or the path of a GGUF file.
    """

    names: ClassVar[Mapping[str, Kind]] = {"use": "models"}

    name: Name = Field(examples=["smollm2"])
    """Its name in this study."""
    only: Only = Field({})
    """Ask this model only where factors have these levels."""
    price: PriceSpec | None = None
    """The price of its tokens; that in genai-prices if left out."""

    batch: bool = False
    """Ask it in its provider's batches: half the price, answers within a day. `quaver run` hands them over
    and collects what is ready."""

    @model_validator(mode="before")
    @classmethod
    def _of_today(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return given
        try:
            return model_of_name(given)
        except UnknownName as error:
            raise PlacedError(error.problem, expected=error.expected, found=given, fix=error.fix) from None


class FollowUpSpec(PluginSpec):
    """A further call for each call: a question about the answer, or a label to end it."""

    names: ClassVar[Mapping[str, Kind]] = {"use": "follow_ups"}

    name: Name | None = None
    """Its name in this study; the plug-in's own if left out."""

    @property
    def title(self) -> str:
        """The name by which the study knows it."""
        return self.name or self.use


class EvaluatorSpec(FollowUpSpec):
    """A rule that turns answers into labels."""

    names: ClassVar[Mapping[str, Kind]] = {"use": "evaluators"}

    of: Name | None = None
    """The follow-up that it parses instead of the answer; the rule's own if left out."""


Names = Annotated[
    tuple[Name, ...],
    BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
    Field(json_schema_extra={"type": ["string", "array"]}),
]
"""Some names; a single one needs no brackets."""

_COLUMNS = frozenset(["between", "factors", "reference", "without"])
"""Options of measures that name columns."""


class MeasureSpec(PluginSpec):
    """A measure."""

    names: ClassVar[Mapping[str, Kind]] = {"use": "measures"}

    by: tuple[Name, ...] | None = None
    """Columns whose combinations are measured separately; if left out, those of model, decoding and variant
    that the measure does not compare."""
    evaluator: Name | None = None
    """The evaluator to measure; every one if left out."""
    field: Names | None = None
    """The fields to measure; every one if left out."""
    only: Only = Field({})
    """Measure only annotations with these values: {decoding: hot}."""
    estimand: Estimand | None = None
    """What the intervals hold for: these prompts (fixed), or the mean over prompts like these (population).
    If left out, the measure's own; these prompts where the study has no paraphrases."""

    def among(self, columns: Collection[str]) -> MeasureSpec:
        """The measure with the frame's column names: ``output`` may be its ``factor_output``."""

        def named(given: Any) -> Any:
            if isinstance(given, str):
                return column_among(given, columns)
            if isinstance(given, Mapping):
                return {column_among(name, columns): value for name, value in given.items()}
            return tuple(map(named, given)) if isinstance(given, list | tuple) else given

        names = ("by", "only", *(_COLUMNS & self.options.keys()))
        return self.model_copy(update={name: named(getattr(self, name)) for name in names})

    def columns(self, factors: Collection[str], compared: Collection[str] = ()) -> tuple[str, ...]:
        """The columns whose levels are measured separately.

        Args:
            factors: The factors of the study's variants.
            compared: Columns whose levels the measure compares. A measure that compares variants still
                takes each template of the items' text separately: they show different content.
        """
        if self.by is not None:
            return self.by
        columns = ["model", "decoding", "variant"]
        if "variant" in compared and TEXT_COLUMN in factors:
            columns.append(TEXT_COLUMN)
        return tuple(name for name in columns if name not in compared)


class ConclusionSpec(Part):
    """A conclusion that rests on the labels, to be compared over all prompt variants."""

    name: Name | None = None
    """Its name; formula and effect if left out."""
    formula: Text = Field(examples=["share(positive) ~ group"])
    """share(LABEL) ~ a + b, or label ~ a + b where labels are numbers; a and b are columns of the items."""
    effect: Text = Field(examples=["group[b] > group[a]"])
    """The claim: educ > 0, party[Rep] < party[Dem]."""
    field: Name | None = None
    """The field whose labels they are, where the task has fields."""
    missing: Literal["drop", "category"] = "drop"
    """What an answer without a label is: left out, or (category) a label other than LABEL."""
