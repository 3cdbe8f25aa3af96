"""The texts of a study's items, as a reader of a comparison sees them."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from quaver.design.prompts.rendering import PromptWriter
from quaver.errors import QuaverError
from quaver.study.session import Study


def item_texts(study: Study, wanted: Collection[str]) -> dict[str, str]:
    """The texts of some items, as the first prompt shows them; of those that have one."""
    experiment = study.experiment
    writer = PromptWriter(experiment.variants[0], experiment.labels)
    texts: dict[str, str] = {}
    for item in experiment.items:
        if item.id in wanted:
            with suppress(QuaverError):  # a bundle without texts
                texts[item.id] = writer.text(item)
    return texts
