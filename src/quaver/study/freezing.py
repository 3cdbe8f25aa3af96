"""A study's design, written down before its results are known: ``quaver.freeze`` and ``quaver.frozen``."""

from __future__ import annotations

from quaver.core.arguments import guarded
from quaver.study import study_freeze
from quaver.study.session import Study
from quaver.study.study_freeze import Frozen


@guarded
def freeze(study: Study, *, rule: str | None = None, because: str = "") -> Frozen:
    """Write a study's design down, before answers and gold labels are there.

    Items, prompts, models, evaluators, measures, conclusions and the decision rule are kept with their hashes
    and the time in ``frozen.json``. The report says what is as frozen, and a bundle proves it.

    Args:
        study: The study.
        rule: How you will decide, in words; with conclusions, the rule by which Quaver judges them.
        because: Why a study is frozen again that has changed since. The first freeze stays.

    Returns:
        What is frozen, and each part as it is now. Nothing is written where nothing changed.

    Raises:
        StoreError: It has changed since it was frozen, and you give no reason; or this is a bundle.
        SpecError: A model has yet to make paraphrases.
    """
    return study_freeze.freeze(study.source, rule, because)


@guarded
def frozen(study: Study) -> Frozen | None:
    """What was frozen of a study, beside the study as it is now; None where nothing was.

    Args:
        study: The study.

    Raises:
        StoreError: The file is damaged.
    """
    return study_freeze.frozen(study.source)
