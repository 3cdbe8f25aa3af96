"""The plug-ins that a study file names, made with the options that it gives them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from quaver.core import registry
from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.column_names import column_among
from quaver.core.model import Model
from quaver.core.records import Estimate, LabelSet, Variant
from quaver.design.spec import EvaluatorSpec, FollowUpSpec, MeasureSpec, ModelSpec, StudySpec
from quaver.design.spec.models_spec import providers
from quaver.design.spec.study_file import Positions, bind, read_part
from quaver.errors import QuaverError, SpecError, Unavailable, UnknownName, nearest
from quaver.estimation.coded_columns import Gathered
from quaver.estimation.declaration import Measure, registered
from quaver.estimation.estimands import in_every_group
from quaver.score.parsing.evaluator import Evaluator, readers_of

Loc = Sequence[str | int]
"""Where in the study file something stands."""

Annotate = Callable[[str, str], str]
"""``annotate(text, prompt)``: a model as a Python function."""


class Measurement(NamedTuple):
    """A measure as a study asks for it, to be taken of any frame of the study's shape.

    Attributes:
        measure: Its registered name.
        plugin: The measure, or a function that is called like one.
        evaluator: Whose readings alone; every evaluator's where None.
        options: What it is called with, ``by``, ``labels`` and ``seed`` among it.
        only: The values that annotations need to take part, by column.
        named: What distinguishes it from the study's other estimates of this measure, for their cells.
        failed: What is wrong with how it is asked for; None where nothing is.
    """

    measure: str
    plugin: Callable[..., list[Estimate]]
    evaluator: str | None
    options: Mapping[str, Any]
    only: Mapping[str, Sequence[str]] = {}
    named: Mapping[str, str] = {}
    failed: QuaverError | None = None

    def or_why(self, frame: pl.DataFrame | Gathered) -> list[Estimate]:
        """The estimates; where the measure fails, one that says why there are none."""
        try:
            return self.of(frame)
        except QuaverError as error:
            parts = [error.problem, error.found and f"({error.found})", error.fix and f"- {error.fix}"]
            why = " ".join(part for part in parts if part)
        except Exception as error:  # of a measure that somebody else wrote
            why = f"{type(error).__name__}: {error}"
        return [Estimate(self.measure, None, reason=f"not measured: {' '.join(why.split())[:300]}")]

    def of(self, frame: pl.DataFrame | Gathered, **other: Any) -> list[Estimate]:
        """The estimates; of no annotations, one that is undefined."""
        if self.failed is not None:
            raise self.failed
        only = [(column, tuple(values)) for column, values in self.only.items()]
        if self.evaluator is not None:  # and the one whose token confidence an option sets beside it
            token = self.options.get("token")
            only.insert(0, ("evaluator", (self.evaluator, *([str(token)] if token else []))))
        mine = Gathered.of(frame)
        for column, values in only:
            mine = mine.only(column, values)
        if not mine.height:
            return [Estimate(self.measure, None, reason="no annotations")]
        estimates = self._taken(mine, other)
        return (
            [replace(one, cell={**one.cell, **self.named}) for one in estimates] if self.named else estimates
        )

    def _taken(self, mine: Gathered, other: Mapping[str, Any]) -> list[Estimate]:
        options = {**self.options, **other}
        by = tuple(options.get("by", ()))
        every = mine.changed(("every group", by), lambda frame: in_every_group(frame, by))
        return list(self.plugin(every if isinstance(self.plugin, Measure) else every.frame, **options))


class Plugins:
    """Makes a study's models, evaluators and measures.

    Args:
        spec: The study.
        source: Where its parts stand, for errors.
        functions: The functions of models that use one, by the model's name.

    Attributes:
        beside: Models beside the study's own that were asked for paraphrases, by what they are called.

    Raises:
        UnknownName: A function is given for a model that the study does not have.
    """

    def __init__(self, spec: StudySpec, source: Positions, functions: Mapping[str, Annotate]) -> None:
        self._spec, self._source, self.functions = spec, source, dict(functions)
        self._beside: dict[str, Model] = {}
        self.beside: dict[str, tuple[ModelSpec, Model]] = {}
        names = [model.name for model in spec.models]
        for name in functions:
            if name not in names:
                raise UnknownName("model", name, names, where="functions")

    def models(self) -> dict[str, Model]:
        """The models by name, none of them loaded yet."""
        models = {}
        for index, asked in enumerate(self._spec.models):
            plugin, options = self._of_model(asked, index)
            with self._source.locating("models", index):
                models[asked.name] = plugin(**options)
        return models

    def maker(self, name: str) -> Callable[[], Model]:
        """What makes one of the models again, in another process for example."""
        index = [model.name for model in self._spec.models].index(name)
        plugin, options = self._of_model(self._spec.models[index], index)
        return partial(plugin, **options)

    def one_model(self, asked: str | Mapping[str, Any], models: Mapping[str, Model]) -> tuple[str, Model]:
        """A model that is to reword the prompt, and what it is called."""
        if isinstance(asked, str):
            if asked not in models:
                where = (
                    self._source.where("variants", index, "each" if "each" in family.options else "model")
                    for index, family in enumerate(self._spec.variants)
                    if asked in (family.options.get("model"), *family.options.get("each", ()))
                )
                raise UnknownName("model", asked, models, where=next(where, "model"))
            return asked, models[asked]
        name = str(asked.get("name", asked.get("model", asked.get("use", "model"))))
        name = f"{name} beside" if name in models else name
        key = json.dumps(asked, sort_keys=True, default=str)
        if key not in self._beside:
            if "use" not in asked:
                raise SpecError(
                    "this is not a model", where="model", expected="use: and its options", found=key
                )
            spec = read_part(ModelSpec, {**asked, "name": name}, Positions(None, {}), ("model",))
            plugin = registry.load("models", spec.use, where="model")
            self._beside[key] = plugin(**bind(plugin, spec.options, Positions(None, {}), ("model",)))
            self.beside[name] = (spec, self._beside[key])
        return name, self._beside[key]

    def _of_model(self, asked: ModelSpec, index: int) -> tuple[Any, dict[str, Any]]:
        loc, options = ("models", index), dict(asked.options)
        if asked.use == "function":
            options["annotate"] = self._function(asked.name, loc)
        return self._bound("models", asked.use, options, loc, ("use", "name", "only"))

    def _bound(
        self, group: registry.Kind, use: str, options: Mapping[str, Any], loc: Loc, beside: Sequence[str]
    ) -> tuple[Any, dict[str, Any]]:
        """A plug-in and its options, which stand in the study file beside other keys."""
        plugin = registry.load(group, use, where=self._source.where(*loc))
        return plugin, bind(plugin, options, self._source, loc, beside)

    def _function(self, name: str, loc: Loc) -> Annotate:
        if name not in self.functions:
            raise Unavailable(
                f"the model {name!r} is a Python function that was not given",
                where=self._source.where(*loc),
                expected="a function annotate(text, prompt)",
                fix=f"Study.open(…, functions={{{name!r}: annotate}}), or "
                f"quaver run --function {name}=module:annotate, or quaver label --function module:annotate",
            )
        return self.functions[name]

    def evaluators(self, names: Sequence[str] | None = None) -> dict[str, Evaluator]:
        """The evaluators by the name that they have in the study."""
        if names is not None:
            plugins = {name: registry.load("evaluators", name) for name in names}
            return {name: plugin(**bind(plugin, {}, self._source, ())) for name, plugin in plugins.items()}
        if self._spec.has_labels_only:
            return {}
        made = {}
        for index, asked in enumerate(self._spec.evaluators):
            plugin, options = self._bound(
                "evaluators", asked.use, asked.options, ("evaluators", index), ("use", "name", "of")
            )
            with self._source.locating("evaluators", index):
                made[asked.title] = plugin(**options)
        return made

    def _follow_up(self, evaluator: EvaluatorSpec, index: int) -> str:
        """The follow-up that an evaluator reads; empty where it reads the answers themselves."""
        plugin = registry.load("evaluators", evaluator.use, where=self._source.where("evaluators", index))
        return evaluator.of or str(getattr(plugin, "of", ""))

    def follow_ups(self, names: Sequence[str] | None = None) -> dict[str, str]:
        """The follow-up of each evaluator that reads one, by the evaluator's name."""
        asked = self._spec.evaluators if names is None else [EvaluatorSpec(use=name) for name in names]
        found = {evaluator.title: self._follow_up(evaluator, index) for index, evaluator in enumerate(asked)}
        return {name: of for name, of in found.items() if of}

    def with_follow_ups(self) -> StudySpec:
        """The study, with the follow-ups that its evaluators read among its own."""
        spec = self._spec
        if spec.annotations is not None:  # its labels were not read here
            return spec
        known = [follow_up.title for follow_up in spec.follow_ups]
        more: list[FollowUpSpec] = []
        for index, evaluator in enumerate(spec.evaluators):
            name = self._follow_up(evaluator, index)
            if name and name not in known:
                registered = registry.names("follow_ups")
                if name not in registered:
                    where = self._source.where("evaluators", index, "of")
                    raise UnknownName("follow-up", name, [*known, *registered], where=where)
                more.append(FollowUpSpec(use=name))
                known.append(name)
        return spec.model_copy(update={"follow_ups": (*spec.follow_ups, *more)}) if more else spec

    def measure(self, spec: MeasureSpec, loc: Loc) -> tuple[Measure, dict[str, Any]]:
        """A measure and its options."""
        plugin = registered(spec.use, where=self._source.where(*loc))
        if spec.estimand is not None and spec.estimand not in plugin.estimands:
            raise SpecError(
                f"{spec.use} has no interval for this estimand",
                where=self._source.where(*loc, "estimand"),
                expected=" or ".join(plugin.estimands),
                found=spec.estimand,
            )
        return plugin, bind(
            plugin,
            spec.options,
            self._source,
            loc,
            ("use", "by", "evaluator", "field", "only", "estimand"),
        )

    def check(self, factors: Sequence[str], labels: LabelSet, variants: Sequence[Variant]) -> None:
        """Find what is wrong with evaluators and measures, before anything is asked.

        Each evaluator must be able to read each variant.
        """
        for index, evaluator in enumerate(self.evaluators().values()):
            with self._source.locating("evaluators", index):
                for variant in variants:
                    readers_of(evaluator, labels, variant)
        grids = [option for decoding in self._spec.decoding.values() for option in decoding.grid]
        columns = [*ANNOTATION_COLUMNS, *factors, *self._spec.items.columns, *dict.fromkeys(grids)]
        known = {
            "model": [model.name for model in self._spec.models],
            "decoding": list(self._spec.decoding),
            "evaluator": list(self.evaluators()),
        }
        for index, spec in enumerate(self._spec.measures):
            loc = ("measures", index)
            self.measure(spec, loc)
            self.check_names(spec, columns, known["evaluator"], loc)
            for column, names in known.items():
                for name in spec.only.get(column, ()):
                    if name not in names:
                        raise UnknownName(column, name, names, where=self._source.where(*loc, "only"))

    def check_named(self) -> None:
        """Find what is wrong with models, evaluators and measures, as far as it shows without variants."""
        for index, model in enumerate(self._spec.models):
            if model.use not in (known := registry.names("models")):
                provider = nearest(model.use, providers()) or "openai"
                served = f"for a model of a service, write `- {provider}/MODEL` instead"
                raise UnknownName(
                    "engine",
                    model.use,
                    known,
                    where=self._source.where("models", index, "use"),
                    fix=None if nearest(model.use, known) else served,
                )
        self.evaluators()
        for index, spec in enumerate(self._spec.measures):
            self.measure(spec, ("measures", index))

    def check_names(
        self, spec: MeasureSpec, columns: Sequence[str], evaluators: Sequence[str], loc: Loc
    ) -> None:
        """Find a column or an evaluator that a measure asks for and that is not there."""
        where = self._source.where(*loc)
        for key, names in (("by", spec.by or ()), ("only", spec.only)):
            for column in names:
                if column_among(column, columns) not in columns:
                    raise UnknownName("column", column, columns, where=f"{where}: {key}")
        if spec.evaluator is not None and spec.evaluator not in evaluators:
            raise UnknownName("evaluator", spec.evaluator, evaluators, where=where)
