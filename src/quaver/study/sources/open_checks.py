"""What is checked when a study is opened: its names and columns, where that needs no network."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from quaver.core import registry
from quaver.design.paraphrase.paraphrase_draft import NotMade
from quaver.study.sources.study_file_source import StudyFile
from quaver.study.sources.study_source import StudySource

_LARGEST: Final = 20_000_000
"""Bytes of a file of items; a larger one is read when it is needed."""


def check_names(source: StudySource) -> None:
    """Find what a study file names and does not exist, before anything is asked.

    A study that has answers opens in any case: in its report, a measure that cannot be taken says why. So
    does one whose paraphrases a person edited, since `Study.variants` can make them again.

    Raises:
        QuaverError: A plug-in, an option, a column, a label, a model or an evaluator does not exist.
    """
    if not isinstance(source, StudyFile) or source.files.responses.exists():
        return
    source.plugins.check_named()
    if not _quickly_read(source) or source.files.paraphrases.exists():
        return
    whole = source.with_stand_ins() if source.lacks_paraphrases else source
    with suppress(NotMade):  # a text for which nothing can stand in until a model has written it
        whole.plugins.check(whole.factors, whole.experiment.labels, whole.experiment.variants)
        whole.conclusions.check()


def _quickly_read(source: StudyFile) -> bool:
    """Whether the items are in a file here, or should be."""
    name = source.spec.items.source
    if name.startswith("hf:") or name in registry.names("items"):
        return False
    items = source.positions.path_of(name)
    return not os.path.isfile(items) or items.stat().st_size <= _LARGEST
