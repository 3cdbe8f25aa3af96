"""The plug-ins that a study file names, made with the options that it gives them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import getdoc
from typing import Any, NamedTuple

import polars as pl

from quaver.core import registry
from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.column_names import column_among
from quaver.core.model import Model
from quaver.core.records import Estimate, LabelSet, Variant
from quaver.design.spec import EvaluatorSpec, FollowUpSpec, MeasureSpec, ModelSpec, StudySpec
from quaver.design.spec.models_spec import providers
from quaver.design.spec.study_file import Positions, bind, built, read_part
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
            why = f"{error.problem} ({error.found})" if error.found else error.problem
            why += f" - {error.fix}" if error.fix else ""
        except Exception as error:  # of a measure that somebody else wrote
            why = f"{type(error).__name__}: {error}"
        return [Estimate(self.measure, None, reason=f"not measured: {' '.join(why.split())[:300]}")]

    def of(self, frame: pl.DataFrame | Gathered, **other: Any) -> list[Estimate]:
        """The estimates; of no annotations, one that is undefined."""
        if self.failed is not None:
            raise self.failed
        mine, options = Gathered.of(frame), {**self.options, **other}
        if self.evaluator is not None:  # and the one whose token confidence an option sets beside it
            token = self.options.get("token")
            mine = mine.only("evaluator", (self.evaluator, str(token)) if token else (self.evaluator,))
        for column, values in self.only.items():
            mine = mine.only(column, tuple(values))
        if not mine.height:
            return [Estimate(self.measure, None, reason="no annotations")]
        by = tuple(options.get("by", ()))
        mine = mine.changed(("every group", by), lambda frame: in_every_group(frame, by))
        estimates = self.plugin(mine if isinstance(self.plugin, Measure) else mine.frame, **options)
        return [replace(estimate, cell={**estimate.cell, **self.named}) for estimate in estimates]


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
        self._names = [model.name for model in spec.models]
        self.beside: dict[str, tuple[ModelSpec, Model]] = {}
        for name in functions:
            if name not in self._names:
                raise UnknownName("model", name, self._names, where="functions")

    # ------------------------------------------------------------------------------------ models

    def models(self) -> dict[str, Model]:
        """The models by name, none of them loaded yet."""
        models = {}
        for index, name in enumerate(self._names):
            make = self.maker(name)
            with self._source.locating("models", index):
                models[name] = make()
        return models

    def maker(self, name: str) -> Callable[[], Model]:
        """What makes one of the models again, in another process for example."""
        index = self._names.index(name)
        asked = self._spec.models[index]
        options = dict(asked.options)
        if asked.use == "function":
            if name not in self.functions:
                raise Unavailable(
                    f"the model {name!r} is a Python function that was not given",
                    where=self._source.where("models", index),
                    expected="a function annotate(text, prompt)",
                    fix=f"add --function {shlex.quote(name)}=MODULE:FUNCTION; in Python, "
                    f"Study.open(…, functions={{{name!r}: annotate}})",
                )
            options["annotate"] = self.functions[name]
        loc = ("models", index)
        plugin = registry.load("models", asked.use, where=self._source.where(*loc))
        return partial(plugin, **bind(plugin, options, self._source, loc, ("use", "name", "only")))

    def one_model(self, asked: str | Mapping[str, Any], models: Mapping[str, Model]) -> tuple[str, Model]:
        """A model that is to reword the prompt, and what it is called."""
        if isinstance(asked, str):
            if asked not in models:
                raise UnknownName("model", asked, models, where=self._rewording(asked))
            return asked, models[asked]
        if "use" not in asked:
            given = json.dumps(asked, default=str)
            raise SpecError(
                "this is not a model", where="model", expected="use: and its options", found=given
            )
        name = str(asked.get("name", asked.get("model", asked["use"])))
        name = f"{name} beside" if name in models else name
        spec = read_part(ModelSpec, {**asked, "name": name}, Positions(None, {}), ("model",))
        known, model = self.beside.get(name, (None, None))
        if model is None or known != spec:
            model = built("models", spec, Positions(None, {}), ("model",))
            self.beside[name] = (spec, model)
        return name, model

    def _rewording(self, model: str) -> str:
        """Where the study file asks a model to reword the prompt."""
        for index, family in enumerate(self._spec.variants):
            for key in ("model", "each"):
                named = family.options.get(key, ())
                if model == named or (key == "each" and model in named):
                    return self._source.where("variants", index, key)
        return "model"

    # -------------------------------------------------------------------------------- evaluators

    def evaluators(self, names: Sequence[str] | None = None) -> dict[str, Evaluator]:
        """The evaluators by the name that they have in the study; or others, by their registered names."""
        if names is not None:
            return {name: built("evaluators", EvaluatorSpec(use=name), self._source, ()) for name in names}
        made: dict[str, Evaluator] = {}
        for index, asked in enumerate(() if self._spec.has_labels_only else self._spec.evaluators):
            made[asked.title] = built("evaluators", asked, self._source, ("evaluators", index), "name", "of")
        return made

    def rules(self) -> dict[str, str]:
        """What each of the study's evaluators does, in its own words."""
        return {name: getdoc(type(evaluator)) or "" for name, evaluator in self.evaluators().items()}

    def follow_ups(self, names: Sequence[str] | None = None) -> dict[str, str]:
        """The follow-up of each evaluator that reads one, by the evaluator's name."""
        asked = self._spec.evaluators if names is None else [EvaluatorSpec(use=name) for name in names]
        follow_ups = {}
        for index, evaluator in enumerate(asked):
            plugin = registry.load("evaluators", evaluator.use, where=self._source.where("evaluators", index))
            if of := evaluator.of or str(getattr(plugin, "of", "")):
                follow_ups[evaluator.title] = of
        return follow_ups

    def with_follow_ups(self) -> StudySpec:
        """The study, with the follow-ups that its evaluators read among its own."""
        spec = self._spec
        if spec.annotations is not None:  # its labels were not read here
            return spec
        names = [follow_up.title for follow_up in spec.follow_ups]
        registered = registry.names("follow_ups")
        more = []
        for title, name in self.follow_ups().items():
            if name in names:
                continue
            if name not in registered:
                index = [evaluator.title for evaluator in spec.evaluators].index(title)
                where = self._source.where("evaluators", index, "of")
                raise UnknownName("follow-up", name, [*names, *registered], where=where)
            more.append(FollowUpSpec(use=name))
            names.append(name)
        return spec.model_copy(update={"follow_ups": (*spec.follow_ups, *more)}) if more else spec

    # ---------------------------------------------------------------------------------- measures

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
        beside = ("use", "by", "evaluator", "field", "only", "estimand")
        return plugin, bind(plugin, spec.options, self._source, loc, beside)

    def check(self, factors: Sequence[str], labels: LabelSet, variants: Sequence[Variant]) -> None:
        """Find what is wrong with evaluators and measures, before anything is asked.

        Each evaluator must be able to read each variant.
        """
        evaluators = self.evaluators()
        for index, evaluator in enumerate(evaluators.values()):
            with self._source.locating("evaluators", index):
                for variant in variants:
                    readers_of(evaluator, labels, variant)
        columns = [*ANNOTATION_COLUMNS, *factors, *self._spec.items.columns]
        for decoding in self._spec.decoding.values():
            columns += [option for option in decoding.grid if option not in columns]
        names = {"model": self._names, "decoding": [*self._spec.decoding], "evaluator": [*evaluators]}
        for index, spec in enumerate(self._spec.measures):
            loc = ("measures", index)
            self.measure(spec, loc)
            self.check_names(spec, columns, names["evaluator"], loc)
            for column, values in spec.only.items():
                for value in values:
                    if column in names and value not in names[column]:
                        where = self._source.where(*loc, "only")
                        raise UnknownName(column, value, names[column], where=where)

    def check_named(self) -> None:
        """Find what is wrong with models, evaluators and measures, as far as it shows without variants."""
        names = registry.names("models")
        for index, model in enumerate(self._spec.models):
            if model.use not in names:
                provider = nearest(model.use, providers()) or "openai"
                served = f"for a model of a service, write `- {provider}/MODEL` instead"
                fix = None if nearest(model.use, names) else served
                where = self._source.where("models", index, "use")
                raise UnknownName("engine", model.use, names, where=where, fix=fix)
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
