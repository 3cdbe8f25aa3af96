"""The models of a run: in this process, or in the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quaver.core.model import Model
from quaver.design.spec import RunSpec
from quaver.design.spec.study_file import Positions, read_part
from quaver.study.sources.study_file_source import StudyFile


def run_at(spec: RunSpec, instead: Mapping[str, Any] | None) -> RunSpec:
    """Where models are asked: as the study file says, but for what is given instead.

    Raises:
        SpecError: There is no such key, or a value is wrong.
    """
    if not instead:
        return spec
    return read_part(RunSpec, {**spec.model_dump(), **instead}, Positions(None, {}), ("run",))


def asked_models(study: StudyFile, where: RunSpec) -> Mapping[str, Model]:
    """The models as a run asks them.

    Args:
        study: The study.
        where: Where they are asked.

    Raises:
        Unavailable: Ray is not installed, or its cluster cannot be joined.
    """
    if where.on == "here":
        return study.models
    from quaver.models.remote.ray_cluster import Cluster
    from quaver.models.remote.remote_model import RemoteModel
    from quaver.models.remote.remote_worker import Setup

    found: dict[str, Model] = {}
    clusters: list[Cluster] = []
    for spec in study.spec.models:
        model, price = study.models[spec.name], study.prices.get(spec.name)
        free = model.abilities.local if price is None else not (price.input or price.output)
        function = study.plugins.functions.get(spec.name)
        cluster = Cluster(where.address, where.workers, where.gpus_per_worker, free=free, carries=function)
        cluster.beside = clusters
        clusters.append(cluster)
        identity = "" if function is not None else model.identity()
        made = RemoteModel(model, Setup(study.plugins.maker(spec.name), identity), cluster)
        found[spec.name] = made
        if hasattr(made, "place"):
            made.place(study.experiment.conditions, [item.id for item in study.experiment.items])
    return found
