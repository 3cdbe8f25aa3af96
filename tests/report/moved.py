"""What moves the labels of a study made by hand, measured as a study measures it."""

from types import SimpleNamespace

import polars as pl

from quaver.core.records import Condition, Item, Label, LabelSet, Variant
from quaver.design.calls.experiment import Experiment
from quaver.study.analysis.measured_study import MeasuredStudy


def movement_of(lock, annotations):
    """The movement of the first evaluator's labels, of the design that a lock document describes."""
    measured = measured_study(lock, annotations)
    return [*measured.moved(), *measured.judged()]


def measured_study(lock, annotations):
    """Annotations made by hand as those of the study that a lock document describes."""
    items = annotations["item"].cast(pl.String).unique() if annotations.width else []
    experiment = Experiment(
        labels=LabelSet(tuple(Label(one["code"], one["name"]) for one in lock["labels"]["labels"])),
        variants=[Variant("", one["factors"], "", "", "", "", "", {}) for one in lock["variants"]],
        decodings=lock["decodings"],
        items=[Item(name, {}) for name in items],
        conditions=[Condition(name, "", "", 1) for name in lock["models"]],
    )
    spec = SimpleNamespace(
        seed=lock["study"]["seed"],
        group=None,
        annotations=None,
        conclusions=(),
        measures=(),
        items=SimpleNamespace(id="item", coders=(), gold=None, more_gold=None),
        evaluators=[SimpleNamespace(title=name) for name in lock["evaluators"]],
    )
    own = {"gold_columns": (), "gold_spec": None, "has_texts": False}
    study = SimpleNamespace(experiment=experiment, spec=spec, **own)
    measured = MeasuredStudy((study), annotations)
    measured.asked = []
    return measured
